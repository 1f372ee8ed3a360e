#!/bin/bash
# The package on a machine with systemd: the installed units work, survive
# restarts and upgrades without a failed request, and a purge leaves nothing
# behind.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/machine.sh"
. tests/lib/installed.sh
[ "$(id -u)" -eq 0 ] || skip machine/install 'needs root'
deb=$(package_file)
level=/proc/sys/kernel/perf_event_paranoid

# --- first installation -----------------------------------------------------
machine_start
machine_put 644 "$deb" /root
machine_put 644 tests/machine/load.py tests/machine/sandbox.py /usr/local/lib
machine_put 755 "$B/targets/shares" /usr/local/bin
machine_sysctl kernel.perf_event_paranoid 3
machine_files >"$MACHINE_AT/before"

began=$(date +%s)
check the_package_installs_without_a_question package_install "$deb"
check units_run_after_the_installation active $own_units
check units_start_with_the_machine in_machine systemctl is-enabled -q $own_units
check the_site_answers_on_port_8088 wait_for 20 healthy
check the_sysctl_file_allows_sampling equal "$(in_machine cat $level)" 2
said=$(cli setup)
check setup_makes_a_key grep -q '^Made the key tok-' <<<"$said"
TOKEN=$(in_machine cat /root/.config/stoker/token)
key_works() { equal "$(status_of $api/services)" 200; }
check the_key_of_setup_works_through_nginx key_works
check the_pages_are_served equal "$(status_of /docs/)" 200
check doctor_finds_nothing_broken doctor_is_content

# --- captures, as users have services ---------------------------------------
# ps lists the first process of a program; users see the pid of a busy worker.
worker_of_nginx() { in_machine pgrep -P "$(main_pid nginx)" | head -n 1; }
check the_pid_of_a_worker_stands_for_its_unit \
  says 'added the service nginx' cli run --pid "$(worker_of_nginx)" --seconds 1 --wait
service_unit burn '/usr/local/bin/shares 600 1 50'
in_machine sh -c 'install -o nobody -m 500 /usr/local/bin/shares /opt/closed'
unit closed <<'UNIT'
[Service]
User=nobody
ExecStart=/opt/closed 600 1 50
UNIT
service_unit walled '/opt/app/inside 600 1 50' 'PrivateTmp=yes
TemporaryFileSystem=/opt
BindReadOnlyPaths=/usr/local/bin/shares:/opt/app/inside'
unit copy <<'UNIT'
[Service]
User=nobody
ExecStart=/usr/bin/dd if=/dev/zero of=/dev/null bs=64k
UNIT
captures=()
for name in burn closed walled copy; do
  cli service add $name --unit $name.service >/dev/null
  cli --json run $name --seconds 4 --rate 999 --wait >"$MACHINE_AT/$name" 2>"$MACHINE_AT/$name.err" &
  captures+=($!)
done
wait "${captures[@]}"
share() { # service, function, percent
  jq -e --arg f "$2" --argjson p "$3" 'any(.topFunctions[];
    .funcName == $f and (.cumulativePct - $p | fabs) < 6)' "$MACHINE_AT/$1" >/dev/null ||
    { jq -c '[.status, .note, .topFunctions[:4]]' "$MACHINE_AT/$1"; cat "$MACHINE_AT/$1.err"; return 1; }
}
declare -A of=([burn]=a_dynamic_users_service [closed]=a_program_only_its_user_may_read
  [walled]=a_program_in_a_mount_namespace_of_its_own)
for name in burn closed walled; do
  check "${of[$name]}_spends_half_in_one_function" share $name share_half 50
  check "${of[$name]}_spends_three_tenths_in_the_next" share $name share_three_tenths 30
  check "${of[$name]}_has_all_its_files_read" jq -e '.quality.modulesUnread == 0' "$MACHINE_AT/$name"
done
check functions_of_the_kernel_have_names jq -e 'any(.topFunctions[];
  .package == "[kernel.kallsyms]" and .funcName == "vfs_read")' "$MACHINE_AT/copy"
check setup_ends_with_the_busiest_program grep -qE \
  '^  stoker run (burn|closed|walled|copy) --seconds 10s --wait  # the busiest now: ' <<<"$(cli setup)"
in_machine systemctl stop burn closed walled copy

link=$(jq -r '.flameGraphUrl // .flamegraphUrl' "$MACHINE_AT/burn")
check a_flame_graph_comes_through_nginx says share_half in_machine curl -sS "$link"
took=$(($(date +%s) - began))
echo "# $took s from the package to four flame graphs of units"
upload() { printf 'main;work 70\nmain;rest 30\n' | cli upload burn - 2>&1; }
check an_upload_is_stored says 'sess-' upload
# nginx reads the file itself, with its own user's permissions.
in_machine sed -i 's/^#accel_bytes.*/accel_bytes = 1/' /etc/stoker/stoker.conf
in_machine systemctl reload stoker-api
sent_by_nginx() {
  local link
  link=$(jq -r .links.pprof "$MACHINE_AT/burn")
  in_machine curl -sS -D /root/head -o /root/body "$link" && in_machine gzip -t /root/body &&
    in_machine grep -qi '^accept-ranges: bytes' /root/head ||
    { in_machine cat /root/head; return 1; }
}
check nginx_sends_a_big_profile_by_itself wait_for 10 sent_by_nginx

