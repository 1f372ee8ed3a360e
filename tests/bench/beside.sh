# The speed of tests/targets/rounds while something watches it, in rounds per
# second of its CPU time. The measurement begins once the watcher has begun,
# however long that takes; a target is stopped while it is not measured.

declare -A beside_pids beside_fds
: "${BESIDE_S:=2}" # seconds of the target's CPU time per measurement

beside_begin() { # name, kind of rounds, [command in front...]
  local name=$1 kind=$2 fd
  shift 2
  [ -n "${beside-}" ] || beside=$(mktemp -d /var/tmp/stoker-beside-XXXXXX)
  mkfifo "$beside/$name"
  "$@" "$B/targets/rounds" "$kind" >"$beside/$name" &
  exec {fd}<"$beside/$name"
  read -r _ <&"$fd"
  beside_fds[$name]=$fd
  beside_pids[$name]=$(echo $! $(pgrep -P $!))
  kill -STOP ${beside_pids[$name]}
}
beside_end() {
  local name fd
  for name in "${!beside_pids[@]}"; do
    fd=${beside_fds[$name]}
    kill -KILL ${beside_pids[$name]}
    wait ${beside_pids[$name]%% *} 2>/dev/null
    exec {fd}<&-
  done
  rm -rf "$beside"
  beside_pids=() beside_fds=() beside=
}

# Returns whether a process or a descendant has an event or a program in the
# kernel, or the process has ended without one.
is_watching() { # pid
  local parts
  [ -e "/proc/$1/exe" ] || return 0
  parts=$(pgrep -P "$1")
  find $(printf '/proc/%s/fd ' "$1" $parts $(pgrep -P "${parts//$'\n'/,}")) \
    -lname '*perf_event*' -o -lname '*bpf_link*' -o -lname '*bpf-raw-tracepoint*' 2>/dev/null | grep -q .
}

has_worked() { [ "$(ticks $1)" -ge "$2" ]; } # pids, ticks
speed() { # name, [what watches it...]
  local fd=${beside_fds[$1]} pids=${beside_pids[$1]} watcher= number
  shift
  if [ $# -gt 0 ]; then
    "$@" >"$beside/log" 2>&1 &
    watcher=$!
    wait_for 60 is_watching $watcher
    kill -0 $watcher 2>/dev/null || { cat "$beside/log" >&2; echo nan; return; }
  fi
  kill -CONT $pids
  kill -USR1 ${pids%% *}
  read -r _ <&"$fd"
  wait_for 600 has_worked "$pids" $(($(ticks $pids) + BESIDE_S * $(getconf CLK_TCK)))
  kill -USR1 ${pids%% *}
  read -r number <&"$fd"
  kill -STOP $pids
  [ -z "$watcher" ] || { kill -INT $watcher; wait $watcher; } 2>/dev/null
  echo "$number"
}
ours() { # name, arguments of the worker
  speed "$1" "$B/stoker-worker" --config /dev/null --once "$(beside_list "$1")" \
    --seconds 600 --out "$beside/out" "${@:2}"
}
beside_list() { echo "${beside_pids[$1]// /,}"; } # name: pids
