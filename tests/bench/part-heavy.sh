# Large profiles: their cost, and their effect on other requests.

# Two profiles, each with 240 000 different stacks of 16 calls of 60 000
# functions.
heavy_service() { # token
  TOKEN=$1 post /api/v1/services '{"name":"wide","match":{"exe":"/usr/bin/wide"}}' -o /dev/null
}
heavy_upload() { # seed: prints the time in s, and then the id
  api POST "/api/v1/profiling/sessions?service=wide&type=cpu" -o "$STATE/upload.json" \
    -H 'Content-Type: application/octet-stream' --data-binary "@$STATE/wide.$1" \
    -w '%{time_total} ' && jq -r '.id // error' "$STATE/upload.json"
}
heavy_ms() { # path: the median time of whole replies; nan if one fails
  local i
  for ((i = 0; i < ROUNDS; i++)); do
    api GET "$1" -f -o /dev/null -w '%{time_total}\n' || echo nan
  done | awk '{ print $1 * 1000 }' | median
}
pprof_ms() { # measured once, since it takes half a minute; "-" without pprof
  local goroot from
  goroot=$(tests/lib/go root 1.22) || { echo -; return; }
  from=${EPOCHREALTIME/./}
  HOME=$STATE GOROOT=$goroot GOTOOLCHAIN=local \
    "$goroot/bin/go" tool pprof -symbolize=none -top -diff_base "$STATE/wide.1" "$STATE/wide.2" \
    >/dev/null 2>"$STATE/pprof.why" || { echo -; return; }
  echo $(((${EPOCHREALTIME/./} - from) / 1000))
}
# 24 comparisons at once by one tenant's viewer and one by another's are
# repeated as soon as they end, while one client asks for /healthz.
health_p99() {
  local i pids=()
  again() { while :; do curl -s -o /dev/null -H "Authorization: Bearer $1" "http://127.0.0.1:$PORT$2"; done; }
  for ((i = 0; i < 24; i++)); do
    again "$TOKEN" "$heavy_compare" &
    pids+=($!)
  done
  again "$heavy_other" "$heavy_others" &
  pids+=($!)
  wrk -t1 -c1 -d10s --latency "http://127.0.0.1:$PORT/healthz" >"$STATE/health.txt"
  kill "${pids[@]}"
  wait "${pids[@]}" 2>/dev/null
  awk '$1 == "99%" { v = $2; u = v; gsub(/[a-z]/, "", v); gsub(/[0-9.]/, "", u)
    print v * (u == "us" ? 0.001 : u == "s" ? 1000 : 1) }' "$STATE/health.txt"
}
peak_mb() { # the most memory that one process has held
  local pid
  for pid in $(pgrep -x stoker-api -P "$(<"$STATE/pid/api")"); do
    awk '/^VmHWM/ { printf "%.1f\n", $2 / 1024 }' "/proc/$pid/status"
  done | sort -g | tail -n 1
}

if wanted health_p99_under_heavy_ms compare_240k_ms diff_240k_ms upload_240k_ms api_peak_mb; then
  # Kept results are off, since requests for them would compute nothing.
  API_CONF='kept_bytes = 0' WORKER_CONF=$'[scope.other]\nexe = *' e2e_start
  for n in 1 2; do "$B/tests/tools/wide" $n 240000 16 60000 >"$STATE/wide.$n"; done
  heavy_service "$TOKEN"
  read -r upload_s heavy_one < <(heavy_upload 1)
  read -r upload_again_s heavy_two < <(heavy_upload 2)
  sides="baseProfileId=$heavy_one&comparisonProfileId=$heavy_two"
  heavy_compare="$P/compare?$sides"
  rival=$(pprof_ms)
  against() { # name, path
    local ours
    ours=$(heavy_ms "$2")
    row "$1" "$ours" ms 'go tool pprof -diff_base' "$rival" \
      "$([ "$rival" = - ] && echo - || awk "BEGIN { printf \"%.2f\", $rival / $ours }")" "$ROUNDS"
  }
  row upload_240k_ms "$(printf '%s\n' "$upload_s" "$upload_again_s" | awk '{ print $1 * 1000 }' | median)" ms - - - 2
  against compare_240k_ms "$heavy_compare"
  against diff_240k_ms "$P/diff?$sides&format=html"
  if wanted health_p99_under_heavy_ms; then
    heavy_other=$(as_user "$STATE/bin/stoker" token create other --role admin \
      --tenant other --config "$STATE/stoker.conf" 2>/dev/null)
    heavy_service "$heavy_other"
    read -r _ heavy_three < <(TOKEN=$heavy_other heavy_upload 1)
    heavy_others="$P/$heavy_three/flamegraph?format=svg"
    row health_p99_under_heavy_ms "$(health_p99)" ms goal 50 - 1
  fi
  row api_peak_mb "$(peak_mb)" MiB - - - 1
  e2e_stop
  trap - EXIT
fi
