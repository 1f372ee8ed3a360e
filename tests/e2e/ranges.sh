#!/bin/bash
# Ranges of real windows: a merge has the samples of its windows.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
WORKER_CONF='
[continuous]
window = 1s
'
e2e_start shares
background demo "$STATE/bin/demo" 3 25
service demo "$STATE/bin/demo"

db() { sqlite3 "$STATE/data/stoker.db" "$1"; }
more_than() { [ "$(db 'SELECT COUNT(*) FROM profile_window WHERE level = 0')" -gt "$1" ]; }
continuous() { # JSON members
  post $P/continuous "{\"service\":\"demo\",\"sampleRate\":99$1}" -o /dev/null
}
Q="service=demo&profileType=cpu"

continuous ''
check windows_are_stored wait_for 60 more_than 9
# This range has ended: no window will be added to it.
to=$(db 'SELECT MAX(start_ms) FROM profile_window WHERE level = 0')
range="$Q&from=now-1h&to=$to"
merged=$(api GET "$P/merge?$range&top=0")
sum() { # column: over the windows as captured
  db "SELECT SUM($1) FROM profile_window w JOIN series s ON s.id = w.series
      WHERE s.type = 'cpu' AND level = 0 AND start_ms < $to"
}
check a_merge_holds_every_sample_of_its_windows equal "$(jq .sampleCount <<<"$merged")" "$(sum sample_count)"
check a_merge_holds_the_cost_of_its_windows equal "$(jq .total <<<"$merged")" "$(sum value)"
check a_merge_counts_its_windows equal "$(jq .windows <<<"$merged")" "$(sum windows)"
folded_sum() { api GET "$P/merge?$range&format=folded" | awk '{ n += $NF } END { printf "%d", n }'; }
check views_of_a_merge_hold_every_sample equal "$(folded_sum)" "$(sum sample_count)"
check the_link_of_a_merge_opens_without_a_token grep -q '<html' <<<"$(curl -sS -H 'Accept: text/html' "$(jq -r .flameGraphUrl <<<"$merged")")"
api GET "$P/merge?$range&format=pprof" -o "$STATE/merged.pb.gz"
check a_merge_is_a_pprof_file grep -q server::work <<<"$("$B/tests/tools/folded" "$STATE/merged.pb.gz")"

points=$(api GET "$P/history/series?$range&step=1m")
check a_trend_adds_up_to_the_merge test \
  "$(jq -n --argjson p "$points" --argjson m "$merged" \
    '([$p.points[].value // 0] | add) as $s | ($s - $m.total) / $m.total | fabs < 0.2')" = true

from_ms=$(db 'SELECT MIN(start_ms) FROM profile_window WHERE level = 0')
# A client of the Connect protocol, which Grafana's data source speaks.
if ! command -v protoc >/dev/null; then
  echo "skip a_connect_client_reads_the_range: no protoc"
elif ! why=$(tests/lib/npm); then
  echo "skip a_connect_client_reads_the_range: $why"
else
  protoc -Itests/data --descriptor_set_out="$STATE/querier" querier.proto
  grafana() { # form
    NPM=$(realpath "$B/npm") node tests/e2e/grafana.mjs "$STATE/querier" "$1" \
      "http://127.0.0.1:$PORT" "$TOKEN" "$from_ms" "$to"
  }
  points=$(api GET "$P/history/series?$Q&from=$from_ms&to=$to&step=15s" |
    jq '[.points[].value // 0] | add | round')
  expected=$(jq -nc --argjson m "$merged" --argjson p "$points" '
    ($m.total | tostring) as $t |
    {types: ["process_cpu:cpu:nanoseconds:cpu:nanoseconds"], names: ["host", "service_name"],
     services: ["demo"], total: $t, selfs: $t, work: true, small: $t, other: true,
     samples: ($m.sampleCount | tostring), pprof: $t, points: $p, label: "demo", none: [0, 0, 0, 0],
     heatmap: 12, wrong: 3}')
  for form in proto json; do
    check "a_connect_client_reads_the_range_by_$form" equal "$(grafana $form)" "$expected"
  done
fi

# The windows of a range are its blocks.
same=$(api GET "$P/compare?$Q&baseFrom=$from_ms&baseTo=$to&comparisonFrom=$from_ms&comparisonTo=$to")
variance() { jq -r '.test.variance' <<<"$1"; }
check ranges_are_compared_by_blocks equal "$(variance "$same")" blocks
check a_range_and_itself_do_not_differ equal \
  "$(jq -c '[.overallDelta, .regressions, .improvements, .test.blocks >= 4]' <<<"$same")" '[0,[],[],true]'
check the_diff_of_ranges_opens_without_a_token grep -q '<html' <<<"$(curl -sS -H 'Accept: text/html' "$(jq -r .links.diff <<<"$same")")"
id=$(start demo 2 cpu 999)
completed() { [ "$(api GET "$P/$id?wait=20" | jq -r .status)" = completed ]; }
check a_capture_beside_continuous_profiling_completes wait_for 60 completed
check a_capture_and_a_range_are_compared_by_blocks equal \
  "$(variance "$(api GET "$P/compare?baseFrom=$from_ms&baseTo=$to&comparisonProfileId=$id")")" blocks
check the_command_compares_ranges grep -q '^verdict: ' <<<"$(STOKER_URL=http://127.0.0.1:$PORT STOKER_TOKEN=$TOKEN "$B/stoker" compare "$from_ms/$to" "$from_ms/$to" --service demo 2>&1)"

win=$(api GET "$P/history?service=demo&resolution=captured&limit=1" | jq -r '.items[0].id')
check windows_are_listed grep -q '^win-' <<<"$win"
check a_window_is_a_profile equal "$(api GET "$P/$win" | jq -r .status)" completed
check a_window_has_a_flame_graph equal "$(status_of GET "$P/$win/flamegraph?format=svg")" 200
check a_window_is_pinned equal "$(api POST "$P/$win/pin" | jq .pinned)" true
continuous ',"enabled":false'
