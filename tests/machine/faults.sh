#!/bin/bash
# Faults of a machine in use: processes are killed, the disk fills up, the store
# is replaced. Nothing that was accepted is lost, everything restarts
# automatically, and doctor names the line that fixes each fault.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/machine.sh"
. tests/lib/installed.sh
[ "$(id -u)" -eq 0 ] || skip machine/faults 'needs root'
GO=1.19
CGO_ENABLED=1 tests/lib/go build $GO "$B/go/bin/machine-pages" tests/targets/go/pages 2>"$B/go.why" ||
  skip machine/faults "no Go $GO: $(tail -n 1 "$B/go.why")"

machine_start
machine_put 755 "$B"/targets/shares "$B"/go/bin/machine-pages /usr/local/bin
package_installed
# This machine's disk is small, so min_free is 0.
in_machine sh -c 'sed -i "s/^\[continuous\]/&\nwindow = 1s\ngauges = 2s\ncounters = 2s\nmin_free = 0/" /etc/stoker/stoker.conf
  install -D /usr/share/stoker/worker-network.conf /etc/systemd/system/stoker-worker.service.d/network.conf
  systemctl daemon-reload && systemctl restart stoker-worker'
# These run until the end, so they leave the CPU to other tests.
for name in burn work; do
  service_unit $name '/usr/local/bin/shares 600 1 2'
  known $name --unit $name.service
done
service_unit pages '/usr/local/bin/machine-pages /run/pages/address calm' RuntimeDirectory=pages
wait_for 20 in_machine test -s /run/pages/address
known pages --unit pages.service --pprof-url "http://localhost:$(in_machine sed 's/.*://' /run/pages/address)" --source endpoint
cli continuous on work --types cpu,goroutine >/dev/null

# --- parts are killed under load ------------------------------------------------
# Ids are logged once their request was answered.
in_machine sh -c 'rm -f /root/enough /root/ids; touch /root/ids
  awk "BEGIN { for (i = 0; i < 20000; i++) print \"main;f\" i % 997 \";g\" i, i + 1 }" >/root/some'
load() { # command that prints an id
  in_machine sh -c "while [ ! -e /root/enough ]; do id=\$($1 2>/dev/null | grep -o 'sess-[a-z0-9]*') &&
    echo \$id >>/root/ids; sleep 0.2; done" </dev/null >/dev/null 2>&1 &
  loads+=($!)
}
loads=()
load 'stoker run burn --seconds 1'
load 'stoker run pages --type goroutine'
load 'stoker upload burn /root/some'
accepted() { in_machine cat /root/ids | wc -l; }
some_more() { [ "$(accepted)" -ge "$1" ]; }

child() { # pattern of /proc/PID/limits, 0 if it matches
  local pid
  for pid in $(in_machine pgrep -P "$(main_pid stoker-worker)" -x stoker-worker); do
    in_machine grep -q '^Max address space *unlimited' "/proc/$pid/limits"
    [ $? -ne "$1" ] || { echo "$pid"; return; }
  done
  return 1
}
victim() { # part
  case $1 in
  opener) main_pid stoker-worker ;;
  scheduler) child 0 ;;
  analyser) child 1 ;;
  fetcher) in_machine pgrep -x stoker-fetcher ;;
  api) in_machine pgrep -x stoker-api | shuf -n 1 ;;
  multiwatch) main_pid stoker-api ;;
  nginx) in_machine pgrep -P "$(main_pid nginx)" | shuf -n 1 ;;
  esac
}
# A finisher lives for a few milliseconds, so a loop on the machine waits for
# one of the current analyser, which may end soon if another part was just
# killed.
kill_finisher() {
  in_machine timeout 5 bash -c '
    until read -r pid _ <"/proc/$0/task/$0/children"; [ "$pid" ] && kill -KILL "$pid"; do :; done
    echo "$pid"' "$(child 1)"
}
kill_it() { # part: sets killed
  if [ "$1" = finisher ]; then
    killed=$(kill_finisher)
  else
    killed=$(victim "$1") && [ "${killed:-0}" -gt 1 ] && in_machine kill -KILL "$killed"
  fi
}
whole() { # part, its previous pid
  local now
  [ "$1" != finisher ] || { healthy; return; }
  now=$(victim "$1") && [ -n "$now" ] && [ "$now" != "$2" ] && healthy &&
    [ "$(in_machine pgrep -c -x stoker-api)" = 6 ]
}
killed=
is_back() { # part
  local began took
  wait_for 60 kill_it "$1" || { echo "no $1 to kill"; return 1; }
  began=$SECONDS
  wait_for 30 whole "$1" "$killed" || { echo "no $1 instead of $killed"; get /readyz; return 1; }
  took=$((SECONDS - began))
  echo "$took" >>"$MACHINE_AT/took"
}
wait_for 30 some_more 5
for part in $(printf '%s\n' opener scheduler analyser finisher fetcher api multiwatch nginx | shuf); do
  check "the_${part}_is_killed_and_another_is_there_by_itself" is_back "$part"
  wait_for 60 some_more $(($(accepted) + 2))
