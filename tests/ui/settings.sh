#!/bin/bash
# The settings of a service in Chromium: adding and changing it, triggers,
# continuous profiling, baselines, and uploads.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/browser.sh" settings
background demo "$STATE/bin/demo" 3 3
service demo "$STATE/bin/demo" || {
  echo "not ok settings: the worker does not see the demo"
  exit 0
}
id=$(start demo 2 cpu 499) && finished "$id" >/dev/null || {
  echo "not ok settings: nothing could be captured"
  exit 0
}
EXE=$STATE/bin/demo ID=$id ui tests/ui/settings.mjs
