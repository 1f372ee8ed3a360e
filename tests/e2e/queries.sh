#!/bin/bash
# Samples of a PostgreSQL server have the identifier of the query that their
# process works for.
. tests/lib/e2e.sh
. tests/lib/once.sh
. tests/lib/pg.sh
[ -n "$pg_bin" ] || { echo "skip queries: no PostgreSQL here"; exit 0; }
tmp=$(mktemp -d /var/tmp/stoker-queries-XXXXXX)
chmod 755 "$tmp"
trap 'kill $(jobs -p) 2>/dev/null; pg_stop; rm -rf "$tmp"' EXIT
can_capture queries || exit
pg_start "$tmp" '-c compute_query_id=on'

sql() { pg_run psql -qAtX -h "$tmp/pg" -U stoker postgres "$@"; }
session() { # name, statement: $pid of its process, once it runs the statement
  pg_run env PGAPPNAME="$1" psql -qAtX -h "$tmp/pg" -U stoker postgres -c "$2" >/dev/null &
  wait_for 20 runs "$1"
  pid=$(fact "$1" pid)
}
fact() { sql -c "SELECT $2 FROM pg_stat_activity WHERE application_name = '$1'"; }
runs() { [ "$(fact "$1" 'query_id IS NOT NULL')" = t ]; }
labels() { "$B/tests/tools/folded" "$tmp/$1.pb.gz" labels; }
share() { # name, label, least percent of samples
  labels "$1" | awk -v label=" $2( |$)" -v least="$3" '
    { n += $1 }
    $0 ~ label { has += $1 }
    END { printf "%d of %d samples\n", has, n; exit !(n >= 20 && has >= least * n / 100) }'
}
has_no() { ! labels "$1" | grep -E -- "$2"; } # name, expression

session adds "SELECT sum(i) FROM generate_series(1, 100000000) i"
adds=$pid
session joins "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b"
joins=$pid
check two_queries_differ [ "$(fact adds query_id)" != "$(fact joins query_id)" ]
check both_are_captured once both "$adds,$joins" --seconds 3 --rate 499
for name in adds joins; do
  check "samples_have_the_query_that_$name" share both "postgresql.queryid=$(fact $name query_id)" 40
done
check no_sample_lacks_its_query share both postgresql.queryid=-?[0-9]* 97

# One session sleeps, and ends a wait each second; one is idle: it waits for a
# command, and had a query before.
session sleeps "SELECT count(pg_sleep(0.1)) FROM generate_series(1, 600)"
sleeps=$pid
check waits_are_captured once waits "$sleeps" --seconds 3 --type block
check waits_have_the_query_that_sleeps share waits "postgresql.queryid=$(fact sleeps query_id)" 97
{ for _ in {1..100}; do echo 'SELECT 1;'; sleep 0.1; done; } |
  pg_run env PGAPPNAME=rests psql -qAtX -h "$tmp/pg" -U stoker postgres >/dev/null &
wait_for 20 runs rests
check idle_waits_are_captured once idle "$(fact rests pid)" --seconds 3 --type block
check a_process_without_a_query_has_none has_no idle postgresql.queryid
