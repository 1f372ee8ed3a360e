# A target's speed during a capture, as a share of its speed without one.

with_perf() { # name, rate
  speed "$1" perf record -q -e cpu-clock -F "$2" --call-graph dwarf -p "$(beside_list "$1")" \
    -o "$beside/data"
}

# Prints a line per round: the share of the speed that is left with our
# capture, and with perf.
kept() { # pipe|spin, rate, [none: no perf]
  local i alone ours perf=1
  beside_begin "$1" "$1"
  for ((i = 0; i < ROUNDS; i++)); do
    alone=$(speed "$1")
    ours=$(ours "$1" --rate "$2")
    [ -n "${3:-}" ] || perf=$(with_perf "$1" "$2")
    awk "BEGIN { print $ours / $alone, $perf / $alone, $ours / $perf }"
  done
  beside_end
}

# Prints a line per round: the us that a sample costs a program, and that an
# interrupt without a sample costs it.
deep_costs() {
  local i alone ours floor
  beside_begin deep deep
  for ((i = 0; i < ROUNDS; i++)); do
    alone=$(speed deep)
    ours=$(ours deep --rate 4999)
    floor=$(speed deep "$B/tests/bench/kernel" interrupts 4999)
    awk "BEGIN { print (1 - $ours / $alone) / 4999 * 1e6, (1 - $floor / $alone) / 4999 * 1e6 }"
  done
  beside_end
}

kept_row() { # row, pipe|spin, rate
  wanted "$1" || return 0
  local lines
  lines=$(kept "$2" "$3")
  row "$1" "$(column 1 <(echo "$lines"))" ratio "perf record -p" \
    "$(column 2 <(echo "$lines"))" "$(column 3 <(echo "$lines"))" "$ROUNDS"
}

if wanted switch_throughput_99hz spin_throughput_99hz spin_throughput_999hz \
  spin_direct_99hz spin_direct_999hz sample_cost_us sample_cost_deep_us \
  sample_floor_us continuous_loss_pct \
  continuous_loss_64cpus_pct; then
  kept_row switch_throughput_99hz pipe 99
  kept_row spin_direct_99hz spin 99
  kept_row spin_direct_999hz spin 999
  if wanted sample_cost_deep_us sample_floor_us; then
    lines=$(deep_costs)
    row sample_cost_deep_us "$(column 1 <(echo "$lines"))" us - - - "$ROUNDS"
    row sample_floor_us "$(column 2 <(echo "$lines"))" us - - - "$ROUNDS"
  fi
  if wanted sample_cost_us spin_throughput_99hz spin_throughput_999hz \
    continuous_loss_pct continuous_loss_64cpus_pct; then
    cost=$(kept spin 4999 none | awk '{ print (1 - $1) / 4999 * 1e6 }' | median)
    row sample_cost_us "$cost" us - - - "$ROUNDS"
    for rate in 99 999; do
      row "spin_throughput_${rate}hz" \
        "$(awk "BEGIN { print 1 - $cost * $rate / 1e6 }")" ratio - - - "$ROUNDS"
    done
    loss=$(awk "BEGIN { print $cost * 19 / 1e4 }") # percent of each CPU
    row continuous_loss_pct "$loss" % - - - "$ROUNDS"
    row continuous_loss_64cpus_pct "$(awk "BEGIN { print $loss * 64 }")" % - - - "$ROUNDS"
  fi
fi
