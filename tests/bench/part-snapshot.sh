# How long a snapshot of 1000 waiting threads stops the process: a thread that
# never sleeps reports how long it was neither on a CPU nor waiting for one.

if wanted snapshot_stop_ms_1000; then
  snap=$(mktemp -d /var/tmp/stoker-bench-XXXXXX)
  mkfifo "$snap/in" "$snap/out"
  "$B/targets/threads" 1000 <"$snap/in" >"$snap/out" &
  snap_pid=$!
  exec {snap_in}>"$snap/in" {snap_out}<"$snap/out"
  read -r _ <&"$snap_out"

  held_up_ms() { # command...
    local before after
    echo >&"$snap_in" && read -r before <&"$snap_out"
    "$@" >"$snap/log" 2>&1 || cat "$snap/log" >&2
    echo >&"$snap_in" && read -r after <&"$snap_out"
    awk -v ns=$((after - before)) 'BEGIN { printf "%.4f\n", ns / 1e6 }'
  }
  for ((i = 0; i < ROUNDS; i++)); do
    held_up_ms "$B/stoker-worker" --config /dev/null --once "$snap_pid" \
      --type goroutine --out "$snap/profile" >>"$snap/ours"
    held_up_ms gdb -nx -batch -p "$snap_pid" -ex 'thread apply all bt' \
      >>"$snap/theirs"
  done
  kill "$snap_pid"
  exec {snap_in}>&- {snap_out}<&-
  ours=$(median <"$snap/ours") theirs=$(median <"$snap/theirs")
  row snapshot_stop_ms_1000 "$ours" ms gdb "$theirs" \
    "$(awk "BEGIN { printf \"%.1f\", $theirs / $ours }")" "$ROUNDS"
  rm -rf "$snap"
fi
