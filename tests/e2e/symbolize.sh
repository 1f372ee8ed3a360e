#!/bin/bash
# A stored profile gets names once its debug file is installed.
#
# Quiet: a worker that starts has 20 s for what a killed one began.
debug=$(mktemp -d /var/tmp/stoker-debugdir-XXXXXX)
chmod 755 "$debug"
WORKER_CONF="debug_dir = $debug"
. tests/lib/e2e.sh
e2e_start shares
trap 'e2e_stop; rm -rf "$debug"' EXIT
command -v objcopy >/dev/null || { echo "skip symbolize: no objcopy"; exit 0; }

bare=$STATE/bin/bare
gcc -O2 -g -fomit-frame-pointer -Wl,--build-id -o "$STATE/bare.whole" tests/targets/shares.c -lpthread &&
  objcopy --only-keep-debug "$STATE/bare.whole" "$STATE/bare.debug" &&
  strip -o "$bare" "$STATE/bare.whole" || exit 1
id=$(readelf -n "$bare" | awk '/Build ID/ {print $3}')
install_debug() {
  mkdir -p "$debug/.build-id/${id:0:2}" &&
    install -m 644 "$STATE/bare.debug" "$debug/.build-id/${id:0:2}/${id:2}.debug"
}
folded() { api GET "$P/$1/flamegraph?format=folded"; }
samples() { folded "$1" | awk '{n += $NF} END {print n + 0}'; }
quality() { api GET "$P/$1" | jq ".quality.$2"; }
symbolize() { stoker_cli symbolize "$1"; }
blob() {
  sqlite3 "$STATE/data/stoker.db" \
    "SELECT '$STATE/data/profiles/' || name FROM blob
     WHERE session = '$1' AND kind = '$2' AND deleted_ms = 0"
}
lines() { "$B/tests/tools/timeline" "$(blob "$1" timeline)" "$(blob "$1" pprof)"; }

background bare "$bare" 600 2
service bare "$bare" || exit 1
rest bare
old=$(wake bare 2 cpu 499)
before=$(samples "$old") frames=$(quality "$old" frames) named=$(quality "$old" framesNamed)
check a_stripped_program_has_no_names [ "$(folded "$old" | grep -c 'share_half')" = 0 ]
api GET "$P/$old/flamegraph?format=pprof" >"$STATE/bare.pb"
check without_a_debug_file_nothing_changes symbolize "$old"
check without_a_debug_file_samples_are_the_same equal "$(samples "$old")" "$before"
check without_a_debug_file_names_are_the_same equal "$(quality "$old" framesNamed)" "$named"

# The same frames, pushed by clients for a time so long ago that windows are
# rolled up.
push() { # service, content type, path, file
  status_of POST "$3" -H "Content-Type: $2" --data-binary @"$4"
}
from=$(($(date +%s) / 60 * 60 - 180))
ingest() { push "$1" application/octet-stream "/ingest?name=$1&format=pprof&from=$from&until=$((from + 2))" "$STATE/bare.pb"; }
merge() { api GET "/api/v1/observability/profiling/merge?service=$1&profileType=cpu&from=now-1h&to=now${2:-}"; }
notices() { merge "$1" | jq -r '.notices[]'; }
check frames_without_names_are_pushed equal "$(ingest pushed)" 200
api GET "$P/$old/flamegraph?format=otlp" >"$STATE/bare.otlp"
check opentelemetry_pushes_them equal \
  "$(push bare application/x-protobuf /v1development/profiles "$STATE/bare.otlp")" 200
check a_range_says_that_frames_have_no_name \
  grep -q 'frames have no function name yet' <(notices pushed)
check a_range_has_no_names_without_a_debug_file \
  equal "$(merge pushed '&format=folded' | grep -c share_half)" 0

# A request made while no worker runs is handled by the next worker.
kill -KILL "$(<"$STATE/pid/worker")"
install_debug
check a_request_is_accepted_without_a_worker \
  equal "$(status_of POST $P/"$old"/symbolize)" 202
