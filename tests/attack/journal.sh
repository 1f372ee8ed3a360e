#!/bin/bash
# After the worker was killed, the next opener reverts, as root, what the
# journal says was written into programs. A forged row could change the memory
# of any process, so journals written by the API's user are ignored.
#
# Beside others: it waits for events.
set -u
. tests/lib/e2e.sh
[ "$(id -u)" -eq 0 ] || skip journal 'only root has the processes that are attacked'
e2e_start word
exec {answers}< <("$STATE/bin/word")
pid=$!
leave() { kill -KILL "$pid"; e2e_stop; }
trap leave EXIT
read -r address <&"$answers"

number() { # prints the number in the program's memory
  perl -e 'open my $m, "<", "/proc/$ARGV[0]/mem" or die; sysseek $m, $ARGV[1], 0;
    sysread $m, $_, 8; print unpack "Q", $_' "$pid" "$address"
}
# Makes a row that says that the opener wrote 5 over a 0 in the program.
row() {
  local start
  start=$(sed 's/.*) //' "/proc/$pid/stat" | cut -d' ' -f20)
  perl -e 'print pack "QQQlla40", @ARGV' "$start" "$address" 5 "$pid" -1 \
    "$(</proc/sys/kernel/random/boot_id)"
}
# The opener reads the journal before it starts any other process.
restart() {
  process_stop worker KILL
  : >"$STATE/log/worker.log"
  worker_start
  wait_for 15 pgrep -P "$(<"$STATE/pid/worker")"
}
leaves_it() { restart && equal "$(number)" 5; }

row | as_user tee "$STATE/data/go-rates" >/dev/null
check a_journal_in_the_store_is_not_obeyed leaves_it
check the_directory_of_the_journal_is_closed_to_the_api \
  leaves 1 as_user test -x "$STATE/worker"
row >"$STATE/worker/go-rates"
chown "$RUN_USER" "$STATE/worker/go-rates"
check a_journal_of_the_apis_user_is_not_obeyed leaves_it
rm "$STATE/worker/go-rates"
as_user cp "$STATE/data/go-rates" "$STATE/data/linked"
ln "$STATE/data/linked" "$STATE/worker/go-rates"
chown root "$STATE/data/linked"
check a_journal_that_has_a_name_elsewhere_is_not_obeyed leaves_it
rm "$STATE/worker/go-rates"
ln -s "$STATE/data/linked" "$STATE/worker/go-rates"
check a_link_in_place_of_the_journal_is_not_followed leaves_it
check a_journal_that_is_not_used_is_told \
  grep -q "$STATE/worker: .* no profile of a Go program" "$STATE/log/worker.log"
# A forged row would work if it came from root: root's own row is applied.
rm "$STATE/worker/go-rates"
(umask 077 && row >"$STATE/worker/go-rates")
taken_back() { restart && equal "$(number)" 0; }
check a_journal_of_the_workers_own_is_obeyed taken_back
