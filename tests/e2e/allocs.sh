#!/bin/bash
# Allocations of programs that are not Go, from probes at the functions of their
# allocator, compared with what the program counts itself.
#
# Alone: what probes cost a program shows only where it has a CPU of its own.
. tests/lib/e2e.sh
. tests/lib/once.sh
. tests/lib/allocating.sh
tmp=$(mktemp -d /var/tmp/stoker-allocs-XXXXXX)
leave='kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$tmp"'
LEAVE="$leave; e2e_stop"
trap "$leave" EXIT
can_capture allocs || exit

# A probe costs from half a microsecond to several, depending on the machine.
# This rate is within the budget everywhere.
rate=1000
allocates some $rate
lib=/usr/lib/$(gcc -print-multiarch)
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
  name=${library%%.*}
  allocates "$name" $rate LD_PRELOAD="$lib/$library"
  names+=("$name")
done
# The allocator is linked into these, with symbols.
gcc -static -O2 -g -o "$tmp/static" tests/targets/allocating.c -lpthread -lm 2>"$tmp/static.log"
musl-gcc -O2 -g -o "$tmp/musl" tests/targets/allocating.c -lpthread -lm 2>"$tmp/musl.log"
for name in static musl; do
  started "a_${name}_program" "$tmp/$name" "$tmp/a_${name}_program.truth" $rate
  names+=("a_${name}_program")
done
# Root mounted this overlay, as a container engine does.
if [ "$(id -u)" -eq 0 ]; then
  mkdir "$tmp/image" "$tmp/upper" "$tmp/work" "$tmp/box"
  cp "$tmp/static" "$tmp/image/program"
  started a_program_on_an_overlay unshare -m sh -c 'mount -t overlay none "$1/box" \
    -o "lowerdir=$1/image,upperdir=$1/upper,workdir=$1/work" &&
    exec "$1/box/program" "$1/a_program_on_an_overlay.truth" "$2"' sh "$tmp" $rate
  names+=(a_program_on_an_overlay)
fi
# A sampler that keeps to the contract of OpenTelemetry: libstoker-heap.so under
# another name.
cp "$B/libstoker-heap.so" "$tmp/another-sampler.so"
allocates sampler 50000 LD_PRELOAD="$tmp/another-sampler.so"
capture alloc some "${names[@]}" sampler
check allocations_are_captured captured some
check shares_of_bytes_are_true agree some alloc_space 3 4 15
check objects_are_counted agree some alloc_objects 2 8 30
check stacks_of_allocations_are_whole [ "$(quality some stacksComplete)" = "$(quality some samplesKept)" ]
check stacks_begin_at_the_allocator_s_callers [ "$(samples some ';work;get_large ')" -gt 0 ]
check samples_that_a_program_takes_itself_are_captured captured sampler
check shares_of_a_program_s_own_samples_are_true agree sampler alloc_space 3 4 20
check the_report_says_that_the_program_samples_itself grep -q 'note: the program samples its own' "$tmp/sampler.txt"
check stacks_of_samples_begin_at_the_allocator_s_callers [ "$(samples sampler ';work;get_large ')" -gt 0 ]
for name in "${names[@]}"; do
  check "allocations_of_${name}_are_captured" captured "$name"
  check "shares_of_${name}_are_true" agree "$name" alloc_space 3 4 15
done

# At a million calls a second, a microsecond each would take a whole CPU, so
# the program is watched for part of the time, and the rest is estimated. The
# calls of one part are alike, so true shares need many parts.
allocates many 1000000
LASTS=15 capture alloc many
check allocations_of_a_busy_program_are_captured captured many
# If a probe costs several microseconds, as under a hypervisor, a twentieth
# of the calls is seen.
check shares_of_a_busy_program_are_true agree many alloc_space 3 5 96
says_parts() { grep -q 'part of the time' "$tmp/many.txt"; }
check the_report_says_that_it_was_watched_in_parts says_parts
bounds_cover() { # name, seconds that its truth covers
  awk -v least="$(quality "$1" allocatedLeastBytes)" -v most="$(quality "$1" allocatedMostBytes)" \
    -v ms="$(quality "$1" durationMs)" -v took="$2" '
    { all += $3 * ms / 1000 / took }
    END { printf "%.4g of %.4g to %.4g bytes\n", all, least, most; exit all < least || all > most }' "$tmp/$1.truth"
}
check bounds_of_what_a_busy_program_allocated_cover_the_truth bounds_cover many "${seconds[many]}"

