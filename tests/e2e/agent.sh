#!/bin/bash
# Hosts that need nothing but HTTPS outwards: captures are asked for at the
# centre, taken on the host, and opened at the centre; whatever ends in between.
#
# Beside others: it waits for events.
# A worker that a busy machine silences for a while is not taken for dead here.
WORKER_CONF='lease = 6s'
HOST_CONF='lease = 2m'
. "$(dirname "$0")/../lib/e2e.sh"
e2e_start
. tests/lib/fleet.sh
install -m 755 "$STATE/bin/demo" "$STATE/bin/single"
leave() {
  local code=$? name
  [ $code -eq 0 ] || tail -n 20 "$STATE"/log/{a,b}.log
  for name in a b single; do process_stop "$name"; done
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
check a_key_of_another_host_is_refused says 'host: expected z' join_a
check b_joins says "This host is 'b'" host_join b
check another_host_s_name_is_not_taken says "a worker of the name 'b' is known" \
  "$STATE/bin/stoker" join "$CENTRE_URL" --config "$STATE/b/stoker.conf" --token "$(join_key thief)"

background demo "$STATE/bin/demo"
background single "$STATE/bin/single"
host_start a
host_start b
wait_for 20 alive_at_centre a && wait_for 20 alive_at_centre b || { echo 'not ok hosts_are_alive_at_the_centre'; exit 1; }
echo 'ok hosts_are_alive_at_the_centre'

# --- captures -----------------------------------------------------------------
stoker_cli service add web --exe "$STATE/bin/demo" >/dev/null
runs_on() { api GET "/api/v1/services/$1/processes" | jq -e --arg h "$2" '[.items[].host] | index($h) != null'; }
check a_service_of_the_centre_is_seen_on_its_hosts eval 'wait_for 20 runs_on web a && wait_for 20 runs_on web b'

begin() { # host, seconds: id
  api POST $P/start -H 'Content-Type: application/json' \
    -d "{\"service\":\"web\",\"profileType\":\"cpu\",\"durationSeconds\":$2,\"host\":\"$1\"}" | jq -r '.id // .'
}
running() { api GET "$P/$1" | jq -e '.phase == "capturing" and .sampleCount > 0'; }
first=$(begin a 2)
ended=$(finished "$first")
check a_capture_runs_on_the_host_that_is_named equal "$(jq -r '.status + " " + .host' <<<"$ended")" 'completed a'
check its_top_function_is_the_program_s says matmul jq -r '.topFunctions[0].funcName' <<<"$ended"
top_of() { api GET "$P/$1/flamegraph?format=folded" | awk '{n=split($1,f,";")} /;/ {print f[n]}' | sort | uniq -c | sort -rn; }
check its_profile_opens_at_the_centre says matmul top_of "$first"
check its_time_is_when_it_was_taken jq -e '.durationSeconds == 2 and .quality.samplesKept > 0' <<<"$ended"
empty() { [ "$(sqlite3 "$STATE/a/data/stoker.db" 'SELECT (SELECT COUNT(*) FROM agent_job) + (SELECT COUNT(*) FROM session)')" = 0 ]; }
check nothing_of_it_is_left_on_the_host wait_for 10 empty
