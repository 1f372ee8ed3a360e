#!/bin/bash
# A stored profile gets its names when its debug file has come.
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

background bare "$bare" 60 2
service bare "$bare" || exit 1
old=$(start bare 2)
finished "$old" >/dev/null
before=$(samples "$old") frames=$(quality "$old" frames) named=$(quality "$old" framesNamed)
check a_stripped_program_has_no_names [ "$(folded "$old" | grep -c 'share_half')" = 0 ]
check without_a_debug_file_nothing_changes symbolize "$old"
check its_samples_are_the_same equal "$(samples "$old")" "$before"
check and_its_names equal "$(quality "$old" framesNamed)" "$named"

# A request while no worker runs is done by the next one.
kill -KILL "$(<"$STATE/pid/worker")"
install_debug
check it_is_accepted_without_a_worker \
  equal "$(status_of POST $P/"$old"/symbolize)" 202
check and_waits equal "$(api GET $P/"$old"/symbolize | jq -r .state)" queued
check the_old_profile_stands_meanwhile equal "$(samples "$old")" "$before"
worker_start
named_now() { [ "$(api GET $P/"$old"/symbolize | jq -r .state)" = done ]; }
check the_next_worker_does_it wait_for 20 named_now
has_name() { folded "$1" | grep -q 'main;spin;share_half \|;share_half '; }
check names_appear has_name "$old"
check every_sample_is_kept equal "$(samples "$old")" "$before"
check top_functions_have_them \
  grep -q share_half <(api GET "$P/$old" | jq -r '.topFunctions[].funcName')
check the_report_counts_them [ "$(quality "$old" framesNamed)" -gt "$named" ]
check frames_are_as_many equal "$(quality "$old" frames)" "$frames"
check the_timeline_still_fits \
  [ "$(lines "$old" | awk '$1 == "sample" && /share_half/' | wc -l)" -gt 20 ]
live() {
  sqlite3 "$STATE/data/stoker.db" \
    "SELECT kind FROM blob WHERE session = '$1' AND deleted_ms = 0 ORDER BY kind"
}
check the_old_bytes_are_given_up equal "$(live "$old" | xargs)" "pprof timeline"
check again_is_no_harm symbolize "$old"
check and_changes_nothing equal "$(samples "$old")" "$before"

check an_unknown_one_is_404 \
  equal "$(status_of POST $P/sess-aaaaaaaaaaaaaaaaaaaa/symbolize)" 404
check what_was_never_asked_is_404 \
  equal "$(status_of GET $P/sess-aaaaaaaaaaaaaaaaaaaa/symbolize)" 404

# Killed in the middle: the old profile, or the new one, never less.
for round in 1 2 3; do
  id2=$(start bare 1)
  finished "$id2" >/dev/null
  n=$(samples "$id2")
  api POST "$P/$id2/symbolize" >/dev/null
  kill -KILL "$(<"$STATE/pid/worker")"
  check "nothing_is_lost_when_the_worker_is_killed_$round" equal "$(samples "$id2")" "$n"
  worker_start
  ended() { [ "$(api GET "$P/$id2/symbolize" | jq -r .state)" = done ]; }
  check "it_is_done_all_the_same_$round" wait_for 20 ended
  check "with_every_sample_$round" equal "$(samples "$id2")" "$n"
done
