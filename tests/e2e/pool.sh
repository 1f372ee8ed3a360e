#!/bin/bash
# The pool as the API unit runs it, without systemd: reloads lose no request,
# and a socket that is passed to it is used instead of a new one.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
STATE=$(mktemp -d /var/tmp/stoker-pool-XXXXXX)
chmod 755 "$STATE"
PORT=$(free_port)
trap e2e_stop EXIT
trap 'exit 1' INT TERM
stack_folder
install -m 755 "$B/stoker" "$B/stoker-api" "$STATE/bin/"
RATE=10000r/s stack_conf
stack_token
sed "s|/usr/sbin/stoker-api|$STATE/bin/stoker-api|" systemd/pool >"$STATE/bin/pool"
chmod 755 "$STATE/bin/pool"
nginx_start || { echo "not ok nginx_starts_before_the_pool"; exit 1; }

healthy() { curl -fsS -o /dev/null "http://127.0.0.1:$PORT/healthz"; }
children() { pgrep -P "$(<"$STATE/pid/api")" | sort | paste -sd' '; }
# The background process must become the pool itself, by exec.
pool_start() { # command before the pool's
  background api become env PATH="$STATE/bin:$PATH" "$@" "$STATE/bin/pool" "$STATE/stoker.conf"
}
become() {
  [ "$(id -u)" -ne 0 ] || exec setpriv --reuid "$RUN_USER" --regid "$RUN_GROUP" --clear-groups -- "$@"
  exec "$@"
}
# Six new processes have replaced the old ones: pool and heavy of stoker.conf.
replaced() { # pids
  local now old
  now=$(children)
  [ "$(wc -w <<<"$now")" = 6 ] || return 1
  for old in $1; do [[ " $now " != *" $old "* ]] || return 1; done
}
reload() {
  local before
  before=$(children)
  kill -USR2 "$(<"$STATE/pid/api")"
  wait_for 10 replaced "$before" || { echo "had $before, has $(children)"; return 1; }
}
# Without configuration multiwatch would allow only 3.
ten_reloads() { for _ in 1 2 3 4 5 6 7 8 9 10; do reload || return 1; done; }

pool_start
check the_pool_starts wait_for 10 healthy
check the_pool_has_the_configured_size equal "$(children | wc -w)" 6
check the_pool_s_socket_is_closed_to_others equal "$(stat -c '%F %a' "$STATE/run/api.sock")" "socket 660"

# A client that sends requests until the reloads are done, and logs each status.
# If a process dies with a request, nginx repeats a GET, but no POST.
TOKEN=$(<"$STATE/token")
client() { # name, request
  local n
  for ((n = 0; ; n++)); do
    [ ! -e "$STATE/enough" ] || return 0
    "$2" "$1-$n"
  done >"$STATE/codes-$1"
}
list() { status_of GET /api/v1/services && echo; }
add() { # name
  status_of POST /api/v1/services -H 'Content-Type: application/json' -d "{\"name\":\"$1\"}" && echo
}
statuses() { sort "$STATE"/codes-"$1"* | uniq | paste -sd' '; }
replies() { cat "$STATE"/codes-"$1"* | wc -l; }

clients=()
for i in 1 2; do
  client get$i list &
  clients+=($!)
  client post$i add &
  clients+=($!)
done
check ten_reloads_in_a_row_replace_every_process ten_reloads
touch "$STATE/enough"
wait "${clients[@]}"
check ten_reloads_lose_no_get equal "$(statuses get)" 200
check ten_reloads_lose_no_post equal "$(statuses post)" 201
check gets_were_sent_during_the_reloads test "$(replies get)" -gt 20
check posts_were_sent_during_the_reloads test "$(replies post)" -gt 20

# A reply larger than all buffers on its way. As many clients as the pool has
# processes request one, and do not read it.
text=$(head -c 15000 /dev/zero | tr '\0' x)
for n in {1..480}; do
  [ "$n" = 1 ] || echo next
  printf 'url = "http://127.0.0.1:%s/api/v1/services"\noutput = /dev/null\n' "$PORT"
  printf 'header = "Authorization: Bearer %s"\nheader = "Content-Type: application/json"\n' "$TOKEN"
  printf 'data = "{\\"name\\":\\"big-%s\\",\\"allow\\":{\\"text\\":\\"%s\\"}}"\n' "$n" "$text"
done >"$STATE/fill"
check a_list_of_7_megabytes_is_made curl -sSf -K "$STATE/fill"
lists() { grep -cE '"method":"GET","route":"/api/v1/services","status":200,.*"bytes":[0-9]{7}' "$STATE/log/api.log"; }
all_sent() { [ "$(lists)" -ge 6 ]; }
readers=()
for n in 1 2 3 4 5 6; do
  exec {fd}<>/dev/tcp/127.0.0.1/"$PORT"
  printf 'GET /api/v1/services?limit=500 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n' "$TOKEN" >&"$fd"
  readers+=("$fd")
done
check clients_that_do_not_read_occupy_no_process wait_for 10 all_sent
check clients_are_served_beside_those_that_do_not_read healthy

for fd in "${readers[@]}"; do exec {fd}>&-; done
pid=$(<"$STATE/pid/api")
process_stop api
check sigterm_ends_the_pool process_gone "$pid"
rm -f "$STATE/run/api.sock"

# systemd-socket-activate replaces the socket unit: descriptor 0 listens.
pool_start systemd-socket-activate --inetd -l "$STATE/run/api.sock"
check a_socket_handed_over_is_served wait_for 10 healthy
check the_pool_becomes_multiwatch equal "$(ps -o comm= -p "$(<"$STATE/pid/api")")" multiwatch

workers=$(pgrep -P "$(<"$STATE/pid/api")")
all_gone() { local w; for w in $workers; do process_gone "$w" || return 1; done; }
kill -KILL "$(<"$STATE/pid/api")"
check a_killed_supervisor_leaves_no_process wait_for 10 all_gone

# SIGTERM comes before the process has exec'ed the pool, while a request is
# already waiting.
rm -f "$STATE/run/api.sock"
told_to_end() {
  become /usr/bin/python3 -c 'import os, select, signal, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
s.listen(8)
os.dup2(s.fileno(), 0)
select.select([0], [], [], 20)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
os.kill(os.getpid(), signal.SIGTERM)
os.execv(sys.argv[2], sys.argv[2:])' "$STATE/run/api.sock" "$STATE/bin/stoker-api" --config "$STATE/stoker.conf"
}
background early told_to_end
wait_for 10 test -S "$STATE/run/api.sock"
check a_process_told_to_end_as_it_starts_serves_a_request_that_waits healthy
check then_it_ends wait_for 10 process_gone "$(<"$STATE/pid/early")"
