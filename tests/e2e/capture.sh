#!/bin/bash
# stoker-worker --once on programs whose truth is known.
. tests/lib/e2e.sh
. tests/lib/once.sh
tmp=$(mktemp -d /var/tmp/stoker-capture-XXXXXX)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$tmp" /tmp/perf-$jit.map' EXIT
jit=none

# Within 3 points; where others left so little of the CPUs that four standard
# errors of so few samples are more, within these.
share_is_true() { # name, function, truth in percent
  local got all
  got=$(samples "$1" "(^|;)$2[; ]") all=$(samples "$1")
  echo "$2: $got of $all, $3 %"
  [ "$all" -ge 100 ] && awk "BEGIN {
    d = 100 * $got / $all - $3
    p = $3 / 100; chance = 400 * sqrt(p * (1 - p) / $all)
    far = chance > 3 ? chance : 3
    exit !(d <= far && d >= -far)}"
}

# Below main or a thread's first function lies only libc, whose own start
# routines have no name where its debug symbols are not installed.
stacks_are_whole() { # name
  local got all
  got=$(samples "$1" '(^|;)(main|spin)[; ]') all=$(samples "$1")
  echo "$got of $all reach main or the start of their thread"
  [ "$all" -gt 0 ] && [ $((got * 100)) -ge $((all * 98)) ]
}

can_capture capture || exit

target shares "$B/targets/shares" 7 3
shares_fd=$fd
# Enough samples that 3 points are six standard errors, on a busy machine too.
check known_shares_are_captured once shares "$pid" --seconds 5 --rate 1000
while read -r name truth <&$shares_fd; do
  check "share_of_${name}_is_true" share_is_true shares "$name" "$truth"
done
check stacks_reach_the_start_of_their_thread stacks_are_whole shares
check nothing_is_lost_at_1000_hertz [ "$(quality shares samplesLost)" = 0 ]

deep_stacks_are_whole() { # name
  local got all
  got=$(samples "$1" '(^|;)main;outermost;down;') all=$(samples "$1")
  echo "$got of $all reach main, stacks of $(quality "$1" stackBytes) bytes"
  [ "$all" -ge 20 ] && [ $((got * 100)) -ge $((all * 98)) ]
}
target deep "$B/targets/recurse" 8 24
check stacks_of_24_KiB_are_captured once deep "$pid" --seconds 4 --rate 100
check they_are_whole deep_stacks_are_whole deep
check more_of_each_stack_is_copied [ "$(quality deep stackBytes)" -ge 32768 ]
check nothing_is_lost_when_that_changes [ "$(quality deep samplesLost)" = 0 ]
target deeper "$B/targets/recurse" 8 100
check stacks_of_100_KiB_are_captured once deeper "$pid" --seconds 4 --rate 100
check they_are_whole_too deep_stacks_are_whole deeper
check since_memory_had_the_rest [ $(($(quality deeper stacksToppedUp) * 2)) -ge \
  "$(quality deeper samplesKept)" ]

# Arrays that were never written to leave holes in the kernel's copies, of which
# those that are read first are found and filled.
target hollow "$B/targets/hollow" 8
check stacks_with_pages_not_in_memory_are_captured once hollow "$pid" --seconds 3 --rate 200
hollow_stacks_are_whole() {
  local got all
  got=$(samples hollow '(^|;)hollow_start;hollow_outer;hollow_inner;')
  all=$(samples hollow)
  echo "$got of $all reach the start of their thread"
  [ "$all" -ge 100 ] && [ $((got * 100)) -ge $((all * 98)) ]
}
check they_are_whole_as_well hollow_stacks_are_whole
check reading_a_hole_fills_it [ $(($(quality hollow stacksToppedUp) * 2)) -lt \
  "$(quality hollow samplesKept)" ]
check and_is_no_reason_to_copy_more [ "$(quality hollow stackBytes)" = 16384 ]

# Handlers, on the stack of what they interrupt or on their own, and contexts.
nearly_all() { # name, pattern
  local got all
  got=$(samples "$1" "$2") all=$(samples "$1")
  echo "$got of $all have $2"
  [ "$all" -ge 50 ] && [ $((got * 100)) -ge $((all * 95)) ]
}
whole() { # name
  local got all
  got=$(quality "$1" stacksComplete) all=$(quality "$1" samplesKept)
  echo "$got of $all"
  [ "$all" -ge 50 ] && [ $((got * 100)) -ge $((all * 95)) ]
}
above=';detour_handler;detour_way;detour_work[; ]'
for way in signal altstack context; do
  target "$way" "$B/targets/detour" $way 6
  check "a_detour_by_${way}_is_captured" once "$way" "$pid" --seconds 2 --rate 200
  check "${way}_stacks_are_whole" whole "$way"
done
check a_handler_is_called_by_what_it_interrupted \
  nearly_all signal ";main;interrupt;detour_waits;__restore_rt$above"
check also_from_a_stack_of_its_own \
  nearly_all altstack ";main;interrupt;detour_waits;__restore_rt$above"
check a_context_begins_where_its_function_returns_to \
  nearly_all context '^__start_context;detour_context;detour_way;detour_work[; ]'

