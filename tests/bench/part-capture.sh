# The cost of a capture, and the time to its result.

if wanted result_ready_ms worker_cpu_us_per_sample worker_cpu_us_per_sample_5s worker_rss_mb; then
  worker_us() { jq -r '.quality.workerCpuNs / 1000 / .sampleCount'; }
  e2e_start demo
  background demo "$STATE/bin/demo" 2 100
  service bench-demo "$STATE/bin/demo" || exit 1
  for ((i = 0; i < ROUNDS; i++)); do
    finished "$(start bench-demo 5)"
    echo
  done >"$STATE/results"
  row result_ready_ms "$(jq -r "$RESULT_MS" "$STATE/results" | median)" ms - - - "$ROUNDS"
  row worker_cpu_us_per_sample_5s "$(worker_us <"$STATE/results" | median)" us - - - "$ROUNDS"
  if wanted worker_cpu_us_per_sample; then
    row worker_cpu_us_per_sample "$(finished "$(start bench-demo 60)" | worker_us)" us - - - 1
  fi
  row worker_rss_mb "$(rss_mb "$(<"$STATE/pid/worker")" $(pgrep -P "$(<"$STATE/pid/worker")"))" MiB - - - 1
  e2e_stop
  trap - EXIT
fi

# The worker's largest size, with all its processes and the finisher, for a
# target with a million different stacks, 100 000 of which are sampled.
family() { local p; for p; do echo "$p"; family $(pgrep -P "$p"); done; }

if wanted worker_rss_mb_100k_stacks; then
  stacks=$(mktemp -d /var/tmp/stoker-bench-XXXXXX)
  trap 'rm -rf "$stacks"' EXIT
  printf '[worker]\nstack_bytes = 2K\n' >"$stacks/conf"
  mkfifo "$stacks/fifo"
  "$B/targets/stacks" 60 "$(nproc)" 6 >"$stacks/fifo" &
  target=$!
  read -r _ <"$stacks/fifo"
  "$B/stoker-worker" --config "$stacks/conf" --once "$target" --seconds 50 \
    --rate 10000 --out "$stacks/profile" >"$stacks/log" 2>&1 &
  worker=$!
  while kill -0 $worker 2>/dev/null; do
    rss_mb $(family $worker) 2>/dev/null && echo
    read -rt 0.05 <> <(:) || :
  done >"$stacks/rss"
  wait $worker
  kill $target 2>/dev/null
  distinct=$("$B/tests/tools/folded" "$stacks/profile" | wc -l)
  row worker_rss_mb_100k_stacks "$(sort -g "$stacks/rss" | tail -1)" MiB - - - "$distinct"
  rm -rf "$stacks"
  trap - EXIT
fi
