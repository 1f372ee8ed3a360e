#!/bin/bash
# Pages in Firefox, with a whole installation: they are drawn and fit, the
# browser reports no problem, and a worker thread makes trees there, too.
#
# Beside others: it waits for events.
firefox=$(command -v firefox-esr || command -v firefox) || {
  echo "skip firefox: no firefox"
  exit 0
}
. "$(dirname "$0")/../lib/browser.sh" firefox
background demo "$STATE/bin/demo" 3 3
service demo "$STATE/bin/demo" && capture=$(start demo 3 cpu 499) && threads=$(start demo 1 goroutine) &&
  finished "$capture" >/dev/null && finished "$threads" >/dev/null || {
  echo "not ok firefox: nothing could be captured"
  exit 0
}
rest demo
until=$(date +%s)
awk 'BEGIN { for (i = 0; i < 60000; i++) printf "main;step_%d;leaf_%d 1\n", i % 300, i }' |
  api POST "/ingest?name=large&from=$((until - 60))&until=$until&sampleRate=100&format=folded" \
    -f -o /dev/null --data-binary @- -H 'Content-Type: text/plain' || {
  echo "not ok firefox: nothing could be pushed"
  exit 0
}
# Before Node.js 22, WebSocket is behind a flag.
export NODE_OPTIONS=--experimental-websocket
FIREFOX=$firefox CAPTURE=$capture THREADS=$threads UNTIL=${until}000 ui tests/ui/firefox.mjs