# --- sandboxes --------------------------------------------------------------
in_machine touch /tmp/of-the-host
roots() {
  in_machine sh -c 'umask 007; python3 /usr/local/lib/sandbox.py root' >"$MACHINE_AT/root"
  grep -q '^ok' "$MACHINE_AT/root" && ! grep '^not ok' "$MACHINE_AT/root"
}
check root_can_do_what_sandboxes_refuse roots
probe() { # api or worker: a unit like it that runs sandbox.py
  in_machine sh -c "sed -E 's|^ExecStart=.*|ExecStart=/usr/bin/python3 /usr/local/lib/sandbox.py $1|
      /^(ExecReload|ExecStop|Restart|Sockets|Requires|After|StandardInput)/d
      s|^Type=.*|Type=oneshot|; s|^StandardOutput=.*|StandardOutput=file:/root/said|' \
      /lib/systemd/system/stoker-$1.service >/run/systemd/system/probe-$1.service
    systemctl daemon-reload; rm -f /root/said
    systemctl start probe-$1; rm /run/systemd/system/probe-$1.service"
  in_machine cat /root/said || echo "not ok the_sandbox_of_the_$1_is_tried"
}
probe api
probe worker
scored() { in_machine systemd-analyze security --no-pager --threshold="$1" "$2"; }
check the_api_is_exposed_by_0.3_at_most scored 3 stoker-api
check the_worker_is_exposed_by_3.0_at_most scored 30 stoker-worker

# --- nothing fails while the pool comes and goes ----------------------------
no_request_fails() { # command
  local out
  in_machine systemd-run -q --unit=load -p StandardOutput=file:/root/load \
    python3 /usr/local/lib/load.py 8088 /root/.config/stoker/token
  wait_for 10 in_machine grep -q ready /root/load
  "$@" || return 1
  in_machine systemctl stop load
  out=$(in_machine cat /root/load)
  echo "$out"
  grep -q "requests, 0 failed" <<<"$out"
}
# systemctl returns before the new processes are up. On a busy machine, a pool
# that is restarted again and again before that serves nothing.
restarts_and_reloads() {
  in_machine sh -ec 'for i in $(seq 20); do
    systemctl restart stoker-api
    curl -fsS -o /dev/null http://127.0.0.1:8088/healthz
    systemctl reload stoker-api; done'
}
kills() {
  local n pid
  for n in 1 2 3; do
    pid=$(main_pid stoker-api)
    in_machine kill -KILL "$pid"
    wait_for 20 replaced "$pid" || { echo "no new pool"; return 1; }
  done
}
# True once another multiwatch has all its processes, and none of the old pool
# is left.
replaced() { # pid
  local now
  now=$(main_pid stoker-api)
  [ "$now" -gt 1 ] && [ "$now" != "$1" ] &&
    [ "$(in_machine pgrep -c -x stoker-api -P "$now")" = 6 ] &&
    [ "$(in_machine pgrep -c -x stoker-api)" = 6 ]
}
check no_request_fails_in_40_restarts_and_reloads no_request_fails restarts_and_reloads
check no_request_fails_when_multiwatch_is_killed no_request_fails kills
# Each upload takes most of a second, and nginx never repeats a POST. A process
# of the old pool may still read one, so that another one must wait.
uploads_succeed() { # command
  in_machine sh -c 'rm -f /root/enough
    awk "BEGIN { for (i = 0; i < 150000; i++) print \"main;f\" i % 9973 \";g\" i, i + 1 }" >/root/big
    for client in 1 2; do
      while [ ! -e /root/enough ]; do stoker upload burn /root/big --rate 100 >/dev/null; done &
    done
    wait' 2>&1 | grep -vE 'TooManyHeavyRequests|^ *try again in' >"$MACHINE_AT/uploads" &
  local uploading=$!
  "$@" || return 1
  in_machine touch /root/enough
  wait $uploading
  ! grep . "$MACHINE_AT/uploads"
}
mistake() {
  in_machine sh -c 'echo "nonsense = 1" >>/etc/stoker/stoker.conf
    systemctl reload stoker-api 2>/dev/null && exit 1
    sed -i "/^nonsense/d" /etc/stoker/stoker.conf'
}
check uploads_under_way_are_stored_when_multiwatch_is_killed uploads_succeed kills
check a_mistake_in_the_configuration_fails_the_reload_only no_request_fails mistake

