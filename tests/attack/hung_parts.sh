#!/bin/bash
# A part of the worker hangs, for whatever reason: the opener kills it, logs
# that, and captures go on.
#
# Beside others: it waits for events.
set -u
WORKER_CONF='watchdog = 2s'
. tests/lib/e2e.sh
e2e_start shares
"$STATE/bin/shares" 600 2 20 >/dev/null &
busy=$!
pages=
leave() { kill "$busy" $pages; e2e_stop; }
trap leave EXIT
opener=$(<"$STATE/pid/worker")
# The scheduler is the oldest child with that name, the analyser the newest.
scheduler() { pgrep -oP "$opener" -x stoker-worker; }
analyser() { pgrep -nP "$opener" -x stoker-worker; }
fetcher() { pgrep -nP "$opener" -x stoker-fetcher; }
hang() { # part
  hung=$("$1") && kill -STOP "$hung"
}
has_another() { local now; now=$("$1") && [ "$now" != "$hung" ]; }
service busy "$STATE/bin/shares"
completes() { equal "$(finished "$(start "$1" 1)" | jq -r .status)" completed; }

check a_capture_completes completes busy
# A service with an endpoint: any web server can serve a stored profile as a
# page of Go.
mkdir -p "$STATE/pages/debug/pprof"
api GET "$P/$(api GET "$P/history?service=busy" | jq -r '.items[0].id')/flamegraph?format=pprof" \
  -o "$STATE/pages/debug/pprof/profile"
python3 -uc 'import functools, http.server as h
s = h.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(h.SimpleHTTPRequestHandler, directory="'"$STATE/pages"'"))
print(s.server_port); s.serve_forever()' >"$STATE/port" 2>/dev/null &
pages=$!
wait_for 20 test -s "$STATE/port"
stoker_cli service add pages --kind go --pprof-url "http://127.0.0.1:$(<"$STATE/port")" >/dev/null
hang analyser
check an_analyser_that_hangs_is_started_anew wait_for 60 has_another analyser
check the_log_says_that_the_analyser_did_not_answer logged 'the analyser has not answered for 2 s'
check captures_go_on_with_the_next_analyser completes busy
check a_profile_is_fetched completes pages
hang fetcher
check the_log_says_that_the_fetcher_did_not_answer wait_for 60 logged 'the fetcher has not answered for 2 s'
check profiles_are_fetched_by_the_next_fetcher completes pages
check a_fetcher_that_hangs_is_started_anew has_another fetcher
hang scheduler
check a_scheduler_that_hangs_ends_the_worker wait_for 60 process_gone "$opener"
check the_log_says_that_the_scheduler_did_not_answer logged 'the scheduler has not answered for 2 s'
worker_start
opener=$(<"$STATE/pid/worker")
check captures_go_on_with_the_next_worker completes busy
