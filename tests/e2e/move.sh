#!/bin/bash
# An SQLite store moves to PostgreSQL: the API answers as before, whether bytes
# move into the database or stay in files. A move that fails leaves nothing
# behind.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
. tests/lib/pg.sh
[ -n "$pg_bin" ] || { echo 'skip move: PostgreSQL is not installed'; exit 0; }
POOL=2 HEAVY=1 WORKER_CONF='
[continuous]
window = 1s
'
e2e_start
leave() { pg_stop; e2e_stop; }
trap leave EXIT
db() { as_user sqlite3 -cmd '.timeout 20000' "$STATE/data/stoker.db" "$1"; }
sql() { pg_run psql -h "$STATE/pg" -U stoker -d "$1" -AtX -c "$2"; }

# --- a store with rows of every kind --------------------------------------
background demo "$STATE/bin/demo"
service demo "$STATE/bin/demo" || { echo 'not ok move: the worker does not see the demo'; exit 1; }
stoker_cli service add odd --exe /bin/true --label 'who="a\b"' --description $'é, "quoted" \\ and \U1F525' >/dev/null
stoker_cli continuous on demo --rate 99 >/dev/null
now=$(date +%s)
for ((at = now - 9000; at < now - 120; at += 45)); do
  printf 'main;push%d 3\nmain 2\n' $((at % 7)) |
    api POST "/ingest?name=shop%7Bzone%3Da%7D&from=${at}000000000&until=$((at + 10))000000000" \
      -H 'Content-Type: text/plain' --data-binary @- -o /dev/null
done
upload() { printf "main;work;$1 %d\nmain;rest 30\n" "$2" | stoker_cli upload odd - --rate 100 | sed 's/.*: //'; }
ids=()
for n in 70 71 72 73; do ids+=("$(upload "step_$n" $n)"); done
gone=$(upload gone 5)
stoker_cli remove "$gone" >/dev/null
captured=$(start demo 2)
finished "$captured" >/dev/null
ids+=("$captured")
stoker_cli baseline add v1 "${ids[0]}" --tag a --tag b --description 'the "first"' >/dev/null
stoker_cli pin "${ids[1]}" >/dev/null
stoker_cli trigger add demo busy cpu percent=350 >/dev/null
VIEWER=$(as_user "$STATE/bin/stoker" token create viewer --tenant "$TENANT" --config "$STATE/stoker.conf" 2>/dev/null)
REVOKED=$(as_user "$STATE/bin/stoker" token create revoked --tenant "$TENANT" --config "$STATE/stoker.conf" 2>/dev/null)
stoker_cli token revoke revoked >/dev/null
rolled() { [ "$(db 'SELECT COUNT(*) FROM profile_window WHERE level = 2')" -ge 2 ] &&
  [ "$(db "SELECT COUNT(*) FROM profile_window w JOIN series s ON s.id = w.series WHERE s.service = 'demo' AND w.level < 2")" -ge 10 ]; }
wait_for 150 rolled || { echo 'not ok windows_are_added_up'; exit 1; }
api POST "$P/$(db "SELECT id FROM profile_window WHERE level = 1 LIMIT 1")/pin" -o /dev/null
link=$(api GET "$P/${ids[0]}" | jq -r '.flameGraphUrl')

# Prints the API's answers in a fixed order, without members that change when
# they are read.
told() {
  local id path
  for id in "${ids[@]}"; do
    api GET "$P/$id" | jq -S 'walk(if type == "string" and test("signature=") then "link" else . end)'
    api GET "$P/$id/flamegraph?format=folded" | sort
  done
  for path in "$P/merge?service=shop&profileType=cpu&from=$((now - 9100))&to=$now&format=folded" \
    "$P/merge?service=demo&profileType=cpu&from=$((now - 9100))&to=$end&format=folded"; do
    api GET "$path" | sort
  done
  for path in "$P/history?service=shop&limit=500" "$P/history?service=demo&limit=500" "$P/history?service=odd" \
    "$P/history/series?service=shop&profileType=cpu&from=$((now - 9000))&to=$now&step=5m" \
    "/api/v1/services?limit=500" "/api/v1/profiling/sessions?limit=100" "/api/v1/profiling/baselines" "$P/continuous" \
    "/api/v1/services/demo/triggers" "/api/v1/tokens" "/api/v1/audit?limit=500" "/api/v1/quota" "$P/find?id=win-a"; do
    echo "$path $(api GET "$path" | jq -S 'walk(if type == "object" then del(.lastUsedAt) else . end
      | if type == "string" and test("signature=") then "link" else . end)')"
  done
}

# --- what is refused -------------------------------------------------------------
pg_start "$STATE" || { echo "not ok a_server_starts: $(tail -n 1 "$STATE/pg/log")"; exit 1; }
sql postgres 'CREATE DATABASE one' >/dev/null
sql postgres 'CREATE DATABASE two' >/dev/null
conf_for() { # database, bytes
  { cat "$STATE/stoker.conf"
    printf '[store]\ndatabase = postgresql:///%s?host=%s&user=stoker\nbytes = %s\n' "$1" "$STATE/pg" "$2"; } >"$STATE/$1.conf"
}
move() { as_user "$STATE/bin/stoker" migrate --from-sqlite --config "$STATE/$1.conf"; }
conf_for one db
conf_for two file
check a_store_in_use_does_not_move says 'is in use' move one
check a_store_does_not_move_without_a_database says 'does not name a PostgreSQL database' \
  as_user "$STATE/bin/stoker" migrate --from-sqlite --config "$STATE/stoker.conf"
