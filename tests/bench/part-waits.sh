# The cost of profiles of waits and allocations for a target: its CPU time per
# round with a capture, and alone. Measured in pairs, since the machine's speed
# changes.

# wait_rounds KIND alone|TYPE|preload|switches|offcputime|heaptrack
wait_rounds() {
  local target pids watcher= preload=()
  [ "$2" != heaptrack ] || preload=(env LD_PRELOAD="$heaptrack" DUMP_HEAPTRACK_OUTPUT="$waits/heap")
  [ "$2" != preload ] || preload=(env LD_PRELOAD="$(realpath "$B/libstoker-heap.so")")
  mkfifo "$waits/fifo"
  "${preload[@]}" "$B/targets/rounds" "$1" 4 >"$waits/fifo" &
  target=$!
  exec {fd}<"$waits/fifo"
  rm "$waits/fifo"
  read -r _ <&"$fd"
  pids=$(echo "$target" $(pgrep -P "$target") | tr ' ' ,)
  case $2 in
  alone | preload | heaptrack) ;;
  switches) "$B/tests/bench/kernel" switches & watcher=$! ;;
  offcputime) offcputime -p "$target" 60 >"$waits/log" 2>&1 & watcher=$! ;;
  *) "$B/stoker-worker" --once "$pids" --seconds 60 --type "$2" --out "$waits/out" \
    >"$waits/log" 2>&1 & watcher=$! ;;
  esac
  read -r number <&"$fd"
  exec {fd}<&-
  wait "$target"
  [ -z "$watcher" ] || { kill -INT "$watcher" && wait "$watcher" 2>/dev/null; } ||
    [ "$2" = switches ] || cat "$waits/log" >&2
  echo "$number"
}

# Prints a line per round: by how many percent we, and the rival, raise the CPU
# time.
wait_cost() { # row, kind of rounds, type, rival
  local i alone ours theirs
  wanted "$1" || return 0
  for ((i = 0; i < ROUNDS; i++)); do
    alone=$(wait_rounds "$2" alone)
    ours=$(wait_rounds "$2" "$3")
    theirs=$(wait_rounds "$2" "$4")
    awk "BEGIN { print 100 * ($alone / $ours - 1), 100 * ($alone / $theirs - 1), ($alone / $theirs - 1) / ($alone / $ours - 1) }"
  done >"$waits/cost"
  row "$1" "$(column 1 "$waits/cost")" % "$4" "$(column 2 "$waits/cost")" \
    "$(column 3 "$waits/cost")" "$ROUNDS"
}

# Prints by how many percent programs that do nothing raise the CPU time, where
# ours are.
wait_floor() { # row, kind of rounds, switches
  local i alone with
  wanted "$1" || return 0
  for ((i = 0; i < ROUNDS; i++)); do
    alone=$(wait_rounds "$2" alone)
    with=$(wait_rounds "$2" "$3")
    awk "BEGIN { print 100 * ($alone / $with - 1) }"
  done >"$waits/floor"
  row "$1" "$(column 1 "$waits/floor")" % - - - "$ROUNDS"
}

if wanted block_cost_200k_switches mutex_cost_1m_locks alloc_cost_100k \
  alloc_cost_1m memory_cost_30k heap_preload_cost_1m block_floor_200k_switches; then
  heaptrack=$(find /usr/lib -name libheaptrack_preload.so 2>/dev/null | head -n 1)
  waits=$(mktemp -d /var/tmp/stoker-waits-XXXXXX)
  wait_cost block_cost_200k_switches relay block offcputime
  wait_floor block_floor_200k_switches relay switches
  wait_cost mutex_cost_1m_locks locks mutex offcputime
  wait_cost alloc_cost_100k allocs alloc heaptrack
  wait_cost alloc_cost_1m many-allocs alloc heaptrack
  wait_cost memory_cost_30k some-allocs memory heaptrack
  wait_cost heap_preload_cost_1m many-allocs preload heaptrack
  rm -rf "$waits"
fi
