# What a capture costs, and how soon its result is there.

if wanted result_ready_ms worker_cpu_us_per_sample worker_rss_mb; then
  e2e_start demo
  background demo "$STATE/bin/demo" 2 100
  service bench-demo "$STATE/bin/demo" || exit 1
  for ((i = 0; i < ROUNDS; i++)); do
    finished "$(start bench-demo 5)"
    echo
  done >"$STATE/results"
  row result_ready_ms "$(jq -r "$RESULT_MS" "$STATE/results" | median)" ms - - - "$ROUNDS"
  row worker_cpu_us_per_sample "$(jq -r '.quality.workerCpuNs / 1000 / .sampleCount' "$STATE/results" | median)" us - - - "$ROUNDS"
  row worker_rss_mb "$(rss_mb "$(<"$STATE/pid/worker")" $(pgrep -P "$(<"$STATE/pid/worker")"))" MiB - - - 1
  e2e_stop
  trap - EXIT
fi
