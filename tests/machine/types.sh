#!/bin/bash
# Every type of profile, taken of systemd services by the installed package:
# functions have their names and shares.
. "$(dirname "$0")/../lib/machine.sh"
. tests/lib/installed.sh
[ "$(id -u)" -eq 0 ] || skip machine/types 'needs root'
GO=1.19
for name in counts demo gowork; do
  case $name in gowork) source=tests/targets/gowork ;; *) source=tests/targets/go/$name ;; esac
  CGO_ENABLED=0 tests/lib/go build $GO "$B/go/bin/machine-$name" $source 2>"$B/go.why" ||
    skip machine/types "no Go $GO: $(tail -n 1 "$B/go.why")"
done

machine_start
machine_put 755 "$B"/targets/{shares,threads,keeping} "$B"/go/bin/machine-{counts,demo,gowork} /usr/local/bin
package_installed
in_machine sh -c 'sed -i "s/^\[continuous\]/&\nwindow = 2s\ngauges = 2s\ncounters = 2s/" /etc/stoker/stoker.conf &&
  systemctl restart stoker-worker'
check windows_of_this_machine_are_short equal "$(cli config continuous.window)" 2s

# These are a little busy, at low priority, since other tests run beside them.
service_of() { service_unit "$1" "$2" $'Nice=10\n'"${3-}"; } # name, command, a setting
service_of burn "/usr/local/bin/shares 600 1 10"
service_of waiting "/bin/sh -c 'sleep infinity | /usr/local/bin/threads 24 still'"
service_of gowork "/usr/local/bin/machine-gowork 1 600"
service_of godemo "/usr/local/bin/machine-demo -busy 5 -clients 8"
service_of gocounts "/bin/sh -c 'while echo allocate 20; echo block 20; echo contend 20; do :; done | \
/usr/local/bin/machine-counts block mutex'" StandardOutput=null
service_of keeping "/usr/local/bin/keeping /dev/null" \
  Environment=LD_PRELOAD=/usr/lib/stoker/libstoker-heap.so
for name in burn gowork godemo keeping; do
  check "the_service_${name}_is_seen" known $name --unit $name.service
done
check the_service_waiting_is_seen known waiting --exe /usr/local/bin/threads
check the_service_gocounts_is_seen known gocounts \
  --exe /usr/local/bin/machine-counts --kind go
cli continuous on burn --types cpu --rate 99 >/dev/null
cli continuous on waiting --types goroutine >/dev/null
cli continuous on godemo --types cpu,goroutine --rate 99 >/dev/null
cli continuous on gocounts --types memory,alloc,block,mutex >/dev/null

# Captures all at the same time, as a team would.
taking=()
for each in burn.cpu gowork.cpu keeping.memory waiting.goroutine godemo.goroutine \
  gocounts.memory gocounts.alloc gocounts.block gocounts.mutex; do
  take "${each%.*}" --type "${each#*.}" --seconds 4 --rate 199 \
    >"$MACHINE_AT/$each" 2>"$MACHINE_AT/$each.err" &
  taking+=($!)
done
wait "${taking[@]}"
in_machine systemctl stop gowork
# On a busy machine a program gets few samples, so up to four standard errors
# are allowed.
allowed() { # file of a result, percent, how near at least
  jq --argjson p "$2" --argjson near "$3" \
    '[$near, 400 * ($p * (100 - $p) / 10000 / ([.sampleCount, 1] | max) | sqrt)] | max' "$1"
}
while read -r each function percent near claim; do
  [ "${each#*.}" != cpu ] || near=$(allowed "$MACHINE_AT/$each" "$percent" "$near")
  check "$claim" share_near "$(jq -r .id "$MACHINE_AT/$each")" "$function" "$percent" "$near"
