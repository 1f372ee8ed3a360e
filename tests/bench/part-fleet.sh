# Measures what a host of a fleet costs its centre, on SQLite and on PostgreSQL,
# and with the bytes in an object store; what it costs itself; and what it costs
# the centre's database to drop a day or to lose a server.
. tests/lib/pg.sh
. tests/lib/ceph.sh
. tests/lib/fleet.sh

# --- requests -----------------------------------------------------------------
fleet_rows() { # engine; reads the program's lines on stdin
  local name ms rate n
  while IFS=$'\t' read -r name ms rate n; do
    case $name in
    claims) row "fleet_claims_per_s_$1" "$ms" 1/s - - - 1000 ;;
    block | poll | hour_block)
      row "fleet_${name}_ms_$1" "$ms" ms - - - "$n"
      row "fleet_${name}s_per_api_cpu_s_$1" "$rate" 1/s - - - "$n"
      ;;
    esac
  done
}
fleet_bench() { CK_VERBOSITY=silent "$B/tests/bench/fleet"; }
pg_folder_make() {
  pg_at=$(mktemp -d /tmp/stoker-bench.XXXXXX)
  chmod 755 "$pg_at"
}
has_pg() { [ -n "$pg_bin" ] || { echo 'bench: PostgreSQL is not installed' >&2; return 1; }; }

names=
for engine in sqlite postgres; do
  names+=" fleet_claims_per_s_$engine"
  for name in block poll hour_block; do
    names+=" fleet_${name}_ms_$engine fleet_${name}s_per_api_cpu_s_$engine"
  done
done
if wanted $names; then
  fleet_bench | fleet_rows sqlite
  pg_folder_make
  if has_pg && pg_start "$pg_at"; then
    STOKER_TEST_DB="postgresql:///postgres?host=$pg_at/pg&user=stoker" fleet_bench | fleet_rows postgres
  fi
  pg_stop
  rm -rf "$pg_at"
fi

# Uses the previous row's database, with the bytes of hours in a bucket.
if wanted fleet_hour_block_ms_s3 fleet_hour_blocks_per_api_cpu_s_s3; then
  pg_folder_make
  if why=$(ceph_lacks); then
    echo "bench: $why" >&2
  elif has_pg && pg_start "$pg_at" && ceph_start && s3 PUT stoker -o /dev/null; then
    STOKER_TEST_DB="postgresql:///postgres?host=$pg_at/pg&user=stoker" ONLY_HOURS=1 \
      API_CONF=$'[store]\nbytes = s3\n'$(ceph_conf) fleet_bench | fleet_rows s3
  fi
  ceph_down
  pg_stop
  rm -rf "$pg_at"
fi

