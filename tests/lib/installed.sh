# Stoker's package on a machine: installing it and using it there. Source it
# after machine.sh or vm.sh.
#
#	package_installed		installs it and makes the first key, TOKEN
#	package_install FILE.deb	one that is in the machine's /root
#	cli, get PATH			the command line; curl through nginx
#	within SECONDS COMMAND...	waits for success; prints last output
#	json FILTER COMMAND...		its output makes jq's filter true
#	unit NAME <UNIT			a service of systemd there
#	service_unit NAME COMMAND [SETTINGS]	one with a separate user
#	drop_in UNIT NAME <SETTINGS	changes one, and restarts it
#	known SERVICE [OPTION...]	registers it, and waits for a process
#	take SERVICE [OPTION...]	captures, and prints the ProfileResult
#	nothing_is_left UNITS		after a purge: files differ from $MACHINE_AT/before
#				only by what is not the package's
#	doctor_says VERDICT CHECK TEXT	with the line that repairs it
api=/api/v1
profiling=$api/observability/profiling
own_units='stoker-api.socket stoker-api.service stoker-worker.service'
TOKEN=

package_file() { ls "$B"/deb/stoker_*.deb; }
package_install() { in_machine dpkg -i "/root/$(basename "$1")" </dev/null; }
package_installed() {
  machine_put 644 "$(package_file)" /root
  package_install "$(package_file)" >"$MACHINE_AT/dpkg" 2>&1 ||
    fail "the package: $(tail -n 5 "$MACHINE_AT/dpkg")"
  in_machine stoker setup >/dev/null || fail "no key"
  TOKEN=$(in_machine cat /root/.config/stoker/token)
  wait_for 60 healthy || fail "not ready: $(get /readyz)"
}

cli() { in_machine stoker "$@"; }
get() { # path, curl arguments
  in_machine curl -sS -H "Authorization: Bearer $TOKEN" "http://127.0.0.1:8088$1" "${@:2}"
}
within() { wait_for "$@" || { shift && "$@"; }; }
status_of() { get "$1" -o /dev/null -w '%{http_code}' "${@:2}"; }
status_is() { equal "$(status_of "$1" "${@:3}")" "$2"; } # path, status, curl arguments
healthy() { in_machine curl -fsS -o /dev/null http://127.0.0.1:8088/readyz; }
active() { [ "$(in_machine systemctl is-active "$@" | sort -u)" = active ]; }
main_pid() { in_machine systemctl show -P MainPID "$1"; }
json() { # filter, command
  local filter=$1 out
  shift
  out=$("$@") || { echo "$out"; return 1; }
  jq -e "$filter" >/dev/null <<<"$out" || { echo "$out"; return 1; }
}

unit() {
  in_machine sh -c "cat >/etc/systemd/system/$1.service && systemctl daemon-reload &&
    systemctl restart $1"
}
service_unit() { # name, command, settings
  unit "$1" <<<$'[Service]\nDynamicUser=yes\nExecStart='"$2"$'\n'"${3-}"
}
drop_in() { # unit, name
  in_machine sh -c "mkdir -p /etc/systemd/system/$1.service.d && cat >/etc/systemd/system/$1.service.d/$2.conf &&
    systemctl daemon-reload && systemctl restart $1"
}

known() { # service, options of service add
  cli service add "$@" >/dev/null && wait_for 30 seen "$1" ||
    { echo "no process of $1 is seen"; return 1; }
}
seen() { json '.items | length > 0' get "$api/services/$1/processes"; }
begin() { cli run "$@"; } # service, options: prints its id
take() { cli --json run "$@" --wait; }
phase_is() { json ".phase == \"$2\"" get "$profiling/$1"; }
result_of() { get "$profiling/$1?wait=20"; } # id
# Checks a function's share of a profile, including what it calls, in percent.
share_near() { # id, function, percent, tolerance
  local top
  top=$(cli --json top "$1" --limit 1000) || { echo "$top"; return 1; }
  jq -e --arg f "$2" --argjson p "$3" --argjson near "$4" \
    'any(.[]; .funcName == $f and (.cumulativePct - $p | fabs) <= $near)' <<<"$top" >/dev/null ||
    { jq -c '.[:8][] | [.funcName, .cumulativePct]' <<<"$top"; return 1; }
}

doctor_says() { # verdict, check, text
  local out
  out=$(cli --json doctor 2>&1)
  jq -e --arg v "$1" --arg c "$2" --arg t "$3" 'any(.[]; .verdict == $v and
    (.check | contains($c)) and (.found + " fix: " + .fix | contains($t)))' <<<"$out" >/dev/null ||
    { echo "expected '$1 $2: $3' in: $(jq -c '.[] | select(.verdict != "ok")' <<<"$out")"; return 1; }
}
doctor_is_content() { json 'all(.[]; .verdict != "broken")' cli --json doctor; }

# Leaves out what is not the package's: the journal, records of dpkg and
# systemd, backups of the user list, and files of the script.
nothing_is_left() { # regular expression for names of the script's units
  machine_files | diff "$MACHINE_AT/before" - | sed -n 's/^> //p' |
    grep -vE '^/(var/log/(journal|apt)|var/(lib|log|cache)/(dpkg|private|apt)|var/log/dpkg.log|root|tmp|opt|run)(/|$)' |
    grep -vE "^/etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$|/($1)\\.service$" |
    grep . && return 1
  in_machine systemctl list-unit-files 'stoker*' --no-legend | grep . && return 1
  ! in_machine pgrep -u stoker,stoker-worker
}
