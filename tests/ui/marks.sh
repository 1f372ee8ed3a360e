#!/bin/bash
# Events of a service on its chart, and a comparison of two of its ranges, in
# Chromium.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/browser.sh" marks
A=/api/v1/profiling
json=(-f -o /dev/null -H 'Content-Type: application/json')
background demo "$STATE/bin/demo" 3 3
service demo "$STATE/bin/demo" || {
  echo "not ok marks: the worker does not see the demo"
  exit 0
}
fired() {
  api GET "$P/history?service=demo&label.trigger=busy&status=completed" |
    jq -e '.items | length == 1'
}
# A restart counts only if it comes well after the start of the service and its
# worker.
later() { [ "$(date +%s)" -gt $((began + 12)) ]; }
again() {
  api GET /api/v1/services/demo/processes |
    jq -e --argjson pid "$(<"$STATE/pid/demo")" 'any(.items[]; .pid == $pid)'
}
began=$(date +%s)
id=$(start demo 2) && finished "$id" >/dev/null &&
  api POST $A/baselines "${json[@]}" -d "{\"label\":\"v1\",\"sessionId\":\"$id\",
    \"profileType\":\"cpu\",\"description\":\"\"}" &&
  api POST /api/v1/services/demo/triggers "${json[@]}" -d '{"trigger":"busy",
    "when":{"cpu":{"percent":1}},"capture":{"profileType":"cpu",
    "durationSeconds":2},"cooldownSeconds":3600}' &&
  wait_for 60 fired && wait_for 30 later && process_stop demo &&
  background demo "$STATE/bin/demo" 3 3 && wait_for 30 again || {
  echo "not ok marks: nothing could be marked"
  exit 0
}
# Twenty minutes of a service in which one function costs more from minute 11
# on, and another one from minute 14 on. Two zones alternate.
steps=$((began / 60 * 60 - 1500))
push() { # minute
  local early=100 late=100
  [ "$1" -lt 11 ] || early=396
  [ "$1" -lt 14 ] || late=400
  printf 'main;work %d\nmain;early %d\nmain;late %d\n' $((3000 + RANDOM % 60)) \
    $((early + RANDOM % 5)) $((late + RANDOM % 5)) |
    api POST "/ingest?name=steps%7Bzone%3Dz$(($1 % 2))%7D&from=$((steps + $1 * 60))&until=$((steps + $1 * 60 + 60))&sampleRate=100&format=folded" \
      -f -o /dev/null --data-binary @- -H 'Content-Type: text/plain'
}
for minute in {0..19}; do
  push $minute || {
    echo "not ok marks: nothing could be pushed"
    exit 0
  }
done
rest demo
SINCE=$((began - 60))000 ID=$id STEPS=${steps}000 ui tests/ui/marks.mjs
