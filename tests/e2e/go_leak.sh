#!/bin/bash
# A service in Go that leaks is found out within two sessions, and one that is
# only busy is not: the oldest and the newest Go. The service counts its
# goroutines itself; the seeds' own lines are run as they are.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
e2e_start
A=/api/v1/profiling

go_service() { # name
  api POST /api/v1/services -H 'Content-Type: application/json' -o /dev/null \
    -d "{\"name\":\"$1\",\"kind\":\"go\",\"match\":{\"exe\":\"$STATE/bin/$1\"}}" &&
    wait_for 20 seen "$1"
}
run_service() { # name; GOGC may be set
  rm -f "$STATE/in" "$STATE/out"
  mkfifo "$STATE/in" "$STATE/out"
  "$STATE/bin/$1" -clients 0 -workers 120 -busy 10 <"$STATE/in" >"$STATE/out" &
  pid=$!
  exec {in}>"$STATE/in" {out}<"$STATE/out"
  read -r -t 60 _ <&"$out"
}
end_service() {
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null
  exec {in}>&- {out}<&-
}
say() { # command; how many goroutines there are then
  echo "$@" >&"$in"
  read -r -t 60 truth <&"$out"
}
capture() { # service; a goroutine session, which becomes $id
  id=$(api POST $A/sessions -H 'Content-Type: application/json' \
    -d "{\"service\":\"$1\",\"profileType\":\"goroutine\"}" | jq -r '.sessionId // error')
  finished "$id" >/dev/null
}
seed() { # line, its id or ids
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
analysis() { # service; of a new session
  capture "$1"
  found=$(seed "$ANALYSIS" "$id")
}

leaks() { # service
  local one before
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
}

# A pool that waits, then 110 requests under way on connections that are kept,
# and as many a session later.
healthy() { # service
  local what
  analysis "$1"
  for what in all_at_once as_many; do
    say clients 110
    analysis "$1"
    check "$1_requests_under_way_${what}_are_there" holds \
      '[.topStacks[], .blockedGoroutines[] | select(any(.frames[]; . == "main.serve")) | .count] | max >= 100' "$found"
    check "$1_requests_under_way_${what}_are_no_suspects" holds '.leakSuspects == []' "$found"
  done
}

# Everything there is to see of a Go service, of which nobody said that it is one.
every_type() { # executable
  local type id result
  background undeclared "$1" # as make run starts it
  stoker_cli service add undeclared --exe "$1" >/dev/null && wait_for 10 seen undeclared
  for type in cpu memory alloc block mutex goroutine; do
    id=$(api POST $P/start -H 'Content-Type: application/json' \
      -d "{\"service\":\"undeclared\",\"profileType\":\"$type\",\"durationSeconds\":5}" |
      jq -r '.id // error')
    result=$(finished "$id")
    check "${type}_of_the_demo_has_samples" holds '.status == "completed" and .sampleCount > 0' "$result"
  done
  kill "$(<"$STATE/pid/undeclared")"
}

versions=$(tests/lib/go versions)
for version in ${versions%% *} ${versions##* }; do
  program=$B/go/bin/demo-$version name=go$version
  tests/lib/go build "$version" "$program" tests/targets/go/demo 2>"$STATE/why"
  case $? in
  0) ;;
  69) echo "skip go_leak: $name: $(tail -n 1 "$STATE/why")"; continue ;;
  *) echo "not ok ${name}_builds: $(tail -n 1 "$STATE/why")"; continue ;;
  esac
  for name in "$name" "$name-never-collected"; do
    install -m 755 "$program" "$STATE/bin/$name"
    case $name in *-never-*) export GOGC=off ;; *) unset GOGC ;; esac
    run_service "$name" && go_service "$name" || echo "not ok ${name}_starts"
    healthy "$name"
    end_service
  done
  name=go$version
  run_service "$name" && wait_for 20 seen "$name" && leaks "$name"
  end_service
  [ "$version" != "${versions%% *}" ] || every_type "$STATE/bin/$name"
done
