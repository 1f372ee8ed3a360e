#!/bin/bash
# A part of the worker that hangs, whatever made it: the opener ends it, says so,
# and captures go on.
#
# Beside others: it waits for events.
set -u
WORKER_CONF='watchdog = 2s'
. tests/lib/e2e.sh
e2e_start shares
"$STATE/bin/shares" 600 2 >/dev/null &
busy=$!
leave() { kill "$busy"; e2e_stop; }
trap leave EXIT
opener=$(<"$STATE/pid/worker")
# The scheduler is the oldest child of that name, the analyser the newest.
scheduler() { pgrep -oP "$opener" -x stoker-worker; }
analyser() { pgrep -nP "$opener" -x stoker-worker; }
hang() { # part
  hung=$("$1") && kill -STOP "$hung"
}
has_another() { local now; now=$(analyser) && [ "$now" != "$hung" ]; }
service busy "$STATE/bin/shares"
completes() { equal "$(finished "$(start busy 1)" | jq -r .status)" completed; }

check a_capture_completes completes
hang analyser
check an_analyser_that_hangs_is_started_anew wait_for 60 has_another
check the_log_says_that_the_analyser_did_not_answer logged 'the analyser has not answered for 2 s'
check captures_go_on_with_the_next_analyser completes
hang scheduler
check a_scheduler_that_hangs_ends_the_worker wait_for 60 process_gone "$opener"
check the_log_says_that_the_scheduler_did_not_answer logged 'the scheduler has not answered for 2 s'
worker_start
opener=$(<"$STATE/pid/worker")
check captures_go_on_with_the_next_worker completes