done
in_machine touch /root/enough
wait "${loads[@]}"
ends_of_all() {
  in_machine sh -c "while read id; do
      curl -sS -H 'Authorization: Bearer $TOKEN' \"http://127.0.0.1:8088$profiling/\$id?wait=20\"
    done </root/ids" | jq -r '[.id, .status, .error.error_code] | join(" ")' >"$MACHINE_AT/ends"
}
ends_of_all
check requests_accepted_while_parts_are_killed_have_an_end equal \
  "$(grep -cE ' (completed|failed) ' "$MACHINE_AT/ends")" "$(accepted)"
check no_accepted_request_fails_but_for_the_death_of_a_part equal \
  "$(grep -vE ' (completed |failed (WorkerDied|CaptureFailed|EndpointFailed)$)' "$MACHINE_AT/ends")" ""
check the_store_is_whole_after_parts_were_killed leaves 0 cli verify
check doctor_finds_nothing_broken_after_parts_were_killed within 20 doctor_is_content
echo "# $(accepted) accepted, $(grep -c ' failed ' "$MACHINE_AT/ends") failed; back after $(
  sort -n "$MACHINE_AT/took" | tail -1) s at most"

# --- the worker hangs -------------------------------------------------------------
in_machine sed -i 's/^\[worker\]/&\nwatchdog = 2s/' /etc/stoker/stoker.conf
drop_in stoker-worker watchdog <<<$'[Service]\nWatchdogSec=5s'
wait_for 30 healthy
hangs() { killed=$(main_pid stoker-worker) && in_machine kill -STOP "$killed"; }
hangs
check systemd_starts_a_worker_that_hangs_anew wait_for 60 whole opener "$killed"
in_machine sh -c 'rm /etc/systemd/system/stoker-worker.service.d/watchdog.conf; sed -i "/^watchdog = 2s/d" /etc/stoker/stoker.conf
  systemctl daemon-reload; systemctl restart stoker-worker'
wait_for 30 healthy

# --- the worker is stopped in a capture -----------------------------------------
id=$(begin burn --seconds 60 --rate 499 2>/dev/null)
wait_for 30 json '.progress > 0.02' get "$profiling/$id"
in_machine systemctl restart stoker-worker
check a_capture_is_kept_as_far_as_it_was_when_the_worker_is_stopped \
  json '.status == "completed" and .sampleCount > 0 and .durationSeconds < 60' finished "$id"

# --- the disk is full -------------------------------------------------------------
in_machine sh -ec 'systemctl stop stoker-api.socket stoker-worker
  mv /var/lib/stoker /var/lib/stoker.all
  mkdir /var/lib/stoker
  mount -t tmpfs -o size=64m store /var/lib/stoker
  cp -aT /var/lib/stoker.all /var/lib/stoker
  systemctl start stoker-api stoker-worker'
check the_installation_is_ready_on_a_small_disk wait_for 30 healthy
pids() { main_pid stoker-api; main_pid stoker-worker; }
before=$(pids)
# Repeats, since space may be freed meanwhile.
fill() {
  in_machine sh -c '! dd if=/dev/zero of=/var/lib/stoker/fill bs=4k oflag=append conv=notrunc 2>/dev/null'
}
full() { fill && "$@"; } # command that must find the disk full
check doctor_says_that_the_disk_is_full_and_what_to_do \
  within 40 full doctor_says broken 'worker store' 'make room there'