# --- a host ---------------------------------------------------------------------
# Ten services that are profiled all the time, on a host that has a centre.
cpu_ms() { # pid
  sed 's/.*) //' "/proc/$1/stat" | awk -v tick="$(getconf CLK_TCK)" '{ print ($12 + $13) * 1000 / tick }'
}
if wanted fleet_accept_to_start_ms agent_cpu_per_minute agent_sent_kb_per_minute; then
  e2e_start demo
  fleet_start && host_make a && host_join a >/dev/null || exit 1
  host_start a
  wait_for 30 alive_at_centre a || exit 1
  for ((i = 0; i < 10; i++)); do
    ln "$STATE/bin/demo" "$STATE/bin/demo$i" 2>/dev/null || cp "$STATE/bin/demo" "$STATE/bin/demo$i"
    background "demo$i" "$STATE/bin/demo$i" 1 5
    stoker_cli service add "bench$i" --exe "$STATE/bin/demo$i" >/dev/null || exit 1
  done
  seen_on_a() { [ "$(api GET /api/v1/services/bench9/processes | jq '.items | length')" = 1 ]; }
  wait_for 30 seen_on_a || exit 1
  # The time from making a session to its first sample, by the centre's clock.
  for ((i = 0; i < ROUNDS * 4; i++)); do
    id=$(start bench0 1)
    finished "$id" >/dev/null
    as_user sqlite3 "$STATE/data/stoker.db" "SELECT started_ms - created_ms FROM session WHERE id = '$id'"
  done >"$STATE/waits"
  row fleet_accept_to_start_ms "$(median <"$STATE/waits")" ms - - - $((ROUNDS * 4))
  for ((i = 0; i < 10; i++)); do stoker_cli continuous on "bench$i" --types cpu >/dev/null; done
  blocks_of_a() { as_user sqlite3 "$STATE/data/stoker.db" 'SELECT COUNT(*) FROM block'; }
  has_blocks() { [ "$(blocks_of_a)" -ge "$1" ]; }
  wait_for 200 has_blocks 1 || exit 1
  courier=$(for p in $(pgrep -P "$(<"$STATE/pid/a")"); do [ "$(<"/proc/$p/comm")" != stoker-courier ] || echo "$p"; done)
  begun=$(date +%s%3N) had=$(blocks_of_a) before=$(cpu_ms "$courier")
  read -rt 120 <> <(:)
  spent=$(awk -v a="$before" -v b="$(cpu_ms "$courier")" -v ms=$(($(date +%s%3N) - begun)) \
    'BEGIN { printf "%.0f", (b - a) * 60000 / ms }')
  row agent_cpu_per_minute "$spent" ms - - - $(($(blocks_of_a) - had))
  sent=$(as_user sqlite3 "$STATE/data/stoker.db" "SELECT printf('%.1f', AVG(b.length * 60000.0 / (k.end_ms - k.start_ms)) / 1024)
    FROM block k JOIN blob b ON b.id = k.id WHERE k.tier = 0")
  row agent_sent_kb_per_minute "$sent" KiB - - - "$(blocks_of_a)"
  for ((i = 0; i < 10; i++)); do process_stop "demo$i"; done
  host_stop a
  e2e_stop
  trap - EXIT
fi

# --- the database ------------------------------------------------------------------
# A day of blocks of an hour's minutes, from 1000 hosts with ten services each:
# 240 000 runs.
drop_a_day() { # in a subshell
  pg_folder_make
  trap 'pg_stop; rm -rf "$pg_at"' EXIT
  pg_start "$pg_at" '-c shared_buffers=256MB -c max_wal_size=4GB' || exit 1
  mkdir "$pg_at/store"
  printf '[store]\ndir = %s\ndatabase = %s\n' "$pg_at/store" "postgresql:///postgres?host=$pg_at/pg&user=stoker" \
    >"$pg_at/stoker.conf"
  "$B/stoker" migrate --config "$pg_at/stoker.conf" >/dev/null || exit 1
  day=$(($(date +%s) / 86400 - 40))
  sql() { pg_run psql -qXAt -v ON_ERROR_STOP=1 "postgresql:///postgres?host=$pg_at/pg&user=stoker" "$@"; }
  sql -c "INSERT INTO service SELECT (jsonb_populate_record(NULL::service, jsonb_build_object(
      'tenant', 't', 'name', 'bench' || i, 'kind', 'auto', 'host', '', 'match_kind', 'exe',
      'match_value', '/bin/true', 'pprof_url', '', 'source', 'auto', 'allow', '{}', 'labels', '{}',
      'description', '', 'created_ms', 1, 'updated_ms', 1))).* FROM generate_series(0, 9) AS g (i)" \
    -c "INSERT INTO series (id, tenant, service, type, host, labels, created_ms)
      SELECT 'series-' || h || '-' || i, 't', 'bench' || i, 'cpu', 'host' || h, '{}', 1
      FROM generate_series(1, 1000) AS a (h), generate_series(0, 9) AS b (i)" || exit 1
  from_ms=$((day * 86400000))
  fill_day() {
    # Foreign keys are not checked: that would take longer than all the rest.
    sql -c "SELECT run_day_make(1, $day)" -c "SET session_replication_role = replica" -c "INSERT INTO run
      SELECT s.id, 1, $from_ms + h * 3600000, $from_ms + (h + 1) * 3600000,
        'block-' || s.host || '-' || h, 0, 60, 3600000, 360, 60000, 1000000, 0, 180000, ''
      FROM series s, (SELECT CAST(n AS BIGINT) AS h FROM generate_series(0, 23) AS g (n)) AS hours" \
      -c 'CHECKPOINT' >/dev/null
  }
  timed() { # SQL: ms
    sql -c '\timing on' -c "$1" | awk '/^Time: / { print $2 }'
  }
  for ((i = 0; i < ROUNDS; i++)); do
    fill_day && timed 'SELECT run_days_drop()' >>"$pg_at/dropped" || exit 1
    fill_day && timed "DELETE FROM run WHERE tier = 1 AND start_ms < $from_ms + 86400000" >>"$pg_at/deleted" || exit 1
    sql -c 'SELECT run_days_drop()' >/dev/null
  done
  ours=$(median <"$pg_at/dropped") theirs=$(median <"$pg_at/deleted")
  row retention_drop_day_ms "$ours" ms DELETE "$theirs" "$(awk "BEGIN { printf \"%.1f\", $theirs / $ours }")" 240000
}
if wanted retention_drop_day_ms && has_pg; then
  (drop_a_day)
fi

# Uploads one after another, while the database server is killed and its
# standby promoted at once; prints the longest time between two successes.
failover() { # in a subshell: no other part starts a centre like this
  . tests/lib/centre.sh
  pg_folder_make
  LEAVE='e2e_stop; pg_stop; rm -rf "$pg_at"'
  pg_start "$pg_at" && pg_standby || exit 1
  API_CONF="[store]
database = postgresql:///postgres?host=$(pg_hosts)&user=stoker&target_session_attrs=read-write
bytes = db"
  e2e_start
  stoker_cli service add pushed --exe /bin/true >/dev/null
  while :; do
    code=$(printf 'main;work 3\n' | api POST '/api/v1/profiling/sessions?service=pushed&type=cpu&sampleRate=100' \
      -H 'Content-Type: text/plain' --data-binary @- --max-time 20 -o /dev/null -w '%{http_code}')
    [[ $code != 20[01] ]] || date +%s%3N >>"$STATE/stored"
  done &
  uploader=$!
  stored_more() { [ "$(wc -l <"$STATE/stored")" -ge "$1" ]; }
  wait_for 20 stored_more 10 || exit 1
  kill -QUIT "$postmaster"
  pg_promote
  lines=$(wc -l <"$STATE/stored")
  wait_for 60 stored_more $((lines + 10)) || exit 1
  kill "$uploader"
  wait "$uploader" 2>/dev/null
  awk '{ if (last && $1 - last > most) most = $1 - last; last = $1 } END { print most }' "$STATE/stored"
}
if wanted failover_pause_ms && has_pg; then
  pauses=$(for ((i = 0; i < ROUNDS; i++)); do (failover); done)
  row failover_pause_ms "$(median <<<"$pauses")" ms - - - "$ROUNDS"
fi
