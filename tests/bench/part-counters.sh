# The cost of reading counters of Go programs from outside all the time.

COUNTERS_SERVICES=20 # with three types each
COUNTERS_S=10        # one window

go_counters() {
  wanted counters_cpu_ms counters_cpu_pct counters_hole_ms || return 0
  local program=$B/targets/counts-1.24 i pids begun before spent wall since windows never
  mkdir -p "$B/targets"
  tests/lib/go build 1.24 "$program" tests/targets/go/counts 2>"$B/counters.why" ||
    { echo "no Go: $(tail -n 1 "$B/counters.why")" >&2; return; }
  WORKER_CONF="[continuous]
counters = ${COUNTERS_S}s"
  e2e_start
  mkfifo "$STATE/never" "$STATE/orders"
  exec {never}<>"$STATE/never" {orders}<>"$STATE/orders"
  install -m 755 "$program" "$STATE/bin/go1"
  for ((i = 1; i <= COUNTERS_SERVICES; i++)); do
    [ $i -eq 1 ] || ln "$STATE/bin/go1" "$STATE/bin/go$i"
    # The first program has about 1000 stacks, many of which grow in each
    # window.
    "$STATE/bin/go$i" block mutex $([ $i -gt 1 ] || echo fine) \
      <&"$([ $i -gt 1 ] && echo "$never" || echo "$orders")" >/dev/null 2>&1 &
    post /api/v1/services "{\"name\":\"go$i\",\"kind\":\"go\",\"match\":{\"exe\":\"$STATE/bin/go$i\"}}" -o /dev/null
    post $P/continuous "{\"service\":\"go$i\",\"profileTypes\":[\"alloc\",\"block\",\"mutex\"]}" -o /dev/null
  done
  stored() { sqlite3 "$STATE/data/stoker.db" "$1"; }
  windows() { stored "SELECT COUNT(*) FROM profile_window WHERE level = 0 AND end_ms >= ${1:-0}"; }
  all_have() {
    [ "$(stored "SELECT COUNT(*) FROM (SELECT 1 FROM profile_window WHERE level = 0
      GROUP BY series HAVING COUNT(*) >= $1)")" -eq $((3 * COUNTERS_SERVICES)) ]
  }
  wait_for 120 all_have 1 || exit 1
  pids="$(<"$STATE/pid/worker") $(pgrep -P "$(<"$STATE/pid/worker")")"
  begun=$(date +%s%3N) before=$(ticks $pids) since=$(date +%s%N)
  echo many 1200 >&"$orders"
  read -rt 60 <> <(:)
  spent=$(($(ticks $pids) - before)) wall=$(($(date +%s%N) - since)) windows=$(windows "$begun")
  row counters_cpu_ms "$(awk "BEGIN { printf \"%.1f\", $spent / $(getconf CLK_TCK) * 1e3 / $windows }")" ms - - - "$windows"
  row counters_cpu_pct "$(awk "BEGIN { printf \"%.2f\", $spent / $(getconf CLK_TCK) * 1e9 / $wall * 100 * $COUNTERS_S / 60 }")" % - - - "$windows"
  row counters_hole_ms "$(stored "SELECT MAX(hole) FROM (SELECT start_ms - LAG(end_ms)
    OVER (PARTITION BY series ORDER BY start_ms) AS hole FROM profile_window WHERE level = 0)")" ms - - - "$windows"
  exec {never}>&- {orders}>&-
  e2e_stop
  trap - EXIT
  WORKER_CONF=
}
go_counters
