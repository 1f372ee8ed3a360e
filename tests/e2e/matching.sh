#!/bin/bash
# Beside others: it waits for events.
#
# Services match by what their owners know: the name by which they start a
# program, the pid file that it writes, the template of its units.
. tests/lib/e2e.sh
. tests/lib/container.sh
. tests/lib/pg.sh
tmp=$(mktemp -d /var/tmp/stoker-matching-XXXXXX)
chmod 755 "$tmp"
WORKER_CONF=$'[discover]\nauto = containers\nservices = 1000\n'"tenant = $TENANT"
e2e_start
trap 'pg_stop; rm -rf "$tmp"; e2e_stop' EXIT

pids() { api GET "/api/v1/services/$1/processes" | jq -c '[.items[].pid] | sort'; }
matches() { equal "$(pids "$1")" "$2"; }
sorted() { printf '%s\n' "$@" | sort -n | paste -sd, | sed 's/.*/[&]/'; }

# --- a program by the link that starts it ---------------------------------
install -m 755 "$(readlink -f /usr/bin/sleep)" "$tmp/one"
cp "$tmp/one" "$tmp/two"
ln -s one "$tmp/current"
background one "$tmp/current" 1000
one=$(<"$STATE/pid/one")
stoker_cli service add linked --exe "$tmp/current" >/dev/null
check a_program_is_known_by_a_link_to_it wait_for 10 matches linked "[$one]"
ln -sfn two "$tmp/current"
background two "$tmp/current" 1000
two=$(<"$STATE/pid/two")
mkfifo "$tmp/never"
background awk awk 1 "$tmp/never"
stoker_cli service add awk --exe /usr/bin/awk >/dev/null
# Scripts that run beside this one use awk as well.
among() { pids "$1" | jq -e --argjson pid "$2" 'index($pid)'; }
check an_alternative_of_debian_is_known_by_its_name \
  wait_for 10 among awk "$(<"$STATE/pid/awk")"
check a_process_started_before_an_upgrade_is_still_known \
  wait_for 10 matches linked "$(sorted "$one" "$two")"

# --- what a match would select, before there is a service ------------------------
find_processes() { # body
  post /api/v1/processes "$1"
}
found() { find_processes "$1" | jq -c '[.items[].found.processes[].pid] | sort'; }
check a_match_is_tried_before_there_is_a_service \
  equal "$(found "{\"match\":{\"exe\":\"$tmp/two\"}}")" "[$two]"
check a_program_that_may_be_profiled_is_listed_without_a_match \
  jq -e --argjson pid "$two" 'index($pid)' <<<"$(found '{}')"
check a_relative_path_is_no_match \
  says 'absolute path' find_processes '{"match":{"exe":"two"}}'
check two_matches_are_refused \
  says 'exactly one of' find_processes '{"match":{"exe":"/bin/sh","unit":"a.service"}}'
check a_host_without_a_worker_finds_nothing equal "$(found '{"host":"nowhere"}')" '[]'

# --- a command line, which commands that pass it to stoker contain, too ----------
cp "$tmp/one" "$tmp/mark-$$"
background marked "$tmp/mark-$$" 1000
background teller bash -c "true stoker service add marked --cmdline mark-$$; read -r <$tmp/never"
stoker_cli service add marked --cmdline "mark-$$" >/dev/null
check a_command_line_does_not_match_the_command_that_registers_it wait_for 10 matches marked "[$(<"$STATE/pid/marked")]"

# --- a pid file that is nobody else's to read, with more than a pid in it --------
pg_start "$tmp"
stoker_cli service add postgres --pid-file "$pg_data/postmaster.pid" >/dev/null
check a_pid_file_is_read_that_only_its_owner_may wait_for 10 matches postgres "[$postmaster]"
check the_user_of_the_worker_may_not_read_the_pid_file eval '! as_user test -r "$pg_data/postmaster.pid"'
check the_pid_file_holds_more_than_a_pid [ "$(wc -l <"$pg_data/postmaster.pid")" -gt 1 ]

# --- instances of a template -----------------------------------------------------
if ! groups=$(container_groups); then
  echo "skip matching: no control group can be made here"
