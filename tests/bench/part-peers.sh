# With ONLY=peers: the cost of other tools for the same work, in turns with
# Stoker. Each watches a program whose shares are known (tests/bench/peers) and
# shows its functions: the speed that is left to the program, what the tool
# needs, and how far off its shares are. Versions and rows go to $B/peers.md,
# too.

: "${PEERS_S:=10}" # how long a tool watches a program

# `used` measures the processes of a tool. Each *_watch watches $pid for PEERS_S
# and writes a line "WEIGHT STACK" for each stack to $dir/stacks.
used() { tests/bench/usage "$dir/usage" "$@"; }
stoker_watch() { # type
  used "$B/stoker-worker" --config /dev/null --once "$pid" --seconds "$PEERS_S" --type "$1" --out "$dir/profile" >/dev/null
  "$B/tests/tools/folded" "$dir/profile" $([ "$1" = cpu ] || echo values) | awk '{ n = $NF; $NF = ""; print n, $0 }' >"$dir/stacks"
}
stoker_cpu_watch() { stoker_watch cpu; }
stoker_alloc_watch() { stoker_watch alloc; }
stoker_block_watch() { stoker_watch block; }
perf_watch() {
  used perf record -q -B -N -e cpu-clock -F 99 --call-graph dwarf -p "$pid" -o "$dir/data" -- sleep "$PEERS_S"
  used perf script -i "$dir/data" --no-inline -F ip,sym >"$dir/text"
  awk 'BEGIN { RS = "" } { gsub(/\n/, ";"); print 1, $0 }' "$dir/text" >"$dir/stacks"
}
heaptrack_watch() {
  sleep "$PEERS_S"
  kill "$pid"
  wait "$pid"
  used sh -c "$heaptrack_interpret <'$dir/heap' >'$dir/read'" 2>/dev/null
  used heaptrack_print "$dir/read" -F "$dir/text" >/dev/null
  awk '{ n = $NF; $NF = ""; print n, $0 }' "$dir/text" >"$dir/stacks"
}
offcputime_watch() {
  used offcputime -p "$pid" "$PEERS_S" >"$dir/text"
  awk 'BEGIN { RS = "" } { gsub(/\n/, ";"); print $NF, $0 }' "$dir/text" >"$dir/stacks"
}
pprof_watch() {
  used curl -sS -o "$dir/profile" "http://$(<"$dir/address")/debug/pprof/profile?seconds=$PEERS_S"
  used env GOTOOLCHAIN=local GOROOT="$peers_go" HOME="$dir" "$peers_go/bin/go" tool pprof -top "$dir/profile" >"$dir/text" 2>/dev/null
  awk '/share_/ { print $5 + 0, $NF; rest -= $5 } END { print 100 + rest, "rest" }' "$dir/text" >"$dir/stacks"
}
cprofile_watch() {
  sleep "$PEERS_S"
  kill -INT "$pid"
  wait "$pid"
  used /usr/bin/python3 -c 'import pstats, sys
for (_, _, name), row in pstats.Stats(sys.argv[1]).stats.items(): print(row[2], name)' "$dir/data" >"$dir/stacks"
}
cpuprof_watch() {
  sleep "$PEERS_S"
  kill "$pid"
  wait "$pid"
  used jq -r '([.nodes[] | {(.id | tostring): .callFrame.functionName}] | add) as $name
    | .samples[] | "1 " + $name[tostring]' "$dir"/*.cpuprofile >"$dir/stacks"
}
jfr_watch() {
  used jcmd "$pid" JFR.start name=watch settings=profile >/dev/null
  sleep "$PEERS_S"
  used jcmd "$pid" JFR.stop name=watch filename="$dir/watch.jfr" >/dev/null
  used jfr print --events jdk.ExecutionSample "$dir/watch.jfr" >"$dir/text"
  awk '/stackTrace = \[/ { getline; print 1, $0 }' "$dir/text" >"$dir/stacks"
}

# The programs: each prints its rounds and CPU time to $dir/out.
share_c() { exec "$peers/share" work; }
share_allocate() { exec "$peers/share" allocate; }
share_wait() { exec "$peers/share" wait; }
share_go() { exec "$peers/share-go" "$dir/address"; }
share_python() { exec /usr/bin/python3 "$@" tests/bench/peers/share.py; }
share_node() { exec node "$@" tests/bench/peers/share.js; }
share_java() { exec java -cp "$peers" Share; }
# Some tools are loaded into a program, or start it.
share_allocate_heaptrack() { LD_PRELOAD=$heaptrack DUMP_HEAPTRACK_OUTPUT=$dir/heap share_allocate; }
share_python_cprofile() { share_python -m cProfile -o "$dir/data"; }
share_node_cpuprof() { share_node --cpu-prof --cpu-prof-dir="$dir"; }

