#!/bin/bash
# Children of a service's processes are captured, too, whether they started
# before the capture or during it: Debian's servers, compilers and shells,
# matched by their first process, and compared with perf on the whole machine.
. tests/lib/e2e.sh
. tests/lib/pg.sh
WORKER_CONF='
[continuous]
window = 1s
'
e2e_start shares threads
tmp=$(mktemp -d /var/tmp/stoker-trees-XXXXXX)
chmod 755 "$tmp"
trap 'trees_stop; e2e_stop' EXIT
trees_stop() {
  [ ! -s "$tmp/nginx.pid" ] || kill "$(<"$tmp/nginx.pid")"
  pg_stop
  rm -rf "$tmp"
} >/dev/null 2>&1

by_pid() { # service, pid
  echo "$2" >"$tmp/$1.pid"
  stoker_cli service add "$1" --pid-file "$tmp/$1.pid" >/dev/null && wait_for 10 seen "$1"
}
blob() { # id, kind: the path of its file
  sqlite3 "$STATE/data/stoker.db" \
    "SELECT '$STATE/data/profiles/' || name FROM blob
     WHERE session = '$1' AND kind = '$2' AND deleted_ms = 0"
}
rate=499 # enough samples in a few seconds of a busy machine
take() { # service, seconds: $id, $result
  id=$(start "$1" "$2" cpu $rate)
  result=$(finished "$id")
}
field() { jq -r "$1" <<<"$result"; }
holds() { jq -e "$1" <<<"$result" >/dev/null || { echo "not $1: $(jq -c '{status, error, quality, sampleCount}' <<<"$result")"; return 1; }; }

