#!/bin/bash
# The web application in Chromium, with a whole installation.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/browser.sh" app
background demo "$STATE/bin/demo"
service demo "$STATE/bin/demo" || {
  echo "not ok app: the worker does not see the demo"
  exit 0
}
stoker_cli service set demo --allow sourceCode >/dev/null
DEMO=$(<"$STATE/pid/demo") ui tests/ui/app.mjs
