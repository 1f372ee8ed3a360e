#!/bin/bash
# nginx sends profiles itself, as another user, with the permissions that the
# shipped tmpfiles.d gives it.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
[ "$(id -u)" -eq 0 ] || { echo "skip accel: needs root, for a second user"; exit 0; }

nginx_start() {
  nginx -e "$STATE/log/stoker-error.log" -p "$STATE/nginx" -c "$STATE/nginx/alone.conf" \
    -g "user www-data www-data;" && ln -sf ../nginx/nginx.pid "$STATE/pid/nginx"
}
# Prints the lines about the store, changed for this installation.
tmpfiles() {
  sed -n "s| stoker stoker | $RUN_USER $RUN_GROUP |; s|/var/lib/stoker|$STATE/data|p" systemd/stoker.tmpfiles.conf
}

STATE=$(mktemp -d /var/tmp/stoker-accel-XXXXXX)
chmod 755 "$STATE"
PORT=$(free_port)
trap e2e_stop EXIT
trap 'exit 1' INT TERM
stack_folder
check tmpfiles_makes_the_store systemd-tmpfiles --create <(tmpfiles)
stack_programs
API_CONF='accel_bytes = 0' stack_conf
stack_token
TOKEN=$(<"$STATE/token")
worker_start
api_start
wait_for 10 test -S "$STATE/run/api.sock"
chgrp www-data "$STATE/run/api.sock"
nginx_start
check the_installation_gets_ready wait_for 15 stack_ready
background demo "$STATE/bin/demo"
service demo "$STATE/bin/demo"
result=$(finished "$(start demo 1)")
check a_profile_is_taken equal "$(jq -r .status <<<"$result")" completed

link=$(jq -r .links.pprof <<<"$result")
fetch() { curl -sS -D "$STATE/head" -o "$STATE/body" "$@" "$link"; }
says() { # status, header...
  local status=$1 header
  shift
  head -n 1 "$STATE/head" | grep -q " $status " || { cat "$STATE/head"; return 1; }
  for header; do
    [ "$(grep -ci "^$header" "$STATE/head")" = 1 ] || { echo "not one $header: $(cat "$STATE/head")"; return 1; }
  done
}
fetch
check nginx_sends_the_file says 200 'content-disposition: attachment; filename="demo-cpu-sess-.*\.pb\.gz"' \
  'content-type: application/octet-stream' 'etag: ' 'accept-ranges: bytes'
check a_file_that_nginx_sends_has_the_headers_of_every_reply says 200 'x-request-id: ' 'x-content-type-options: nosniff'
check a_file_that_nginx_sends_may_be_read_by_any_page says 200 'access-control-allow-origin: \*'
check a_file_that_nginx_sends_is_cached_privately says 200 'cache-control: private'
hidden() { ! grep -qi '^x-accel' "$STATE/head"; }
check the_redirect_to_the_file_is_not_sent hidden
check the_file_is_whole gzip -t "$STATE/body"
etag=$(sed -n 's/^ETag: \([^\r]*\).*/\1/p' "$STATE/head")
fetch -H "If-None-Match: $etag"
check a_known_file_is_not_sent_again says 304
fetch -r 0-1
check a_part_of_a_file_is_sent says 206 'content-range: bytes 0-1/'
# The API's user may write to that folder.
blob=$(cd "$STATE/data/profiles" && find . -name '*.gz' -o -type f | head -n 1 | cut -c3-)
echo secret >"$STATE/secret" && chmod 644 "$STATE/secret"
mv "$STATE/data/profiles/$blob" "$STATE/kept" && ln -s "$STATE/secret" "$STATE/data/profiles/$blob"
leads_out() { fetch && grep -q secret "$STATE/body"; }
check a_link_among_the_profiles_leads_nowhere eval '! leads_out'
rm "$STATE/data/profiles/$blob" && mv "$STATE/kept" "$STATE/data/profiles/$blob"
link="http://127.0.0.1:$PORT/_profiles/$(cd "$STATE/data/profiles" && find . -name '*.gz' -o -type f | head -n 1 | cut -c3-)"
fetch
check a_file_is_out_of_reach_without_the_api says 404