# One program mostly sleeps: no part of a burst counts too much. Meanwhile a
# shell has a child from before the capture, and one born during it.
target bursts "$B/targets/bursts"
bursts=$pid
target larger "$B/targets/bursts" 20000 300
larger=$pid
cat >"$tmp/parent" <<P
#!/bin/bash
"$B/targets/allocating" "$tmp/first.truth" 5000 >/dev/null &
read -r _ <"$tmp/go"
"$B/targets/allocating" "$tmp/second.truth" 5000 >/dev/null &
wait
P
chmod 755 "$tmp/parent"
mkfifo "$tmp/go"
"$tmp/parent" &
parent=$!
wait_for 10 pgrep -P $parent >/dev/null
begin bursts "$bursts" 0 --type alloc --seconds 10
begin larger "$larger" 0 --type alloc --seconds 10
begin children "$parent,$(pgrep -P $parent)" 0 --type alloc --seconds 8
read -rt 2 <> <(:)
echo >"$tmp/go"
await_captures
captured bursts && captured larger && captured children
of_bursts() { # name
  "$B/tests/tools/folded" "$tmp/$1.pb.gz" values | awk -v kept="$(quality "$1" samplesKept)" '
    { all += $NF } /;first / { first += $NF }
    END { got = 100 * first / all; printf "first has %.1f %%, not 12 %%, of %d samples\n", got, kept
      exit !(got > 7 && got < 17) }'
}
check shares_of_a_program_that_sleeps_between_bursts_are_true of_bursts bursts
# If probes are slow, such bursts take too long to be watched to their end.
true_or_told() { grep -q 'note: shares \(are\|may be\) wrong: ' "$tmp/larger.txt" || of_bursts larger; }
check shares_of_large_bursts_are_true_or_the_profile_says_that_they_are_not true_or_told
# The second child starts after at most 2 s, and is found soon.
both() {
  local bytes
  bytes=$("$B/tests/tools/folded" "$tmp/children.pb.gz" values | awk '/;work;/ { n += $NF } END { printf "%d", n }')
  echo "$bytes bytes, of 35 and up to 35 million"
  [ "$bytes" -gt 45000000 ]
}
check a_child_born_during_the_capture_is_watched both
kill -KILL "$bursts" "$larger" $parent $(pgrep -P $parent)

# Its bursts are so long that only their beginnings are watched.
target long "$B/targets/bursts" 400000 500
long=$pid
target ceaseless "$B/targets/bursts" 40000000 0
ceaseless=$pid
begin long "$long" 0 --type alloc --seconds 4
begin ceaseless "$ceaseless" 0 --type alloc --seconds 4
await_captures
# Waits for a CPU make one look like the other.
is_told() { grep -qE 'note: (shares (are|may be) wrong: |the total is far too small)' "$tmp/$1.txt" || { cat "$tmp/$1.txt"; return 1; }; }
check beginnings_of_long_bursts_are_no_good_profile is_told long
check a_program_that_does_nothing_but_allocate_has_no_good_profile is_told ceaseless
kill -KILL "$long" "$ceaseless"

# --- a process that inserts probes slowly ---------------------------------------
# The worker's process that inserts and removes probes is stopped. While it has
# inserted any, it holds links.
prober() { # capture: $prober
  for prober in $(pgrep -P "$(<"$tmp/$1.pid")"); do
    ls -l "/proc/$prober/fd" | grep -q bpf-prog && return
  done
  return 1
} 2>/dev/null
stop_off() { # capture
  prober "$1" && kill -STOP "$prober" || return
  ! ls -l "/proc/$prober/fd" | grep -q bpf_link || { kill -CONT "$prober"; return 1; }
}
stopped_or_over() { stop_off "$1" || process_gone "$(<"$tmp/$1.pid")"; } # capture
pass() { read -rt "$1" <> <(:); } # seconds
allocates late 5000
measure late
began=${EPOCHREALTIME/./}
begin late "${pids[late]}" 0 --type alloc --seconds 3
wait_for 20 stopped_or_over late
pass 1.5
kill -CONT "$prober"
await_captures
measure late
seconds[late]=$(awk -v us=$((${EPOCHREALTIME/./} - began)) 'BEGIN { print us / 1e6 }')
kill -KILL "${pids[late]}"
check allocations_that_are_watched_late_are_captured captured late
check a_capture_begins_when_allocations_are_watched agree late alloc_space 3 5 30

