#!/bin/bash
# A program's library lies on an overlay over its own FUSE server, so reading
# its pages takes as long as the server wants. Meanwhile other processes can
# fork, and other captures go on.
#
# Alone: a fork waits for probes that others place.
set -u
. tests/lib/e2e.sh
. tests/lib/groups.sh
[ "$(id -u)" -eq 0 ] || skip slow_files 'only root opens /dev/fuse everywhere'
e2e_start slowfs
mkdir "$STATE/never"
cp "$STATE/bin/slowfs" "$STATE/bin/never"
exec {said_never}< <(exec "$STATE/bin/never" never "$STATE/never")
never=$!
apart $never
background demo "$STATE/bin/demo" 1 5
late=
leave() {
  { kill -KILL $late $never && wait $late $never; } 2>/dev/null
  apart_end
  e2e_stop
}
trap leave EXIT
read -r said <&"$said_never"
[ "$said" = ready ] || skip slow_files "$said"
stoker_cli service add late --exe "$STATE/bin/slowfs" >/dev/null
service never "$STATE/bin/never" || exit 1
service other "$STATE/bin/demo" || exit 1
stoker_cli service add both --cmdline "^$STATE/bin/(demo|never) " >/dev/null

completes() { equal "$(finished "$1" | jq -r .status)" completed; }
# A program that made readers wait is left alone, and so is its user in the same
# unit, so each capture is of another program in another unit.
late_starts() {
  local said at
  [ -z "$late" ] || { kill -KILL "$late" && wait "$late"; } 2>/dev/null
  at=$(mktemp -d "$STATE/late-XXXXXX")
  exec {said}< <(exec "$STATE/bin/slowfs" late "$at")
  late=$!
  apart $late
  read -r at <&"$said" && exec {said}<&- && wait_for 20 is_seen
}
is_seen() { api GET /api/v1/services/late/processes | jq -e --argjson pid "$late" 'any(.items[]; .pid == $pid)'; }
# A page is held for 1 s. Waiting for a CPU does not count. Other programs of
# the host may place probes, too, which forks wait for: hence three tries, and 10
# ms beyond what a fork waits for without the capture.
time_forks() { # type of the capture of the late program
  local id longest try
  waited=1000
  for try in 1 2 3; do
    late_starts || return
    id=$(start late 4 "$1")
    read -r longest waited < <("$STATE/bin/slowfs" forks 6)
    finished "$id" >/dev/null
    [ "$waited" -ge "$limit" ] || break
  done
  echo "$1 $waited of $longest ms" >>"$STATE/forks"
}

alone=$("$STATE/bin/slowfs" forks 6 | sed 's/.* //')
limit=$((alone + 10))
for type in cpu block mutex io goroutine memory alloc; do
  time_forks "$type"
  check "processes_fork_while_the_program_is_captured.$type" [ "$waited" -lt "$limit" ]
done
echo "# a fork waits at most: alone $alone ms, $(paste -sd, "$STATE/forks")"
# The capture fails while the program is spared because of a file that did not
# arrive.
names_the_cause() {
  finished "$(start late 2 alloc)" |
    jq -e '[.error.message, (.quality.reasons // [])[]] | any(test("a file system that"))'
}
check a_capture_without_allocations_names_the_cause names_the_cause

stuck=$(start never 2)
check pages_of_the_file_are_asked_for wait_for 20 logged "process $never: .* was not answered"
sampled=$(start other 2)
check another_service_is_sampled_while_a_file_does_not_answer completes "$sampled"
both=$(start both 1)
without_one() {
  completes "$both" && equal "$(result_of "$both" | jq .quality.processesUnread)" 1
}
check a_service_is_sampled_though_one_of_its_processes_is_not_read without_one
check a_program_is_sampled_though_its_file_does_not_answer completes "$stuck"
check the_analyser_was_not_ended eval '! logged "has not answered for"'
parts() { api GET /api/v1/checks | jq -r '.items[] | select(.check == "parts") | .verdict + " " + .found'; }
check the_reader_that_hangs_is_counted wait_for 120 eval 'parts | grep -q "^warning .*hang in the kernel"'
