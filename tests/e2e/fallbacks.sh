#!/bin/bash
# The worker with fewer capabilities than it could use.
. tests/lib/e2e.sh
[ "$(id -u)" -eq 0 ] || skip fallbacks 'only root can take capabilities away'
tmp=$(mktemp -d /var/tmp/stoker-fallbacks-XXXXXX)
chmod 777 "$tmp"
install -m 755 "$B/stoker-worker" "$B/targets/shares" "$B/targets/shortchild" \
  "$B/targets/without_perf" "$B/targets/clock" "$tmp"

# Sets a sysctl until this test ends; returns false where it can't be set.
declare -A before
sysctl() { # name, value
  local file=/proc/sys/kernel/$1 was
  was=$(<"$file")
  echo "$2" 2>"$tmp/sysctl.txt" >"$file" || return 1
  : "${before[$1]:=$was}"
}
restore() {
  local name
  for name in "${!before[@]}"; do
    echo "${before[$name]}" >"/proc/sys/kernel/$name"
  done
}
trap 'restore; kill $(jobs -p) 2>/dev/null; rm -rf "$tmp"' EXIT
exec 9</proc/sys/kernel/perf_event_paranoid # all tests share these settings
flock 9

as_nobody() { # capabilities as setpriv writes them, command...
  local caps=-all${1:+,$1}
  shift
  setpriv --reuid "$user" --regid 65534 --clear-groups --inh-caps "$caps" \
    --ambient-caps "$caps" -- "$@"
}
user=65534

target() { # name, program, arguments: runs it as nobody; $pid
  mkfifo "$tmp/$1.fifo"
  setpriv --reuid "$user" --regid 65534 --clear-groups "$tmp/$2" "${@:3}" \
    >"$tmp/$1.fifo" &
  pid=$!
  exec {fd}<"$tmp/$1.fifo"
  read -r line <&"$fd"
  [ "$line" = ready ]
}
end() { kill "$pid" && wait "$pid"; } 2>/dev/null

capture() { # name, capabilities, pid, arguments: $tmp/NAME.txt and .folded
  local name=$1 caps=$2 pid=$3
  shift 3
  as_nobody "$caps" "$tmp/stoker-worker" --once "$pid" \
    --out "$tmp/$name.pb.gz" "$@" >"$tmp/$name.txt" 2>&1 ||
    { cat "$tmp/$name.txt"; return 1; }
  "$B/tests/tools/folded" "$tmp/$name.pb.gz" >"$tmp/$name.folded"
}

refused() { # name, capabilities, pid
  ! capture "$@" --seconds 1
}

says() { grep -e "$2" "$tmp/$1.txt" || { cat "$tmp/$1.txt"; return 1; }; }
says_not() { ! grep -e "$2" "$tmp/$1.txt"; }

# Within 3 points or four standard errors, whichever is more: with 1000 samples
# and a share of a half, one standard error is 1.6 points.
share_is_true() { # name, function, truth in percent
  awk -v want="$3" -v re="(^|;)$2[; ]" '{ all += $NF }
    $0 ~ re { got += $NF }
    END { print got, all; d = 100 * got / all - want
          p = want / 100; chance = 400 * sqrt(p * (1 - p) / (all ? all : 1))
          far = chance > 3 ? chance : 3
          exit !(all >= 100 && d <= far && d >= -far) }' "$tmp/$1.folded"
}

target shares shares 20 2
sysctl perf_event_paranoid 2 # if it was lower
check a_user_may_capture_its_own_process \
  capture tasks '' "$pid" --seconds 2 --rate 1000
check a_user_s_own_capture_notes_that_threads_are_sampled says tasks "only the target's threads"
if [ "$(</proc/sys/kernel/perf_event_paranoid)" -gt 1 ]; then
  check a_user_s_own_capture_notes_that_kernel_time_is_missing says tasks 'time in the kernel is missing'
fi
check a_user_s_own_capture_misses_no_filter says_not tasks 'without CAP_BPF'
check per_thread_samples_have_true_shares share_is_true tasks share_half 50
check no_sample_of_a_thread_is_lost says tasks 'samplesLost *0$'

check perfmon_alone_samples_every_cpu \
  capture nobpf +perfmon "$pid" --seconds 2 --rate 1000
check a_capture_with_perfmon_alone_notes_that_the_filter_is_missing says nobpf 'without CAP_BPF'
check a_capture_with_perfmon_alone_does_not_sample_threads says_not nobpf "only the target's threads"
check unfiltered_samples_have_true_shares share_is_true nobpf share_half 50

check perfmon_and_bpf_need_no_fallback \
  capture whole +perfmon,+bpf "$pid" --seconds 1 --rate 1000
check a_capture_with_perfmon_and_bpf_misses_no_filter says_not whole 'without CAP_BPF'
end

