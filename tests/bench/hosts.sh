#!/bin/bash
# Measures what a fleet costs its centre. HOSTS hosts with ten services each
# send a block a minute, and poll when the centre asks them to. The centre is
# nginx with TLS, a pool of the API, and PostgreSQL, all on this machine. Prints
# a figure per line, and estimates for fleets of other sizes.
#
#	HOSTS=1000 MINUTES=10 SPREAD=60 tests/bench/hosts.sh
#
# SPREAD is the number of seconds over which the blocks of a minute arrive.
: "${HOSTS:=1000}" "${MINUTES:=10}" "${SPREAD:=60}"
POOL=${POOL:-6} HEAVY=1 RATE=100000r/s TENANT=bench
. "$(dirname "$0")/../lib/e2e.sh"
. tests/lib/pg.sh
. tests/lib/fleet.sh
. tests/lib/centre.sh
[ -n "$pg_bin" ] || { echo 'skip bench/hosts: PostgreSQL is not installed'; exit 0; }
folder=$(mktemp -d /var/tmp/stoker-bench-XXXXXX)
chmod 755 "$folder"
leave() {
  local code=$?
  centre_stop
  if [ -d "${STATE:-}" ]; then
    (exit $code)
    e2e_stop
  fi
  pg_stop
  rm -rf "$folder"
  exit $code
}
LEAVE=leave
trap leave EXIT
trap 'exit 1' INT TERM
pg_start "$folder" '-c max_connections=60 -c shared_buffers=256MB -c max_wal_size=4GB -c full_page_writes=on' ||
  { echo "bench/hosts: no server: $(tail -n 2 "$folder/pg/log")" >&2; exit 1; }
dsn="postgresql:///postgres?host=$folder/pg&user=stoker"
db() { pg_run psql -qXAt "$dsn" -c "$1"; }
API_CONF="[store]
database = $dsn
bytes = db
[quota]
tokens = 0
host_series = 0
host_bytes = 0"
e2e_start
fleet_start || exit 1
for ((i = 0; i < 10; i++)); do
  stoker_cli service add "bench$i" --exe "/usr/bin/bench$i" >/dev/null &&
    stoker_cli continuous on "bench$i" --types cpu >/dev/null || exit 1
done
for ((i = 0; i < HOSTS; i++)); do printf 'stk_%040d\n' "$i"; done >"$STATE/keys"
db "INSERT INTO token (id, name, hash, role, tenants, default_tenant, created_ms, expires_ms, revoked_ms, last_used_ms, host)
    SELECT 'tok-' || lpad(CAST(i AS TEXT), 20, '0'), 'host' || i,
           encode(sha256(CAST('stk_' || lpad(CAST(i AS TEXT), 40, '0') AS BYTEA)), 'hex'),
           'worker', 'bench', 'bench', now_ms(), 0, 0, 0, 'host' || i
    FROM generate_series(0, $HOSTS - 1) AS g (i)"

# Prints the CPU time in seconds of processes and their finished children.
cpu_s() {
  local pid
  for pid; do sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null; done |
    awk -v tick="$(getconf CLK_TCK)" '{ n += $12 + $13 + $14 + $15 } END { printf "%.2f\n", n / tick }'
}
api_cpu() { cpu_s $(pgrep -P "$(<"$STATE/pid/api")"); }
nginx_cpu() { cpu_s $(pgrep -P "$(<"$STATE/pid/nginx")"); }
pg_cpu() { cpu_s "$postmaster" $(pgrep -P "$postmaster"); }
bytes() { db 'SELECT pg_database_size(current_database())'; }
wal() { db "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"; }

