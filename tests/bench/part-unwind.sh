# The cost of a frame of a stack, against libunwind on the same samples.

if wanted unwind_ns_per_frame; then
  rounds=$("$B/tests/bench/unwind" "$ROUNDS") || { echo "bench: no stacks" >&2; exit 1; }
  ours=$(awk '{ print $1 }' <<<"$rounds" | median)
  theirs=$(awk '{ print $2 }' <<<"$rounds" | median)
  ratio=$(awk '{ print $2 / $1 }' <<<"$rounds" | median)
  row unwind_ns_per_frame "$ours" ns libunwind "$theirs" "$(printf %.2f "$ratio")" "$ROUNDS"
fi

# Frames that no short rule describes, as in a program that binds functions when
# it first calls them.
if wanted unwind_full_ns_per_frame unwind_full_frames_pct; then
  rounds=$("$B/tests/bench/unwind" "$ROUNDS" /usr/bin/gcc --version | grep '^[0-9. ]*$') ||
    { echo "bench: no stacks" >&2; exit 1; }
  ours=$(awk '{ print $1 }' <<<"$rounds" | median)
  theirs=$(awk '{ print $2 }' <<<"$rounds" | median)
  ratio=$(awk '{ print $2 / $1 }' <<<"$rounds" | median)
  row unwind_full_ns_per_frame "$ours" ns libunwind "$theirs" "$(printf %.2f "$ratio")" "$ROUNDS"
  row unwind_full_frames_pct "$(awk '{ print $3 }' <<<"$rounds" | median)" % - - - 1
fi
