#!/bin/bash
# Memory in use of programs without libstoker-heap, from probes at the
# functions that allocate and release it, compared with the program's own
# counts.
#
# Quiet: a probe may cost no more than its budget, and no other capture of
# memory may be there.
. tests/lib/e2e.sh
. tests/lib/once.sh
. tests/lib/allocating.sh
tmp=$(mktemp -d /var/tmp/stoker-inuse-XXXXXX)
leave='kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$tmp"'
LEAVE="$leave; e2e_stop"
trap "$leave" EXIT
can_capture inuse || exit
# A probe costs from half a microsecond to several, depending on the machine.
# This rate is within the budget everywhere.
rate=1500

leaks() { # name, environment
  started "$1" env "${@:2}" "$B/targets/leaking" "$tmp/$1.truth" "$rate"
}
# Shares must be within 3 points of the truth, and their sum within a tenth,
# beside chance; a sample of 64 KiB at the beginning is 3 points by itself.
true_of() { # name
  agree "$1" inuse_space 3 6 "$(awk -v n="$(quality "$1" samplesInUse)" 'BEGIN { print 10 + 300 / sqrt(n) }')"
}
first_is() { # name, function
  local first
  first=$("$B/tests/tools/folded" "$tmp/$1.pb.gz" values:inuse_space | sort -n -k 2 | tail -n 1)
  [[ $first == *";$2 "* ]] || { echo "$first"; return 1; }
}

leaks plain
capture memory plain
if grep -q 'Linux 6.13 or later' "$tmp/plain.err"; then
  check without_the_kernel_s_means_the_library_is_named \
    grep -q 'LD_PRELOAD=/usr/lib/stoker/libstoker-heap.so' "$tmp/plain.err"
  exit
fi
check memory_in_use_is_captured captured plain
check shares_of_what_is_in_use_are_true true_of plain
check objects_in_use_are_counted agree plain inuse_objects 2 6 30
check the_largest_leak_comes_first first_is plain keep_most
check what_is_released_is_not_in_use eval '! "$B/tests/tools/folded" "$tmp/plain.pb.gz" values:inuse_space | grep throw_away'
check what_was_allocated_and_released_is_in_alloc_space eval '"$B/tests/tools/folded" "$tmp/plain.pb.gz" values:alloc_space | grep -q throw_away'
check stacks_of_memory_in_use_are_whole [ "$(quality plain stacksComplete)" = "$(quality plain samplesKept)" ]
check the_report_has_the_process_s_memory [ "$(quality plain residentBytes)" -gt "$(quality plain anonymousBytes)" ]
explains() {
  local grown used
  grown=$(quality plain anonymousGrownBytes)
  used=$("$B/tests/tools/folded" "$tmp/plain.pb.gz" values:inuse_space | awk '{ n += $NF } END { printf "%d", n }')
  echo "$used of $grown bytes that the process grew by"
  [ "$used" -gt $((grown / 2)) ] && [ "$used" -lt $((grown * 2)) ]
}
check the_report_has_how_much_the_process_grew explains
check the_report_says_since_when_memory_was_counted grep -q 'allocated during the capture' "$tmp/plain.txt"
gone() { [ -z "$(bpftool prog show name stoker_hold 2>/dev/null)" ]; }
check no_probe_is_left_after_a_capture wait_for 10 gone

lib=/usr/lib/$(gcc -print-multiarch)
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
  leaks "${library%%.*}" LD_PRELOAD="$lib/$library"
  allocators+=("${library%%.*}")
done
gcc -static -O2 -g -o "$tmp/static" tests/targets/leaking.c -lpthread -lm 2>"$tmp/static.log"
musl-gcc -O2 -g -o "$tmp/musl" tests/targets/leaking.c -lpthread -lm 2>"$tmp/musl.log"
for name in static musl; do
  started "a_${name}_program" "$tmp/$name" "$tmp/a_${name}_program.truth" "$rate"
done
# A program that samples by itself, as if it had loaded the library under
# another name.
started samples "$B/targets/sampling" "$tmp/samples.truth" 30000
cp "$B/libstoker-heap.so" "$tmp/another-sampler.so"
started another env LD_PRELOAD="$tmp/another-sampler.so" "$B/targets/leaking" "$tmp/another.truth" 50000
capture memory "${allocators[@]}" a_static_program a_musl_program samples another
for name in "${allocators[@]}" a_static_program a_musl_program samples another; do
  check "memory_in_use_of_${name}_is_captured" captured "$name"
  check "shares_of_${name}_are_true" true_of "$name"
