#!/bin/bash
# The worker is killed again and again while it rolls up windows: nothing is
# lost or counted twice.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
MINUTES=180 SERVICES=4
# Windows must stay after they are rolled up, since they are counted below.
WORKER_CONF='
[continuous]
keep_windows = 7d
'
e2e_start
install -m 755 "$B/tests/tools/windows" "$STATE/bin/"
host=$(api GET /api/v1/workers | jq -r '.items[0].host')
worker_kill() {
  kill -KILL "$(<"$STATE/pid/worker")" 2>/dev/null
  wait_for 10 process_gone "$(<"$STATE/pid/worker")"
}
db() { sqlite3 -cmd '.timeout 5000' "$STATE/data/stoker.db" "$1"; }
worker_kill
put=0
for ((i = 1; i <= SERVICES; i++)); do
  stoker_cli service add "svc$i" --exe "$STATE/bin/none$i" >/dev/null
  n=$(as_user "$STATE/bin/windows" "$STATE/data" 550e8400 "svc$i" "$host" $MINUTES) || n=0
  put=$((put + n))
done
check windows_of_an_hour_and_more_wait test "$put" -gt 500000

minutes() { db 'SELECT COUNT(*) FROM profile_window WHERE level = 1'; }
waiting() { db 'SELECT COUNT(*) FROM profile_window WHERE level = 0 AND parent = ""' ; }
none_wait() { [ "$(waiting)" -eq 0 ] && [ "$(db 'SELECT COUNT(*) FROM profile_window WHERE level = 2')" -ge $SERVICES ]; }
# Every second worker is killed at a random moment, the others right after they
# rolled something up.
more_minutes() {
  local i
  for ((i = 0; i < 200 && $(minutes) == $1; i++)); do read -rt 0.05 <> <(:); done
}

midway=0
for ((i = 0; i < 40; i++)); do
  before=$(minutes)
  worker_start
  if [ $((i % 2)) -eq 0 ]; then read -rt "0.$((RANDOM % 20 + 10))" <> <(:); else more_minutes "$before"; fi
  # Sometimes only its newest child is killed: a batch is lost, but the worker
  # lives on.
  if [ $((i % 3)) -eq 0 ]; then
    kill -KILL $(pgrep -nP "$(<"$STATE/pid/worker")" -x stoker-worker) 2>/dev/null
    read -rt 0.1 <> <(:)
  fi
  worker_kill
  [ "$(waiting)" -gt 0 ] || break
  n=$(minutes)
  [ "$n" -eq 0 ] || midway=$((midway + 1))
done
check workers_die_in_the_middle_of_the_work test "$midway" -ge 3
worker_start
check all_windows_are_added_up_in_the_end wait_for 120 none_wait
worker_kill

sum() { db "SELECT COALESCE(SUM(sample_count), 0) FROM profile_window WHERE level = $1 ${2:-}"; }
check windows_hold_what_was_put_there equal "$(sum 0)" "$put"
check minutes_hold_what_was_put_there equal "$(sum 1)" "$put"
check each_rollup_is_the_sum_of_its_parts equal "$(db "SELECT COUNT(*) FROM profile_window p
  WHERE level > 0 AND (
    sample_count <> (SELECT SUM(sample_count) FROM profile_window c WHERE c.parent = p.id) OR
    windows <> (SELECT SUM(windows) FROM profile_window c WHERE c.parent = p.id) OR
    value <> (SELECT SUM(value) FROM profile_window c WHERE c.parent = p.id))")" 0
check no_minute_is_there_twice equal "$(db "SELECT COUNT(*) FROM (SELECT 1 FROM profile_window
  WHERE level > 0 GROUP BY series, level, start_ms HAVING COUNT(*) > 1)")" 0

# Not only the rows must agree: the bytes of every hour hold its samples.
slice() { # segment, start, length
  dd if="$STATE/data/segments/$1.seg" iflag=skip_bytes,count_bytes skip="$2" count="$3" status=none
}
# Counts of a minute's stacks are followed by the minute: include/base/counted.h.
window_bytes() { # segment, start, length
  local distance base
  slice "$@" >"$STATE/window"
  [ "$(head -c 4 "$STATE/window" | tr -d '\0')" = SPC1 ] || return 0
  read -r distance base < <(od -An -tu4 -j4 -N8 "$STATE/window")
  slice "$1" $(($2 - distance)) "$base" >>"$STATE/window"
}
bytes_hold_their_samples() {
  local segment start length samples held
  while IFS='|' read -r segment start length samples; do
    window_bytes "$segment" "$start" "$length"
    held=$("$B/tests/tools/folded" "$STATE/window" | awk '{ n += $NF } END { print n }')
    equal "$held" "$samples" || return 1
  done < <(db "SELECT segment, start, length, sample_count FROM profile_window
    WHERE level = 2 OR id IN (SELECT id FROM profile_window WHERE level = 1 LIMIT 40)")
}
check bytes_hold_what_their_rows_say bytes_hold_their_samples

# Another reader of pprof gets all samples, in whichever form a window or a
# rollup is stored.
reader=$(tests/lib/go root 1.24) || reader=
pprof_holds_the_samples() { # level
  local segment start length samples held
  IFS='|' read -r segment start length samples < <(db "SELECT segment, start, length, sample_count
    FROM profile_window WHERE level = $1 ORDER BY length DESC LIMIT 1")
  window_bytes "$segment" "$start" "$length"
  "$B/tests/tools/folded" "$STATE/window" pprof >"$STATE/window.pb.gz" &&
    held=$(HOME=$STATE "$reader/bin/go" tool pprof -raw -sample_index=samples "$STATE/window.pb.gz" |
      awk '/^Locations/ { exit } rows && /:/ { sub(/:.*/, ""); n += $1 } /^samples\/count/ { rows = 1 } END { print n }') &&
    equal "$held" "$samples"
}
for level in 0 1 2; do
  if [ -n "$reader" ]; then
    check "a_window_stored_at_level_${level}_becomes_pprof" pprof_holds_the_samples $level
  else
    echo "skip compactor: no go1.24 to read level $level with"
  fi
done
