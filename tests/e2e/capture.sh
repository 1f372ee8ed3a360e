#!/bin/bash
# stoker-worker --once on programs with known behaviour. They are captured at
# the same time, since each needs only part of a CPU.
. tests/lib/e2e.sh
. tests/lib/once.sh
tmp=$(mktemp -d /var/tmp/stoker-capture-XXXXXX)
chmod 755 "$tmp"
trap 'kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$tmp" /tmp/perf-$jit.map' EXIT
jit=none

# Within 3 points or four standard errors, whichever is more: on a busy machine
# there are few samples.
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
# Expects at least LEAST samples, of which this many percent match the pattern.
percent_have() { # name, pattern, percent, least
  local got all
  got=$(samples "$1" "$2") all=$(samples "$1")
  echo "$got of $all have $2"
  [ "$all" -ge "$4" ] && [ $((got * 100)) -ge $((all * $3)) ]
}
complete() { # name: at least 95 % of the stacks reach their start
  local got all
  got=$(quality "$1" stacksComplete) all=$(quality "$1" samplesKept)
  echo "$got of $all"
  [ "$all" -ge 50 ] && [ $((got * 100)) -ge $((all * 95)) ]
}

can_capture capture || exit

# --- shares, which need many samples ------------------------------------------
# On an idle machine 3 points are six standard errors.
target shares "$B/targets/shares" 4 3
shares_fd=$fd
check a_program_of_known_shares_is_captured once shares "$pid" --seconds 2 --rate 5000
while read -r name truth <&$shares_fd; do
  check "share_of_${name}_is_true" share_is_true shares "$name" "$truth"
done
# Below main or a thread's first function lies only libc, whose start routines
# have no name unless its debug symbols are installed.
check stacks_reach_the_start_of_their_thread percent_have shares '(^|;)(main|spin)[; ]' 98 1
check kernel_frames_are_captured has shares '(^|;)(asm_|__|do_|entry_)' 1
# Matches a location's address in the kernel's half, as a varint of ten bytes,
# but not the limit of a mapping without one.
kernel_addresses() {
  gzip -dc "$1" | LC_ALL=C grep -caP '\x18(?!\xff{9})[\x80-\xff]{4}[\xf8-\xff]\xff{4}\x01'
}
check a_profile_does_not_reveal_addresses_of_the_kernel \
  [ "$(kernel_addresses "$tmp/shares.pb.gz")" = 0 ]
threads_are_counted() {
  echo "threads $(quality shares threads), processes $(quality shares processes)"
  [ "$(quality shares threads)" -eq 3 ] && [ "$(quality shares processes)" -eq 1 ]
}
check threads_are_counted threads_are_counted

# --- all the others begin -----------------------------------------------------
# This target ends in the middle of its capture, whose events must be open by
# then.
cp "$B/targets/shares" "$tmp/gone"
target gone "$tmp/gone" 600 1
gone_pid=$pid
begin gone "$pid" 0 --rate 1000

target deep "$B/targets/recurse" 600 24
begin deep "$pid" 200 --rate 500
target deeper "$B/targets/recurse" 600 100
begin deeper "$pid" 200 --rate 500

# Arrays that are never written leave holes in the kernel's copies of a stack.
# The first samples reveal them, and the worker fills them.
target hollow "$B/targets/hollow" 600
begin hollow "$pid" 200 --rate 1000

# Signal handlers on the interrupted stack or on their own, and contexts.
for way in signal altstack context; do
  target $way "$B/targets/detour" $way 600
  begin $way "$pid" 200 --rate 1000
done
target idle "$B/targets/detour" idle 600
begin idle "$pid" 0 --type goroutine

target lost "$B/targets/lost" 600
begin lost "$pid" 200 --rate 500

# With rings for only a few samples, a rate that is too high is lowered.
printf '[worker]\nring_bytes = 64K\nstack_bytes = 65528\n' >"$tmp/tiny.conf"
target fast "$B/targets/shares" 600 1
begin fast "$pid" 1000 --rate 10000 --config "$tmp/tiny.conf"

# A hundred thousand stacks: the tree holds all, or reports what it lacks.
printf '[worker]\nstack_bytes = 2K\n' >"$tmp/flat.conf"
printf '[worker]\nstack_bytes = 2K\ntree_nodes = 1024\n' >"$tmp/bush.conf"
target stacks "$B/targets/stacks" 600 1
begin tree "$pid" 1000 --rate 10000 --config "$tmp/flat.conf"
target bush "$B/targets/stacks" 600 1
begin bush "$pid" 1000 --rate 10000 --config "$tmp/bush.conf"

