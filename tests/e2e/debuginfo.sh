#!/bin/bash
# Debug files that a client pushes name what was stored without names.
debug=$(mktemp -d /var/tmp/stoker-debugdir-XXXXXX)
WORKER_CONF="debug_dir = $debug
[continuous]
window = 1s"
. tests/lib/e2e.sh
e2e_start shares
trap 'e2e_stop; rm -rf "$debug"' EXIT
command -v objcopy >/dev/null || { echo "skip debuginfo: no objcopy"; exit 0; }

bare=$STATE/bin/bare
gcc -O2 -g -fomit-frame-pointer -Wl,--build-id -o "$STATE/server" tests/targets/shares.c -lpthread &&
  strip -o "$bare" "$STATE/server" || exit 1
id=$(readelf -n "$bare" | awk '/Build ID/ {print $3}')
folded() { api GET "$P/$1/flamegraph?format=folded"; }
has_name() { folded "$1" | grep -q 'main;spin;share_half \|;share_half '; }
merge() { api GET "/api/v1/observability/profiling/merge?service=$1&profileType=cpu&from=now-1h&to=now&format=folded"; }
shows() { merge "$1" | grep -q 'main;spin;share_half \|;share_half '; }
total() { merge "$1" | awk '{n += $NF} END {print n + 0}'; }
files() { stoker_cli debuginfo list --json; }
state_of() { files | jq -r --arg id "$1" '.[] | select(.buildId == $id) | .state'; }

background bare "$bare" 600 2
service bare "$bare" || exit 1
rest bare
old=$(wake bare 1)
api GET "$P/$old/flamegraph?format=pprof" >"$STATE/bare.pb"
api GET "$P/$old/flamegraph?format=otlp" >"$STATE/bare.otlp"
now=$(date +%s)
status_of POST "/ingest?name=pushed&format=pprof&from=$((now - 3))&until=$now" \
  -H 'Content-Type: application/octet-stream' --data-binary @"$STATE/bare.pb" >/dev/null
status_of POST /v1development/profiles -H 'Content-Type: application/x-protobuf' \
  --data-binary @"$STATE/bare.otlp" >/dev/null
sent=$(api POST "/api/v1/profiling/sessions?service=bare&type=cpu" --data-binary @"$STATE/bare.pb" | jq -r .id)
searched() { api GET "$P/$sent" | jq '.quality.notes' | grep -q "no debug file that names them was pushed or is on"; }
check an_upload_without_a_file_has_no_names wait_for 20 searched
before=$(total pushed)

# A file that was accepted is not lost when the worker dies.
kill -KILL "$(<"$STATE/pid/worker")"
check a_program_is_pushed equal "$(stoker_cli debuginfo push "$STATE/server")" "$STATE/server: $id"
check code_is_not_sent [ "$(files | jq '.[0].bytes')" -lt "$(stat -c %s "$STATE/server")" ]
worker_start
check a_pushed_file_names_an_earlier_upload wait_for 30 has_name "$sent"
check a_pushed_file_names_what_was_pushed_to_ingest wait_for 30 shows pushed
check a_pushed_file_names_what_opentelemetry_pushed wait_for 30 shows bare
check names_from_a_pushed_file_keep_every_sample equal "$(total pushed)" "$before"
check a_pushed_file_names_an_earlier_capture wait_for 30 has_name "$old"
check a_capture_is_named_on_demand stoker_cli symbolize "$old"
check a_capture_that_is_named_again_keeps_its_names has_name "$old"
new=$(wake bare 1)
check a_later_capture_is_named_when_it_is_finished wait_for 30 has_name "$new"
check a_named_capture_reports_its_names \
  [ "$(api GET "$P/$new" | jq '.quality.framesNamed * 5 > .quality.frames * 4')" = true ]
check a_file_that_names_is_used equal "$(state_of "$id")" used
next=$(api POST "/api/v1/profiling/sessions?service=bare&type=cpu" --data-binary @"$STATE/bare.pb" | jq -r .id)
check a_later_upload_is_named_at_once wait_for 10 has_name "$next"

# Windows of a worker, which were stored before the file came.
gcc -O1 -g -fomit-frame-pointer -Wl,--build-id -o "$STATE/kept.full" tests/targets/shares.c -lpthread &&
  strip -o "$STATE/bin/kept" "$STATE/kept.full" || exit 1
background kept "$STATE/bin/kept" 600 2
service kept "$STATE/bin/kept"
post $P/continuous '{"service":"kept","sampleRate":99}' -o /dev/null
many() { [ "$(total kept)" -gt 100 ]; }
check windows_of_a_stripped_program_are_stored wait_for 60 many
post $P/continuous '{"service":"kept","sampleRate":99,"enabled":false}' -o /dev/null
check windows_of_a_stripped_program_have_no_names [ "$(merge kept | grep -c share_half)" = 0 ]
stoker_cli debuginfo push "$STATE/kept.full" >/dev/null
notices() { api GET "/api/v1/observability/profiling/merge?service=kept&profileType=cpu&from=now-1h&to=now" | jq -r '.notices[]'; }
check a_range_says_that_a_pushed_file_may_name_it grep -q 'a worker now looks for them' <<<"$(notices)"
check a_pushed_file_names_windows_that_a_worker_stored wait_for 30 shows kept
stoker_cli debuginfo delete "$(files | jq -r '.[0].id')" >/dev/null

here() { "$STATE/bin/stoker" "$@" --config "$STATE/stoker.conf"; } # on the store
check a_backup_has_debug_files here backup "$STATE/backup"
check a_backup_with_debug_files_is_whole here verify "$STATE/backup"

# A file of another program does not name this one.
stoker_cli debuginfo delete "$(files | jq -r '.[0].id')" >/dev/null
check a_deleted_file_is_not_listed equal "$(files | jq length)" 0
check names_stay_when_their_file_is_deleted shows pushed
check another_program_is_stored equal \
  "$(status_of POST "/api/v1/debug-files?buildId=$id" --data-binary @/bin/true)" 201

other=$(api POST "/api/v1/profiling/sessions?service=bare&type=cpu" --data-binary @"$STATE/bare.pb" | jq -r .id)
refused() { [ "$(state_of "$id")" = refused ]; }
check a_file_of_another_program_is_refused wait_for 20 refused
check a_refused_file_gives_no_names [ "$(folded "$other" | grep -c share_half)" = 0 ]
