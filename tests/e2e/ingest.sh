#!/bin/bash
# Pushes as pyroscope-go sends them, through nginx: they become windows of
# series, which the worker rolls up to minutes, and no sessions. Nothing is lost
# when all processes of the pool are killed.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
e2e_start
db() { sqlite3 "$STATE/data/stoker.db" "$1"; }
data=tests/data/fuzz/import

# pyroscope-go sends a form with the fields profile and sample_type_config.
push() { # name, from in s, pprof file
  local name from=$2
  name=$(jq -rn --arg n "$1" '$n | @uri')
  api POST "/ingest?name=$name&from=${from}000000000&until=$((from + 10))000000000&spyName=gospy&sampleRate=100" \
    -F "profile=@$3;filename=profile.pprof" \
    -F 'sample_type_config={"samples":{"units":"samples"}};filename=sample_type_config.json' \
    -o /dev/null -w '%{http_code}'
}

# A pprof file of CPU time, exported by this store.
post /api/v1/services '{"name":"base"}' -o /dev/null
id=$(api POST "/api/v1/profiling/sessions?service=base&type=cpu&sampleRate=100" \
  --data-binary @$data/folded | jq -r .id)
api GET "$P/$id/flamegraph?format=pprof" -o "$STATE/push.pb.gz"

# A minute that ended a while ago; a worker could roll it up between two pushes.
process_stop worker
start=$(($(date +%s) / 60 * 60 - 180))
for i in 0 1 2 3 4 5; do
  check "push_$i" equal "$(push 'cart{zone=a,host=web1}' $((start + i * 10)) "$STATE/push.pb.gz")" 200
done
windows() { db "SELECT COUNT(*) FROM profile_window w JOIN series s ON s.id = w.series
                WHERE s.service = 'cart' AND level = ${1:-0}"; }
worker_start
check pushes_are_windows equal "$(windows)" 6
check labels_are_of_the_series equal \
  "$(db "SELECT DISTINCT json_extract(labels, '$.zone') || json_extract(labels, '$.host') || host || type FROM series WHERE service = 'cart'")" \
  aweb1ingestcpu
check pushes_flood_no_list equal \
  "$(api GET '/api/v1/profiling/sessions?service=cart' | jq '.items | length')" 0
check from_and_until_are_kept equal \
  "$(db "SELECT MIN(start_ms) || ' ' || MAX(end_ms) FROM profile_window w JOIN series s ON s.id = w.series
         WHERE s.service = 'cart' AND level = 0")" "${start}000 $((start + 60))000"

has_minute() { [ "$(windows 1)" -ge 1 ]; }
check a_minute_is_added_up wait_for 60 has_minute
check the_minute_is_the_sum equal \
  "$(db "SELECT p.windows || ' ' || (p.value = SUM(c.value)) || (p.sample_count = SUM(c.sample_count))
         FROM profile_window p JOIN profile_window c ON c.parent = p.id
         JOIN series s ON s.id = p.series WHERE s.service = 'cart' AND p.level = 1")" "6 11"
minute_is_whole() {
  local segment at length samples
  IFS='|' read -r segment at length samples <<<"$(db "SELECT segment, w.start, length, sample_count
    FROM profile_window w JOIN series s ON s.id = w.series
    WHERE s.service = 'cart' AND level = 1")"
  [ -n "$samples" ] || return
  dd if="$STATE/data/segments/$segment.seg" of="$STATE/minute" \
    iflag=skip_bytes,count_bytes skip="$at" count="$length" status=none
  equal "$("$B/tests/tools/folded" "$STATE/minute" | awk '{ n += $NF } END { print n }')" "$samples"
}
check the_bytes_of_the_minute_hold_its_samples minute_is_whole

# An exporter of OpenTelemetry sends the time on and off the CPU.
export_otlp() { # file, content type
  api POST /v1development/profiles -H "Content-Type: $2" --data-binary @"$data/$1" \
    -o /dev/null -w '%{http_code}'
}
check an_export_in_protobuf_is_accepted equal "$(export_otlp otlp.1.11 application/x-protobuf)" 200
check an_export_in_json_is_accepted equal "$(export_otlp otlp.1.8.json application/json)" 200
check exports_are_windows_of_their_service equal \
  "$(db "SELECT type || ' ' || COUNT(*) || ' ' || SUM(value) FROM profile_window w
         JOIN series s ON s.id = w.series WHERE s.service = 'shop' AND level = 0
         GROUP BY type ORDER BY type")" $'block 2 6000\ncpu 2 400000000'

# The exporter of OpenTelemetry's SDKs, which is not ours.
if ! command -v protoc >/dev/null; then
  echo "skip an_exporter_from_npm_is_understood: no protoc"
elif ! why=$(tests/lib/npm); then
  echo "skip an_exporter_from_npm_is_understood: $why"
else
  protoc -Itests/data --descriptor_set_out="$STATE/otlp" profiles.proto
  check an_exporter_from_npm_is_understood equal \
    "$(NPM=$(realpath "$B/npm") node tests/e2e/exporter.mjs "$STATE/otlp" "http://127.0.0.1:$PORT" "$TOKEN" "$start" 2>&1)" \
    'protobuf: stored
json: stored
a part: {"rejectedProfiles":"1","errorMessage":"/: this is not a name of a service"}
nothing of it: failed 422
no key: failed 401'
  exported() { # as three windows of four samples of 10 ms, with their label
    equal "$(db "SELECT COUNT(*) || ' ' || SUM(value) || ' ' || MIN(json_extract(labels, '$.version'))
                 FROM profile_window w JOIN series s ON s.id = w.series
                 WHERE s.service = 'exported' AND s.type = 'cpu' AND level = 0")" '3 120000000 7' &&
      equal "$(api GET "$P/merge?service=exported&profileType=cpu&from=$start&to=$((start + 60))&format=folded" | sort)" \
        $'main;rest 3\nmain;work 9'
  }
  check what_it_exports_is_stored_to_the_sample exported
fi

# Pushes until the pool is killed: accepted pushes are kept.
taken=0
for i in $(seq 40); do
  [ "$i" -ne 20 ] || check the_pool_is_killed pkill -KILL -P "$(<"$STATE/pid/api")"
  [ "$(push 'kill{}' $((start + i)) "$STATE/push.pb.gz")" != 200 ] || taken=$((taken + 1))
done
check every_push_that_was_accepted_is_stored test "$(db "SELECT COUNT(*) FROM profile_window w
  JOIN series s ON s.id = w.series WHERE s.service = 'kill' AND level = 0")" -ge "$taken"
check the_pool_accepts_pushes_after_a_kill test "$taken" -gt 30
