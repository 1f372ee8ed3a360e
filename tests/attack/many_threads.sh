#!/bin/bash
# Captures of a target with thousands of threads, more than most programs ever
# start, cover all of them.
#
# Beside others: it waits for events.
. tests/lib/e2e.sh
. tests/lib/once.sh
can=$(ulimit -u)
most=$(</proc/sys/kernel/threads-max)
count=20000
if [ "$most" -lt $((2 * count)) ] ||
  { [ "$can" != unlimited ] && [ "$can" -lt $((2 * count)) ]; }; then
  echo "skip many_threads: this machine has room for fewer threads"
  exit 0
fi
tmp=$(mktemp -d "$B/many-threads-XXXXXX")
pid=
leave() {
  [ -z "$pid" ] || { kill -KILL "$pid" && wait "$pid"; } 2>/dev/null
  rm -rf "$tmp"
}
trap leave EXIT
can_capture many_threads || exit

# The threads end with the target's standard input.
mkfifo "$tmp/asks"
exec {asks}<>"$tmp/asks"
waiting() { exec "$B/targets/threads" $count <&"$asks"; }
target threads waiting || { echo "not ok it_starts"; exit 1; }

# Besides the waiting threads there are a busy one and the main one.
all_are_there() { equal "$(samples "$1")" $((count + 2)); }
check a_snapshot_is_made once snapshot "$pid" --seconds 1 --type goroutine
check a_snapshot_has_every_thread all_are_there snapshot
check a_program_of_many_threads_is_sampled once sampled "$pid" --seconds 2 --rate 1000
check the_busy_thread_among_many_is_sampled has sampled 'spin' 1
