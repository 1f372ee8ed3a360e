#!/bin/bash
# A capture for profiler.firefox.com: its threads, at the times that were
# recorded, weigh what the profile weighs.
. "$(dirname "$0")/../lib/e2e.sh"
e2e_start demo
background demo "$STATE/bin/demo"
service ai-service "$STATE/bin/demo" || exit 1
id=$(start ai-service 2)
result=$(finished "$id")
check it_completes equal "$(jq -r .status <<<"$result")" completed
file=$STATE/firefox.json
api GET "$P/$id/flamegraph?format=firefox" -D "$STATE/head" >"$file"
of() { jq -r "$1" "$file"; }
check content_type_is_the_profilers grep -qi '^content-type: application/vnd.firefox-profiler+json' "$STATE/head"
check every_thread_has_its_id equal "$(of '[.threads[] | .pid + ":" + (.tid | tostring)] | length == (unique | length)')" true
check it_has_the_targets_threads test "$(of '.threads | length')" -gt 0
check all_samples_are_there equal "$(of '[.threads[].samples.length] | add')" "$(jq -r .sampleCount <<<"$result")"
check times_are_real_and_in_order equal "$(of '[.threads[].samples.time | . == sort] | all')" true
check times_lie_within_the_capture equal "$(of '[.threads[].samples.time[]] | min >= 0 and max < 10000 and max > 1000')" true
check weights_add_up_to_cpu_time equal \
  "$(of '[.threads[].samples.weight[]] | add * 1e6 | round')" "$(api GET "$P/$id/flamegraph?format=json" | jq .total)"
check the_hottest_function_is_named equal "$(of '.shared.stringArray | any(test("model::matmul"))')" true
check memory_is_counted test "$(of '[.counters[] | select(.name == "RSS")] | length')" -gt 0
check etag_answers_304 equal "$(status_of GET "$P/$id/flamegraph?format=firefox" \
  -H "If-None-Match: $(sed -n 's/^[Ee][Tt]ag: //p' "$STATE/head" | tr -d '\r')")" 304
