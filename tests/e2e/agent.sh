#!/bin/bash
# Hosts that need only outgoing HTTPS: captures are requested at the centre,
# taken on the host, and opened at the centre, even if a process ends in
# between.
#
# Beside others: it waits for events. A worker that a busy machine silences for
# a while is not taken for dead here.
WORKER_CONF='lease = 6s'
HOST_CONF='lease = 2m'
. "$(dirname "$0")/../lib/e2e.sh"
e2e_start
. tests/lib/fleet.sh
install -m 755 "$STATE/bin/demo" "$STATE/bin/single"
leave() {
  local code=$? name
  [ $code -eq 0 ] || tail -n 20 "$STATE"/log/{a,b}.log
  for name in a b single bare; do process_stop "$name"; done
  (exit $code)
  e2e_stop
}
trap leave EXIT
fleet_start || { echo 'not ok the_centre_answers_by_tls'; exit 1; }

# --- joining ------------------------------------------------------------------
host_make a
host_make b "$STATE/bin/demo"
key=$(join_key once)
join_a() { "$STATE/bin/stoker" join "$CENTRE_URL" --config "$STATE/a/stoker.conf" <<<"$key"; }
check a_host_joins says "This host is 'a'" join_a
check a_key_for_joining_works_once says 'the key was used' join_a
check the_worker_s_key_is_root_s equal "$(stat -c %a "$STATE/a/agent.key")" 600
check join_sets_the_address equal "$("$STATE/bin/stoker" config agent.url --config "$STATE/a/stoker.conf")" "$CENTRE_URL"
key=$(join_key other --host z)
check a_key_of_another_host_is_refused says "the key is for a host named 'z'" join_a
check a_second_host_joins says "This host is 'b'" host_join b
check a_host_that_is_known_is_not_replaced says "the name 'b' belongs to another worker" \
  "$STATE/bin/stoker" join "$CENTRE_URL" --config "$STATE/b/stoker.conf" --token "$(join_key thief)"

background demo "$STATE/bin/demo" 2 6
background single "$STATE/bin/single" 1 1
host_start a
host_start b
wait_for 20 alive_at_centre a && wait_for 20 alive_at_centre b || { echo 'not ok hosts_are_alive_at_the_centre'; exit 1; }
echo 'ok hosts_are_alive_at_the_centre'

# --- captures -----------------------------------------------------------------
stoker_cli service add web --exe "$STATE/bin/demo" >/dev/null
runs_on() { api GET "/api/v1/services/$1/processes" | jq -e --arg h "$2" '[.items[].host] | index($h) != null'; }
check a_service_of_the_centre_is_seen_on_its_hosts eval 'wait_for 20 runs_on web a && wait_for 20 runs_on web b'

begun() { # host, seconds: $id; a host that was started again is not known at once
  id=$(post $P/start \
    "{\"service\":\"web\",\"profileType\":\"cpu\",\"durationSeconds\":$2,\"sampleRate\":499,\"host\":\"$1\"}" | jq -r '.id // empty') && [ "$id" ]
}
begin() { wait_for 30 begun "$@" && echo "$id"; } # host, seconds: id
running() { # id, least progress
  api GET "$P/$1" | jq -e ".phase == \"capturing\" and .progress > ${2:-0}"
}
first=$(begin a 2)
ended=$(finished "$first")
check a_capture_runs_on_the_host_that_is_named equal "$(jq -r '.status + " " + .host' <<<"$ended")" 'completed a'
check the_top_functions_of_a_capture_on_a_host_are_the_program_s says matmul jq -r '.topFunctions[:3][].funcName' <<<"$ended"
top_of() { api GET "$P/$1/flamegraph?format=folded" | awk '{n=split($1,f,";")} /;/ {print f[n]}' | sort | uniq -c | sort -rn; }
check a_profile_taken_on_a_host_opens_at_the_centre says matmul top_of "$first"
check a_profile_taken_on_a_host_has_its_duration_and_samples jq -e '.durationSeconds == 2 and .quality.samplesKept > 0' <<<"$ended"
empty() { [ "$(sqlite3 "$STATE/a/data/stoker.db" 'SELECT (SELECT COUNT(*) FROM agent_job) + (SELECT COUNT(*) FROM session)')" = 0 ]; }
check nothing_of_a_capture_is_left_on_the_host wait_for 10 empty

