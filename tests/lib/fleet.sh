# A centre, and hosts that need only outgoing HTTPS, for a test that has
# started: the centre's own worker is stopped, and nginx has TLS on another
# port.
#
#	. tests/lib/e2e.sh; e2e_start
#	. tests/lib/fleet.sh
#	fleet_start [ADDRESS]	where nginx answers hosts; 127.0.0.1
#	host_make NAME [EXE]	its folder and stoker.conf; EXE: its scope
#	host_join NAME		with a separate key for joining
#	host_start NAME, host_stop NAME [SIGNAL]
#			by the command in HOST_RUN, if set; the worker
#			of another release, if HOST_BIN is its folder
#	agent NAME METHOD PATH [curl args]	calls with the host's key

CENTRE_URL=

fleet_start() {
  local at=${1:-127.0.0.1} tls
  tls=$(free_port)
  CENTRE_URL=https://$at:$tls
  process_stop worker
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=centre \
    -addext 'subjectAltName=IP:'"$at" -keyout "$STATE/nginx/tls.key" \
    -out "$STATE/nginx/tls.pem" 2>/dev/null || return 1
  chmod 644 "$STATE/nginx/tls.pem"
  sed -i "s|^\t\tlisten .*|&\n\t\tlisten $at:$tls ssl;\n\t\tssl_certificate $STATE/nginx/tls.pem;\n\t\tssl_certificate_key $STATE/nginx/tls.key;|" \
    "$STATE/nginx/alone.conf"
  process_stop nginx
  nginx_start
}

host_make() { # name, executables in its scope
  local dir=$STATE/$1 tenant
  mkdir -p "$dir/data" "$dir/state"
  [ "$(id -u)" -ne 0 ] || chown "$WORKER_USER:$RUN_GROUP" "$dir/data"
  chmod 2770 "$dir/data"
  chmod 700 "$dir/state"
  {
    printf '[store]\ndir = %s\n[worker]\nhost = %s\nuser = %s\nstate_dir = %s\n%s\n' \
      "$dir/data" "$1" "$WORKER_USER" "$dir/state" "${HOST_CONF:-}"
    printf '[agent]\nkey_file = %s\nca_file = %s\n' "$dir/agent.key" "$STATE/nginx/tls.pem"
    for tenant in ${TENANT//,/ }; do
      printf '[scope.%s]\n' "$tenant"
      if [ $# -gt 1 ]; then
        printf 'exe = %s\n' "$2"
      else
        printf 'units = *\nexe = *\nuids = *\nendpoints = *\ncollectors = *\n'
      fi
    done
  } >"$dir/stoker.conf"
}

join_key() { # name of the key, options
  as_user "$STATE/bin/stoker" token create "$@" --role join --tenant "$TENANT" \
    --config "$STATE/stoker.conf" 2>>"$STATE/log/token.log"
}

host_join() { # name
  join_key "$1" --host "$1" |
    "$STATE/bin/stoker" join "$CENTRE_URL" --config "$STATE/$1/stoker.conf"
}

host_start() { background "$1" ${HOST_RUN:-} "${HOST_BIN:-$STATE/bin}/stoker-worker" --config "$STATE/$1/stoker.conf"; }
host_stop() { process_stop "$1" "${2:-TERM}"; }

agent() { # name of a host, method, path, curl arguments
  local key=$STATE/$1/agent.key method=$2 path=$3
  shift 3
  curl -sS --cacert "$STATE/nginx/tls.pem" -X "$method" \
    -H "Authorization: Bearer $(<"$key")" "$@" "$CENTRE_URL$path"
}

alive_at_centre() { # host
  api GET /api/v1/workers | jq -e --arg h "$1" '[.items[] | select(.alive and .host == $h)] | length == 1'
}
