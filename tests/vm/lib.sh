# A virtual machine with the package and services of each kind, for the
# scripts here. Source it with the folder of an image (tests/vm/image) as the
# first argument.
. "$(dirname "${BASH_SOURCE[0]}")/../lib/vm.sh"
. tests/lib/installed.sh
machine_start "$1"
machine_put 755 "$B"/targets/{shares,threads,waiting,allocating,keeping,slowfs} "$B/tests/tools/windows" "$B"/go/bin/machine-{pages,counts} /usr/local/bin
machine_put 644 tests/targets/shares.py /usr/local/lib
echo "# Linux $(in_machine uname -r)"
in_machine sysctl -q -w kernel.perf_event_paranoid=3
package_installed
# On emulated CPUs everything is slow, so a worker may be silent for longer.
in_machine sh -c 'sed -i "s/^\[worker\]/&\nlease = 60s/; s/^\[continuous\]/&\nwindow = 2s\ngauges = 2s\ncounters = 2s\nmin_free = 0/" /etc/stoker/stoker.conf'

service_of() { # name, command, a setting
  service_unit "$1" "$2" "${3-}"$'\n[Install]\nWantedBy=multi-user.target'
  in_machine systemctl -q enable "$1"
}
service_of burn "/usr/local/bin/shares 1000000 2"
service_of python "/usr/bin/python3 /usr/local/lib/shares.py 1000000"
service_of waiting "/bin/sh -c 'sleep infinity | /usr/local/bin/threads 24'"
service_of pages "/usr/local/bin/machine-pages /run/pages/address" RuntimeDirectory=pages
for name in burn python; do known $name --unit $name.service; done
known pages --unit pages.service --kind go
known waiting --exe /usr/local/bin/threads

captured() { take "$@" --rate 99 >"$MACHINE_AT/captured" 2>"$MACHINE_AT/said"; } # service, options
is() { jq -e "$1" "$MACHINE_AT/captured" >/dev/null || { cat "$MACHINE_AT/"{captured,said}; return 1; }; }
good() { # service, type, function
  captured "$1" --type "$2" --seconds 3
  is ".status == \"completed\" and .quality.verdict == \"good\" and
    any(.topFunctions[]; .funcName == \"$3\")"
}
all_good() { good burn cpu share_half && good waiting goroutine wait_cond && good pages goroutine main.leak; }
# From one in twenty on, a capture has a note about missed stacks.
python_is_good() {
  good python cpu share_60 && is '.quality | .stacksInterpreted > .samplesKept / 2 and
    .interpretedMissed * 20 <= .samplesKept'
}

# A worker's first heartbeat brings the results of its checks at start.
alive() { json 'any(.items[]; .alive)' get $api/workers; }
anew() {
  in_machine sh -c 'systemctl daemon-reload; systemctl restart stoker-worker'
  wait_for 120 alive
}
setting() { machine_sysctl "$1" "$2" && anew; } # name, value
anew
