# A target's speed during a capture, as a share of its speed without one.

# Runs tests/targets/rounds, alone, with a capture of it, or interrupted as
# often; prints its rounds per second of CPU time.
rounds_beside() { # pipe|spin|deep, none|ours|perf|floor, rate
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
  floor) "$B/tests/bench/kernel" interrupts "$3" & watcher=$! ;;
  perf) perf record -q -e cpu-clock -F "$3" --call-graph dwarf -p "$pids" \
    -o "$overhead/out" >"$overhead/log" 2>&1 & watcher=$! ;;
  esac
  read -r number <&"$fd"
  exec {fd}<&-
  wait "$target"
  [ -z "$watcher" ] || { kill -INT "$watcher"; wait "$watcher" 2>/dev/null; }
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

# Prints a line per round: the us that a sample costs a program, and that an
# interrupt costs it which samples nothing.
deep_costs() {
  local i alone ours floor
  for ((i = 0; i < ROUNDS; i++)); do
    alone=$(rounds_beside deep none)
    ours=$(rounds_beside deep ours 4999)
    floor=$(rounds_beside deep floor 4999)
    awk "BEGIN { print (1 - $ours / $alone) / 4999 * 1e6, (1 - $floor / $alone) / 4999 * 1e6 }"
  done
}

kept_row() { # row, pipe|spin, rate
  wanted "$1" || return 0
  kept "$2" "$3" >"$overhead/kept"
  row "$1" "$(column 1 "$overhead/kept")" ratio "perf record -p" \
    "$(column 2 "$overhead/kept")" "$(column 3 "$overhead/kept")" "$ROUNDS"
}

if wanted switch_throughput_99hz spin_throughput_99hz spin_throughput_999hz \
  spin_direct_99hz spin_direct_999hz sample_cost_us sample_cost_deep_us \
  sample_floor_us continuous_loss_pct \
  continuous_loss_64cpus_pct; then
  overhead=$(mktemp -d /var/tmp/stoker-overhead-XXXXXX)
  trap 'rm -rf "$overhead"' EXIT
  kept_row switch_throughput_99hz pipe 99
  kept_row spin_direct_99hz spin 99
  kept_row spin_direct_999hz spin 999
  if wanted sample_cost_deep_us sample_floor_us; then
    deep_costs >"$overhead/deep"
    row sample_cost_deep_us "$(column 1 "$overhead/deep")" us - - - "$ROUNDS"
    row sample_floor_us "$(column 2 "$overhead/deep")" us - - - "$ROUNDS"
  fi
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
