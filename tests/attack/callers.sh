#!/bin/bash
# Clients that connect and send nothing, or stop in the middle, do not slow down
# others: nginx waits until a request is complete, the pool never does.
#
# Beside others: it waits for events.
set -u
. tests/lib/e2e.sh
e2e_start
ulimit -n 8192
pool() { pgrep -x stoker-api -P "$(<"$STATE/pid/api")" | sort | paste -sd' '; }
sessions() { api GET "$P/sessions?limit=500" | jq '.items | length'; }
before=$(pool)

# Holds this many connections, from another address than the tests', until its
# standard input ends. Prints "ready" when all are open.
cat >"$STATE/hold.py" <<'PY'
import os, socket, sys
count, says, port = int(sys.argv[1]), sys.argv[2].encode().decode("unicode_escape").encode(), int(sys.argv[3])
held = []
for i in range(count):
    s = socket.socket()
    s.bind(("127.0.0.2", 0))
    s.connect(("127.0.0.1", port))
    s.sendall(says)
    held.append(s)
print("ready", flush=True)
sys.stdin.read()
if len(sys.argv) > 4:  # a reset instead of an end
    for s in held:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
PY
hold() { # count, what each sends, "reset" if they are to reset in the end
  local line
  mkfifo "$STATE/in" "$STATE/out"
  python3 "$STATE/hold.py" "$1" "$2" "$PORT" ${3:+"$3"} <"$STATE/in" >"$STATE/out" &
  holder=$!
  exec {let_go}>"$STATE/in" {told}<"$STATE/out"
  rm "$STATE/in" "$STATE/out"
  read -rt 60 line <&"$told" && [ "$line" = ready ]
}
release() {
  exec {let_go}>&- {told}<&-
  wait "$holder"
}

hold 2000 'GET /api/v1/serv'
check two_thousand_connections_are_made equal $? 0
check other_callers_are_answered_beside_two_thousand_connections equal "$(status_of GET /api/v1/services)" 200
check load_balancers_are_answered_beside_two_thousand_connections equal "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$PORT/healthz")" 200
release

upload='POST /api/v1/profiling/sessions?service=cut&type=cpu HTTP/1.1\r\nHost: stoker\r\nAuthorization: Bearer '$TOKEN'\r\nContent-Type: application/octet-stream\r\nContent-Length: 100000\r\n\r\nhalf of it'
post /api/v1/services '{"name":"cut","match":{"exe":"/usr/bin/cut"}}' -o /dev/null
hold 200 "$upload" reset
check uploads_that_stop_in_the_middle_are_held equal $? 0
check no_process_of_the_pool_waits_for_uploads_that_stop equal "$(status_of GET /api/v1/services)" 200
check nothing_of_uploads_that_stop_is_stored equal "$(sessions)" 0
release
check nothing_of_uploads_that_are_broken_off_is_stored equal "$(sessions)" 0
check the_pool_is_as_it_was equal "$(pool)" "$before"
