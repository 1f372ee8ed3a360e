#!/bin/bash
# Waits of threads: block, mutex and io profiles of programs that are not Go,
# compared with what the program measures itself.
#
# Alone: times of waits are measured.
. tests/lib/e2e.sh
. tests/lib/once.sh
tmp=$(mktemp -d /var/tmp/stoker-waits-XXXXXX)
leave='kill $(jobs -p) 2>/dev/null; rm -rf "$tmp"'
LEAVE="$leave; e2e_stop"
trap "$leave" EXIT
can_capture waits || exit

mkfifo "$tmp/said"
"$B/targets/waiting" "$tmp/truth" "$tmp/through.dat" >"$tmp/said" &
pid=$!
exec {said}<"$tmp/said"
read -r _ peer <&"$said"
read -r line <&"$said"
check a_program_that_waits_is_ready [ "$line" = ready ]

# The target writes its measurements since the last time.
measure() {
  rm -f "$tmp/truth"
  kill -USR1 $pid
  wait_for 10 [ -s "$tmp/truth" ]
}
# Prints a function's share of all waits, and its time per second.
truth() { # column, functions, seconds
  awk -v c="$1" -v f="$2" -v s="$3" 'BEGIN { split(f, list); for (i in list) among[list[i]] }
    $1 in among { print $1, $c / s }' "$tmp/truth"
}
measured() { # capture, value, functions, seconds
  "$B/tests/tools/folded" "$tmp/$1.pb.gz" "values:$2" | awk -v f="$3" -v s="$4" '
    BEGIN { n = split(f, list) }
    { for (i = 1; i <= n; i++) if (index(";" $0, ";" list[i] ";")) sum[list[i]] += $NF }
    END { for (i = 1; i <= n; i++) print list[i], sum[list[i]] / s }'
}
# Shares must be within 3 points and four standard errors, and the sum within 10
# %, or within other limits for values from few samples.
agree() { # capture, value, column of the truth, functions [points percent]
  local seconds kept
  kept=$(samples "$1" ";(${4// /|})[;]")
  seconds=$(awk -v ms="$(quality "$1" durationMs)" 'BEGIN { print ms / 1000 }')
  join <(truth "$3" "$4" "$(<"$tmp/seconds")" | sort) <(measured "$1" "$2" "$4" "$seconds" | sort) |
    awk -v points="${5:-3}" -v percent="${6:-10}" -v kept="$kept" '{ name[NR] = $1; is[NR] = $2; got[NR] = $3; all += $2; sum += $3 }
      END {
        for (i = 1; i <= NR; i++) {
          a = 100 * is[i] / all; b = 100 * got[i] / sum
          printf "%s %.1f %.1f; ", name[i], a, b
          far = 400 * sqrt(a / 100 * (1 - a / 100) / (kept + 1))
          if (far < points) far = points
          if (a - b > far || b - a > far) bad = 1
        }
        printf "sum %.4g of %.4g, %d samples\n", sum, all, kept
        exit bad || NR < 2 || sum < (1 - percent / 100) * all || sum > (1 + percent / 100) * all
      }'
}
# Captures all types at once. Their values lie within the measured time, which
# is known to the millisecond.
capture_all() { # seconds, types
  local seconds=$1 began=${EPOCHREALTIME/./} type jobs=()
  shift
  measure
  for type; do
    { once "$type" $pid --type "$type" --seconds "$seconds"; echo $? >"$tmp/$type.status"; } >"$tmp/$type.log" 2>&1 &
    jobs+=($!)
  done
  wait "${jobs[@]}"
  measure && awk -v us=$((${EPOCHREALTIME/./} - began)) 'BEGIN { print us / 1e6 }' >"$tmp/seconds"
}
was_captured() { # type
  cat "$tmp/$1.log"
  [ "$(<"$tmp/$1.status")" = 0 ]
}