done <<'ROWS'
burn.cpu share_half 50 12 cpu_of_c_spends_half_in_one_function
burn.cpu share_three_tenths 30 12 and_three_tenths_in_the_next
gowork.cpu main.heavy 60 12 cpu_of_go_spends_six_tenths_in_one_function
gowork.cpu main.middle 30 12 and_three_tenths_in_the_next_of_go
keeping.memory keep_most 59 8 memory_of_c_is_what_its_functions_keep
waiting.goroutine begin 96 1 threads_of_c_stand_below_their_first_function
waiting.goroutine wait_cond 12 1 and_one_of_eight_waits_for_a_condition
godemo.goroutine main.serve 35 10 goroutines_of_go_stand_where_they_serve
gocounts.memory main.keepLarge 50 25 memory_is_what_the_program_keeps
gocounts.alloc main.allocate 97 3 allocations_are_where_the_program_makes_them
gocounts.block main.block 60 35 blocking_is_where_the_program_blocks
gocounts.mutex main.contend 90 10 contention_is_where_the_program_contends
ROWS
for each in "$MACHINE_AT"/*.{cpu,goroutine,memory,alloc,block,mutex}; do
  check "$(basename "$each" | tr . _)_has_a_quality_without_complaint" jq -e \
    '.status == "completed" and .quality.modulesUnread == 0 and .sampleCount > 0' "$each"
done

# --- all the time ---------------------------------------------------------------
merged() {
  cli --json merge "$1" --type "$2" --from now-1h --limit 1000 >"$MACHINE_AT/merged"
}
windows_of() { # service, type, function
  merged "$1" "$2" && jq -e --arg f "$3" '.source == "windows" and .sampleCount > 0 and
    any(.topFunctions[]; .funcName == $f)' "$MACHINE_AT/merged" || {
    cat "$MACHINE_AT/merged"
    return 1
  }
}
while read -r service type function; do
  check "windows_of_${type}_of_${service}_name_its_functions" \
    within 30 windows_of "$service" "$type" "$function"
done <<'ROWS'
burn cpu share_half
waiting goroutine wait_cond
godemo cpu main.embed
godemo goroutine main.serve
gocounts memory main.keepLarge
gocounts alloc main.allocate
gocounts block main.block
gocounts mutex main.contend
ROWS
# Windows at 19 Hz have few samples, so up to four standard errors are allowed.
near_half() {
  merged burn cpu && jq -e '(2 + 4 * 50 / (.sampleCount | sqrt)) as $by |
    any(.topFunctions[]; .funcName == "share_half" and (.cumulativePct - 50 | fabs) < $by)' \
    "$MACHINE_AT/merged" || {
    jq -c '{sampleCount, topFunctions}' "$MACHINE_AT/merged"
    return 1
  }
}
check windows_have_the_shares_of_a_capture near_half

# --- profiles from elsewhere ------------------------------------------------------
upload() { printf 'main;work 70\nmain;rest 30\n' | cli --json upload burn -; }
check an_upload_has_the_shares_it_came_with share_near "$(upload | jq -r .id)" work 70 0.1
push() {
  printf 'main;pushed 5\n' | get '/ingest?name=shop&from=now-10s&until=now' \
    -H 'Content-Type: text/plain' --data-binary @- -o /dev/null -w '%{http_code}'
}
check a_push_is_taken equal "$(push)" 200
check a_push_becomes_a_window within 10 windows_of shop cpu pushed
for format in html svg json folded speedscope firefox dot pprof; do
  check "a_capture_comes_as_$format" \
    equal "$(status_of "$profiling/$(jq -r .id "$MACHINE_AT/burn.cpu")/flamegraph?format=$format")" 200
done
check the_store_is_whole leaves 0 cli verify
check doctor_finds_nothing_broken doctor_is_content

# --- a setting of the unit that takes the files of targets away ---------------------
drop_in stoker-worker files <<'SETTINGS'
[Service]
RestrictSUIDSGID=yes
SETTINGS
fix='fix: systemctl edit stoker-worker: [Service] RestrictSUIDSGID=no'
check doctor_names_a_setting_that_closes_files \
  within 20 doctor_says broken 'worker files' "$fix"
check a_worker_that_cannot_read_files_is_not_ready within 10 status_is /readyz 503
take burn --seconds 2 --rate 199 >"$MACHINE_AT/blind" 2>&1
check a_capture_without_files_is_poor_and_says_why jq -e '.quality.verdict == "poor" and
  any(.quality.reasons[]; contains("RestrictSUIDSGID=no"))' "$MACHINE_AT/blind"
drop_in stoker-worker files </dev/null
check doctor_is_content_without_that_setting within 20 doctor_is_content
