#!/bin/bash
# The nginx site without an API behind it: nginx's errors have the API's shape,
# limits hold, and logs have no signatures.
#
# Beside others: nothing is timed.
set -u
cd "$(dirname "$0")/../.."
: "${B:=build}"
temp=$(mktemp -d /var/tmp/stoker-nginx-XXXXXX)
trap 'nginx_stop; rm -rf "$temp"' EXIT
chmod 755 "$temp"
mkdir "$temp"/{nginx,log,profiles}
install -m 644 -Dt "$temp/pages/docs" app/web/docs/*
install -m 644 -Dt "$temp/pages/ui" "$B/ui/index.html"
echo secret >"$temp/profiles/one.gz"

nginx_do() {
  nginx -p "$temp/nginx" -c "$temp/nginx/alone.conf" -e "$temp/log/stoker-error.log" "$@"
}
nginx_stop() { [ ! -s "$temp/nginx/nginx.pid" ] || nginx_do -s quit 2>/dev/null; }
conf/nginx/render "$temp/nginx" SOCKET="$temp/api.sock" LOGS="$temp/log" \
  PROFILES="$temp/profiles" WEB="$temp/pages" LISTEN="unix:$temp/web" RUN="$temp/nginx" RATE=1r/s
nginx_do || { echo "not ok starts: $(cat "$temp/log/stoker-error.log")"; exit 1; }

ask() { curl -sS --max-time 10 --unix-socket "$temp/web" "$@"; }
# Expects an error of this status and code, in the API's shape.
is() { # status, error_code, curl arguments
  local status=$1 code=$2 got
  shift 2
  got=$(ask -o "$temp/body" -D "$temp/head" -w '%{http_code} %{content_type}' "$@") || return 1
  [ "$got" = "$status application/json" ] || { echo "got $got"; return 1; }
  jq -e --arg code "$code" '.error_code == $code and (.message | length > 0)
    and (.details | type == "object")' "$temp/body" >/dev/null || { cat "$temp/body"; return 1; }
  [ "$(grep -ci '^x-request-id: ' "$temp/head")" = 1 ] ||
    { echo "not one X-Request-Id: $(cat "$temp/head")"; return 1; }
}
check() {
  local name=$1 out
  shift
  if out=$("$@" 2>&1); then
    echo "ok $name"
  else
    echo "not ok $name: ${out//$'\n'/ | }"
  fi
}
body_says() { jq -r .message "$temp/body" | grep -qF "$1" || { cat "$temp/body"; return 1; }; }
head_has() { grep -qi "$1" "$temp/head" || { cat "$temp/head"; return 1; }; }
long=$(head -c 9000 /dev/zero | tr '\0' a)
head -c $((1 << 20)) /dev/zero >"$temp/fits"
head -c $(((1 << 20) + 1)) /dev/zero >"$temp/large"

check no_pool_is_502 is 502 ApiUnavailable http://x/healthz
check the_502_of_no_pool_says_when_to_come_back head_has '^retry-after: 1'
check a_body_of_1_mib_passes is 502 ApiUnavailable --data-binary @"$temp/fits" http://x/healthz
check a_body_above_1_mib_is_413 is 413 PayloadTooLarge --data-binary @"$temp/large" http://x/healthz
check a_body_above_1_mib_is_told_the_limit body_says 'client_max_body_size of nginx, which is here 1 MiB'
head -c $(((64 << 20) + 1)) /dev/zero >"$temp/huge"
for path in /api/v1/profiling/sessions /api/v1/debug-files /v1development/profiles /push.v1.PusherService/Push /ingest /agent/block /agent/result; do
  check "an_upload_above_64_mib_is_413.$path" is 413 PayloadTooLarge --data-binary @"$temp/huge" "http://x$path?service=a"
  check "an_upload_above_64_mib_is_told_both_limits.$path" body_says '64 MiB; the largest profile is max_bytes of [upload] in stoker.conf, 32M unless'
done
check a_body_above_1_mib_below_such_a_path_is_413 is 413 PayloadTooLarge --data-binary @"$temp/large" http://x/api/v1/profiling/sessions/x
check its_limit_is_told body_says 'which is here 1 MiB'
check an_upload_may_be_larger is 502 ApiUnavailable --data-binary @"$temp/large" http://x/ingest
check a_long_path_is_414 is 414 UriTooLong "http://x/$long"
check a_long_header_is_400 is 400 BadRequest -H "X-Long: $long" http://x/healthz
check a_nul_in_the_path_is_400 is 400 BadRequest http://x/%00
check trace_is_405 is 405 MethodNotAllowed -X TRACE http://x/healthz
check the_405_of_trace_says_which_methods_are_allowed head_has '^allow: .*DELETE'
check an_unknown_transfer_encoding_is_501 is 501 NotImplemented -H 'Transfer-Encoding: x' -d x http://x/healthz
check stored_profiles_are_not_in_reach is 404 NotFound http://x/_profiles/one.gz
check the_error_page_is_not_in_reach is 404 NotFound http://x/_error

check a_good_request_id_is_kept is 502 ApiUnavailable -H 'X-Request-Id: abcd-1234' http://x/healthz
check a_good_request_id_comes_back head_has '^x-request-id: abcd-1234'
check a_bad_request_id_is_replaced is 502 ApiUnavailable -H 'X-Request-Id: a b' http://x/healthz
check a_bad_request_id_is_replaced_by_one_of_nginx head_has '^x-request-id: [0-9a-f]\{32\}'

moves_to() { # status, address, from
  equal "$(ask -o /dev/null -w '%{http_code} %header{location}' "http://x$3")" "$1 $2"
}
equal() { [ "$1" = "$2" ] || { echo "got '$1', expected '$2'"; return 1; }; }
check the_root_is_the_page_for_people moves_to 302 /ui/ /
check the_application_has_one_address moves_to 301 /ui/ /ui
check the_page_of_the_documentation_has_one_address moves_to 301 /docs/ /docs
type_of() { ask -D "$temp/head" -o /dev/null -w '%{http_code} %{content_type}' "http://x$1"; }
check the_page_of_the_documentation_is_served_without_the_api equal "$(type_of /docs/)" '200 text/html; charset=utf-8'
type_of /docs/ >/dev/null
check the_page_of_the_documentation_runs_its_own_scripts_only head_has "^content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'"
check scripts_of_the_documentation_are_scripts equal "$(type_of /docs/docs.js)" '200 text/javascript; charset=utf-8'
check a_missing_page_of_the_documentation_is_an_error_of_the_api is 404 NotFound http://x/docs/none
check every_path_of_the_application_is_its_page equal "$(type_of /ui/services)" '200 text/html; charset=utf-8'
type_of /ui/ >/dev/null
check no_script_is_inside_the_page_of_the_application head_has "^content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'"
check the_page_of_the_application_is_not_cached head_has '^cache-control: no-cache'
check a_missing_part_of_the_application_is_an_error_of_the_api is 404 NotFound http://x/ui/assets/none.js
check pages_are_read_only is 405 MethodNotAllowed -X POST http://x/docs/

# A process of the API that dies in the middle of a reply: it sends 50 of the
# 1000 bytes of a FastCGI record.
cat >"$temp/dies.py" <<'PY'
import os, socket, struct, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(30)
s.bind(sys.argv[1] + ".new")
os.chmod(sys.argv[1] + ".new", 0o666)
s.listen()
os.rename(sys.argv[1] + ".new", sys.argv[1])
c = s.accept()[0]
c.recv(65536)
head = b"Content-Type: text/plain\r\nContent-Length: 1000\r\n\r\n"
c.sendall(struct.pack(">BBHHBB", 1, 6, 1, len(head) + 50, 0, 0) + head + 50 * b"x")
PY
cut_off() { # curl exits with 18: fewer bytes came than Content-Length says
  python3 "$temp/dies.py" "$temp/api.sock" >/dev/null 2>&1 &
  until [ -S "$temp/api.sock" ]; do read -rt 0.05 <> <(:) || :; done
  ask -o /dev/null http://x/api
  equal $? 18
}
check a_reply_that_was_cut_is_not_taken_for_whole cut_off
rm -f "$temp/api.sock"

flood() {
  local i
  for ((i = 0; i < 220; i++)); do echo "url = http://x/api"; echo "output = /dev/null"; done >"$temp/flood"
  ask -K "$temp/flood" -w '%{http_code}\n' | sort | uniq -c | awk '{ print $2 ":" $1 }' | paste -sd' '
}
# A burst is 200 requests, one of which is already used.
limited() {
  local got
  got=$(flood)
  [[ $got =~ ^429:([0-9]+)\ 502:([0-9]+)$ ]] && [ "${BASH_REMATCH[2]}" -ge 199 ] || { echo "$got"; return 1; }
}
check a_burst_passes_then_429 limited
# One request a second is let through, and on a busy machine the first may be
# that late.
refused() { is 429 TooManyRequests http://x/api || is 429 TooManyRequests http://x/api; }
check a_limited_request_is_429 refused
check health_is_never_limited is 502 ApiUnavailable http://x/healthz

ask -o /dev/null "http://x/api/v1/observability/profiling/sess-a/flamegraph?signature=SECRET"
nginx_stop
until [ ! -e "$temp/nginx/nginx.pid" ]; do read -rt 0.05 <> <(:) || :; done
no_signature() { ! grep -rn SECRET "$temp/log"; }
check the_logs_hold_no_signature no_signature
check the_access_log_is_json jq -es 'length > 200 and all(.[]; .requestId and .status)' "$temp/log/stoker-access.log"
check the_access_log_has_the_path jq -es 'any(.[]; .path == "/api/v1/observability/profiling/sess-a/flamegraph")' "$temp/log/stoker-access.log"
