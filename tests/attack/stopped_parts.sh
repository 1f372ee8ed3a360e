#!/bin/bash
# Each part is stopped (SIGSTOP) at each stage of a capture. The others go on,
# the capture ends, and the part goes on when it may, or another replaces it.
#
# Beside others: it waits for events.
set -u
WORKER_CONF='watchdog = 2s
finish_cpu = 10s
[continuous]
window = 1s'
. tests/lib/e2e.sh
e2e_start shares jit
background busy "$STATE/bin/shares" 900 1 5
background wide "$STATE/bin/jit" 900 10
map=/tmp/perf-$(<"$STATE/pid/wide").map
stopped= held=
leave() { [ -z "$stopped" ] || kill -CONT "$stopped"; rm -f "$map"; process_stop wide; e2e_stop; }
trap leave EXIT
wait_for 10 test -s "$map"
# Its profile takes a second to make.
awk 'BEGIN { for (i = 0; i < 500000; i++) printf "%x 8 compiled_%d\n", 4096 + i * 8, i }' >>"$map"
service busy "$STATE/bin/shares" && service wide "$STATE/bin/jit" || exit 1

# --- parts: each prints its pid ------------------------------------------------
opener() { echo "$(<"$STATE/pid/worker")"; }
scheduler() { pgrep -oP "$(opener)" -x stoker-worker; }
analyser() { pgrep -nP "$(opener)" -x stoker-worker; }
reader() { pgrep -nP "$(opener)" -x stoker-reader; }
api_process() { pgrep -oP "$(<"$STATE/pid/api")" -x stoker-api; }
nginx() { pgrep -oP "$(<"$STATE/pid/nginx")"; }

# --- stages: each starts a capture, and returns when it is there ----------------
idle() { id=; }
sampled() { api GET "$P/$id" | jq -e '.progress > 0'; }
capturing() { id=$(start wide 4) && wait_for 30 sampled; }
# Stops the next child of the analyser that lives long enough to have begun.
hold_child() {
  local of end=$((SECONDS + 60))
  of=$(analyser)
  held=
  until [ -n "$held" ] && read -r _ <"/proc/$held/timers" && kill -STOP "$held"; do
    [ $SECONDS -lt $end ] || return 1
    read -r held _ <"/proc/$of/task/$of/children"
  done 2>/dev/null
  [ -n "$held" ]
}
# The finisher is stopped until the part is stopped, too.
symbolizing() { id=$(start wide 1) && hold_child; }
goes_on() { [ -z "$held" ] || kill -CONT "$held"; held=; }
# The profile is made, but another program holds the store's lock.
storing() {
  local finisher
  symbolizing || return
  finisher=$held
  exec {lock}> >(exec sqlite3 "$STATE/data/stoker.db" >"$STATE/locked")
  locker=$!
  echo '.timeout 60000
BEGIN IMMEDIATE; SELECT 1;' >&"$lock"
  wait_for 60 test -s "$STATE/locked" && goes_on && wait_for 60 process_gone "$finisher"
}
release() { [ -z "${lock-}" ] || { exec {lock}>&-; lock=; wait "$locker"; }; } 2>/dev/null

# --- what is claimed ------------------------------------------------------------
has_another() { local now; now=$("$1") && [ "$now" != "$stopped" ]; }
ends() { # the capture completes, or says why it failed
  local end
  [ -n "$id" ] || return 0
  end=$(finished "$id" | jq -r '.status + " " + (.error.error_code // "")')
  grep -xE 'completed |failed (WorkerDied|CaptureFailed)' <<<"$end" >/dev/null || { echo "it ended as '$end'"; return 1; }
}
completes() { equal "$(finished "$(start busy 1)" | jq -r '.status + " " + (.error.message // "")')" 'completed '; }
is_ready() { equal "$(status_of GET /readyz)" 200; }
# Replaces a part, or lets it go on: the pool and nginx are not replaced.
replaced() { # part
  case $1 in
  scheduler) wait_for 60 process_gone "$worker" && worker_start ;; # as systemd does
  api_process | nginx) kill -CONT "$stopped" ;;
  opener)
    # systemd's watchdog would end it; here an operator goes on with it.
    wait_for 60 eval '! is_ready' && kill -CONT "$stopped" ;;
  reader) : ;; # the next question starts another one
  analyser) wait_for 60 has_another analyser ;;
  esac
}
others() { # answered while the part is stopped
  local i
  for i in 1 2 3 4 5 6 7 8; do
    equal "$(status_of GET /api/v1/services -m 20)" 200 || return
  done
}
stop() { # stage, part
  local worker at=$1.$2
  worker=$(opener)
  "$1" || { echo "not ok $at.the_stage_is_reached"; release; return; }
  stopped=$("$2") && kill -STOP "$stopped" || { echo "not ok $at.the_part_is_there"; release; return; }
  release
  goes_on
  [ "$2" = nginx ] || check "$at.requests_are_answered_meanwhile" others
  check "$at.it_goes_on_or_another_does" replaced "$2"
  check "$at.the_capture_ends" ends
  check "$at.the_server_is_ready" wait_for 30 is_ready
  check "$at.the_next_capture_completes" completes
  kill -CONT "$stopped" 2>/dev/null # the pid may be a zombie's, or gone
  stopped=
}

for stage in idle capturing symbolizing storing; do
  for part in api_process nginx scheduler analyser opener reader; do
    # A reader gets questions only in that stage.
    [ $part != reader ] || [ $stage = capturing ] || continue
    stop "$stage" "$part"
  done
done

# --- a child of the analyser, for good --------------------------------------------
symbolizing
check a_finisher_is_held [ -n "$held" ]
check a_stopped_finisher_ends wait_for 30 process_gone "$held"
check its_capture_fails_as_one_whose_process_died equal \
  "$(finished "$id" | jq -r '.status + " " + .error.message')" 'failed the process that symbolized the profile died'
held=
check the_next_capture_has_a_finisher completes
watch_wide() {
  post $P/continuous '{"service":"wide","sampleRate":99}' >"$STATE/watch" && hold_child
}
watch_wide
check a_writer_of_windows_is_held [ -n "$held" ]
check a_stopped_writer_of_windows_ends wait_for 30 process_gone "$held"
held=
check a_capture_completes_after_it completes
