#!/bin/bash
# A service of two hosts, each with a worker of its own, in Chromium.
#
# Beside others: it waits for events.
# A worker that a busy machine silences for a while is not taken for dead here.
WORKER_CONF='lease = 2m'
. "$(dirname "$0")/../lib/browser.sh" hosts
. tests/lib/two_hosts.sh

service both "$STATE/bin/demo" && service alone "$STATE/bin/single" &&
  wait_for 15 runs_on both 2 || {
  echo 'not ok hosts: the workers do not see the programs'
  exit 0
}
FIRST=$(hostname) ui tests/ui/hosts.mjs
