#!/bin/bash
# Hosts whose clock is ten minutes ahead, or an hour behind: the host, its
# centre and each profile say so, and by how much, until it is corrected.
#
# Beside others: it waits for events. A worker that a busy machine silences for
# a while is not taken for dead here.
WORKER_CONF='lease = 6s'
HOST_CONF='lease = 2m'
. "$(dirname "$0")/../lib/e2e.sh"
clock=$(ls /usr/lib/*/faketime/libfaketime.so.1 2>/dev/null | head -n 1)
if [ -z "$clock" ]; then
  echo 'skip e2e/clocks: conf/packages/install check installs libfaketime'
  exit 0
fi
e2e_start
. tests/lib/fleet.sh
leave() {
  local code=$? name
  [ $code -eq 0 ] || tail -n 20 "$STATE"/log/{early,late}.log
  for name in early late; do process_stop "$name"; done
  (exit $code)
  e2e_stop
}
trap leave EXIT
# The centre's certificate is older than an hour.
openssl() { LD_PRELOAD=$clock FAKETIME=-1d command openssl "$@"; }
fleet_start || { echo 'not ok the_centre_answers_by_tls'; exit 1; }
start_at() { # host, offset
  HOST_RUN="env LD_PRELOAD=$clock FAKETIME=$2 FAKETIME_DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1" host_start "$1"
}
for name in early late; do
  host_make "$name"
  host_join "$name" >/dev/null || { echo "not ok ${name}_joins"; exit 1; }
done
start_at early +10m
start_at late -1h
background demo "$STATE/bin/demo" 1 3
stoker_cli service add web --exe "$STATE/bin/demo" >/dev/null

found() { # host, verdict, text: of the check that the host publishes
  api GET /api/v1/checks | jq -e --arg h "$1" --arg v "$2" --arg t "$3" 'any(.items[];
    .host == $h and .check == "clock" and .verdict == $v and (.found | contains($t)))'
}
check a_clock_that_is_ahead_is_a_warning_at_the_centre \
  wait_for 60 found early warning "10 min ahead of the centre's"
check a_clock_that_is_behind_is_one_as_well wait_for 60 found late warning "60 min behind the centre's"
check the_host_logs_it says "10 min ahead of the centre's" grep 'clock:' "$STATE/log/early.log"
check doctor_at_the_centre_says_by_how_much says '60 min behind' stoker_cli doctor
check hosts_says_it_says_by_how_much says 'its clock is 10 min ahead' stoker_cli hosts
check readiness_counts_such_clocks equal \
  "$(curl -sS "http://127.0.0.1:$PORT/readyz" | jq -r '.clocks | sub(", .*"; "")')" '2 of 2 hosts are off'

take() { # host
  finished "$(post $P/start "{\"service\":\"web\",\"profileType\":\"cpu\",\"durationSeconds\":1,\"host\":\"$1\"}" | jq -r .id)"
}
runs_on() { api GET /api/v1/services/web/processes | jq -e --arg h "$1" 'any(.items[]; .host == $h)'; }
wait_for 30 runs_on early && wait_for 30 runs_on late
now=$(date +%s)
early=$(take early)
check a_profile_has_a_note_of_a_clock_that_is_ahead says "10 min ahead of the centre's" jq -r '.quality.notes[]' <<<"$early"
check a_profile_has_a_note_of_a_clock_that_is_behind says "60 min behind the centre's" \
  jq -r '.quality.notes[]' <<<"$(take late)"
check its_time_is_the_centre_s equal \
  "$(jq --argjson now "$now" '.startedAt[:19] + "Z" | fromdateiso8601 | . >= $now - 5 and . < $now + 60' <<<"$early")" true

host_stop early
host_start early
check a_clock_that_was_corrected_is_in_order_again wait_for 60 found early ok "agrees with the centre's"