target idle "$B/targets/detour" idle 6
check a_handler_that_waits_is_read once idle "$pid" --type goroutine
check it_waits_on_its_own_stack_above_the_other \
  has idle ';main;interrupt;detour_waits;__restore_rt;detour_handler;detour_way;' 1

# The report names the place where stacks cannot be walked.
target lost "$B/targets/lost" 6
check code_without_a_way_out_is_captured once lost "$pid" --seconds 2 --rate 200
check the_module_where_stacks_break_off_is_named grep -qE \
  'note: most stacks break off .*: (9[0-9]|100) % in lost, ' "$tmp/lost.txt"

# Where a CPU has nothing else to do than what is sampled, at a rate that fills
# the rings with 64 MB of stack a second.
deep_on_every_cpu() {
  local cpu pids= code worst=0 ms late_pids=() late_fds=()
  for ((cpu = 0; cpu < $(nproc); cpu++)); do
    target "deep$cpu" "$B/targets/recurse" 8 48 || return
    pids+=,$pid
    target "late$cpu" "$B/targets/late" "$cpu" || return
    late_pids+=("$pid") late_fds+=("$fd")
  done
  once busy "${pids#,}" --seconds 4 --rate 1000
  code=$?
  kill -TERM "${late_pids[@]}"
  for fd in "${late_fds[@]}"; do
    read -r ms <&"$fd" && [ "$ms" -gt "$worst" ] && worst=$ms
  done
  echo "$worst" >"$tmp/late"
  return $code
}
check stacks_of_48_KiB_are_captured_on_every_cpu_at_1000_hertz deep_on_every_cpu
worst=$(<"$tmp/late")
# Rings as small as a user's 8 MB of locked memory makes them are half full of
# such stacks after 32 ms: a worker that then gets no CPU as long loses some.
unhindered() { # name, command...
  if [ "$worst" -ge 20 ]; then
    echo "skip $1: others kept the CPUs for $worst ms"
  elif grep -q 'rings hold less than' "$tmp/busy.txt"; then
    echo "skip $1: others lock the memory for rings"
  else
    check "$@"
  fi
}
none_is_lost() {
  echo "$(quality busy samplesLost) lost, $worst ms late"
  [ "$(quality busy samplesLost)" = 0 ]
}
unhindered they_all_are_whole deep_stacks_are_whole busy
unhindered and_none_is_lost none_is_lost

# Rings that hold a few samples: what can't be carried is sampled less often.
printf '[worker]\nring_bytes = 64K\n' >"$tmp/tiny.conf"
target fast "$B/targets/shares" 9 2
check a_rate_that_is_too_high_is_captured \
  once fast "$pid" --seconds 7 --rate 10000 --config "$tmp/tiny.conf"
check it_is_lowered grep -q 'the rate was lowered' "$tmp/fast.txt"
weights_grow() { # beyond the 0.1 ms of its first period
  local ns kept
  ns=$(quality fast cpuNs) kept=$(quality fast samplesKept)
  echo "$ns ns in $kept samples"
  [ "$kept" -gt 0 ] && [ $((ns / kept)) -gt 110000 ]
}
check and_later_samples_stand_for_more_time weights_grow

# A hundred thousand stacks: the tree holds them, or says what it does not.
nothing_is_missing() { # name
  local all kept
  all=$(samples "$1") kept=$(quality "$1" samplesKept)
  echo "$kept kept, $all in the profile, $(quality "$1" samplesLost) lost"
  [ "$kept" -ge 100 ] && [ "$all" -eq "$kept" ]
}
printf '[worker]\nstack_bytes = 2K\n' >"$tmp/flat.conf"
printf '[worker]\nstack_bytes = 2K\ntree_nodes = 1024\n' >"$tmp/bush.conf"
target stacks "$B/targets/stacks" 13 2
check a_hundred_thousand_stacks_are_captured \
  once tree "$pid" --seconds 5 --rate 10000 --config "$tmp/flat.conf"
check nearly_all_samples_have_one_of_their_own \
  [ $(($(wc -l <"$tmp/tree.folded") * 2)) -gt "$(quality tree samplesKept)" ]
check none_is_folded [ "$(quality tree stacksFolded)" = 0 ]
check and_none_is_missing nothing_is_missing tree
check a_tree_that_is_too_small_is_captured \
  once bush "$pid" --seconds 3 --rate 10000 --config "$tmp/bush.conf"
check it_has_no_more_nodes_than_it_may [ "$(wc -l <"$tmp/bush.folded")" -lt 1024 ]
check stacks_beyond_are_counted [ "$(quality bush stacksFolded)" -gt 0 ]
check they_are_shown \
  [ "$(samples bush '(^|;)\[truncated\]')" = "$(quality bush stacksFolded)" ]
check it_says_so grep -q 'the call tree met its ceiling' "$tmp/bush.txt"
check and_still_none_is_missing nothing_is_missing bush

