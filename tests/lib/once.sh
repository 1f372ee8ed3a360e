# Captures by stoker-worker --once, into files of a folder, $tmp.
#
#	. tests/lib/e2e.sh
#	. tests/lib/once.sh
#	tmp=$(mktemp -d …)
#	can_capture NAME || exit
#	target shares "$B/targets/shares" 7 3	starts it: $pid
#	check …_is_captured once shares "$pid" --seconds 5
#	samples shares '(^|;)main;'
#
# Concurrent captures: when one has taken enough samples, its process is
# stopped:
#
#	begin shares "$pid" 200 --rate 999	200; 0: until end_capture, or as
#						long as --seconds says
#	wait_for 20 has_taken shares 1		0: it has begun
#	end_capture shares
#	await_captures				waits for all captures
#	with=(setpriv …)			runs the worker of begin
#	check …_is_captured captured shares

once() { # name, pid, arguments: $tmp/NAME.pb.gz, .txt and .folded
  local name=$1 pid=$2
  shift 2
  "$B/stoker-worker" --once "$pid" --out "$tmp/$name.pb.gz" "$@" \
    >"$tmp/$name.txt" 2>"$tmp/$name.err" || { cat "$tmp/$name.err"; return 1; }
  ! grep 'refused the system call' "$tmp/$name.err" &&
    "$B/tests/tools/folded" "$tmp/$name.pb.gz" >"$tmp/$name.folded"
}

# The worker prints the number of samples so far only to a terminal.
begun=() with=()
begin() { # name, pid, samples, arguments
  local command
  rm -f "$tmp/$1".{err,pid,status}
  command=$(printf '%q ' exec "${with[@]}" "$B/stoker-worker" --once "$2" --out "$tmp/$1.pb.gz" --seconds 300 "${@:4}")
  {
    command script -qfec "echo \$\$ >$tmp/$1.pid; $command >$tmp/$1.txt" "$tmp/$1.err" </dev/null >/dev/null
    echo $? >"$tmp/$1.status"
  } &
  begun+=($!)
  # A stopped process leaves the CPU to the others.
  [ "$3" -eq 0 ] || { wait_for 120 has_taken "$1" "$3"; kill -STOP "$2"; end_capture "$1"; } &
}
has_taken() { # name, samples
  local said=
  IFS= read -rd '' said <"$tmp/$1.err"
  said=${said% samples*}
  [ -n "$said" ] && [ "${said##* }" -ge "$2" ]
} 2>/dev/null
end_capture() { kill -TERM "$(<"$tmp/$1.pid")"; } # name
await_captures() {
  wait "${begun[@]}"
  begun=()
}
captured() { # name
  [ "$(<"$tmp/$1.status")" = 0 ] && ! grep -a 'refused the system call' "$tmp/$1.err" &&
    "$B/tests/tools/folded" "$tmp/$1.pb.gz" >"$tmp/$1.folded" || { cat "$tmp/$1.err"; return 1; }
}

# Starts a target and waits for its "ready"; its later output goes to a file.
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

# Counts samples: all, or those whose stacks match a pattern.
samples() { # name [pattern]
  grep -aE -- "${2:-}" "$tmp/$1.folded" | awk '{n += $NF} END {print n + 0}'
}

has() { # name, pattern, least number of samples
  local n
  n=$(samples "$1" "$2")
  echo "$n samples of $2"
  [ "$n" -ge "$3" ]
}

quality() { awk -v key="$2" '$1 == key {print $2}' "$tmp/$1.txt"; }

# Returns false where this user may not capture, after printing "skip" or "not
# ok" with the reason.
can_capture() { # name of the script
  once probe $$ --seconds 1 >"$tmp/probe.out" 2>&1 && return
  if [ "$(id -u)" -ne 0 ]; then
    echo "skip $1: $(tail -n 1 "$tmp/probe.out")"
    exit 0
  fi
  echo "not ok a_capture_is_possible: $(tail -n 1 "$tmp/probe.out")"
  return 1
}