# --- beside perf ----------------------------------------------------------------
# Both watch the same seconds. Of perf's samples of the whole machine, those of
# the service's processes and their descendants count. A row is NAME and samples.
family() { # pid: with its present descendants
  local child
  echo "$1"
  for child in $(pgrep -P "$1"); do family "$child"; done
}
perf_rows() { # service; "function", else by program
  perf script -i "$tmp/$1.data" --show-task-events -F comm,pid,tid,time,event,ip,sym 2>/dev/null |
    awk -v family="$(cat "$tmp/$1.family")" -v by="$2" -v from="$began" -v to="$ended" '
      BEGIN { n = split(family, pids); for (i = 1; i <= n; i++) ours[pids[i]] = 1 }
      match($0, /PERF_RECORD_FORK\([0-9]+:[0-9]+\):\([0-9]+:/) {
        split(substr($0, RSTART, RLENGTH), part, /[(:)]+/)
        if (part[4] in ours) ours[part[2]] = 1 }
      / PERF_RECORD_/ { next }
      match($0, /[0-9]+\/[0-9]+ +[0-9.]+: /) {
        pid = at = substr($0, RSTART); sub(/\/.*/, "", pid)
        sub(/^[^ ]+ +/, "", at)
        if (at + 0 < from || at + 0 >= to) next
        comm = substr($0, 1, RSTART - 1); gsub(/^ +| +$/, "", comm)
        sub(/.*: +[0-9a-f]+ /, "")
        if (pid in ours) rows[by == "function" ? $0 : comm]++ }
      END { for (row in rows) print rows[row], row }' |
    awk '{ n = $1; $1 = ""; print substr($0, 2) "\t" n }'
}
our_rows() { # id, function or program
  [ "$2" = function ] || { our_programs "$1"; return; }
  "$B/tests/tools/folded" "$(blob "$1" pprof)" |
    awk '{ n = $NF; sub(/ [0-9]+$/, ""); sub(/.*;/, ""); self[$0] += n }
         END { for (f in self) print f "\t" self[f] }'
}
our_programs() { # id
  "$B/tests/tools/timeline" "$(blob "$1" timeline)" "$(blob "$1" pprof)" |
    awk '$1 == "thread" { name[$3] = $NF } $1 == "sample" { n[name[$3]]++ }
         END { for (p in n) print p "\t" n[p] }'
}
# Expects as many samples, and the same share for each function that both name,
# within chance: two draws of n samples differ by four deviations in one of
# 16000 cases. The log also has the figures of claims that hold.
agrees() { # claim, service, function or program
  check "$1" agree "$2" "$3"
  sed "s/^/# $2: /" "$tmp/agreed"
}
agree() { # service, function or program
  our_rows "$id" "$2" >"$tmp/ours"
  perf_rows "$1" "$2" >"$tmp/theirs"
  awk -F'\t' 'NR == FNR { ours[$1] = $2; n += $2; next } { theirs[$1] = $2; m += $2 }
    END { if (n < 100 || m < 100) { print "samples:", n, m; exit 1 }
      r = n / m; printf "samples: %d, perf %d; ", n, m; d = r - 1
      bad = (d < 0 ? -d : d) > 0.15 + 3 * sqrt(1 / n + 1 / m)
      for (f in theirs) {
        a = ours[f] / n; b = theirs[f] / m; p = (a + b) / 2
        if (theirs[f] < 0.03 * m || f ~ /unknown/ || !(f in ours)) continue
        shown++; printf "%s %.1f%% %.1f%%; ", f, 100 * a, 100 * b
        d = a - b; d = d < 0 ? -d : d
        bad += d > 0.01 + 4 * sqrt(p * (1 - p) * (1 / n + 1 / m)) }
      print ""; exit bad || !shown }' "$tmp/ours" "$tmp/theirs" |
    tee "$tmp/agreed"
  return "${PIPESTATUS[0]}"
}
# On a busy machine the service may get too little CPU time in a few seconds.
beside_perf() { # service, first pid, jq condition for enough samples
  local seconds
  for seconds in 6 20 40; do
    beside_perf_for $seconds "$1" "$2"
    holds ".sampleCount >= 150 and ${3:-true}" >/dev/null && break
  done
}
beside_perf_for() { # seconds, service, first pid
  local seconds=$1 rate=99
  shift
  perf record -q --no-buildid -e cpu-clock -F $rate -k CLOCK_REALTIME -a -o "$tmp/$1.data" \
    -- sleep 1000 2>"$tmp/perf.err" &
  local perf=$!
  wait_for 10 pgrep -x -P $perf sleep # then it records
  family "$2" >"$tmp/$1.family"
  take "$1" "$seconds"
  kill -INT $perf
  wait $perf 2>/dev/null
  tests/lib/perf_data "$tmp/$1.data"
  began=$(date -d "$(field .startedAt)" +%s.%N)
  ended=$(awk -v a="$began" -v ms="$(field .quality.durationMs)" 'BEGIN { printf "%.3f", a + ms / 1000 }')
}

# --- nginx, by the pid file of its master ----------------------------------------
port=$(free_port)
cat >"$tmp/nginx.conf" <<EOF
pid $tmp/nginx.pid;
error_log $tmp/nginx.log;
worker_processes 2;
events {}
http { access_log off; keepalive_requests 100000000; server { listen 127.0.0.1:$port; root $tmp/web; } }
EOF
mkdir "$tmp/web"
head -c 2000 /dev/zero >"$tmp/web/file"
chmod -R a+rX "$tmp/web"
nginx -e "$tmp/nginx.log" -c "$tmp/nginx.conf"
wait_for 10 test -s "$tmp/nginx.pid"
for i in 1 2; do background ask$i curl -s "http://127.0.0.1:$port/file?[1-100000000]" -o /dev/null; done
by_pid nginx "$(<"$tmp/nginx.pid")"
beside_perf nginx "$(<"$tmp/nginx.pid")"
check nginx_by_its_master_has_its_workers holds '.quality.processes == 3'
agrees nginx_has_the_shares_of_perf nginx function
kill "$(<"$STATE/pid/ask1")" "$(<"$STATE/pid/ask2")"
take nginx 2
check an_idle_service_is_told_to_be_idle holds '.sampleCount == 0 and .quality.verdict == "poor"
  and (.quality.reasons | any(test("processes were idle")))'
stopped=("$(<"$tmp/nginx.pid")" $(pgrep -P "$(<"$tmp/nginx.pid")"))
kill -STOP "${stopped[@]}"
take nginx 1
check a_stopped_service_is_told_to_be_stopped holds '.sampleCount == 0 and .quality.verdict == "poor"
  and (.quality.reasons | any(test("processes are stopped")))'
kill -CONT "${stopped[@]}"

# Its first thread has ended, and another one goes on.
background headless "$B/targets/headless" exit
headless=$(<"$STATE/pid/headless")
lost_its_head() { [ "$(awk '{ print $3 }' "/proc/$headless/stat")" = Z ]; }
wait_for 10 lost_its_head
by_pid headless "$headless"
kill -STOP "$headless"
take headless 1
check a_stopped_service_whose_first_thread_ended_is_reported_as_stopped holds '.sampleCount == 0
  and (.quality.reasons | any(test("processes are stopped")))'
kill -KILL "$headless"

# Stopped until part of the capture has passed.
background halting bash -c 'while :; do :; done'
by_pid halting "$(<"$STATE/pid/halting")"
kill -STOP "$(<"$STATE/pid/halting")"
id=$(start halting 6)
part_over() { api GET "$P/$id" | jq -e '.phase == "capturing" and .progress > 0.2'; }
wait_for 10 part_over
kill -CONT "$(<"$STATE/pid/halting")"
result=$(finished "$id")
check a_service_that_was_stopped_for_a_time_is_said_to_have_been holds '.sampleCount > 0
  and .quality.haltedMs > 200 and (.quality.notes | any(test("stood still for a part of the time.*: [0-9]+$")))'
kill -KILL "$(<"$STATE/pid/halting")"

# Makes a control group of version 1 or 2, whichever this machine has.
group() { # controller: $group, a new one
  group=/sys/fs/cgroup/$1/stoker-$$
  [ -d "/sys/fs/cgroup/$1" ] || group=/sys/fs/cgroup/stoker-$$
  mkdir "$group" 2>/dev/null
}
enter() { # pid...: the group
  local pid
  for pid; do echo "$pid" >"$group/cgroup.procs" || return 1; done
}
leave() { # pid...: the group, which is removed
  local pid
  for pid; do echo "$pid" >"${group%/*}/cgroup.procs"; done
  rmdir "$group"
}
freeze() { # 1, or 0 to thaw
  if [ -e "$group/cgroup.freeze" ]; then echo "$1" >"$group/cgroup.freeze"
  elif [ "$1" = 1 ]; then echo FROZEN >"$group/freezer.state"
  else echo THAWED >"$group/freezer.state"; fi
}
if group freezer && enter "${stopped[@]}" && freeze 1; then
  take nginx 1
  check a_frozen_service_is_said_to_be_frozen holds '.sampleCount == 0 and .quality.verdict == "poor"
    and (.quality.reasons | any(test("processes are frozen")))'
  freeze 0
  leave "${stopped[@]}"
else
  echo "skip a frozen service: no control group could be made here"
fi
# Two programs share a CPU.
background rival taskset -c 0 bash -c 'while :; do :; done'
background sharing taskset -c 0 bash -c 'while :; do :; done'
by_pid sharing "$(<"$STATE/pid/sharing")"
take sharing 1
check time_that_threads_waited_for_a_cpu_is_counted holds '.quality |
  .cpuRanMs > 0 and .cpuWaitedMs > .cpuRanMs / 3'
process_stop rival
process_stop sharing
tenth() { # limits the group to a tenth of a CPU
  if [ -e "$group/cpu.max" ]; then echo "10000 100000" >"$group/cpu.max"
  else echo 10000 >"$group/cpu.cfs_quota_us"; fi
}
background held_back bash -c 'while :; do :; done'
held_back=$(<"$STATE/pid/held_back")
if group cpu && tenth 2>/dev/null && enter "$held_back"; then
  by_pid held_back "$held_back"
  take held_back 3 # on a busy machine a group seldom uses up its quota
  check time_lost_to_a_quota_is_counted_and_noted holds '.quality.quotaLostMs > 300
    and (.quality.notes | any(test("used up its CPU quota.*: [0-9]+$")))'
  post $P/continuous '{"service":"held_back","sampleRate":19}' -o /dev/null
  windows_lost() { # ms, at least
    api GET "$P/merge?service=held_back&profileType=cpu&from=now-1h" |
      jq -e '.source == "windows" and .quotaLostMs > 300
        and (.notices | any(test("used up its CPU quota.*: [0-9]+$")))'
  }
  check windows_have_the_time_lost_to_a_quota wait_for 60 windows_lost
  api DELETE "$P/continuous/held_back" -o /dev/null
  leave "$held_back"
else
  echo "skip a CPU quota: no control group with one could be made here"
fi
kill "$held_back"
kill "$(<"$tmp/nginx.pid")"

# --- PostgreSQL, by its postmaster -----------------------------------------------
pg_start "$tmp"
query() {
  pg_run psql -X -q -h "$tmp/pg" -U stoker -d postgres -c \
    'SELECT count(*) FROM generate_series(1, 1000000000) g WHERE hashtext(g::text) % 7 = 3' >/dev/null 2>&1
}
query & query &
by_pid postgres "$postmaster"
beside_perf postgres "$postmaster"
check postgresql_by_its_postmaster_has_its_backends holds '.quality.processes >= 7'
agrees postgresql_has_the_shares_of_perf postgres function
snapshot=$(post $P/start '{"service":"postgres","profileType":"goroutine"}' | jq -r '.id // error')
result=$(finished "$snapshot")
check a_snapshot_has_the_threads_of_all_of_them holds '.sampleCount >= 7 and .quality.processes >= 7'
pg_stop

# --- make, by its own pid: its compilers live for fractions of a second -----------
{
  echo '#include <stdlib.h>'
  for i in {1..40}; do
    echo "int f$i(int a) { int b[64], n = 0; for (int i = 0; i < 64; i++) b[i] = a * i % $((i + 1));
      for (int i = 0; i < 64; i++) n += b[i] > a ? b[i] : rand(); return n; }"
  done
} >"$tmp/many.c"
cat >"$tmp/Makefile" <<EOF
all: \$(addprefix $tmp/o/,\$(shell seq 5000))
$tmp/o/%: $tmp/many.c
	gcc -O2 -c -o \$@ \$<
