#!/bin/bash
# Tries the settings of one of Debian's kernels. With each the installed package
# works, or doctor and the capture say what to change, and the commands that
# doctor prints mend it unchanged.
#
#	tests/vm/settings.sh IMAGE
. "$(dirname "$0")/lib.sh"
check the_package_allows_sampling_on_this_kernel \
  equal "$(in_machine cat /proc/sys/kernel/perf_event_paranoid)" 2
check doctor_finds_nothing_broken doctor_is_content
# The worker loads each program when it starts. The kernel's verifier refuses
# some that those of later kernels take.
since() { in_machine sh -c "printf '%s\n' $1 \"\$(uname -r)\" | sort -VC"; } # Linux
the_kernel_takes_the_programs() {
  doctor_says ok 'worker filter' 'dropped in the kernel' &&
    doctor_says ok 'worker waits' 'measured in the kernel' || return
  ! since 6.6 || doctor_says ok 'worker allocations' 'measured by probes'
}
check the_kernel_takes_the_programs_that_it_can_run the_kernel_takes_the_programs

# Emulated CPUs need about thirty times as long for the same work.
used_ms() { in_machine systemctl show -P CPUUsageNSec stoker-worker | sed 's/......$//'; }
idles() {
  local before=$(used_ms)
  sleep 60
  local used=$(($(used_ms) - before))
  echo "# an idle worker used $used ms of CPU in 60 s"
  [ $used -lt 12000 ]
}
check a_worker_without_work_leaves_the_cpus_alone idles

fix_of() { # check, which alternative
  cli --json doctor | jq -r --arg c "$1" '.[] | select(.check == $c) | .fix' |
    sed 's/; or /\n/' | sed -n "$2p"
}
mends() { # check, which alternative
  in_machine sh -c "$(fix_of "$1" "$2")" >/dev/null && wait_for 120 alive &&
    wait_for 60 doctor_says ok "$1" ''
}

check c_and_go_have_their_names all_good
check functions_of_python_have_their_names python_is_good

# --- what a Go program counts ---------------------------------------------------------
service_of counts "/bin/sh -c 'while echo allocate 20; echo block 20; echo contend 20; do :; done | \
/usr/local/bin/machine-counts block mutex'" StandardOutput=null
known counts --exe /usr/local/bin/machine-counts --kind go
for each in memory.main.keepLarge alloc.main.allocate block.main.block mutex.main.contend; do
  check "${each%%.*}_of_go_has_its_names" good counts "${each%%.*}" "${each#*.}"
done
in_machine systemctl disable --now counts 2>/dev/null

# --- programs in the kernel: waits and allocations -----------------------------------
service_of waits "/usr/local/bin/waiting /var/lib/waits/truth /var/lib/waits/through" StateDirectory=waits
service_of allocs "/usr/local/bin/allocating /run/allocs/truth 10000" RuntimeDirectory=allocs
for name in waits allocs; do known $name --unit $name.service; done
for each in block.sleep_long mutex.take_hot io.wait_pipe io.fault_in; do
  check "${each%%.*}_of_c_tells_of_${each#*.}" good waits "${each%%.*}" "${each#*.}"
done
# Since Linux 6.6, probes can be limited to a process.
if since 6.6; then
  check alloc_of_c_has_its_names good allocs alloc get_large
else
  refused() { captured allocs --type alloc --seconds 3; is '.message // .error.message | contains("Linux 6.6")'; }
  check alloc_of_c_is_refused_with_its_reason refused
fi
in_machine systemctl disable --now waits allocs 2>/dev/null

# --- a library that a program loads: on any kernel -------------------------------------
service_of counted "/usr/local/bin/allocating /run/counted/truth 10000" \
  "RuntimeDirectory=counted
Environment=LD_PRELOAD=/usr/lib/stoker/libstoker-heap.so"
service_of keeping "/usr/local/bin/keeping /dev/null" \
  Environment=LD_PRELOAD=/usr/lib/stoker/libstoker-heap.so
for name in counted keeping; do known $name --unit $name.service; done
check allocations_that_a_program_counts_have_their_names good counted alloc get_large
check memory_that_a_program_counts_has_its_names good keeping memory keep_most
in_machine systemctl disable --now counted keeping 2>/dev/null

# --- kernel.perf_event_paranoid ---------------------------------------------------
closed() { captured burn --seconds 3; is ".message // .error.message | contains(\"$1\")" ||
  says "$1" cat "$MACHINE_AT/captured"; }
