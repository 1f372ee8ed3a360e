#!/bin/bash
# The site for Apache: the API, uploads and pages behind it are as behind nginx.
#
# Beside others: nothing has a deadline.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
PATH=$PATH:/usr/sbin
. tests/lib/check.sh
command -v apache2 >/dev/null || skip apache_serves_stoker 'apache2-bin is not installed'
API_CONF='accel_bytes = 1T'
LEAVE=leave
leave() { [ ! -s "$STATE/apache/pid" ] || kill "$(<"$STATE/apache/pid")"; e2e_stop; }
. tests/lib/e2e.sh
e2e_start

mkdir "$STATE/apache" "$STATE/apache/log"
nginx_port=$PORT PORT=$(free_port)
{
  # what Debian's apache2.conf and its modules load
  for module in authz_core mpm_event proxy proxy_fcgi headers unique_id deflate filter alias dir mime reqtimeout setenvif unixd env; do
    [ ! -e /usr/lib/apache2/modules/mod_$module.so ] || echo "LoadModule ${module}_module /usr/lib/apache2/modules/mod_$module.so"
  done
  echo "ServerRoot $STATE/apache"
  echo "ServerName localhost
PidFile $STATE/apache/pid
DefaultRuntimeDir $STATE/apache
User $RUN_USER
Group $RUN_GROUP
TypesConfig /etc/mime.types
ErrorLog $STATE/log/apache.log
Define APACHE_LOG_DIR $STATE/apache/log
Define STOKER_SOCKET $STATE/run/api.sock
Define STOKER_WEB $STATE/web
Define STOKER_LISTEN 127.0.0.1:$PORT
<Directory />
  Require all denied
</Directory>"
  cat conf/apache/stoker.conf
} >"$STATE/apache/apache.conf"
check the_site_is_accepted leaves 0 apache2 -f "$STATE/apache/apache.conf" -t
apache2 -f "$STATE/apache/apache.conf"
sed -i "s/:$nginx_port/:$PORT/" "$STATE/stoker.conf"
process_stop api
api_start
wait_for 20 curl -fsS -o /dev/null "http://127.0.0.1:$PORT/readyz"
check the_api_is_ready equal "$(curl -sS "http://127.0.0.1:$PORT/readyz" | jq -r .status)" ready

# Compares both servers' replies, without what differs from one request to the
# next.
both() { # path, curl arguments
  local path=$1 a n port
  shift
  for port in $PORT $nginx_port; do
    curl -sS -D "$STATE/head.$port" -o "$STATE/body.$port" --path-as-is "$@" "http://127.0.0.1:$port$path" || return
    tr -d '\r' <"$STATE/head.$port" | tr 'A-Z' 'a-z' | sed -n '1s/^http[^ ]* \([0-9]*\).*/\1/p
      /^x-request-id: ..*/s/ .*//p
      /^\(content-security-policy\|referrer-policy\|cross-origin-opener-policy\|cache-control\|x-content-type-options\|content-type\|location\):/p' |
      sed 's,http://127.0.0.1:[0-9]*,,; s/; charset/;charset/; s/;charset=iso-8859-1//' | sort >"$STATE/seen.$port"
  done
  diff "$STATE/seen.$nginx_port" "$STATE/seen.$PORT" &&
    { grep -q '^30' "$STATE/seen.$PORT" || cmp "$STATE/body.$nginx_port" "$STATE/body.$PORT"; } ||
    { tail -n 2 "$STATE/log/apache.log"; return 1; }
}
key="Authorization: Bearer $TOKEN"
asset=$(cd "$STATE/web" && ls -d ui/assets/*.js | head -1)
for path in / /ui /ui/ /ui/history/demo "/$asset" /docs /docs/ /docs/manual/index.html /openapi.json /ui/speedscope/ \
  /api/v1/services /api/v1/services/a%2Fb /api/v1/nothing /metrics '/api/v1/observability/profiling/history?service=demo&limit=x'; do
  check "a_reply_is_as_nginx_sends_it.$path" both "$path"
done
check a_key_is_passed_on both /api/v1/services -H "$key"
check a_header_is_no_proxy_variable both /api/v1/services -H 'SSO-User: root' -H 'SSO_USER: root' -H 'Proxy: x'
for path in /ui/../../token /ui/%2e%2e/%2e%2e/token /docs/..%2f..%2ftoken; do
  check "a_path_leads_to_no_other_file.$path" leaves 22 curl -fsS --path-as-is "http://127.0.0.1:$PORT$path"
done
large() { # bytes, path
  head -c "$1" /dev/zero | curl -sS -X POST -H "$key" -H 'Content-Type: application/json' --data-binary @- "http://127.0.0.1:$PORT$2" | jq -r .error_code
}
check a_large_body_is_refused equal "$(large 1100000 /api/v1/services)" PayloadTooLarge
check a_refused_body_is_told_the_limit_of_uploads equal "$(head -c 67108865 /dev/zero | curl -sS -X POST -H "$key" --data-binary @- "http://127.0.0.1:$PORT/ingest?name=x" | jq -r .message | grep -c "has more than 33554432 bytes, max_bytes in .upload. of stoker.conf")" 1
check an_upload_may_be_larger equal "$(large 1100000 "/api/v1/profiling/sessions?service=x")" UnknownService
is_captured() {
  stoker_cli service add demo --exe "$STATE/bin/demo" >/dev/null
  "$STATE/bin/demo" >/dev/null 2>&1 &
  stoker_cli run demo --seconds 1 --wait --wait-for-process 30 >"$STATE/out" 2>&1 || { cat "$STATE/out"; return 1; }
  link=$(grep -o "http://127.0.0.1:$PORT/[^ ]*" "$STATE/out") && curl -fsS "$link" | grep -q '<html' ||
    { cat "$STATE/out"; return 1; }
}
check a_profile_is_taken_and_shown is_captured
pprof() { stoker_cli get @last --format pprof --output "$STATE/p.pb.gz" && gzip -t "$STATE/p.pb.gz"; }
check a_profile_is_fetched pprof
check logs_have_no_signatures leaves 1 grep -rq signature "$STATE/apache/log"
process_stop api
check an_api_that_is_down_is_told equal "$(curl -sS "http://127.0.0.1:$PORT/api/v1/services" | jq -r .error_code)" ApiUnavailable
