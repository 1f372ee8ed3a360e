# A target's speed during a capture, as a share of its speed without one.

# Runs tests/targets/rounds, alone or with a capture of it; prints its rounds
# per second of CPU time.
rounds_beside() { # pipe|spin, none|ours|perf, rate
  local target pids watcher=
  mkfifo "$overhead/fifo"
  "$B/targets/rounds" "$1" 4 >"$overhead/fifo" &
  target=$!
  exec {fd}<"$overhead/fifo"
  rm "$overhead/fifo"
  read -r _ <&"$fd"
  pids=$(echo "$target" $(pgrep -P "$target") | tr ' ' ,)
  case $2 in
  ours) "$B/stoker-worker" --once "$pids" --seconds 60 --rate "$3" \
    --out "$overhead/out" >"$overhead/log" 2>&1 & watcher=$! ;;
  perf) perf record -q -e cpu-clock -F "$3" --call-graph dwarf -p "$pids" \
    -o "$overhead/out" >"$overhead/log" 2>&1 & watcher=$! ;;
  esac
  read -r number <&"$fd"
  exec {fd}<&-
  wait "$target"
  [ -z "$watcher" ] || { kill -INT "$watcher"; wait "$watcher"; }
  echo "$number"
}

# Prints a line per round: the share of the speed that is left with our capture,
# and with perf.
kept() { # pipe|spin, rate, [none: no perf]
  local i alone ours perf=1
  for ((i = 0; i < ROUNDS; i++)); do
    alone=$(rounds_beside "$1" none)
    ours=$(rounds_beside "$1" ours "$2")
    [ -n "${3:-}" ] || perf=$(rounds_beside "$1" perf "$2")
    awk "BEGIN { print $ours / $alone, $perf / $alone, $ours / $perf }"
  done
}

kept_row() { # row, pipe|spin, rate
  wanted "$1" || return 0
  kept "$2" "$3" >"$overhead/kept"
  row "$1" "$(column 1 "$overhead/kept")" ratio "perf record -p" \
    "$(column 2 "$overhead/kept")" "$(column 3 "$overhead/kept")" "$ROUNDS"
}

if wanted switch_throughput_99hz spin_throughput_99hz spin_throughput_999hz \
  spin_direct_99hz spin_direct_999hz sample_cost_us continuous_loss_pct \
  continuous_loss_64cpus_pct; then
  overhead=$(mktemp -d /var/tmp/stoker-overhead-XXXXXX)
  trap 'rm -rf "$overhead"' EXIT
  kept_row switch_throughput_99hz pipe 99
  kept_row spin_direct_99hz spin 99
  kept_row spin_direct_999hz spin 999
  if wanted sample_cost_us spin_throughput_99hz spin_throughput_999hz \
    continuous_loss_pct continuous_loss_64cpus_pct; then
    kept spin 4999 none >"$overhead/cost"
    cost=$(awk '{ print (1 - $1) / 4999 * 1e6 }' "$overhead/cost" | median)
    row sample_cost_us "$cost" us - - - "$ROUNDS"
    for rate in 99 999; do
      row "spin_throughput_${rate}hz" \
        "$(awk "BEGIN { print 1 - $cost * $rate / 1e6 }")" ratio - - - "$ROUNDS"
    done
    loss=$(awk "BEGIN { print $cost * 19 / 1e4 }") # percent of each CPU
    row continuous_loss_pct "$loss" % - - - "$ROUNDS"
    row continuous_loss_64cpus_pct "$(awk "BEGIN { print $loss * 64 }")" % - - - "$ROUNDS"
  fi
  rm -rf "$overhead"
  trap - EXIT
fi