# A location's address in the kernel's half, as a varint of ten bytes; not the
# limit of a mapping that has none.
kernel_addresses() {
  gzip -dc "$1" | LC_ALL=C grep -caP '\x18(?!\xff{9})[\x80-\xff]{4}[\xf8-\xff]\xff{4}\x01'
}
check kernel_frames_are_captured has shares '(^|;)(asm_|__|do_|entry_)' 1
check where_the_kernel_lies_is_not_told \
  [ "$(kernel_addresses "$tmp/shares.pb.gz")" = 0 ]

target clock "$B/targets/clock" 4
check calls_of_the_vdso_and_the_kernel_are_captured \
  once clock "$pid" --seconds 2 --rate 1000
check functions_of_the_vdso_have_names \
  has clock ';ask_time;.*__(vdso|kernel)_clock_gettime[; ]' 5
check functions_of_the_kernel_have_names \
  has clock ';ask_kernel;.*_sys_getppid[; ]' 5

target shortchild "$B/targets/shortchild" 5
check short_lived_children_are_captured once children "$pid" --seconds 3 --rate 1000
check a_forked_child_of_20_ms_has_its_name \
  has children ';work_of_forked_child;' 3
check an_executed_child_of_20_ms_has_its_name \
  has children ';work_of_executed_child;' 3
check execs_are_counted [ "$(quality children execs)" -ge 1 ]

cp "$B/targets/shares" "$tmp/gone"
target gone "$tmp/gone" 2 2
gone_pid=$pid
(read -r line <&"$fd"; rm -f "$tmp/gone") &
check a_target_may_end_before_its_capture \
  once gone "$gone_pid" --seconds 4 --rate 1000
check the_ended_program_is_deleted [ ! -e "$tmp/gone" ]
check an_ended_target_has_its_names has gone '(^|;)share_half[; ]' 20
check the_report_says_that_the_target_ended \
  grep -q 'every process of the capture ended' "$tmp/gone.txt"

threads_are_counted() {
  echo "threads $(quality shares threads), processes $(quality shares processes)"
  [ "$(quality shares threads)" -eq 3 ] && [ "$(quality shares processes)" -eq 1 ]
}
check threads_are_counted threads_are_counted

# A file system and process numbers of its own; the program is only there.
inside() {
  unshare --mount --pid --fork --kill-child sh -c "
    mount -t tmpfs tmpfs /mnt && cp '$B/targets/shares' /mnt/inside &&
    exec /mnt/inside 5 2"
}
if unshare --mount --pid --fork true 2>/dev/null; then
  target inside inside
  check a_container_is_captured \
    once inside "$(pgrep -nx inside)" --seconds 3 --rate 1000
  check a_file_of_its_mount_namespace_has_names \
    has inside '(^|;)share_half[; ]' 20
else
  echo "skip a_container_is_captured: this user may not make namespaces"
fi

strip -o "$tmp/bare" "$B/targets/shares"
bare_id=$(readelf -n "$tmp/bare" | awk '/Build ID:/ {print $3}')
target bare "$tmp/bare" 4 2
check a_stripped_program_is_captured \
  once bare "$pid" --seconds 2 --rate 1000
check its_functions_are_addresses_of_its_file \
  has bare '(^|;)bare\+0x[0-9a-f]+[; ]' 20
check_build_id() { zcat "$tmp/bare.pb.gz" | grep -aqF "${bare_id:?}"; }
check the_profile_tells_its_build_id check_build_id

target jit "$B/targets/jit" 4
jit=$pid
check compiled_code_is_captured once jit "$pid" --seconds 2 --rate 1000
check code_of_a_jit_compiler_has_its_name \
  has jit 'main;compiled_at_run_time[; ]' 20

refused() { # pattern of the error, pid
  ! once refused "$2" --seconds 1 >"$tmp/refused.out" || return 1
  cat "$tmp/refused.out"
  grep -q "$1" "$tmp/refused.out"
}
check no_process_is_an_error refused 'no process of the service is running' "$gone_pid"
check no_profile_is_left_of_an_error [ ! -e "$tmp/refused.pb.gz" ]

# The worker's processes that hold no capability can't take it down.
death_of_analyser() {
  once killed $$ --seconds 30 &
  local run=$! worker analyser
  until worker=$(pgrep -nP "$run" stoker-worker) &&
    analyser=$(pgrep -nP "$worker" stoker-worker) &&
    grep -q '^Seccomp:.2' "/proc/$analyser/status"; do
    [ -e "/proc/$run" ] || return 1
  done
  kill -KILL "$analyser"
  ! wait "$run"
}
check death_of_the_analyser_fails_the_capture death_of_analyser
check and_says_so grep -q 'analysed the samples died' "$tmp/killed.err"

if [ "$(id -u)" -eq 0 ]; then
  install -m 755 "$B/stoker-worker" "$tmp/worker"
  chmod 755 "$tmp"
  denied() {
    setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/worker" \
      --once $$ --seconds 1 --out /dev/null >"$tmp/denied.err" 2>&1 && return 1
    cat "$tmp/denied.err"
    grep -q 'AmbientCapabilities=CAP_PERFMON' "$tmp/denied.err"
  }
  check a_user_without_capabilities_is_told_which denied
fi