EOF
mkdir "$tmp/o"
make -s -j2 -f "$tmp/Makefile" 2>/dev/null &
compile=$!
by_pid make $compile
beside_perf make $compile '.quality.execs > 20'
check make_has_its_compilers holds '.quality.execs > 20 and .sampleCount > 100'
agrees make_has_the_shares_of_perf make program
kill $compile 2>/dev/null
wait $compile 2>/dev/null

# --- a shell whose child is busy ---------------------------------------------------
sh -c "$STATE/bin/shares 300 3 20 & echo \$! >$tmp/child; wait" >/dev/null &
shell=$!
wait_for 10 test -s "$tmp/child"
by_pid shell $shell
take shell 3
check a_busy_child_of_a_shell_is_captured holds '.sampleCount > 50 and .quality.processes == 2
  and (.topFunctions | any(.funcName | test("share_|burn")))'
post $P/continuous '{"service":"shell","profileTypes":["cpu"]}' -o /dev/null
sampled() { [ "$(sqlite3 "$STATE/data/stoker.db" "SELECT COUNT(*) FROM profile_window
  WHERE level = 0 AND sample_count > 0")" -ge 2 ]; }
check a_busy_child_of_a_shell_is_in_windows_of_all_the_time wait_for 30 sampled
api DELETE $P/continuous/shell -o /dev/null
kill "$(<"$tmp/child")"