capture_all 8 block mutex io
all='sleep_long sleep_short wait_pipe wait_peer'
check waits_are_captured was_captured block
# Only some of the long sleeps, 50 a second, become samples.
check shares_of_waits_are_true agree block delay 3 "$all" 5
check waits_are_counted agree block contentions 2 "$all" 8 30
check stacks_of_waits_are_whole [ "$(quality block stacksComplete)" = "$(quality block samplesKept)" ]
# In these functions a thread only sleeps.
leads() { # capture, text of the innermost frame below [held by], function
  "$B/tests/tools/folded" "$tmp/$1.pb.gz" | grep -F ";$3;" | awk -v leaf="$2" '
    { n = $NF; sub(/ [0-9]+$/, ""); sub(/;\[held by [^;]*$/, ""); sub(/.*;/, ""); all += n; if (index($0, leaf) == 1) of += n }
    END { print of + 0, "of", all + 0; exit !(all > 0 && of >= 0.95 * all) }'
}
# A wait that begins while the lock changes hands has no holder.
held() { # capture, text, function
  "$B/tests/tools/folded" "$tmp/$1.pb.gz" | grep -F ";$3;" | awk -v by="[held by $2]" '
    { n = $NF; sub(/ [0-9]+$/, ""); sub(/.*;/, ""); all += n; if ($0 == by) of += n }
    END { print of + 0, "of", all + 0; exit !(all > 0 && of >= 0.9 * all) }'
}
check a_sleep_is_named leads block '[clock_nanosleep]' sleep_long

# On a fast disk, most of the time of a page fault is work of the kernel, not a
# wait.
faults() { # capture
  local seconds
  seconds=$(awk -v ms="$(quality "$1" durationMs)" 'BEGIN { print ms / 1000 }')
  join <(truth 3 fault_in "$(<"$tmp/seconds")") <(measured "$1" delay fault_in "$seconds") |
    awk '{ print $3 / $2, "of the time in page faults"; exit !($3 >= 0.3 * $2 && $3 <= 1.2 * $2) }'
}
check page_faults_are_waits_of_their_time faults block

check waits_for_locks_are_captured was_captured mutex
check shares_of_locks_are_true agree mutex delay 3 'take_hot take_cold'
cold=$(awk '$2 == "cold" { print $3 }' "$tmp/truth")
check a_lock_has_the_name_of_its_variable leads mutex '[lock hot]' take_hot
check a_lock_in_memory_of_no_file_has_its_address leads mutex "[lock $cold]" take_cold
check a_lock_within_a_variable_has_its_place_there leads mutex '[lock special+0x28]' take_lent
check a_wait_in_futex_wait_is_for_its_lock leads mutex '[lock newer]' take_newer
check shares_of_locks_of_futex_wait_are_true agree mutex delay 3 'take_hot take_newer'
check a_lock_is_held_by_the_thread_that_has_it held mutex keeper take_kept
check a_robust_lock_is_held_by_the_thread_that_has_it held mutex keeper take_robust
check a_lock_that_lends_its_priority_is_held_by_the_thread_that_has_it held mutex keeper take_lent
check a_holder_without_a_name_has_that_of_its_program held mutex waiting take_hot
check shares_of_read_write_locks_are_true agree mutex delay 3 'take_shared take_whole'
check a_wait_for_a_condition_is_measured agree block delay 3 'wait_signal sleep_long'
check a_read_write_lock_is_named leads mutex '[read-write lock]' take_shared
only_locks() { ! grep -vE '\[(lock [^];]*|mutex|read-write lock)\](;\[held by [^;]*)? [0-9]*$' "$tmp/mutex.folded"; }
check a_mutex_profile_has_waits_for_locks_only only_locks

check input_and_output_is_captured was_captured io
check shares_of_io_are_true agree io delay 3 'wait_pipe wait_peer'
check bytes_are_counted agree io transferred 4 'wait_pipe wait_peer' 8 30
check a_pipe_is_named leads io '[read pipe]' wait_pipe
check a_peer_is_named leads io "[recvfrom socket $peer]" wait_peer
check a_file_is_named [ "$(samples io '\[(fdatasync|pwrite64) file through.dat\]')" -gt 0 ]
check a_page_of_a_file_is_named leads io '[page fault file through.dat.mapped]' fault_in
check page_faults_are_input_of_their_time faults io
no_sleep() { ! grep -F nanosleep "$tmp/io.folded"; }
check a_sleep_is_no_io no_sleep
kill -KILL $pid

# Two of three computing threads wait for the interpreter or for a CPU. The
# interpreter is recognized by its code, not by the name of its file.
cat >"$tmp/gil.py" <<'P'
import threading
def spin():
    while True:
        sum(range(1000))
threads = [threading.Thread(target=spin) for _ in range(3)]
for t in threads: t.start()
P
cp "$(python3 -c 'import sys; print(sys.executable)')" "$tmp/app"
PYTHONHOME=$(python3 -c 'import sys; print(sys.prefix)') "$tmp/app" "$tmp/gil.py" &
pid=$!
check waits_for_an_interpreter_are_captured once gil $pid --type mutex --seconds 2
kill -KILL $pid
waits_for_the_gil() {
  "$B/tests/tools/folded" "$tmp/gil.pb.gz" values:delay | awk '
    { all += $NF } /\[GIL\] [0-9]+$/ { gil += $NF }
    END { print gil / 1e9, "of", all / 1e9, "s"; exit !(gil >= 1e9 && gil <= 4.5e9 && gil >= 0.9 * all) }'
}
check a_wait_for_the_gil_is_a_wait_for_a_lock waits_for_the_gil

# Locks of OpenMP, whose functions have no name in GCC's library: two threads of
# three wait for the lock, or for the section, that the third one holds.
cat >"$tmp/openmp.c" <<'C'
#include <omp.h>
#include <unistd.h>
static omp_lock_t own_lock;
__attribute__((noinline)) static void take_lock(void)
{
	omp_set_lock(&own_lock);
	usleep(2000);
	omp_unset_lock(&own_lock);
}
__attribute__((noinline)) static void take_section(void)
{
#pragma omp critical
	usleep(2000);
}
__attribute__((noinline)) static void meet(void)
{
	if (!omp_get_thread_num())
		usleep(4000);
#pragma omp barrier
}
int main(void)
{
	omp_init_lock(&own_lock);
#pragma omp parallel num_threads(3)
	for (;;) {
		take_lock();
		take_section();
		meet();
	}
}
C
gcc -O1 -g -fopenmp "$tmp/openmp.c" -o "$tmp/openmp"
OMP_WAIT_POLICY=passive "$tmp/openmp" &
pid=$!
has_threads() { [ "$(ls /proc/$pid/task | wc -l)" -ge 3 ]; }
wait_for 10 has_threads
check waits_of_openmp_are_captured once openmp $pid --type mutex --seconds 2
kill -KILL $pid
check a_lock_of_openmp_is_a_lock leads openmp '[lock own_lock]' take_lock
check a_critical_section_of_openmp_is_a_lock leads openmp '[lock ' take_section
no_barrier() { grep -qF '[lock ' "$tmp/openmp.folded" && ! grep -F ';meet;' "$tmp/openmp.folded"; }
check a_barrier_of_openmp_is_no_lock no_barrier
# Threads that Rust parks, as receivers of its channels are: their word is -1,
# too.
cat >"$tmp/parked.c" <<'C'
#include <linux/futex.h>
#include <omp.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static unsigned word = -1;
__attribute__((noinline)) static void park(void)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, -1, &until, 0, -1);
}
int main(void)
{
#pragma omp parallel num_threads(3)
	for (;;) {
		if (!omp_get_thread_num())
			park();
		else
#pragma omp critical
			usleep(1000);
	}
}
C
gcc -O1 -g -fopenmp "$tmp/parked.c" -o "$tmp/parked"
"$tmp/parked" &
pid=$!
wait_for 10 has_threads
check waits_beside_a_parked_thread_are_captured once parked $pid --type mutex --seconds 3
kill -KILL $pid
no_park() { grep -qF '[lock ' "$tmp/parked.folded" && ! grep -F ';park;' "$tmp/parked.folded"; }
check a_parked_thread_waits_for_no_lock no_park

