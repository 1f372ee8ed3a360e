#!/bin/bash
# Goroutines that nothing can wake any more, as Go's own collector finds them,
# of services that opted in; and a fetcher that dies.
#
# Beside others: it waits for events.
: "${B:=build}"
tmp=$(mktemp -d /var/tmp/stoker-leaks-XXXXXX)
for version in 1.27 1.24; do
  if ! tests/lib/go build $version "$B/targets/pages-$version" tests/targets/go/pages 2>"$tmp/why"; then
    echo "skip leaked_goroutines: no Go $version: $(tail -1 "$tmp/why")"
    rm -rf "$tmp"
    exit
  fi
done
WORKER_CONF="[fetch]
goroutines = 1000"
. tests/lib/e2e.sh
e2e_start
trap 'e2e_stop; rm -rf "$tmp"' EXIT

endpoint() { # name, version, more of the service
  "$B/targets/pages-$2" "$tmp/$1" 2>"$tmp/$1.log" &
  wait_for 20 test -s "$tmp/$1" || { cat "$tmp/$1.log"; exit 1; }
  api POST /api/v1/services -f -o /dev/null -H 'Content-Type: application/json' \
    -d "{\"name\":\"$1\",\"kind\":\"go\",\"pprofUrl\":\"http://$(<"$tmp/$1")\"${3:-}}"
}
begin() { # service, type, seconds
  api POST $P/start -H 'Content-Type: application/json' \
    -d "{\"service\":\"$1\",\"profileType\":\"$2\",\"durationSeconds\":${3:-1}}" |
    jq -r '.id // error'
}
analysis() { # service: the id of a profile and what is said of it
  id=$(begin "$1" goroutine) && result=$(finished "$id") &&
    found=$(api GET "/api/v1/profiling/sessions/$id/analysis?top=1000")
}
holds() { jq -e "$2" <<<"$1" >/dev/null || { echo "$1"; return 1; }; }
certain='[.leakSuspects[] | select(.rule == "unreachable" and .severity == "certain")]'
noted='.quality.notes | any(contains("goroutineleak"))'

endpoint leaks 1.27 ',"allow":{"goroutineLeak":true}' || exit 1
endpoint shy 1.27
endpoint old 1.24 ',"allow":{"goroutineLeak":true}'

# --- few: each has its state
analysis leaks
check leaked_goroutines_are_certain holds "$found" \
  "$certain | length == 1 and .[0].count == 5 and (.[0].frames | index(\"main.leak\"))"
check those_that_can_be_woken_are_not holds "$found" \
  "$certain | all(.frames | index(\"main.waitForever\") | not)"
check all_others_have_their_state holds "$found" \
  '[.blockedGoroutines[] | select(.frames | index("main.waitForever"))] |
   length == 1 and .[0].count == 7 and .[0].waitReason == "channel receive"'
check nothing_is_missing_that_was_asked_for holds "$result" "$noted | not"
few=$(jq .goroutineCount <<<"$found")
analysis shy
check without_the_opt_in_no_collection_is_run holds "$found" "$certain | length == 0"
check and_nothing_is_said_of_it holds "$result" "$noted | not"
analysis old
check an_older_go_is_dumped_all_the_same holds "$found" \
  '[.blockedGoroutines[] | select(.frames | index("main.leak"))][0].waitReason == "channel receive"'
check its_report_says_what_is_missing holds "$result" "$noted"

# --- many: stacks and counts
sed -i 's/^goroutines = .*/goroutines = 3/' "$STATE/stoker.conf"
process_stop worker
worker_start
wait_for 15 stack_ready
analysis leaks
check of_many_the_leaked_are_certain_too holds "$found" \
  "$certain | length == 1 and .[0].count == 5 and (.[0].frames | index(\"main.leak\"))"
many=$(jq .goroutineCount <<<"$found")
# A connection of ours more or less is two goroutines.
check they_are_counted_once [ $(((many - few) * (many - few))) -le 4 ]
check and_the_rest_is_there holds "$(api GET "$P/$id/flamegraph?format=json" | jq -Rs '{text: .}')" \
  '.text | contains("main.waitForever") and contains("main.contend")'
analysis old
check without_the_page_the_counts_are_kept holds "$result" \
  ".status == \"completed\" and ($noted)"

# --- the opt-in itself
put() { api PUT /api/v1/services/shy -H 'Content-Type: application/json' -d "{\"allow\":$1}" "${@:2}"; }
check an_opt_in_is_true_or_false equal "$(put '{"goroutineLeak":"yes"}' -o /dev/null -w '%{http_code}')" 400
check another_is_kept_with_a_warning holds "$(put '{"other":true}')" \
  '.allow.other and (.warnings | any(contains("other")))'

# --- a fetcher that dies in the middle of a pull
fetcher() { pgrep -x -P "$(<"$STATE/pid/worker")" stoker-fetcher; }
id=$(begin leaks cpu 600)
under_way() { api GET "$P/$id" | jq -e '.progress > 0'; }
wait_for 10 under_way
first=$(fetcher)
check the_fetcher_is_a_process_of_its_own [ -n "$first" ]
# doctor tells of one installation where a machine has several.
check doctor_finds_it grep -Eq 'fetcher: .*pid [0-9]' <(stoker_cli doctor --config "$STATE/stoker.conf" 2>&1)
kill -KILL "$first"
check its_pull_fails_and_says_why holds "$(finished "$id")" \
  '.status == "failed" and (.error.message | contains("fetcher process died"))'
check the_next_one_has_a_fetcher_of_its_own holds \
  "$(finished "$(begin leaks memory)")" '.status == "completed"'
check which_is_another [ "$(fetcher)" != "$first" ]
