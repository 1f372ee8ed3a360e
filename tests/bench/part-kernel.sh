# The cost of the programs in the kernel: of loading them, whenever a worker
# starts, and per sample.

for set in filter waits results allocs inuse; do
  wanted "kernel_load_${set}_ms" "kernel_processed_$set" || continue
  for ((i = 0; i < ROUNDS; i++)); do "$B/tests/bench/kernel"; done |
    grep "^$set [0-9.]* [0-9]*$" >"$B/kernel.txt" || continue
  row "kernel_load_${set}_ms" "$(column 2 "$B/kernel.txt")" ms - - - "$ROUNDS"
  row "kernel_processed_$set" "$(column 3 "$B/kernel.txt")" instructions - - - "$ROUNDS"
done

for language in python asyncio php perl luajit; do
  for frames in 5 40 150; do
    ! wanted "walk_${language}_${frames}_ns" ||
      row "walk_${language}_${frames}_ns" "$(for ((i = 0; i < ROUNDS; i++)); do
        "$B/tests/bench/kernel" "$language" "$frames"
      done | median)" ns - - - "$ROUNDS"
  done
done

# In pairs: with and without a context.
for context in context_64 context_640 query_200; do
  wanted "read_${context}_ns" || continue
  for ((i = 0; i < ROUNDS; i++)); do
    echo "$("$B/tests/bench/kernel" "${context%_*}" "${context#*_}")" \
      "$("$B/tests/bench/kernel" nothing 0)"
  done | awk 'NF == 2 { print $1 - $2 }' >"$B/context.txt"
  row "read_${context}_ns" "$(column 1 "$B/context.txt")" ns goal 300 - "$ROUNDS"
done

if wanted worker_start_ms; then
  for ((i = 0; i < ROUNDS; i++)); do
    e2e_start
    worker=$(<"$STATE/pid/worker")
    echo "$(ticks "$worker" $(pgrep -P "$worker")) $(getconf CLK_TCK)"
    e2e_stop
    trap - EXIT
  done | awk 'NF == 2 { print 1000 * $1 / $2 }' >"$B/start.txt"
  row worker_start_ms "$(column 1 "$B/start.txt")" ms - - - "$ROUNDS"
fi

# CPU time of the opener itself, without its children, for a capture whose
# programs must be loaded: it answers nobody else meanwhile.
own_ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; } # pid
if wanted opener_capture_ms; then
  e2e_start shares
  background busy "$STATE/bin/shares" 900 1 5
  service busy "$STATE/bin/shares"
  worker=$(<"$STATE/pid/worker")
  for type in block alloc memory; do
    for ((i = 0; i < ROUNDS; i++)); do
      before=$(own_ticks "$worker")
      finished "$(start busy 1 "$type")" >/dev/null
      echo "$(($(own_ticks "$worker") - before)) $(getconf CLK_TCK)"
    done
  done | awk 'NF == 2 { print 1000 * $1 / $2 }' >"$B/opener.txt"
  e2e_stop
  trap - EXIT
  row opener_capture_ms "$(column 1 "$B/opener.txt")" ms - - - "$ROUNDS"
fi
