#!/bin/bash
# sql.awk refuses mistakes that would fail on one of the databases only, or only
# later.
#
# Beside others: nothing is timed.
set -u
cd "$(dirname "$0")/../.."
dir=$(mktemp -d /tmp/stoker-sql.XXXXXX)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/query" "$dir/migrate"

generate() {
  awk -v header="$dir/sql.h" -v source="$dir/sql.c" -f app/store/db/sql.awk "$@" \
    2>"$dir/why"
}
refuses() { # claim, words of the reason; the file on stdin
  cat >"$dir/query/q.sql"
  if generate "$dir/query/q.sql"; then
    echo "not ok $1: accepted"
  elif grep -q "$2" "$dir/why"; then
    echo "ok $1"
  else
    echo "not ok $1: $(cat "$dir/why")"
  fi
}

refuses a_parameter_out_of_order '\$2 before \$1' <<'E'
-- name: a
SELECT $2, $1;
E
refuses a_dialect_with_other_parameters 'differ in parameters' <<'E'
-- name: a
SELECT $1;
-- name: a
-- dialect: postgres
SELECT 1;
E
refuses an_unknown_constant 'no header defines NOWHERE' <<'E'
-- name: a
SELECT '{NOWHERE}';
E
refuses a_text_that_is_defined_twice 'COLUMNS is defined twice' <<'E'
-- text: COLUMNS
a, b
-- text: COLUMNS
a
E
refuses a_statement_without_a_name 'without a name' <<'E'
SELECT 1;
E
refuses a_statement_without_an_end 'does not end' <<'E'
-- name: a
SELECT 1
E
refuses two_statements_of_one_name 'after its end' <<'E'
-- name: a
SELECT 1;
SELECT 2;
E
refuses an_unknown_dialect 'dialects are' <<'E'
-- name: a
-- dialect: oracle
SELECT 1;
E
echo 'SELECT 1;' >"$dir/migrate/0002_second.sql"
if generate "$dir/migrate/0002_second.sql"; then
  echo "not ok a_gap_in_migrations: accepted"
else
  echo "ok a_gap_in_migrations"
fi
