# What a frame of a stack costs, against libunwind on the same samples, and how
# many stacks are whole where no table helps.

if wanted unwind_ns_per_frame; then
  rounds=$("$B/tests/bench/unwind" "$ROUNDS") || { echo "bench: no stacks" >&2; exit 1; }
  ours=$(awk '{ print $1 }' <<<"$rounds" | median)
  theirs=$(awk '{ print $2 }' <<<"$rounds" | median)
  ratio=$(awk '{ print $2 / $1 }' <<<"$rounds" | median)
  row unwind_ns_per_frame "$ours" ns libunwind "$theirs" "$(printf %.2f "$ratio")" "$ROUNDS"
fi

# How many stacks of code without unwind tables reach their start: libjpeg's
# assembly, as perf and we see the same seconds of it.
if wanted assembly_stacks_whole_pct; then
  tmp=$(mktemp -d /var/tmp/stoker-bench-XXXXXX)
  trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$tmp"' EXIT
  cjpeg -outfile /dev/null < <(printf 'P6 65500 65500 255\n' && exec cat /dev/zero) &
  target=$!
  perf record -q --no-buildid -e cpu-clock -F 99 --call-graph dwarf -p $target \
    -o "$tmp/perf.data" -- sleep 10 2>/dev/null &
  perf=$!
  "$B/stoker-worker" --once $target --seconds 10 --rate 99 --out "$tmp/profile" \
    >"$tmp/report" 2>/dev/null
  wait $perf
  kill $target
  read -r ours n < <(awk '
    $1 == "samplesKept" {n = $2} $1 == "stacksComplete" {whole = $2}
    END {printf "%.1f %d\n", 100 * whole / n, n}' "$tmp/report")
  theirs=$(perf script -i "$tmp/perf.data" --no-inline -F comm,ip,sym 2>/dev/null |
    awk 'BEGIN {RS = ""} /__libc_start_main/ {whole++} END {printf "%.1f", 100 * whole / NR}')
  row assembly_stacks_whole_pct "$ours" % perf "$theirs" \
    "$(awk "BEGIN {printf \"%.2f\", $ours / $theirs}")" "$n"
  rm -rf "$tmp"
  trap - EXIT
fi
