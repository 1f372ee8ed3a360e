#!/bin/bash
# Captures and windows of a service go to its collector as profiles of
# OpenTelemetry: all of them, to the sample, even while worker and collector
# die; and no answer of a collector does harm.
#
# Beside others: it waits for events.
: "${B:=build}"
TENANT=550e8400,inner
tmp=$(mktemp -d /var/tmp/stoker-collector-XXXXXX)
chmod 755 "$tmp"
WORKER_CONF="
[continuous]
window = 1s
[collector]
allow = 127.0.0.1
header_file = $tmp/headers
retry = 1s
timeout = 3s
waiting = 10
"
. "$(dirname "$0")/../lib/e2e.sh"
. tests/lib/manual.sh
leave() { kill "$collector" 2>/dev/null; e2e_stop; rm -rf "$tmp"; }
collector=
LEAVE=leave
hook=$(free_port)
: >"$tmp/headers"
e2e_start
cat >"$tmp/headers" <<END
$(manual_block stoker-integrations.7 'TENANT HOST' |
  sed "s/^default [^ ]*/550e8400 127.0.0.1:$hook/; s/KEY/of the collector/")
550e8400 127.0.0.1:$PORT Authorization: Bearer $TOKEN
550e8400 127.0.0.1:$PORT X-Tenant-ID: inner
inner 127.0.0.1:$hook Authorization: Bearer of another tenant
END
chmod 600 "$tmp/headers"
mode() { echo "$1" >"$tmp/mode"; }
collect() { python3 tests/lib/collector.py "$hook" "$tmp" & collector=$!; }
collect
said() { grep -c "^$1 " "$tmp/log" 2>/dev/null; }
has_said() { [ "$(said "$1")" -ge "${2:-1}" ]; }
db() { as_user sqlite3 -cmd '.timeout 20000' "$STATE/data/stoker.db" "$1"; }
waiting() { db "SELECT COUNT(*) FROM delivery ${1:+WHERE service = '$1'}"; }
all_sent() { [ "$(waiting "${1:-}")" -eq 0 ]; }
of() { api GET "/api/v1/services/$1" | jq -e "$2"; }
failing() { of demo ".collectorProblems[0].message | test(\"$1\")"; }
metric() { api GET /metrics | sed -n "s/^stoker_collector_$1{.*} //p"; }
counts() { [ "$(metric "$1")" -ge "$2" ]; } # metric, at least; published every 5 s

