# A throw-away machine with systemd as its init, for what only an installed
# Stoker can show. Needs root and systemd-nspawn.
#
#	. tests/lib/machine.sh
#	machine_start			boots one and waits until it is up
#	in_machine COMMAND...		runs there as root; standard input goes along
#	machine_online COMMAND...	runs there with the host's network, to fetch
#	machine_put MODE FILE... FOLDER	copies files into one of its folders
#	machine_files			its own files: made, changed or deleted
#				there since it was booted
#	machine_sysctl NAME VALUE	what /proc/sys shows there, and only there
#	machine_reboot			the same machine, its files as they were
#	machine_stop			ends it; happens at exit, too
#
# The machine's files are an overlay, in memory, of this host's root, or of the
# directory MACHINE_ROOT: programs and packages of the host are there, and no
# change lasts. The machine has a separate network, with only a loopback; the
# kernel is the host's.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
: "${B:=build}"
. conf/run/lib.sh
. tests/lib/check.sh

MACHINE=     # pid of the parent of machine_boot
MACHINE_AT=  # folder on the host
machines=0

machine_start() {
  machine_stop
  MACHINE_AT=$(mktemp -d /var/tmp/stoker-machine-XXXXXX)
  machines=$((machines + 1))
  trap machine_stop EXIT
  trap 'exit 1' INT TERM
  machine_kernel
  mkdir "$MACHINE_AT/files"
  machine_run "stoker-$$-$machines" </dev/null >"$MACHINE_AT/console" 2>&1 &
  MACHINE=$!
  machine_wait
}

# Runs in new control groups, since the systemd of one machine must not meet the
# processes of another. Dies with this script, however it ends.
machine_run() { # name
  local group
  for group in $(machine_groups); do
    mkdir "$group/$1" && echo $BASHPID >"$group/$1/cgroup.procs"
  done
  exec setpriv --pdeathsig KILL unshare --mount --propagation private \
    --pid --fork --kill-child --mount-proc \
    tests/lib/machine_boot "$MACHINE_AT/files" "$1" "${MACHINE_ROOT:-/}"
}

# Prints the hierarchies in which systemd makes control groups: cgroup2, and
# version 1's hierarchy named systemd.
machine_groups() {
  local line at
  while IFS= read -r line; do
    case $line in
    0::*) at=/sys/fs/cgroup/unified ;;
    *:name=systemd:*) at=/sys/fs/cgroup/systemd ;;
    *) continue ;;
    esac
    [ -d $at ] || at=/sys/fs/cgroup
    echo "$at${line##*:}"
  done </proc/self/cgroup
}

# Lowers the level if it is above 2, where the kernel refuses what the worker
# may do elsewhere. All machines share the level.
machine_kernel() {
  local file=/proc/sys/kernel/perf_event_paranoid level
  read -r level <"$file"
  [ "$level" -gt 2 ] || return 0
  echo "$level" >"$MACHINE_AT/paranoid"
  echo 2 >"$file"
}

# Prints the first child of a process, if it has one.
child_of() { # pid
  local children
  children=$(<"/proc/$1/task/$1/children") && [ -n "$children" ] &&
    echo "${children%% *}"
} 2>/dev/null

machine_leader() {
  local leader
  # the leader is three levels below: unshare, machine_boot, nspawn, init
  leader=$(child_of "$(child_of "$(child_of "$MACHINE")")") &&
    [ "$(<"/proc/$leader/comm")" = systemd ] && echo "$leader"
} 2>/dev/null

# Runs in a new session, so that signals to its process group stay there.
in_machine() { machine_enter --all "$@"; }
machine_online() { machine_enter '--mount --uts --ipc --pid --cgroup' "$@"; }
machine_enter() { # its namespaces, command
  setsid --wait nsenter --target "$(machine_leader)" $1 --root env -C /root -i HOME=/root \
    LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${@:2}"
}

machine_is_up() {
  local state
  state=$(in_machine systemctl is-system-running </dev/null 2>/dev/null)
  [ "$state" = running ] || [ "$state" = degraded ]
}

machine_wait() {
  wait_for 60 machine_is_up || fail "no machine: $(tail -n 5 "$MACHINE_AT/console")"
}

machine_put() { # mode, files, folder
  local mode=$1 folder=${*: -1}
  shift
  install -D -m "$mode" -t "/proc/$(machine_leader)/root$folder" "${@:1:$#-1}"
}

# A folder of the host is listed as well if something in it has changed.
machine_files() {
  (
    cd "/proc/$MACHINE/root$MACHINE_AT/files/upper" || exit 1
    find . -type d | while read -r folder; do [ -d "/$folder" ] || echo "$folder"; done
    find . ! -type d
  ) | sed 's|^\.||' | sort
}

machine_sysctl() { # name, value
  local file=/run/sysctl-$1
  in_machine sh -c "umount '/proc/sys/${1//.//}' 2>/dev/null
    echo '$2' >'$file' && mount --bind '$file' '/proc/sys/${1//.//}'"
}

machine_reboot() {
  local before
  before=$(machine_leader)
  in_machine systemctl reboot 2>/dev/null # its connection ends with it
  wait_for 60 process_gone "$before"
  machine_wait
}

# A group stays busy for a moment after its last process ended.
machine_groups_gone() { # name
  local group gone=0
  for group in $(machine_groups); do
    [ ! -d "$group/$1" ] || find "$group/$1" -depth -type d -exec rmdir {} + || gone=1
  done
  return $gone
}

machine_stop() {
  [ -n "$MACHINE_AT" ] || return 0
  if [ -n "$MACHINE" ]; then
    in_machine systemctl poweroff --force </dev/null 2>/dev/null
    wait_for 10 process_gone "$MACHINE" || kill -KILL "$MACHINE"
    wait "$MACHINE" 2>/dev/null
    wait_for 5 machine_groups_gone "stoker-$$-$machines"
    MACHINE=
  fi
  [ ! -s "$MACHINE_AT/paranoid" ] ||
    cat "$MACHINE_AT/paranoid" >/proc/sys/kernel/perf_event_paranoid
  rm -rf "$MACHINE_AT"
  MACHINE_AT=
}
