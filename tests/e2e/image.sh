#!/bin/bash
# The image that `make image` makes, in containers that are started by the
# commands of stoker-containers(7): it profiles programs of the host, and keeps
# its data when its containers are killed and made again.
#
# Beside others: it waits for events.
set -u
cd "$(dirname "$0")/../.."
: "${B:=build}"
. conf/run/lib.sh
. tests/lib/check.sh
. tests/lib/container.sh
. tests/lib/manual.sh
[ "$(id -u)" -eq 0 ] && command -v podman >/dev/null || skip e2e/image 'needs root, and podman'
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
# The host's network of this test: no other test's nginx listens there, and a
# reader may come from elsewhere.
ELSEWHERE=192.0.2.1
touch "$STATE/net"
unshare --net="$STATE/net" sh -c "ip link set lo up && ip address add $ELSEWHERE/32 dev lo" || exit 1
on_host() { nsenter --net="$STATE/net" "$@"; }
podman() { on_host podman --root "$STATE/storage" --runroot "$STATE/runroot" "$@"; }
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
image_is_made() { # rebuilds the image if the package or the script is newer
  local package of
  package=$(echo "$B"/deb/stoker_*.deb)
  for of in "$package" conf/packages/image; do
    [ "$B/image/stoker.tar" -nt "$of" ] || { conf/packages/image "$package" "$B/image/stoker.tar"; return; }
  done
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
command_of() { # role
  manual_commands stoker-containers.7 | grep "^podman run" | grep -- "--name stoker-$1 "
}
run() { # role, sed script for its command
  local line
  line=$(command_of "$1" | sed -E "s/--ulimit [^ ]*//g; ${2:-}")
  (cd "$B/image" && eval "$line")
}
exec_in() { podman exec "stoker-$1" "${@:2}"; }
cli() { podman exec -e STOKER_TOKEN stoker-nginx stoker "$@"; }
# The options of a role in the compose file, and in the manual, one per line;
# podman makes /tmp by itself, and knows no services.
in_compose() { # role
  awk -v role="  $1:" '
    BEGIN { split("user user network_mode network mem_limit memory pids_limit pids-limit pid pid uts uts cgroup cgroupns", name) }
    BEGIN { for (i = 1; i in name; i += 2) option[name[i]] = name[i + 1] }
    /^  [a-z]+:$/ { on = $0 == role } !on || /^ *#/ { next }
    { gsub(/[]["{},]/, ""); key = $1; sub(/:$/, "", key) }
    key in option { print option[key], $2 }
    key == "stop_grace_period" { print "stop-timeout", $2 + 0 }
    key == "cap_add" { for (i = 2; i <= NF; i++) print "cap-add", $i }
    key == "ulimits" { for (i = 2; i < NF; i += 2) print "ulimit", $i $(i + 1) }
    key == "security_opt" { for (i = 2; i <= NF; i++) print "security-opt", $i }
    key == "-" && /=|no-new/ { print "security-opt", $2 }
    key == "-" && /:\// { print "v", "stoker-" $2 }' conf/container/compose.yaml |
    sed -E '/^ulimit/s/:/=/; s/(no-new-privileges):true/\1/; s/\.\///' | sort
}
in_manual() { # role
  command_of "$1" | tr ' ' '\n' | awk '/^-/ { sub(/^-+/, ""); key = $0; next } key != "" {
    n = split($0, values, ","); for (i = 1; i <= n; i++) print key, values[i]; key = "" }' |
    grep -Ev '^(name|restart|read-only|cap-drop) ' | sort
}
limits_are_equal() { diff <(in_compose "$1") <(in_manual "$1"); }
for role in api nginx worker; do
  check "compose_and_the_manual_give_the_$role""_the_same" limits_are_equal $role
done
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
eval "$(manual_commands stoker-containers.7 | grep "^export STOKER_TOKEN")" 2>/dev/null
check the_command_of_the_manual_makes_a_key says admin cli token list
signs_in() { # URL, as a browser of the host does
  on_host curl -sSk -o /dev/null -w '%{http_code}\n' -X POST -H "Origin: $1" \
    -H "Authorization: Bearer $STOKER_TOKEN" "$1/api/v1/browser-session"
}
check a_browser_of_the_host_signs_in equal "$(signs_in http://127.0.0.1:8088)" 201
check nginx_listens_on_the_loopback_alone equal "$(on_host ss -Hlnt | awk '{ print $4 }')" 127.0.0.1:8088

# --- the host --------------------------------------------------------------------
install -m 755 "$B/targets/demo" "$STATE/demo"
background demo "$STATE/demo" 2 3
if groups=$(container_groups); then
  container_make "$groups" "web-$$" shop/web "$(<"$STATE/pid/demo")"
fi
cli service add demo --exe "$STATE/demo" >/dev/null
capture() { cli run demo --seconds 2s --rate 499 --wait; }
check a_program_of_the_host_is_captured says server::handle capture
if [ -n "$groups" ]; then
  check files_of_runtimes_of_the_host_name_its_containers says server::handle \
    cli run --container "web-$$" --seconds 2s --rate 499 --wait
fi
# Warnings depend on this machine: its clock, say, is not synchronized.
doctor_is_content() {
  cli --json doctor | jq -c 'length > 9, (.[] | select(.verdict == "broken" or (.fix | test("systemctl"))))'
}
check doctor_finds_nothing_broken_in_a_container equal "$(doctor_is_content)" true
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
# This time with the server of the manual, for readers elsewhere.
mkdir "$STATE/servers"
manual_block stoker-containers.7 'server {' >"$STATE/servers/tls.conf"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=stoker \
  -keyout "$STATE/servers/tls.key" -out "$STATE/servers/tls.crt" 2>/dev/null
chmod 644 "$STATE/servers/tls.key"
for role in api nginx worker; do
  podman rm --force --time 10 "stoker-$role" >/dev/null 2>&1
  run $role "s|localhost/stoker nginx|-v $STATE/servers:/etc/nginx/conf.d:ro &|" >/dev/null
done
check it_is_ready_when_its_containers_are_made_again wait_for 30 ready
check a_browser_elsewhere_signs_in_over_tls equal "$(signs_in https://$ELSEWHERE:8443)" 201
check profiles_outlive_their_containers says server::handle cli top demo
check containers_that_were_made_again_capture says server::handle capture

# --- options that are missing -----------------------------------------------------
# Starts the worker without an option; its checks name what is missing.
fix_of() { cli --json doctor | jq -r --arg c "worker $1" '.[] | select(.check == $c) | .found + ": " + .fix'; }
names() { fix=$(fix_of "$1") && [[ $fix == *"$2"* ]]; }
without() { # claim, sed script, check, what the check names
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