# The kernel counts locked memory per user, so this user must have no other
# processes.
little() { (ulimit -l 0 && capture little '' "$pid" --seconds 2 --rate 1000); }
user=$((60000 + RANDOM % 4000))
target little shares 20 2
check memory_that_may_not_be_locked_is_done_without little
check small_rings_are_noted says little 'LimitMEMLOCK'
check samples_of_small_rings_have_true_shares share_is_true little share_half 50
end
user=65534

if sysctl perf_event_paranoid 1; then
  target levels shares 20 2
  check at_level_1_a_user_may_see_the_kernel capture one '' "$pid" --seconds 1
  check at_level_1_no_kernel_time_is_missing says_not one 'time in the kernel is missing'
  check at_level_1_threads_are_sampled says one "only the target's threads"
  sysctl perf_event_paranoid 0
  check at_level_0_a_user_may_sample_every_cpu capture zero '' "$pid" --seconds 1
  check at_level_0_threads_are_not_sampled says_not zero "only the target's threads"
  check at_level_0_the_filter_is_missing says zero 'without CAP_BPF'
  end
  sysctl perf_event_paranoid 2
else
  echo "skip at_level_1_a_user_may_see_the_kernel: $(<"$tmp/sysctl.txt")"
fi

# Only CAP_SYSLOG, if anything, reveals the addresses of the kernel.
if sysctl kptr_restrict 1; then
  target clock clock 30
  check syslog_is_enough_for_names_of_the_kernel \
    capture named +perfmon,+bpf,+syslog "$pid" --seconds 2 --rate 1000
  check with_syslog_functions_of_the_kernel_have_names \
    grep -c -e ';ask_kernel;.*_sys_getppid[; ]' "$tmp/named.folded"
  check with_syslog_no_name_of_the_kernel_is_missing says_not named 'kernel functions have no names'
  check the_kernel_is_captured_without_syslog \
    capture nameless +perfmon,+bpf "$pid" --seconds 2 --rate 1000
  check without_syslog_a_note_says_that_names_are_missing \
    says nameless 'the worker lacks CAP_SYSLOG'
  check without_syslog_time_in_the_kernel_is_there \
    grep -c -e ';ask_kernel;.*;\[kernel' "$tmp/nameless.folded"
  end
else
  echo "skip syslog_is_enough_for_names_of_the_kernel: $(<"$tmp/sysctl.txt")"
fi

# Interpreted frames are read by the filter in the kernel, even if the
# interpreter's file was replaced since it started.
if [ -x /usr/bin/python3.11 ]; then
  cp tests/targets/shares.py "$tmp"
  cp /usr/bin/python3.11 "$tmp/python"
  mkfifo "$tmp/python.fifo"
  PYTHONHOME=/usr setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/python" -B \
    "$tmp/shares.py" 30 >"$tmp/python.fifo" &
  python=$!
  read -r line <"$tmp/python.fifo"
  cp /usr/bin/python3.11 "$tmp/new" && mv "$tmp/new" "$tmp/python"
  check python_is_captured_without_the_filter \
    capture python +perfmon "$python" --seconds 2 --rate 1000
  check without_the_filter_a_note_says_that_python_functions_are_missing \
    says python 'functions of an interpreted language are missing'
  check python_is_captured_with_the_filter capture pythons +perfmon,+bpf "$python" \
    --seconds 2 --rate 1000
  check with_the_filter_python_functions_are_there \
    grep -c -e ';main;work;share_60;' "$tmp/pythons.folded"
  check functions_of_a_replaced_interpreter_have_names \
    grep -c -e ';Py_BytesMain;.*;main;work;' "$tmp/pythons.folded"
  check a_replaced_interpreter_is_noted says pythons 'was replaced since it was started'
  kill "$python"
else
  echo "skip python_is_captured_without_the_filter: no Python 3.11 here"
fi

# --- the least that each type of profile needs -------------------------------
install -m 755 "$B/targets/waiting" "$B/targets/allocating" "$B/targets/keeping" \
  "$B/libstoker-heap.so" "$tmp"
