#!/bin/bash
# A database that somebody else has prepared: its views, triggers and
# functions, which would run along with Stoker's statements, are refused before
# any of them runs.
#
# Beside others: nothing has a deadline.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
: "${B:=build}"
. tests/lib/check.sh
. tests/lib/pg.sh
STATE=$(mktemp -d /var/tmp/stoker-schemas-XXXXXX)
chmod 755 "$STATE"
leave() { pg_stop; rm -rf "$STATE"; }
trap leave EXIT
stoker() { "$B/stoker" "$@"; }

# --- SQLite
mkdir "$STATE/sound"
printf '[store]\ndir = %s\n' "$STATE/sound" >"$STATE/sound.conf"
stoker token create first --role admin --config "$STATE/sound.conf" >/dev/null 2>&1
endless='WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i FROM n)'
trigger='CREATE TRIGGER spy AFTER INSERT ON token BEGIN
  INSERT INTO audit SELECT * FROM audit; END'
view="DROP TABLE survey; CREATE VIEW survey AS $endless SELECT * FROM n"
changed="DROP VIEW trigger_row; CREATE VIEW trigger_row AS $endless SELECT * FROM n"
migration="DROP TABLE migration; CREATE VIEW migration AS $endless SELECT 99 AS version, 1 AS compatible FROM n"
virtual='DROP TABLE survey; CREATE VIRTUAL TABLE survey USING fts5 (id)'
later="INSERT INTO migration SELECT MAX(version) + 1, MAX(version), 'later', 0 FROM migration"
given() { # SQL
  rm -rf "$STATE/given"
  cp -r "$STATE/sound" "$STATE/given"
  printf '[store]\ndir = %s\n' "$STATE/given" >"$STATE/given.conf"
  sqlite3 "$STATE/given/stoker.db" "$1"
}
stops() { # what the error says, SQL
  given "$2" && says "$1" timeout 20 "$B/stoker" token create second --role admin --config "$STATE/given.conf"
}
refuses() { stops "the $2 is not Stoker's" "$1"; } # SQL, what the error names
analysed() {
  sqlite3 "$STATE/sound/stoker.db" ANALYZE && stoker migrate --config "$STATE/sound.conf"
}
check a_store_as_stoker_made_it_is_opened leaves 0 stoker migrate --config "$STATE/sound.conf"
check a_trigger_is_refused refuses "$trigger" 'trigger spy'
check a_trigger_of_a_later_schema_is_refused refuses "$later; $trigger" 'trigger spy'
check a_view_in_place_of_a_table_is_refused refuses "$view" 'view survey'
check a_view_in_place_of_the_version_is_refused refuses "$migration" 'view migration'
check a_view_that_was_changed_is_refused refuses "$changed" 'view trigger_row'
check a_virtual_table_is_refused refuses "$virtual" 'table survey'
rewritten() { # table, part of its text, replacement
  echo "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, '$2', '$3') WHERE name = '$1'"
}
big='hex(zeroblob(99999999))'
condition=$(rewritten token 'host ' "more TEXT CHECK (length($big) > 0), host ")
column="ALTER TABLE audit ADD COLUMN more TEXT AS ($big)"
default=$(rewritten worker 'look_wanted_ms BIGINT NOT NULL DEFAULT 0' "look_wanted_ms BIGINT NOT NULL DEFAULT (length($big))")
index="CREATE INDEX slow ON token ($big)"
part="CREATE INDEX slow ON token (id) WHERE id GLOB '*a*a*a*'"
table="CREATE TABLE more (a TEXT CHECK (\"hex\"(zeroblob(99999999)) <> a))"
check a_condition_that_was_added_is_refused refuses "$condition" 'table token'
check a_column_that_is_computed_is_refused refuses "$column" 'table audit'
check a_default_that_is_computed_is_refused refuses "$default" 'table worker'
check an_index_of_an_expression_is_refused refuses "$index" 'index slow'
check a_condition_of_a_later_schema_is_refused refuses "$later; $condition" 'table token'
check a_computed_column_of_a_later_schema_is_refused refuses "$later; $column" 'table audit'
check a_computed_default_of_a_later_schema_is_refused refuses "$later; $default" 'table worker'
check an_index_of_an_expression_of_a_later_schema_is_refused refuses "$later; $index" 'index slow'
check an_index_of_what_matches_of_a_later_schema_is_refused refuses "$later; $part" 'index slow'
check a_table_that_computes_of_a_later_schema_is_refused refuses "$later; $table" 'table more'
check a_missing_table_of_a_later_schema_is_refused refuses "$later; DROP TABLE survey" 'table survey'
check an_index_that_is_missing_is_named refuses 'DROP INDEX service_collector' 'index service_collector'
# A release may add values of a list, columns, tables and indexes.
more="$later; $(rewritten token "''join''" "''join'', ''more''"); PRAGMA writable_schema = OFF;
  ALTER TABLE audit ADD COLUMN more BIGINT NOT NULL DEFAULT -1; DROP INDEX service_collector;
  CREATE TABLE more (id TEXT PRIMARY KEY, \"of\" TEXT NOT NULL REFERENCES token (id) ON DELETE CASCADE,
    kind TEXT CHECK (kind IN ('a', 'it''s') AND NOT (kind = '')), UNIQUE (kind, id));
  CREATE INDEX more_kind ON more (kind, id) WHERE kind <> ''"