stopped() {
  in_machine systemctl stop stoker-api.socket &&
    equal "$(status_of /healthz)" 502 &&
    equal "$(in_machine pgrep -c stoker-api)" 0
}
check stopping_the_socket_stops_the_api stopped
in_machine systemctl start stoker-api
check starting_the_api_brings_both_back wait_for 20 healthy

silent_removal() {
  local said
  said=$(in_machine dpkg --remove stoker 2>&1 </dev/null)
  ! grep -i warning -A1 <<<"$said"
}

# --- remove, purge ----------------------------------------------------------
drop_in stoker-keeper sleeps <<<$'[Service]\nExecStart=\nExecStart=/bin/sleep 600'
check removing_the_package_warns_of_no_unit silent_removal
check remove_stops_the_keeper equal "$(in_machine pgrep -u stoker sleep)" ""
check remove_stops_and_keeps_the_data in_machine sh -c 'test -e /var/lib/stoker/stoker.db && ! systemctl is-active -q stoker-api.socket && nginx -t -q'
in_machine rm -r /etc/systemd/system/stoker-keeper.service.d
check reinstalling_brings_everything_back package_install "$deb"
check reinstalling_brings_back_the_site_and_keys wait_for 20 key_works
in_machine mkdir /var/lib/stoker.before-restore-2026-01-31T14:03:00Z
check purge_asks_nothing in_machine sh -c 'dpkg --purge stoker </dev/null'
check purge_leaves_no_file_unit_or_process nothing_is_left 'burn|closed|walled|copy'
check purge_puts_the_sysctl_back equal "$(in_machine cat $level)" 3

# --- upgrade ----------------------------------------------------------------
# The older release is this package with a lower version and a changed unit.
older=$MACHINE_AT/stoker_0.0.1.deb
dpkg-deb -R "$deb" "$MACHINE_AT/older"
sed -i 's/^Version: .*/Version: 0.0.1/' "$MACHINE_AT/older/DEBIAN/control"
sed -i 's/^MemoryMax=2304M/MemoryMax=512M/' "$MACHINE_AT/older/lib/systemd/system/stoker-api.service"
dpkg-deb -Znone --root-owner-group -b "$MACHINE_AT/older" "$older" >/dev/null
machine_put 644 "$older" /root
in_machine systemd-run -q --unit=taken python3 -m http.server 8088 --bind 127.0.0.1
wait_for 10 in_machine curl -sS -o /dev/null http://127.0.0.1:8088/
in_machine sh -c 'echo kernel.perf_event_paranoid = 3 >/etc/sysctl.d/90-local.conf'
check the_installation_reports_a_port_that_is_taken says 'port 8088 is in use' package_install "$older"
check the_site_of_a_taken_port_is_not_enabled in_machine test ! -e /etc/nginx/sites-enabled/stoker
check an_administrators_later_sysctl_file_wins equal "$(in_machine cat $level)" 3
in_machine systemctl stop taken
in_machine sh -c 'ln -s ../sites-available/stoker /etc/nginx/sites-enabled/ && systemctl reload nginx
  echo "# mine" >>/etc/stoker/stoker.conf
  systemctl start burn'
check setup_reports_a_key_of_the_store_before says 'does not open this store' cli setup
in_machine rm /root/.config/stoker/token
cli setup >/dev/null
TOKEN=$(in_machine cat /root/.config/stoker/token)
wait_for 20 healthy
cli service add burn --unit burn.service >/dev/null
capture=$(cli run burn --seconds 12 2>/dev/null)
running() { json '.phase == "capturing"' get "$profiling/$capture"; }
wait_for 10 running
drop_in stoker-keeper sleeps <<<$'[Service]\nExecStart=\nExecStart=/bin/sleep 600'
keeper=$(main_pid stoker-keeper)
check an_upgrade_fails_no_request no_request_fails package_install "$deb"
check an_upgrade_runs_the_new_unit equal "$(in_machine systemctl show -P MemoryMax stoker-api)" 2415919104
keeper_restarted() { active stoker-keeper && [ "$(main_pid stoker-keeper)" != "$keeper" ]; }
check an_upgrade_restarts_a_keeper_that_runs keeper_restarted
check an_upgrade_runs_the_new_programs equal \
  "$(in_machine sh -c 'ls -l /proc/[0-9]*/exe 2>/dev/null | grep "stoker.*(deleted)"')" ""
check an_upgrade_keeps_what_the_administrator_changed in_machine grep -q '^# mine' /etc/stoker/stoker.conf
kept() { json '.status == "completed" and .sampleCount > 0' get "$profiling/$capture"; }
check an_upgrade_keeps_a_capture_under_way wait_for 20 kept
in_machine systemctl stop burn
in_machine rm /etc/nginx/sites-enabled/stoker
package_install "$deb" >/dev/null 2>&1
check a_site_that_was_disabled_stays_disabled in_machine test ! -e /etc/nginx/sites-enabled/stoker
in_machine ln -s ../sites-available/stoker /etc/nginx/sites-enabled/
machine_reboot
check everything_is_up_after_a_reboot wait_for 20 healthy
