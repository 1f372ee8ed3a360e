# The time from the end of a capture to its names, compared with perf script.

if wanted time_to_result time_to_result_inlines; then
  e2e_start demo
  background demo "$STATE/bin/demo" 2 100
  demo=$(<"$STATE/pid/demo")
  service bench-demo "$STATE/bin/demo" || exit 1
  capture() { # 5 s at 999 Hz: its ProfileResult
    finished "$(post $P/start '{
      "service":"bench-demo","profileType":"cpu","durationSeconds":5,"sampleRate":999
    }' | jq -r .id)"
  }
  stopwatch() { # command...: prints its time in ms
    local from=$EPOCHREALTIME
    "$@" >/dev/null 2>&1
    awk "BEGIN { print ($EPOCHREALTIME - $from) * 1000 }"
  }
  capture >/dev/null # later captures need not read these files
  for ((i = 0; i < ROUNDS; i++)); do
    capture | jq -r "$RESULT_MS" >>"$STATE/ours"
    perf record -q -e cpu-clock -F 999 --call-graph dwarf -p "$demo" \
      -o "$STATE/perf.data" -- sleep 5 2>/dev/null || break
    stopwatch perf script -i "$STATE/perf.data" --no-inline >>"$STATE/plain"
    stopwatch perf script -i "$STATE/perf.data" >>"$STATE/inlines"
  done
  versus() { # row, rival, file with its times
    row "$1" "$(median <"$STATE/ours")" ms "$2" "$(median <"$3")" \
      "$(paste "$3" "$STATE/ours" | awk '{ print $1 / $2 }' | median)" "$ROUNDS"
  }
  if [ -s "$STATE/inlines" ]; then
    versus time_to_result "perf script --no-inline" "$STATE/plain"
    versus time_to_result_inlines "perf script" "$STATE/inlines"
  else
    echo "skip time_to_result: this user may not run perf record"
  fi
  e2e_stop
  trap - EXIT
fi
