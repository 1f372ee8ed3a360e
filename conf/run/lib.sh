# A whole Stoker in one folder, without systemd: what `make run` starts and
# the end-to-end tests use. Source it with these set:
#
#	B      build folder with the programs
#	STATE  folder of this installation: data, sockets, logs, token
#	PORT   of nginx on 127.0.0.1
#	TENANT those of its token, the default first; 550e8400 without it
#
# stack_start, stack_stop and one function per process; each process leaves
# its pid in $STATE/pid/NAME. The API pool and nginx run as $RUN_USER, and the
# parts of the worker that need no capability as $WORKER_USER, whose processes
# the API can't touch; both are in $RUN_GROUP, which may write to the store.

: "${TENANT:=550e8400}"

if [ "$(id -u)" -eq 0 ]; then
  # Users of every Debian, unless the package's users exist.
  RUN_USER=$(id -un stoker 2>/dev/null || echo nobody)
  WORKER_USER=$(id -un stoker-worker 2>/dev/null || echo daemon)
else
  RUN_USER=$(id -un) WORKER_USER=$RUN_USER
fi
RUN_GROUP=$(id -gn "$WORKER_USER")

fail() { echo "stoker: $*" >&2; exit 1; }

# Runs a command as $RUN_USER.
as_user() {
  if [ "$(id -u)" -eq 0 ]; then
    setpriv --reuid "$RUN_USER" --regid "$RUN_GROUP" --clear-groups -- "$@"
  else
    "$@"
  fi
}

# Waits until a command succeeds, for the given number of seconds times
# PATIENCE. The pauses between tries grow from 50 ms to 300 ms: a command that
# calls the server and reads its reply takes as much CPU time as a short pause.
wait_for() {
  local seconds=$1 end pause_cs=5 pause_s quiet_fd= waited=0
  shift
  end=$((SECONDS + seconds * ${PATIENCE:-1}))
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || { waited=1; break; }
    [ -n "$quiet_fd" ] || exec {quiet_fd}<> <(:)
    printf -v pause_s '0.%02d' $pause_cs
    read -rt "$pause_s" -u "$quiet_fd" || :
    pause_cs=$((pause_cs < 15 ? pause_cs * 2 : 30))
  done
  [ -z "$quiet_fd" ] || exec {quiet_fd}<&-
  return $waited
}

# The folder, reachable for $RUN_USER. A checkout below a closed directory
# (/root, a private temporary folder) can't be: the data then goes to
# /var/tmp, and $STATE becomes a link to it.
stack_folder() {
  mkdir -p "$(dirname "$STATE")"
  [ -e "$STATE" ] || mkdir "$STATE"
  STATE=$(cd -P "$STATE" && pwd)
  if ! as_user test -x "$STATE"; then
    local open
    open=/var/tmp/stoker-$(printf %s "$STATE" | cksum | cut -d' ' -f1)
    mkdir -p "$open"
    [ -z "$(ls -A "$STATE")" ] || fail "$STATE is closed to user $RUN_USER; use STATE=$open"
    rmdir "$STATE"
    ln -s "$open" "$STATE"
    STATE=$open
  fi
  chmod 755 "$STATE"
  mkdir -p "$STATE"/{bin,data,log,nginx,pid,run}
  mkdir -p -m 700 "$STATE/worker"
  [ "$(id -u)" -ne 0 ] || chown "$RUN_USER:$RUN_GROUP" "$STATE/data" "$STATE/run"
  chmod 2770 "$STATE/data"
  chmod 2755 "$STATE/run"
}

