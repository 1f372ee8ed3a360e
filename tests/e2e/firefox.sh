#!/bin/bash
# A capture exported for profiler.firefox.com: the samples of its threads have
# their times, and their weights add up to the profile's total.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
e2e_start demo
background demo "$STATE/bin/demo"
service ai-service "$STATE/bin/demo" || exit 1
id=$(start ai-service 2)
result=$(finished "$id")
check a_capture_completes equal "$(jq -r .status <<<"$result")" completed
file=$STATE/firefox.json
api GET "$P/$id/flamegraph?format=firefox" -D "$STATE/head" >"$file"
of() { jq -r "$1" "$file"; }
check content_type_is_the_profilers grep -qi '^content-type: application/vnd.firefox-profiler+json' "$STATE/head"
check every_thread_has_an_id_of_its_own equal "$(of '[.threads[] | .pid + ":" + (.tid | tostring)] | length == (unique | length)')" true
check a_profile_has_threads test "$(of '.threads | length')" -gt 0
check a_profile_has_all_samples equal "$(of '[.threads[].samples.length] | add')" "$(jq -r .sampleCount <<<"$result")"
check times_are_real_and_in_order equal "$(of '[.threads[].samples.time | . == sort] | all')" true
check times_lie_within_the_capture equal "$(of '[.threads[].samples.time[]] | min >= 0 and max < 10000 and max > 1000')" true
check weights_add_up_to_cpu_time equal \
  "$(of '[.threads[].samples.weight[]] | add * 1e6 | round')" "$(api GET "$P/$id/flamegraph?format=json" | jq .total)"
check the_hottest_function_is_named equal "$(of '.shared.stringArray | any(test("model::matmul"))')" true
check memory_is_counted test "$(of '[.counters[] | select(.name == "RSS")] | length')" -gt 0
check etag_answers_304 equal "$(status_of GET "$P/$id/flamegraph?format=firefox" \
  -H "If-None-Match: $(sed -n 's/^[Ee][Tt]ag: //p' "$STATE/head" | tr -d '\r')")" 304
check the_hosts_cpus_are_counted equal "$(of .meta.logicalCPUs)" "$(getconf _NPROCESSORS_CONF)"

# --- as clients of pipelines ask for it -------------------------------------------
V0=/v0/pipelines/ai-service/samply_profile
check a_pipeline_starts equal "$(status_of POST "$V0?duration_secs=2")" 202
check a_second_start_of_a_pipeline_is_refused equal "$(status_of POST "$V0?duration_secs=2")" 409
check a_profile_of_a_pipeline_that_is_not_there_yet_is_204 equal "$(status_of GET "$V0?latest=true")" 204
fetched() { [ "$(api GET "$V0?latest=true" -D "$STATE/head" -o "$STATE/samply.json.gz" -w '%{http_code}')" = 200 ]; }
check a_profile_of_a_pipeline_comes_when_it_is_there wait_for 30 fetched
check a_profile_of_a_pipeline_has_a_file_name grep -qE '^[Cc]ontent-[Dd]isposition: attachment; filename="[0-9TZ-]+-ai-service-0-samply_profile.json.gz"' "$STATE/head"
gunzip -c "$STATE/samply.json.gz" >"$file"
check a_profile_of_a_pipeline_has_its_samples test "$(of '[.threads[].samples.length] | add')" -gt 50
check a_profile_of_a_pipeline_has_the_rate_of_samply equal "$(of '.meta.interval | . > 0.9 and . < 1.1')" true

# --- as an assistant asks, by somebody else's client --------------------------
B=$(realpath "${B:-build}")
export B
if why=$(tests/lib/npm); then
  said=$(URL=http://127.0.0.1:$PORT KEY=$TOKEN NPM=$B/npm node tests/e2e/assistant.mjs 2>&1)
  told() { grep -q "$1" <<<"$said" || { echo "no '$1' in: $said"; return 1; }; }
  check an_assistant_has_the_tools_of_its_key told '^tools: services .*capture wait$'
  check an_assistant_finds_the_service told '^- ai-service: 1 processes'
  check an_assistant_reads_the_hottest_functions told '"model::matmul": self'
  check an_assistant_takes_a_capture told '^capture: .*ai-service'
  check a_wrong_argument_is_explained_to_the_assistant told '^hottest failed: .*from'
  check a_person_reads_what_assistants_read says '"model::matmul": self' \
    "$B/stoker" explain ai-service --server "http://127.0.0.1:$PORT" --token "$TOKEN"
else
  echo "skip assistant: $why"
fi
