#!/bin/bash
# Continuous profiling: a sequence of windows, across crashes and restarts of
# the worker, in a store that stays small.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
WORKER_CONF='
[continuous]
window = 1s
'
e2e_start shares
background demo "$STATE/bin/demo"
service demo "$STATE/bin/demo"

db() { sqlite3 "$STATE/data/stoker.db" "$1"; }
windows() { db "SELECT COUNT(*) FROM profile_window WHERE level = 0 ${1:-}"; }
more_than() { [ "$(windows)" -gt "$1" ]; }
continuous() { # JSON members
  post $P/continuous "{\"service\":\"demo\",\"sampleRate\":99$1}"
}

check continuous_profiling_is_enabled equal "$(continuous '' | jq -r .enabled)" true
check windows_are_stored wait_for 20 more_than 3
# Windows of one worker follow each other without a gap, to the millisecond.
gaps() {
  db "SELECT COUNT(*) FROM (SELECT start_ms - LAG(end_ms) OVER (PARTITION BY series ORDER BY start_ms) AS gap
      FROM profile_window WHERE level = 0) WHERE gap > 3 OR gap < -3"
}
check windows_leave_no_gap equal "$(gaps)" 0
sampled() { [ "$(db 'SELECT SUM(sample_count) FROM profile_window')" -gt 50 ]; }
check windows_hold_samples wait_for 20 sampled
check one_service_is_one_series equal "$(db 'SELECT COUNT(*) FROM series')" 1
check windows_share_a_file test "$(ls "$STATE/data/segments" | wc -l)" -le 2

