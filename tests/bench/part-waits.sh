# The cost of profiles of waits and allocations for a target: its CPU time per
# round with a capture, and alone. Measured in pairs, since the machine's speed
# changes.

# Prints the percentage by which something raises the CPU time of a round.
raised() { awk "BEGIN { print 100 * ($1 / $2 - 1) }"; } # speed alone, speed with it

# Prints the speed beside something: a capture of this type, or a rival.
with() {
  case $1 in
  preload | heaptrack) speed "$1" ;;
  switches) speed alone "$B/tests/bench/kernel" switches ;;
  offcputime) speed alone offcputime -p "${beside_pids[alone]%% *}" 120 ;;
  *) ours alone --type "$1" ;;
  esac
}
wait_cost() { # row, kind of rounds, type, [rival]
  local i alone ours theirs=- rival=${4:--}
  wanted "$1" || return 0
  beside_begin alone "$2"
  [ "$3" != preload ] || beside_begin preload "$2" env LD_PRELOAD="$(realpath "$B/libstoker-heap.so")"
  [ "$rival" != heaptrack ] || beside_begin heaptrack "$2" env LD_PRELOAD="$heaptrack" DUMP_HEAPTRACK_OUTPUT="$beside/heap"
  for ((i = 0; i < ROUNDS; i++)); do
    alone=$(speed alone)
    ours=$(raised "$alone" "$(with "$3")")
    [ "$rival" = - ] || theirs=$(raised "$alone" "$(with "$rival")")
    echo "$ours $theirs $([ "$rival" = - ] && echo - || awk "BEGIN { print $theirs / $ours }")"
  done >"$beside/cost"
  theirs=- ratio=-
  [ "$rival" = - ] || { theirs=$(column 2 "$beside/cost") ratio=$(column 3 "$beside/cost"); }
  row "$1" "$(column 1 "$beside/cost")" % "$rival" "$theirs" "$ratio" "$ROUNDS"
  beside_end
}

if wanted block_cost_200k_switches mutex_cost_1m_locks alloc_cost_100k \
  alloc_cost_1m memory_cost_30k heap_preload_cost_1m block_floor_200k_switches; then
  heaptrack=$(find /usr/lib -name libheaptrack_preload.so 2>/dev/null | head -n 1)
  wait_cost block_cost_200k_switches relay block offcputime
  wait_cost block_floor_200k_switches relay switches
  wait_cost mutex_cost_1m_locks locks mutex offcputime
  wait_cost alloc_cost_100k allocs alloc heaptrack
  wait_cost alloc_cost_1m many-allocs alloc heaptrack
  wait_cost memory_cost_30k some-allocs memory heaptrack
  wait_cost heap_preload_cost_1m many-allocs preload heaptrack
fi
