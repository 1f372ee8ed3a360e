# What a host of a fleet costs its centre, on SQLite and on PostgreSQL.

fleet_rows() { # engine; on stdin the program's lines
  local name ms rate n
  while IFS=$'\t' read -r name ms rate n; do
    row "fleet_${name}_ms_$1" "$ms" ms - - - "$n"
    row "fleet_${name}s_per_api_cpu_s_$1" "$rate" 1/s - - - "$n"
  done
}

if wanted fleet_block_ms_{sqlite,postgres} fleet_blocks_per_api_cpu_s_{sqlite,postgres} \
  fleet_poll_ms_{sqlite,postgres} fleet_polls_per_api_cpu_s_{sqlite,postgres}; then
  CK_VERBOSITY=silent "$B/tests/bench/fleet" | fleet_rows sqlite
  . tests/lib/pg.sh
  pg_at=$(mktemp -d /tmp/stoker-bench.XXXXXX)
  chmod 755 "$pg_at"
  if [ -n "$pg_bin" ] && pg_start "$pg_at"; then
    STOKER_TEST_DB="postgresql:///postgres?host=$pg_at/pg&user=stoker" \
      CK_VERBOSITY=silent "$B/tests/bench/fleet" | fleet_rows postgres
  else
    echo "bench: PostgreSQL is not installed" >&2
  fi
  pg_stop
  rm -rf "$pg_at"
fi
