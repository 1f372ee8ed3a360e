#!/bin/bash
# Sessions of a program whose number of threads grows: analysis, suspects, diff;
# then baselines and the check of a pipeline. The seeds' commands run unchanged,
# but with ids that exist.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
e2e_start demo grow
A=/api/v1/profiling

# Runs a command of a seed with its {host}, {token} and ids filled in.
seed() { # line, then pairs: text, replacement
  local line=$1
  shift
  line=${line//'{host}'/http://127.0.0.1:$PORT}
  line=${line//'{token}'/$TOKEN}
  while [ $# -gt 1 ]; do
    line=${line//"$1"/$2}
    shift 2
  done
  eval "${line/curl /curl -sS }"
}
capture() { # service, type, seconds
  local id
  id=$(post $A/sessions "{\"service\":\"$1\",\"profileType\":\"$2\",\"durationSeconds\":$3,\"sampleRate\":500}" |
    jq -r '.sessionId // error')
  finished "$id" >/dev/null
  echo "$id"
}
holds() { jq -e "$1" <<<"$2" >/dev/null || { echo "not $1: ${2:0:2000}"; return 1; }; }
leaves() { # status, command
  local want=$1 got
  shift
  "$@" >"$STATE/said" 2>&1
  got=$?
  [ $got -eq "$want" ] || { echo "left with $got: $(cat "$STATE/said")"; return 1; }
}

# --- threads that grow
mkfifo "$STATE/in" "$STATE/out"
"$STATE/bin/grow" 30 <"$STATE/in" >"$STATE/out" &
exec {in}>"$STATE/in" {out}<"$STATE/out"
read -r _ <&"$out"
service grow "$STATE/bin/grow" || exit 1
one=$(capture grow goroutine 1)
echo 170 >&"$in"
read -r _ <&"$out"
two=$(capture grow goroutine 1)

ANALYSIS="curl -X GET '{host}/api/v1/profiling/sessions/{sessionId}/analysis' -H 'Authorization: Bearer {token}'"
first=$(seed "$ANALYSIS" '{sessionId}' "$one")
check every_thread_is_counted holds '.goroutineCount == 31' "$first"
check an_analysis_without_a_base_has_no_growth holds '.goroutineGrowthRate == 1 and .growthBase == "none"' "$first"
check a_first_analysis_has_no_suspects holds '.leakSuspects == []' "$first"
second=$(seed "$ANALYSIS" '{sessionId}' "$two")
check an_analysis_has_the_members_of_the_seed holds \
  '[.sessionId, .goroutineCount, .topStacks, .blockedGoroutines, .goroutineGrowthRate, .analyzedAt] | map(type) ==
   ["string","number","array","array","number","string"]' "$second"
check a_stack_has_the_members_of_the_seed holds \
  '.blockedGoroutines[0] | [.count, .state, .waitReason, .frames, .createdBy] | map(type) ==
   ["number","string","string","array","string"]' "$second"
check the_growth_rate_is_right holds "(.goroutineGrowthRate - 201 / 31 | fabs) < 0.01 and .growthBase == \"$one\"" "$second"
check an_analysis_has_blocked_threads holds \
  '.blockedGoroutines[0] | .count == 200 and .state == "waiting" and .waitReason == "mutex" and .createdBy == "begin" and any(.frames[]; . == "leak")' "$second"
check a_suspect_is_found_within_two_captures holds \
  '.leakSuspects[0] | .severity == "suspect" and .rule == "growing" and .site == "leak" and .count == 200 and .baseCount == 30' "$second"

DIFF="curl -X POST '{host}/api/v1/profiling/diff' -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' -d '{\"baseId\":\"sess-base001\",\"compareId\":\"sess-cmp002\",\"type\":\"goroutine\"}'"
diff=$(seed "$DIFF" sess-base001 "$one" sess-cmp002 "$two")
check a_diff_counts_what_grew holds \
  ".baseSessionId == \"$one\" and .compareSessionId == \"$two\" and .growthCount == 170 and .newStacks == [] and
   (.grownStacks | length) == 1 and .grownStacks[0].baseCount == 30" "$diff"
same=$(seed "$DIFF" sess-base001 "$two" sess-cmp002 "$two")
check a_session_does_not_differ_from_itself holds '.growthCount == 0 and .newStacks == [] and .goneStacks == []' "$same"
check the_client_shows_suspects grep -q 'growing.*leak' <(stoker_cli analysis "$two")
check the_client_shows_a_diff grep -q '^growth: 170 more threads$' <(stoker_cli diff "$one" "$two")

# --- threads of programs without names, static or not
creator() { # name, how it is linked
  local whole=$STATE/$1.whole bare=$STATE/bin/$1 id
  gcc -O2 -g "$2" -o "$whole" tests/targets/grow.c -lpthread &&
    strip -o "$bare" "$whole" && mkfifo "$STATE/$1.in" "$STATE/$1.out" || return 1
  "$bare" 9 <"$STATE/$1.in" >"$STATE/$1.out" &
  exec {in}>"$STATE/$1.in" {out}<"$STATE/$1.out"
  read -r _ <&"$out"
  service "$1" "$bare" || return 1
  id=$(capture "$1" goroutine 1)
  equal "$(api GET "$A/sessions/$id/analysis" | jq -r '.blockedGoroutines[0] | .count, .createdBy' | xargs)" \
    "9 $1+0x$(nm "$whole" | awk '$3 == "begin" { sub(/^0+/, ""); print $1 }')"
}
check creators_without_a_name_are_told_by_where_their_function_begins creator stripped -pie
check creators_in_a_static_program_are_told_by_where_their_function_begins creator static -static-pie

# --- baselines
background demo "$STATE/bin/demo"
service demo "$STATE/bin/demo" || exit 1
cpu=$(capture demo cpu 2)
BASELINE="curl -X POST '{host}/api/v1/profiling/baselines' -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' -d '{\"label\":\"v1.2.0-release\",\"sessionId\":\"sess-abc123\",\"profileType\":\"cpu\",\"description\":\"Post-deploy baseline for v1.2.0\",\"topFunctions\":\"(nested array)\"}'"
made=$(seed "$BASELINE" sess-abc123 "$cpu")
check a_baseline_has_the_members_of_the_seed holds \
  '[.baselineId, .baselineLabel, .profileType, .sessionId, .description, .topFunctions, .createdAt, .isLatest, .tags] | map(type) ==
   ["string","string","string","string","string","array","string","boolean","array"]' "$made"
check functions_of_a_baseline_have_the_types_of_the_seed holds \
  '.topFunctions[0] | [.funcName, .package, .selfPct, .cumulativePct, .sampleCount] | map(type) ==
   ["string","string","number","number","string"]' "$made"
check a_new_baseline_is_the_latest holds ".isLatest and .sessionId == \"$cpu\" and .baselineLabel == \"v1.2.0-release\"" "$made"
check the_session_of_a_baseline_is_kept equal "$(status_of DELETE $A/sessions/$cpu)" 409
check the_variance_of_a_baseline_is_measured_if_it_has_samples_enough holds \
  '.test | (.variance == "blocks") == (.baseSamples >= 100) and (.blocks >= 4) == (.variance == "blocks")' \
  "$(api GET "$A/baselines/$(jq -r .baselineId <<<"$made")/check?sessionId=$cpu")"
check a_check_of_a_short_capture_cannot_tell leaves 2 stoker_cli check --baseline v1.2.0-release --session "$cpu"

# --- the gate of a pipeline, on profiles that it brought along
upload() { # folded stacks
  api POST "$A/sessions?service=demo&type=cpu&sampleRate=100&durationSeconds=20" \
    -H 'Content-Type: text/plain' --data-binary "$1" | jq -r '.sessionId // error'
}
untimed() { # folded stacks
  api POST "$A/sessions?service=demo&type=cpu&sampleRate=100" \
    -H 'Content-Type: text/plain' --data-binary "$1" | jq -r '.sessionId // error'
}
good=$(upload $'main;f 10000\nmain;g 10000\n')
stoker_cli baseline add good "$good" --tag ci >/dev/null
check a_check_says_how_it_tested grep -q '^tested: work, noise estimated from how all functions differ$' \
  <(stoker_cli check --baseline good --session "$good" --base-work 7 --work 7)
check a_check_of_the_same_cost_passes leaves 0 stoker_cli check --baseline good --session "$(upload $'main;f 10100\nmain;g 9900\n')"
check a_check_of_a_slower_program_fails leaves 1 stoker_cli check --baseline good --session "$(upload $'main;f 20000\nmain;g 10000\n')"
check a_failed_check_names_the_function grep -q ' f$' "$STATE/said"
check a_check_of_a_third_more_of_everything_fails leaves 1 stoker_cli check --baseline good --session "$(upload $'main;f 13500\nmain;g 13500\n')"
check a_check_of_a_third_more_says_that_no_function_accounts_for_it grep -q '^The service as a whole costs 35 % more .*no single function accounts for it' "$STATE/said"
check a_check_of_a_faster_program_passes leaves 0 stoker_cli check --baseline good --session "$(upload $'main;f 1000\nmain;g 10000\n')"
check a_check_of_too_few_samples_leaves_2 leaves 2 stoker_cli check --baseline good --session "$(upload $'main;f 9\n')"
check a_check_of_too_few_samples_says_how_many_it_takes grep -q '^The base has 20000 samples and the comparison 9; each needs at least 100[.]' "$STATE/said"
check a_check_of_a_profile_without_a_duration_says_that_its_cost_is_unknown grep -q '^cost per second: unknown' \
  <(stoker_cli check --baseline good --session "$(untimed $'main;f 2000\nmain;g 1000\n')")
check a_check_without_a_session_leaves_64 leaves 64 stoker_cli check --baseline good
check a_check_against_no_baseline_leaves_2 leaves 2 stoker_cli check --baseline none --session "$good"
check a_baseline_is_listed grep -q 'good$' <(stoker_cli baseline list --service demo)
check sessions_are_listed grep -q "$good" <(stoker_cli sessions --service demo --type cpu)
