#!/bin/bash
# A service of two hosts, each with a worker, in Chromium.
#
# Beside others: it waits for events.
# A worker that a busy machine silences for a while is not taken for dead here.
WORKER_CONF='lease = 2m'
. "$(dirname "$0")/../lib/browser.sh" hosts
. tests/lib/two_hosts.sh

service both "$STATE/bin/demo" && service alone "$STATE/bin/single" &&
  wait_for 40 runs_on both 2 || {
  echo 'not ok hosts: the workers do not see the programs'
  exit 0
}
# Adds a host of a fleet, as its last poll left it.
now=$(date +%s)000
as_user sqlite3 -cmd '.timeout 20000' "$STATE/data/stoker.db" "
  INSERT INTO worker (host, boot_id, version, pid, capabilities, started_ms, heartbeat_ms, alive_until_ms, tenants,
    told_ms, clock_ms, waiting_windows, waiting_bytes, waiting_results, waiting_since_ms)
  VALUES ('far', 'b', '1', 1, '{}', $now, $now, $now + 600000, '$TENANT', $now, -3600, 12, 3 << 20, 2, $now - 7300000);
  INSERT INTO block_cursor (tenant, host, tier, end_ms)
  VALUES ('$TENANT', 'far', 1, $now - 7300000), ('$TENANT', 'far', 2, $now - 14600000)" >/dev/null
FIRST=$(hostname) ui tests/ui/hosts.mjs
