#!/bin/bash
# An installed Stoker moves to PostgreSQL by the commands of the manual: its
# profiles and keys are there, and a keeper works.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/machine.sh"
. tests/lib/installed.sh
. tests/lib/manual.sh
[ "$(id -u)" -eq 0 ] && [ -x /usr/bin/pg_createcluster ] || skip machine/move 'needs root, and PostgreSQL of Debian'
machine_start
package_installed
# Runs the lines of a block in one shell.
typed() { # page, text of the block, user
  in_machine runuser -u "${3:-root}" -- sh -ec "cd /; $(manual_commands "$1" "$2")"
}
server_starts() {
  in_machine sh -ec 'pg_lsclusters -h | while read -r version name rest; do pg_dropcluster "$version" "$name"; done
    pg_createcluster "$(ls /usr/lib/postgresql | tail -n 1)" main -- --no-sync >/dev/null
    systemctl start "postgresql@$(ls /usr/lib/postgresql | tail -n 1)-main"'
}
check a_server_of_debian_starts server_starts
in_machine stoker service add shop --exe /usr/bin/true >/dev/null
before=$(printf 'main;work 70\nmain;rest 30\n' | cli --json upload shop - | jq -r .id)

check the_manual_makes_a_role_and_a_database typed stoker-fleet.7 createuser postgres
in_machine runuser -u postgres -- env -C / dropdb stoker
check so_does_the_page_of_the_configuration in_machine runuser -u postgres -- sh -c "cd /; $(manual_commands stoker.conf.5 createdb | head -n 1)"
check the_manual_stops_what_writes typed stoker-fleet.7 'systemctl stop'
in_machine sh -ec "sed -i 's|^#database =.*|database = postgresql:///stoker?host=/run/postgresql|; s|^#bytes = file.*|bytes = db|' /etc/stoker/stoker.conf
  for unit in stoker-api stoker-keeper; do
    mkdir -p /etc/systemd/system/\$unit.service.d
    printf '[Service]\nBindPaths=/run/postgresql\n' >/etc/systemd/system/\$unit.service.d/postgres.conf
  done
  systemctl daemon-reload"
check the_manual_moves_the_store typed stoker-fleet.7 'migrate --from-sqlite'
check another_migrate_changes_nothing in_machine sh -c "$(manual_commands stoker.conf.5 createdb | tail -n 1)"
started() { # without doctor, which would miss a worker
  in_machine sh -c "$(manual_commands stoker-fleet.7 'systemctl start' | sed '/^stoker doctor/d')" &&
    says 'its keeper runs on' in_machine sh -c "$(manual_commands stoker-fleet.7 'systemctl start' | grep ^stoker)"
}
check the_manual_starts_the_api_and_a_keeper within 20 started
check so_does_the_page_of_the_keeper typed stoker-api.8 stoker-keeper
check a_keeper_runs active stoker-keeper.service
check the_profile_is_there share_near "$before" work 70 0.1
check it_is_in_the_database equal "$(in_machine runuser -u postgres -- env -C / psql -AtXc 'SELECT count(*) > 0 FROM session' stoker)" t
