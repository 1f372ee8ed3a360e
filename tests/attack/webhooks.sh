#!/bin/bash
# Servers that get webhooks or are asked for profiles are not trusted: they may
# redirect, answer endlessly, or not at all. Nothing is sent to hosts that are
# not configured, and the worker's other work goes on.
#
# Beside others: it waits for events.
set -u
. tests/lib/e2e.sh
tmp=$(mktemp -d /var/tmp/stoker-webhooks-XXXXXX)
leave() { kill "$server" 2>/dev/null; e2e_stop; rm -rf "$tmp"; }
trap leave EXIT
server=
inner=$(free_port)
port=$(free_port)
# One server listens where webhooks may go; the other one stands for an
# internal server.
cat >"$tmp/server.py" <<'PY'
import socket, socketserver, sys, threading
port, inner, log = int(sys.argv[1]), int(sys.argv[2]), open(sys.argv[3], 'a', 1)
class Outer(socketserver.BaseRequestHandler):
    def handle(self):
        head = self.request.recv(65536)
        path = head.split(b' ')[1].decode() if b' ' in head else '?'
        print('outer', path, file=log)
        try:
            if path == '/lead':
                self.request.sendall(b'HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:%d/inner\r\nContent-Length: 0\r\n\r\n' % inner)
            elif path == '/flood':
                self.request.sendall(b'HTTP/1.1 200 OK\r\n\r\n')
                while True:
                    self.request.sendall(b'x' * 65536)
            elif path == '/headers':
                self.request.sendall(b'HTTP/1.1 200 OK\r\n')
                while True:
                    self.request.sendall(b'X-%s: y\r\n' % (b'a' * 4096))
            elif path == '/silent':
                while self.request.recv(65536):
                    pass
            else:
                self.request.sendall(b'HTTP/1.1 204 Good\r\nContent-Length: 0\r\n\r\n')
        except OSError:
            print('left', path, file=log)
class Inner(socketserver.BaseRequestHandler):
    def handle(self):
        print('inner', self.request.recv(100), file=log)
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
threading.Thread(target=Server(('127.0.0.1', inner), Inner).serve_forever, daemon=True).start()
s = Server(('127.0.0.1', port), Outer)
print('listening', file=log)
s.serve_forever()
PY
WORKER_CONF="
[webhook]
allow = 127.0.0.1:$port"
e2e_start shares
python3 "$tmp/server.py" "$port" "$inner" "$tmp/log" &
server=$!
wait_for 20 grep -q listening "$tmp/log"
background shares "$STATE/bin/shares" 900 1 5
service plain "$STATE/bin/shares"
# Each trigger has a separate service, since a service has one capture at a
# time.
trigger() { # name, URL
  post "/api/v1/services/$1/triggers" \
    "{\"trigger\":\"$1\",\"when\":{\"cpu\":{\"percent\":1}},\"capture\":{\"durationSeconds\":1},\"cooldownSeconds\":3600,\"webhook\":\"$2\"}"
}
names() { jq -r '.error_code // "made"' <<<"$1"; }
for url in "http://127.0.0.1:$inner/" "http://localhost:$port/" "http://127.0.0.1:$port@127.0.0.1:$inner/" \
  "http://2130706433:$inner/" "file:///etc/passwd" "gopher://127.0.0.1:$port/" "http://169.254.169.254/latest"; do
  check "no_trigger_is_made_for.${url//[^a-z0-9]/_}" eval \
    '[[ "$(names "$(trigger plain "$url")")" =~ ^(WebhookForbidden|InvalidParameter)$ ]]'
done
for path in lead flood headers silent good; do
  service $path "$STATE/bin/shares"
  check "a_trigger_is_made.$path" equal "$(names "$(trigger $path "http://127.0.0.1:$port/$path")")" made
done
asked() { grep -q "outer /$1" "$tmp/log"; }
for path in lead flood headers silent good; do
  check "a_trigger_fires.$path" wait_for 90 asked $path
done
state() { api GET "/api/v1/services/$1/triggers" | jq -r '.items[0].webhookState'; }
is() { [ "$(state "$1")" = "$2" ]; }
check a_sound_webhook_is_sent wait_for 60 is good sent
check other_services_are_captured_meanwhile equal "$(finished "$(start plain 1)" | jq -r .status)" completed
check a_redirect_is_not_followed leaves 1 grep -q inner "$tmp/log"
check a_body_without_an_end_is_left wait_for 60 grep -q 'left /flood' "$tmp/log"
check headers_without_an_end_are_left wait_for 60 grep -q 'left /headers' "$tmp/log"
grown() { awk '/^VmHWM/ { print $2 }' /proc/"$1"/status; }
largest=$(for pid in $(pgrep -P "$(<"$STATE/pid/worker")"); do grown "$pid"; done | sort -n | tail -1)
check no_part_of_the_worker_keeps_an_endless_answer [ "$largest" -lt 200000 ]
