#!/bin/bash
# A tenant without a scope asks for pages of another tenant's program on this
# host. Neither the API nor the worker requests them.
#
# Beside others: it waits for events.
set -u
. tests/lib/e2e.sh
e2e_start
tmp=$(mktemp -d /var/tmp/stoker-endpoints-XXXXXX)
leave() { kill "$pages" 2>/dev/null; e2e_stop; rm -rf "$tmp"; }
trap leave EXIT
port=$(free_port)
cd "$tmp" || exit
python3 -u -m http.server "$port" --bind 127.0.0.1 >"$tmp/requests" 2>&1 &
pages=$!
cd - >/dev/null || exit
wait_for 20 grep -q Serving "$tmp/requests"
url=http://127.0.0.1:$port

key=$(stoker_cli --json token create stranger --role admin --tenant stranger \
  --config "$STATE/stoker.conf" | jq -r .key)
as_stranger() { # method, path, curl's arguments: body and status
  curl -sS -X "$1" "http://127.0.0.1:$PORT$2" -H "Authorization: Bearer $key" \
    -H 'Content-Type: application/json' "${@:3}"
}
says() { # code, reply
  jq -e --arg code "$1" '.error_code == $code or .error.error_code == $code' <<<"$2" >/dev/null || { echo "$2"; return 1; }
}
asked() { grep -c GET "$tmp/requests"; }

check a_stranger_may_name_no_endpoint says EndpointForbidden \
  "$(as_stranger POST /api/v1/services -d "{\"name\":\"spy\",\"pprofUrl\":\"$url\"}")"
# A service that was registered while the scope still allowed it.
as_stranger POST /api/v1/services -d '{"name":"spy"}' -o /dev/null
sqlite3 -cmd '.timeout 5000' "$STATE/data/stoker.db" "UPDATE service SET
  pprof_url = '$url', source = 'endpoint' WHERE tenant = 'stranger'"
id=$(as_stranger POST $P/start -d '{"service":"spy","profileType":"cpu","durationSeconds":1}' | jq -r '.id // error')
ended() { result=$(as_stranger GET "$P/$id?wait=5") && jq -e '.status != "running"' <<<"$result" >/dev/null; }
wait_for 60 ended
check the_worker_asks_no_endpoint_outside_of_the_scope says EndpointForbidden "$result"
check the_program_got_no_request equal "$(asked)" 0
# The program's own tenant may name it, and the worker requests its pages.
post /api/v1/services "{\"name\":\"own\",\"pprofUrl\":\"$url\"}" -o /dev/null
id=$(post $P/start '{"service":"own","profileType":"cpu","durationSeconds":1}' | jq -r '.id // error')
finished "$id" >/dev/null
check a_tenant_with_the_scope_reaches_it [ "$(asked)" -ge 1 ]
