#!/bin/bash
# Runs the tests of the store and of the API on PostgreSQL, too: a server of
# Debian's package in a temporary folder, reached by a unix socket only. Test
# programs that say "On SQLite alone" are about its file.
#
#	tests/unit/engines.sh [PATTERN]	those whose path matches
#
# Beside others: it waits for events.
set -u
cd "$(dirname "$0")/../.."
. tests/lib/pg.sh
export B=${B:-build} CK_VERBOSITY=verbose STOKER_TEST_DB TMP
if [ -z "$pg_bin" ]; then
  echo "skip engines: PostgreSQL is not installed"
  exit 0
fi
TMP=$(mktemp -d /tmp/stoker-engines.XXXXXX)
trap 'pg_stop; rm -rf "$TMP"' EXIT
chmod 755 "$TMP"
# The server need not survive a crash.
pg_start "$TMP" "-c fsync=off -c full_page_writes=off -c shared_buffers=32MB" ||
  { echo "not ok engines: no server: $(tail -n 1 "$TMP/pg/log")"; exit 1; }
STOKER_TEST_DB="postgresql:///postgres?host=$TMP/pg&user=stoker"

# Prints a suite's claims, one per line.
run_suite() { # path
  local name=${1#tests/} log code=0
  name=${name%.c} log=$TMP/${name//\//-}.log
  "$B/tests/$name" >"$log" 2>&1 || code=$?
  awk -v suite="${name##*/}" -v code="$code" '/^SKIP / { print "# " $0 }
    match($0, /:[PFE]:[^:]*:[^:]*:/) {
      split(substr($0, RSTART + 1), f, ":")
      claim = "on_postgres/" suite "/" f[3]
      if (f[1] == "P") print "ok " claim
      else { print "not ok " claim ": " $0; code = 0 }
    }
    { last = $0 }
    END { if (code) print "not ok on_postgres/" suite ": it left with " code " after: " last }' "$log"
}
export -f run_suite
grep -LzE 'On[[:space:]*]+SQLite alone' tests/unit/{store,upkeep,keeper}/*.c tests/api/*.c | grep -E "${1:-.}" |
  xargs -P "$(($(nproc) + 2))" -n 1 bash -c 'run_suite "$0"'
