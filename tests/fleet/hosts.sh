#!/bin/bash
# A fleet of ten hosts and its centre, with a fault of each kind while it works:
# whatever fails, no sample is lost or counted twice, no capture that was
# accepted is lost, and what is refused says why.
#
# Each host has a network of its own, a worker and two programs. The centre is
# PostgreSQL with a standby that each commit waits for, an object store (Ceph,
# where it is installed), two pools of the API behind one nginx, and two keepers.
# Part of no make check: it takes a quarter of an hour.
#
#	[BYTES=db] tests/fleet/hosts.sh
#
# The clock of host h5 goes ten minutes ahead, by libfaketime.
POOLS=2 POOL=3 HEAVY=1 TENANT=550e8400 RATE=1000r/s
. "$(dirname "$0")/../lib/e2e.sh"
. tests/lib/pg.sh
. tests/lib/ceph.sh
. tests/lib/fleet.sh
. tests/lib/centre.sh
[ "$(id -u)" -eq 0 ] || { echo 'skip fleet/hosts: networks of hosts need root'; exit 0; }
[ -n "$pg_bin" ] || { echo 'skip fleet/hosts: PostgreSQL is not installed'; exit 0; }
HOSTS=(h1 h2 h3 h4 h5 h6 h7 h8 h9 h10)
SERVICES=(web batch)
clock=$(ls /usr/lib/*/faketime/libfaketime.so.1 2>/dev/null | head -n 1)
began=$SECONDS
told() { echo "# fleet/hosts: at $((SECONDS - began)) s: $*"; }
pause() { read -rt "$1" <> <(:) || :; } # seconds
now_ms() { local us=${EPOCHREALTIME/./}; echo "${us%???}"; }

# --- networks -------------------------------------------------------------------
bridge=stk$$
net=10.$((64 + RANDOM % 64)).$((RANDOM % 256))
declare -A network # the process whose network a host has
networks_up() {
  local name pid i=0
  ip link add "$bridge" type bridge && ip addr add "$net.254/24" dev "$bridge" &&
    ip link set "$bridge" up || return 1
  for name in "${HOSTS[@]}"; do
    i=$((i + 1))
    unshare --net sleep infinity &
    pid=$!
    network[$name]=$pid
    wait_for 5 is_apart "$pid" || return 1
    ip link add "v$$$name" type veth peer name eth0 netns "$pid" &&
      ip link set "v$$$name" master "$bridge" up &&
      on "$name" ip addr add "$net.$i/24" dev eth0 && on "$name" ip link set eth0 up &&
      on "$name" ip link set lo up || return 1
  done
}
is_apart() { [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }
on() { nsenter --net="/proc/${network[$1]}/ns/net" "${@:2}"; } # host, command
link_of() { ip link set "v$$$1" "$2"; }                        # host, up or down
networks_down() {
  local pid
  for pid in "${network[@]}"; do kill "$pid" 2>/dev/null; done
  ! ip link show "$bridge" >/dev/null 2>&1 || ip link del "$bridge"
}

# --- keepers ----------------------------------------------------------------------
keeper_start() { # name
  background "$1" setpriv --reuid "$RUN_USER" --regid "$RUN_GROUP" --clear-groups -- \
    "$STATE/bin/stoker-api" --config "$STATE/stoker.conf" --keeper
}
has_lease() { grep -q 'this keeper holds the lease' "$STATE/log/$1.log"; } # name
has_keeper() { "$B/stoker-api" --help 2>&1 | grep -q -e --keeper; }

loads=()
leave() {
  local code=$? name pid
  for pid in "${loads[@]}"; do kill "$pid" 2>/dev/null; done
  for name in "${HOSTS[@]}" keeper1 keeper2; do process_stop "$name"; done
  for pid in "${programs[@]}"; do kill "$pid" 2>/dev/null; done
  [ -z "${KEEP_LOGS:-}" ] || cp -r "$STATE/log" "$KEEP_LOGS"
  ! mountpoint -q "$STATE/h9/data" || umount -l "$STATE/h9/data"
  centre_stop
  if [ -d "${STATE:-}" ]; then
    (exit $code)
    e2e_stop
  fi
  pg_stop
  ceph_down
  rm -rf "$folder"
  networks_down
  exit $code
}
programs=()
folder=$(mktemp -d /var/tmp/stoker-fleet-XXXXXX)
chmod 755 "$folder"
STATE=
LEAVE=leave
trap leave EXIT
trap 'exit 1' INT TERM
: "${BYTES:=s3}"
objects=db why='as BYTES says'
[ "$BYTES" != s3 ] || why=$(ceph_lacks) || objects=s3
[ $objects = s3 ] || told "bytes lie in the database: $why"
[ $objects = db ] || ceph_start || exit 1
[ $objects = db ] || s3 PUT stoker -o /dev/null
pg_start "$folder" "-c max_connections=60 -c shared_buffers=64MB" && pg_standby ||
  { echo "not ok a_server_and_its_standby_start: $(tail -n 2 "$folder"/*/log)"; exit 1; }