# --- while a capture runs -----------------------------------------------------------
instance() { "$STATE/bin/shares" 300 3 20 >/dev/null & echo $! >"$tmp/changing.pid"; }
instance
by_pid changing "$(<"$tmp/changing.pid")"
id=$(start changing 10 cpu $rate)
runs() { api GET "$P/$id" | jq -e '.phase == "capturing" and .progress > 0.1'; }
wait_for 10 runs
kill "$(<"$tmp/changing.pid")"
instance
result=$(finished "$id")
# Counts samples of the threads of a process.
samples_of() { # pid
  "$B/tests/tools/timeline" "$(blob "$id" timeline)" "$(blob "$id" pprof)" |
    awk -v pid="$1" '$1 == "thread" && $2 == pid { ours[$3] = 1 }
      $1 == "sample" && $3 in ours { n++ } END { print n + 0 }'
}
more_than() { echo "$1"; [ "$1" -gt "$2" ]; }
goes_on() {
  local n
  n=$(samples_of "$(<"$tmp/changing.pid")")
  [ "$n" -gt 50 ] || { echo "$n samples of $result"; return 1; }
}
check a_restarted_service_goes_on_being_captured goes_on
check both_processes_of_a_restarted_service_are_told holds '.quality.exits == 1 and .quality.processes == 2'
kill "$(<"$tmp/changing.pid")"

