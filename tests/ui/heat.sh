#!/bin/bash
# The heat map of a capture, in Chromium.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/browser.sh" heat
background demo "$STATE/bin/demo"
service demo "$STATE/bin/demo" || {
  echo "not ok heat: the worker does not see the demo"
  exit 0
}
id=$(start demo 4) && finished "$id" >/dev/null &&
  upload=$(printf 'main;work 7\n' |
    api POST '/api/v1/profiling/sessions?service=demo&type=cpu' --data-binary @- \
      -H 'Content-Type: text/plain' | jq -r '.sessionId // error') || {
  echo "not ok heat: nothing could be captured"
  exit 0
}
ID=$id UPLOAD=$upload ui tests/ui/heat.mjs
