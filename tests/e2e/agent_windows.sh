#!/bin/bash
# Windows of hosts that need only outgoing HTTPS: continuous profiling is turned
# on at the centre, runs on the host, and is read at the centre, where each
# sample counts once. The host sends its profiles to the service's collector, too.
#
# Beside others, first: it waits for events, and takes minutes.
WORKER_CONF=$'lease = 6s\n[collector]\nallow = 127.0.0.1'
HOST_CONF=$'lease = 2m\n[collector]\nallow = 127.0.0.1'
. "$(dirname "$0")/../lib/e2e.sh"
e2e_start
. tests/lib/fleet.sh
leave() {
  local code=$?
  [ $code -eq 0 ] || tail -n 20 "$STATE/log/a.log"
  process_stop a
  kill "$collector" 2>/dev/null
  (exit $code)
  e2e_stop
}
trap leave EXIT
hook=$(free_port)
mkdir "$STATE/collector"
python3 tests/lib/collector.py "$hook" "$STATE/collector" &
collector=$!
fleet_start || { echo 'not ok the_centre_answers_by_tls'; exit 1; }
host_make a
host_join a >/dev/null || { echo 'not ok a_host_joins'; exit 1; }
background demo "$STATE/bin/demo" 1 3
host_start a
wait_for 20 alive_at_centre a
stoker_cli service add web --exe "$STATE/bin/demo" >/dev/null
stoker_cli service set web --collector "http://127.0.0.1:$hook" >/dev/null
stoker_cli continuous on web --types cpu >/dev/null

here() { sqlite3 "$STATE/a/data/stoker.db" "$1"; }
there() { as_user sqlite3 -cmd '.timeout 20000' "$STATE/data/stoker.db" "$1"; }
check continuous_profiling_of_the_centre_runs_on_the_host \
  wait_for 60 eval '[ "$(here "SELECT COUNT(*) FROM profile_window WHERE level = 0")" -gt 0 ]'
merged() { api GET "$P/merge?service=web&profileType=cpu&host=a" | jq -e "$1"; }
check minutes_of_a_host_are_in_a_range_at_the_centre wait_for 200 merged '.source == "windows" and .sampleCount > 0'
check functions_of_a_host_have_names_at_the_centre merged 'any(.topFunctions[]; .funcName | test("matmul"))'

told() { api GET /api/v1/workers | jq -e ".items[] | select(.host == \"a\") | $1"; }
check the_centre_reports_how_far_a_host_has_sent told '.joined and any(.arrived[]; .level == "minute" and .lagSeconds < 600)'

# Compares the host's sum with the centre's, up to the last minute that has
# arrived.
same_sums() {
  local to own sent
  to=$(there "SELECT COALESCE(MAX(end_ms), 0) FROM block_cursor WHERE host = 'a'")
  own=$(here "SELECT SUM(sample_count) || ' ' || SUM(windows) FROM profile_window WHERE level = 1 AND end_ms <= $to")
  sent=$(there "SELECT SUM(sample_count) || ' ' || SUM(windows) FROM run WHERE tier < 2")
  [ -n "$own" ] && equal "$sent" "$own"
}
check the_centre_s_sums_are_the_host_s same_sums
blocks() { there "SELECT COUNT(*) FROM block"; }
had=$(blocks)
host_stop a KILL
process_stop nginx
host_start a
check a_host_without_its_centre_adds_up_minutes \
  wait_for 150 eval '[ "$(here "SELECT MAX(end_ms) FROM profile_window WHERE level = 1")" -gt "$(there "SELECT MAX(end_ms) FROM block_cursor")" ]'
nginx_start
more() { [ "$(blocks)" -gt "$had" ]; }
check a_host_sends_its_windows_when_the_centre_is_back wait_for 120 more
check no_sample_is_lost_or_counted_twice_when_the_centre_was_away same_sums
check no_window_waits_on_a_host_that_has_sent_all wait_for 120 told '.alive and .waitingWindows == 0 and .waitingSince == null'
check metrics_have_the_lag_of_each_host says 'stoker_host_lag_seconds{host="a",tenant="550e8400",level="minute"}' api GET /metrics

# --- what a host may send -----------------------------------------------------
send() { agent a POST /agent/block -H 'Content-Type: application/octet-stream' --data-binary @"$1" | jq -r .error_code; }
check a_block_of_another_tenant_is_refused equal "$(send tests/data/fuzz/block/fresh)" TenantForbidden
head -c 300 /dev/urandom >"$STATE/noise"
check bytes_that_are_no_block_are_refused equal "$(send "$STATE/noise")" InvalidBlock
code() { curl -s --cacert "$STATE/nginx/tls.pem" --data-binary @tests/data/fuzz/block/day "$CENTRE_URL/agent/block" | jq -r .error_code; }
check a_block_without_a_key_is_refused equal "$(code)" Unauthorized

stoker_cli continuous off web >/dev/null
off() { [ "$(here "SELECT COUNT(*) FROM continuous WHERE enabled = 1")" = 0 ]; }
check continuous_profiling_turned_off_at_the_centre_ends_on_the_host wait_for 30 off

# --- the service's collector, to which the host sends ----------------------------
requests() { ls "$STATE/collector" | grep -c request; }
sent() { [ "$(here 'SELECT COUNT(*) FROM delivery')" = 0 ]; }
check a_host_sends_windows_to_the_collector_of_a_service eval 'wait_for 60 sent && [ "$(requests)" -gt 0 ]'
n=$(requests)
id=$(start web 1)
check a_capture_arrives_at_the_centre equal "$(finished "$id" | jq -r .status)" completed
check and_at_the_collector wait_for 30 eval '[ "$(requests)" -eq $((n + 1)) ]'
check what_both_have_is_removed_from_the_host wait_for 30 eval '[ "$(here "SELECT COUNT(*) FROM session")" = 0 ]'
echo 503 >"$STATE/collector/mode"
id=$(start web 1)
finished "$id" >/dev/null
check a_capture_stays_on_the_host_until_the_collector_has_it eval 'wait_for 30 grep -q ^503 "$STATE/collector/log" && equal "$(here "SELECT id FROM session")" "$id"'
check the_centre_reports_what_a_host_cannot_send wait_for 60 says 'answers with 503' stoker_cli service show web
check metrics_of_the_centre_count_it says 'stoker_collector_failing{host="a"} 1' api GET /metrics
rm "$STATE/collector/mode"
check it_arrives_when_the_collector_is_back wait_for 60 eval 'sent && [ "$(requests)" -eq $((n + 2)) ] && [ "$(here "SELECT COUNT(*) FROM session")" = 0 ]'
