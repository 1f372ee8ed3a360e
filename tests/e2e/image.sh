#!/bin/bash
# The image that `make image` makes, in containers that are started by the
# commands of stoker-containers(7): it profiles programs of the host, keeps what
# it has when its containers are killed and made again.
#
# Beside others: it waits for events.
set -u
cd "$(dirname "$0")/../.."
: "${B:=build}"
. conf/run/lib.sh
. tests/lib/check.sh
. tests/lib/container.sh
if [ "$(id -u)" -ne 0 ]; then
  echo "skip e2e/image: needs root"
  exit 0
fi
STATE=$(mktemp -d /var/tmp/stoker-image-XXXXXX)
chmod 755 "$STATE"
mkdir "$STATE/pid" "$STATE/log"
# This machine's limits may be lower than those that podman sets, and it may have
# control groups of both versions, which crun refuses.
export CONTAINERS_CONF=$STATE/containers.conf
cat >"$CONTAINERS_CONF" <<END
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=1000:1000"]
[engine]
runtime = "runc"
events_logger = "none"
END
podman() { command podman --root "$STATE/storage" --runroot "$STATE/runroot" "$@"; }
nothing_cleans_up() { ! pgrep -f -- "--root $STATE/storage" >/dev/null; }
leave() {
  local code=$?
  process_stop demo
  container_end "${groups-}"
  podman rm --all --force --time 0 >/dev/null 2>&1
  # Containers that end start podman once more, which mounts its storage.
  wait_for 10 nothing_cleans_up
  awk -v at="$STATE/" 'index($2, at) == 1 { print $2 }' /proc/mounts | tac | xargs -r -n 1 umount --lazy
  rm -rf "$STATE"
  exit $code
}
trap leave EXIT
trap 'exit 1' INT TERM

