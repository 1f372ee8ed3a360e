#!/bin/bash
# A database that somebody else has prepared: views, triggers and functions in
# it, which would run when Stoker's statements do, are refused before one does.
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
later="INSERT INTO migration SELECT MAX(version) + 1, MAX(version), 'later', 0 FROM migration; $trigger"
refuses() { # SQL, what is named
  rm -rf "$STATE/given"
  cp -r "$STATE/sound" "$STATE/given"
  printf '[store]\ndir = %s\n' "$STATE/given" >"$STATE/given.conf"
  sqlite3 "$STATE/given/stoker.db" "$1" && says "the $2 is not Stoker's" \
    timeout 20 "$B/stoker" token create second --role admin --config "$STATE/given.conf"
}
analysed() {
  sqlite3 "$STATE/sound/stoker.db" ANALYZE && stoker migrate --config "$STATE/sound.conf"
}
check a_store_as_stoker_made_it_is_opened leaves 0 stoker migrate --config "$STATE/sound.conf"
check a_trigger_is_refused refuses "$trigger" 'trigger spy'
check a_trigger_of_a_later_schema_is_refused refuses "$later" 'trigger spy'
check a_view_in_place_of_a_table_is_refused refuses "$view" 'view survey'
check a_view_in_place_of_the_version_is_refused refuses "$migration" 'view migration'
check a_view_that_was_changed_is_refused refuses "$changed" 'view trigger_row'
check a_virtual_table_is_refused refuses "$virtual" 'table survey'
rewritten() { # table, words of its text, others
  echo "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, '$2', '$3') WHERE name = '$1'"
}
check a_condition_that_was_added_is_refused refuses "$(rewritten token 'host ' 'more TEXT CHECK (length(hex(zeroblob(99999999))) > 0), host ')" 'table token'
check a_column_that_is_computed_is_refused refuses 'ALTER TABLE audit ADD COLUMN more TEXT AS (hex(zeroblob(99999999)))' 'table audit'
check a_default_that_is_computed_is_refused refuses "$(rewritten worker "look_wanted_ms BIGINT NOT NULL DEFAULT 0" 'look_wanted_ms BIGINT NOT NULL DEFAULT (length(hex(zeroblob(99999999))))')" 'table worker'
check an_index_of_an_expression_is_refused refuses 'CREATE INDEX slow ON token (hex(zeroblob(99999999)))' 'index slow'
check an_index_that_is_missing_is_named refuses 'DROP INDEX service_collector' 'index service_collector'
check statistics_of_a_table_are_no_stranger leaves 0 analysed

# A backup whose manifest was made to fit.
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
if [ -z "$pg_bin" ]; then
  skip the_same_on_a_server 'PostgreSQL is not installed'
  exit
fi
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
makes() { # a function, what it returns
  echo "CREATE FUNCTION public.$1 RETURNS $2 LANGUAGE plpgsql AS \$\$ BEGIN RAISE 'evil ran as %', current_user; END \$\$"
}
fake_function() {
  database app && psql -U evil given -c "$(makes 'other()' BIGINT)" -c "$(makes 'substr(varchar, integer)' TEXT)"
}
fake_tables() { # the tables of another role, as if a release had made them
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
own_trigger() { # of the role that owns the store
  own && psql -U app given -c 'CREATE FUNCTION public.mine() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$' \
    -c 'CREATE TRIGGER mine BEFORE INSERT ON token EXECUTE FUNCTION mine()' && migrates
}
refused() { # what is named, what prepares it
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
