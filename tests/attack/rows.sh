#!/bin/bash
# An attacker in a process of the API can write any row. The worker trusts no
# row: it profiles nothing outside a tenant's scope, and touches no files but
# its own profiles. The API's user can neither read nor kill the worker's
# processes.
#
# Beside others: it waits for events.
set -u
. tests/lib/e2e.sh
[ "$(id -u)" -eq 0 ] || skip rows 'only root starts the parts as users of their own'
e2e_start shares
background shares "$STATE/bin/shares" 600 1 20
pid=$(<"$STATE/pid/shares")
db() { as_user sqlite3 -cmd '.timeout 20000' "$STATE/data/stoker.db" "$1"; }
key=$(stoker_cli --json token create stranger --role admin --tenant stranger \
  --config "$STATE/stoker.conf" | jq -r .key)
as_stranger() { # method, path, curl's arguments
  curl -sS -X "$1" "http://127.0.0.1:$PORT$2" -H "Authorization: Bearer $key" \
    -H 'Content-Type: application/json' "${@:3}"
}

# --- a process outside of the scope ------------------------------------------
as_stranger POST /api/v1/services -d '{"name":"spy"}' -o /dev/null
db "UPDATE service SET match_kind = 'exe', match_value = '$STATE/bin/shares'
    WHERE tenant = 'stranger'"
service own "$STATE/bin/shares"
check the_tenant_of_the_scope_has_the_process seen own
nothing() { # the stranger's capture got nothing
  jq -e '.status == "failed" and .sampleCount == 0' <<<"$1" >/dev/null || { echo "$1"; return 1; }
}
# Adds the rows that the API would add if it ignored the scope; the service has
# no process yet.
forge() { # session: a capture that is queued
  db "CREATE TEMP TABLE one AS SELECT * FROM session WHERE id = '$mine';
      UPDATE one SET id = '$1', tenant = 'stranger', service = 'spy', status = 'running',
        completed_ms = 0, sample_count = 0;
      INSERT INTO session SELECT * FROM one;
      CREATE TEMP TABLE task AS SELECT * FROM job WHERE session = '$mine';
      UPDATE task SET session = '$1', state = 'queued', attempt = 0, lease_until_ms = 0;
      INSERT INTO job SELECT * FROM task" 2>&1
}
mine=$(start own 1)
finished "$mine" >/dev/null
forged=sess-${mine#sess-}
forged=${forged%????}aaaa
check a_row_can_be_forged equal "$(forge "$forged")" ''
over() { result=$(as_stranger GET "$P/$forged") && jq -e '.status == "failed"' <<<"$result" >/dev/null; }
wait_for 60 over
check a_forged_capture_sees_nothing_outside_of_the_scope nothing "$result"
# Rows about processes are only for people to read: the worker looks for
# itself.
db "UPDATE process SET tenant = 'stranger', service = 'spy'
    WHERE service = 'own'" 2>/dev/null || :
answer=$(as_stranger POST $P/start -d '{"service":"spy","profileType":"cpu","durationSeconds":1}')
second=$(jq -r '.id // empty' <<<"$answer")
if [ -n "$second" ]; then
  forged=$second
  wait_for 60 over
  check a_forged_process_is_not_sampled nothing "$result"
else
  check a_forged_process_is_not_sampled says ServiceNotRunning echo "$answer"
fi

# --- files ---------------------------------------------------------------------
echo kept >"$STATE/worker/kept"
echo kept >"$STATE/data/kept"
chown "$WORKER_USER:$RUN_GROUP" "$STATE/data/kept"
names=('../kept' '../../worker/kept' "$STATE/worker/kept" 'aa/../../kept' '')
api GET "$P/$mine/flamegraph?format=pprof" -o "$STATE/profile.pb.gz"
for name in "${names[@]}"; do
  id=$(api POST "/api/v1/profiling/sessions?service=own&type=cpu" --data-binary \
    @"$STATE/profile.pb.gz" -H 'Content-Type: application/octet-stream' | jq -r '.id // error')
  db "UPDATE blob SET name = '$name' WHERE session = '$id'"
  code=$(status_of GET "$P/$id/flamegraph?format=pprof")
  check "no_profile_is_read_from_elsewhere.${#name}" [ "$code" -ge 400 ]
  status_of DELETE "$P/$id" >/dev/null
done
# A new worker deletes the files of deleted rows.
process_stop worker
worker_start
more=$(wait_for 20 seen own && start own 1)
check captures_go_on equal "$(finished "$more" | jq -r .status)" completed
check no_file_outside_is_removed test -f "$STATE/worker/kept" -a -f "$STATE/data/kept"

# --- processes -------------------------------------------------------------------
parts=("$(<"$STATE/pid/worker")" $(pgrep -P "$(<"$STATE/pid/worker")"))
for part in "${parts[@]}"; do
  # Uses /bin/kill, since the shell's own kill would run as root.
  check "the_api_cannot_end_a_part_of_the_worker.$part" leaves 1 as_user /bin/kill -0 "$part"
  check "the_api_cannot_read_the_memory_of_a_part_of_the_worker.$part" leaves 1 as_user head -c 1 "/proc/$part/mem"
  check "the_api_cannot_list_descriptors_of_a_part_of_the_worker.$part" leaves 2 as_user ls "/proc/$part/fd/"
done
check the_profiled_program_is_untouched test -d "/proc/$pid"
