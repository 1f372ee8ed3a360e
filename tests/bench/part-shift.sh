# Measures how often shifts are found in simulated ranges, and how often
# falsely.

if wanted shift_false_alarms shift_found_30 shift_found_100 shift_found_300 shift_covers shift_ms; then
  shift=$B/tests/bench/shift
  if wanted shift_false_alarms; then
    "$shift" steady 1000 >"$B/bench.shift"
    row shift_false_alarms "$(awk '$2 > most { most = $2 } END { print most + 0 }' "$B/bench.shift")" % goal 1 - 6000
  fi
  if wanted shift_found_30 shift_found_100 shift_found_300 shift_covers; then
    "$shift" shifted 1000 >"$B/bench.shift"
    for factor in 30:1.3 100:2.0 300:4.0; do
      row "shift_found_${factor%:*}" "$(awk -v f="${factor#*:}" '$2 == f { sum += $3; n++ } END { print sum / n }' "$B/bench.shift")" % - - - 6000
    done
    row shift_covers "$(awk '{ sum += $3; covers += $3 * $4 } END { print covers / sum }' "$B/bench.shift")" % goal 95 - 24000
  fi
  row shift_ms "$("$shift" cost 100)" ms - - - 100
fi