check doctor_says_that_the_disk_of_the_api_is_full within 40 full doctor_says broken 'api store' 'make room there'
check the_api_is_not_ready_on_a_full_disk within 20 full status_is /readyz 503
check the_api_says_that_the_disk_is_full within 20 full says 'is full' get /readyz
check an_upload_to_a_full_disk_is_refused_clearly within 10 full says "the store is unavailable: the disk is full" cli upload burn /root/some
# The session's row may still fit; then it must not be lost.
asked=$(fill; cli run burn --seconds 1 2>&1)
in_machine rm /var/lib/stoker/fill
check the_api_is_ready_when_the_disk_has_room_again within 30 healthy
check doctor_is_content_when_the_disk_has_room_again within 30 doctor_is_content
refused_or_ended() {
  local id
  id=$(grep -o 'sess-[a-z0-9]*' <<<"$asked" | head -n 1)
  [ -n "$id" ] || { says "the store is unavailable" echo "$asked"; return; }
  json '.status != "running"' finished "$id"
}
check a_capture_on_a_full_disk_was_refused_or_has_an_end refused_or_ended
check captures_are_taken_when_the_disk_has_room_again within 30 json '.status == "completed"' take burn --seconds 1
windows() { json '.source == "windows" and .sampleCount > 0' cli --json merge work --from now-4s; }
check windows_are_taken_when_the_disk_has_room_again within 30 windows
check a_full_disk_restarts_nothing equal "$(pids)" "$before"
check a_full_disk_damages_no_row_or_profile leaves 0 cli verify
in_machine sh -ec 'systemctl stop stoker-api.socket stoker-worker
  cp -aT /var/lib/stoker /var/lib/stoker.all
  umount /var/lib/stoker; rmdir /var/lib/stoker
  mv /var/lib/stoker.all /var/lib/stoker
  systemctl start stoker-api stoker-worker'
wait_for 30 healthy

# --- backups by the manual's timer, and restoring one ------------------------------
manual() { mandoc -T ascii conf/man/stoker.1 | col -bx; }
unit_of_manual() { # file
  manual | awk -v file="# /etc/systemd/system/$1" '
    index($0, file) { on = 1; next }
    on && NF == 0 { exit }
    on { sub(/^ +/, ""); print }' |
    in_machine tee "/etc/systemd/system/$1" >/dev/null
}
command_of_manual() { # text in it
  manual | sed -n "s/^ *# \(.*$1.*\)/\1/p" | head -n 1
}
unit_of_manual stoker-backup.service
unit_of_manual stoker-backup.timer
# The manual's timer would run only at night.
in_machine sh -c 'mkdir /etc/systemd/system/stoker-backup.timer.d
  printf "[Timer]\nOnActiveSec=1\n" >/etc/systemd/system/stoker-backup.timer.d/now.conf
  rm -f /root/enough /root/ids; touch /root/ids'
loads=()
load 'stoker run burn --seconds 1'
load 'stoker upload burn /root/some'
wait_for 30 some_more 3
kept=$(in_machine head -n 1 /root/ids)
in_machine sh -c "$(command_of_manual 'enable --now stoker-backup.timer')" 2>/dev/null
backed_up() {
  in_machine test -s /var/backups/stoker/manifest.json &&
    [ "$(in_machine systemctl show -P ActiveState stoker-backup.service)" = inactive ]
}
check the_manuals_timer_makes_a_backup_under_load wait_for 60 backed_up
in_machine touch /root/enough
wait "${loads[@]}"
check a_backup_made_under_load_is_whole leaves 0 cli verify /var/backups/stoker
later=$(cli upload burn /root/some 2>&1 | grep -o 'sess-[a-z0-9]*')
restored() {
  local line
  for line in 'systemctl stop stoker-api.socket' 'stoker restore' 'systemctl start stoker-api'; do
    in_machine sh -c "$(command_of_manual "$line")" || return 1
  done
  wait_for 30 healthy
}
check a_backup_is_restored_by_the_manuals_commands restored
check a_profile_from_before_the_backup_is_restored wait_for 20 status_is "$profiling/$kept" 200
check a_profile_from_after_the_backup_is_gone status_is "$profiling/$later" 404
check the_restored_store_is_whole leaves 0 cli verify
check the_restored_store_takes_captures within 30 json '.status == "completed"' take burn --seconds 1
check doctor_is_content_with_the_restored_store within 20 doctor_is_content

# --- an older release on a newer schema ---------------------------------------------
in_machine sh -c "systemctl stop stoker-api.socket stoker-worker
  sqlite3 /var/lib/stoker/stoker.db \"INSERT INTO migration VALUES (99, 99, 'later', 0)\"
  systemctl start stoker-api stoker-worker" 2>/dev/null
says_so() { # unit
  in_machine journalctl -q --no-pager -u "$1" --since -60s |
    grep -q 'install the newer release again, or restore a backup'
}
check the_worker_refuses_a_newer_store_and_says_what_to_do wait_for 30 says_so stoker-worker
check the_api_refuses_a_newer_store_and_says_what_to_do wait_for 30 says_so stoker-api
check doctor_reports_a_newer_store_and_says_what_to_do doctor_says broken database 'install the newer release again'
check a_restore_replaces_a_newer_store restored
check captures_are_taken_after_a_newer_store_was_replaced within 30 json '.status == "completed"' take burn --seconds 1