done
for name in "${allocators[@]}"; do
  check "the_report_says_that_operator_new_of_${name}_is_missing" grep -q 'operator new' "$tmp/$name.txt"
done

for name in samples another; do
  check "the_report_says_that_${name}_samples_by_itself" grep -q 'note: the program samples its own' "$tmp/$name.txt"
done
check stacks_begin_at_the_caller_of_a_sampler [ "$(samples another ';work;keep_most ')" -gt 0 ]

# --- what would cost too much ---------------------------------------------------
allocates busy 1000000
refused() {
  ! once busy "$pid" --type memory --seconds 20 && grep -q 'LD_PRELOAD=/usr/lib/stoker/libstoker-heap.so' "$tmp/busy.err"
}
check a_program_too_busy_for_probes_is_refused refused
check a_refused_program_has_no_probe wait_for 10 gone
kill -KILL "$pid"

# Beside a calm program, a program is left out once it gets too busy.
mkfifo "$tmp/go"
leaks calm
target later bash -c "echo ready; read -r _ <'$tmp/go'; exec '$B/targets/allocating' '$tmp/later.truth' 1000000"
once pair "${pids[calm]},$pid" --type memory --seconds 5 >"$tmp/pair.said" &
capture=$!
wait_for 20 eval '! gone'
echo >"$tmp/go"
wait "$capture"
check a_process_that_becomes_busy_does_not_end_a_capture equal $? 0
check probes_that_were_removed_for_their_cost_are_noted \
  grep -q 'note: a process began to allocate so often .*: [0-9]*$' "$tmp/pair.txt"
kill -KILL "${pids[calm]}" "$pid"

# --- a process that ends ----------------------------------------------------------
leaks ends
wait_for 10 gone
begin ends "$pid" 0 --type memory
wait_for 20 eval '! gone'
read -rt 4 <> <(:)
kill -KILL "$pid"
read -rt 1 <> <(:)
end_capture ends
await_captures
check what_a_process_held_at_its_end_is_captured captured ends
check the_largest_leak_of_a_process_that_ended_comes_first first_is ends keep_most

# --- as a service -------------------------------------------------------------
e2e_start leaking
background one "$STATE/bin/leaking" "$tmp/service" "$rate"
service one "$STATE/bin/leaking"
ended() { [ "$(api GET "$P/$id" | jq -r .phase)" = done ]; }
has_its_own() { # session, first function of its program
  id=$1
  wait_for 60 ended && api GET "$P/$1" | jq -e --arg f "$2" \
    '.status == "completed" and .topFunctions[0].funcName == $f' ||
    { api GET "$P/$1"; return 1; }
}
check a_service_has_its_memory_in_use has_its_own "$(start one 3 memory)" keep_most
# All three programs use the allocator of one file, and two captures watch one
# process.
install -m 755 "$STATE/bin/leaking" "$STATE/bin/another"
background two "$STATE/bin/another" "$tmp/another" "$rate"
service two "$STATE/bin/another"
together=("$(start one 4 memory)" "$(start two 4 memory)" "$(start one 4 alloc)")
check two_services_of_one_library_are_watched_at_once eval \
  'has_its_own ${together[0]} keep_most && has_its_own ${together[1]} keep_most'
check allocations_are_captured_beside_memory_in_use has_its_own "${together[2]}" throw_away
id=$(start one 60 memory)
check a_service_has_probes_while_it_is_captured wait_for 10 has_program stoker_hold
ids=$(programs)
kill -KILL "$(<"$STATE/pid/worker")"
check no_probe_is_left_when_the_worker_is_killed wait_for 10 are_gone $ids
check no_breakpoint_is_left_when_the_worker_is_killed is_whole "$(<"$STATE/pid/one")"
works_on() { rm -f "$tmp/service"; kill -USR1 "$(<"$STATE/pid/one")"; wait_for 10 [ -s "$tmp/service" ]; }
check a_probed_program_works_on_when_the_worker_is_killed works_on
