#!/bin/bash
# Programs keep their memory locked: a thread waits for a page of their own FUSE
# server, with the lock, and another one wants to change the memory. Whoever
# reads the command line of such a program waits, and so does the kernel when it
# inserts or removes a probe, while no process of the host can fork. The worker
# does neither.
#
# Alone: a fork waits for probes that others place.
set -u
. tests/lib/e2e.sh
. tests/lib/groups.sh
[ "$(id -u)" -eq 0 ] || skip locked_memory 'only root opens /dev/fuse everywhere'
e2e_start slowfs allocating
cp "$STATE/bin/allocating" "$STATE/bin/later"
lockers=()
leave() {
  kill -KILL "${lockers[@]}" && wait "${lockers[@]}"
  apart_end
  e2e_stop
} 2>/dev/null
trap leave EXIT
# Reads the maps of a process as ps(1) does.
is_locked() { leaves 124 timeout 0.3 head -c 1 "/proc/$1/cmdline"; }
locks() { # seconds: starts a program that does, in a unit of its own
  local at said line try
  for try in {1..10}; do
    at=$(mktemp -d "$STATE/lock-XXXXXX")
    exec {said}< <(exec "$STATE/bin/slowfs" lock "$at" "$1")
    lockers+=($!)
    apart $!
    read -r line <&"$said" && [ "$line" = ready ] || skip locked_memory "$line"
    exec {said}<&-
    wait_for 1 is_locked "${lockers[-1]}" && return
    { kill -KILL "${lockers[-1]}" && wait "${lockers[-1]}"; } 2>/dev/null
    unset 'lockers[-1]'
  done
}
unlocked() { # ends them
  { kill -KILL "${lockers[@]}" && wait "${lockers[@]}"; } 2>/dev/null
  lockers=()
}
completes() { equal "$(finished "$(start "$@")" | jq -r .status)" completed; }
lasts=${LOCKED_S:-60}

background busy "$STATE/bin/allocating" "$STATE/truth" 20000
service busy "$STATE/bin/allocating" || exit 1
alone=$("$STATE/bin/slowfs" forks 3 | sed 's/.* //')

locks "$lasts"
check the_program_locks_its_memory wait_for 5 is_locked "${lockers[0]}"
check a_service_is_captured_beside_it completes busy 1
background later "$STATE/bin/later" "$STATE/truth2" 10
check processes_that_start_later_are_seen service later "$STATE/bin/later"
process_stop later
check the_worker_is_ready stack_ready

id=$(start busy 4 alloc)
read -r longest waited < <("$STATE/bin/slowfs" forks 6)
echo "# a fork waits at most $waited of $longest ms, $alone without a capture"
result=$(finished "$id")
check processes_fork_while_allocations_are_captured_beside_it [ "$waited" -lt $((alone + 10)) ]
says_why() { jq -e '.quality.verdict == "poor" and (.quality.reasons | tostring | test("memory locked"))' <<<"$result" || { echo "$result"; false; }; }
check the_profile_says_why_allocations_are_missing says_why
unlocked
has_allocations() { result=$(finished "$(start busy 2 alloc)"); jq -e '.status == "completed" and .sampleCount > 50' <<<"$result" || { echo "$result"; false; }; }
check allocations_are_captured_once_the_memory_is_unlocked wait_for 30 has_allocations

# A user who starts many such programs holds up nobody for longer.
for i in 1 2 3 4 5 6; do locks "$lasts"; done
each_is_locked() { for pid in "${lockers[@]}"; do wait_for 5 is_locked "$pid" || return; done; }
check each_of_many_programs_locks_its_memory each_is_locked
background later "$STATE/bin/later" "$STATE/truth2" 10
began=$EPOCHSECONDS
check processes_that_start_later_are_seen_beside_many_such_programs wait_for 20 seen later
echo "# seen after $((EPOCHSECONDS - began)) s"
check a_service_is_captured_beside_many_such_programs completes busy 1
process_stop later

# Memory is locked while probes are to be removed.
unlocked
id=$(start busy 6 alloc)
check a_program_has_probes wait_for 10 has_program stoker_alloc
read -rt 1 <> <(:)
locks "$lasts"
check memory_is_locked_while_there_are_probes wait_for 5 is_locked "${lockers[0]}"
read -r longest waited < <("$STATE/bin/slowfs" forks 10)
echo "# a fork waits at most $waited of $longest ms while probes are to be removed"
check processes_fork_when_a_capture_ends_beside_it [ "$waited" -lt $((alone + 10)) ]
check the_capture_ends_in_time equal "$(finished "$id" | jq -r .status)" completed
unlocked
check probes_are_removed_once_the_memory_is_unlocked wait_for 30 eval '! has_program stoker_alloc'
