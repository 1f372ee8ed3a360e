#!/bin/bash
# The schema loads and every query prepares on PostgreSQL: a throwaway cluster
# in a separate directory, reached by a unix socket only.
#
# Beside others: nothing is timed.
set -u
cd "$(dirname "$0")/../.."
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
if [ -z "$bin" ]; then
  echo "skip postgres: PostgreSQL is not installed"
  exit 0
fi
dir=$(mktemp -d /tmp/stoker-pg.XXXXXX)
as=()
if [ "$(id -u)" -eq 0 ]; then # a server refuses to run as root
  user=$(id -un postgres 2>/dev/null || echo nobody)
  as=(setpriv "--reuid=$user" "--regid=$(id -gn "$user")" --clear-groups)
  chown "$user" "$dir"
fi
run() { (cd "$dir" && "${as[@]}" env -i PATH="$bin:$PATH" LC_ALL=C.UTF-8 "$@"); }
down() {
  run pg_ctl -D data -m immediate -w stop >/dev/null 2>&1
  rm -rf "$dir"
}
trap down EXIT
not_ok() {
  echo "not ok $1: $2"
  exit 1
}

awk -v psql="$dir/all.sql" -f app/store/db/sql.awk \
  include/store/{bytes,host_sum,window}.h sql/migrate/*.sql sql/query/*.sql || not_ok postgres "sql.awk failed"
run initdb -D data -U stoker -A trust -E UTF8 --no-sync >"$dir/log" 2>&1 &&
  run pg_ctl -D data -w -l server.log -o "-c listen_addresses='' \
    -c unix_socket_directories='$dir' -c fsync=off" start >>"$dir/log" 2>&1 ||
  not_ok postgres "no cluster: $(tail -2 "$dir/log" "$dir/server.log" 2>&1)"

# Runs in one session, since prepared statements end with it.
echo 'SELECT name FROM pg_prepared_statements;' >>"$dir/all.sql"
run psql -X -q -A -t -h "$dir" -U stoker -d postgres -f all.sql \
  >"$dir/prepared" 2>"$dir/errors"
if grep -q ERROR "$dir/errors"; then
  sed 's/^/# /' "$dir/errors"
  echo "not ok schema_loads: $(grep -m1 ERROR "$dir/errors")"
else
  echo "ok schema_loads"
fi
for name in $(sed -n 's/^-- name: //p' sql/query/*.sql | sort -u); do
  if grep -qx "$name" "$dir/prepared"; then
    echo "ok $name prepares"
  else
    echo "not ok $name: does not prepare"
  fi
done
