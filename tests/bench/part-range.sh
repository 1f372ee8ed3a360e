# The cost of a range of time: GET merge as a flame graph, in a store with 30
# days of 20 services, each drawn from a recorded program.

# --- programs that run until they are killed; each prints its pids ------------
at_work() { "$@" >/dev/null 2>&1 </dev/null & worker_pid=$!; }
work_cc1() {
  awk 'BEGIN { for (i = 0; i < 6000; i++) printf "int f%d(int *a, int n)\n" \
    "{ int s = %d; for (int i = 0; i < n; i++) { if (a[i] %% %d == 0) s += a[i] * %d; else\n" \
    "switch (a[i] & 7) { case 1: s ^= i; break; case 3: s -= a[(i * %d) %% n]; break;\n" \
    "default: s += n / (i + 1); } } return s; }\n", i, i, i + 2, i * 3, i + 1 }' >"$made/big.c"
  at_work "$(gcc -print-prog-name=cc1)" -quiet -O2 "$made/big.c" -o "$made/big.s"
}
work_perl() {
  at_work perl -e 'my %h; while (1) {
    my @w = map { join "", map { chr(97 + rand 26) } 1 .. 5 } 1 .. 2000;
    $h{$_}++ for @w; my @s = sort { $h{$a} <=> $h{$b} || $a cmp $b } keys %h;
    my $t = join " ", @w; my @m = $t =~ /(\b[a-f]\w+[x-z]\b)/g;
    $t =~ s/([aeiou])/uc $1/ge; %h = () if keys %h > 50000;
    my %l = map { $_ => sprintf "%s %d", $_, length } @m, @s; }'
}
work_python3() {
  at_work python3 -c 'import json, re, random, collections
docs = [{"id": i, "tags": [str(random.random()) for _ in range(5)]} for i in range(2000)]
while True:
    d = json.loads(json.dumps(docs, indent=1))
    collections.Counter(w for x in d for w in re.findall(r"\d+", x["tags"][0]))
    sorted(d, key=lambda x: x["tags"][1])'
}
work_sqlite3() {
  {
    echo "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
      INSERT INTO t SELECT i, hex(randomblob(8)), abs(random()) % 1000 / 3.0 FROM n;"
    for ((i = 0; i < 2000; i++)); do
      echo "SELECT count(*), avg(c) FROM t WHERE b LIKE '%$i%' GROUP BY substr(b, 1, 2) ORDER BY 2;
        UPDATE t SET c = c + 1 WHERE a % 7 = $((i % 7));
        SELECT json_group_array(b) FROM (SELECT b FROM t ORDER BY c LIMIT 5000);"
    done
  } >"$made/work.sql"
  sqlite3 :memory: <"$made/work.sql" >/dev/null 2>&1 &
  worker_pid=$!
}
work_xz() {
  xz -c </dev/urandom >/dev/null 2>&1 &
  worker_pid=$!
}
work_api() { # Stoker itself
  at_work wrk -t 1 -c 16 -d 60 -H "Authorization: Bearer $TOKEN" "http://127.0.0.1:$PORT/api/v1/services"
  pids=$(pgrep -f "^$STATE/bin/stoker-api" | paste -sd,)
}

# Two at a time, one for each CPU of a small machine.
record() { # program
  command -v "$1" >/dev/null || [ "$1" = cc1 ] || [ "$1" = api ] || return 0
  local worker_pid pids=
  "work_$1"
  "$B/stoker-worker" --config /dev/null --once "${pids:-$worker_pid}" --seconds 5 --rate 4999 \
    --out "$made/$1.pb.gz" >"$made/$1.log" 2>&1 || cat "$made/$1.log" >&2
  kill -KILL ${pids:+$([ "$1" = api ] || echo "$pids")} "$worker_pid" 2>/dev/null
  wait "$worker_pid" 2>/dev/null
}
record_all() {
  local pair first
  for pair in "cc1 sqlite3" "python3 perl" "xz api"; do
    record "${pair% *}" &
    first=$!
    record "${pair#* }" &
    wait "$first" $!
  done
}