process_stop worker
end=$(date +%s)
told >"$STATE/before"
check answers_before_the_move_are_no_errors eval '! grep -m 1 "error_code\": \"[A-Z]" "$STATE/before"'
for part in 'main;push3 ' 'main;work;step_71 71' matmul '"v1"' '"busy"' '"name": "viewer"' '"pinned": true'; do
  check "answers_before_the_move_have_${part//[^a-z0-9]/_}" grep -qF "$part" "$STATE/before"
done
process_stop api
rows() { sql "$1" "SELECT (SELECT COUNT(*) FROM token) + (SELECT COUNT(*) FROM session) + (SELECT COUNT(*) FROM blob_bytes)"; }
file=$STATE/data/profiles/$(db "SELECT name FROM blob WHERE session = '${ids[3]}' AND kind = 'pprof'")
cp -p "$file" "$STATE/whole"
printf x | dd of="$file" bs=1 seek=20 conv=notrunc status=none
check a_damaged_profile_stops_the_move says 'its length or checksum is wrong' move one
check nothing_has_moved_after_a_damaged_profile equal "$(rows one)" 0
cp -p "$STATE/whole" "$file"
segment=$STATE/data/segments/$(db "SELECT segment FROM profile_window WHERE length > 0 LIMIT 1").seg
mv "$segment" "$STATE/segment"
check a_missing_window_stops_the_move says 'No such file' move one
check nothing_has_moved_after_a_missing_window equal "$(rows one)" 0
mv "$STATE/segment" "$segment"

# --- moves -----------------------------------------------------------------------
sum=$(sha256sum <"$STATE/data/stoker.db")
check a_store_moves eval 'move one >"$STATE/moved"'
cat "$STATE/moved"
row() { awk -v w="$1" '$1 == w { print $2, $3 }' "$STATE/moved"; }
for t in token session profile_window; do
  n=$(db "SELECT COUNT(*) FROM $t")
  check "all_rows_of_${t}_have_moved" equal "$(row $t)" "$n $n"
done
check windows_lie_in_the_database_after_the_move equal \
  "$(sql one "SELECT SUM(length(bytes)) FROM blob_bytes b JOIN segment g ON g.name = b.name")" \
  "$(sql one 'SELECT SUM(length) FROM profile_window')"
check windows_are_counts_before_the_move test "$(db 'SELECT COUNT(*) FROM profile_window w
  JOIN profile_window m ON m.id = w.parent AND m.segment = w.segment WHERE w.level = 0')" -gt 0
check profiles_lie_in_the_database_after_the_move equal "$(sql one "SELECT SUM(length(bytes)) FROM blob_bytes b JOIN blob p ON p.name = b.name AND p.store = 'db'")" \
  "$(db 'SELECT SUM(length) FROM blob WHERE deleted_ms = 0')"
check the_old_store_is_as_it_was equal "$(sha256sum <"$STATE/data/stoker.db")" "$sum"
check a_database_that_has_rows_is_refused says 'has data' move one
check a_database_that_was_refused_is_not_changed equal "$(sql one 'SELECT COUNT(*) FROM token')" "$(db 'SELECT COUNT(*) FROM token')"

up_with() { # configuration
  process_stop api
  cp "$STATE/stoker.conf" "$STATE/sqlite.conf"
  cp "$STATE/$1.conf" "$STATE/stoker.conf"
  api_start
  wait_for 20 curl -fsS -o /dev/null "http://127.0.0.1:$PORT/healthz"
}
answers_as_before() {
  told >"$STATE/after"
  cmp -s "$STATE/before" "$STATE/after" || { diff "$STATE/before" "$STATE/after" | head -n 20 | cut -c 1-400; grep -c . "$STATE/before" "$STATE/after"; return 1; }
}
mv "$STATE/data/profiles" "$STATE/away"
mkdir "$STATE/data/profiles" && chown --reference="$STATE/away" "$STATE/data/profiles"
up_with one
check the_api_answers_as_before answers_as_before
check links_open_after_the_move grep -q '<html' <<<"$(curl -sS -H 'Accept: text/html' "$link")"
as() { curl -sS -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $1" "http://127.0.0.1:$PORT/api/v1/services"; }
check keys_are_valid_after_the_move equal "$(as "$VIEWER")" 200
check revoked_keys_are_refused_after_the_move equal "$(as "$REVOKED")" 401
check new_profiles_are_stored_after_the_move says sess- stoker_cli upload odd - --rate 100 <<<'main;new 4'
cp "$STATE/sqlite.conf" "$STATE/stoker.conf"
process_stop api
rmdir "$STATE/data/profiles" 2>/dev/null || rm -r "$STATE/data/profiles"
mv "$STATE/away" "$STATE/data/profiles"

check a_store_moves_and_its_files_stay move two
check no_profile_is_in_the_database equal "$(sql two "SELECT COUNT(*) FROM blob WHERE store <> 'file'")" 0
up_with two
check the_api_answers_as_before_with_files answers_as_before
