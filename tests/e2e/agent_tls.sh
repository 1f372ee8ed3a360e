#!/bin/bash
# A centre that requires certificates of hosts, with the lines of the shipped
# site: a host whose certificate is from the right authority works, another
# host is refused, and other clients need none.
#
# Beside others: it waits for events.
WORKER_CONF='lease = 6s'
. "$(dirname "$0")/../lib/e2e.sh"
e2e_start
. tests/lib/fleet.sh
leave() {
  local code=$?
  [ $code -eq 0 ] || tail -n 20 "$STATE/log/a.log"
  process_stop a
  (exit $code)
  e2e_stop
}
trap leave EXIT

# Makes an authority, and a certificate of each host; c's is from another
# authority.
authority() { # name
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" -keyout "$STATE/$1.key" -out "$STATE/$1.pem" 2>/dev/null
}
certificate() { # host, authority
  openssl req -newkey rsa:2048 -nodes -subj "/CN=$1" -keyout "$STATE/$1.key" -out "$STATE/$1.csr" 2>/dev/null &&
    openssl x509 -req -in "$STATE/$1.csr" -CA "$STATE/$2.pem" -CAkey "$STATE/$2.key" -CAcreateserial -days 2 \
      -out "$STATE/$1.pem" 2>/dev/null
}
authority ours && authority theirs && certificate a ours && certificate c theirs && certificate d ours || { echo 'not ok certificates'; exit 1; }

# Uncomments the lines in the shipped site.
sed -n '/# ssl_client_certificate/,/# }/s/^\t# //p' conf/nginx/stoker.conf |
  sed "s|/etc/stoker/hosts-ca.pem|$STATE/ours.pem|" >"$STATE/lines"
check the_site_has_the_lines_for_certificates equal "$(wc -l <"$STATE/lines")" 7
chmod 644 "$STATE/ours.pem"
sed -i "/^\t\tlisten /r $STATE/lines" "$STATE/nginx/alone.conf"
fleet_start || { echo 'not ok the_centre_answers_by_tls'; exit 1; }

with_certificate() { # host
  HOST_CONF="[agent]
cert_file = $STATE/$1.pem
cert_key_file = $STATE/$1.key" host_make "$1"
}
with_certificate a
host_make b
with_certificate c
check a_host_with_a_certificate_joins says "This host is 'a'" host_join a
check a_host_without_a_certificate_is_refused says '(Forbidden)' host_join b
check a_host_with_a_certificate_of_another_authority_is_refused says '(HTTP 400)' host_join c
check a_refused_host_gets_no_key eval '[ ! -e "$STATE/b/agent.key" ] && [ ! -e "$STATE/c/agent.key" ]'
code() { curl -sS -o /dev/null -w '%{http_code}' --cacert "$STATE/nginx/tls.pem" "$@"; }
key=$(<"$STATE/a/agent.key")
poll=(-X POST -H "Authorization: Bearer $key" -H 'Content-Type: application/json' -d '{}' "$CENTRE_URL/agent/poll")
check a_key_without_a_certificate_is_refused equal "$(code "${poll[@]}")" 403
check a_key_with_its_certificate_is_accepted equal "$(code --cert "$STATE/a.pem" --key "$STATE/a.key" "${poll[@]}")" 200
check a_key_with_a_certificate_of_another_authority_is_refused equal "$(code --cert "$STATE/c.pem" --key "$STATE/c.key" "${poll[@]}")" 400
check a_key_with_the_certificate_of_another_host_is_refused equal \
  "$(curl -sS --cacert "$STATE/nginx/tls.pem" --cert "$STATE/d.pem" --key "$STATE/d.key" "${poll[@]}" | jq -r '.error_code + " " + .details.certificate + " " + .details.host')" 'CertificateForbidden d a'
cp "$STATE/d.pem" "$STATE/b.pem" && cp "$STATE/d.key" "$STATE/b.key" && with_certificate b
check a_host_with_the_certificate_of_another_is_refused says "names d" host_join b
check browsers_need_no_certificate equal "$(code "$CENTRE_URL/healthz") $(code -H "Authorization: Bearer $TOKEN" "$CENTRE_URL/api/v1/services")" '200 200'
at_centre() { "$STATE/bin/stoker" --server "$CENTRE_URL" --token-file "$STATE/token" service list; }
check the_command_line_refuses_a_certificate_of_an_unknown_authority leaves 3 at_centre
check SSL_CERT_FILE_names_the_authority leaves 0 env SSL_CERT_FILE="$STATE/nginx/tls.pem" "$STATE/bin/stoker" --server "$CENTRE_URL" --token-file "$STATE/token" service list

background demo "$STATE/bin/demo"
host_start a
check the_worker_shows_its_certificate wait_for 30 alive_at_centre a
stoker_cli service add web --exe "$STATE/bin/demo" >/dev/null
runs() { api GET /api/v1/services/web/processes | jq -e '[.items[].host] == ["a"]'; }
wait_for 30 runs
id=$(start web 2)
check captures_of_a_host_with_a_certificate_arrive equal "$(finished "$id" | jq -r '.status + " " + .host')" 'completed a'
check doctor_says_that_the_centre_answers says 'accepts the key' "$STATE/bin/stoker" doctor --config "$STATE/a/stoker.conf"
cp "$STATE/c.pem" "$STATE/a.pem"
cp "$STATE/c.key" "$STATE/a.key"
check doctor_reports_a_certificate_that_is_refused says '400' "$STATE/bin/stoker" doctor --config "$STATE/a/stoker.conf"
