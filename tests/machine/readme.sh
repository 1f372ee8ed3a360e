#!/bin/bash
# Runs the commands of the README and of manual pages that install, back up and
# restore as they are printed there, and prints the seconds that each takes.
#
#	MACHINE_ROOT=DIR tests/machine/readme.sh
#
# DIR holds a bare Debian 12 instead of this host's root; apt then uses the
# host's network, and everything is built from nothing.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/machine.sh"
. tests/lib/installed.sh
. tests/lib/manual.sh
[ "$(id -u)" -eq 0 ] || skip machine/readme 'needs root'

# Prints the indented block below "## Install" that contains a text, without
# comments.
block() { # text
  awk -v text="$1" '
    function shown() { if (index(block, text)) printf "%s", block; block = "" }
    /^## / { on = $0 == "## Install" }
    on && /^    / { sub(/^    /, ""); sub(/ +# .*/, ""); block = block $0 "\n"; next }
    on { shown() }
    END { shown() }' README.md
}
checkout=$PWD
bare=
if [ "${MACHINE_ROOT:-/}" != / ]; then bare=1 checkout=/root/stoker; fi
# The machine has its own /tmp, so a checkout below /tmp is mounted elsewhere.
case $bare$PWD in
/tmp/*) checkout=/root/checkout && export MACHINE_OVERLAY="$PWD::$checkout" ;;
esac
new_machine() {
  machine_start
  [ -z "$bare" ] || git ls-files -z | tar -cz --null -T - |
    in_machine sh -c "mkdir -p '$checkout' && tar -xzC '$checkout' --no-same-owner"
}
# Commands that may fetch packages use the host's network, since the machine has
# none.
inside() {
  case "$checkout $1" in
  /root/stoker\ *apt-get* | /root/stoker\ make*)
    machine_online sh -c "cd '$checkout' && $1" ;;
  *) in_machine sh -c "cd '$checkout' && $1" ;;
  esac
}
total=0
# Answers yes when apt-get asks whether to go on.
line_works() { # command
  local out began=$SECONDS code=0
  out=$(inside "$1" < <(yes) 2>&1) || code=$?
  echo "$((SECONDS - began))" >"$MACHINE_AT/took"
  [ $code -eq 0 ] || tail -c 600 <<<"$out"
  return $code
}
all_lines() { # text of the block
  local line
  while IFS= read -r line; do
    check "a_line_of_the_readme_works:_${line// /_}" line_works "$line"
    echo "# $(<"$MACHINE_AT/took") s: $line"
    total=$((total + $(<"$MACHINE_AT/took")))
  done <<<"$1"
}

# --- Debian ------------------------------------------------------------------------
new_machine
[ -z "$bare" ] || check make_can_be_had line_works 'apt-get update && apt-get install -y make'
lines=$(block 'make deb')
all_lines "$lines"
check the_package_is_installed says 'install ok installed' in_machine dpkg -s stoker
check units_of_the_package_run active $own_units
check the_site_of_the_package_answers wait_for 20 healthy
TOKEN=$(in_machine cat /root/.config/stoker/token)
check the_key_is_kept_for_its_user_alone equal "$(in_machine stat -c %a /root/.config/stoker/token)" 600
check the_key_works status_is $api/services 200
check doctor_finds_nothing_broken doctor_is_content
echo "# $total s from a checkout to a service that is ready"

# --- backups -------------------------------------------------------------------------
all_lines "$(manual_commands stoker-operations.7 'stoker verify')"
in_machine sh -c 'systemctl stop stoker-api.socket stoker-worker && find /var/lib/stoker -mindepth 1 -delete'
all_lines "$(manual_commands stoker-operations.7 'stoker restore /var')"
key_works() { wait_for 20 status_is $api/services 200; }
check the_key_works_in_the_restored_store key_works

# --- the manual --------------------------------------------------------------------
# Runs the lines of a block in one shell.
typed() { # page, text of the block, regular expression (all)
  inside "set -e
$(manual_commands "$1" "$2" | grep -e "${3-}")"
}
in_machine awk '/^# \/etc/ { file = $2; next } /^#/ { exit } { print >file }' \
  <<<"$(manual_block stoker.1 stoker-backup.timer)"
check the_manual_has_a_timer_of_backups typed stoker.1 stoker-backup.timer ^systemctl
check the_unit_of_the_timer_makes_a_backup in_machine systemctl start stoker-backup.service
check the_timer_waits in_machine systemctl is-active -q stoker-backup.timer
check the_line_of_cron_makes_a_backup inside "$(manual_block stoker.1 '30 3' | sed 's/.* root //')"
check the_manual_restores_a_backup typed stoker.1 'stoker restore'
check the_key_works_after_that key_works
vacuum() {
  in_machine systemctl stop stoker-api.socket stoker-api stoker-worker
  typed stoker.conf.5 VACUUM && in_machine systemctl start stoker-api stoker-worker && key_works
}
check the_manual_converts_the_database vacuum
in_machine mkdir -p /etc/grafana/provisioning/datasources /etc/grafana/provisioning/dashboards
check the_manual_gives_grafana_its_files typed stoker-integrations.7 datasource.yaml
check grafana_s_dashboard_is_where_its_provider_looks in_machine sh -c \
  'ls "$(sed -n "s/^ *path: //p" /etc/grafana/provisioning/dashboards/stoker.yaml)"/dashboard.json'

# --- without the package ----------------------------------------------------------------
if [ -z "$bare" ]; then
  new_machine
  check make_install_works line_works 'make && make install'
  # The machine may not change settings of the host's kernel.
  lines=$(manual_commands stoker.7 'systemd-sysusers')
  all_lines "${lines/ && sysctl --system/}"
  check units_of_make_install_run active $own_units
  in_machine stoker setup >/dev/null
  TOKEN=$(in_machine cat /root/.config/stoker/token)
  check make_install_makes_a_service_that_is_ready wait_for 30 healthy
  check doctor_finds_nothing_broken_after_make_install doctor_is_content
fi
