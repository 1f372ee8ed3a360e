# Captures by stoker-worker --once, into files of a folder, $tmp.
#
#	. tests/lib/e2e.sh
#	. tests/lib/once.sh
#	tmp=$(mktemp -d …)
#	can_capture NAME || exit
#	target shares "$B/targets/shares" 7 3	starts it: $pid
#	check …_is_captured once shares "$pid" --seconds 5
#	samples shares '(^|;)main;'

once() { # name, pid, arguments: $tmp/NAME.pb.gz, .txt and .folded
  local name=$1 pid=$2
  shift 2
  "$B/stoker-worker" --once "$pid" --out "$tmp/$name.pb.gz" "$@" \
    >"$tmp/$name.txt" 2>"$tmp/$name.err" || { cat "$tmp/$name.err"; return 1; }
  ! grep 'refused the system call' "$tmp/$name.err" &&
    "$B/tests/tools/folded" "$tmp/$name.pb.gz" >"$tmp/$name.folded"
}

# Starts a target and waits for its "ready"; its output goes on to a file.
target() { # name, program, arguments: $pid
  local name=$1 line
  shift
  mkfifo "$tmp/$name.fifo"
  "$@" >"$tmp/$name.fifo" &
  pid=$!
  exec {fd}<"$tmp/$name.fifo"
  read -r line <&"$fd"
  [ "$line" = ready ]
}

# Samples, of all or of the stacks in which a pattern is found.
samples() { # name [pattern]
  grep -aE -- "${2:-}" "$tmp/$1.folded" | awk '{n += $NF} END {print n + 0}'
}

has() { # name, pattern, at least so many samples
  local n
  n=$(samples "$1" "$2")
  echo "$n samples of $2"
  [ "$n" -ge "$3" ]
}

quality() { awk -v key="$2" '$1 == key {print $2}' "$tmp/$1.txt"; }

# False, having said why, where this user may not capture: skipped, or else
# not ok.
can_capture() { # name of the script
  once probe $$ --seconds 1 >"$tmp/probe.out" 2>&1 && return
  if [ "$(id -u)" -ne 0 ]; then
    echo "skip $1: $(tail -n 1 "$tmp/probe.out")"
    exit 0
  fi
  echo "not ok a_capture_is_possible: $(tail -n 1 "$tmp/probe.out")"
  return 1
}
