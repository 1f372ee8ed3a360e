# How much a program allocates according to type alloc, compared with its own
# count, and how many fewer calls it makes during a capture.

# Prints the calls and bytes that the target has counted since the last signal.
alloc_counted() {
  rm -f "$dir/truth"
  kill -USR1 "$pid"
  until [ -s "$dir/truth" ]; do read -rt 0.01 _ <> <(:); done
  awk '{ calls += $2; bytes += $3 } END { printf "%.0f %.0f\n", calls, bytes }' "$dir/truth"
}

alloc_sum() { # row, calls a second
  wanted "alloc_sum_$1" "alloc_loss_$1" || return 0
  local dir pid fd i alone calls bytes sum watcher from took
  dir=$(mktemp -d /var/tmp/stoker-bench-XXXXXX)
  mkfifo "$dir/out"
  "$B/targets/allocating" "$dir/truth" "$2" >"$dir/out" &
  pid=$!
  exec {fd}<"$dir/out"
  read -r _ <&"$fd"
  for ((i = 0; i < ROUNDS; i++)); do
    alloc_counted >/dev/null
    from=$EPOCHREALTIME
    sleep 3
    read -r alone _ < <(alloc_counted)
    alone=$(awk "BEGIN { print $alone / ($EPOCHREALTIME - $from) }")
    "$B/stoker-worker" --config /dev/null --once "$pid" --seconds 3 --type alloc \
      --out "$dir/profile" >"$dir/log" 2>&1 & watcher=$!
    until [ "$(bpftool prog show name stoker_alloc 2>/dev/null | wc -l)" -gt 0 ]; do sleep 0.01; done
    alloc_counted >/dev/null
    from=$EPOCHREALTIME
    sleep 3
    read -r calls bytes < <(alloc_counted)
    took=$(awk "BEGIN { print $EPOCHREALTIME - $from }")
    wait "$watcher" || cat "$dir/log" >&2
    sum=$("$B/tests/tools/folded" "$dir/profile" values | awk '{ n += $NF } END { printf "%.0f", n }')
    awk "BEGIN { print $sum / ($bytes / $took * 3), 100 * (1 - $calls / $took / $alone) }" >>"$dir/sums"
    awk -v row="$1" -v truth="$(awk "BEGIN { print $bytes / $took * 3 }")" '/allocated(Least|Most)Bytes/ { printf "%s %s %.3g of truth\n", row, $1, $2 / truth }' "$dir/log" >&2
  done
  row "alloc_sum_$1" "$(column 1 "$dir/sums")" of_truth - - - "$ROUNDS"
  row "alloc_loss_$1" "$(column 2 "$dir/sums")" % - - - "$ROUNDS"
  kill "$pid"
  exec {fd}<&-
  rm -rf "$dir"
}

alloc_sum 1k 1000
alloc_sum 50k 50000
alloc_sum 300k 300000
alloc_sum 1m 1000000
alloc_sum 9m 9000000
alloc_sum max 1000000000
