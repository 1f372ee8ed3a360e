#!/bin/bash
# Two hosts, each with a worker: a start finds the host where a service runs,
# needs a name if there are several, and can capture on all.
#
# Beside others: it waits for events. A worker that a busy machine silences for
# a while is not taken for dead here.
WORKER_CONF='lease = 2m'
. "$(dirname "$0")/../lib/e2e.sh"
e2e_start
. tests/lib/two_hosts.sh

first=$(hostname)
alive() { api GET /api/v1/workers | jq -e "[.items[] | select(.alive)] | length == $1"; }
wait_for 15 alive 2 || { echo 'not ok two_workers_are_alive'; exit 1; }
rival() { api GET /api/v1/checks | jq -e '.items[] | select(.check == "rivals" and .verdict == "warning")
  | (.fix | startswith("kill ")) and (.found | test("as host (second|'"$first"'):"))'; }
check a_second_worker_on_one_machine_is_a_warning_with_its_end wait_for 60 rival
service both "$STATE/bin/demo" && service alone "$STATE/bin/single" || exit 1
wait_for 15 runs_on both 2
check a_service_is_seen_on_each_host equal "$(api GET /api/v1/services/both/processes | jq -c '[.items[].host] | unique')" \
  "$(jq -nc --arg f "$first" '[$f, "second"] | sort')"

begin() { # JSON members: the reply
  post $P/start "{\"profileType\":\"cpu\",\"durationSeconds\":1,$1}"
}
ends() { finished "$1" | jq -r '.status + " " + .host'; } # id

check a_service_on_one_host_is_found_among_two equal \
  "$(ends "$(begin '"service":"alone"' | jq -r .id)")" "completed $first"
check a_service_on_two_hosts_needs_a_name equal "$(begin '"service":"both"' | jq -r .error_code)" SeveralHosts
check a_named_host_takes_the_profile equal \
  "$(ends "$(begin '"service":"both","host":"second"' | jq -r .id)")" 'completed second'

all=$(begin '"service":"both","host":"*"')
check everywhere_is_one_profile_a_host equal "$(jq -c '[.started[].host]' <<<"$all")" \
  "$(jq -nc --arg f "$first" '[$f, "second"] | sort')"
ends_of_all() { # reply to a start that named several hosts
  local id
  for id in $(jq -r '.started[].id' <<<"$1"); do ends "$id"; done | sort
}
check a_capture_everywhere_is_taken_by_each_host equal "$(ends_of_all "$all")" \
  "$(printf 'completed %s\n' "$first" second | sort)"

all=$(mktemp)
stoker_cli run both --seconds 1s --host '*' --wait >"$all" 2>&1
check the_command_line_shows_the_first_host says "$first:" cat "$all"
check the_command_line_shows_the_second_host says second: cat "$all"
rm -f "$all"
check the_command_line_names_the_option says --host stoker_cli run both --seconds 1s