# --- requests ---------------------------------------------------------------
ask_range() { # service, ms: prints the time that one request took
  api GET "$P/merge?service=bench$1&profileType=cpu&from=$((end - $2))&to=$end&format=html" \
    --compressed -o /dev/null -w '%{http_code} %{time_total}\n' |
    awk '$1 != 200 { print "bench: " $0 > "/dev/stderr"; exit 1 } { print $2 * 1000 }'
}
top_function() { # service
  api GET "$P/merge?service=bench$1&profileType=cpu&from=$((end - 86400000))&to=$end" |
    jq -r '.topFunctions[0].funcName'
}
ask_trend() { # service, ms: like ask_range, for its costliest function
  api GET "$P/history/series?service=bench$1&profileType=cpu&from=$((end - $2))&to=$end" \
    -G --data-urlencode "function=${tops[$1]}" -o /dev/null -w '%{http_code} %{time_total}\n' |
    awk '$1 != 200 { print "bench: " $0 > "/dev/stderr"; exit 1 } { print $2 * 1000 }'
}
rank() { awk -v q="$1" '{ v[NR] = $1 } END { i = int(NR * q + 0.999); print v[i < 1 ? 1 : i] }'; }
# Drops the store's files from the page cache.
forget() {
  echo 3 2>/dev/null >/proc/sys/vm/drop_caches && return
  find "$STATE/data" -type f -exec dd if={} iflag=nocache count=0 status=none \;
}

