#!/bin/bash
# A hostile object store answers with redirects, cookies and commands for nginx:
# none of them reaches a client or selects a local file.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
ERRORS="301 302 303 307 308 400 401 403 404 405 409 411 412 429 500 502 503 504"
STATE=$(mktemp -d /var/tmp/stoker-objects-XXXXXX)
PORT=$(free_port)
store=$(free_port)
while [ "$store" = "$PORT" ]; do store=$(free_port); done
trap e2e_stop EXIT
trap 'exit 1' INT TERM
stack_folder
OBJECTS=http://127.0.0.1:$store stack_conf
mkdir -p "$STATE/data/profiles"
echo secret >"$STATE/data/profiles/secret"
chmod -R a+rX "$STATE/data"

planted() { # prints the headers that each reply gets, and one more
  cat <<EOF2
		add_header Set-Cookie "stoker=planted" always;
		add_header Refresh "0; url=http://127.0.0.1:9/planted" always;
		add_header Link "<http://127.0.0.1:9/planted>; rel=preload" always;
		$1
EOF2
}
{
  echo "server { listen 127.0.0.1:$store; default_type text/plain;"
  echo "location = /fine { $(planted '') return 200 'the profile'; }"
  echo "location = /file { $(planted 'add_header X-Accel-Redirect /_profiles/secret always;') return 200 'the profile'; }"
  for code in $ERRORS; do
    echo "location = /$code { $(planted 'add_header Location "http://127.0.0.1:9/?X-Amz-Signature=planted" always;') return $code 'planted'; }"
  done
  echo "}"
} >"$STATE/nginx/hostile.conf"
# A request below /go/ is redirected to /_objects/ inside nginx, as after an
# answer of the API with X-Accel-Redirect.
sed -i -e "s|^\tserver {|\tinclude $STATE/nginx/hostile.conf;\n&\n\t\tlocation /go/ { rewrite ^/go(/.*) /_objects\$1 last; }|" \
  "$STATE/nginx/alone.conf"
nginx_start || exit 1

get() { curl -sS --max-time 10 -i "http://127.0.0.1:$PORT/go/$1" >"$STATE/reply"; }
wait_for 10 get fine
clean() { ! grep -iE 'planted|secret|^(set-cookie|refresh|link|location|x-accel)' "$STATE/reply"; }
get fine
check a_profile_of_the_store_is_sent grep -q '^the profile' "$STATE/reply"
check its_cookies_and_links_are_not clean
get file
check the_store_chooses_no_local_file eval 'clean && grep -q "^the profile" "$STATE/reply"'
refused() { # status that the object store returns
  get "$1" && clean && head -n 1 "$STATE/reply" | grep -q ' 503 ' &&
    grep -q '"error_code":"' "$STATE/reply" || { echo "$1:"; cat "$STATE/reply"; return 1; }
}
every_error() { for code in $ERRORS; do refused "$code" || return 1; done; }
check an_error_or_redirect_of_the_store_is_an_error_of_ours every_error