for level in 3 4; do
  setting kernel.perf_event_paranoid $level
  check "doctor_says_that_paranoid_${level}_refuses" \
    doctor_says broken 'worker events' "kernel.perf_event_paranoid=$level refuses CAP_PERFMON"
  check "a_capture_fails_with_paranoid_${level}_and_says_what_to_change" \
    closed 'sysctl kernel.perf_event_paranoid=2'
  check "goroutines_need_no_events_with_paranoid_$level" good waiting goroutine wait_cond
  check "line_$((level - 2))_of_doctor_mends_paranoid_$level" mends 'worker events' $((level - 2))
  check "captures_work_after_it" good burn cpu share_half
done
check samples_are_filtered_with_the_drop_in_too doctor_says ok 'worker filter' 'dropped in the kernel'
in_machine rm -r /etc/systemd/system/stoker-worker.service.d
setting kernel.perf_event_paranoid 2

# --- kernel.kptr_restrict -----------------------------------------------------------
service_of zeros "/bin/dd if=/dev/zero of=/dev/null bs=64k"
known zeros --unit zeros.service
kernel_named() { # how
  captured zeros --seconds 3
  is ".status == \"completed\" and ([.topFunctions[] | select(.package | startswith(\"[kernel\")) |
    .funcName | test(\"^[A-Za-z_][A-Za-z0-9_.]*$\")] | $1)"
}
check kernel_functions_have_names_with_kptr_restrict_0 kernel_named 'any'
setting kernel.kptr_restrict 1
check doctor_is_content_with_kptr_restrict_1 doctor_says ok 'worker kernel names' 'kptr_restrict=1'
check kernel_functions_have_names_with_it kernel_named 'any'
setting kernel.kptr_restrict 2
check doctor_warns_of_kptr_restrict_2 doctor_says warning 'worker kernel names' 'kernel.kptr_restrict=2 hides'
captured burn --seconds 3
check a_capture_with_it_says_so is '.status == "completed" and
  any(.quality.notes[]; contains("kernel.kptr_restrict=2 hides"))'
check and_its_kernel_functions_have_no_names kernel_named 'any | not'
check the_line_of_doctor_mends_it mends 'worker kernel names' 1
check kernel_functions_have_names_again kernel_named 'any'
in_machine systemctl disable --now zeros 2>/dev/null

# --- kernel.yama.ptrace_scope, and a reboot in a capture ------------------------------
for scope in 0 1 2; do
  setting kernel.yama.ptrace_scope $scope
  check "all_types_work_with_ptrace_scope_$scope" all_good
done
setting kernel.yama.ptrace_scope 3
check doctor_says_what_ptrace_scope_3_refuses doctor_says broken 'worker memory' 'kernel.yama.ptrace_scope=3 lets nobody'
captured waiting --type goroutine
check stacks_of_threads_are_poor_with_it_and_say_why is '.quality.verdict == "poor" and
  any(.quality.reasons[]; contains("kernel.yama.ptrace_scope=3"))'
captured pages --type goroutine
check so_are_goroutines is '(.error.message // "") + ((.quality.reasons // []) | join(" ")) |
  contains("ptrace_scope")'
captured burn --seconds 3
check cpu_needs_no_memory is '.status == "completed" and any(.topFunctions[]; .funcName == "share_half")'
in_machine sh -c 'echo kernel.yama.ptrace_scope=3 >/etc/sysctl.d/50-strict.conf'
in_machine sh -c "$(fix_of 'worker memory' 1 | sed 's/ && reboot.*//')"
capturing() { running=$(begin burn --seconds 60 2>/dev/null) && wait_for 60 json '.progress > 0.02' get "$profiling/$running"; }
capturing
machine_reboot
check its_line_and_a_reboot_mend_it equal "$(in_machine cat /proc/sys/kernel/yama/ptrace_scope)" 2
check all_is_up_after_a_reboot wait_for 180 healthy
check a_capture_is_kept_as_far_as_it_was_at_a_reboot \
  json '.status == "completed" and .sampleCount > 0 and .durationSeconds < 60' finished "$running"

# --- kernel.unprivileged_bpf_disabled, lockdown: neither is taken back --------------------
for value in 0 2 1; do
  setting kernel.unprivileged_bpf_disabled $value
  check "samples_are_filtered_with_unprivileged_bpf_disabled_$value" \
    doctor_says ok 'worker filter' 'dropped in the kernel'
done
for level in integrity confidentiality; do
  in_machine sh -c "echo $level >/sys/kernel/security/lockdown"
  anew
  check "lockdown_${level}_leaves_captures_as_they_are" all_good
  check "and_the_filter_under_$level" doctor_says ok 'worker filter' 'dropped in the kernel'
  check "doctor_finds_nothing_broken_under_$level" doctor_is_content
done