target clock "$B/targets/clock" 600
begin clock "$pid" 200 --rate 1000
target shortchild "$B/targets/shortchild" 600
begin children "$pid" 200 --rate 1000

# Runs in new mount and pid namespaces; only there the program's file exists.
inside() {
  exec unshare --mount --pid --fork --kill-child sh -c "
    mount -t tmpfs tmpfs /mnt && cp '$B/targets/shares' /mnt/inside &&
    exec /mnt/inside 600 1"
}
if namespaces=$(unshare --mount --pid --fork true 2>&1); then
  target inside inside
  begin inside "$(pgrep -nx inside)" 200 --rate 1000
fi

strip -o "$tmp/bare" "$B/targets/shares"
bare_id=$(readelf -n "$tmp/bare" | awk '/Build ID:/ {print $3}')
target bare "$tmp/bare" 600 1
begin bare "$pid" 200 --rate 1000

target jit "$B/targets/jit" 600
jit=$pid
begin jit "$pid" 200 --rate 1000

wait_for 120 has_taken gone 100
{ kill -KILL "$gone_pid" && wait "$gone_pid"; } 2>/dev/null
rm "$tmp/gone"
end_capture gone
await_captures
{ kill -KILL $(jobs -p) && wait; } 2>/dev/null

# --- deep stacks, and stacks with holes -----------------------------------------
down='(^|;)main;outermost;down;'
check stacks_of_24_KiB_are_captured captured deep
check stacks_of_24_KiB_reach_main percent_have deep "$down" 98 20
check more_is_copied_of_stacks_of_24_KiB [ "$(quality deep stackBytes)" -ge 32768 ]
check stacks_of_100_KiB_are_captured captured deeper
check stacks_of_100_KiB_reach_main percent_have deeper "$down" 98 20
check the_rest_of_100_KiB_is_read_from_memory [ $(($(quality deeper stacksToppedUp) * 2)) -ge \
  "$(quality deeper samplesKept)" ]
check stacks_with_pages_not_in_memory_are_captured captured hollow
check stacks_with_pages_not_in_memory_reach_the_start_of_their_thread \
  percent_have hollow '(^|;)hollow_start;hollow_outer;hollow_inner;' 98 100
check reading_a_hole_of_a_stack_fills_it [ $(($(quality hollow stacksToppedUp) * 2)) -lt \
  "$(quality hollow samplesKept)" ]
check a_hole_in_a_stack_is_no_reason_to_copy_more [ "$(quality hollow stackBytes)" = 16384 ]

# --- handlers and contexts ------------------------------------------------------
above=';detour_handler;detour_way;detour_work[; ]'
for way in signal altstack context; do
  check "a_detour_by_${way}_is_captured" captured $way
  check "stacks_of_a_detour_by_${way}_are_complete" complete $way
done
check a_handler_is_called_by_the_function_it_interrupted \
  percent_have signal ";main;interrupt;detour_waits;__restore_rt$above" 95 50
check a_handler_on_a_stack_of_its_own_is_called_by_the_function_it_interrupted \
  percent_have altstack ";main;interrupt;detour_waits;__restore_rt$above" 95 50
check a_context_begins_where_its_function_returns_to \
  percent_have context '^__start_context;detour_context;detour_way;detour_work[; ]' 95 50
check a_handler_that_waits_is_read captured idle
check a_waiting_handler_is_above_the_stack_it_interrupted \
  has idle ';main;interrupt;detour_waits;__restore_rt;detour_handler;detour_way;' 1
check code_without_a_way_out_is_captured captured lost
check the_module_where_stacks_break_off_is_named grep -qE \
  'note: many stacks break off .*: (9[0-9]|100) % in lost, ' "$tmp/lost.txt"

# --- too much ---------------------------------------------------------------------
check a_rate_that_is_too_high_is_captured captured fast
check a_rate_that_is_too_high_is_lowered grep -q 'the rate was lowered' "$tmp/fast.txt"
weights_grow() { # beyond the 0.1 ms of its first period
  local ns kept
  ns=$(quality fast cpuNs) kept=$(quality fast samplesKept)
  echo "$ns ns in $kept samples"
  [ "$kept" -gt 0 ] && [ $((ns / kept)) -gt 110000 ]
}
check samples_of_a_lowered_rate_stand_for_more_time weights_grow
nothing_is_missing() { # name
  local all kept
  all=$(samples "$1") kept=$(quality "$1" samplesKept)
  echo "$kept kept, $all in the profile, $(quality "$1" samplesLost) lost"
  [ "$kept" -ge 100 ] && [ "$all" -eq "$kept" ]
}
check a_hundred_thousand_stacks_are_captured captured tree
check nearly_all_samples_have_a_stack_of_their_own \
  [ $(($(wc -l <"$tmp/tree.folded") * 2)) -gt "$(quality tree samplesKept)" ]