dsn="postgresql:///postgres?host=$(pg_hosts)&user=stoker&target_session_attrs=read-write"
db() { pg_run psql -qXAt "$dsn" -c "$1"; }
API_CONF="request_time = 10s
[store]
database = $dsn
bytes = $objects"
if [ $objects = s3 ]; then
  API_CONF+=$'\n'$(ceph_conf)$'\ntimeout = 4s'
  OBJECTS=http://127.0.0.1:$gate
fi
e2e_start
networks_up || { echo 'not ok networks_of_hosts_are_made'; exit 1; }
fleet_start "$net.254" || { echo 'not ok the_centre_answers_by_tls'; exit 1; }
if has_keeper; then
  keeper_start keeper1
  check a_keeper_has_the_lease wait_for 20 has_lease keeper1
  keeper_start keeper2
  check and_another_one_stands_by wait_for 20 grep -q 'stands by' "$STATE/log/keeper2.log"
else
  as_user "$STATE/bin/stoker-api" --upkeep --config "$STATE/stoker.conf" 2>/dev/null
fi
told "the centre is up, with bytes in $objects"

# --- hosts --------------------------------------------------------------------------
HOST_BASE=$'lease = 2m\n[agent]\ntimeout = 10s'
install -d "$STATE/h9/data"
mount -t tmpfs -o size=64m tmpfs "$STATE/h9/data"
up() { # host: its worker
  local clocked=()
  [ "$1" != h5 ] || [ -z "$clock" ] ||
    clocked=(env "LD_PRELOAD=$clock" FAKETIME=+10m FAKETIME_DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1)
  HOST_RUN="nsenter --net=/proc/${network[$1]}/ns/net ${clocked[*]}" host_start "$1"
}
for h in "${HOSTS[@]}"; do
  HOST_CONF=$HOST_BASE
  [ "$h" != h9 ] || HOST_CONF+=$'\n[continuous]\nmin_free = 1M'
  host_make "$h" "$STATE/$h/bin/"
  mkdir "$STATE/$h/bin"
  for s in "${SERVICES[@]}"; do
    install -m 755 "$B/targets/demo" "$STATE/$h/bin/$s"
    "$STATE/$h/bin/$s" 1 10 &
    programs+=($!)
  done
  join_key "$h" --host "$h" >"$STATE/$h/join.key"
  on "$h" "$STATE/bin/stoker" join "$CENTRE_URL" --config "$STATE/$h/stoker.conf" \
    <"$STATE/$h/join.key" >/dev/null || { echo "not ok a_host_joins: $h"; exit 1; }
  up "$h"
done
for s in "${SERVICES[@]}"; do
  stoker_cli service add "$s" --cmdline "^$STATE/h[0-9]+/bin/$s " >/dev/null
  stoker_cli continuous on "$s" --types cpu >/dev/null
