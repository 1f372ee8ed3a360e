#!/bin/bash
# Large profiles are expensive, and a client may ask again or leave instead of
# waiting. Other clients still get their answers, and the work ends when the
# client has left.
#
# Beside others: it waits for events.
set -u
. tests/lib/e2e.sh
POOL=4 HEAVY=2
# No request of the attack runs out of time, and none is answered with a kept
# result, which would cost nothing.
API_CONF='request_time = 1h
kept_bytes = 0'
e2e_start
wide="$B/tests/tools/wide"
post /api/v1/services '{"name":"wide","match":{"exe":"/usr/bin/wide"}}' -o /dev/null
upload() { # seed: stores 60 000 stacks that are all different
  "$wide" "$1" 60000 16 20000 |
    api POST "/api/v1/profiling/sessions?service=wide&type=cpu" \
      -H 'Content-Type: application/octet-stream' --data-binary @- |
    jq -r '.id // error'
}
one=$(upload 1) && two=$(upload 2) || exit 1
compare="$P/compare?baseProfileId=$one&comparisonProfileId=$two"
diff="$P/diff?baseProfileId=$one&comparisonProfileId=$two&format=json"

# Sends many requests at once; each gets a free process, if there is one.
codes=$STATE/codes
ask() { # n, path: prints the number of requests answered with each status
  local i pids=()
  for ((i = 0; i < $1; i++)); do
    status_of GET "$2" >"$codes.$i" &
    pids+=($!)
  done
  wait "${pids[@]}"
  cat "$codes".* | fold -w3 | sort | uniq -c
  rm "$codes".*
}
asked=$(ask 24 "$diff")
check some_of_many_heavy_requests_are_answered grep -q ' 200$' <<<"$asked"
check other_heavy_requests_get_429 grep -q ' 429$' <<<"$asked"
check heavy_requests_get_200_or_429_only leaves 1 grep -vE ' (200|429)$' <<<"$asked"


# The pool is stopped until nginx has noticed that all clients have left.
pool() { pgrep -x stoker-api -P "$(<"$STATE/pid/api")"; }
left() { [ "$(grep -c '"status":499' "$STATE/log/stoker-access.log")" -ge 24 ]; }
gone() { [ "$(grep -c '"cause":"the client has gone"' "$STATE/log/api.log")" -ge 24 ]; }
pool | xargs kill -STOP
pids=()
for ((i = 0; i < 24; i++)); do
  curl -sS -H "Authorization: Bearer $TOKEN" "http://127.0.0.1:$PORT$diff" \
    >/dev/null 2>&1 &
  pids+=($!)
done
connected() { [ "$(grep -c "$STATE/run/api.sock" /proc/net/unix)" -gt 24 ]; }
wait_for 30 connected
kill "${pids[@]}"
wait "${pids[@]}" 2>/dev/null
check nginx_notices_that_the_clients_have_left wait_for 30 left
pool | xargs kill -CONT
check nothing_is_done_for_clients_that_have_left wait_for 30 gone
check the_next_client_is_answered equal "$(status_of GET "$compare")" 200

# A request's memory is limited, and the next request has all of it again.
process_stop api
API_CONF='request_memory = 16M'
stack_conf
api_start
wait_for 15 stack_ready
refusal=$(api GET "$diff")
check a_request_that_needs_too_much_memory_is_refused \
  equal "$(jq -r .error_code <<<"$refusal")" RequestTooExpensive
check the_refusal_names_the_limit \
  equal "$(jq -r .details.maxBytes <<<"$refusal")" 16777216
most() { pool | sed 's|.*|/proc/&/status|' | xargs awk '/^VmHWM/ && $2 > n { n = $2 } END { print int(n / 1024) }'; }
under() { [ "$(most)" -lt "$1" ] || { echo "$(most) MiB"; return 1; }; }
check no_process_takes_much_more_memory_than_a_request_may under 64
check other_requests_are_answered_after_a_refusal equal "$(status_of GET /readyz)" 200
