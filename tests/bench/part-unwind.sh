# What a frame of a stack costs, against libunwind on the same samples.

if wanted unwind_ns_per_frame; then
  rounds=$("$B/tests/bench/unwind" "$ROUNDS") || { echo "bench: no stacks" >&2; exit 1; }
  ours=$(awk '{ print $1 }' <<<"$rounds" | median)
  theirs=$(awk '{ print $2 }' <<<"$rounds" | median)
  ratio=$(awk '{ print $2 / $1 }' <<<"$rounds" | median)
  row unwind_ns_per_frame "$ours" ns libunwind "$theirs" "$(printf %.2f "$ratio")" "$ROUNDS"
fi