done
on_since=$SECONDS
alive() { equal "$(api GET /api/v1/workers | jq '[.items[] | select(.alive)] | length')" 10; }
check ten_hosts_are_alive_at_the_centre wait_for 60 alive
runs_on() { api GET "/api/v1/services/$1/processes" | jq -c '[.items[].host] | sort'; }
everywhere=$(printf '%s\n' "${HOSTS[@]}" | jq -Rnc '[inputs] | sort')
web_is_everywhere() { equal "$(runs_on web)" "$everywhere"; }
check a_service_is_seen_once_on_each_host wait_for 60 web_is_everywhere

# --- load ----------------------------------------------------------------------------
# Uploads profiles one after another, and captures on random hosts. Writes down
# what was accepted, and when.
uploads() {
  local reply id
  while :; do
    reply=$(printf 'main;work 3\nmain 1\n' | api POST '/api/v1/profiling/sessions?service=pushed&type=cpu&sampleRate=100' \
      -H 'Content-Type: text/plain' --data-binary @- --max-time 12 2>/dev/null)
    id=$(jq -r '.id // empty' 2>/dev/null <<<"$reply")
    if [ -n "$id" ]; then
      echo "$(now_ms) $id" >>"$STATE/uploaded"
    else
      echo "$(now_ms) $(jq -r '.error_code // empty' 2>/dev/null <<<"$reply")" >>"$STATE/refused"
    fi
    [ -e "$STATE/fast" ] || pause 0.3
  done
}
capture() { # host, seconds [service]: id, or the error
  api POST $P/start -H 'Content-Type: application/json' --max-time 12 \
    -d "{\"service\":\"${3:-batch}\",\"profileType\":\"cpu\",\"durationSeconds\":$2,\"host\":\"$1\"}" |
    jq -r '.id // .error_code'
}
captures() {
  local id
  while :; do
    id=$(capture "${HOSTS[RANDOM % 10]}" 2 2>/dev/null)
    case $id in
    sess-*) echo "$id" >>"$STATE/captured" ;;
    esac
    pause 3
  done
}
stoker_cli service add pushed --exe /bin/true >/dev/null
uploads &
loads+=($!)
captures &
loads+=($!)

# --- all is well ------------------------------------------------------------------------
id=$(capture h7 2 web)
ended=$(finished "$id")
check a_capture_on_h7_runs_on_h7 equal "$(jq -r '.status + " " + .host' <<<"$ended")" 'completed h7'
if [ -n "$clock" ]; then
  id=$(capture h5 2 web)
  ended=$(finished "$id")
  check a_host_whose_clock_is_ahead_is_captured equal "$(jq -r .status <<<"$ended")" completed
  near() { jq -e '(.startedAt[:19] + "Z" | fromdateiso8601) as $t | $t < now + 5 and $t > now - 120' <<<"$ended"; }
  check at_the_centre_s_time near
else
  told 'every clock is right: conf/packages/install fleet installs libfaketime'
fi
told "waiting for the first minutes"
samples_at() { # host: of both services at the centre, by the API
  local s n=0
  for s in "${SERVICES[@]}"; do
    n=$((n + $(api GET "$P/merge?service=$s&profileType=cpu&host=$1" | jq '.sampleCount // 0')))
  done
  echo "$n"
}
minutes_of_all() {
  local h
  for h in "${HOSTS[@]}"; do
    [ "$h" = h5 ] || [ "$(samples_at "$h")" -gt 0 ] || { echo "none of $h yet"; return 1; }
  done
}
check every_host_s_minute_is_in_the_centre_s_range wait_for $((150 - SECONDS + on_since)) minutes_of_all
top_at() { api GET "$P/merge?service=web&profileType=cpu" | jq -r '.topFunctions[].funcName'; }
check with_the_functions_of_the_program says matmul top_at
told "they were there $((SECONDS - on_since)) s after continuous profiling was turned on"

# --- a link ---------------------------------------------------------------------------
cursor_of() { db "SELECT COALESCE(MAX(end_ms), 0) FROM block_cursor WHERE host = '$1' AND tier < 2"; }
here() { sqlite3 -cmd '.timeout 20000' "$STATE/$1/data/stoker.db" "$2"; } # host, SQL
had=$(cursor_of h3)
link_of h3 down
told 'the link of h3 is down'
cut=$SECONDS

