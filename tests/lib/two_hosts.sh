# Adds a second host with a worker to a running installation: demo runs on
# both, single only on the first host.
#
#	. tests/lib/e2e.sh; e2e_start
#	. tests/lib/two_hosts.sh
#	runs_on SERVICE N	true when it runs on N hosts

# Both workers see this machine. The second worker's scope has only one
# program, so the other program runs on the first host only.
install -m 755 "$STATE/bin/demo" "$STATE/bin/single"
install -d -m 700 "$STATE/worker2"
sed -e "s|^state_dir = .*|state_dir = $STATE/worker2\nhost = second|" \
  -e "s|^exe = .*|exe = $STATE/bin/demo|" -e '/^units = /d; /^uids = /d' "$STATE/stoker.conf" >"$STATE/second.conf"
background worker2 "$STATE/bin/stoker-worker" --config "$STATE/second.conf"
background demo "$STATE/bin/demo" 2 4
background single "$STATE/bin/single" 1 4
leave() { process_stop worker2; process_stop single; e2e_stop; }
trap leave EXIT
runs_on() { api GET "/api/v1/services/$1/processes" | jq -e "[.items[].host] | unique | length == $2"; }
