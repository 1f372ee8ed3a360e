#!/bin/bash
# Commands that root types on a bare Debian, as in the manual: to install,
# upgrade and downgrade from a repository for apt, from the archive for other
# distributions, and to use Apache.
#
#	tests/debian/manual.sh ROOT PACKAGE.deb RELEASE.deb SUITE
. "$(dirname "$0")/../lib/machine.sh"
. tests/lib/installed.sh
. tests/lib/manual.sh
. tests/debian/apt.sh
MACHINE_ROOT=$1 package=$2 release=$3 suite=$4
serve=$(mktemp -d /var/tmp/stoker-apt-XXXXXX)
server=
end() { [ -z "$server" ] || kill "$server"; machine_stop; rm -rf "$serve"; }
new_machine() {
  machine_start
  trap end EXIT
  apt_ready
  typed 'apt-get update && apt-get install wget' >/dev/null 2>&1 || fail "apt fetches nothing"
}
# Lines of a block, in one shell.
block_typed() { # page, text of the block, what sed is to do with it
  typed "cd /root; $(manual_commands "$1" "$2" | sed "${3-}")"
}
answers() { wait_for 60 healthy; }
version_is() { equal "$(in_machine dpkg-query -W -f '${Version}' stoker)" "$1"; }
key_works() { TOKEN=$(in_machine cat /root/.config/stoker/token) && wait_for 20 status_is $api/services 200; }

# --- a repository ------------------------------------------------------------------
offers() { SUITE=$suite conf/packages/repository "$serve/stoker" "$@"; }
older=$(dpkg-deb -f "$release" Version) newer=$(dpkg-deb -f "$package" Version)
new_machine
check a_repository_is_made offers "$release"
python3 -u -m http.server -d "$serve" -b 127.0.0.1 0 >"$serve/log" 2>&1 &
server=$!
wait_for 10 grep -q port "$serve/log"
at=http://127.0.0.1:$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$serve/log")
check a_server_installs_from_it block_typed stoker-operations.7 url= "s|https://packages.example.org|$at|"
check the_release_is_installed version_is "$older"
runs=
if answers; then runs=yes; else echo "# the worker of the last release does not run here"; fi
check setup_makes_a_key says 'Made the key tok-' cli setup
check a_repository_keeps_the_release offers "$package"
check an_upgrade_is_typed block_typed stoker-operations.7 'stoker version' 's/^apt-get install/apt-get update \&\& &/'
check the_newer_package_is_installed version_is "$newer"
check it_answers answers
check its_key_is_the_same key_works
if [ -n "$runs" ]; then
  check a_downgrade_is_typed block_typed stoker-operations.7 allow-downgrades "s/=VERSION/=$older/"
  check the_release_is_installed_again version_is "$older"
  check the_release_answers answers
  check the_key_is_restored key_works
fi
# The tutorial's first lines, on a host that has the repository.
apt purge stoker >/dev/null 2>&1
in_machine rm -rf /root/.config/stoker
first() { block_typed stoker-tutorial.7 'stoker setup' 's/^stoker doctor/& || :/'; }
check the_tutorial_installs says 'Made the key tok-' first
check the_tutorial_has_the_newer_package version_is "$newer"

# --- Apache ------------------------------------------------------------------------
apt install apache2 >/dev/null 2>&1
in_machine sh -c "systemctl stop nginx && sed -i 's/^#accel_bytes = .*/accel_bytes = 1T/' /etc/stoker/stoker.conf &&
  systemctl restart stoker-api"
check apache_is_typed in_machine sh -ec "$(manual_commands stoker-api.8 a2ensite)"
check apache_answers answers
check the_key_works_through_apache key_works

# --- other distributions -------------------------------------------------------------
new_machine
machine_put 644 "$B"/tarball/stoker-*.tar.xz /root
apt install xz-utils nginx spawn-fcgi multiwatch >/dev/null 2>&1
# The machine may not change settings of the host's kernel.
check the_archive_is_typed in_machine sh -ec "cd /root; $(manual_commands stoker-operations.7 'tar -xf' | sed 's/ && sysctl --system//')"
in_machine sh -c 'ln -s ../sites-available/stoker /etc/nginx/sites-enabled/ && systemctl reload-or-restart nginx'
check the_archive_s_programs_answer answers
check setup_makes_a_key_of_the_archive says 'Made the key tok-' cli setup
check doctor_finds_nothing_broken_in_the_archive within 30 doctor_is_content