# --- processes ---------------------------------------------------------------------------
children() { pgrep -P "$(<"$STATE/pid/$1")"; }
courier_of() { # host
  local p
  for p in $(children "$1"); do [ "$(<"/proc/$p/comm")" != stoker-courier ] || echo "$p"; done
}
scheduler_of() { # host: the part that has its store open
  local p
  for p in $(children "$1"); do
    ! readlink "/proc/$p/fd/"* 2>/dev/null | grep -q "/$1/data/stoker.db" || echo "$p"
  done
}
killed=0 blocks_before=$(db 'SELECT COUNT(*) FROM block')
until [ $((SECONDS - cut)) -ge 70 ]; do
  kill -KILL "$( (children api; children api2) | shuf -n 1)" && killed=$((killed + 1))
  pause 0.5
done
blocks_came() { [ "$(db 'SELECT COUNT(*) FROM block')" -ge $((blocks_before + 8)) ]; }
check blocks_come_while_processes_of_the_api_are_killed blocks_came
told "$killed processes of the API were killed"
check a_host_without_its_link_goes_on eval \
  '[ "$(here h3 "SELECT MAX(end_ms) FROM profile_window WHERE level = 1")" -gt "$(cursor_of h3)" ]'
check and_says_that_nobody_answers grep -q 'centre: no answer' "$STATE/log/h3.log"
link_of h3 up
told 'the link of h3 is up'

courier=$(courier_of h2) scheduler=$(scheduler_of h4)
kill -KILL $courier $scheduler
host_stop h6 KILL
up h6
new_courier() { local p; p=$(courier_of h2) && [ -n "$p" ] && [ "$p" != "$courier" ]; }
new_scheduler() { local p; p=$(scheduler_of h4) && [ -n "$p" ] && [ "$p" != "$scheduler" ]; }
check a_courier_that_is_killed_comes_back wait_for 20 new_courier
# A worker ends with its scheduler; its service manager starts a new one.
check a_worker_ends_with_its_scheduler wait_for 20 process_gone "$(<"$STATE/pid/h4")"
up h4
check and_is_started_anew wait_for 20 new_scheduler
for h in h2 h4 h6; do
  id=
  begun() { id=$(capture "$h" 2 web); [[ $id == sess-* ]]; }
  wait_for 40 begun
  check "after_that_${h}_is_captured" equal "$(finished "$id" | jq -r '.status + " " + .host')" "completed $h"
done
told 'parts of hosts were killed'

# --- keepers -----------------------------------------------------------------------------
if has_keeper; then
  kill -KILL "$(<"$STATE/pid/keeper1")"
  lost=$SECONDS
  PATIENCE=1 check the_other_keeper_takes_the_lease_within_30_s wait_for 30 has_lease keeper2
  told "the lease had another keeper after $((SECONDS - lost)) s"
  keeper_start keeper1
else
  told 'there is no keeper: stoker-api has no --keeper'
fi

# --- the database -------------------------------------------------------------------------
touch "$STATE/fast"
pause 2
db "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'" >/dev/null
recent() { # ms: an upload was stored since then
  [ "$(tail -n 1 "$STATE/uploaded" | cut -d' ' -f1)" -gt "$1" ]
}
at=$(now_ms)
check connections_to_the_database_that_are_cut_are_made_anew wait_for 10 recent "$at"
cut_ms=$(now_ms)
kill -QUIT "$postmaster"
pg_promote
promoted_ms=$(now_ms)
check uploads_go_on_with_the_standby wait_for 30 recent "$promoted_ms"
pause 3
gap() { # the longest time between two uploads since then
  awk -v from="$1" '$1 >= from - 2000 { if (last && $1 - last > most) most = $1 - last; last = $1 } END { print most }' "$STATE/uploaded"
}
rm "$STATE/fast"
told "the server was killed and its standby promoted in $((promoted_ms - cut_ms)) ms: uploads paused for $(gap "$cut_ms") ms"
lost_uploads() {
  cut -d' ' -f2 "$STATE/uploaded" | sed '$d' >"$STATE/accepted"
  [ ! -s "$STATE/captured" ] || sed '$d' "$STATE/captured" >>"$STATE/accepted"
  db "SELECT COUNT(*) FROM (VALUES $(sed "s/.*/('&')/" "$STATE/accepted" | paste -sd,)) AS v (id)
      WHERE NOT EXISTS (SELECT 1 FROM session s WHERE s.id = v.id)"
}
check nothing_that_was_accepted_is_lost_with_the_server equal "$(lost_uploads)" 0
told "$(wc -l <"$STATE/accepted") profiles and captures had been accepted"

