# How much less time a program needs when Clang has a profile from Stoker,
# compared with Clang's own instrumentation.

if wanted pgo_gain && ! command -v clang >/dev/null; then
  echo "skip pgo_gain: no clang"
elif wanted pgo_gain; then
  pgo=$(mktemp -d /var/tmp/stoker-bench-XXXXXX)
  pgo_build() { # program, options...
    clang -O2 -g1 -fdebug-info-for-profiling "${@:2}" -o "$pgo/$1" tests/targets/opcodes.c
  }
  pgo_seconds() { # program
    local TIMEFORMAT=%U
    { time "$pgo/$1" 20000000 >/dev/null; } 2>&1
  }
  pgo_build plain
  "$pgo/plain" 2000000000 >/dev/null & pid=$!
  "$B/stoker-worker" --config /dev/null --once "$pid" --seconds 10 --rate 900 --type cpu \
    --out "$pgo/profile" >/dev/null 2>&1
  kill "$pid"
  "$B/stoker" convert "$pgo/profile" "$pgo/profile.afdo"
  pgo_build sampled -fprofile-sample-use="$pgo/profile.afdo"
  pgo_build counting -fprofile-instr-generate
  LLVM_PROFILE_FILE=$pgo/raw "$pgo/counting" 3000000 >/dev/null
  llvm-profdata merge -o "$pgo/counts" "$pgo/raw"
  pgo_build counted -fprofile-instr-use="$pgo/counts"
  for ((i = 0; i < ROUNDS; i++)); do
    echo "$(pgo_seconds plain) $(pgo_seconds sampled) $(pgo_seconds counted)"
  done | awk '{ print 100 * (1 - $2 / $1), 100 * (1 - $3 / $1) }' >"$pgo/gains"
  ours=$(column 1 "$pgo/gains") theirs=$(column 2 "$pgo/gains")
  row pgo_gain "$ours" % "clang's instrumentation" "$theirs" \
    "$(awk "BEGIN { print $ours / $theirs }")" "$ROUNDS"
  rm -rf "$pgo"
fi