check a_request_waits_for_a_worker equal "$(api GET $P/"$old"/symbolize | jq -r .state)" queued
check the_old_profile_is_there_while_a_request_waits equal "$(samples "$old")" "$before"
worker_start
named_now() { [ "$(api GET $P/"$old"/symbolize | jq -r .state)" = done ]; }
check the_next_worker_does_what_was_asked_for wait_for 20 named_now
has_name() { folded "$1" | grep -q 'main;spin;share_half \|;share_half '; }
check functions_have_names_from_the_debug_file has_name "$old"
shows() { merge "$1" '&format=folded' | grep -q "main;spin;share_half \\|;share_half "; }
total() { merge "$1" '&format=folded' | awk '{n += $NF} END {print n + 0}'; }
check frames_that_were_pushed_before_get_names wait_for 30 shows pushed
check frames_that_opentelemetry_pushed_get_names wait_for 30 shows bare
check names_keep_every_sample_of_a_range equal "$(total pushed)" "$before"
window=$(sqlite3 "$STATE/data/stoker.db" \
  "SELECT w.id FROM profile_window w JOIN series s ON s.id = w.series WHERE s.service = 'pushed' AND level = 0")
check a_window_shows_the_names has_name "$window"
check frames_are_pushed_when_names_are_known equal "$(ingest pushed2)" 200
check they_have_names_at_once shows pushed2
minute() { [ -n "$(sqlite3 "$STATE/data/stoker.db" \
  "SELECT w.id FROM profile_window w JOIN series s ON s.id = w.series WHERE s.service = 'pushed2' AND level = 1")" ]; }
check windows_are_added_up wait_for 90 minute
check a_sum_shows_the_names shows pushed2
check new_names_keep_every_sample equal "$(samples "$old")" "$before"
check top_functions_have_new_names \
  grep -q share_half <(api GET "$P/$old" | jq -r '.topFunctions[].funcName')
check the_report_counts_new_names [ "$(quality "$old" framesNamed)" -gt "$named" ]
check new_names_keep_the_number_of_frames equal "$(quality "$old" frames)" "$frames"
check the_timeline_fits_the_renamed_profile \
  [ "$(lines "$old" | awk '$1 == "sample" && /share_half/' | wc -l)" -gt 20 ]
live() {
  sqlite3 "$STATE/data/stoker.db" \
    "SELECT kind FROM blob WHERE session = '$1' AND deleted_ms = 0 ORDER BY kind"
}
check the_files_of_the_old_profile_are_deleted equal "$(live "$old" | xargs)" "pprof timeline"
check a_second_request_succeeds symbolize "$old"
check a_second_request_changes_no_sample equal "$(samples "$old")" "$before"

upload() { # type, curl arguments: the id
  local type=$1
  shift
  api POST "/api/v1/profiling/sessions?service=bare&type=$type" "$@" | jq -r .id
}
noted() { quality "$1" notes | grep -q 'frames were named after the upload'; }
sent=$(upload cpu --data-binary @"$STATE/bare.pb")
check an_upload_is_named_by_a_debug_file wait_for 10 has_name "$sent"
check an_upload_says_how_many_frames_were_named wait_for 10 noted "$sent"
check naming_an_upload_keeps_its_samples equal "$(samples "$sent")" "$before"
check an_upload_is_symbolized_again_on_demand stoker_cli symbolize "$sent"
printf 'main;f 3\n' >"$STATE/named"
sent=$(upload cpu --data-binary @"$STATE/named")
check an_upload_with_names_is_left_alone \
  equal "$(status_of GET $P/"$sent"/symbolize)" 404

check symbolizing_an_unknown_profile_is_404 \
  equal "$(status_of POST $P/sess-aaaaaaaaaaaaaaaaaaaa/symbolize)" 404
check a_request_that_was_never_made_is_404 \
  equal "$(status_of GET $P/sess-aaaaaaaaaaaaaaaaaaaa/symbolize)" 404

# If the worker is killed meanwhile, either the old profile or the new one is
# left.
for round in 1 2 3; do
  id2=$(wake bare 1)
  n=$(samples "$id2")
  api POST "$P/$id2/symbolize" >/dev/null
  kill -KILL "$(<"$STATE/pid/worker")"
  check "nothing_is_lost_when_the_worker_is_killed_$round" equal "$(samples "$id2")" "$n"
  worker_start
  ended() { [ "$(api GET "$P/$id2/symbolize" | jq -r .state)" = done ]; }
  check "the_next_worker_does_what_a_killed_one_began_$round" wait_for 20 ended
  check "what_a_killed_worker_began_keeps_every_sample_$round" equal "$(samples "$id2")" "$n"
done
