#!/bin/bash
# Continuous profiling of allocations, blocking and mutexes of Go programs, read
# from outside: more programs than are read at once, windows without gaps, and
# every event in exactly one window.
#
# Beside others: it waits for events.
: "${GO:=1.24}"
: "${B:=build}"
WORKER_CONF='
[continuous]
counters = 1s
'
PROGRAMS=5 # with three types each: more than are read at once
. "$(dirname "$0")/../lib/e2e.sh"
mkdir -p "$B/targets"
tests/lib/go build "$GO" "$B/targets/counts-$GO" tests/targets/go/counts 2>"$B/counters.why" ||
  skip counters "no Go $GO: $(tail -n 1 "$B/counters.why")"
e2e_start
install -m 755 "$B/targets/counts-$GO" "$STATE/bin/go1"
for ((i = 2; i <= PROGRAMS; i++)); do ln "$STATE/bin/go1" "$STATE/bin/go$i"; done
mkfifo "$STATE/never" "$STATE/orders" "$STATE/answers"
exec {never}<>"$STATE/never" {orders}<>"$STATE/orders" {answers}<>"$STATE/answers"

db() { sqlite3 "$STATE/data/stoker.db" "$1"; }
continuous() { # service, more members
  post $P/continuous "{\"service\":\"$1\",\"profileTypes\":[\"alloc\",\"block\",\"mutex\"]${2:-}}" -o /dev/null
}
host() { api GET "$P/continuous/go1" | jq ".hosts[0].$1"; }

# --- the first program takes orders, the others wait ------------------------------
hear() { read -r -t 60 heard <&"$answers"; }
say() { echo "$@" >&"$orders" && hear; }
run_first() { # arguments
  "$STATE/bin/go1" "$@" <&"$orders" >&"$answers" 2>"$STATE/log/go1.log" &
  first=$!
  hear && [ "$heard" = ready ]
}
end_first() { kill -KILL "$first" && wait "$first" 2>/dev/null; }
go_service() {
  post /api/v1/services "{\"name\":\"$1\",\"kind\":\"go\",\"match\":{\"exe\":\"$STATE/bin/$1\"}}" -o /dev/null
}
set_allow() { # JSON that is set for the first program
  api PUT /api/v1/services/go1 -H 'Content-Type: application/json' -o /dev/null \
    -d "{\"kind\":\"go\",\"match\":{\"exe\":\"$STATE/bin/go1\"},\"allow\":$1}"
}
run_first block mutex
for ((i = 2; i <= PROGRAMS; i++)); do
  "$STATE/bin/go$i" block mutex <&"$never" >/dev/null 2>&1 &
done
for ((i = 1; i <= PROGRAMS; i++)); do
  go_service "go$i"
  wait_for 90 seen "go$i"
  continuous "go$i"
done

of='FROM profile_window w JOIN series s ON s.id = w.series WHERE w.level = 0'
fewest() { # [ms]: windows since then, in the series that has the fewest
  db "SELECT CASE WHEN COUNT(*) < 3 * $PROGRAMS THEN 0 ELSE MIN(n) END
      FROM (SELECT COUNT(*) AS n $of AND w.start_ms >= ${1:-0} GROUP BY s.id)"
}
all_have() { [ "$(fewest "${2:-0}")" -ge "$1" ]; }
# Counts windows that do not begin where the previous one ends.
holes() { # [condition]
  db "SELECT COUNT(*) FROM (SELECT w.start_ms - LAG(w.end_ms)
        OVER (PARTITION BY s.id ORDER BY w.start_ms) AS hole $of ${1:-})
      WHERE hole < -3 OR hole > 3"
}
others="AND s.service <> 'go1'"
check every_counter_has_windows wait_for 90 all_have 4
check windows_lie_side_by_side equal "$(holes)" 0
check a_host_without_failures_has_no_gaps equal "$(host gaps)" 0
covers_all() { # service, type: the time that the API reports for its windows
  local from to
  IFS='|' read -r from to <<<"$(db "SELECT MIN(w.start_ms), MAX(w.start_ms) $of
    AND s.service = '$1' AND s.type = '$2'")"
  api GET "$P/merge?service=$1&profileType=$2&from=$from&to=$to&top=0" |
    jq -e "(.coveredSeconds - ($to - $from) / 1000 | fabs) < 0.1" ||
    { echo "$from to $to"; return 1; }
}
check all_of_the_time_is_covered covers_all go2 alloc