# --- the object store -------------------------------------------------------------------------
first=$(head -n 1 "$STATE/uploaded" | cut -d' ' -f2)
read_first() { api GET "$P/$first/flamegraph?format=folded" | sort | tr '\n' ' '; }
if [ $objects = s3 ]; then
  id=$(capture h8 3 web)
  gate_signal STOP
  check a_read_without_the_object_store_says_so equal \
    "$(api GET "$P/$first/flamegraph?format=folded" | jq -r .error_code)" StoreUnavailable
  waits() { grep -q 'centre: it answers with 503' "$STATE/log/h8.log"; }
  check a_host_keeps_what_can_not_be_stored wait_for 40 waits
  gate_signal CONT
  check and_sends_it_later equal "$(finished "$id" | jq -r '.status + " " + .host')" 'completed h8'
  readable() { equal "$(read_first)" 'main 1 main;work 3 '; }
  check what_was_stored_is_read_again wait_for 20 readable
  # The gateway is stopped most of the time.
  slowly() { while :; do gate_signal STOP; pause 0.8; gate_signal CONT; pause 0.2; done; }
  slowly &
  slow=$!
  loads+=("$slow")
  check a_slow_object_store_is_waited_for equal "$(read_first)" 'main 1 main;work 3 '
  kill "$slow"
  wait "$slow" 2>/dev/null
  gate_signal CONT
  gate_signal KILL
  check one_that_is_gone_is_named equal \
    "$(api GET "$P/$first/flamegraph?format=folded" | jq -r .error_code)" StoreUnavailable
  gate_start
  check and_found_when_it_is_back wait_for 40 readable
  told 'the object store was stopped, slow and away'
fi

# --- a disk ---------------------------------------------------------------------------------
dd if=/dev/zero of="$STATE/h9/data/filler" bs=64k >/dev/null 2>&1
full=$SECONDS
told 'the disk of h9 is full'

# --- a key ----------------------------------------------------------------------------------
key_of() { api GET '/api/v1/tokens?limit=100' | jq -r --arg h "$1" '.items[] | select(.host == $h and .role == "worker" and .revokedAt == null).id'; }
api DELETE "/api/v1/tokens/$(key_of h10)" -o /dev/null
check a_revoked_key_is_told_on_its_host wait_for 30 grep -q "centre: it refuses this host's key (401" "$STATE/log/h10.log"
kept=$(here h10 'SELECT MAX(end_ms) FROM profile_window WHERE level = 1')
check a_full_disk_is_told_on_its_host wait_for 60 grep -q 'continuous profiling pauses: less than' "$STATE/log/h9.log"
more_of() { [ "$(here h10 'SELECT MAX(end_ms) FROM profile_window WHERE level = 1')" -gt "$kept" ]; }
check what_is_profiled_meanwhile_stays_on_the_host wait_for 130 more_of
check and_is_not_at_the_centre eval '[ "$(cursor_of h10)" -le "$kept" ]'
rm "$STATE/h9/data/filler"
told "the disk of h9 had been full for $((SECONDS - full)) s"
join_key again --host h10 >"$STATE/h10/join.key"
on h10 "$STATE/bin/stoker" join "$CENTRE_URL" --config "$STATE/h10/stoker.conf" <"$STATE/h10/join.key" >/dev/null
host_stop h10
up h10

