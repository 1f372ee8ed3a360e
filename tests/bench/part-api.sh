# The cost of a request, through nginx and the pool.

# Prints the requests per second of one wrk run: 1 thread, 32 connections.
req_s() { # url path, wrk arguments
  wrk -t1 -c32 -d"${SECONDS_EACH:-3}s" -H "Authorization: Bearer $TOKEN" "$@" |
    awk '/^Requests\/sec/ { print $2 }'
}

# Prints the CPU time of the pool so far, in µs.
pool_us() {
  local pid
  for pid in $(pgrep -x stoker-api -P "$(<"$STATE/pid/api")"); do cat "/proc/$pid/stat"; done |
    awk -v hz="$(getconf CLK_TCK)" '{ n += $14 + $15 } END { printf "%.0f", n * 1e6 / hz }'
}

# Measures a path and nginx serving a file of the same size, in turns.
against_static() { # name, path
  local body=$STATE/nginx/static/file ours=() theirs=() cpu=() i before r
  mkdir -p "${body%/*}"
  api GET "$2" -o "$body"
  for ((i = 0; i < ROUNDS; i++)); do
    theirs+=("$(req_s "http://127.0.0.1:$PORT/bench/file")")
    before=$(pool_us)
    r=$(req_s "http://127.0.0.1:$PORT$2")
    ours+=("$r")
    cpu+=("$(echo "$(pool_us) $before $r ${SECONDS_EACH:-3}" | awk '{ print ($1 - $2) / ($3 * $4) }')")
  done
  local a b
  a=$(printf '%s\n' "${ours[@]}" | median)
  b=$(printf '%s\n' "${theirs[@]}" | median)
  row "$1" "$a" req/s nginx-static "$b" "$(echo "$a $b" | awk '{ printf "%.3f", $1 / $2 }')" "$ROUNDS"
  row "$1_cpu_us" "$(printf '%s\n' "${cpu[@]}" | median)" us - - - "$ROUNDS"
}

write_p99() {
  cat >"$STATE/write.lua" <<'EOF'
local n, seed = 0, tostring(os.time())
request = function()
  n = n + 1
  return wrk.format("POST", "/api/v1/services",
    {["Content-Type"] = "application/json", ["Authorization"] = wrk.headers["Authorization"]},
    string.format('{"name":"bench-%s-%d","match":{"exe":"/usr/bin/bench-%d"}}', seed, n, n))
end
EOF
  wrk -t1 -c4 -d5s --latency -s "$STATE/write.lua" -H "Authorization: Bearer $TOKEN" \
    "http://127.0.0.1:$PORT" >"$STATE/write.txt"
  ! grep -q 'Non-2xx' "$STATE/write.txt" || { cat "$STATE/write.txt" >&2; return 1; }
  awk '$1 == "99%" { v = $2; u = v; gsub(/[a-z]/, "", v); gsub(/[0-9.]/, "", u)
    print v * (u == "us" ? 0.001 : u == "s" ? 1000 : 1) }' "$STATE/write.txt"
}

rss_mb() { # pids: resident memory, a share of each shared page
  local pid
  for pid; do awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup"; done |
    awk '{ n += $1 } END { printf "%.1f", n / 1024 }'
}

if wanted api_health_vs_static api_health_vs_static_cpu_us api_profile_get \
  api_profile_get_cpu_us api_write_p99_ms api_rss_mb flamegraph_50k_nodes_ms; then
  # Kept results are off, since requests for them would compute nothing.
  API_CONF='kept_bytes = 0' e2e_start
  cat >"$STATE/nginx/extra.conf" <<EOF
location /bench/ { alias $STATE/nginx/static/; access_log off; }
EOF
  sed -i "s|include $STATE/nginx/site.conf;|& include $STATE/nginx/extra.conf;|" "$STATE/nginx/alone.conf"
  nginx -s reload -p "$STATE/nginx" -c "$STATE/nginx/alone.conf" -e "$STATE/log/stoker-error.log"
  install -m 755 "$B/tests/bench/seed" "$STATE/bin/"
  seed() { as_user "$STATE/bin/seed" "$STATE/data" 550e8400 bench "$@" 2>/dev/null; }
  big=$(seed 50000 10) small=$(seed 1000 5)
  [ -n "$big" ] && [ -n "$small" ] || { echo "bench: no profile could be stored" >&2; exit 1; }

  if wanted api_health_vs_static api_health_vs_static_cpu_us; then
    against_static api_health_vs_static /healthz
  fi
  if wanted api_profile_get api_profile_get_cpu_us; then
    against_static api_profile_get "$P/$small"
  fi
  if wanted api_write_p99_ms; then
    row api_write_p99_ms "$(for ((i = 0; i < ROUNDS; i++)); do write_p99; done | median)" ms - - - "$ROUNDS"
  fi
  if wanted flamegraph_50k_nodes_ms; then
    row flamegraph_50k_nodes_ms "$(for ((i = 0; i < ROUNDS * 4; i++)); do
      api GET "$P/$big/flamegraph?format=html" -o /dev/null -w '%{time_total}\n'
    done | awk '{ print $1 * 1000 }' | median)" ms - - - $((ROUNDS * 4))
  fi
  row api_rss_mb "$(rss_mb $(pgrep -x stoker-api -P "$(<"$STATE/pid/api")"))" MiB - - - 1
  e2e_stop
  trap - EXIT
fi
