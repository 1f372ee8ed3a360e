#!/bin/bash
# A host of a fleet that was taken over has one key: with it, it reaches no job,
# profile, process or name of another host, and nothing of the centre but its
# own requests. A centre that was taken over can profile on a host only what the
# host's own stoker.conf allows.
#
# Beside others: it waits for events.
WORKER_CONF='lease = 2m'
HOST_CONF='lease = 2m'
. "$(dirname "$0")/../lib/e2e.sh"
e2e_start
. tests/lib/fleet.sh
leave() {
  local code=$?
  process_stop b
  (exit $code)
  e2e_stop
}
trap leave EXIT
fleet_start || { echo 'not ok the_centre_answers_by_tls'; exit 1; }
host_make a
host_make b "$STATE/bin/demo"
host_join a >/dev/null && host_join b >/dev/null || { echo 'not ok hosts_join'; exit 1; }
db() { as_user sqlite3 -cmd '.timeout 20000' "$STATE/data/stoker.db" "$1"; }
json() { agent "$1" POST "$2" -H 'Content-Type: application/json' -d "$3"; }
bytes() { agent "$1" POST "$2" -H 'Content-Type: application/octet-stream' --data-binary "$3"; }

# --- the key of host a, against host b and the centre ------------------------------
background demo "$STATE/bin/demo"
host_start b
wait_for 20 alive_at_centre b
stoker_cli service add web --exe "$STATE/bin/demo" >/dev/null
on_b() { api GET /api/v1/services/web/processes | jq -e '[.items[].host] == ["b"]'; }
wait_for 30 on_b || echo 'not ok the_service_is_seen_on_b'
json a /agent/poll '{"bootId":"x","version":"1","capabilities":{}}' >/dev/null
id=$(post $P/start '{"service":"web","profileType":"cpu","durationSeconds":300,"host":"b"}' | jq -r .id)
check a_job_of_b_is_not_given_to_a equal "$(json a /agent/poll '{"room":64}' | jq -c '[.jobs, .cancel]')" '[[],[]]'
told='{"jobs":[{"sessionId":"'$id'","attempt":1,"phase":"done","samples":9999}]}'
check a_report_of_a_about_a_job_of_b_is_stale equal "$(json a /agent/poll "$told" | jq -c .stale)" "[\"$id\"]"
untouched() { api GET "$P/$id" | jq -e '.status == "running" and .sampleCount != 9999'; }
check progress_of_a_job_of_b_is_not_changed_by_a untouched
check a_result_of_b_is_not_taken_from_a equal "$(bytes a "/agent/result/$id" $'{}\n' | jq -r .error_code)" UnknownSession
check b_s_name_in_a_body_is_refused equal "$(json a /agent/poll '{"host":"b","room":64}' | jq -r .error_code)" InvalidParameter
json a /agent/poll '{"bootId":"x","processes":[{"tenant":"'"$TENANT"'","service":"web","ordinal":0,"pid":1}],"trees":[]}' >/dev/null
check processes_of_a_are_told_as_a_s equal \
  "$(api GET /api/v1/services/web/processes | jq -c '[.items[].host] | sort')" '["a","b"]'
check a_copy_of_b_is_refused_while_b_polls equal "$(json b /agent/poll '{"bootId":"y","version":"1","room":64,
  "processes":[],"trees":[]}' | jq -r .error_code)" HostCopied
check processes_of_b_are_not_changed_by_its_copy equal \
  "$(api GET /api/v1/services/web/processes | jq -c '[.items[].host] | sort')" '["a","b"]'
for path in /api/v1/services /api/v1/tokens /api/v1/audit "$P/$id" "$P/history?service=web" /metrics; do
  [ "$(agent a GET "$path" -o /dev/null -w '%{http_code}')" = 403 ] || echo "not ok a_worker_s_key_opens_nothing_else: $path"
done
echo 'ok a_worker_s_key_opens_nothing_else'
check a_worker_s_key_is_refused_for_another_tenant equal "$(agent a POST /agent/poll -H 'X-Tenant-ID: other' -H 'Content-Type: application/json' \
  -d '{}' | jq -r .error_code)" TenantForbidden
