#!/bin/bash
# Snapshots of threads have the stacks that a debugger prints. One snapshot is
# taken through the API.
#
# Beside others: the threads that are compared hold still.
. tests/lib/e2e.sh
tmp=$(mktemp -d /var/tmp/stoker-snapshot-XXXXXX)

# Prints "outermost;…;innermost" of each thread except the main one and "spin",
# sorted.
stacks_of_gdb() {
  gdb -nx -batch -p "$1" -ex 'thread apply all bt' 2>/dev/null | awk '
    function flush() { if (s ~ /;wait_/) print s; s = "" }
    /^Thread / { flush() }
    /^#/ { sub(/^#[0-9]+ +/, ""); sub(/^0x[0-9a-f]+ in /, "")
           sub(/ \(.*/, ""); s = s == "" ? $0 : $0 ";" s }
    END { flush() }' | sort
}
stacks_of_stoker() {
  "$B/stoker-worker" --config /dev/null --once "$1" --type goroutine \
    --out "$tmp/profile" >"$tmp/report" 2>"$tmp/err" || { cat "$tmp/err"; return 1; }
  "$B/tests/tools/folded" "$tmp/profile" | grep ';wait_' |
    awk '{ n = $NF; sub(/ [0-9]+$/, ""); while (n--) print }' | sort
}
# Keeps the frames from the thread's first function to the one that waits, since
# names of libc's functions depend on which of its files is read.
own_part() { sed -E 's/^.*;(begin;.*;wait_[a-z]+).*$/\1/'; }

same_as_gdb() {
  stacks_of_stoker "$1" | own_part >"$tmp/ours" || return 1
  stacks_of_gdb "$1" | own_part >"$tmp/theirs"
  [ "$(wc -l <"$tmp/ours")" -eq 100 ] || { wc -l "$tmp/ours"; return 1; }
  diff "$tmp/ours" "$tmp/theirs"
}

e2e_start threads
trap 'e2e_stop; rm -rf "$tmp"' EXIT
mkfifo "$tmp/in" "$tmp/out"
"$STATE/bin/threads" 100 still <"$tmp/in" >"$tmp/out" &
pid=$!
exec {in}>"$tmp/in" {out}<"$tmp/out"
read -r _ <&"$out"
check stacks_of_threads_are_those_of_gdb same_as_gdb "$pid"

service waiting "$STATE/bin/threads" || exit 1
id=$(post $P/start '{"service":"waiting","profileType":"goroutine"}' | jq -r '.id // error')
result=$(finished "$id")
check a_snapshot_of_threads_completes equal "$(jq -r .status <<<"$result")" completed
check a_snapshot_has_a_sample_for_each_thread equal "$(jq .sampleCount <<<"$result")" 101
check a_snapshot_stops_no_waiting_thread equal "$(jq .quality.threadsStopped <<<"$result")" 0
check the_flame_graph_of_a_snapshot_has_what_threads_wait_in \
  grep wait_accept <(api GET "$P/$id/flamegraph?format=folded")
