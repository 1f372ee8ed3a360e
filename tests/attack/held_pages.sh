#!/bin/bash
# A read of a target's pages that never arrive hangs forever. Captures of other
# services go on, and the target's own capture fails with the reason.
#
# Beside others: it waits for events.
set -u
. tests/lib/e2e.sh
[ "$(id -u)" -eq 0 ] || skip held_pages 'only root may withhold pages from the kernel'
e2e_start held
exec {answers}< <("$STATE/bin/held")
held=$!
background demo "$STATE/bin/demo"
leave() { kill -KILL $held; e2e_stop; }
trap leave EXIT
read -r said <&"$answers"
[ "$said" = ready ] || skip held_pages "$said"
service held "$STATE/bin/held" || exit 1
service other "$STATE/bin/demo" || exit 1

threads() { # service: starts a look at its threads, and prints its id
  post $P/start "{\"service\":\"$1\",\"profileType\":\"goroutine\"}" | jq -r '.id // error'
}
status() { jq -r '.status + " " + (.error.error_code // "")'; }

stuck=$(threads held)
waits() { # the kernel has whoever reads wait for the page
  pgrep -r D -x stoker-reader -P "$(<"$STATE/pid/worker")" || logged 'not answered'
}
check pages_of_the_target_are_asked_for wait_for 15 waits
sampled=$(start other 2)
looked=$(threads other)
check another_service_is_looked_at_meanwhile \
  equal "$(finished "$looked" | status)" "completed "
check another_service_is_sampled_meanwhile \
  equal "$(finished "$sampled" | status)" "completed "
check the_capture_of_held_pages_fails_and_says_why \
  equal "$(finished "$stuck" | status)" "failed TargetUnreadable"
check the_log_names_the_process grep -q "process $held: STACKS was not answered" \
  "$STATE/log/worker.log"
again=$(threads held)
check a_target_with_held_pages_is_left_alone_for_a_while \
  equal "$(finished "$again" | status)" "failed TargetUnreadable"
check no_second_reader_was_given_up \
  equal "$(grep -c 'not answered' "$STATE/log/worker.log")" 1
