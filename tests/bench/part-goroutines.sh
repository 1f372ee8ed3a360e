# All goroutines of a Go program, read from outside and by the program itself:
# how long this takes, and for how long it stops a goroutine that is always
# running.

go_dump() { # name, goroutines
  wanted "go_dump_total_ms_$1" "go_dump_pause_ms_$1" || return 0
  local dir ours theirs pid line version program go_in go_out
  dir=$(mktemp -d /var/tmp/stoker-bench-XXXXXX)
  for version in 1.27 1.24 1.19; do
    program=$B/go/bin/goroutines-$version-plain
    tests/lib/go build $version "$program" tests/targets/go/goroutines \
      2>"$dir/log" && break
  done
  [ -x "$program" ] || { echo "no Go: $(tail -n 1 "$dir/log")" >&2; return; }
  mkfifo "$dir/in" "$dir/out"
  "$program" "$2" <"$dir/in" >"$dir/out" &
  pid=$!
  exec {go_in}>"$dir/in" {go_out}<"$dir/out"
  read -r line <&"$go_out"

  ask() { echo "$@" >&"$go_in" && read -r line <&"$go_out"; }
  taken() { # name, command...: stores its time in ms, and the gap
    local name=$1 from
    shift
    ask gap
    from=$(date +%s%N)
    "$@" >"$dir/log" 2>&1 || cat "$dir/log" >&2
    awk -v ns=$(($(date +%s%N) - from)) 'BEGIN { print ns / 1e6 }' >>"$dir/$name.total"
    ask gap
    awk -v ns="$line" 'BEGIN { print ns / 1e6 }' >>"$dir/$name.gap"
  }
  for ((i = 0; i < ROUNDS; i++)); do
    taken ours "$B/stoker-worker" --config /dev/null --once "$pid" \
      --type goroutine --out "$dir/profile"
    taken theirs ask dump "$dir/dump"
  done
  for what in total gap; do
    ours=$(median <"$dir/ours.$what") theirs=$(median <"$dir/theirs.$what")
    line=go_dump_${what/gap/pause}_ms_$1
    row "$line" "$ours" ms debug=2 "$theirs" \
      "$(awk "BEGIN { printf \"%.1f\", $theirs / $ours }")" "$ROUNDS"
  done
  kill "$pid"
  exec {go_in}>&- {go_out}<&-
  rm -rf "$dir"
}
go_dump 1k 1000
go_dump 10k 10000
go_dump 100k 100000