# --- the end ----------------------------------------------------------------------------------
for pid in "${loads[@]}"; do kill "$pid" 2>/dev/null; done
last=$(($(now_ms) / 60000 * 60000))
caught_up() { # every host has sent the minute in which the load ended
  local h
  for h in "${HOSTS[@]}"; do
    [ "$h" = h5 ] || [ "$(cursor_of "$h")" -ge "$last" ] || { echo "$h has not"; return 1; }
  done
}
check every_host_catches_up wait_for 240 caught_up
told 'every host has caught up'
open_captures() {
  local id open=0
  while read -r id; do
    [ "$(api GET "$P/$id" | jq -r .status)" != running ] || open=$((open + 1))
  done <"$STATE/captured"
  equal "$open" 0
}
check every_capture_that_was_accepted_has_an_end wait_for 60 open_captures
told "captures: $(while read -r id; do api GET "$P/$id" | jq -r '.status + " " + (.error.error_code // "")'; done <"$STATE/captured" | sort | uniq -c | paste -sd,)"
check nothing_that_was_accepted_is_lost equal "$(lost_uploads)" 0

# Prints each service's sums of a host, up to a time: those that the host has,
# and those that the centre has.
sums_here() { # host, up to
  here "$1" "SELECT s.service, SUM(w.sample_count), SUM(w.value), SUM(w.windows), MIN(w.start_ms)
    FROM profile_window w JOIN series s ON s.id = w.series
    WHERE w.level = 1 AND w.end_ms <= $2 GROUP BY s.service ORDER BY s.service"
}
sums_there() { # host, up to
  db "SELECT s.service, SUM(r.sample_count), SUM(r.value), SUM(r.windows), MIN(r.start_ms)
    FROM run r JOIN series s ON s.id = r.series
    WHERE s.host = '$1' AND r.tier < 2 AND r.end_ms <= $2 GROUP BY s.service ORDER BY s.service"
}
same_sums() { # host; it goes on sending meanwhile
  local to
  to=$(cursor_of "$1")
  equal "$(sums_there "$1" "$to")" "$(sums_here "$1" "$to")"
}
for h in "${HOSTS[@]}"; do
  [ "$h" = h5 ] || check "sums_of_${h}_are_its_own" same_sums "$h"
done
twice() {
  db "SELECT COUNT(*) FROM run a JOIN run b ON b.series = a.series AND b.tier < 2
      AND (b.tier, b.start_ms) > (a.tier, a.start_ms) AND b.start_ms < a.end_ms AND b.end_ms > a.start_ms
      WHERE a.tier < 2"
}
check no_time_of_a_series_is_there_twice equal "$(twice)" 0
# The profiles themselves show what readers get.
from=$(db "SELECT MAX(first) FROM (SELECT MIN(start_ms) AS first FROM block WHERE host <> 'h5' AND tier < 2 GROUP BY host) AS f")
for s in "${SERVICES[@]}"; do
  own=0
  for h in "${HOSTS[@]}"; do
    [ "$h" = h5 ] || own=$((own + $(here "$h" "SELECT COALESCE(SUM(w.sample_count), 0) FROM profile_window w
      JOIN series s ON s.id = w.series WHERE w.level = 1 AND s.service = '$s' AND w.start_ms >= $from AND w.end_ms <= $last")))
  done
  read_of() { # hosts other than h5
    local h n=0
    for h in "${HOSTS[@]}"; do
      [ "$h" = h5 ] || n=$((n + $(api GET "$P/merge?service=$s&profileType=cpu&host=$h&from=$from&to=$last" | jq .sampleCount)))
    done
    echo "$n"
  }
  check "a_range_of_${s}_has_the_samples_of_all_hosts" equal "$(read_of)" "$own"
  told "$s: $own samples"
done
if [ -n "$clock" ]; then
  check a_clock_that_is_ahead_is_told grep -q "the block ends in the centre's future" "$STATE/log/h5.log"
  came() { [ "$(cursor_of h5)" -gt 0 ]; }
  check its_windows_come_once_the_centre_s_clock_is_at_their_time wait_for 200 came
  check and_their_sums_are_its_own same_sums h5
fi
check no_request_of_a_host_failed_by_a_mistake_of_the_api equal "$(grep -c '"path":"/agent.*"status":500' "$STATE/log/stoker-access.log")" 0
told 'the end'