# Programs are copied: the unprivileged user may have no access to the
# checkout, and a rebuild must not change running programs.
stack_programs() {
  local p
  for p in stoker stoker-api stoker-worker targets/demo "$@"; do
    install -m 755 "$B/$p" "$STATE/bin/"
  done
  install -m 644 -Dt "$STATE/web/docs" app/web/docs/*
  install -m 644 -Dt "$STATE/web/docs/manual" "$B"/manual/*
  rm -rf "$STATE/web/ui"
  cp -r "$B/ui" "$STATE/web/"
  chmod -R a+rX "$STATE/web/ui"
  cp -r "$B/man" "$STATE/"
}

stack_conf() {
  local tenant
  cat >"$STATE/stoker.conf" <<EOF
# Written by make run; change conf/run/lib.sh or use your own.
[store]
dir = $STATE/data
[api]
public_url = http://127.0.0.1:$PORT
run_dir = $STATE/run
pool = ${POOL:-4}
heavy = ${HEAVY:-2}
${API_CONF:-}
[worker]
user = $WORKER_USER
state_dir = $STATE/worker
${WORKER_CONF:-}
EOF
  for tenant in ${TENANT//,/ }; do
    printf '[scope.%s]\nunits = *\nexe = *\nuids = *\nendpoints = *\nwebhooks = *\ncollectors = *\n' "$tenant"
  done >>"$STATE/stoker.conf"
  conf/nginx/render "$STATE/nginx" SOCKET="$STATE/run/api.sock" \
    PROFILES="$STATE/data/profiles" WEB="$STATE/web" LISTEN="127.0.0.1:$PORT" \
    OBJECTS="${OBJECTS:-http://127.0.0.1:9}" LOGS="$STATE/log" RUN="$STATE/nginx" RATE="${RATE:-100r/s}"
}

# Runs in the foreground, as in its unit: spawn-fcgi would otherwise close the
# log to which the pool writes. A second pool has a number, N: its folder is
# runN, and its configuration stokerN.conf.
api_start() { # number
  local n=${1:-} as=()
  rm -f "$STATE/run$n/api.sock"
  [ "$(id -u)" -ne 0 ] || as=(-u "$RUN_USER" -g "$RUN_GROUP")
  background "api$n" spawn-fcgi -n -s "$STATE/run$n/api.sock" -M 0660 "${as[@]}" -- \
    /usr/bin/multiwatch --forks=$((${POOL:-4} + ${HEAVY:-2})) --retry=50 --timeout=1000 \
    -- "$STATE/bin/stoker-api" --config "$STATE/stoker$n.conf"
}

background() { # name, command...
  local name=$1
  shift
  "$@" >>"$STATE/log/$name.log" 2>&1 </dev/null &
  echo $! >"$STATE/pid/$name"
}

worker_start() {
  background worker "$STATE/bin/stoker-worker" --config "$STATE/stoker.conf"
}

nginx_start() {
  local user=()
  [ "$(id -u)" -ne 0 ] || user=(-g "user $RUN_USER $RUN_GROUP;")
  nginx -e "$STATE/log/stoker-error.log" -p "$STATE/nginx" \
    -c "$STATE/nginx/alone.conf" "${user[@]}" &&
    ln -sf ../nginx/nginx.pid "$STATE/pid/nginx"
}

stoker_cli() {
  "$STATE/bin/stoker" --server "http://127.0.0.1:$PORT" --token-file "$STATE/token" "$@"
}

stack_token() {
  [ ! -s "$STATE/token" ] || return 0
  (umask 077 && as_user "$STATE/bin/stoker" token create admin --role admin \
    --tenant "$TENANT" --config "$STATE/stoker.conf" \
    >"$STATE/token" 2>"$STATE/log/token.log") ||
    fail "no token could be made: $(<"$STATE/log/token.log")"
}

# Makes the file that a shell sources to work with this installation.
stack_env() {
  cat >"$STATE/env" <<EOF
export STOKER_URL=http://127.0.0.1:$PORT STOKER_TOKEN_FILE=$STATE/token
export STOKER_CONFIG=$STATE/stoker.conf
export PATH=$STATE/bin:\$PATH MANPATH=$STATE/man:\${MANPATH-}
EOF
}

stack_ready() { curl -fsS -o /dev/null "http://127.0.0.1:$PORT/readyz"; }

stack_start() {
  stack_folder
  stack_stop
  stack_programs
  stack_conf
  stack_token
  stack_env
  worker_start
  api_start
  nginx_start || fail "nginx did not start: see $STATE/log/stoker-error.log"
  wait_for 30 stack_ready || fail "not ready: $(curl -sS "http://127.0.0.1:$PORT/readyz" 2>&1); logs in $STATE/log"
}

# Ends one process by its pid file and waits until it is gone.
process_stop() { # name, signal
  local file=$STATE/pid/$1 pid
  [ -s "$file" ] || return 0
  pid=$(<"$file")
  kill -"${2:-TERM}" "$pid" 2>/dev/null || :
  kill -CONT "$pid" 2>/dev/null || : # one that was stopped acts on the first
  wait_for 10 process_gone "$pid" || kill -KILL "$pid" 2>/dev/null || :
  rm -f "$file"
}

process_gone() {
  [ ! -d "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status"
}

stack_stop() {
  local name
  [ -d "$STATE/pid" ] || return 0
  for name in nginx api worker demo go-demo; do process_stop "$name"; done
}