# --- every event is in one window ------------------------------------------------------
events() { db "SELECT COALESCE(SUM(w.sample_count), 0) $of AND s.service = 'go1' AND s.type = '$1'"; }
at_least() { [ "$(events "$1")" -ge "$2" ]; } # type, events
row_of() { "$B/tests/tools/counts" "$1" | awk -v f=" main.$2 " 'index($0, f) { n += $1 } END { print n + 0 }'; }
in_windows() { # type, function: its events in all windows
  db "SELECT w.id $of AND s.service = 'go1' AND s.type = '$1' AND w.length > 0" |
    while read -r id; do
      api GET "$P/$id/flamegraph?format=pprof" -o "$STATE/window.pb.gz"
      row_of "$STATE/window.pb.gz" "$2"
    done | awk '{ n += $1 } END { print n + 0 }'
}
own() { say write "$1" "$STATE/own" && row_of "$STATE/own" "$2"; }
for row in block:block mutex:contend; do
  type=${row%:*} does=${row#*:}
  say "$does" 40
  want=$(own "$type" "$does")
  check "${type}_events_come_into_windows" wait_for 90 at_least "$type" "$want"
  check "each_${type}_event_is_in_one_window" equal "$(in_windows "$type" "$does") $((want > 20))" "$want 1"
done

# --- a program that is restarted --------------------------------------------
# Events that happened before a process was read for the first time count, too.
before=$(in_windows block block)
end_first
run_first block mutex
say block 40
want=$((before + $(own block block)))
anew() { [ "$(in_windows block block)" -ge "$want" ]; }
check events_of_a_restarted_program_come_into_windows wait_for 90 anew
check each_event_of_a_restarted_program_is_in_one_window equal "$(in_windows block block)" "$want"
check a_restart_does_not_interrupt_other_services equal "$(holes "$others")" 0

# --- the analyser dies ------------------------------------------------------------------------
last() { db "SELECT MAX(w.end_ms) $of"; }
at=$(last)
kill -KILL "$(pgrep -nP "$(<"$STATE/pid/worker")" -x stoker-worker)" # the newest: pids wrap around
check windows_go_on_after_the_analyser_s_death wait_for 90 all_have 2 "$at"
check the_analyser_s_death_leaves_no_hole equal "$(holes "$others")" 0

# --- a program that counts no events is made to, for as long as windows are wanted ----------
rate() { say gc 0 && awk '{ print $3 }' <<<"$heard"; } # of mutexes
is_rate() { [ "$(rate)" = "$1" ]; }
end_first
run_first
disabled() { api GET "$P/continuous/go1" | jq -e '.failing[] | select(.profileType == "mutex") | .error_code == "ProfilingDisabled"'; }
check a_program_that_counts_no_events_is_reported wait_for 90 disabled
check counting_is_not_turned_on_without_permission equal "$(rate)" 0
set_allow '{"goProfileRates":true}'
check counting_is_turned_on_if_the_service_allows_it wait_for 90 is_rate 5
before=$(events mutex)
say contend 200
check events_counted_since_then_come_into_windows wait_for 90 at_least mutex $((before + 50))
id=$(start go1 1 mutex)
check a_capture_beside_windows_completes equal "$(finished "$id" | jq -r .status)" completed
windows_of() { db "SELECT COUNT(*) $of AND s.service = 'go1' AND s.type = 'mutex' AND w.start_ms > $1"; }
some_after() { [ "$(windows_of "$1")" -ge 2 ]; }
check windows_go_on_after_a_capture wait_for 90 some_after "$(last)"
check counting_stays_on_after_a_capture is_rate 5

# --- the worker dies ------------------------------------------------------------------------------
kill -KILL "$(<"$STATE/pid/worker")"
wait_for 90 process_gone "$(<"$STATE/pid/worker")"
before=$(in_windows mutex contend) at=$(last)
check a_killed_worker_leaves_counting_on is_rate 5
say contend 200
worker_start
check windows_go_on_after_the_worker_s_death wait_for 90 all_have 2 "$at"
# Events that happen while no worker runs are in no window.
check events_counted_without_a_worker_are_in_no_window equal "$(in_windows mutex contend)" "$before"
check a_killed_worker_leaves_a_hole_in_each_series equal "$(db "SELECT COUNT(*) FROM (SELECT s.id, w.start_ms, LAG(w.end_ms)
  OVER (PARTITION BY s.id ORDER BY w.start_ms) AS e $of) WHERE e <= $at AND start_ms > e + 3 AND start_ms >= $at")" $((3 * PROGRAMS))
check the_next_worker_turns_counting_on_again is_rate 5
set_allow '{}'
check counting_is_turned_off_if_no_longer_allowed wait_for 90 is_rate 0
set_allow '{"goProfileRates":true}'
check counting_is_turned_on_if_allowed_again wait_for 90 is_rate 5
continuous go1 ',"enabled":false'
check counting_is_turned_off_if_windows_are_disabled wait_for 90 is_rate 0
continuous go1
check counting_is_turned_on_if_windows_are_enabled_again wait_for 90 is_rate 5
api DELETE /api/v1/services/go1 -o /dev/null
check counting_is_turned_off_if_the_service_is_deleted wait_for 90 is_rate 0
go_service go1
set_allow '{"goProfileRates":true}'
continuous go1
check counting_is_turned_on_for_a_new_service wait_for 90 is_rate 5
block_windows() { [ "$(db "SELECT COUNT(*) $of AND s.service = 'go1' AND s.type = 'block'")" -gt 0 ]; }
check a_new_service_has_windows wait_for 90 block_windows
want=$(($(in_windows block block) - $(own block block)))
say block 40
want=$((want + $(own block block)))
kill -TERM "$(<"$STATE/pid/worker")"
wait_for 90 process_gone "$(<"$STATE/pid/worker")"
check a_worker_that_ends_turns_counting_off equal "$(rate)" 0
check a_worker_that_ends_stores_the_events_until_then equal "$(in_windows block block) $((want >= 20))" "$want 1"
worker_start

# --- it ends -----------------------------------------------------------------------------------------
for ((i = 1; i <= PROGRAMS; i++)); do continuous "go$i" ',"enabled":false'; done
none() { [ "$(host taken)" -eq 0 ]; }
check disabled_means_nothing_is_read wait_for 90 none