# Measures a minute in which hosts only poll, and then minutes in which they
# send blocks, too.
run_hosts() { # minutes, spread
  "$B/tests/bench/hosts" "$CENTRE_URL" "$STATE/nginx/tls.pem" "$TENANT" "$STATE/keys" "$1" "$2"
}
marks() { echo "$(api_cpu) $(nginx_cpu) $(pg_cpu) $(bytes) $(wal)"; }
used() { # marks before, marks after
  awk -v a="$1" -v b="$2" 'BEGIN { n = split(a, x, " "); split(b, y, " ")
    for (i = 1; i <= n; i++) printf "%.2f%s", y[i] - x[i], i < n ? " " : "\n" }'
}
run_hosts 1 0 >"$STATE/first" || exit 1 # notifies services, makes connections
before=$(marks)
run_hosts 1 0 >"$STATE/polls" || exit 1
read -r poll_api poll_nginx poll_pg poll_bytes poll_wal <<<"$(used "$before" "$(marks)")"
before=$(marks)
run_hosts "$MINUTES" "$SPREAD" >"$STATE/told" || exit 1
read -r api_s nginx_s pg_s bytes_n wal_n <<<"$(used "$before" "$(marks)")"
polls=$(awk -F '\t' '$1 == "poll" { print $2 }' "$STATE/polls")
rows=$(db 'SELECT (SELECT COUNT(*) FROM block), (SELECT COUNT(*) FROM run)')
memory=$(for p in $(pgrep -P "$(<"$STATE/pid/api")"); do awk '/^Pss:/ { print $2 }' "/proc/$p/smaps_rollup"; done |
  awk '{ n += $1 } END { printf "%.0f", n / 1024 }')

out=$B/hosts.tsv
row() { # name, value, unit
  local IFS=$'\t'
  echo "$*"
}
{
  row hosts "$HOSTS" hosts
  row minutes "$MINUTES" min
  while IFS=$'\t' read -r name n a b c d; do
    case $name in
    block | poll)
      row "${name}s" "$n" ''
      row "${name}_median_ms" "$a" ms
      row "${name}_p95_ms" "$b" ms
      row "${name}_p99_ms" "$c" ms
      row "${name}_most_ms" "$d" ms
      ;;
    refused) row "refused_$n" "$a" requests ;;
    lag) row lag_s "$n" s ;;
    unsent) row unsent "$n" blocks ;;
    esac
  done <"$STATE/told"
  row block_rows "${rows%|*}" rows
  row run_rows "${rows#*|}" rows
  row api_cpu_s "$api_s" s
  row nginx_cpu_s "$nginx_s" s
  row postgres_cpu_s "$pg_s" s
  row polls_per_api_cpu_s "$(awk -v n="$polls" -v s="$poll_api" 'BEGIN { printf "%.0f", n / s }')" 1/s
  row api_rss_mb "$memory" MiB
  row database_bytes "$bytes_n" bytes
  row wal_bytes "$wal_n" bytes
} | tee "$out"

# Extrapolates to other fleets: the minute without blocks gives the cost of a
# poll, and the rest is the cost of blocks. Hosts poll once a second; with more
# than 100 hosts less often, but at least every two seconds.
awk -F '\t' -v polls="$polls" -v api="$poll_api" -v nginx="$poll_nginx" -v pg="$poll_pg" \
  -v wal="$poll_wal" -v of="$poll_bytes" '
  function cost(all, some) { # CPUs, or bytes a second, of b blocks and p polls
    some /= polls
    all = (all - some * v["polls"]) / v["blocks"]
    return (all > 0 ? all : 0) * b + some * p
  }
  { v[$1] = $2 }
  END {
    print ""
    print "hosts\tblocks/s\tpolls/s\tapi CPUs\tnginx CPUs\tpostgres CPUs\tWAL MB/s\tdatabase GB of 2 h"
    for (n = 100; n <= 10000; n *= 10) {
      pause = n < 100 ? 1 : n > 200 ? 2 : n / 100
      b = n / 60; p = n / pause
      printf "%d\t%.1f\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.1f\n", n, b, p, cost(v["api_cpu_s"], api),
        cost(v["nginx_cpu_s"], nginx), cost(v["postgres_cpu_s"], pg),
        cost(v["wal_bytes"], wal) / 1e6, cost(v["database_bytes"], of) * 7200 / 1e9
    }
  }' "$out"
