#!/bin/bash
# Stacks of goroutines and threads in Chromium: threads that wait for a mutex,
# and Go's dump of a leak.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/browser.sh" threads threads
A=/api/v1/profiling/sessions

is_seen() {
  api GET /api/v1/services/threads/processes |
    jq -e --argjson pid "$pid" '[.items[].pid] == [$pid]'
}
# Captures COUNT threads, a ninth of which wait for a mutex, and sets ID.
capture() { # count
  rm -f "$STATE/in" "$STATE/out"
  mkfifo "$STATE/in" "$STATE/out"
  "$STATE/bin/threads" "$1" still <"$STATE/in" >"$STATE/out" &
  pid=$!
  exec {in}>"$STATE/in" {out}<"$STATE/out"
  read -r -t 60 _ <&"$out" || return
  wait_for 60 is_seen || return
  id=$(post $A '{"service":"threads","profileType":"goroutine"}' | jq -r '.sessionId // error') &&
    finished "$id" >/dev/null
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null
  exec {in}>&- {out}<&-
}

# Prints a dump as Go does, with this many leaked goroutines and the main one.
dump() { # count
  printf 'goroutine 1 [select (no cases), 9 minutes]:\nmain.main()\n\t/src/main.go:9 +0x1\n\n'
  local i
  for ((i = 10; i < $1 + 10; i++)); do
    printf 'goroutine %d [chan send, 6 minutes]:\nmain.replica(0x1)\n\t/src/main.go:120 +0x1d\n' $i
    printf 'created by main.lookup in goroutine 1\n\t/src/main.go:130 +0x65\n\n'
  done
}
upload() { # count
  dump "$1" | api POST "$A?service=leaks&type=goroutine" --data-binary @- \
    -H 'Content-Type: text/plain' | jq -r '.sessionId // error'
}

stoker_cli service add threads --exe "$STATE/bin/threads" >/dev/null
stoker_cli service add leaks --label version=v7 --source-link \
  'https://git.example.org/leaks/blob/{version}/{file:/src/}#L{line}' >/dev/null 2>&1 # of uploads only
capture 90 && few=$id && capture 180 && many=$id &&
  before=$(upload 100) && after=$(upload 300) &&
  heap=$(echo 'main;keep 7000' | api POST "$A?service=leaks&type=memory" --data-binary @- \
    -H 'Content-Type: text/plain' | jq -r '.sessionId // error') || {
  echo "not ok threads: nothing could be captured"
  exit 0
}
export FEW=$few MANY=$many BEFORE=$before AFTER=$after HEAP=$heap
ui tests/ui/threads.mjs
