#!/bin/bash
# The lines for single sign-on in the shipped site, with a server that decides
# who may sign in.
#
# Beside others: nothing is timed.
. tests/lib/e2e.sh
API_CONF=$'sso_viewers = staff\nsso_admins = ops\nsso_tenants = 550e8400' e2e_start
B=$(cd "$B" && pwd)
at=$STATE/sso
mkdir -p "$at/log"
chmod -R a+rX "$at"
conf/nginx/render "$at" SOCKET="$STATE/run/api.sock" PROFILES="$STATE/data/profiles" \
  WEB="$STATE/web" LOGS="$at/log" RUN="$at" LISTEN=127.0.0.1:1
mkdir -p "$STATE/web/ui"
echo '<html>application</html>' >"$STATE/web/ui/index.html"
chmod -R a+rX "$STATE/web"
sed -i "s|#sso ||; s|http://127.0.0.1:4180|http://unix:$at/sign-on:|; s|listen 127.0.0.1:1;|listen unix:$at/web;|" "$at/stoker.conf"
cat >"$at/nginx.conf" <<CONF
pid $at/pid;
error_log $at/log/error.log;
events {}
http {
	client_body_temp_path $at/body;
	fastcgi_temp_path $at/fastcgi;
	proxy_temp_path $at/proxy;
	uwsgi_temp_path $at/uwsgi;
	scgi_temp_path $at/scgi;
	default_type text/plain;
	include $at/stoker.conf;
	server { # in place of oauth2-proxy: the cookies say who it is
		listen unix:$at/sign-on;
		location = /oauth2/auth {
			if (\$cookie_user = "") {
				return 401;
			}
			add_header X-Auth-Request-User \$cookie_user;
			add_header X-Auth-Request-Groups \$cookie_groups;
			return 204;
		}
		location = /oauth2/start {
			return 200 "sign on, and come back to \$http_host";
		}
	}
}
CONF
as=()
[ "$(id -u)" -ne 0 ] || as=(-g "user $RUN_USER $RUN_GROUP;")
[ "$(id -u)" -ne 0 ] || chown -R "$RUN_USER:$RUN_GROUP" "$at"
nginx -p "$at" -c "$at/nginx.conf" -e "$at/log/error.log" "${as[@]}" || {
  echo "not ok nginx_takes_the_lines: $(tail -n 3 "$at/log/error.log")"
  exit
}
trap 'kill "$(<"$at/pid")"; e2e_stop' EXIT
ask() { curl -sS --max-time 10 --unix-socket "$at/web" -H 'Host: stoker.test' "$@"; }
status() { # expected, curl arguments
  local got want=$1
  shift
  got=$(ask -o "$STATE/body" -w '%{http_code}' "$@")
  [ "$got" = "$want" ] || { echo "$got"; cat "$STATE/body"; return 1; }
}
who() { # role, actor, curl arguments
  ask "${@:3}" http://x/api/v1/browser-session >"$STATE/body"
  jq -e --arg role "$1" --arg actor "$2" '.role == $role and .actor == $actor' "$STATE/body" >/dev/null ||
    { cat "$STATE/body"; return 1; }
}
check a_page_leads_to_the_sign_on \
  eval '[ "$(ask -o /dev/null -w "%{http_code} %{redirect_url}" http://x/ui/services)" = "302 http://x/oauth2/start?rd=/ui/services" ]'
check anybody_may_open_the_sign_on status 200 'http://x/oauth2/start?rd=/ui/services'
check the_sign_on_learns_the_host_to_come_back_to \
  grep -qx 'sign on, and come back to stoker.test' "$STATE/body"
check the_api_says_that_nobody_is_signed_in status 401 http://x/api/v1/services
check the_api_says_unauthorized_in_json eval 'jq -e ".error_code == \"Unauthorized\"" "$STATE/body" >/dev/null'
check a_member_has_the_role_of_its_group who viewer sso:ann -b 'user=ann; groups=staff'
check a_member_of_another_group_has_the_role_of_that_group who admin sso:bob -b 'user=bob; groups=sales,ops'
check pages_are_served_to_a_viewer status 200 -b 'user=ann; groups=staff' http://x/ui/
check somebody_without_a_group_is_refused status 403 -b 'user=eve; groups=sales' http://x/api/v1/services
check headers_of_the_client_sign_nobody_in status 401 -H 'SSO-User: ann' -H 'SSO_USER: ann' \
  -H 'X-Auth-Request-User: ann' -H 'X-Auth-Request-Groups: ops' http://x/api/v1/services
check a_program_comes_with_its_key who admin "$(api GET /api/v1/browser-session | jq -r .actor)" -H "Authorization: Bearer $TOKEN"
check a_wrong_key_is_refused_by_stoker status 401 -H 'Authorization: Bearer stk_no' http://x/api/v1/services
check an_empty_key_does_not_hide_the_user who viewer sso:ann -H 'Authorization;' -b 'user=ann; groups=staff'
check health_needs_no_sign_on status 200 http://x/healthz
check a_change_from_another_site_is_refused status 403 -b 'user=bob; groups=ops' -H 'Origin: http://evil.test' \
  -H 'Content-Type: application/json' -d '{"name":"a","match":{"exe":"'"$STATE/bin/a"'"}}' http://x/api/v1/services
check a_change_from_the_own_page_is_made status 201 -b 'user=bob; groups=ops' -H 'Origin: http://stoker.test' \
  -H 'Content-Type: application/json' -d '{"name":"a","match":{"exe":"'"$STATE/bin/a"'"}}' http://x/api/v1/services
