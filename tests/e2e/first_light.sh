#!/bin/bash
# The product's main job: the seed's curl commands, through nginx, lead to a
# flame graph in every format.
. "$(dirname "$0")/../lib/e2e.sh"
e2e_start
background demo "$STATE/bin/demo"
service ai-service "$STATE/bin/demo" || exit 1

started=$(curl -sS -i -X POST "http://localhost:$PORT$P/start" \
  -H "Content-Type: application/json" -H "Authorization: Bearer ${TOKEN}" \
  -H "X-Tenant-ID: 550e8400" \
  -d '{"service": "ai-service", "profileType": "cpu", "durationSeconds": 2, "sampleRate": 100}')
body=$(sed '1,/^\r*$/d' <<<"$started")
id=$(jq -r .id <<<"$body")
check start_answers_202 grep -q '^HTTP/1.1 202' <<<"$started"
check start_names_the_location grep -qi "^location: .*$P/$id" <<<"$started"
check a_second_capture_of_a_service_is_409 equal \
  "$(status_of POST $P/start -H 'Content-Type: application/json' -d '{"service":"ai-service","profileType":"cpu"}')" 409

result=$(finished "$id")
field() { jq -r "$1" <<<"$result"; }
check a_capture_completes equal "$(field .status)" completed
check a_capture_lasts_as_long_as_asked equal "$(field .durationSeconds)" 2
check a_capture_has_samples test "$(field .sampleCount)" -gt 0
check the_hottest_function_is_the_demos equal \
  "$(field '[.topFunctions[:6][].funcName] | any(test("model::matmul"))')" true
check sample_counts_in_top_functions_are_strings equal \
  "$(field '[.topFunctions[].sampleCount | type] | unique | join(",")')" string
check most_stacks_reach_a_root equal "$(field '.quality.stacksComplete / .sampleCount >= 0.95')" true

url=$(field .flameGraphUrl)
check the_link_opens_as_it_is equal \
  "$(curl -sS -o "$STATE/page.html" -w '%{http_code} %{content_type}' "$url")" "200 text/html; charset=utf-8"
check the_page_holds_the_graph grep -q 'model::matmul' "$STATE/page.html"
check the_page_is_self_contained test -z "$(grep -oE '(src|href)="https?://[^"]*"' "$STATE/page.html")"
for format in svg json folded pprof html; do
  check "flamegraph_as_$format" equal "$(status_of GET "$P/$id/flamegraph?format=$format")" 200
done
api GET "$P/$id/flamegraph?format=folded" >"$STATE/folded"
check folded_counts_equal_sample_count equal \
  "$(awk '{ n += $NF } END { print n }' "$STATE/folded")" "$(field .sampleCount)"
check a_request_without_a_token_is_401 equal "$(curl -sS -o /dev/null -w '%{http_code}' "http://127.0.0.1:$PORT$P/$id")" 401
check deleting_a_profile_answers_204 equal "$(status_of DELETE "$P/$id")" 204
check a_deleted_profile_is_404 equal "$(status_of GET "$P/$id")" 404

long=$(start ai-service 60)
check cancelling_a_capture_answers_202 equal "$(status_of DELETE "$P/$long")" 202
result=$(finished "$long")
check a_cancelled_capture_is_failed equal "$(field '.status + " " + .phase')" "failed cancelled"

check nginx_errors_have_our_shape equal \
  "$(api POST $P/start -H 'Content-Type: application/json' --data-binary "@$B/stoker-api" 2>/dev/null |
    jq -r 'has("message") and has("error_code") and has("details")')" true