measure_ranges() {
  for range in hour:3600 6h:21600 day:86400 week:604800 month:2592000; do
    name=range_${range%:*} ms=${range#*:}000
    for ((i = 0; i < of; i++)); do forget; ask_range "$i" "$ms"; done | sort -g >"$STATE/cold"
    for ((i = 0; i < of + ROUNDS * 20; i++)); do ask_range $((i % of)) "$ms"; done |
      tail -n +$((of + 1)) | sort -g >"$STATE/warm"
    row "${name}_ms" "$(rank 0.5 <"$STATE/warm")" ms - - - $((ROUNDS * 20))
    row "${name}_p99_ms" "$(rank 0.99 <"$STATE/warm")" ms - - - $((ROUNDS * 20))
    row "${name}_cold_ms" "$(rank 0.5 <"$STATE/cold")" ms - - - "$of"
    row "${name}_cold_p99_ms" "$(rank 0.99 <"$STATE/cold")" ms - - - "$of"
  done
  tops=()
  for ((i = 0; i < of; i++)); do tops+=("$(top_function "$i")"); done
  for range in hour:3600 day:86400 month:2592000; do
    name=trend_${range%:*} ms=${range#*:}000
    for ((i = 0; i < of + ROUNDS * 20; i++)); do ask_trend $((i % of)) "$ms"; done |
      tail -n +$((of + 1)) | sort -g >"$STATE/warm"
    row "${name}_ms" "$(rank 0.5 <"$STATE/warm")" ms - - - $((ROUNDS * 20))
    row "${name}_p99_ms" "$(rank 0.99 <"$STATE/warm")" ms - - - $((ROUNDS * 20))
  done
}

# Asks Grafana's querier, as Profiles Drilldown does; prints the time of the
# request.
ask_grafana() { # method, selector, from, to, more members
  api POST "/querier.v1.QuerierService/$1" -H 'Content-Type: application/json' --compressed \
    -d "{\"profileTypeID\":\"process_cpu:cpu:nanoseconds:cpu:nanoseconds\",\"labelSelector\":\"${2//\"/\\\"}\",\"start\":$3,\"end\":$4$5}" \
    -o "$STATE/reply" -w '%{http_code} %{time_total}\n' |
    awk '$1 != 200 { print "bench: " $0 > "/dev/stderr"; exit 1 } { print $2 * 1000 }'
}
rest_flame() { # service, from
  api GET "$P/merge?service=bench$1&profileType=cpu&from=$2&to=$end&format=json" --compressed -o /dev/null \
    -w '%{time_total}\n' | awk '{ print $1 * 1000 }'
}
rest_series() { # service, from
  api GET "$P/history/series?service=bench$1&profileType=cpu&from=$2&to=$end" --compressed -o /dev/null \
    -w '%{time_total}\n' | awk '{ print $1 * 1000 }'
}
beside_rest() { # files with ms, of Grafana's calls and of REST's
  local ours theirs
  ours=$(sort -g "$STATE/$1" | rank 0.5)
  theirs=$(sort -g "$STATE/$2" | rank 0.5)
  row "grafana_$1_ms" "$ours" ms REST "$theirs" "$(awk "BEGIN { printf \"%.2f\", $theirs / $ours }")" $((ROUNDS * 20))
}
# 30 days, from a different hour each time, so that no sum has been kept.
measure_grafana() {
  local i from n=$((ROUNDS * 20)) month=2592000000
  tops=()
  for ((i = 0; i < of; i++)); do tops+=("$(top_function "$i")"); done
  for ((i = 0; i < n; i++)); do
    from=$((end - month + i * 3600000))
    # the request that comes first reads files that are not in the page cache
    ((i % 2)) || rest_flame $((i % of)) $((from + 1800000)) >>"$STATE/flame.rest"
    ask_grafana SelectMergeStacktraces "{service_name=\"bench$((i % of))\"}" $from $end ',"maxNodes":16384' >>"$STATE/flame"
    ((i % 2 == 0)) || rest_flame $((i % of)) $((from + 1800000)) >>"$STATE/flame.rest"
    ask_grafana SelectMergeStacktraces "{service_name=\"bench$((i % of))\"}" $((from + 900000)) $end \
      ",\"maxNodes\":16384,\"format\":\"PROFILE_FORMAT_SANDWICH\",\"sandwichFunction\":$(jq -n --arg f "${tops[$((i % of))]}" '$f')" >>"$STATE/sandwich"
    # the flame graph's request has already computed the sum
    ask_grafana SelectMergeStacktraces "{service_name=\"bench$((i % of))\"}" $from $end \
      ",\"stackTraceSelector\":{\"callSite\":[{\"name\":$(jq -n --arg f "${tops[$((i % of))]}" '$f')}]}" >>"$STATE/call_site"
    ask_grafana SelectSeries "{service_name=\"bench$((i % of))\"}" $from $end ',"step":7200' >>"$STATE/series"
    rest_series $((i % of)) $from >>"$STATE/series.rest"
  done
  for ((i = 0; i < 5; i++)); do
    ask_grafana SelectMergeStacktraces "{service_name=~\"bench.*\"}" $((end - month + i * 3600000)) $end '' >>"$STATE/flame_all"
    ask_grafana SelectSeries "{}" $((end - month + i * 3600000)) $end ',"step":7200,"groupBy":["service_name"]' >>"$STATE/series_all"
  done
  beside_rest flame flame.rest
  beside_rest sandwich flame.rest
  beside_rest call_site flame.rest
  beside_rest series series.rest
  for i in flame_all series_all; do row "grafana_${i}_ms" "$(sort -g "$STATE/$i" | rank 0.5)" ms - - - 5; done
}

names=
for range in hour 6h day week month; do
  names+=" range_${range}_ms range_${range}_p99_ms range_${range}_cold_ms range_${range}_cold_p99_ms"
done
for range in hour day month; do names+=" trend_${range}_ms trend_${range}_p99_ms"; done
grafana="grafana_flame_ms grafana_sandwich_ms grafana_call_site_ms grafana_series_ms grafana_flame_all_ms grafana_series_all_ms"
if wanted $names $grafana window_bytes_per_sample service_day_mb month_seed_s ui_range_change_ms; then
  of=${RANGE_SERVICES:-20}
  e2e_start
  kill "$(<"$STATE/pid/worker")" # its retention uses another clock than ours
  wait_for 20 process_gone "$(<"$STATE/pid/worker")"
  install -m 755 "$B/tests/bench/month" "$STATE/bin/"
  made=$STATE/made
  mkdir "$made"
  record_all
  chmod -R a+rX "$made"
  # At the end of a day most hours, minutes and windows are not yet in a coarser
  # rollup.
  end=$((($(date +%s) / 86400 * 86400 - 73) * 1000))
  began=$(date +%s%3N)
  read -r windows bytes samples <<<"$(as_user "$STATE/bin/month" "$STATE/data" 550e8400 $end "$of" "$made"/*.pb.gz)"
  [ -n "${samples:-}" ] || { echo "bench: no month could be made" >&2; exit 1; }
  row month_seed_s "$(awk "BEGIN { print ($(date +%s%3N) - $began) / 1000 }")" s - - - 1
  row window_bytes_per_sample "$(awk "BEGIN { printf \"%.2f\", $bytes / $samples }")" bytes - - - "$windows"
  row service_day_mb "$(awk "BEGIN { printf \"%.2f\", $bytes / $of / 30 / 1048576 }")" MiB - - - "$windows"
  sync
  ! wanted $names || measure_ranges
  ! wanted $grafana || measure_grafana
  if wanted ui_range_change_ms && has_browser; then
    row ui_range_change_ms "$(in_browser range "$end" $(seq -f bench%g 0 $((of - 1))) | awk '{ print $2 }')" \
      ms goal 250 - $((ROUNDS * of * 4))
  fi
  e2e_stop
  trap - EXIT
fi
