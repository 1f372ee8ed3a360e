#!/bin/bash
# Any process is killed at any moment: nothing that was accepted is lost, and no
# profile is incomplete.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
SERVICES=6
e2e_start
background demo "$STATE/bin/demo" 3 4
for i in $(seq $SERVICES); do service "svc$i" "$STATE/bin/demo" || exit 1; done

# Restarts a worker that ended, in place of systemd.
worker_up() {
  process_gone "$(<"$STATE/pid/worker")" && worker_start
  return 0
}
worker_kill() {
  kill -KILL "$(<"$STATE/pid/worker")"
  wait_for 10 process_gone "$(<"$STATE/pid/worker")"
}
# Kills a random process of the worker or of the pool.
children() { pgrep -P "$(<"$STATE/pid/$1")"; }
kill_one() {
  local victims
  victims=$(children worker; children api; cat "$STATE/pid/worker")
  kill -KILL "$(shuf -n 1 <<<"$victims")" 2>/dev/null
}
phase_of() { api GET "$P/$1" | jq -r .phase; }
phase_is() { [ "$(phase_of "$1")" = "$2" ]; }
progressed() { api GET "$P/$1" | jq -e ".progress > $2"; }

# --- one capture, one death -----------------------------------------------------
id=$(start svc1 5)
wait_for 10 phase_is "$id" capturing
worker_kill
worker_up
check a_short_capture_runs_again equal "$(finished "$id" | jq -r .status)" completed

id=$(start svc1 4)
wait_for 10 phase_is "$id" capturing
for child in $(children api); do kill -KILL "$child"; done
wait_for 10 stack_ready
check a_capture_outlives_the_whole_pool equal "$(finished "$id" | jq -r .status)" completed

id=$(start svc1 40 cpu 499)
wait_for 30 progressed "$id" 0.33 # a checkpoint was at 10 s
worker_kill
worker_up
result=$(finished "$id")
check a_long_capture_fails_as_what_it_is equal "$(jq -r '.status + " " + .error.error_code' <<<"$result")" "failed WorkerDied"
check a_killed_capture_keeps_what_a_checkpoint_saved test "$(jq .sampleCount <<<"$result")" -gt 20
check a_checkpoint_saves_about_ten_seconds test "$(jq .durationSeconds <<<"$result")" -ge 8

# --- everything, over and over, while it is busy ---------------------------------
touch "$STATE/ids"
busy() { # starts captures in a loop; records each id that the API returned
  local id
  while [ ! -e "$STATE/enough" ]; do
    id=$(post $P/start "{\"service\":\"$1\",\"profileType\":\"cpu\",\"durationSeconds\":1}" --max-time 20 2>/dev/null |
      jq -r '.id // empty' 2>/dev/null)
    [ -z "$id" ] || echo "$id" >>"$STATE/ids"
    read -rt 0.2 <> <(:) || :
  done
}
loads=()
for i in $(seq $SERVICES); do busy "svc$i" & loads+=($!); done
# On a slow machine it may take more than 15 deaths until enough captures were
# accepted.
accepted() { wc -l <"$STATE/ids"; }
for ((deaths = 0; deaths < 15 || (deaths < 100 && $(accepted) < 10); deaths++)); do
  read -rt "0.$((RANDOM % 6 + 2))" <> <(:) || :
  kill_one
  wait_for 5 worker_up
done
touch "$STATE/enough"
wait "${loads[@]}"
# A worker whose child was killed may be about to end.
supervise() {
  while [ ! -e "$STATE/over" ]; do
    worker_up
    read -rt 0.5 <> <(:) || :
  done
}
supervise &
supervisor=$!
wait_for 10 stack_ready

: >"$STATE/ends"
while read -r id; do
  result=$(finished "$id")
  end=$(jq -r '.status + " " + .phase + " " + (.error.error_code // "")' <<<"$result")
  if [ "${end%% *}" = completed ]; then
    api GET "$P/$id/flamegraph?format=pprof" | gunzip -t 2>/dev/null || end="half a profile"
  fi
  echo "$end" >>"$STATE/ends"
done <"$STATE/ids"
touch "$STATE/over"
wait "$supervisor"
n=$(accepted)
summary=$(sort "$STATE/ends" | uniq -c | awk '{$1 = $1; print}' | paste -sd,)
check some_were_accepted_meanwhile test "$n" -ge 10
check every_accepted_capture_has_an_end equal "$(grep -cE '^(completed|failed) ' "$STATE/ends")" "$n"
check no_completed_profile_is_half equal "$(grep -c '^half' "$STATE/ends")" 0
check ends_are_completed_or_say_why equal "$(grep -vE '^(completed done $|failed failed (WorkerDied|CaptureFailed|ServiceNotRunning))' "$STATE/ends" | head -3)" ""
echo "# $n accepted: $summary"