# A program without symbols, whose debug file only the centre has. A worker
# that shares the centre's store looks up the names.
gcc -O2 -g -fomit-frame-pointer -Wl,--build-id -o "$STATE/bare.whole" tests/targets/shares.c -lpthread
strip -o "$STATE/bin/bare" "$STATE/bare.whole"
background bare "$STATE/bin/bare" 600 2 20
stoker_cli service add bare --exe "$STATE/bin/bare" >/dev/null
check a_program_without_symbols_is_seen_on_its_hosts wait_for 20 runs_on bare a
take() { post $P/start '{"service":"bare","profileType":"cpu","durationSeconds":1,"host":"a"}' | jq -r '.id // .'; }
has_name() { api GET "$P/$1/flamegraph?format=folded" | grep -q 'main;spin;share_half \|;share_half '; }
old=$(take)
finished "$old" >/dev/null
check a_capture_of_a_host_lacks_names says 'bare+0x' top_of "$old"
stoker_cli debuginfo push "$STATE/bare.whole" >/dev/null
worker_start
check a_debug_file_that_was_pushed_names_a_capture_of_a_host wait_for 20 has_name "$old"
new=$(take)
finished "$new" >/dev/null
check a_later_capture_of_a_host_is_named_as_well wait_for 20 has_name "$new"
files_of_a() { sqlite3 "$STATE/a/data/stoker.db" 'SELECT COUNT(*) FROM debug_file'; }
check a_host_gets_no_debug_files equal "$(files_of_a)" 0
check a_capture_of_a_host_is_named_on_demand stoker_cli symbolize "$new"
process_stop worker
process_stop bare

id=$(begin a 60)
wait_for 30 running "$id" 0.02
check progress_comes_while_a_capture_runs running "$id"
check a_host_sends_no_result_of_another_host equal "$(agent b POST "/agent/result/$id" -H 'Content-Type: application/octet-stream' \
  --data-binary $'{}\n' | jq -r .error_code)" UnknownSession
api DELETE "$P/$id" -o /dev/null
check a_capture_is_cancelled_at_the_centre equal "$(finished "$id" | jq -r '.phase + " " + .error.error_code')" \
  'cancelled Cancelled'
check samples_of_a_cancelled_capture_are_kept says matmul top_of "$id"
# The centre completes the capture when the command has ended.
commanded() {
  XDG_CONFIG_HOME=$STATE/home leaves 3 stoker_cli run nightly --command --wait-for-process 60s --rate 999 -- \
    mawk 'BEGIN { for (i = 0; i < 9000000; i++) n += i; exit 3 }' &&
    stoker_cli --json sessions --service nightly |
    jq -e '.[0] | .host == "a" and .phase == "done" and .durationSeconds < 60 and .sampleCount > 50' >/dev/null
}
check a_command_on_a_host_is_profiled_by_its_worker commanded

# --- what a key may say --------------------------------------------------------
poll() { agent "$1" POST /agent/poll -H 'Content-Type: application/json' -d "$2"; }
check a_body_that_names_another_host_is_refused equal "$(poll b '{"host":"a"}' | jq -r '.error_code + " " + .details.parameter')" \
  'InvalidParameter host'
check a_worker_s_key_opens_nothing_else equal "$(agent a GET /api/v1/services | jq -r .error_code)" Forbidden
check no_other_key_polls equal "$(post /agent/poll '{}' | jq -r .error_code)" Forbidden

# --- scope --------------------------------------------------------------------
stoker_cli service add alone --exe "$STATE/bin/single" --host b >/dev/null
refused() {
  post $P/start '{"service":"alone","profileType":"cpu","durationSeconds":1}' | jq -e '.error_code == "ScopeForbidden"'
}
check a_host_refuses_what_its_scope_does_not_hold wait_for 20 refused
db() { as_user sqlite3 -cmd '.timeout 20000' "$STATE/data/stoker.db" "$1"; }
db "DELETE FROM process WHERE service = 'web'"
check processes_whose_rows_are_lost_are_published_again wait_for 100 eval 'runs_on web a && runs_on web b'
# A dishonest centre queues the job anyway.
db "CREATE TEMP TABLE one AS SELECT * FROM session WHERE id = '$first';
    UPDATE one SET id = 'sess-forged', service = 'alone', host = 'b', status = 'running', completed_ms = 0;
    INSERT INTO session SELECT * FROM one;
    CREATE TEMP TABLE task AS SELECT * FROM job WHERE session = '$first';
    UPDATE task SET session = 'sess-forged', host = 'b', state = 'queued', attempt = 0, lease_until_ms = 0;
    INSERT INTO job SELECT * FROM task"
