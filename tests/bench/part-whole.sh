# How many stacks reach the start of their thread, and whether time is
# distributed as in perf, for Debian programs whose assembly and untouched
# stack pages break less careful walks. In each round both watch a new run at
# the same time.

cjpeg_endless() {
  exec cjpeg -outfile /dev/null \
    < <(printf 'P6 65500 65500 255\n' && exec cat /dev/zero)
}
x264_endless() {
  exec x264 --demuxer raw --input-res 640x360 --fps 25 --threads 2 \
    --frames 100000 -o /dev/null /dev/urandom
}
ffmpeg_endless() {
  exec ffmpeg -nostdin -f lavfi -i testsrc2=size=1280x720:rate=30 \
    -c:v libx264 -preset medium -t 600 -f null -
}

# Waits until the program runs and, if it has threads, has started some: perf
# would miss threads that start while it attaches.
is_busy() { # program, pid
  [ "$(<"/proc/$2/comm")" = "$1" ] || return
  [ "$1" = cjpeg ] || [ "$(ls "/proc/$2/task" | wc -l)" -gt 1 ]
}

# Runs a program for as long as perf and a capture watch it: $whole/perf.data,
# $whole/profile and $whole/report.
watch_both() { # program, perf's arguments
  local program=$1 target perf
  shift
  "${program}_endless" >/dev/null 2>&1 &
  target=$!
  wait_for 10 is_busy "$program" $target
  perf record -q --no-buildid -e cpu-clock -F 99 "${@/PID/$target}" \
    -o "$whole/perf.data" -- sleep 10 2>/dev/null &
  perf=$!
  "$B/stoker-worker" --once $target --seconds 10 --rate 99 \
    --out "$whole/profile" >"$whole/report" 2>/dev/null
  wait $perf
  kill $target
  wait $target 2>/dev/null
  tests/lib/perf_data "$whole/perf.data"
  echo $target >"$whole/pid"
}

# Prints a line per round: our percentage, perf's, and the number of our
# samples. perf needs libc's debug file to name the functions that start a
# thread.
whole_rounds() { # program
  local i ours theirs n
  for ((i = 0; i < ROUNDS; i++)); do
    watch_both "$1" --call-graph dwarf -p PID
    read -r ours n < <(awk '
      $1 == "samplesKept" { n = $2 } $1 == "stacksComplete" { whole = $2 }
      END { printf "%.1f %d\n", 100 * whole / n, n }' "$whole/report")
    theirs=$(perf script -i "$whole/perf.data" --no-inline -F comm,ip,sym 2>/dev/null |
      awk -v n="$n" 'BEGIN { RS = "" }
        / (_start|__libc_start_main[^ ]*|start_thread|__?clone3?)(\n|$)/ { whole++ }
        END { if (NR * 2 > n) printf "%.1f", 100 * whole / NR }')
    # perf misses threads that start while it attaches.
    [ -n "$theirs" ] || { echo "bench: perf missed most of $1" >&2; continue; }
    echo "$ours $theirs $n"
    sed -n "s/^ *note: \(.*break off\)/# $1: \1/p" "$whole/report" >&2
  done
}
each_round() { # row, file of rounds
  wanted "$1" || return 0
  echo "# $1, ours and perf's: $(awk '{ printf "%s %s; ", $1, $2 }' "$2")"
}
whole_row() { # row, program
  local ours theirs
  wanted "$1" || return 0
  whole_rounds "$2" >"$whole/rounds"
  ours=$(column 1 "$whole/rounds") theirs=$(column 2 "$whole/rounds")
  row "$1" "$ours" % perf "$theirs" \
    "$(awk "BEGIN { printf \"%.2f\", $ours / $theirs }")" "$(column 3 "$whole/rounds")"
  each_round "$1" "$whole/rounds"
}

# Prints the percentage of samples that end in a module, for us and for perf.
share_of() { # module, as perf names it
  "$B/tests/tools/folded" "$whole/profile" modules | awk -v of="$1" '
    { n += $1 } $2 == of { inside += $1 } END { printf "%.1f\n", 100 * inside / n }'
  perf script -i "$whole/perf.data" -F pid,ip,sym,dso 2>/dev/null |
    awk -v pid="$(<"$whole/pid")" -v of="$1" '
      $1 == pid { n++; gsub(/.*\/|[()]/, "", $NF); inside += $NF == of }
      END { printf "%.1f\n", 100 * inside / n }'
}
share_rounds() {
  local i
  for ((i = 0; i < ROUNDS; i++)); do
    watch_both x264 -a
    echo $(share_of "$(basename /usr/lib/*/libx264.so.*)") >>"$whole/library"
    echo $(share_of '[kernel.kallsyms]') >>"$whole/kernel"
  done
}
share_row() { # row, file of rounds
  row "$1" "$(column 1 "$2")" % "perf record -a" "$(column 2 "$2")" - "$ROUNDS"
  each_round "$1" "$2"
}

if wanted assembly_stacks_whole_pct whole_stacks_x264_pct \
  whole_stacks_ffmpeg_pct share_x264_library_pct share_x264_kernel_pct; then
  whole=$(mktemp -d /var/tmp/stoker-bench-XXXXXX)
  trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$whole"' EXIT
  whole_row assembly_stacks_whole_pct cjpeg
  whole_row whole_stacks_x264_pct x264
  whole_row whole_stacks_ffmpeg_pct ffmpeg
  if wanted share_x264_library_pct share_x264_kernel_pct; then
    share_rounds
    share_row share_x264_library_pct "$whole/library"
    share_row share_x264_kernel_pct "$whole/kernel"
  fi
  rm -rf "$whole"
  trap - EXIT
fi
