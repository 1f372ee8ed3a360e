# A real installation for one end-to-end script: nginx, pool and worker, in a
# separate folder, on a free port, removed at exit.
#
#	. tests/lib/e2e.sh
#	e2e_start [TARGET...]	also copies these targets beside the programs
#			at the end, whenever that is, $LEAVE (e2e_stop) is run;
#			KEEP=1 keeps the folder
#	api GET /path [curl args...]
#	check, equal, says, leaves	as in check.sh
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
: "${B:=build}"
. conf/run/lib.sh
. tests/lib/check.sh

# Picks a port below those of outgoing connections: one of them could take it
# between the check and the bind.
free_port() {
  local port
  while :; do
    port=$((16384 + RANDOM % 16384))
    (: </dev/tcp/127.0.0.1/$port) 2>/dev/null || { echo $port; return; }
  done
}

e2e_start() {
  STATE=$(mktemp -d /var/tmp/stoker-e2e-XXXXXX)
  PORT=$(free_port)
  chmod 755 "$STATE"
  trap "${LEAVE:-e2e_stop}" EXIT
  trap 'exit 1' INT TERM
  stack_start
  TOKEN=$(<"$STATE/token")
  local t
  for t; do install -m 755 "$B/targets/$t" "$STATE/bin/"; done
}

e2e_stop() {
  local code=$?
  [ $code -eq 0 ] || tail -n 20 "$STATE"/log/*.log
  # If a claim failed, prints the last warnings of the worker.
  [ -z "${not_ok-}" ] || grep -shE ' (warn|err): ' "$STATE/log/worker.log" | tail -n 8 | sed 's/^/# /'
  stack_stop
  # A sandbox that is too narrow must not go unnoticed in the log.
  ! grep -h 'refused the system call' "$STATE"/log/*.log ||
    echo 'not ok sandboxes_allow_what_is_needed: see the line above'
  local pid
  for pid in $(jobs -p); do kill -KILL "$pid" && wait "$pid"; done 2>/dev/null
  pkill -KILL -f "^$STATE/" # programs that a claim has started
  [ -z "${KEEP-}" ] || { echo "# kept: $STATE"; return; }
  rm -rf "$STATE"
}

api() { # method, path, curl arguments
  local method=$1 path=$2
  shift 2
  curl -sS -X "$method" -H "Authorization: Bearer $TOKEN" "$@" \
    "http://127.0.0.1:$PORT$path"
}

post() { # path, JSON, curl arguments
  api POST "$1" -H 'Content-Type: application/json' -d "$2" "${@:3}"
}

status_of() { api "$@" -o /dev/null -w '%{http_code}'; }

# Adds a service matched by executable and waits until the worker sees it.
service() { # name, executable
  stoker_cli service add "$1" --exe "$2" >/dev/null &&
    wait_for 20 seen "$1"
}
seen() { api GET "/api/v1/services/$1/processes" | jq -e '.items | length > 0'; }

P=/api/v1/observability/profiling

# Starts a capture and prints its id.
start() { # service, seconds, type (cpu), samples a second
  post $P/start "{\"service\":\"$1\",\"profileType\":\"${3:-cpu}\",\"durationSeconds\":$2${4:+,\"sampleRate\":$4}}" |
    jq -r '.id // error'
}

# Stops a program of background() between its captures: if it computed all the
# time, it would take a CPU from other tests.
rest() { kill -STOP "$(<"$STATE/pid/$1")"; } # name
awake() { kill -CONT "$(<"$STATE/pid/$1")"; } # name
# Captures a service whose program rests, and prints the id.
wake() { # as start(); the service has the program's name
  local id
  awake "$1"
  id=$(start "$@") && finished "$id" >/dev/null
  rest "$1"
  echo "$id"
}

# Prints the ids of the worker's BPF programs, except those that only a loader
# has. Between a loader and a prober, they are in the opener for a moment.
programs() {
  local parts child
  parts=$(pgrep -P "$(<"$STATE/pid/worker")")
  for child in $parts $(pgrep -P "${parts//$'\n'/,}"); do
    [ "$(<"/proc/$child/comm")" = stoker-loader ] ||
      awk '$1 == "prog_id:" { print $2 }' "/proc/$child/fdinfo/"*
  done 2>/dev/null | sort -u
}
of_programs() { local id; for id; do bpftool prog show id "$id"; done 2>/dev/null; } # ids
has_program() { of_programs $(programs) | grep "name $1"; }                          # name
are_gone() { [ $# -gt 0 ] && ! of_programs "$@" | grep .; }                          # ids

# True if the worker's log has a line that matches the pattern.
logged() { grep -q -- "$1" "$STATE/log/worker.log"; }

result_of() { api GET "$P/$1?wait=20"; } # id