check a_job_outside_of_the_scope_fails_on_the_host equal "$(finished sess-forged | jq -r .error.error_code)" ScopeForbidden
check the_error_names_the_line_of_the_scope says "of b: exe = $STATE/bin/single in [scope.$TENANT]" \
  jq -r .error.message <<<"$(api GET $P/sess-forged)"

# --- a centre that is away ------------------------------------------------------
id=$(begin a 15)
wait_for 30 running "$id"
process_stop nginx
process_stop api
ended_here() { [ "$(sqlite3 "$STATE/a/data/stoker.db" "SELECT status FROM session WHERE id = '$id'")" = completed ]; }
check a_capture_ends_while_the_centre_is_away wait_for 60 ended_here
check the_host_says_that_nobody_answers wait_for 20 grep -q 'centre: no answer' "$STATE/log/a.log"
check doctor_says_that_the_centre_does_not_answer says "can't reach $CENTRE_URL" "$STATE/bin/stoker" doctor --config "$STATE/a/stoker.conf"
api_start
nginx_start
wait_for 15 curl -fsS -o /dev/null "http://127.0.0.1:$PORT/healthz"
ended=$(finished "$id")
check a_result_arrives_when_the_centre_is_back equal "$(jq -r .status <<<"$ended")" completed
check a_result_that_arrives_late_has_its_own_duration equal "$(jq -r .durationSeconds <<<"$ended")" 15
check doctor_says_that_the_centre_answers says 'accepts the key' "$STATE/bin/stoker" doctor --config "$STATE/a/stoker.conf"

# --- a worker that is killed -----------------------------------------------------
id=$(begin a 5)
wait_for 30 running "$id"
host_stop a KILL
host_start a
ended=$(finished "$id")
check a_short_capture_is_taken_again_after_a_kill equal "$(jq -r .status <<<"$ended")" completed
id=$(begin a 60)
wait_for 30 running "$id"
checkpoint() { [ "$(sqlite3 "$STATE/a/data/stoker.db" "SELECT COUNT(*) FROM blob WHERE session = '$id'")" -gt 0 ]; }
wait_for 60 checkpoint
host_stop a KILL
host_start a
ended=$(finished "$id")
check a_long_capture_fails_after_a_kill equal "$(jq -r '.error.error_code' <<<"$ended")" WorkerDied
check the_checkpoint_of_a_killed_capture_opens_at_the_centre wait_for 20 says matmul top_of "$id"
courier() { pgrep -P "$(<"$STATE/pid/a")" -f '' | while read -r p; do
  [ "$(<"/proc/$p/comm")" = stoker-courier ] && echo "$p"; done; }
id=$(begin a 5)
wait_for 30 running "$id"
kill -KILL "$(courier)"
check a_courier_that_is_killed_loses_nothing equal "$(finished "$id" | jq -r .status)" completed

# --- a key that is revoked --------------------------------------------------------
id=$(begin a 10)
wait_for 30 running "$id"
token=$(api GET '/api/v1/tokens?limit=100' | jq -r '.items[] | select(.host == "a" and .role == "worker" and .revokedAt == null).id')
api DELETE "/api/v1/tokens/$token" -o /dev/null
check a_worker_whose_key_is_revoked_logs_it wait_for 30 grep -q "centre: it refuses this host's key (401" "$STATE/log/a.log"
wait_for 60 ended_here
check doctor_names_the_command_that_replaces_a_revoked_key says "stoker join $CENTRE_URL" "$STATE/bin/stoker" doctor --config "$STATE/a/stoker.conf"
check a_profile_is_kept_on_a_host_whose_key_is_revoked ended_here
host_join a >/dev/null
host_stop a
host_start a
check a_host_with_a_new_key_sends_what_it_kept equal "$(finished "$id" | jq -r .status)" completed
check a_host_with_a_new_key_sends_the_timeline equal "$(status_of GET "$P/$id/timeline")" 200
check nothing_is_left_on_a_host_that_has_sent_everything wait_for 20 empty