# Prints id, type and sum of each profile of the requests, each once.
protoc --version >/dev/null || { echo 'not ok protoc_is_there'; exit 1; }
received() { # files
  local f
  for f; do
    protoc -Itests/data --decode=opentelemetry.proto.collector.profiles.v1development.ExportProfilesServiceRequest \
      profiles.proto <"$f" | awk '
      /^    profiles {/ { n++; sum[n] = 0 }
      /^      sample_type {/ { in_type = 1 }
      in_type && /type_strindex:/ { type[n] = $2; in_type = 0 }
      /^        values:/ { sum[n] += $2 }
      /^      profile_id:/ { id[n] = $0 }
      /^  string_table:/ { text[strings++] = $2 }
      END { for (i = 1; i <= n; i++) print id[i], text[type[i]], sum[i] }'
  done | sort -u
}
samples_of() { awk '$(NF - 1) == "\"samples\"" { n += $NF } END { print n + 0 }'; }

background demo "$STATE/bin/demo" 2 3
service demo "$STATE/bin/demo"
stoker_cli service set demo --label version=v7 --label team=web --collector "http://127.0.0.1:$hook" >/dev/null

# --- a capture ----------------------------------------------------------------
id=$(start demo 2 cpu 499)
samples=$(finished "$id" | jq .sampleCount)
check a_capture_is_sent wait_for 20 has_said take
check a_capture_that_was_sent_waits_no_more wait_for 10 all_sent
request=$(ls "$tmp"/*.request)
check a_request_is_protobuf_and_compressed grep -qx \
  'take /v1development/profiles application/x-protobuf gzip Bearer of the collector' "$tmp/log"
check a_request_is_clean_by_the_rules_of_profcheck python3 tests/lib/profcheck.py "$request"
check a_collector_gets_the_capture_s_samples equal "$(received "$request" | samples_of)" "$samples"
resource() {
  protoc -Itests/data --decode=opentelemetry.proto.collector.profiles.v1development.ExportProfilesServiceRequest \
    profiles.proto <"$request" | grep -A5 "key: \"$1\"" | sed -n 's/ *string_value: "\(.*\)"/\1/p' | head -1
}
check the_resource_is_the_service equal "$(resource service.name) $(resource service.version) $(resource team)" 'demo v7 web'
check the_resource_has_its_host test -n "$(resource host.name)"

# --- Stoker as the collector: what it stores is the same ---------------------------
from=$(date +%s)
stoker_cli service add twin --exe "$STATE/bin/demo" --collector "http://127.0.0.1:$PORT/" >/dev/null
id=$(start twin 2 cpu 499)
finished "$id" >/dev/null
check another_installation_takes_a_capture wait_for 20 all_sent twin
inner() { api GET "$P/merge?service=twin&profileType=cpu&from=$((from - 5))&to=$(($(date +%s) + 60))&format=folded" -H 'X-Tenant-ID: inner'; }
outer() { api GET "$P/$id/flamegraph?format=folded"; }
check every_stack_arrives_with_its_samples equal "$(inner | sort | md5sum)" "$(outer | sort | md5sum)"
check a_capture_has_stacks grep -q 'server::work' <<<"$(inner)"
check what_was_pushed_is_not_sent_on all_sent
stoker_cli service set twin --collector '' >/dev/null

# --- windows, while worker and collector die ----------------------------------------
rm -f "$tmp"/*.request
post $P/continuous '{"service":"demo","sampleRate":99}' -o /dev/null
requests() { [ "$(ls "$tmp" | grep -c request)" -ge "$1" ]; }
check windows_are_sent wait_for 20 requests 3
mode 503
check a_collector_that_fails_is_reported wait_for 20 failing 'answers with 503'
check the_command_shows_it says 'answers with 503' stoker_cli service show demo
kill -KILL "$collector" "$(<"$STATE/pid/worker")"
wait_for 10 process_gone "$(<"$STATE/pid/worker")"
check windows_wait_for_their_collector test "$(waiting demo)" -ge 1
worker_start
check a_collector_that_is_away_is_reported wait_for 30 failing 'nothing answers there'
api DELETE "$P/continuous/demo" -o /dev/null
mode take
collect
check what_waited_is_sent wait_for 60 all_sent demo
# No window is lost or counted twice: receivers recognize repetitions by their
# id.
stored() { db "SELECT SUM(sample_count) FROM profile_window w JOIN series s ON s.id = w.series
  WHERE s.service = 'demo' AND s.host <> 'ingest' AND level = 0"; }
check every_sample_of_every_window_arrives equal "$(received "$tmp"/*.request | samples_of)" "$(stored)"
no_problem() { of demo '.collectorProblems == []'; }
check a_collector_that_works_again_is_no_problem wait_for 30 no_problem

check requests_of_windows_are_clean_too python3 tests/lib/profcheck.py "$tmp"/*.request

# --- answers of all kinds -------------------------------------------------------
capture() { finished "$(start demo 1 cpu 499)" >/dev/null; }
mode later
capture
check a_collector_may_ask_for_patience wait_for 20 has_said later
mode take
check and_gets_the_profile_later wait_for 30 all_sent demo
mode partial
capture
check what_a_collector_rejects_is_reported wait_for 30 failing 'the collector rejected 2 profiles: too old'
check what_a_collector_rejects_is_not_sent_again all_sent demo
mode page
capture
check a_server_that_is_no_collector_is_reported wait_for 30 failing 'not as a collector does'
check it_does_not_swallow_the_profile test "$(waiting demo)" -eq 1
mode lead
check a_redirect_is_refused wait_for 30 failing 'answers with 307'
check a_redirect_is_not_followed leaves 1 grep -q elsewhere "$tmp/log"
mode 400
capture
check what_a_collector_refuses_is_dropped wait_for 30 eval 'failing "answers with 400; 2 profiles were dropped" && all_sent demo'
mode flood
capture
check an_endless_answer_is_left wait_for 30 failing 'larger than allowed'
mode silent
check a_silent_collector_is_left wait_for 60 failing 'no answer in time'
mode take
check other_services_are_served_meanwhile equal "$(finished "$(start twin 1)" | jq -r .status)" completed
check the_profile_arrives_in_the_end wait_for 60 all_sent demo
check metrics_count_what_was_sent_and_dropped wait_for 20 eval 'counts sent_total 3 && counts dropped_total 2 && counts rejected_total 2 && counts failures_total 5 && counts waiting 0'

# --- a queue that is full, and an address that is not allowed --------------------
mode 503
db "WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 30)
  INSERT INTO delivery SELECT 'sess-gone' || value, s.host, '550e8400', 'demo', 1000 * value, 0
  FROM n, (SELECT host FROM worker) s"
bounded() { [ "$(waiting demo)" -le 10 ]; }
check a_queue_has_a_bound wait_for 30 bounded
mode take
check profiles_that_are_gone_are_dropped wait_for 60 all_sent demo
check an_address_that_is_not_allowed_is_refused says 'no collector at 192.0.2.1' \
  stoker_cli service set demo --collector http://192.0.2.1/
db "UPDATE service SET collector = 'http://192.0.2.1/', updated_ms = updated_ms + 1 WHERE name = 'demo'"
capture
check an_address_that_is_not_allowed_gets_nothing wait_for 30 failing 'not one that configuration allows'
check a_service_without_a_collector_has_no_queue eval \
  'stoker_cli service set demo --collector "" >/dev/null && wait_for 30 all_sent demo'