opens() { given "$1" && stoker migrate --config "$STATE/given.conf"; } # SQL
check a_later_schema_that_computes_nothing_is_opened leaves 0 opens "$more"
check statistics_of_a_table_are_no_stranger leaves 0 analysed
statistics() { # expression of a column, number of rows
  echo "PRAGMA writable_schema = ON;
    UPDATE sqlite_master SET sql = 'CREATE TABLE sqlite_stat1(tbl,idx,rest,stat AS ($1))' WHERE name = 'sqlite_stat1';
    DELETE FROM sqlite_stat1; $endless INSERT INTO sqlite_stat1 SELECT 'token', 'x', i FROM n LIMIT $2"
}
check statistics_that_are_computed_are_refused refuses "$(statistics "length($big)" 1)" 'table sqlite_stat1'
check statistics_that_take_long_are_refused stops 'takes too long' "$(statistics 'length(hex(zeroblob(500000 + rest)))' 99999)"

# A backup whose manifest was adapted to a changed database.
stoker backup "$STATE/backup" --config "$STATE/sound.conf" >/dev/null
db=$STATE/backup/$(jq -r .database "$STATE/backup/manifest.json")
old=$(sha256sum <"$db")
sqlite3 "$db" "$trigger"
new=$(sha256sum <"$db")
sed -i "s/${old%% *}/${new%% *}/" "$STATE/backup/manifest.json"
restores() { stoker restore "$STATE/backup" --config "$STATE/restored.conf"; }
printf '[store]\ndir = %s\n' "$STATE/restored" >"$STATE/restored.conf"
check a_backup_with_a_trigger_is_not_restored says "the trigger spy is not Stoker's" restores
check nothing_was_restored [ ! -e "$STATE/restored/stoker.db" ]

# --- PostgreSQL
[ -n "$pg_bin" ] || skip the_same_on_a_server 'PostgreSQL is not installed'
pg_start "$STATE" '-c fsync=off'
psql() { pg_run psql -qX -v ON_ERROR_STOP=1 -h "$STATE/pg" "$@"; }
psql -U stoker postgres -c 'CREATE ROLE app LOGIN' -c 'CREATE ROLE evil LOGIN' -c 'CREATE ROLE boss LOGIN SUPERUSER'
database() { # the role that connects
  psql -U stoker postgres -c 'DROP DATABASE IF EXISTS given WITH (FORCE)' \
    -c 'CREATE DATABASE given OWNER app TEMPLATE template0 ENCODING UTF8 LOCALE "C.UTF-8"' &&
    psql -U stoker given -c 'GRANT CREATE ON SCHEMA public TO evil' &&
    printf '[store]\ndir = %s\ndatabase = postgres://%s@/given?host=%s\n' \
      "$STATE/sound" "$1" "$STATE/pg" >"$STATE/pg.conf"
}
migrates() { timeout 60 "$B/stoker" migrate --config "$STATE/pg.conf"; }
makes() { # a function, its return type
  echo "CREATE FUNCTION public.$1 RETURNS $2 LANGUAGE plpgsql AS \$\$ BEGIN RAISE 'evil ran as %', current_user; END \$\$"
}
fake_function() {
  database app && psql -U evil given -c "$(makes 'other()' BIGINT)" -c "$(makes 'substr(varchar, integer)' TEXT)"
}
fake_tables() { # tables of another role, as if a release had made them
  database "$1" && psql -U evil given -c 'CREATE TABLE migration (version BIGINT PRIMARY KEY, compatible BIGINT, name TEXT, applied_ms BIGINT)' \
    -c "INSERT INTO migration VALUES (1, 1, 'start', 0)" \
    -c "$(makes 'spy()' TRIGGER)" \
    -c 'CREATE TRIGGER spy BEFORE INSERT ON migration EXECUTE FUNCTION spy()' -c 'GRANT ALL ON migration TO app'
}
hiding_table() { # in the schema that comes first in search_path
  database app && migrates && psql -U stoker given -c 'GRANT CREATE ON DATABASE given TO evil' &&
    psql -U evil given -c 'CREATE SCHEMA app' -c 'CREATE VIEW app.token AS SELECT 1 AS id' \
      -c 'GRANT USAGE ON SCHEMA app TO app' -c 'GRANT ALL ON app.token TO app'
}
fake_trigger() {
  database app && migrates && psql -U app given -c 'GRANT TRIGGER ON token TO evil' &&
    psql -U evil given -c "$(makes 'spy()' TRIGGER)" \
      -c 'CREATE TRIGGER spy BEFORE INSERT ON token EXECUTE FUNCTION spy()'
}
own() { database app && migrates && migrates; }
own_trigger() { # made by the role that owns the store
  own && psql -U app given -c 'CREATE FUNCTION public.mine() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$' \
    -c 'CREATE TRIGGER mine BEFORE INSERT ON token EXECUTE FUNCTION mine()' && migrates
}
refused() { # what the error names, command that prepares it
  local named=$1
  shift
  "$@" >/dev/null && says "the $named of the role evil is not Stoker's" migrates
}
check a_database_of_its_own_is_migrated leaves 0 own
check what_the_owner_of_the_store_adds_is_its_business leaves 0 own_trigger
check a_function_that_hides_another_is_refused refused 'function substr' fake_function
check tables_of_another_role_are_refused refused 'table migration' fake_tables app
check a_table_that_hides_one_is_refused refused 'table token' hiding_table
check a_superuser_uses_no_tables_of_another_role refused 'table migration' fake_tables boss
check a_trigger_of_another_role_is_refused refused 'trigger spy of token' fake_trigger
