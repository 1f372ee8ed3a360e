#!/bin/bash
# Profiles pulled from net/http/pprof pages of a real Go program, and from other
# servers.
#
# Beside others: it waits for events.
: "${GO:=1.19}"
: "${B:=build}"
tmp=$(mktemp -d /var/tmp/stoker-endpoint-XXXXXX)
WORKER_CONF="[fetch]
ca_file = $tmp/ca.pem
timeout = 2s"

# Makes a certificate that ca_file contains, and one that it does not contain.
certificates() {
  local name
  for name in good bad; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
      -subj /CN=localhost -addext subjectAltName=DNS:localhost -days 2 \
      -keyout "$tmp/$name.key" -out "$tmp/$name.pem" 2>/dev/null || return 1
  done
  cp "$tmp/good.pem" "$tmp/ca.pem"
  chmod 644 "$tmp"/*.pem
}
if ! CGO_ENABLED=1 tests/lib/go build "$GO" "$B/targets/pages-$GO" tests/targets/go/pages 2>"$tmp/why"; then
  echo "skip pulled_profiles: no Go $GO: $(tail -1 "$tmp/why")"
  rm -rf "$tmp"
  exit
fi
command -v openssl >/dev/null || { echo "skip pulled_profiles: no openssl"; exit; }
certificates || { echo "not ok certificates"; exit 1; }
chmod 755 "$tmp"
. tests/lib/e2e.sh
e2e_start
other=
leave() { [ -z "$other" ] || kill "$other"; e2e_stop; rm -rf "$tmp"; }
trap leave EXIT

endpoint() { # name, URL
  post /api/v1/services "{\"name\":\"$1\",\"kind\":\"go\",\"pprofUrl\":\"$2\"}" -f -o /dev/null
}
declare -A pulling=() # ids by service and type
begin() { # service, type [seconds]
  pulling[$1 $2]=$(start "$1" "${3:-1}" "$2")
}
pulled() { finished "${pulling[$1 $2]}"; } # service, type: the ProfileResult
view() { # result, format
  api GET "$P/$(jq -r .id <<<"$1")/flamegraph?format=$2"
}
holds() { jq -e "$2" <<<"$1" >/dev/null || { echo "$1"; return 1; }; }

"$B/targets/pages-$GO" "$tmp/address" 2>"$tmp/pages.log" &
pages=$!
wait_for 20 test -s "$tmp/address" || { cat "$tmp/pages.log"; exit 1; }
at=http://$(<"$tmp/address")
endpoint pages "$at"

# --- every type
goroot=$(tests/lib/go root "$GO")
declare -A leaf=([cpu]=main.burn [memory]=main.keepMemory [alloc]=main.burn
  [block]=main.contend [mutex]=main.contend [goroutine]=main.waitForever)
# An allocation is reported only after the next garbage collection has ended,
# which takes longer on a busy machine.
sampled() { # type: $result
  for _ in {1..20}; do
    result=$(pulled pages "$1")
    holds "$result" '.sampleCount > 0' >/dev/null && return
    begin pages "$1" 2
  done
}
for type in "${!leaf[@]}"; do begin pages $type 2; done
for type in "${!leaf[@]}"; do
  sampled $type
  check "a_pull_of_${type}_completes" holds "$result" \
    '.status == "completed" and .quality.source == "endpoint" and .sampleCount > 0'
  check "a_pull_of_${type}_names_what_the_program_does" \
    grep -q "${leaf[$type]}" <(view "$result" folded)
  view "$result" pprof >"$tmp/$type.pb.gz"
  check "a_pull_of_${type}_is_a_profile_for_go_tool_pprof" grep -q "${leaf[$type]}" <(
    "$goroot/bin/go" tool pprof -raw "$tmp/$type.pb.gz" 2>&1)
done
check few_goroutines_have_their_state holds "$(view "$(pulled pages goroutine)" pprof | gunzip -c |
  strings | jq -Rs '{text: .}')" '.text | contains("channel receive") and contains("main.main")'
check the_cpu_profile_is_of_the_time_asked_for holds "$(pulled pages cpu)" \
  '.durationSeconds == 2'

# --- refusals by the program itself
busy() { curl -s "$at/debug/pprof/profile?seconds=1" | grep -q 'already in use'; }
# Another client takes a profile. If busy() was faster, the client starts again.
held() {
  [ -n "$other" ] && kill -0 "$other" 2>/dev/null || {
    curl -s "$at/debug/pprof/profile?seconds=60" -o /dev/null &
    other=$!
  }
  busy
}
wait_for 20 held
fails() { # result, code
  holds "$1" ".status == \"failed\" and .error.error_code == \"$2\""
}
begin pages cpu
check a_profiler_in_use_is_reported fails "$(pulled pages cpu)" TargetProfilerBusy
kill $other
other=

# Cancelling a capture releases the program's profiler.
free() { curl -s "$at/debug/pprof/profile?seconds=1" | head -c 2 | od -An -tx1 | grep -q '1f 8b'; }
wait_for 10 free
begin pages cpu 600
id=${pulling[pages cpu]}
under_way() { api GET "$P/$id" | jq -e '.progress > 0'; }
wait_for 10 under_way
check a_running_pull_holds_the_profiler busy
check a_running_pull_is_cancelled equal "$(status_of DELETE "$P/$id")" 202
check a_cancelled_pull_ends holds "$(finished "$id")" '.phase == "cancelled"'
check cancelling_frees_the_program_s_profiler wait_for 10 free

# --- refusals by other servers: nginx has a page for each
tls=$(free_port) badtls=$(free_port)
endpoint_server() {
  local port=$1
  cat >"$tmp/nginx.conf" <<CONF
pid $tmp/nginx.pid; error_log $tmp/error.log; worker_processes 1;
events {}
http {
  access_log off; client_body_temp_path $tmp/body; proxy_temp_path $tmp/proxy;
  fastcgi_temp_path $tmp/fastcgi; uwsgi_temp_path $tmp/uwsgi; scgi_temp_path $tmp/scgi;
  server {
    listen 127.0.0.1:$port;
    location = /heap/heap { alias $tmp/memory.pb.gz; }
    location = /login/heap { default_type text/html; return 200 "<html>Log in</html>"; }
    location = /key/heap { return 401; }
    location = /moved/heap { return 302 http://127.0.0.1:$port/heap/heap; }
    location = /old/heap { return 404 "Unknown profile\n"; }
    location = /timeout/heap { return 400 "profile duration exceeds server's WriteTimeout\n"; }
    location = /seconds/heap { return 400 '"seconds" parameter is not supported for this profile type\n'; }
    location = /broken/heap { return 500 "failed to collect profile\n"; }
    location = /cpu/heap { alias $tmp/cpu.pb.gz; }
  }
  server {
    listen 127.0.0.1:$tls ssl;
    ssl_certificate $tmp/good.pem; ssl_certificate_key $tmp/good.key;
    location = /debug/pprof/heap { alias $tmp/memory.pb.gz; }
  }
  server {
    listen 127.0.0.1:$badtls ssl;
    ssl_certificate $tmp/bad.pem; ssl_certificate_key $tmp/bad.key;
    location = /debug/pprof/heap { alias $tmp/memory.pb.gz; }
  }
}
CONF
  nginx -e "$tmp/error.log" -c "$tmp/nginx.conf"
}
chmod 644 "$tmp"/*.gz
web=$(free_port)
endpoint_server "$web" || { echo "not ok nginx: $(cat "$tmp/error.log")"; exit 1; }
wait_for 10 test -s "$tmp/nginx.pid"
other=$(<"$tmp/nginx.pid")
answers='login EndpointNotPprof
key EndpointForbidden
moved EndpointRedirects
old EndpointUnknownProfile
timeout EndpointWriteTimeout
seconds EndpointRefused
broken EndpointFailed
cpu EndpointNotPprof
nothing EndpointNotPprof'
pull_at() { # service, its URL
  endpoint "$1" "$2"
  begin "$1" memory
}
while read -r path code; do pull_at "$path" "http://127.0.0.1:$web/$path"; done <<<"$answers"
pull_at heap "http://127.0.0.1:$web/heap"
pull_at certified "https://localhost:$tls"
pull_at uncertified "https://localhost:$badtls"
pull_at misnamed "https://127.0.0.1:$tls"
pull_at closed "http://127.0.0.1:$(free_port)"
while read -r path code; do
  check "memory_of_${path}_is_$code" fails "$(pulled "$path" memory)" "$code"
done <<<"$answers"
check a_profile_that_a_server_has_as_a_file_is_pulled holds "$(pulled heap memory)" '.status == "completed"'
check a_certificate_that_ca_file_has_is_accepted \
  holds "$(pulled certified memory)" '.status == "completed"'
check a_certificate_that_ca_file_lacks_is_refused fails "$(pulled uncertified memory)" EndpointTlsFailed
check a_certificate_of_another_name_is_refused fails "$(pulled misnamed memory)" EndpointTlsFailed
check a_closed_port_is_reported fails "$(pulled closed memory)" EndpointUnreachable
kill -STOP $pages
begin pages memory
check a_program_that_does_not_answer_is_given_up fails "$(pulled pages memory)" EndpointTimeout
kill -CONT $pages

# --- addresses that are refused
check other_hosts_are_refused equal "$(status_of PUT /api/v1/services/heap \
  -H 'Content-Type: application/json' -d '{"pprofUrl":"http://169.254.169.254/"}')" 403
