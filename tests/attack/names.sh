#!/bin/bash
# A program chooses any bytes as names of itself, its file, its threads and its
# code. Answers and exports stay valid UTF-8.
#
# Beside others: it waits for events.
. tests/lib/e2e.sh
if [ "$(id -u)" -ne 0 ]; then
  echo "skip names: only root may capture every program"
  exit 0
fi
e2e_start
# Neither 0xff nor the start of a longer sequence is text; ESC and a newline are.
name=$'no\xff\xc3text\x1b[2J\n;x'
cp "$B/targets/jit" "$STATE/bin/$name" || exit 1
mkfifo "$STATE/said"
"$STATE/bin/$name" 600 >"$STATE/said" &
pid=$!
map=/tmp/perf-$pid.map
leave() { e2e_stop; rm -f "$map"; }
trap leave EXIT
read -r said <"$STATE/said"
[ "$said" = ready ] || { echo "not ok it_starts"; exit 1; }
read -r address size _ <"$map"
printf '%s %s no\xff\xc3text\n' "$address" "$size" >"$map"
echo $pid >"$STATE/run/pid"
stoker_cli service add named --pid-file "$STATE/run/pid" >/dev/null &&
  wait_for 10 seen named || { echo "not ok a_service_has_it"; exit 1; }

is_text() { # file
  [ -s "$1" ] && iconv -f UTF-8 -t UTF-8 "$1" >/dev/null
}
api GET /api/v1/services/named/processes >"$STATE/processes"
check the_process_of_a_hostile_name_is_listed jq -e '.items[0].pid == '$pid "$STATE/processes"
check the_list_of_processes_is_text is_text "$STATE/processes"

# Every format of a capture must be text; of a pprof file, its names.
formats=(html svg json folded speedscope firefox dot)
are_text() { # id
  local format
  for format in "${formats[@]}"; do
    api GET "$P/$1/flamegraph?format=$format" -f >"$STATE/export" &&
      is_text "$STATE/export" || { echo "$format"; return 1; }
  done
}
is_mended() { # id, the name
  api GET "$P/$1/flamegraph?format=pprof" -f >"$STATE/pprof.gz" &&
    gzip -dc "$STATE/pprof.gz" >"$STATE/pprof" &&
    LC_ALL=C grep -qaF "$2" "$STATE/pprof" &&
    ! LC_ALL=C grep -qaP '(no|up)\xff' "$STATE/pprof"
}
sample=$(start named 2)
snapshot=$(api POST $P/start -H 'Content-Type: application/json' \
  -d '{"service":"named","profileType":"goroutine"}' | jq -r '.id // error')
for kind in sample snapshot; do
  finished "${!kind}" >"$STATE/result"
  check "a_${kind}_of_a_hostile_name_completes" jq -e '.status == "completed"' "$STATE/result"
  check "the_result_of_a_${kind}_is_text" is_text "$STATE/result"
  check "all_exports_of_a_${kind}_are_text" are_text "${!kind}"
  check "the_pprof_file_of_a_${kind}_is_mended" is_mended "${!kind}" 'no\xff\xc3text'
done

# Uploads are repaired as well.
upload=$(printf 'main;up\xffloaded 7\n' |
  api POST "/api/v1/profiling/sessions?service=named&type=cpu" --data-binary @- |
  jq -r '.id // error')
check all_exports_of_an_upload_are_text are_text "$upload"
check the_pprof_file_of_an_upload_is_mended is_mended "$upload" 'up\xffloaded'
