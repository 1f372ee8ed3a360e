#!/bin/bash
# Profiles of other tools, through nginx: uploads in each format, pushes, and
# bodies that are too big or have no token.
. "$(dirname "$0")/../lib/e2e.sh"
e2e_start
SESSIONS=/api/v1/profiling/sessions
data=tests/data/fuzz/import
post /api/v1/services '{"name":"shop"}' >/dev/null

for file in folded folded.gz perf speedscope.sampled foreign.pb; do
  check "upload_of_$file" equal \
    "$(status_of POST "$SESSIONS?service=shop&type=cpu" --data-binary @$data/$file)" 201
done
check lines_that_are_skipped_are_noted says 'note: skipped 1 line, line 15: Warning:' \
  stoker_cli upload shop - < <(cat $data/perf <(echo Warning:) $data/perf)
check another_event_of_perf_script_is_kept says 'only the event page-faults is kept, without cpu-clock:u' \
  stoker_cli upload shop $data/perf.events --event page-faults
check upload_of_heap_jemalloc equal \
  "$(status_of POST "$SESSIONS?service=shop&type=memory" --data-binary @$data/heap.jemalloc)" 201
# jemalloc itself writes this profile when a program ends.
library=/usr/lib/$(gcc -print-multiarch)/libjemalloc.so.2
MALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:8,prof_prefix:$STATE/heap LD_PRELOAD=$library \
  python3 -c 'import sys; sys.modules["kept"] = [bytes(5000) for i in range(2000)]'
is_taken() {
  local dump
  dump=$(ls -S "$STATE"/heap.*.heap | head -n 1)
  api POST "$SESSIONS?service=shop&type=memory" --data-binary @"$dump" | jq -e '.id'
}
check a_profile_that_jemalloc_writes_is_taken is_taken
id=$(api POST "$SESSIONS?service=shop&type=cpu" --data-binary @$data/perf | jq -r .id)
for format in html svg json folded speedscope firefox otlp autofdo dot pprof; do
  check "an_upload_as_$format" equal "$(status_of GET "$P/$id/flamegraph?format=$format")" 200
done
check pushes_are_taken equal "$(status_of POST "/ingest?name=cart%7Bzone%3Da%7D&from=now-10s&until=now" \
  -H 'Content-Type: text/plain' --data-binary @$data/folded)" 200
check a_push_makes_its_service equal "$(status_of GET /api/v1/services/cart)" 200

# 20 MB of distinct stacks, more than nginx keeps in memory.
awk 'BEGIN { for (i = 0; i < 400000; i++) printf "main;handle_%d;store;write_%d 1\n", i % 700, i }' >"$STATE/big"
check a_big_upload_is_taken equal \
  "$(status_of POST "$SESSIONS?service=shop&type=cpu" --data-binary @"$STATE/big")" 201
nobody() { curl -sS -o "$STATE/reply" -w '%{http_code}' "$@" "http://127.0.0.1:$PORT$SESSIONS?service=shop&type=cpu"; }
check a_big_upload_without_a_token_is_401 equal "$(nobody -X POST --data-binary @"$STATE/big")" 401
check a_big_upload_without_a_token_says_unauthorized equal "$(jq -r .error_code "$STATE/reply")" Unauthorized
head -c 40000000 /dev/zero >"$STATE/zeros"
check an_upload_above_max_bytes_is_413 equal \
  "$(status_of POST "$SESSIONS?service=shop&type=cpu" --data-binary @"$STATE/zeros")" 413
head -c 70000000 /dev/zero >"$STATE/zeros"
check an_upload_above_the_limit_of_nginx_is_413 equal \
  "$(status_of POST "$SESSIONS?service=shop&type=cpu" --data-binary @"$STATE/zeros")" 413
check the_pool_still_answers equal "$(status_of GET /readyz)" 200
