# A virtual machine with Debian 12 and its kernel, for what this host's kernel
# cannot show: its defaults, its settings, reboots and power cuts. The commands
# are as in machine.sh. Needs root and qemu; there is no KVM, so that
# everything in the machine is slow.
#
#	. tests/lib/vm.sh
#	machine_start IMAGE	boots a copy of an image's disk (tests/vm/image)
#	in_machine COMMAND...	runs there as root; standard input goes along
#	machine_put MODE FILE... FOLDER
#	machine_sysctl NAME VALUE
#	machine_reboot [OPTION...]	orderly; OPTIONs are for the kernel
#	machine_cut		cuts the power, and boots again
#	machine_stop		ends it; happens at exit, too
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
: "${B:=build}"
. conf/run/lib.sh
. tests/lib/check.sh

MACHINE=    # pid of qemu
MACHINE_AT= # folder on the host
IMAGE=
MACHINE_BOOT_S=600

machine_start() { # image
  machine_stop
  IMAGE=$1
  MACHINE_AT=$(mktemp -d /var/tmp/stoker-vm-XXXXXX)
  trap machine_stop EXIT
  trap 'exit 1' INT TERM
  qemu-img create -q -f qcow2 -F raw -b "$IMAGE/disk.img" "$MACHINE_AT/disk"
  machine_boot
}

# When qemu is killed, the host's page cache keeps what the machine has flushed.
# What it has not flushed is lost, as in a power cut.
machine_boot() { # options for the kernel command line
  local port
  port=$(shuf -i 20000-29999 -n 1)
  setpriv --pdeathsig KILL qemu-system-x86_64 -accel tcg,thread=multi \
    -cpu max -smp 2 -m "${VM_MEMORY:-1536}" -nodefaults -no-user-config \
    -display none -no-reboot -kernel "$IMAGE/kernel" -initrd "$IMAGE/initrd" \
    -append "root=/dev/vda rw console=ttyS0 quiet $*" \
    -drive "file=$MACHINE_AT/disk,if=virtio,format=qcow2,cache=unsafe" \
    -netdev "user,id=n0,restrict=on,hostfwd=tcp:127.0.0.1:$port-:22" \
    -device virtio-net-pci,netdev=n0,romfile= -device virtio-rng-pci \
    -serial "file:$MACHINE_AT/console" </dev/null >"$MACHINE_AT/qemu" 2>&1 &
  MACHINE=$!
  SSH=(ssh -q -i "$IMAGE/id" -p "$port" -o BatchMode=yes
    -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null
    -o ConnectTimeout=10 -o ServerAliveInterval=30 -o ControlMaster=auto
    -o "ControlPath=$MACHINE_AT/ssh" -o ControlPersist=600 root@127.0.0.1)
  machine_wait
}

in_machine() { "${SSH[@]}" "$(printf '%q ' "$@")"; }

machine_is_up() {
  local state
  state=$(in_machine systemctl is-system-running </dev/null 2>/dev/null)
  [ "$state" = running ] || [ "$state" = degraded ] || process_gone "$MACHINE"
}

machine_wait() {
  wait_for "$MACHINE_BOOT_S" machine_is_up && ! process_gone "$MACHINE" ||
    fail "no machine: $(tail -n 5 "$MACHINE_AT/console" "$MACHINE_AT/qemu")"
}

machine_put() { # mode, files, folder
  local mode=$1 folder=${*: -1}
  shift
  tar -cP --transform 's|.*/||' "${@:1:$#-1}" |
    in_machine sh -c "mkdir -p '$folder' && tar -xC '$folder' --no-same-owner --mode=$mode"
}

machine_sysctl() { in_machine sysctl -q -w "$1=$2"; } # name, value

machine_down() {
  wait_for 180 process_gone "$MACHINE" || kill -KILL "$MACHINE"
  wait "$MACHINE" 2>/dev/null
  rm -f "$MACHINE_AT/ssh"
}

machine_reboot() { # options for the kernel command line
  in_machine systemctl reboot || :
  machine_down
  machine_boot "$@"
}

machine_cut() {
  kill -KILL "$MACHINE"
  machine_down
  machine_boot
}

machine_stop() {
  [ -n "$MACHINE_AT" ] || return 0
  if [ -n "$MACHINE" ]; then
    kill -KILL "$MACHINE" 2>/dev/null
    wait "$MACHINE" 2>/dev/null
  fi
  MACHINE=
  rm -rf "$MACHINE_AT"
  MACHINE_AT=
}