"$tmp/parent" &
parent=$!
wait_for 10 pgrep -P $parent >/dev/null
begin slowly "$parent,$(pgrep -P $parent)" 0 --type alloc --seconds 4
wait_for 20 has_taken slowly 1
wait_for 20 prober slowly && kill -STOP "$prober"
echo >"$tmp/go"
pass 1.5
kill -CONT "$prober"
allocates paused 1000000
began=${EPOCHREALTIME/./}
measure paused
begin paused "${pids[paused]}" 0 --type alloc --seconds 3
wait_for 20 has_taken paused 1
wait_for 20 stopped_or_over paused
await_captures
measure paused
took=$(awk -v us=$((${EPOCHREALTIME/./} - began)) 'BEGIN { print us / 1e6 }')
kill -KILL "${pids[paused]}" $parent $(pgrep -P $parent)
captured slowly && captured paused
check a_child_whose_probes_come_late_is_told grep -qE 'note: allocations are missing: probes did not come .*: 1$' "$tmp/slowly.txt"
is_rough() { gunzip -c "$tmp/slowly.pb.gz" | grep -aq 'the sum of all values is rough'; }
check what_is_watched_late_is_not_compared is_rough
check bounds_cover_what_was_allocated_while_probes_took_long bounds_cover paused "$took"

strip -o "$tmp/bare" "$tmp/static"
target bare "$tmp/bare" "$tmp/bare.truth" $rate
check a_stripped_static_program_is_captured once bare "$pid" --type alloc --seconds 1
check an_allocator_without_names_is_noted grep -q 'note: no allocator was found' "$tmp/bare.txt"
kill -KILL "$pid"

if [ "$(id -u)" -eq 0 ]; then
  # On an overlay that a user mounted, there may be any file system below.
  mkdir "$tmp/user_upper" "$tmp/user_work" "$tmp/user_box"
  if target user unshare -Urm sh -c 'mount -t overlay none "$1/user_box" \
    -o "userxattr,lowerdir=$1/image,upperdir=$1/user_upper,workdir=$1/user_work" &&
    exec "$1/user_box/program" "$1/user.truth" "$2"' sh "$tmp" $rate; then
    check a_program_on_a_user_s_overlay_is_captured once user "$pid" --type alloc --seconds 1
    check an_allocator_where_no_probe_is_placed_is_noted \
      grep -q 'note: allocations are missing: the allocator is a file of a file system' "$tmp/user.txt"
    kill -KILL "$pid"
  else
    echo 'skip a_program_on_a_user_s_overlay_is_captured: users may not mount overlays here'
  fi
fi

# --- processes that end before they can be watched ----------------------------------
bash -c 'while :; do /bin/true; done' &
pid=$!
once brief "$pid" --type alloc --seconds 2
kill -KILL "$pid"
# More than there is room for.
bash -c 'sleep 1; for i in $(seq 300); do sleep 60 & done; wait' 2>/dev/null &
pid=$!
once many "$pid" --type alloc --seconds 5
pkill -KILL -P "$pid"
check processes_without_probes_are_told grep -qE 'note: allocations are missing: probes did not come .*: [0-9]+' "$tmp/many.txt"
check processes_that_end_unwatched_are_told grep -q 'note: allocations are missing: most processes ended' "$tmp/brief.txt"
kill -KILL "$pid"

# --- as a service -------------------------------------------------------------
e2e_start allocating
background one "$STATE/bin/allocating" "$tmp/service" 100000
service one "$STATE/bin/allocating"
id=$(start one 60 alloc)
check a_service_has_probes_while_it_is_captured wait_for 10 has_program stoker_alloc
ids=$(programs)
kill -KILL "$(<"$STATE/pid/worker")"
check no_probe_is_left_when_the_worker_is_killed wait_for 10 are_gone $ids
check no_breakpoint_is_left_when_the_worker_is_killed is_whole "$(<"$STATE/pid/one")"
works_on() { rm -f "$tmp/service"; kill -USR1 "$(<"$STATE/pid/one")"; wait_for 10 [ -s "$tmp/service" ]; }
check a_probed_program_works_on_when_the_worker_is_killed works_on