check a_worker_s_key_makes_no_browser_session equal "$(agent a POST /api/v1/browser-session -o /dev/null -w '%{http_code}')" 403
check a_worker_s_key_does_not_join_again equal "$(json a /agent/join "{\"token\":\"$(<"$STATE/a/agent.key")\",\"host\":\"b\"}" | jq -r .error_code)" \
  Unauthorized
check a_key_for_joining_as_itself_takes_no_name equal \
  "$(json a /agent/join "{\"token\":\"$(join_key thief)\",\"host\":\"b\"}" | jq -r .error_code)" HostTaken

# --- a courier that hangs ---------------------------------------------------------
courier() { pgrep -nP "$(<"$STATE/pid/b")" -x stoker-courier; }
hung=$(courier)
kill -STOP "$hung"
is_replaced() { local now; now=$(courier) && [ "$now" != "$hung" ]; }
check a_courier_that_hangs_is_started_anew wait_for 60 is_replaced
check the_log_says_that_the_courier_did_not_answer grep -q 'the courier has not answered for' "$STATE/log/b.log"

# --- bytes that are not a profile ---------------------------------------------
post $P/start '{"service":"web","profileType":"cpu","durationSeconds":30,"host":"a"}' -o "$STATE/start"
mine=$(jq -r .id "$STATE/start")
json a /agent/poll '{"room":1}' >/dev/null
line() { # profileBytes
  printf '{"attempt":1,"state":"done","errorCode":"","errorMessage":"","beganAgoMs":0,"endedAgoMs":0,"durationMs":1,"sampleCount":1,"rate":1,"topFunctions":[],"quality":{},"profileBytes":%s,"timelineBytes":0}\n' "$1"
}
bomb=$STATE/bomb
head -c 200000000 /dev/zero | gzip -9 >"$bomb.gz"
{ line "$(stat -c %s "$bomb.gz")"; cat "$bomb.gz"; } >"$bomb"
check a_profile_that_inflates_to_hundreds_of_megabytes_is_refused equal \
  "$(bytes a "/agent/result/$mine" "@$bomb" | jq -r .error_code)" PayloadTooLarge
head -c 70000000 /dev/zero >"$bomb"
check a_result_past_every_bound_is_refused equal \
  "$(agent a POST "/agent/result/$mine" -H 'Content-Type: application/octet-stream' -H 'Expect:' -T "$bomb" -o /dev/null -w '%{http_code}')" 413
still() { api GET "$P/$mine" | jq -e '.status == "running"'; }
check refused_results_change_nothing still

# --- a dishonest centre ------------------------------------------------------
install -m 755 "$STATE/bin/demo" "$STATE/bin/secret"
background single "$STATE/bin/secret"
db "UPDATE service SET match_kind = 'exe', match_value = '$STATE/bin/secret' WHERE name = 'web'"
api DELETE "$P/$id" -o /dev/null
finished "$id" >/dev/null
unseen() { ! sqlite3 "$STATE/b/data/stoker.db" 'SELECT cmdline FROM process' | grep -q secret; }
changed() { sqlite3 "$STATE/b/data/stoker.db" 'SELECT match_value FROM service' | grep -q secret; }
db "UPDATE service SET updated_ms = updated_ms + 1 WHERE name = 'web'"
check b_hears_of_the_forged_service wait_for 20 changed
db "CREATE TEMP TABLE one AS SELECT * FROM session WHERE id = '$id';
    UPDATE one SET id = 'sess-forged', status = 'running', completed_ms = 0, sample_count = 0;
    INSERT INTO session SELECT * FROM one;
    CREATE TEMP TABLE task AS SELECT * FROM job WHERE session = '$id';
    UPDATE task SET session = 'sess-forged', state = 'queued', attempt = 0, lease_until_ms = 0,
      cancel_requested = 0, error_code = '', error_message = '';
    INSERT INTO job SELECT * FROM task"
result=$(finished sess-forged)
check a_forged_job_samples_nothing_outside_of_the_scope equal \
  "$(jq -r '.error.error_code + " " + (.sampleCount | tostring)' <<<"$result")" 'ScopeForbidden 0'
check a_program_outside_of_the_scope_is_not_reported unseen
process_stop single
