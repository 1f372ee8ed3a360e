#!/bin/bash
# A program chooses any bytes as names of itself, its file, its threads and its
# code. Answers and exports stay valid UTF-8, and no text of them controls a
# terminal or turns the direction of text.
#
# Beside others: it waits for events.
. tests/lib/e2e.sh
[ "$(id -u)" -eq 0 ] || skip names 'only root may capture every program'
e2e_start
# 0xff and an incomplete sequence are no text; ESC, a newline, an 8-bit CSI and
# direction marks are.
drives=$'\x1b[2J\x7f\xc2\x9b31m\xe2\x80\xae\xe2\x81\xa6\xd8\x9c'
name=$'no\xff\xc3text'"$drives"$'\n;x'
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
printf '%s %s no\xff\xc3text%s\n' "$address" "$size" "$drives" >"$map"
echo $pid >"$STATE/run/pid"
stoker_cli service add named --pid-file "$STATE/run/pid" >/dev/null &&
  wait_for 10 seen named || { echo "not ok a_service_has_it"; exit 1; }

is_text() { # file
  [ -s "$1" ] && iconv -f UTF-8 -t UTF-8 "$1" >/dev/null
}
is_calm() { # file: line ends and tabs are allowed
  is_text "$1" && ! LC_ALL=C grep -m 1 -oaP \
    '.{0,40}([\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9])' "$1"
}
api GET /api/v1/services/named/processes >"$STATE/processes"
check the_process_of_a_hostile_name_is_listed jq -e '.items[0].pid == '$pid "$STATE/processes"
check the_list_of_processes_is_calm_text is_calm "$STATE/processes"

# Every format of a capture must be text; in a pprof file, the names must be.
formats=(html svg json folded speedscope firefox dot lines listing)
are_text() { # id
  local format
  for format in "${formats[@]}"; do
    api GET "$P/$1/flamegraph?format=$format" -f >"$STATE/export" &&
      is_calm "$STATE/export" || { echo "$format"; return 1; }
  done
}
# What the command line shows of a capture, on a terminal and in a pipe.
shows_are_calm() { # id
  local command
  for command in "top $1" "top $1 --tree" "get $1 --format folded" 'service show named' ps; do
    stoker_cli $command >"$STATE/shown" && is_calm "$STATE/shown" || { echo "$command"; return 1; }
    script -qec "$STATE/bin/stoker --server http://127.0.0.1:$PORT --token-file $STATE/token $command" /dev/null </dev/null |
      sed 's/\x1b\[[0-9;]*m//g; s/\r$//' >"$STATE/shown" && is_calm "$STATE/shown" || { echo "$command, on a terminal"; return 1; }
  done
}
is_mended() { # id, the name
  api GET "$P/$1/flamegraph?format=pprof" -f >"$STATE/pprof.gz" &&
    gzip -dc "$STATE/pprof.gz" >"$STATE/pprof" &&
    LC_ALL=C grep -qaF "$2" "$STATE/pprof" &&
    ! LC_ALL=C grep -qaP '(no|up)\xff' "$STATE/pprof"
}
sample=$(start named 2)
snapshot=$(post $P/start '{"service":"named","profileType":"goroutine"}' | jq -r '.id // error')
for kind in sample snapshot; do
  finished "${!kind}" >"$STATE/result"
  check "a_${kind}_of_a_hostile_name_completes" jq -e '.status == "completed"' "$STATE/result"
  check "the_result_of_a_${kind}_is_calm_text" is_calm "$STATE/result"
  check "all_exports_of_a_${kind}_are_text" are_text "${!kind}"
  check "the_pprof_file_of_a_${kind}_is_mended" is_mended "${!kind}" 'no\xff\xc3text'
done

check the_command_line_shows_calm_text shows_are_calm "$sample"

# Uploads are repaired as well.
upload=$(printf 'main;up\xffloaded%s 7\n' "$drives" |
  api POST "/api/v1/profiling/sessions?service=named&type=cpu" --data-binary @- |
  jq -r '.id // error')
check all_exports_of_an_upload_are_text are_text "$upload"
check the_pprof_file_of_an_upload_is_mended is_mended "$upload" 'up\xffloaded'
