#!/bin/bash
# Every page of the web application in Chromium, as it looks.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/browser.sh" looks
background demo "$STATE/bin/demo"
service demo "$STATE/bin/demo" || {
  echo "not ok looks: the worker does not see the demo"
  exit 0
}
stoker_cli continuous on demo --types cpu >/dev/null
capture=$(start demo 5) && threads=$(start demo 1 goroutine) &&
  finished "$capture" >/dev/null && finished "$threads" >/dev/null || {
  echo "not ok looks: nothing could be captured"
  exit 0
}
# Prints the begin of the oldest of five windows, in ms.
windows() {
  api GET "$P/history?service=demo&resolution=10s&limit=5&status=completed" |
    jq -er 'select(.items | length == 5) | .items[4].startedAt |
      sub("\\.[0-9]+"; "") | fromdate * 1000'
}
wait_for 120 windows
BEGAN=$(windows) CAPTURE=$capture THREADS=$threads ui tests/ui/looks.mjs
