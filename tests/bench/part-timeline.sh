# The disk space for the time and thread of every sample.

blob_bytes() { # id, kind
  sqlite3 "$STATE/data/stoker.db" \
    "SELECT length FROM blob WHERE session = '$1' AND kind = '$2' AND deleted_ms = 0"
}
# Prints bytes per sample, and bytes per byte of the profile.
timeline_costs() {
  local id result
  id=$(post $P/start '{"service":"bench-timeline","profileType":"cpu","durationSeconds":5,"sampleRate":999}' |
    jq -r '.id // error')
  result=$(finished "$id")
  awk -v t="$(blob_bytes "$id" timeline)" -v p="$(blob_bytes "$id" pprof)" \
    -v n="$(jq .sampleCount <<<"$result")" 'BEGIN {print t / n, t / p}'
}

if wanted timeline_bytes_per_sample timeline_share; then
  e2e_start demo
  background demo "$STATE/bin/demo" 2 100
  service bench-timeline "$STATE/bin/demo" || exit 1
  for ((i = 0; i < ROUNDS; i++)); do timeline_costs; done >"$STATE/costs"
  row timeline_bytes_per_sample "$(cut -d' ' -f1 "$STATE/costs" | median)" bytes - - - "$ROUNDS"
  row timeline_share "$(cut -d' ' -f2 "$STATE/costs" | median)" 1 - - - "$ROUNDS"
  e2e_stop
  trap - EXIT
fi
