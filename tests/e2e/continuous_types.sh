#!/bin/bash
# Continuous profiling of types that are not sampled: goroutines and threads,
# read from outside, and the types of net/http/pprof, read from its pages.
#
# Beside others: it waits for events.
: "${GO:=1.19}"
: "${B:=build}"
WORKER_CONF='
[continuous]
window = 1s
gauges = 1s
counters = 1s
'
tmp=$(mktemp -d /var/tmp/stoker-types-XXXXXX)
chmod 755 "$tmp"
CGO_ENABLED=1 tests/lib/go build "$GO" "$B/targets/pages-$GO" tests/targets/go/pages 2>"$tmp/why" &
building=$!
. tests/lib/e2e.sh
e2e_start shares
pages=
leave() { [ -z "$pages" ] || kill -KILL "$pages"; e2e_stop; rm -rf "$tmp"; }
trap leave EXIT

db() { sqlite3 "$STATE/data/stoker.db" "$1"; }
continuous() { # service, JSON list of types, more members
  post $P/continuous "{\"service\":\"$1\",\"profileTypes\":$2${3:-}}"
}
windows() { # service, type, condition
  db "SELECT COUNT(*) FROM profile_window w JOIN series s ON s.id = w.series
      WHERE s.service = '$1' AND s.type = '$2' AND w.level = 0 ${3:-}"
}
has() { [ "$(windows "$1" "$2" "${4:-}")" -ge "$3" ]; } # service, type, number
state() { api GET "$P/continuous/$1"; }
holds() { state "$1" | jq -e "$2" >/dev/null || { state "$1"; return 1; }; }
largest() { # service, type: its folded stacks
  local segment start length
  IFS='|' read -r segment start length <<<"$(db "SELECT segment, start, length
    FROM profile_window w JOIN series s ON s.id = w.series
    WHERE s.service = '$1' AND s.type = '$2' AND w.level = 0 AND length > 0
    ORDER BY w.value DESC LIMIT 1")"
  dd if="$STATE/data/segments/$segment.seg" of="$tmp/window.pb.gz" \
    iflag=skip_bytes,count_bytes skip="$start" count="$length" status=none
  "$B/tests/tools/folded" "$tmp/window.pb.gz"
}

background demo "$STATE/bin/demo" 3 5
stoker_cli service add demo --kind native --exe "$STATE/bin/demo" >/dev/null
wait_for 10 seen demo
continuous demo '["goroutine","memory"]' >/dev/null

# --- a native service: its threads -------------------------------------------
check threads_are_looked_at_again_and_again wait_for 30 has demo goroutine 3
check a_look_at_threads_is_a_profile grep -q . <<<"$(largest demo goroutine)"
check a_look_counts_threads equal \
  "$(windows demo goroutine 'AND w.value <> w.sample_count')" 0
check every_type_has_an_engine holds demo '.unsupported == []'
without_library() {
  holds demo '[.failing[] | .profileType, .error_code] == ["memory", "ProfilingDisabled"] and (.failing[0].message | contains("libstoker-heap.so"))'
}
check a_program_that_counts_no_memory_is_reported wait_for 20 without_library
stored() { holds demo '.hosts[0] | .state == "running" and .stored > 0 and .taken == 2 and .watched == 0'; }
check the_state_of_the_host_is_reported wait_for 20 stored
check metrics_count_windows grep -Eq '^stoker_continuous_windows_stored_total\{host="[^"]+"\} [1-9]' \
  <(api GET /metrics)
check the_list_of_workers_has_their_state grep -q '"state": *"running"' <(api GET /api/v1/workers | jq .)
check the_list_of_workers_has_their_cost jq -e ".items[0].capabilities.cost | .cpuSeconds > 0 and .residentBytes > 1000000" <(api GET /api/v1/workers)
check the_log_has_one_line_for_all_failures_of_a_service [ "$(grep -c "memory profiles of demo" "$STATE/log/worker.log")" -le 1 ]

# This endpoint fails while the next claims are checked.
port=$(free_port)
post /api/v1/services "{\"name\":\"gone\",\"kind\":\"go\",\"pprofUrl\":\"http://127.0.0.1:$port\"}" -o /dev/null
continuous gone '["memory"]' >/dev/null

# --- a service registered without its kind, which is not a Go program -------------
service undeclared "$STATE/bin/demo"
continuous undeclared '["memory"]' >/dev/null
no_library() { holds undeclared '.failing[0] | .profileType == "memory" and .error_code == "ProfilingDisabled"'; }
check a_program_of_kind_auto_that_counts_no_memory_is_reported wait_for 20 no_library
api DELETE $P/continuous/undeclared -o /dev/null

# --- an endpoint where nothing listens ------------------------------------------
unreachable() { holds gone '.failing[0] | .profileType == "memory" and .error_code == "EndpointUnreachable"'; }
check an_endpoint_that_fails_is_reported wait_for 20 unreachable
gaps() { [ "$(state gone | jq '.hosts[0].gaps')" -ge 5 ]; }
check each_failed_window_is_a_gap wait_for 40 gaps
check failures_of_an_endpoint_are_logged_once equal "$(grep -c 'memory profiles of gone' "$STATE/log/worker.log")" 1

# --- a Go program and its pages -----------------------------------------------------
if wait $building; then
  "$B/targets/pages-$GO" "$tmp/address" 2>"$tmp/pages.log" &
  pages=$!
  wait_for 20 test -s "$tmp/address" || { cat "$tmp/pages.log"; exit 1; }
  post /api/v1/services "{\"name\":\"pages\",\"kind\":\"go\",\"pprofUrl\":\"http://$(<"$tmp/address")\"}" -o /dev/null
  continuous pages '["memory","alloc","block","mutex","goroutine"]' >/dev/null
  declare -A leaf=([memory]=main.keepMemory [alloc]=main.burn
    [block]=main.contend [mutex]=main.contend [goroutine]=main.waitForever)
  for type in memory alloc block mutex goroutine; do
    check "pages_have_windows_of_${type}" wait_for 40 has pages $type 3 'AND w.value > 0'
    check "windows_of_${type}_hold_what_the_program_does" \
      grep -q "${leaf[$type]}" <<<"$(largest pages $type)"
  done
  # A window of a counter covers the time between two readings.
  check windows_of_a_counter_cover_all_of_the_time equal \
    "$(windows pages alloc 'AND (w.duration_ms < 900 OR w.duration_ms > 5000)')" 0
  # After ten readings a gauge still has the value of the first.
  doubled() {
    db "SELECT MAX(value) > 2 * MIN(value) FROM profile_window w JOIN series s ON s.id = w.series
        WHERE s.service = 'pages' AND s.type = 'goroutine' AND w.level = 0"
  }
  check readings_of_a_gauge_are_not_added_up equal "$(doubled)" 0

  kill -KILL $pages
  wait $pages 2>/dev/null
  pages=
  down() { holds pages '.failing | map(.profileType) == ["alloc","block","goroutine","memory","mutex"]'; }
  check the_end_of_a_program_is_reported wait_for 60 down
else
  echo "skip continuous_types_of_a_go_program: no Go $GO: $(tail -1 "$tmp/why")"
fi

# --- it ends --------------------------------------------------------------------------
continuous demo '["goroutine"]' ',"enabled":false' >/dev/null
continuous gone '["memory"]' ',"enabled":false' >/dev/null
none() { holds demo '.hosts[0].taken <= 5'; }
check disabled_means_nothing_is_taken wait_for 20 none
