#!/bin/bash
# Keepers of a database that API hosts share: one works, and another stands by
# and takes over. Pushes of clients are rolled up and removed without any
# worker.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
. tests/lib/pg.sh
. tests/lib/groups.sh
[ -n "$pg_bin" ] || { echo 'skip keeper: PostgreSQL is not installed'; exit 0; }
POOL=2 HEAVY=1
e2e_start
leave() {
  process_stop one
  process_stop two
  [ -z "${group-}" ] || rmdir "$group" || echo 'not ok no_process_is_left_in_its_group'
  pg_stop
  e2e_stop
}
trap leave EXIT
process_stop worker
process_stop api
pg_start "$STATE" || { echo "not ok a_server_starts: $(tail -n 1 "$STATE/pg/log")"; exit 1; }
sql() { pg_run psql -h "$STATE/pg" -U stoker -d postgres -AtX -c "$1"; }
cat >>"$STATE/stoker.conf" <<CONF
[store]
database = postgresql:///postgres?host=$STATE/pg&user=stoker
bytes = db
[keeper]
lease = 3s
CONF
as_user "$STATE/bin/stoker" migrate --config "$STATE/stoker.conf" >/dev/null || exit 1
rm "$STATE/token"
stack_token
TOKEN=$(<"$STATE/token")
api_start
wait_for 20 curl -fsS -o /dev/null "http://127.0.0.1:$PORT/healthz"

as=()
[ "$(id -u)" -ne 0 ] || as=(setpriv --reuid "$RUN_USER" --regid "$RUN_GROUP" --clear-groups --)
keeper_start() { background "$1" "${as[@]}" "$STATE/bin/stoker-api" --keeper --config "$STATE/stoker.conf"; }
logged() { grep -q "$2" "$STATE/log/$1.log"; }
leads() { logged "$1" 'this keeper holds the lease'; }
alive() { grep -q "^stoker_keeper_alive $1\$" <(api GET /metrics); }
doctor() { as_user "$STATE/bin/stoker" doctor --config "$STATE/stoker.conf"; }

check doctor_reports_a_missing_keeper says 'no keeper runs' doctor
keeper_start one
check the_first_keeper_has_the_lease wait_for 20 leads one
keeper_start two
check the_second_keeper_stands_by wait_for 20 logged two 'stands by'
check doctor_names_the_host_of_the_keeper says 'its keeper runs on' doctor

now=$(($(date +%s) / 60 * 60))
for ((at = now - 9000; at < now - 5400; at += 120)); do
  printf 'main;f 3\n' | api POST "/ingest?name=shop&from=${at}000000000&until=$((at + 10))000000000" \
    -H 'Content-Type: text/plain' --data-binary @- -o /dev/null
done
samples() { api GET "$P/merge?service=shop&profileType=cpu&from=$((now - 10000))&to=$now" | jq "$1"; }
added_up() { [ "$(sql 'SELECT COUNT(*) FROM profile_window WHERE level = 2')" -ge 1 ] && [ "$(samples .sampleCount)" = 90 ]; }
check pushes_are_added_up_to_hours wait_for 60 added_up
check windows_are_in_no_file equal "$(find "$STATE/data/segments" -type f | wc -l)" 0

process_stop one KILL
check the_second_keeper_takes_over_when_the_first_is_killed wait_for 20 leads two
keeper_start one
check a_keeper_that_comes_back_stands_by wait_for 20 logged one 'stands by'
: >"$STATE/log/one.log"
: >"$STATE/log/two.log"
kill -STOP "$(<"$STATE/pid/two")"
check the_keeper_that_stands_by_takes_over_when_the_other_is_stopped wait_for 20 leads one
: >"$STATE/log/one.log"
kill -CONT "$(<"$STATE/pid/two")"
check a_keeper_that_was_stopped_does_not_go_on_with_the_lease wait_for 20 logged two 'stands by'
process_stop one
check a_keeper_that_was_stopped_takes_over_again wait_for 20 leads two
keeper_start one
wait_for 20 logged one 'stands by'
: >"$STATE/log/one.log"
began=$(date +%s)
process_stop two
check a_keeper_that_is_stopped_gives_up_the_lease wait_for 20 leads one
check the_next_keeper_has_the_lease_at_once test $(($(date +%s) - began)) -le 3
check metrics_report_a_keeper wait_for 5 alive 1

id=$(printf 'main;w 5\n' | stoker_cli upload shop - --rate 100 | sed 's/.*: //')
stoker_cli remove "$id" >/dev/null
dropped() { [ "$(sql "SELECT COUNT(*) FROM blob WHERE deleted_ms > 0")" = 0 ]; }
check bytes_of_removed_profiles_are_dropped wait_for 40 dropped
stoker_cli service remove shop >/dev/null
emptied() { [ "$(sql 'SELECT COUNT(*) FROM blob_bytes')" = 0 ]; }
check a_removed_service_leaves_no_bytes wait_for 90 emptied

# Profiles whose stacks all differ take most memory when they are added up.
# The keeper is one process; its children are of its group.
if group=$(memory_group keeper "$(sed -n 's/^MemoryMax=//p' systemd/stoker-keeper.service)"); then
  one=$(<"$STATE/pid/one")
  echo "$one" >"$group/cgroup.procs"
  for i in {0..2}; do
    "$B/tests/tools/wide" "$i" 50000 36 20000 >"$STATE/wide"
    at=$((now - 9000 + i * 120))
    api POST "/ingest?name=wide&format=pprof&from=${at}000000000&until=$((at + 10))000000000" \
      -H 'Content-Type: application/octet-stream' --data-binary "@$STATE/wide" -o /dev/null
  done
  are_added_up() { [ "$(sql 'SELECT COUNT(*) FROM profile_window WHERE level = 2')" -ge 1 ]; }
  check profiles_of_many_stacks_are_added_up_within_the_memory_of_the_unit wait_for 120 are_added_up
  check no_keeper_is_ended_for_its_memory equal "$(ended "$group") $(<"$STATE/pid/one")" "0 $one"
else
  echo 'skip profiles_of_many_stacks_are_added_up_within_the_memory_of_the_unit: this machine limits no memory'
fi

process_stop one
check metrics_report_that_no_keeper_is_alive wait_for 20 alive 0
