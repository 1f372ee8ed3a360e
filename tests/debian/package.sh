#!/bin/bash
# On a bare Debian, the package installs with what it depends on, and takes a
# profile; an upgrade from the last release keeps keys, profiles and windows; a
# purge leaves nothing.
#
#	tests/debian/package.sh ROOT PACKAGE.deb RELEASE.deb
. "$(dirname "$0")/../lib/machine.sh"
. tests/lib/installed.sh
. tests/debian/apt.sh
MACHINE_ROOT=$1 package=$2 release=$3
at() { echo "/root/$(basename "$1")"; }
begin_machine() {
  machine_start
  apt_ready
  machine_put 644 "$package" "$release" /root
  machine_put 755 "$B/targets/shares" /usr/local/bin
  service_unit burn '/usr/local/bin/shares 600 1 50'
  apt update || fail "apt fetches nothing"
}
key() { TOKEN=$(in_machine cat /root/.config/stoker/token); }
profile() { take burn --seconds 4 --rate 199 >"$MACHINE_AT/taken"; }
id() { jq -r .id "$MACHINE_AT/taken"; }

# --- the first profile -----------------------------------------------------------
begin_machine
began=$(date +%s)
check the_package_installs_with_what_it_depends_on apt install "$(at "$package")"
check setup_makes_a_key says 'Made the key tok-' cli setup
key
check doctor_finds_nothing_broken doctor_is_content
first() { says share_half cli run --unit burn.service --seconds 4 --rate 199 --wait; }
check a_unit_is_profiled_without_a_service first
page() { in_machine sh -c 'curl -sS "$(stoker open burn | grep -o "http://.*")"'; }
check the_flame_graph_comes_through_nginx says share_half page
echo "# $(($(date +%s) - began)) s from the package to the flame graph"

# --- upgrade ---------------------------------------------------------------------
depends=$(dpkg-deb -f "$package" Depends | sed 's/([^)]*)//g; s/|[^,]*//g; s/,/ /g')
begin_machine
apt install $depends >"$MACHINE_AT/dpkg" 2>&1 ||
  fail "what the package depends on: $(tail -n 5 "$MACHINE_AT/dpkg")"
machine_files >"$MACHINE_AT/before"
check the_last_release_installs apt install "$(at "$release")"
cli setup >/dev/null
key
has_windows() { json '.sampleCount > 0' cli --json merge burn --from 1h; }
windows=
if wait_for 20 healthy; then
  check the_last_release_takes_a_profile known burn --unit burn.service
  profile
  before=$(id)
  cli continuous on burn --types cpu >/dev/null
  windows=yes
  check the_last_release_has_windows wait_for 60 has_windows
else
  # The worker of 0.1.0 cannot drop its privileges under systemd 257.
  echo "# the worker of the last release does not run here"
  cli service add burn --unit burn.service >/dev/null
  before=$(printf 'main;share_half 50\nmain;rest 50\n' | cli upload burn - 2>&1 | grep -o 'sess-[a-z0-9]*')
fi
in_machine sh -c 'echo "# mine" >>/etc/stoker/stoker.conf'

check an_upgrade_asks_nothing apt install "$(at "$package")"
check an_upgrade_runs_the_new_programs says \
  "$(dpkg-deb -f "$package" Version)" cli version
check units_run_after_an_upgrade active $own_units
check the_site_answers_after_an_upgrade wait_for 60 healthy
check an_upgrade_keeps_the_key status_is $api/services 200
check an_upgrade_keeps_profiles share_near "$before" share_half 50 15
[ -z "$windows" ] || check an_upgrade_keeps_windows has_windows
check an_upgrade_keeps_what_the_administrator_changed in_machine grep -q '^# mine' /etc/stoker/stoker.conf
check doctor_finds_nothing_broken_after_an_upgrade within 60 doctor_is_content
profile
check captures_work_after_an_upgrade share_near "$(id)" share_half 50 15
check the_store_is_whole_after_an_upgrade leaves 0 cli verify

# --- purge -----------------------------------------------------------------------
check purge_asks_nothing apt purge stoker
check purge_leaves_no_file_unit_or_process nothing_is_left 'burn'
# A package that was unpacked over another one, and never configured.
apt install "$(at "$package")" >/dev/null 2>&1
in_machine dpkg --unpack "$(at "$package")" >/dev/null 2>&1
check a_package_that_is_unpacked_only_can_be_purged apt purge stoker
check and_leaves_nothing_either nothing_is_left 'burn'
