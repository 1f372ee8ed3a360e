#!/bin/bash
# A program's library lies on an overlay over its own FUSE server, so reading
# its pages takes as long as the server wants. Meanwhile other processes can
# fork, and other captures go on.
#
# Beside others: it waits for events.
set -u
. tests/lib/e2e.sh
if [ "$(id -u)" -ne 0 ]; then
  echo "skip slow_files: only root opens /dev/fuse everywhere"
  exit 0
fi
e2e_start slowfs
mkdir "$STATE/late" "$STATE/never"
cp "$STATE/bin/slowfs" "$STATE/bin/never"
exec {said_late}< <(exec "$STATE/bin/slowfs" late "$STATE/late")
late=$!
exec {said_never}< <(exec "$STATE/bin/never" never "$STATE/never")
never=$!
background demo "$STATE/bin/demo" 1 5
leave() { kill -KILL $late $never; e2e_stop; }
trap leave EXIT
read -r said <&"$said_late" && [ "$said" = ready ] && read -r said <&"$said_never"
if [ "$said" != ready ]; then
  echo "skip slow_files: $said"
  exit 0
fi
service late "$STATE/bin/slowfs" || exit 1
service never "$STATE/bin/never" || exit 1
service other "$STATE/bin/demo" || exit 1
stoker_cli service add both --cmdline "^$STATE/bin/(demo|never) " >/dev/null

completes() { equal "$(finished "$1" | jq -r .status)" completed; }
# A page is held for 1 s, but a fork takes less than a millisecond.
forks_go_on() { # type of the capture of the late program
  local id longest
  id=$(start late 4 "$1")
  longest=$("$STATE/bin/slowfs" forks 6)
  finished "$id" >/dev/null
  echo "$1 $longest ms" >>"$STATE/forks"
  [ "$longest" -lt 500 ] || { echo "$1: a fork took $longest ms"; return 1; }
}

check processes_fork_while_allocations_of_the_program_are_watched forks_go_on alloc
check processes_fork_while_its_memory_in_use_is_watched forks_go_on memory
check processes_fork_while_it_is_sampled forks_go_on cpu
echo "# longest fork: alone $("$STATE/bin/slowfs" forks 3) ms, $(paste -sd, "$STATE/forks")"
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
