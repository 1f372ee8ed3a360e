#!/bin/bash
# Every page of the web application in Chromium, as it looks.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/browser.sh" looks
background demo "$STATE/bin/demo" 3 3
service demo "$STATE/bin/demo" || {
  echo "not ok looks: the worker does not see the demo"
  exit 0
}
stoker_cli continuous on demo --types cpu >/dev/null
capture=$(start demo 5 cpu 499) && threads=$(start demo 1 goroutine) &&
  finished "$capture" >/dev/null && finished "$threads" >/dev/null || {
  echo "not ok looks: nothing could be captured"
  exit 0
}
# Two minutes of a service: in the second one a function costs twice as much.
began=$(($(date +%s) / 60 * 60 - 240))
for step in {0..11}; do
  printf 'main;work 900\nmain;twice %d\n' $((step < 6 ? 300 : 600)) |
    api POST "/ingest?name=steps&from=$((began + step * 10))&until=$((began + step * 10 + 10))&sampleRate=100&format=folded" \
      -f -o /dev/null --data-binary @- -H 'Content-Type: text/plain' || {
    echo "not ok looks: nothing could be pushed"
    exit 0
  }
done
BEGAN=${began}000 CAPTURE=$capture THREADS=$threads ui tests/ui/looks.mjs
