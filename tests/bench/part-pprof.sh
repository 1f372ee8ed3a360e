# Reading, merging and writing pprof files, compared with protobuf-c and Go.

if wanted pprof_decode_mb_s pprof_decode_peak_ratio pprof_merge_mb_s; then
  pprof=$B/tests/bench/pprof files=$(mktemp -d)
  "$pprof" make 4 100000 "$files"
  mb=$(for f in "$files"/?.pb.gz; do gzip -dc "$f"; done | wc -c | awk '{ print $1 / 1e6 }')
  "$pprof" decode "$files/0.pb.gz" >"$files/decode"
  column() { awk -v n="$1" '{ print $n }' "$files/decode" | median; }
  row pprof_decode_mb_s "$(column 1)" MB/s protobuf-c "$(column 2)" \
    "$(awk '{ print $1 / $2 }' "$files/decode" | median)" "$(wc -l <"$files/decode")"
  raw=$(gzip -dc "$files/0.pb.gz" | wc -c)
  ours=$("$pprof" peak ours "$files/0.pb.gz" "$raw")
  theirs=$("$pprof" peak theirs "$files/0.pb.gz" "$raw")
  row pprof_decode_peak_ratio "$ours" x protobuf-c "$theirs" \
    "$(awk -v a="$ours" -v b="$theirs" 'BEGIN { print b / a }')" 1
  cpu_of() { # command...: its user and system seconds
    local TIMEFORMAT='%U %S'
    { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1 + $2 }'
  }
  if goroot=$(tests/lib/go root 1.22); then
    go_merge() {
      HOME=$files GOROOT=$goroot GOTOOLCHAIN=local "$goroot/bin/go" tool pprof \
        -symbolize=none -proto -output="$files/theirs" "$files"/?.pb.gz
    }
    go_merge >/dev/null 2>&1
    for ((i = 0; i < ROUNDS; i++)); do
      echo "$(cpu_of "$pprof" merge "$files/ours" "$files"/?.pb.gz) $(cpu_of go_merge)"
    done >"$files/merge"
    row pprof_merge_mb_s "$(awk -v mb="$mb" '{ print mb / $1 }' "$files/merge" | median)" MB/s \
      "go tool pprof -proto" "$(awk -v mb="$mb" '{ print mb / $2 }' "$files/merge" | median)" \
      "$(awk '{ print $2 / $1 }' "$files/merge" | median)" "$ROUNDS"
  else
    echo "skip pprof_merge_mb_s: no Go toolchain"
  fi
  rm -rf "$files"
fi
