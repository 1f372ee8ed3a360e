# What a range of time costs: GET merge as flame graph, of a store that 30 days
# of 20 services have filled.

range_ms() { # from, n: sorted ms of n requests of different services
  local i
  for ((i = 0; i < $2; i++)); do
    api GET "$P/merge?service=bench$((i % of))&profileType=cpu&from=$1&format=html" \
      -o /dev/null -w '%{http_code} %{time_total}\n'
  done | awk '$1 != 200 { print "bench: " $0 > "/dev/stderr"; exit 1 } { print $2 * 1000 }' | sort -g
}
rank() { awk -v q="$1" '{ v[NR] = $1 } END { i = int(NR * q + 0.999); print v[i < 1 ? 1 : i] }'; }
# Leaves nothing of the store in the page cache.
forget() {
  local f
  sync
  for f in "$STATE"/data/segments/* "$STATE"/data/stoker.db*; do
    dd if="$f" iflag=nocache count=0 status=none
  done
}

ranges="range_hour_ms range_day_ms range_month_ms"
if wanted $ranges range_hour_cold_ms range_day_cold_ms range_month_cold_ms range_hour_p99_ms \
  range_day_p99_ms range_month_p99_ms window_bytes_per_sample service_day_mb month_seed_s; then
  of=${RANGE_SERVICES:-20}
  e2e_start
  kill "$(<"$STATE/pid/worker")" # its retention knows another clock than ours
  wait_for 20 process_gone "$(<"$STATE/pid/worker")"
  install -m 755 "$B/tests/bench/month" "$STATE/bin/"
  began=$(date +%s%3N)
  read -r windows bytes samples <<<"$(as_user "$STATE/bin/month" "$STATE/data" 550e8400 "$of")"
  [ -n "${samples:-}" ] || { echo "bench: no month could be made" >&2; exit 1; }
  row month_seed_s "$(awk "BEGIN { print ($(date +%s%3N) - $began) / 1000 }")" s - - - 1
  row window_bytes_per_sample "$(awk "BEGIN { printf \"%.2f\", $bytes / $samples }")" bytes - - - "$windows"
  row service_day_mb "$(awk "BEGIN { printf \"%.2f\", $bytes / $of / 30 / 1048576 }")" MiB - - - "$windows"
  for range in hour:1h day:1d month:30d; do
    name=range_${range%:*}
    forget
    range_ms "now-${range#*:}" "$of" >"$STATE/cold"
    range_ms "now-${range#*:}" $((ROUNDS * 20)) >"$STATE/warm"
    row "${name}_cold_ms" "$(rank 0.5 <"$STATE/cold")" ms - - - "$of"
    row "${name}_ms" "$(rank 0.5 <"$STATE/warm")" ms - - - $((ROUNDS * 20))
    row "${name}_p99_ms" "$(rank 0.99 <"$STATE/warm")" ms - - - $((ROUNDS * 20))
  done
  e2e_stop
  trap - EXIT
fi
