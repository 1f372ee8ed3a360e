#!/bin/bash
# A Go service that leaks is suspected within two sessions, and a busy one is
# not, with the oldest and the newest Go. The service counts its goroutines
# itself; the calls are those of the seeds, word for word.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
e2e_start
A=/api/v1/profiling

# Starts a separate program for each service; $pid takes orders.
run_service() { # name, program; GOGC may be set
  install -m 755 "$2" "$STATE/bin/$1"
  mkfifo "$STATE/$1.in" "$STATE/$1.out"
  "$STATE/bin/$1" -clients 0 -workers 120 -busy 10 <"$STATE/$1.in" >"$STATE/$1.out" &
  pid=$!
  exec {in}>"$STATE/$1.in" {out}<"$STATE/$1.out"
  read -r -t 120 _ <&"$out" &&
    post /api/v1/services "{\"name\":\"$1\",\"kind\":\"go\",\"match\":{\"exe\":\"$STATE/bin/$1\"}}" -o /dev/null &&
    wait_for 20 seen "$1" || echo "not ok $1_starts"
}
end_service() {
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null || : # killed
}
say() { # command: reports the number of goroutines afterwards
  echo "$@" >&"$in"
  read -r -t 120 truth <&"$out"
}
capture() { # service; a goroutine session, which becomes $id
  id=$(post $A/sessions "{\"service\":\"$1\",\"profileType\":\"goroutine\"}" | jq -r '.sessionId // error')
  finished "$id" >/dev/null
}
seed() { # line, one id or two
  local line=$1
  line=${line//'{host}'/http://127.0.0.1:$PORT}
  line=${line//'{token}'/$TOKEN}
  line=${line//'{sessionId}'/$2}
  line=${line//sess-base001/$2}
  line=${line//sess-cmp002/${3-}}
  eval "${line/curl /curl -sS }"
}
holds() { jq -e "$1" <<<"$2" >/dev/null || { echo "not $1: ${2:0:2000}"; return 1; }; }
ANALYSIS="curl -X GET '{host}/api/v1/profiling/sessions/{sessionId}/analysis' -H 'Authorization: Bearer {token}'"
DIFF="curl -X POST '{host}/api/v1/profiling/diff' -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' -d '{\"baseId\":\"sess-base001\",\"compareId\":\"sess-cmp002\",\"type\":\"goroutine\"}'"
analysis() { # service: takes a new session of it, and analyses that
  capture "$1"
  found=$(seed "$ANALYSIS" "$id")
}

leaks() { # service, program
  local one before
  run_service "$@"
  say leak 30
  analysis "$1"
  one=$id before=$truth
  check "$1_goroutines_are_those_it_counts" holds ".goroutineCount - $before | fabs <= $before / 100" "$found"
  check "$1_is_not_suspected_at_once" holds '.leakSuspects == []' "$found"
  say leak 170
  analysis "$1"
  check "$1_leak_is_found_within_two_sessions" holds \
    '.leakSuspects | length == 1 and .[0].count == 200 and .[0].baseCount == 30' "$found"
  check "$1_leak_names_where_it_is_created" holds \
    '.leakSuspects[0] | .site == "main.replica" and .createdBy == "main.lookup" and .waitReason == "channel send"' "$found"
  check "$1_growth_rate_is_right_to_1_percent" holds \
    ".goroutineGrowthRate / ($truth / $before) - 1 | fabs <= 0.01" "$found"
  check "$1_blocked_goroutines_have_its_leak" holds \
    '.blockedGoroutines | any(.count == 200 and .createdBy == "main.lookup")' "$found"
  check "$1_diff_counts_what_grew" holds \
    '.growthCount == 170 and (.grownStacks | any(.baseCount == 30))' "$(seed "$DIFF" "$one" "$id")"
  end_service
}

# A pool waits; then 110 requests are served on connections that stay open, and
# 110 others a session later.
healthy() { # service, program; GOGC may be set
  local what
  run_service "$@"
  analysis "$1"
  for what in all_at_once as_many; do
    say clients 110
    analysis "$1"
    check "$1_requests_under_way_${what}_are_there" holds \
      '[.topStacks[], .blockedGoroutines[] | select(any(.frames[]; . == "main.serve")) | .count] | max >= 100' "$found"
    check "$1_requests_under_way_${what}_are_no_suspects" holds '.leakSuspects == []' "$found"
  done
  end_service
}

# Captures each type of profile of a Go service that was registered without its
# kind.
every_type() { # program
  local types=(cpu memory alloc block mutex goroutine) type id=() result
  install -m 755 "$1" "$STATE/bin/undeclared"
  background undeclared "$STATE/bin/undeclared" # as make run starts it
  stoker_cli service add undeclared --exe "$STATE/bin/undeclared" >/dev/null &&
    wait_for 10 seen undeclared
  for type in "${types[@]}"; do
    id+=("$(start undeclared 5 "$type")")
  done
  for type in "${types[@]}"; do
    result=$(finished "${id[0]}") id=("${id[@]:1}")
    check "${type}_of_the_demo_has_samples" holds '.status == "completed" and .sampleCount > 0' "$result"
  done
  kill "$(<"$STATE/pid/undeclared")"
}

one() { # version
  local program=$B/go/bin/demo-$1 name=go$1 jobs
  tests/lib/go build "$1" "$program" tests/targets/go/demo 2>"$STATE/why$1"
  case $? in
  0) ;;
  69) echo "skip go_leak: $name: $(tail -n 1 "$STATE/why$1")"; return ;;
  *) echo "not ok ${name}_builds: $(tail -n 1 "$STATE/why$1")"; return ;;
  esac
  healthy "$name-busy" "$program" &
  jobs=($!)
  GOGC=off healthy "$name-never-collected" "$program" &
  jobs+=($!)
  leaks "$name-leaking" "$program" &
  jobs+=($!)
  [ "$1" != "${versions%% *}" ] || every_type "$program"
  wait "${jobs[@]}"
}
versions=$(tests/lib/go versions)
one "${versions%% *}" &
oldest=$!
one "${versions##* }" &
wait $oldest $!