# --- the image -----------------------------------------------------------------
image_is_made() { # after the package
  [ "$B/image/stoker.tar" -nt "$(ls "$B"/deb/stoker_*.deb)" ] ||
    conf/packages/image "$B"/deb/stoker_*.deb "$B/image/stoker.tar"
}
check an_image_is_made_of_the_package image_is_made
conf/container/seccomp >"$B/image/seccomp.json"
mkdir "$STATE/layout"
tar -xf "$B/image/stoker.tar" -C "$STATE/layout"
blobs_have_their_names() { (cd "$STATE/layout/blobs/sha256" && sha256sum * | awk '$1 != $2 { print; bad = 1 } END { exit bad }'); }
check blobs_of_the_image_are_named_by_their_content blobs_have_their_names
check the_image_is_smaller_than_25_mb [ "$(stat -c %s "$B/image/stoker.tar")" -lt 25000000 ]
files_of_layers() { for layer in "$STATE"/layout/blobs/sha256/*; do tar -tvzf "$layer" 2>/dev/null; done; }
check no_file_of_the_image_gives_its_owner_s_rights equal "$(files_of_layers | grep '^-..s\|^-.....s')" ''
rm -r "$STATE/layout"

# --- containers ------------------------------------------------------------------
# Prints root's commands of the manual page that begin so, each on one line, as
# they can run here: nginx has no network, since all tests share one.
commands() { # start
  awk -v start="# $1" '/^\.Bd -literal/ { on = 1 } /^\.Ed/ { on = 0 }
    on { gsub(/\\-/, "-") }
    on && (more || index($0, start) == 1) { sub(/^# /, "")
      more = sub(/\\e$/, ""); printf "%s%s", $0, more ? "" : "\n" }' conf/man/stoker-containers.7
}
run() { # role, what sed is to do with its command
  local line
  line=$(commands 'podman run' | grep -- "--name stoker-$1 " |
    sed -E "s/-p 127[^ ]*/--network none/; s/--ulimit memlock=-1:-1//; ${2:-}")
  (cd "$B/image" && eval "$line")
}
exec_in() { podman exec "stoker-$1" "${@:2}"; }
cli() { podman exec -e STOKER_TOKEN="$TOKEN" stoker-nginx stoker "$@"; }
ready() { exec_in nginx wget -q -O - http://127.0.0.1:8088/readyz; }

check the_image_is_loaded says localhost/stoker:latest podman load -q -i "$B/image/stoker.tar"
for role in api nginx worker; do
  check "the_command_of_the_manual_starts_the_$role" run $role
done
check it_is_ready wait_for 30 ready
if [ -n "${not_ok-}" ]; then
  for role in api nginx worker; do podman logs "stoker-$role" 2>&1 | tail -n 5 | sed "s/^/# $role: /"; done
  exit 1
fi
TOKEN=$(eval "$(commands 'podman exec stoker-api')" 2>/dev/null)
check the_command_of_the_manual_makes_a_key says admin cli token list

# --- the host --------------------------------------------------------------------
install -m 755 "$B/targets/demo" "$STATE/demo"
background demo "$STATE/demo" 2 10
if groups=$(container_groups); then
  container_make "$groups" "web-$$" shop/web "$(<"$STATE/pid/demo")"
fi
cli service add demo --exe "$STATE/demo" >/dev/null
capture() { cli run demo --seconds 2s --wait; }
check a_program_of_the_host_is_captured says server::handle capture
if [ -n "$groups" ]; then
  check files_of_runtimes_of_the_host_name_its_containers says server::handle \
    cli run --container "web-$$" --seconds 2s --wait
fi
doctor_is_content() { # but for the machine's own clock and limits
  cli --json doctor | jq -c '.[] | select(.verdict == "broken" or (.fix | test("systemctl")))'
}
check doctor_finds_nothing_broken_in_a_container equal "$(doctor_is_content)" ''
no_capability() { equal "$(awk '/^Cap(Prm|Eff|Bnd)/ { print $2 }' "/proc/$(podman inspect -f '{{.State.Pid}}' "stoker-$1")/status" | sort -u)" 0000000000000000; }
check the_api_has_no_capability no_capability api
check nginx_has_no_capability no_capability nginx
capabilities_are_those_of_the_unit() {
  diff <(sed -n 's/^CapabilityBoundingSet=//p' systemd/stoker-worker.service | tr ' ' '\n' | sort) \
    <(podman inspect stoker-worker | jq -r '.[0].BoundingCaps[]' | sort)
}
check the_worker_has_the_capabilities_of_its_unit capabilities_are_those_of_the_unit

# --- killed, and made again ------------------------------------------------------
for role in api nginx worker; do podman kill --signal KILL "stoker-$role" >/dev/null; done
for role in api nginx worker; do podman start "stoker-$role" >/dev/null; done
check it_is_ready_after_all_containers_were_killed wait_for 30 ready
for role in api nginx worker; do
  podman rm --force --time 10 "stoker-$role" >/dev/null 2>&1
  run $role >/dev/null
done
check it_is_ready_when_its_containers_are_made_again wait_for 30 ready
check profiles_outlive_their_containers says server::handle cli top demo
check containers_that_were_made_again_capture says server::handle capture

# --- options that are missing -----------------------------------------------------
# Starts the worker without an option; its checks name what is missing.
fix_of() { cli --json doctor | jq -r --arg c "worker $1" '.[] | select(.check == $c) | .found + ": " + .fix'; }
names() { fix=$(fix_of "$1") && [[ $fix == *"$2"* ]]; }
without() { # claim, what sed is to do, check, what it names
  podman rm --force --time 10 stoker-worker >/dev/null 2>&1
  run worker "$2" >/dev/null
  wait_for 20 names "$3" "$4" || echo "# $3: ${fix-}"
  check "$1" names "$3" "$4"
}
without a_worker_without_perfmon_names_it 's/PERFMON,//' events '--cap-add PERFMON'
refused() { says '--cap-add PERFMON' cli run demo --seconds 1s --wait; }
check a_capture_without_perfmon_names_it refused
without a_worker_without_bpf_names_it 's/BPF,//' filter '--cap-add BPF'
without a_worker_without_ptrace_names_it 's/SYS_PTRACE,//' memory '--cap-add SYS_PTRACE'
without a_worker_without_syslog_names_it 's/SYSLOG,//' 'kernel names' '--cap-add SYSLOG'
without a_worker_with_podman_s_filter_names_it 's/--security-opt seccomp=[^ ]*//' events '--security-opt seccomp='
check a_worker_with_podman_s_filter_names_it_for_bpf names filter '--security-opt seccomp='
without a_worker_that_sees_no_host_names_pid 's/--pid host//' events '--pid host'