# The stored bytes are pprof files.
first() {
  local row
  row=$(db "SELECT segment || ' ' || start || ' ' || length FROM profile_window
            WHERE length > 0 LIMIT 1")
  read -r segment start length <<<"$row"
  dd if="$STATE/data/segments/$segment.seg" of="$STATE/window.pb.gz" \
    iflag=skip_bytes,count_bytes skip="$start" count="$length" status=none
  "$B/tests/tools/folded" "$STATE/window.pb.gz"
}
check a_window_is_a_profile grep -q server::work <<<"$(first)"

# --- functions that are metrics -------------------------------------------------
name=$(first | tr ';' '\n' | sed -n '/server::work/{s/ [0-9]*$//;p;q}')
stoker() { "$B/stoker" --server "http://127.0.0.1:$PORT" --token "$TOKEN" "$@"; }
stoker service set demo --metric "$name" --metric demo >"$STATE/set"
check a_service_names_functions_and_packages grep -F "$name" <(stoker service show demo)
api GET /metrics/functions >"$STATE/shares"
share() { awk -F '} ' -v "of=stoker_function_cpu_$1{" -v "name=,name=\"$2\"" \
  'index($1, of) == 1 && index($1, name) { print $2 }' "$STATE/shares"; }
check a_function_has_its_share_of_the_last_minutes \
  awk "BEGIN { exit !($(share ratio "$name") > 0.2 && $(share ratio "$name") <= 1) }"
check a_package_has_at_least_the_share_of_its_function \
  awk "BEGIN { exit !($(share ratio demo) >= $(share ratio "$name") && $(share self_ratio demo) > 0) }"
if ! B=$B conf/packages/unpack bookworm "$B/go/prometheus" prometheus 2>"$STATE/why"; then
  echo "skip promtool: $(tail -n 1 "$STATE/why")"
else
  for path in metrics metrics/functions; do
    api GET "/$path" | "$B/go/prometheus/usr/bin/promtool" check metrics >"$STATE/lint" 2>&1
    check "promtool_accepts_${path/\//_}" equal "$?$(<"$STATE/lint")" 0
  done
  check promtool_accepts_the_rules "$B/go/prometheus/usr/bin/promtool" check rules conf/prometheus/stoker-rules.yml
fi

# --- many services share one sampler ------------------------------------------
for i in 1 2 3; do
  service "also$i" "$STATE/bin/demo"
  post $P/continuous "{\"service\":\"also$i\",\"sampleRate\":99}" -o /dev/null
done
series() { [ "$(db 'SELECT COUNT(DISTINCT series) FROM profile_window')" -ge "$1" ]; }
check every_service_has_windows wait_for 30 series 4

# --- threads --------------------------------------------------------------------
named() {
  api GET "$P/history/groups?service=also1&profileType=cpu&from=now-1m&by=sample.thread" |
    jq -e 'any(.groups[]; .value == "request" and .share > 0)' >/dev/null
}
unnamed() { ! named; }
check threads_are_not_kept_unasked unnamed
api PUT /api/v1/services/also1 -H 'Content-Type: application/json' -o /dev/null \
  -d "{\"match\":{\"exe\":\"$STATE/bin/demo\"},\"allow\":{\"threadNames\":true}}"
check threads_are_kept_if_the_service_allows_it wait_for 20 named

# --- the worker dies --------------------------------------------------------
n=$(windows)
kill -KILL "$(<"$STATE/pid/worker")"
wait_for 10 process_gone "$(<"$STATE/pid/worker")"
check stored_windows_stay_after_a_death test "$(windows)" -ge "$n"
worker_start
check windows_go_on_after_a_death wait_for 30 more_than $((n + 12))
check a_death_leaves_a_gap test "$(gaps)" -ge 1

# A worker that is stopped stores its last samples as a window.
before=$(db 'SELECT MAX(end_ms) FROM profile_window')
kill -TERM "$(<"$STATE/pid/worker")"
stopped=$(date +%s%3N)
wait_for 20 process_gone "$(<"$STATE/pid/worker")"
end=$(db 'SELECT MAX(end_ms) FROM profile_window')
check a_worker_that_stops_stores_what_it_has test $((stopped - end)) -lt 1500
worker_start

# --- minutes ----------------------------------------------------------------
# Half a minute after the end of a minute, the windows that began in it are
# rolled up into one window with all their samples and their time.
minutes() { db "SELECT COUNT(*) FROM profile_window WHERE level = 1"; }
has_minutes() { [ "$(minutes)" -ge 2 ]; }
check minutes_are_added_up wait_for 150 has_minutes
sums() {
  db "SELECT COUNT(*) FROM profile_window p WHERE level = 1 AND (
        sample_count <> (SELECT SUM(sample_count) FROM profile_window c WHERE c.parent = p.id)
        OR duration_ms <> (SELECT SUM(duration_ms) FROM profile_window c WHERE c.parent = p.id)
        OR value <> (SELECT SUM(value) FROM profile_window c WHERE c.parent = p.id))"
}
check a_minute_is_the_sum_of_its_windows equal "$(sums)" 0
# A minute's bytes have as many samples as its row says.
minute_is_whole() {
  local segment start length samples value
  IFS='|' read -r segment start length samples <<<"$(db "SELECT segment, start, length, sample_count
    FROM profile_window WHERE level = 1 AND length > 0 LIMIT 1")"
  dd if="$STATE/data/segments/$segment.seg" of="$STATE/minute" \
    iflag=skip_bytes,count_bytes skip="$start" count="$length" status=none
  equal "$("$B/tests/tools/folded" "$STATE/minute" | awk '{ n += $NF } END { print n }')" "$samples"
}
check the_bytes_of_a_minute_hold_its_samples minute_is_whole

# --- it ends --------------------------------------------------------------------
for s in demo also1 also2 also3; do
  post $P/continuous "{\"service\":\"$s\",\"enabled\":false}" -o /dev/null
done
newest() { db "SELECT MAX(start_ms) FROM profile_window"; }
is_quiet() {
  local a
  a=$(newest)
  # No window is added during the time of three windows.
  ! timeout 3 bash -c "while [ \"\$(sqlite3 '$STATE/data/stoker.db' 'SELECT MAX(start_ms) FROM profile_window')\" = $a ]; do read -rt 0.2 <> <(:); done"
}
check disabled_means_no_more_windows wait_for 20 is_quiet
deleted() { [[ $(status_of DELETE /api/v1/services/demo) =~ ^(204|404)$ ]]; }
check a_service_is_deleted wait_for 20 deleted
check a_deleted_service_leaves_no_window equal \
  "$(db "SELECT COUNT(*) FROM profile_window w JOIN series s ON s.id = w.series WHERE s.service = 'demo'")" 0
