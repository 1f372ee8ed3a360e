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
  "$B/stoker" convert "$pgo/profile" "$pgo/profile.afdo" --binary "$pgo/plain"
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

# The same for a Go program that nobody here wrote: Go's own gofmt, which can
# also profile itself. Its CPU time, in pairs.
if wanted go_pgo_gain; then
  go=$(find "$PWD/$B/go/1.27" -path '*/bin/go' -type f 2>/dev/null | head -1)
  if [ -z "$go" ]; then
    echo "skip go_pgo_gain: no toolchain of Go: make toolchains"
  else
    pgo=$(mktemp -d /var/tmp/stoker-bench-XXXXXX)
    goroot=${go%/bin/go} work=
    for i in cmd/compile/internal/ssa net/http crypto runtime syscall; do work+=" $goroot/src/$i"; done
    go_build() { # program, options...
      HOME=$pgo GOCACHE=$pgo/cache GOROOT=$goroot GOTOOLCHAIN=local GOFLAGS=-mod=mod \
        "$go" build "${@:2}" -o "$pgo/$1" cmd/gofmt
    }
    go_seconds() { # program
      local TIMEFORMAT='%U %S'
      { time "$pgo/$1" -l "$goroot/src/net/http" "$goroot/src/syscall" >/dev/null; } 2>&1 |
        awk '{ print $1 + $2 }'
    }
    go_build plain
    "$B/stoker" record --output "$pgo/ours.pb.gz" --rate 999 -- "$pgo/plain" -l $work >/dev/null 2>&1
    "$pgo/plain" -cpuprofile "$pgo/theirs.pb.gz" -l $work >/dev/null
    go_build ours -pgo="$pgo/ours.pb.gz"
    go_build theirs -pgo="$pgo/theirs.pb.gz"
    for ((i = 0; i < ROUNDS * 4; i++)); do
      echo "$(go_seconds plain) $(go_seconds ours) $(go_seconds theirs)"
    done | awk '{ print 100 * (1 - $2 / $1), 100 * (1 - $3 / $1) }' >"$pgo/gains"
    ours=$(column 1 "$pgo/gains") theirs=$(column 2 "$pgo/gains")
    row go_pgo_gain "$ours" % "Go's own profile" "$theirs" \
      "$(awk "BEGIN { print $ours / $theirs }")" $((ROUNDS * 4))
    rm -rf "$pgo"
  fi
fi
