#!/bin/bash
# Goroutines that nothing can wake, found by Go's collector in services
# that opted in; and the death of a fetcher.
#
# Beside others: it waits for events.
: "${B:=build}"
tmp=$(mktemp -d /var/tmp/stoker-leaks-XXXXXX)
for version in 1.27 1.19; do
  [ $version = 1.27 ] || export CGO_ENABLED=1
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

endpoint() { # name, version, more members of the service
  "$B/targets/pages-$2" "$tmp/$1" 2>"$tmp/$1.log" &
  wait_for 20 test -s "$tmp/$1" || { cat "$tmp/$1.log"; exit 1; }
  post /api/v1/services "{\"name\":\"$1\",\"kind\":\"go\",\"pprofUrl\":\"http://$(<"$tmp/$1")\"${3:-}}" -f -o /dev/null
}
# A part of the worker may have just started.
begun() { id=$(start "$1" "${3:-1}" "$2"); } # service, type, seconds
analysis() { # service: $id of a profile, its $result and its analysis, $found
  wait_for 10 begun "$1" goroutine && result=$(finished "$id") &&
    found=$(api GET "/api/v1/profiling/sessions/$id/analysis?top=1000")
}
holds() { jq -e "$2" <<<"$1" >/dev/null || { echo "$1"; return 1; }; }
certain='[.leakSuspects[] | select(.rule == "unreachable" and .severity == "certain")]'
noted='.quality.notes | any(contains("goroutineleak"))'

endpoint leaks 1.27 ',"allow":{"goroutineLeak":true}' || exit 1
endpoint shy 1.27
endpoint old 1.19 ',"allow":{"goroutineLeak":true}'

# --- few goroutines: the profile has the state of each
analysis leaks
check leaked_goroutines_are_certain holds "$found" \
  "$certain | length == 1 and .[0].count == 5 and (.[0].frames | index(\"main.leak\"))"
check goroutines_that_can_be_woken_are_not_certain holds "$found" \
  "$certain | all(.frames | index(\"main.waitForever\") | not)"
check goroutines_that_can_be_woken_have_their_state holds "$found" \
  '[.blockedGoroutines[] | select(.frames | index("main.waitForever"))] |
   length == 1 and .[0].count == 7 and .[0].waitReason == "channel receive"'
check a_service_that_opted_in_gets_no_note_about_leaks holds "$result" "$noted | not"
few=$(jq .goroutineCount <<<"$found")
analysis shy
check without_the_opt_in_no_goroutine_is_certain holds "$found" "$certain | length == 0"
check without_the_opt_in_there_is_no_note_about_leaks holds "$result" "$noted | not"
analysis old
check goroutines_of_an_older_go_have_their_state holds "$found" \
  '[.blockedGoroutines[] | select(.frames | index("main.leak"))][0].waitReason == "channel receive"'
check a_note_says_that_an_older_go_finds_no_leaks holds "$result" "$noted"

# --- many goroutines: the profile has stacks and counts
sed -i 's/^goroutines = .*/goroutines = 3/' "$STATE/stoker.conf"
process_stop worker
worker_start
wait_for 15 stack_ready
analysis leaks
check leaked_goroutines_among_many_are_certain holds "$found" \
  "$certain | length == 1 and .[0].count == 5 and (.[0].frames | index(\"main.leak\"))"
many=$(jq .goroutineCount <<<"$found")
# Each connection from Stoker is two goroutines, so counts may differ by that.
check goroutines_among_many_are_counted_once [ $(((many - few) * (many - few))) -le 4 ]
check goroutines_among_many_that_can_be_woken_are_in_the_profile holds "$(api GET "$P/$id/flamegraph?format=json" | jq -Rs '{text: .}')" \
  '.text | contains("main.waitForever") and contains("main.contend")'
analysis old
check counts_are_kept_if_the_program_has_no_page_of_leaks holds "$result" \
  ".status == \"completed\" and ($noted)"

# --- the opt-in itself
put() { api PUT /api/v1/services/shy -H 'Content-Type: application/json' -d "{\"allow\":$1}" "${@:2}"; }
check the_opt_in_is_true_or_false equal "$(put '{"goroutineLeak":"yes"}' -o /dev/null -w '%{http_code}')" 400
check an_unknown_opt_in_is_kept_with_a_warning holds "$(put '{"other":true}')" \
  '.allow.other and (.warnings | any(contains("other")))'

# --- a fetcher that dies in the middle of a pull
fetcher() { pgrep -x -P "$(<"$STATE/pid/worker")" stoker-fetcher; }
id=$(start leaks 600 cpu)
under_way() { api GET "$P/$id" | jq -e '.progress > 0'; }
wait_for 10 under_way
first=$(fetcher)
check the_fetcher_is_a_separate_process [ -n "$first" ]
# doctor describes one installation, but a machine may have several.
check doctor_finds_the_fetcher grep -Eq 'fetcher: .*pid [0-9]' <(stoker_cli doctor --config "$STATE/stoker.conf" 2>&1)
kill -KILL "$first"
check a_pull_fails_and_says_so_if_its_fetcher_dies holds "$(finished "$id")" \
  '.status == "failed" and (.error.message | contains("fetcher process died"))'
wait_for 10 begun leaks memory
check the_pull_after_a_fetcher_s_death_completes holds "$(finished "$id")" '.status == "completed"'
check a_dead_fetcher_is_replaced [ "$(fetcher)" != "$first" ]
