#!/bin/bash
# An attacker in the analyser asks the opener, which has the capabilities, about
# other processes. It learns about processes of running captures and no others;
# neither part has more rights than its user.
#
# Beside others: it waits for events.
set -u
. tests/lib/e2e.sh
[ "$(id -u)" -eq 0 ] || skip parts 'only root takes a process over'
e2e_start shares
background own "$STATE/bin/shares" 900 1 20
background other "$STATE/bin/shares" 900 1 20
own=$(<"$STATE/pid/own") other=$(<"$STATE/pid/other")
worker=$(<"$STATE/pid/worker")
echo "$own" >"$STATE/own.pid"
stoker_cli service add own --pid-file "$STATE/own.pid" >/dev/null
wait_for 20 seen own
files() { find "/proc/$1/fd" -lname "$STATE/data/*" 2>/dev/null | wc -l; }
# The scheduler is the only process without privileges that has the store open.
scheduler= analyser=
for pid in $(pgrep -x stoker-worker -P "$worker" -u "$WORKER_USER"); do
  if [ "$(files "$pid")" -gt 0 ]; then scheduler=$pid; else analyser=$pid; fi
done
takeover="$B/tests/tools/takeover"
refused() { # answers: the opener gave none, or EPERM, to each question
  local allowed
  allowed=$(grep -vE ' (EPERM|nothing)$' <<<"$1")
  [ -n "$1" ] && [ -z "$allowed" ] || { echo "$allowed"; return 1; }
}
check before_a_capture_the_analyser_learns_nothing refused "$("$takeover" "$analyser" "$own")"
id=$(start own 60)
sampled() { api GET "$P/$id" | jq -e '.sampleCount > 0 or .progress > 0'; }
wait_for 30 sampled
answers=$("$takeover" "$analyser" "$own")
check the_analyser_learns_of_the_process_that_a_capture_is_of grep -q '^MAPS answered' <<<"$answers"
check the_analyser_learns_with_whom_that_process_shares_its_memory grep -q '^SHARED answered' <<<"$answers"
check a_capture_grants_nothing_of_other_processes refused "$("$takeover" "$analyser" "$other")"
check a_capture_grants_nothing_of_pid_1 refused "$("$takeover" "$analyser" 1)"
check a_capture_grants_nothing_of_the_worker_itself refused "$("$takeover" "$analyser" "$worker")"
check the_refusals_are_logged grep -q "was refused: .*which no capture names" "$STATE/log/worker.log"
# The attacker took answers that the capture needed, so it may have failed.
status_of DELETE "$P/$id" >/dev/null
finished "$id" >/dev/null
check the_next_capture_completes equal "$(finished "$(start own 1)" | jq -r .status)" completed
analyser=$(pgrep -x stoker-worker -P "$worker" -u "$WORKER_USER" | grep -vx "$scheduler")
check after_a_capture_the_analyser_learns_nothing refused "$("$takeover" "$analyser" "$own")"

# --- other properties of the parts -----------------------------------------
for name in scheduler analyser; do
  pid=${!name}
  check "the_$name.has_no_capability" equal "$(awk '/^Cap(Eff|Prm|Amb)/ { printf "%s", $2 }' "/proc/$pid/status" | tr -d 0)" ''
  check "the_$name.gains_no_privilege" equal "$(awk '/^NoNewPrivs/ { print $2 }' "/proc/$pid/status")" 1
  check "the_$name.has_a_filter_of_system_calls" equal "$(awk '/^Seccomp:/ { print $2 }' "/proc/$pid/status")" 2
  check "the_$name.is_not_root" [ "$(awk '/^Uid/ { print $2 }' "/proc/$pid/status")" -ne 0 ]
done
check the_analyser_has_no_file_of_the_store equal "$(files "$analyser")" 0
check the_scheduler_has_files_of_the_store [ "$(files "$scheduler")" -gt 0 ]
