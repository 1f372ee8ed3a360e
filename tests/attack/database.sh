#!/bin/bash
# A PostgreSQL that fails in the middle of anything, or answers nonsense: every
# request gets an answer in time, nothing that was accepted is lost, and neither
# the API nor the keeper ends.
#
#	WAYS="close stall" STEP=1 tests/attack/database.sh	each message
#
# Beside others, first: it waits for events, and takes minutes.
. "$(dirname "$0")/../lib/e2e.sh"
. tests/lib/pg.sh
[ -n "$pg_bin" ] || { echo 'skip database: PostgreSQL is not installed'; exit 0; }
POOL=1 HEAVY=1 RATE=10000r/s
: "${STEP:=7}"
export STEP

stack_start() {
  stack_folder
  stack_programs
  pg_start "$STATE" '-c fsync=off' || fail "no server: $(tail -n 1 "$STATE/pg/log")"
  mkdir -m 755 "$STATE/proxy"
  coproc proxy { exec tests/tools/hostile_postgres "$STATE/proxy" "$STATE/pg" "$PORT" "$STATE/token" ${WAYS-}; }
  read -r said <&"${proxy[0]}" && [ "$said" = ready ] || fail 'no proxy'
  API_CONF="request_time = 2s
kept_bytes = 0
[store]
database = postgresql:///postgres?host=$STATE/proxy&user=stoker
bytes = db
[keeper]
lease = 3s" stack_conf
  as_user "$STATE/bin/stoker" migrate --config "$STATE/stoker.conf" >/dev/null || fail 'the database has no schema'
  stack_token
  stack_env
  api_start
  nginx_start || fail "nginx did not start: see $STATE/log/stoker-error.log"
  wait_for 15 curl -fsS -o /dev/null "http://127.0.0.1:$PORT/healthz" || fail 'the API does not answer'
}
leave() { pg_stop; e2e_stop; }
LEAVE=leave
e2e_start
until_says() { # word: collects the proxy's failures until it says this
  local line
  while read -r line <&"${proxy[0]}"; do
    [[ $line != "$1 "* ]] || { echo "# $line"; return; }
    echo "$line" >>"$STATE/wrong"
  done
  return 1
}
cat "$STATE/pid/api" >&"${proxy[1]}"
: >"$STATE/wrong"
tried=$(until_says tried)
echo "$tried"
check messages_of_the_server_were_spoiled [ -n "$tried" ]
check requests_have_answers_whatever_the_server_sends leaves 1 grep . "$STATE/wrong"

as=()
[ "$(id -u)" -ne 0 ] || as=(setpriv --reuid "$RUN_USER" --regid "$RUN_GROUP" --clear-groups --)
background keeper "${as[@]}" "$STATE/bin/stoker-api" --keeper --config "$STATE/stoker.conf"
holds() { grep -q 'this keeper holds the lease' "$STATE/log/keeper.log"; }
alive() { grep -q '^stoker_keeper_alive 1$' <(api GET /metrics); }
check a_keeper_holds_the_lease wait_for 20 holds
: >"$STATE/wrong"
cat "$STATE/pid/keeper" >&"${proxy[1]}"
kept=$(until_says kept)
echo "$kept"
check messages_to_the_keeper_were_spoiled [ -n "$kept" ]
check a_keeper_ends_by_nothing_that_the_server_sends leaves 1 grep . "$STATE/wrong"
check and_it_works_again wait_for 30 alive
process_stop keeper