peer_lines() { wc -l <"$dir/out"; }
has_peer_lines() { [ "$(peer_lines)" -ge "$1" ]; }
# Prints rounds per second of the program's CPU time between two of its lines.
pace() { awk "NR == $1 { n = \$1; s = \$2 } NR == $2 { print (\$1 - n) / (\$2 - s) }" "$dir/out"; }
# Prints the pace of a program. If a tool watches it, also prints the tool's CPU
# seconds, the MB that its largest process held, the seconds from the end of the
# watch to the shares, and the largest error of a share in points.
watched() { # program, tool|alone
  local dir pid from to began
  dir=$(mktemp -d "$peers/XXXXXX")
  if declare -F "$1_$2" >/dev/null; then "$1_$2"; else "$1"; fi >"$dir/out" 2>"$dir/log" &
  pid=$!
  wait_for 30 has_peer_lines 50
  from=$(peer_lines) began=$EPOCHREALTIME
  if [ "$2" = alone ]; then
    wait_for 60 has_peer_lines $((from + 150))
    pace "$from" "$(peer_lines)"
  else
    "$2_watch" 2>>"$dir/log" || cat "$dir/log" >&2
    to=$(peer_lines)
    echo "$(pace "$from" "$to") $(awk '{ cpu += $2; if ($3 > mb) mb = $3 } END { print cpu, mb }' "$dir/usage") \
      $(awk "BEGIN { print $EPOCHREALTIME - $began - $PEERS_S }") $(awk '
        { n += $1; for (i in want) if ($0 ~ "share_" i "0") got[i] += $1 }
        BEGIN { want[6]; want[3]; want[1] }
        END { for (i in want) { off = n ? got[i] / n * 100 - i * 10 : 100; if (off < 0) off = -off; if (off > most) most = off }; print most + 0 }' "$dir/stacks")"
  fi
  kill -KILL "$pid" 2>/dev/null
  wait "$pid" 2>/dev/null
  rm -rf "$dir"
}

peer() { # subject, program, our type, tool, its version
  local i alone ours theirs what unit ratio n=0 name=peer_$1
  [ -n "$5" ] || { echo "# $name: $4 is not at hand" | tee -a "$B/peers.md"; return; }
  for ((i = 0; i < ROUNDS; i++)); do
    alone=$(watched "$2" alone)
    ours=$(watched "$2" "stoker_$3")
    theirs=$(watched "$2" "$4")
    awk "{ \$1 = 100 * \$1 / $alone; print }" <<<"$ours" >>"$peers/$1.ours"
    awk "{ \$1 = 100 * \$1 / $alone; print }" <<<"$theirs" >>"$peers/$1.theirs"
  done
  for what in kept:% cpu:s memory:MiB result:s off:points; do
    unit=${what#*:} what=${what%:*} n=$((n + 1))
    ours=$(column $n "$peers/$1.ours") theirs=$(column $n "$peers/$1.theirs")
    [ $what = kept ] && ratio="$ours / $theirs" || ratio="$theirs / $ours"
    printf '%s\t' "${name}_$what" "$ours" "$unit" "$4 $5" "$theirs" "$(awk "BEGIN { print $ratio }")" >>"$out"
    echo "$ROUNDS" >>"$out"
  done
  awk -v tool="$4 $5" -v subject="$1" '
    function line(who, v) { printf "| %s | %s | %.0f %% | %.1f s | %.0f MiB | %.1f s | %.1f |\n", subject, who, v[1], v[2], v[3], v[4], v[5] }
    { for (i = 1; i <= 5; i++) if (FILENAME == ARGV[1]) a[i] = $i; else b[i] = $i }
    END { line("Stoker", a); line(tool, b) }' \
    <(for n in 1 2 3 4 5; do column $n "$peers/$1.ours"; done | paste -s -d ' ') \
    <(for n in 1 2 3 4 5; do column $n "$peers/$1.theirs"; done | paste -s -d ' ') >>"$B/peers.md"
}
package_version() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null | sed 's/^[0-9]*://; s/[-+~].*//'; }

if [ "$ONLY" = peers ]; then
  peers=$(mktemp -d /var/tmp/stoker-bench-XXXXXX)
  trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$peers"' EXIT
  heaptrack=$(find /usr/lib -name libheaptrack_preload.so 2>/dev/null | head -n 1)
  heaptrack_interpret=$(find /usr/lib -name heaptrack_interpret 2>/dev/null | head -n 1)
  gcc -O2 -g -fno-omit-frame-pointer -o "$peers/share" tests/bench/peers/share.c
  javac -d "$peers" tests/bench/peers/Share.java
  tests/lib/go build 1.24 "$peers/share-go" tests/bench/peers/go
  peers_go=$(tests/lib/go root 1.24)
  {
    echo "| work | tool | speed kept | CPU | memory | result after | off, points |"
    echo "|---|---|---|---|---|---|---|"
  } >"$B/peers.md"
  peer cpu_c share_c cpu perf "$(package_version linux-perf)"
  peer cpu_go share_go cpu pprof "$("$peers_go/bin/go" version | sed 's/.*go\([0-9.]*\) .*/\1/')"
  peer cpu_python share_python cpu cprofile "$(/usr/bin/python3 --version | sed 's/.* //')"
  peer cpu_node share_node cpu cpuprof "$(node --version)"
  peer cpu_java share_java cpu jfr "$(java -version 2>&1 | sed -n '1s/.*"\(.*\)".*/\1/p')"
  peer alloc_c share_allocate alloc heaptrack "$(package_version heaptrack)"
  peer block_c share_wait block offcputime "$(package_version libbpf-tools)"
  for name in py-spy memray; do
    pip download -q --no-deps -d "$peers" "$name" >/dev/null 2>&1 || echo "# $name: pip does not find it" | tee -a "$B/peers.md"
  done
  cat "$B/peers.md"
  rm -rf "$peers"
  trap - EXIT
fi
