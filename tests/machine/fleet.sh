#!/bin/bash
# An installed host joins a centre over HTTPS with the commands of the manual
# and the unchanged units, and its profiles arrive. The centre is a second pool
# with its own store on the same machine.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/machine.sh"
. tests/lib/installed.sh
. tests/lib/manual.sh
[ "$(id -u)" -eq 0 ] || skip machine/fleet 'needs root'
machine_start
package_installed
machine_put 755 "$B/targets/shares" /usr/local/bin
typed() { in_machine sh -c "$(manual_commands stoker-fleet.7 'stoker join' | grep "^$1")"; } # its first words
check a_host_needs_no_api typed 'systemctl disable'

# --- the centre ------------------------------------------------------------------
tar -c conf/nginx | in_machine tar -xC /root
in_machine sh -ec '
  install -d -o stoker -g stoker -m 2770 /var/lib/centre
  install -d -o stoker -g stoker -m 755 /run/centre /run/centre/nginx
  cat >/etc/stoker/centre.conf <<CONF
[store]
dir = /var/lib/centre
[api]
public_url = https://127.0.0.1:8443
run_dir = /run/centre
[scope.default]
units = *
CONF
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=centre -addext subjectAltName=IP:127.0.0.1 \
    -keyout /run/centre/tls.key -out /etc/stoker/centre.pem 2>/dev/null
  chown stoker /run/centre/tls.key
  chmod 644 /etc/stoker/centre.pem
  sh /root/conf/nginx/render /run/centre/nginx SOCKET=/run/centre/api.sock PROFILES=/var/lib/centre/profiles \
    LISTEN=127.0.0.1:8089 LOGS=/run/centre RUN=/run/centre/nginx
  sed -i "s|^\t\tlisten .*|&\n\t\tlisten 127.0.0.1:8443 ssl;\n\t\tssl_certificate /etc/stoker/centre.pem;\n\t\tssl_certificate_key /run/centre/tls.key;|" \
    /run/centre/nginx/alone.conf
  chown -R stoker:stoker /run/centre
  stoker token create admin --role admin --config /etc/stoker/centre.conf >/root/centre.key
  systemd-run -q --unit=centre -p User=stoker -p Group=stoker -p UMask=0007 \
    /usr/bin/spawn-fcgi -n -s /run/centre/api.sock -M 0660 -- /usr/bin/multiwatch --forks=2 -- \
    /usr/sbin/stoker-api --config /etc/stoker/centre.conf
  systemd-run -q --unit=centre-nginx -p Type=forking -p PIDFile=/run/centre/nginx/nginx.pid \
    /usr/sbin/nginx -e /run/centre/error.log -p /run/centre/nginx -c alone.conf -g "user stoker stoker;"
' || { echo 'not ok the_centre_is_set_up'; exit 1; }
centre() { in_machine stoker --server http://127.0.0.1:8089 --token-file /root/centre.key "$@"; }
answers() { in_machine curl -fsS -o /dev/null --cacert /etc/stoker/centre.pem https://127.0.0.1:8443/healthz; }
check a_centre_answers_by_https within 20 answers

# --- the host, as the manual has it ------------------------------------------------
service_unit burn '/usr/local/bin/shares 900 1 4'
in_machine sh -c 'printf "\n[scope.default]\nunits = burn.service\n" >>/etc/stoker/stoker.conf
  sed -i "s|^#ca_file = .*|ca_file = /etc/stoker/centre.pem|" /etc/stoker/stoker.conf'
join() {
  local create join
  create=$(manual_commands stoker-fleet.7 'token create' | sed "s/web1/$(in_machine hostname)/g")
  join=$(manual_commands stoker-fleet.7 'stoker join' | grep '^stoker join' | sed 's/stoker.example.com/127.0.0.1:8443/')
  in_machine sh -c "$create --config /etc/stoker/centre.conf 2>/dev/null | $join"
}
check a_host_joins_by_the_manuals_command says 'its key is in /etc/stoker/agent.key' join
check doctor_names_the_line_that_gives_the_worker_a_network says worker-network.conf in_machine stoker doctor
check the_manual_gives_the_worker_a_network typed install
check the_worker_starts_with_it typed 'systemctl daemon-reload'
alive() { centre --json hosts | jq -e 'length == 1 and .[0].alive and .[0].joined and .[0].waitingWindows != null'; }
check the_centre_hears_of_the_host within 60 alive
check doctor_misses_no_api_on_a_host_of_a_fleet doctor_is_content
check doctor_says_that_the_centre_answers says 'accepts the key' typed 'stoker doctor'
centre service add burn --unit burn.service >/dev/null
centre continuous on burn >/dev/null
sees() { centre service show burn --processes | grep -q shares; }
check a_service_of_the_centre_is_seen_on_the_host within 60 sees
taken() { centre --json run burn --seconds 2 --rate 499 --wait | jq -e '.status == "completed" and any(.topFunctions[]; .funcName == "share_half")'; }
check a_capture_is_taken_on_the_host taken
range() {
  in_machine sh -c 'curl -sS -H "Authorization: Bearer $(cat /root/centre.key)" "http://127.0.0.1:8089$1"' sh \
    "$profiling/merge?service=burn&profileType=cpu"
}
minute() { json '.source == "windows" and any(.topFunctions[]; .funcName == "share_half")' range; }
check a_minute_of_the_host_arrives within 240 minute
arrived() { json 'any(.[0].arrived[]; .level == "minute" and .lagSeconds < 600)' centre --json hosts; }
check the_centre_reports_how_far_the_host_has_sent arrived
check the_sandbox_of_the_worker_refuses_nothing_that_is_needed equal \
  "$(in_machine sh -c 'journalctl -u stoker-worker --no-pager | grep -c "refused the system call"')" 0