check no_stack_is_folded_in_a_tree_with_room [ "$(quality tree stacksFolded)" = 0 ]
check no_sample_is_missing_in_a_tree_with_room nothing_is_missing tree
check a_program_is_captured_in_a_tree_that_is_too_small captured bush
check a_tree_has_no_more_nodes_than_it_may [ "$(wc -l <"$tmp/bush.folded")" -lt 1024 ]
check stacks_beyond_the_tree_are_counted [ "$(quality bush stacksFolded)" -gt 0 ]
check stacks_beyond_the_tree_are_shown_as_truncated \
  [ "$(samples bush '(^|;)\[truncated\]')" = "$(quality bush stacksFolded)" ]
check a_tree_that_is_too_small_is_noted grep -q 'the call tree reached its limit' "$tmp/bush.txt"
check no_sample_is_missing_in_a_tree_that_is_too_small nothing_is_missing bush

# --- names ------------------------------------------------------------------------
check calls_of_the_vdso_and_the_kernel_are_captured captured clock
check functions_of_the_vdso_have_names \
  has clock ';ask_time;.*__(vdso|kernel)_clock_gettime[; ]' 5
check functions_of_the_kernel_have_names \
  has clock ';ask_kernel;.*_sys_getppid[; ]' 5
check short_lived_children_are_captured captured children
check a_forked_child_of_20_ms_has_its_name has children ';work_of_forked_child;' 3
check an_executed_child_of_20_ms_has_its_name has children ';work_of_executed_child;' 3
check execs_are_counted [ "$(quality children execs)" -ge 1 ]
check a_target_may_end_before_its_capture captured gone
check the_program_of_the_ended_target_is_deleted [ ! -e "$tmp/gone" ]
check an_ended_target_has_its_names has gone '(^|;)share_half[; ]' 20
check the_report_says_that_the_target_ended \
  grep -q 'every process of the capture ended' "$tmp/gone.txt"
if [ -z "$namespaces" ]; then
  check a_container_is_captured captured inside
  check a_file_of_a_container_s_mount_namespace_has_names \
    has inside '(^|;)share_half[; ]' 20
else
  echo "skip a_container_is_captured: $namespaces"
fi
check a_stripped_program_is_captured captured bare
check functions_of_a_stripped_program_are_addresses_of_its_file \
  has bare '(^|;)bare\+0x[0-9a-f]+[; ]' 20
has_build_id() { zcat "$tmp/bare.pb.gz" | grep -aqF "${bare_id:?}"; }
check a_profile_has_the_build_id_of_a_stripped_program has_build_id
check code_of_a_jit_compiler_is_captured captured jit
check code_of_a_jit_compiler_has_its_name has jit 'main;compiled_at_run_time[; ]' 20

# --- errors -----------------------------------------------------------------------
refused() { # pattern of the error, pid
  ! once refused "$2" --seconds 1 >"$tmp/refused.out" || return 1
  cat "$tmp/refused.out"
  grep -q "$1" "$tmp/refused.out"
}
check a_capture_of_no_process_is_an_error refused 'no process of the service is running' "$gone_pid"
check no_profile_is_left_of_an_error [ ! -e "$tmp/refused.pb.gz" ]

# The worker's processes without capabilities can't take it down. The analyser
# is its second child.
death_of_analyser() {
  once killed $$ --seconds 30 &
  local run=$! worker analyser
  until worker=$(pgrep -nP "$run" stoker-worker) &&
    analyser=$(pgrep -P "$worker" stoker-worker | sed -n 2p) && [ "$analyser" ] &&
    grep -q '^Seccomp:.2' "/proc/$analyser/status"; do
    [ -e "/proc/$run" ] || return 1
  done
  kill -KILL "$analyser"
  ! wait "$run"
}
check death_of_the_analyser_fails_the_capture death_of_analyser
check the_death_of_the_analyser_is_named_as_the_cause \
  grep -q 'analysed the samples died' "$tmp/killed.err"

if [ "$(id -u)" -eq 0 ]; then
  install -m 755 "$B/stoker-worker" "$tmp/worker"
  denied() {
    setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/worker" \
      --once $$ --seconds 1 --out /dev/null >"$tmp/denied.err" 2>&1 && return 1
    cat "$tmp/denied.err"
    grep -q 'CapabilityBoundingSet= must name CAP_PERFMON' "$tmp/denied.err"
  }
  check a_user_without_capabilities_reads_which_it_lacks denied
fi