# The target runs as the same user. The capture needs just these capabilities,
# and an error names each one that is missing.
needs() { # type, pid, capabilities
  local cap=${3//+/}
  check "$1_needs_${cap:-no_capability}" some "$@"
  for cap in ${cap//,/ }; do
    check "$1_without_${cap}_is_refused" refused "less_$1" "$(without "$cap" "$3")" "$2" --type "$1"
    check "the_error_of_$1_names_$cap" says "less_$1" "CAP_${cap^^}"
  done
}
without() { tr , '\n' <<<"$2" | grep -v "^+$1\$" | paste -sd,; }
some() { # type, pid, capabilities
  capture "least_$1" "$3" "$2" --type "$1" --seconds 1 &&
    [ "$(awk '$1 == "samplesKept" { print $2 }' "$tmp/least_$1.txt")" -gt 0 ]
}
target waiting waiting "$tmp/waiting.truth" "$tmp/waiting.dat"
read -r line <&"$fd" # the first line informs its peer
for type in block mutex io; do needs $type "$pid" +perfmon,+bpf; done
needs goroutine "$pid" ''
target allocating allocating "$tmp/allocating.truth" 20000
needs alloc "$pid" +perfmon,+bpf
kill "$pid"
# Its libc was replaced after it started.
mkdir "$tmp/lib"
libc=$(ldd "$tmp/allocating" | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p')
cp "$libc" "$tmp/lib/libc.so.6"
LD_LIBRARY_PATH=$tmp/lib target replaced allocating "$tmp/replaced.truth" 20000
cp "$libc" "$tmp/lib/new" && mv "$tmp/lib/new" "$tmp/lib/libc.so.6"
check a_program_whose_libc_was_replaced_is_captured capture replaced +perfmon,+bpf "$pid" --type alloc --seconds 1
check a_libc_in_which_no_probe_can_be_placed_is_noted says replaced 'give the worker CAP_CHECKPOINT_RESTORE'
some_of_replaced() {
  capture restored +perfmon,+bpf,+checkpoint_restore "$pid" --type alloc --seconds 1 &&
    says_not restored CAP_CHECKPOINT_RESTORE && grep -c get_large "$tmp/restored.folded"
}
check with_checkpoint_restore_it_has_its_allocations some_of_replaced
check a_replaced_libc_is_noted says restored 'a program or library was replaced since it was started'
kill "$pid"
LD_PRELOAD=$tmp/libstoker-heap.so target keeping keeping "$tmp/keeping.truth"
needs memory "$pid" ''

children_inherit() {
  target children shortchild 6 &&
    capture children '' "$pid" --seconds 3 --rate 1000 &&
    grep -c -e ';work_of_forked_child;' "$tmp/children.folded" &&
    grep -c -e ';work_of_executed_child;' "$tmp/children.folded"
}
check children_of_sampled_threads_are_sampled children_inherit

check another_users_process_is_refused refused foreign '' $$
check the_refusal_of_another_users_process_names_the_line_of_the_unit says foreign \
  'CapabilityBoundingSet= must name CAP_PERFMON'

filtered() {
  ! as_nobody "$1" "$tmp/without_perf" "$tmp/stoker-worker" --once "$pid" \
    --seconds 1 --out /dev/null >"$tmp/filtered.txt" 2>&1
}
target more shares 20 1 5
check a_seccomp_filter_is_an_error filtered +perfmon
check the_error_names_the_seccomp_filter says filtered 'SystemCallFilter=perf_event_open'
check a_seccomp_filter_is_told_from_a_missing_capability filtered ''
check the_error_names_the_seccomp_filter_without_capabilities_too says filtered 'SystemCallFilter=perf_event_open'

# Some kernels refuse everybody without CAP_SYS_ADMIN. This one may not, so the
# refusal is simulated, and its level is mounted over /proc in a new mount
# namespace.
echo 3 >"$tmp/three"
paranoid() { # capabilities, the level to show
  ! unshare --mount bash -c '
    mount --bind "$1" /proc/sys/kernel/perf_event_paranoid || exit 0
    shift
    exec "$@"' - "$2" setpriv --reuid 65534 --regid 65534 --clear-groups \
    --inh-caps "-all${1:+,$1}" --ambient-caps "-all${1:+,$1}" -- \
    "$tmp/without_perf" -a "$tmp/stoker-worker" --once "$pid" \
    --seconds 1 --out /dev/null >"$tmp/paranoid.txt" 2>&1
}
if unshare --mount true 2>"$tmp/unshare.txt"; then
  check a_paranoid_kernel_is_an_error paranoid +perfmon "$tmp/three"
  check the_error_of_a_paranoid_kernel_names_the_sysctl says paranoid 'kernel.perf_event_paranoid=2'
  check the_error_of_a_paranoid_kernel_names_the_drop_in_of_the_unit says paranoid 'worker-sys-admin.conf'
  check a_paranoid_kernel_is_an_error_without_capabilities_too paranoid '' "$tmp/three"
  check the_error_of_a_paranoid_kernel_names_the_sysctl_without_capabilities_too says paranoid 'kernel.perf_event_paranoid=2'
  echo 2 >"$tmp/two"
  check at_a_level_that_heeds_it_the_capability_is_missed paranoid '' "$tmp/two"
  check the_missing_capability_is_named_for_the_unit says paranoid \
    'CapabilityBoundingSet= must name CAP_PERFMON'
else
  echo "skip a_paranoid_kernel_is_an_error: $(<"$tmp/unshare.txt")"
fi
