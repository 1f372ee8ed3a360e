# The cost of profiling everything all the time.

SERVICES=50
PROGRAMS=5 # programs of the services, each with debug information

if wanted continuous_cpu_pct continuous_cpu_64cpus_pct continuous_rss_mb \
  continuous_bytes_per_sample continuous_us_per_sample; then
  e2e_start demo
  # Together these programs keep the machine busy.
  for ((i = 1; i <= PROGRAMS; i++)); do cp "$STATE/bin/demo" "$STATE/bin/demo$i"; done
  for ((i = PROGRAMS + 1; i <= SERVICES; i++)); do
    ln "$STATE/bin/demo$((i % PROGRAMS + 1))" "$STATE/bin/demo$i"
  done
  for ((i = 1; i <= SERVICES; i++)); do
    background "demo$i" "$STATE/bin/demo$i" 1 $(((100 * $(nproc) + SERVICES - 1) / SERVICES))
    stoker_cli service add "bench$i" --exe "$STATE/bin/demo$i" >/dev/null || exit 1
    post $P/continuous "{\"service\":\"bench$i\"}" -o /dev/null
  done
  stored() { sqlite3 "$STATE/data/stoker.db" "$1"; }
  all_watched() { [ "$(stored 'SELECT COUNT(DISTINCT series) FROM profile_window')" -eq $SERVICES ]; }
  wait_for 120 all_watched || exit 1
  pids="$(<"$STATE/pid/worker") $(pgrep -P "$(<"$STATE/pid/worker")")"
  cut() { stored 'SELECT MAX(end_ms) FROM profile_window'; }
  after() { [ "$(cut)" -gt "$1" ]; }
  warm=$(cut)
  wait_for 90 after $((warm + 60000))
  begun=$(cut) before=$(ticks $pids) since=$(date +%s%N)
  # The requests below start processes, which a worker would look at, so they
  # are sent after this minute.
  read -rt 58 <> <(:)
  wait_for 90 after $((begun + 60000))
  spent=$(($(ticks $pids) - before)) wall=$(($(date +%s%N) - since))
  samples=$(stored "SELECT SUM(sample_count) FROM profile_window WHERE level = 0 AND start_ms >= $begun - 1000")
  bytes=$(stored "SELECT SUM(length) FROM profile_window WHERE level = 0 AND start_ms >= $begun - 1000")
  row continuous_cpu_pct "$(awk "BEGIN { printf \"%.2f\", $spent / $(getconf CLK_TCK) * 1e9 / $wall * 100 }")" % - - - $SERVICES
  us=$(awk "BEGIN { print $spent / $(getconf CLK_TCK) * 1e6 / $samples }")
  row continuous_us_per_sample "$(printf %.0f "$us")" us - - - "$samples"
  row continuous_cpu_64cpus_pct "$(awk "BEGIN { printf \"%.1f\", $us * 64 * 19 / 1e4 }")" % - - - "$samples"
  row continuous_bytes_per_sample "$(awk "BEGIN { printf \"%.0f\", $bytes / $samples }")" B - - - "$samples"
  row continuous_rss_mb "$(rss_mb $pids)" MiB - - - $SERVICES
  e2e_stop
  trap - EXIT
fi