install -m 755 "$STATE/bin/shares" "$STATE/bin/twice"
background one "$STATE/bin/twice" 300 3 20
service twice "$STATE/bin/twice"
id=$(start twice 10 cpu $rate)
wait_for 10 runs
background two "$STATE/bin/twice" 300 3 20
result=$(finished "$id")
check a_second_instance_is_captured_with_the_first more_than "$(samples_of "$(<"$STATE/pid/two")")" 50
check each_ordinal_has_its_own equal "$(api GET /api/v1/services/twice/processes | jq -c '[.items[].ordinal]')" '[0,1]'
kill "$(<"$STATE/pid/one")" "$(<"$STATE/pid/two")"

# --- processes that last shorter than a look at them comes round ---------------------
cp "$(readlink -f /usr/bin/sleep)" "$tmp/short"
background stays "$tmp/short" 1000
background starter bash -c "while [ -e $tmp/short ]; do $tmp/short 0.4; done"
stoker_cli service add short --exe "$tmp/short" >/dev/null
take short 10
check processes_that_are_found_late_are_told holds '.quality.processesLate >= 3
  and (.quality.notes | any(test("processes of the service keep starting.*: [0-9]+$")))'
kill "$(<"$STATE/pid/starter")" "$(<"$STATE/pid/stays")"

# --- a child in another unit does not belong to the service -----------------
for root in /sys/fs/cgroup/systemd /sys/fs/cgroup; do
  unit=$root/stoker-trees-$$.scope
  mkdir "$unit" 2>/dev/null && [ -e "$unit/cgroup.procs" ] && break
  rmdir "$unit" 2>/dev/null
  unit=
done
if [ -z "$unit" ]; then
  echo "skip trees: no control group can be made here"
else
  rm -f "$tmp/child"
  sh -c "$STATE/bin/shares 300 3 20 & echo \$! >$tmp/child; wait" >/dev/null &
  parent=$!
  wait_for 10 test -s "$tmp/child"
  cat "$tmp/child" >"$unit/cgroup.procs"
  by_pid parent $parent
  take parent 2
  check a_child_in_another_unit_is_left_out holds '.sampleCount == 0 and .quality.processes == 1
    and .quality.descendantsOtherUnit == 1 and (.quality.notes | any(test("other systemd units: 1$")))'
  listed() { api GET /api/v1/services/parent/processes |
    jq -e '.captured[0] | .processes == 1 and .descendantsOtherUnit == 1'; }
  check the_list_of_processes_tells_whom_captures_are_of wait_for 15 listed
  kill "$(<"$tmp/child")"
  # It is forked while the capture runs, and then moved, as systemd does.
  sh -c "read -r _; $STATE/bin/shares 300 3 20 & echo \$! >$unit/cgroup.procs; wait" \
    < <(wait_for 20 test -e "$tmp/go"; echo) >/dev/null &
  by_pid mover $!
  id=$(start mover 12 cpu $rate)
  wait_for 10 runs
  touch "$tmp/go"
  result=$(finished "$id")
  check a_child_that_moves_to_another_unit_is_told holds '.quality.descendantsOtherUnit == 1'
  late=$("$B/tests/tools/timeline" "$(blob "$id" timeline)" "$(blob "$id" pprof)" |
    awk '$1 == "sample" && $2 > 9500000' | wc -l)
  check a_child_that_moved_to_another_unit_is_not_sampled_any_more equal "$late" 0
  kill $(<"$unit/cgroup.procs")
  wait_for 10 rmdir "$unit"
fi