# --- as a service, with what becomes of its children ---------------------------
e2e_start waiting
cat >"$STATE/bin/parent" <<'P'
#!/bin/bash
while :; do sleep 0.05; done
P
chmod 755 "$STATE/bin/parent"
background parent "$STATE/bin/parent"
stoker_cli service add shell --cmdline "$STATE/bin/parent" >/dev/null
check a_service_that_waits_is_seen wait_for 10 seen shell
id=$(start shell 3 block)
check a_service_of_any_kind_is_captured equal "$(finished "$id" | jq -r .status)" completed
# Each child lives for 50 ms, and waits all that time.
children() {
  local ms
  ms=$(api GET "$P/$id/flamegraph?format=folded" | awk '/\[clock_nanosleep\] [0-9]+$/ { n += $NF } END { printf "%d", n / 1e6 }')
  echo "$ms ms of sleep in 3 s"
  [ "$ms" -ge 1500 ]
}
check waits_of_children_are_captured_from_their_start children
id=$(start shell 60 io)
check programs_are_in_the_kernel_during_a_capture wait_for 10 has_program stoker_switch
ids=$(programs)
kill -KILL "$(<"$STATE/pid/worker")"
check no_program_is_left_in_the_kernel_when_the_worker_is_killed wait_for 10 are_gone $ids
