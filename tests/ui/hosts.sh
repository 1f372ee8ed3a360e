#!/bin/bash
# A service of two hosts, each with a worker of its own, in Chromium.
#
# Beside others: it waits for events.
# A worker that a busy machine silences for a while is not taken for dead here.
WORKER_CONF='lease = 2m'
. "$(dirname "$0")/../lib/browser.sh" hosts
# Both workers see this machine. The scope of the second one holds one program
# only, so that the other program is on the first host alone.
install -m 755 "$STATE/bin/demo" "$STATE/bin/single"
install -d -m 700 "$STATE/worker2"
sed -e "s|^state_dir = .*|state_dir = $STATE/worker2\nhost = second|" \
  -e "s|^exe = .*|exe = $STATE/bin/demo|" -e '/^units = /d; /^uids = /d' "$STATE/stoker.conf" >"$STATE/second.conf"
background worker2 "$STATE/bin/stoker-worker" --config "$STATE/second.conf"
background demo "$STATE/bin/demo"
background single "$STATE/bin/single"
leave() { process_stop worker2; process_stop single; e2e_stop; }
trap leave EXIT

runs_on() { api GET "/api/v1/services/$1/processes" | jq -e "[.items[].host] | unique | length == $2"; }
service both "$STATE/bin/demo" && service alone "$STATE/bin/single" &&
  wait_for 15 runs_on both 2 || {
  echo 'not ok hosts: the workers do not see the programs'
  exit 0
}
FIRST=$(hostname) ui tests/ui/hosts.mjs