else
  mkdir "$groups/stoker-$$@1.service"
  mkdir "$groups/stoker-$$@2.service"
  for i in 1 2; do
    background "instance$i" sleep 1000
    cat "$STATE/pid/instance$i" >"$groups/stoker-$$@$i.service/cgroup.procs"
  done
  first=$(<"$STATE/pid/instance1") second=$(<"$STATE/pid/instance2")
  stoker_cli service add both --unit "stoker-$$@.service" >/dev/null
  stoker_cli service add first --unit "stoker-$$@1.service" >/dev/null
  check a_template_means_all_of_its_instances wait_for 10 matches both "$(sorted "$first" "$second")"
  check an_instance_means_itself wait_for 10 matches first "[$first]"
  kill "$first" "$second"
  wait_for 10 rmdir "$groups/stoker-$$@1.service"
  wait_for 10 rmdir "$groups/stoker-$$@2.service"
fi

# --- a process that says which service it is --------------------------------------
for kind in '' big busy loop; do
  background "context$kind" python3 tests/targets/context.py "checkout-$$" $kind
done
context=$(<"$STATE/pid/context")
stoker_cli service add checkout --otel-service "checkout-$$" >/dev/null
check a_process_is_known_by_the_context_that_it_publishes \
  wait_for 30 matches checkout "[$context]"
stoker_cli run checkout --type goroutine --wait >/dev/null
check a_capture_has_the_labels_of_the_context says \
  '"deployment.environment.name":"staging","service.name":"checkout-'"$$"'","service.version":"2.0"' \
  api GET '/api/v1/profiling/sessions?service=checkout'
check a_context_of_100_MB_is_logged \
  wait_for 30 logged "process $(<"$STATE/pid/contextbig"): its context could not be read"
kill "$context"

# --- a container, which has another id after each start --------------------------
stop_container() {
  [ -z "${container-}" ] || kill "$container"
  container=
  container_end "$groups"
}
start_container() { # image
  background container sleep 1000
  container=$(<"$STATE/pid/container")
  container_make "$groups" "web-$$" "$1" "$container"
}
if groups=$(container_groups); then
  trap 'stop_container; pg_stop; rm -rf "$tmp"; e2e_stop' EXIT
  start_container registry.example/shop/web:1.0
  check a_container_that_starts_is_a_service_by_itself \
    wait_for 10 matches "web-$$" "[$container]"
  check the_audit_log_says_who_made_the_service says '"actor":"discover"' api GET /api/v1/audit
  stop_container
  stoker_cli service add contained --container "web-$$" >/dev/null
  for restart in 0 1 2 3; do
    start_container "registry.example/shop/web:1.$restart"
    check "a_container_is_known_by_its_name.$restart" \
      wait_for 10 matches contained "[$container]"
    [ "$restart" = 3 ] || stop_container
  done
  check a_container_is_found_by_its_image \
    equal "$(found '{"match":{"image":"*/shop/web"}}')" "[$container]"
  stoker_cli run contained --type goroutine --wait --label version=mine >/dev/null
  check a_capture_has_the_labels_of_its_container says \
    '"image":"registry.example/shop/web:1.3","version":"mine"' \
    api GET '/api/v1/profiling/sessions?service=contained'
  check a_container_is_found_by_its_labels \
    equal "$(found "{\"match\":{\"label\":{\"name\":\"web-$$\",\"tier\":\"fr*\"}}}")" "[$container]"
  check a_container_with_another_label_is_not_found \
    equal "$(found '{"match":{"label":{"tier":"front","team":"*"}}}')" '[]'
  stoker_cli service add labelled --container-label "name=web-$$" \
    --container-label 'tier=fr*' >/dev/null
  check a_container_is_known_by_its_labels wait_for 10 matches labelled "[$container]"
  check a_container_of_compose_is_listed_by_name \
    says 'stoker run --compose shop --seconds 10s --wait' stoker_cli ps --limit 1000 --seconds 0
  # A user who may make groups below another user's folder cannot take the name.
  stop_container
  mkdir -p "$groups/stranger-$$"
  chown 1 "$groups/stranger-$$"
  groups=$groups/stranger-$$
  start_container web
  check a_container_below_the_folder_of_a_user_is_not_one_of_root \
    wait_for 10 matches contained '[]'
  check a_container_without_a_name_is_listed_by_its_id \
    equal "$(found "{\"match\":{\"container\":\"${container_id:0:12}\"}}")" "[$container]"
  stop_container
  rmdir "$groups"
fi
