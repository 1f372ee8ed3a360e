#!/bin/bash
# Backups of a busy installation, and installations restored from them.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
WORKER_CONF='
[continuous]
window = 1s
'
e2e_start
background demo "$STATE/bin/demo"
for s in demo busy; do service $s "$STATE/bin/demo" || exit 1; done
stoker_cli continuous on demo --rate 99 >/dev/null
here() { "$STATE/bin/stoker" "$@" --config "$STATE/stoker.conf"; } # on the store
DIR=$STATE/backup

# --- load: captures, uploads, deletions, pushes, windows ----------------------
touch "$STATE"/{kept,removed}
going() { [ ! -e "$STATE/enough" ]; }
capture() {
  local id
  while going; do
    id=$(start busy 1 2>/dev/null) || continue
    [ "$(finished "$id" | jq -r .status)" != completed ] || echo "$id" >>"$STATE/kept"
  done
}
upload() { # uploads one profile to keep, and one to delete
  local n=0 id
  while going; do
    id=$(printf 'main;work;step_%d 70\n' $((n++)) | stoker_cli upload demo - --rate 100 |
      sed 's/.*: //')
    case $((n % 2)) in
    0) echo "$id" >>"$STATE/kept" ;;
    1) stoker_cli remove "$id" >/dev/null && echo "$id" >>"$STATE/removed" ;;
    esac
  done
}
push() {
  while going; do
    printf 'main;push 3\n' | api POST '/ingest?name=shop&from=now-10s&until=now' \
      -H 'Content-Type: text/plain' --data-binary @- -o /dev/null
  done
}
loads=()
for load in capture upload push; do $load & loads+=($!); done
has() { [ "$(wc -l <"$STATE/$1")" -ge "$2" ]; }
wait_for 60 has kept 20

# --- backups, one after the other, while it goes on ----------------------------
backup() { here backup "$DIR"; }
check a_first_backup_is_made backup
check a_first_backup_is_whole leaves 0 here verify "$DIR"
wait_for 60 has kept $(($(wc -l <"$STATE/kept") + 10))
second=$(here --json backup "$DIR")
check the_next_backup_copies_less_than_it_has jq -e '.copied > 10 and .copied < .files + .windows' <<<"$second"
check the_store_is_whole_while_it_is_used leaves 0 here verify
check verify_says_how_many_flaws_it_found says ' 0 flaws' here verify

