#!/bin/bash
# While a capture begins, its target ends and another program gets the pid. The
# profile shows nothing of that program.
#
# Beside others: it waits for events.
. tests/lib/e2e.sh
[ "$(id -u)" -eq 0 ] || skip reused_pids 'only root may choose a pid'
e2e_start shares inlined reborn
mkfifo "$STATE/swaps" "$STATE/swapped"
"$STATE/bin/reborn" "$STATE/bin/shares" "$STATE/bin/inlined" \
  <"$STATE/swaps" >"$STATE/swapped" 2>"$STATE/refused" &
exec {swaps}>"$STATE/swaps" {swapped}<"$STATE/swapped"
read -r pid <&$swapped || { echo "not ok it_starts"; exit 1; }
swap() { # ms: swaps after this delay
  echo "$1" >&$swaps
}
# If another process has taken the pid, the test is skipped.
is_swapped() {
  read -r now <&$swapped || { echo "skip reused_pids: $(<"$STATE/refused")"; exit 0; }
}
stoker_cli service add first --exe "$STATE/bin/shares" >/dev/null
stoker_cli service add second --exe "$STATE/bin/inlined" >/dev/null
is_first() { seen first && ! seen second; }

took() { # id: prints what the capture took, once it has ended
  finished "$1" | jq -r '.status + " " + (.error.error_code // "")' >>"$STATE/ends"
  api GET "$P/$1/flamegraph?format=folded"
}
# Swaps at various times, from before the capture begins until after its end.
for ms in 0 20 40 60 80 100 150 200 300 500 800 1100; do
  wait_for 60 is_first || { echo "not ok the_first_is_seen"; exit 1; }
  swap $ms
  id=$(start first 1 cpu 499)
  is_swapped
  took "$id" >>"$STATE/swapped_amid"
  swap 0
  is_swapped
done
sort "$STATE/ends" | uniq -c
check the_program_that_gets_a_pid_is_in_no_profile_of_the_one_before \
  equal "$(grep -c 'outer\|inlined_work' "$STATE/swapped_amid")" 0
wait_for 60 is_first
took "$(start first 1)" >"$STATE/undisturbed"
check the_program_that_had_a_pid_is_still_captured grep -q 'main;' "$STATE/undisturbed"
