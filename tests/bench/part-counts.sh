# The memory profile of a Go program with about 1000 stacks, taken from outside
# and by the program itself.

go_heap_dump() {
  wanted go_heap_dump_ms || return 0
  local dir program=$B/go/bin/counts-1.24-plain pid line ours theirs go_in go_out
  dir=$(mktemp -d /var/tmp/stoker-bench-XXXXXX)
  tests/lib/go build 1.24 "$program" tests/targets/go/counts 2>"$dir/log" ||
    { echo "no Go: $(tail -n 1 "$dir/log")" >&2; rm -rf "$dir"; return; }
  mkfifo "$dir/in" "$dir/out"
  GOMAXPROCS=1 "$program" fine <"$dir/in" >"$dir/out" &
  pid=$!
  exec {go_in}>"$dir/in" {go_out}<"$dir/out"
  read -r line <&"$go_out"

  ask() { echo "$@" >&"$go_in" && read -r line <&"$go_out"; }
  taken() { # name, command...: stores its time in ms
    local name=$1 from
    shift
    from=$(date +%s%N)
    "$@" >"$dir/log" 2>&1 || cat "$dir/log" >&2
    awk -v ns=$(($(date +%s%N) - from)) 'BEGIN { print ns / 1e6 }' >>"$dir/$name"
  }
  ask many 1200
  ask gc 0
  for ((i = 0; i < ROUNDS; i++)); do
    taken ours "$B/stoker-worker" --config /dev/null --once "$pid" \
      --type memory --out "$dir/profile"
    taken theirs ask write heap "$dir/own"
  done
  ours=$(median <"$dir/ours") theirs=$(median <"$dir/theirs")
  row go_heap_dump_ms "$ours" ms runtime/pprof "$theirs" \
    "$(awk "BEGIN { printf \"%.2f\", $theirs / $ours }")" "$ROUNDS"
  kill "$pid"
  exec {go_in}>&- {go_out}<&-
  rm -rf "$dir"
}
go_heap_dump