# Kills a backup while it copies: when the next database is there, and the
# manifest is still the previous one.
databases() { ls "$DIR" | grep -c '^stoker-.*\.db$'; }
kill_one() {
  local pid at=$1 found manifest=$(<"$DIR/manifest.json")
  "$STATE/bin/stoker" backup "$DIR" --config "$STATE/stoker.conf" >/dev/null 2>&1 &
  pid=$!
  while found=("$DIR"/stoker-*.db) && [ ${#found[@]} -le "$at" ]; do
    [ -d /proc/$pid ] || break
  done
  kill -KILL $pid 2>/dev/null
  wait $pid 2>/dev/null
  [ $? -eq 137 ] && [ "$(<"$DIR/manifest.json")" = "$manifest" ]
}
kill_until() {
  for _ in {1..50}; do
    kill_one "$(databases)" && return 0
    here verify "$DIR" || return 1
  done
  return 1
}
check a_backup_is_killed kill_until
check the_backup_before_a_killed_one_is_whole leaves 0 here verify "$DIR"

# A capture is running when the last backup is made.
long=$(start demo 60)
phase_is() { [ "$(api GET "$P/$1" | jq -r .phase)" = "$2" ]; }
wait_for 20 phase_is "$long" capturing
wait_for 60 has kept $(($(wc -l <"$STATE/kept") + 5))
BEFORE=$STATE/before
sort "$STATE/kept" >"$BEFORE"
check a_last_backup_is_made leaves 0 backup
check the_next_backup_removes_files_of_a_killed_one equal "$(databases)" 1
touch "$STATE/enough"
wait "${loads[@]}"
mkdir "$STATE/was"
bytes() { # folder: stores the files of all earlier profiles there
  local id
  while read -r id; do
    api GET "$P/$id/flamegraph?format=pprof" -f -o "$1/$id" || echo "$id is not there"
  done <"$BEFORE"
}
check all_profiles_can_be_read equal "$(bytes "$STATE/was" 2>&1)" ""

# --- what is refused -----------------------------------------------------------
check a_store_in_use_is_not_replaced says 'in use by process' here restore "$DIR" --replace
check a_store_in_use_is_not_moved equal "$(ls -d "$STATE"/data*)" "$STATE/data"
check a_backup_inside_the_store_is_refused says 'inside the store' here backup "$STATE/data/backup"
check a_directory_open_to_others_is_refused says 'chmod 0700' here backup "$STATE/log"
check verifying_nothing_leaves_2 leaves 2 here verify "$STATE/none"
check a_profile_that_is_lost_leaves_1 bash -c '
  file=$(ls "$1"/profiles/*/*.pb.gz | head -1)
  mv "$file" "$1/away" && "$2" verify "$1" >"$1.out"; code=$?
  "$2" verify "$1" --limit 0 >>"$1.out"
  mv "$1/away" "$file"
  cat "$1.out"
  grep -q "^and 1 more" "$1.out" || exit 1
  [ $code -eq 1 ] && grep -q "^missing .*profiles/" "$1.out" && grep -q "^fix: missing: " "$1.out"' \
  - "$DIR" "$STATE/bin/stoker"
check a_clean_backup_leaves_0 leaves 0 here verify "$DIR"
check flaws_as_json equal \
  "$(here --json verify "$DIR" | jq -r '"\(.flawCount) \(.flaws | length)"')" "0 0"

# On a disk that is too small, nothing is left that looks like a backup.
small() {
  unshare -m sh -ec 'mkdir -p "$1"; mount -t tmpfs -o size=200k,mode=700 none "$1"
    "$2" backup "$1" --config "$3" && exit 1
    code=0; "$2" verify "$1" || code=$?; [ $code -eq 2 ]' sh "$STATE/small" "$STATE/bin/stoker" "$STATE/stoker.conf"
}
if unshare -m true 2>/dev/null; then
  check a_full_disk_is_told says 'full' small
  check a_full_disk_leaves_no_backup small
else
  echo "skip a_full_disk: this user may mount nothing"
fi

# --- another installation ----------------------------------------------------------
link=$(api GET "$P/$(head -1 "$BEFORE")" | jq -r .flameGraphUrl)
stack_stop
first=$STATE
both_stop() { e2e_stop; rm -rf "$first"; }
trap both_stop EXIT
STATE=$first/second
mkdir "$STATE"
cp "$first/token" "$first/backup" -rt "$STATE"
stack_folder
stack_programs
stack_conf
check a_copy_of_a_backup_is_restored leaves 0 here restore "$STATE/backup"
check a_backup_is_restored_into_an_empty_store_only says 'has data already' here restore "$STATE/backup"
stack_start
background demo "$first/bin/demo" # services are matched by its path
mkdir "$STATE/is"
check every_profile_from_before_is_there equal "$(bytes "$STATE/is" 2>&1)" ""
check every_restored_profile_has_the_same_bytes diff -r "$first/was" "$STATE/is"
check there_were_profiles_to_restore test "$(ls "$STATE/is" | wc -l)" -ge 30
check the_restored_store_is_whole leaves 0 here verify
check windows_of_a_restored_store_add_up_to_a_range jq -e '.source == "windows" and .sampleCount > 0' \
  <<<"$(stoker_cli --json merge demo --from now-1h)"
check the_capture_that_ran_failed_as_after_a_crash equal \
  "$(finished "$long" | jq -r '.status + " " + .error.error_code')" "failed WorkerDied"
check links_from_before_the_restore_open equal "$(curl -s -o /dev/null -w '%{http_code}' "$link")" 200

# The restored store is used, then replaced by the previous store.
wait_for 10 seen demo
check a_restored_store_takes_profiles equal "$(finished "$(start demo 1)" | jq -r .status)" completed
stack_stop
check a_store_with_data_is_replaced says 'before-restore-' here restore "$STATE/backup" --replace
check a_replaced_store_is_kept_whole leaves 0 "$STATE/bin/stoker" verify --state "$(ls -d "$STATE"/data.before-restore-*)"
check the_store_that_replaces_another_is_whole leaves 0 here verify

# --- an older release on a newer schema ----------------------------------------------
stack_start
: >"$STATE/log/api.log"
sqlite3 -cmd ".timeout 20000" "$STATE/data/stoker.db" "INSERT INTO migration VALUES (99, 99, 'later', 0)"
told() { grep -q 'install the newer release again, or restore a backup' "$1"; }
check a_worker_ends_when_a_newer_release_changes_the_store wait_for 20 process_gone "$(<"$STATE/pid/worker")"
check it_says_so_when_it_ends told "$STATE/log/worker.log"
refused() { [ "$(api GET /api/v1/services/demo | jq -r .error_code)" = StoreUnavailable ]; }
check a_request_is_refused_when_a_newer_release_changes_the_store wait_for 20 refused
check the_api_refuses_a_newer_store wait_for 10 told "$STATE/log/api.log"
stack_stop
check a_key_is_refused_by_name says 'install the newer release again' here token create x
check a_backup_is_refused_as_well says 'install the newer release again' here backup "$STATE/other"
check the_worker_does_not_start leaves 1 "$STATE/bin/stoker-worker" --config "$STATE/stoker.conf"
check the_worker_says_what_to_do_with_a_newer_store says 'or restore a backup' "$STATE/bin/stoker-worker" --config "$STATE/stoker.conf"
check a_restore_replaces_a_newer_store leaves 0 here restore "$STATE/backup" --replace
stack_start
check the_api_serves_a_store_that_replaced_a_newer_one equal "$(status_of GET "/api/v1/services/demo")" 200
stack_stop
