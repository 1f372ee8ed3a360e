#!/bin/bash
# No sample is lost or cut, even at rates that fill the worker's rings.
#
# Alone: a worker that gets no CPU for some ms loses samples.
. tests/lib/e2e.sh
. tests/lib/once.sh
tmp=$(mktemp -d /var/tmp/stoker-losses-XXXXXX)
trap 'kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$tmp"' EXIT
can_capture losses || exit

# --- one program at a time ------------------------------------------------------
target shares "$B/targets/shares" 600 3
check a_busy_program_is_captured_at_1000_hertz once shares "$pid" --seconds 2 --rate 1000
check nothing_is_lost_at_1000_hertz [ "$(quality shares samplesLost)" = 0 ]
{ kill -KILL "$pid" && wait "$pid"; } 2>/dev/null
target deep "$B/targets/recurse" 600 24
check stacks_of_24_KiB_are_captured once deep "$pid" --seconds 2 --rate 200
check nothing_is_lost_when_more_of_each_stack_is_copied [ "$(quality deep samplesLost)" = 0 ]
{ kill -KILL "$pid" && wait "$pid"; } 2>/dev/null

# --- every CPU --------------------------------------------------------------
# Each CPU runs nothing but the target, at a rate that fills the rings with
# 48 MB of stacks a second.
deep_on_every_cpu() {
  local cpu pids=() code worst=0 ms late_pids=() late_fds=()
  for ((cpu = 0; cpu < $(nproc); cpu++)); do
    target "deep$cpu" "$B/targets/recurse" 600 48 || return
    pids+=("$pid")
    target "late$cpu" "$B/targets/late" "$cpu" || return
    late_pids+=("$pid") late_fds+=("$fd")
  done
  once busy "$(IFS=, && echo "${pids[*]}")" --seconds 3 --rate 1000
  code=$?
  kill -TERM "${late_pids[@]}"
  kill -KILL "${pids[@]}"
  for fd in "${late_fds[@]}"; do
    read -r ms <&"$fd" && [ "$ms" -gt "$worst" ] && worst=$ms
  done
  echo "$worst" >"$tmp/late"
  return $code
}
check stacks_of_48_KiB_are_captured_on_every_cpu_at_1000_hertz deep_on_every_cpu
worst=$(<"$tmp/late")
# With a user's limit of 8 MB of locked memory, rings are half full of such
# stacks after 32 ms. A worker that gets no CPU for that long loses some
# samples.
unhindered() { # name, command...
  if [ "$worst" -ge 20 ]; then
    echo "skip $1: others kept the CPUs for $worst ms"
  elif grep -q 'rings hold less than' "$tmp/busy.txt"; then
    echo "skip $1: others lock the memory for rings"
  else
    check "$@"
  fi
}
reach_main() {
  local got all
  got=$(samples busy '(^|;)main;outermost;down;') all=$(samples busy)
  echo "$got of $all reach main, stacks of $(quality busy stackBytes) bytes"
  [ "$all" -ge 20 ] && [ $((got * 100)) -ge $((all * 98)) ]
}
none_is_lost() {
  echo "$(quality busy samplesLost) lost, $worst ms late"
  [ "$(quality busy samplesLost)" = 0 ]
}
unhindered stacks_of_48_KiB_on_every_cpu_reach_main reach_main
unhindered no_stack_of_48_KiB_is_lost_on_any_cpu none_is_lost
