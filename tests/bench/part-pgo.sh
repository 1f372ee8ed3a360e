# How much less CPU time a program needs when its compiler has a profile from
# Stoker, compared with the compiler's own: Clang's instrumentation, and the
# profile that a Go program takes of itself.

# Runs plain, sampled and counted in turn, in $pgo, and adds a row.
pgo_row() { # name rival rounds arguments...
  local i kind TIMEFORMAT='%U %S'
  for ((i = 0; i < $3; i++)); do
    for kind in plain sampled counted; do
      { time "$pgo/$kind" "${@:4}" >/dev/null; } 2>&1
    done | awk '{ t[NR] = $1 + $2 }
      END { print 100 * (1 - t[2] / t[1]), 100 * (1 - t[3] / t[1]) }'
  done >"$pgo/gains"
  row "$1" "$(column 1 "$pgo/gains")" % "$2" "$(column 2 "$pgo/gains")" \
    "$(awk "BEGIN { print $(column 1 "$pgo/gains") / $(column 2 "$pgo/gains") }")" "$3"
}

# Builds a C program with each profile: c_build PROGRAM OPTIONS... compiles it,
# and the two lists are the arguments of the run that is sampled and of the run
# that is counted. The former takes half a minute: with a tenth of the samples
# most lines have none, and Clang takes them for cold.
clang_row() { # name rounds profiled counted measured...
  local rounds=$2 name=$1 profiled=$3 counted=$4
  c_build plain
  "$B/stoker" record --output "$pgo/profile" --rate 900 -- "$pgo/plain" $profiled >/dev/null 2>&1
  "$B/stoker" convert "$pgo/profile" "$pgo/profile.afdo" --binary "$pgo/plain"
  c_build sampled -fprofile-sample-use="$pgo/profile.afdo"
  c_build counting -fprofile-instr-generate
  LLVM_PROFILE_FILE=$pgo/raw "$pgo/counting" $counted >/dev/null
  llvm-profdata merge -o "$pgo/counts" "$pgo/raw"
  c_build counted -fprofile-instr-use="$pgo/counts"
  pgo_row "$name" "clang's instrumentation" "$rounds" "${@:5}"
}
clang_for_profile() { clang -O2 -g1 -fdebug-info-for-profiling "$@"; }

# Unpacks Debian packages for a row. Returns 1 and says so if it cannot.
pgo_packages() { # name folder packages...
  local why
  why=$(conf/packages/unpack bookworm "${@:2}" 2>&1) && return
  echo "skip $1: $why"
  return 1
}

if wanted pgo_gain lua_pgo_gain && ! command -v clang >/dev/null; then
  echo "skip pgo_gain: no clang"
else
  if wanted pgo_gain; then
    pgo=$(mktemp -d /var/tmp/stoker-bench-XXXXXX)
    c_build() { # program, options...
      clang_for_profile "${@:2}" -o "$pgo/$1" tests/targets/opcodes.c
    }
    clang_row pgo_gain "$ROUNDS" 600000000 3000000 20000000
    rm -rf "$pgo"
  fi
  # Lua's interpreter, which runs a small program.
  if wanted lua_pgo_gain && SOURCE=1 pgo_packages lua_pgo_gain "$B/packages/pgo" lua5.4; then
    pgo=$(mktemp -d /var/tmp/stoker-bench-XXXXXX)
    # The file that Debian's build writes; this row's program loads no modules.
    echo '#define DEB_HOST_MULTIARCH "x86_64-linux-gnu"' >"$pgo/lua5.4-deb-multiarch.h"
    c_build() { # program, options...
      clang_for_profile "${@:2}" -o "$pgo/$1" -DLUA_USE_POSIX -I "$pgo" \
        $(find "$B/packages/pgo/lua5.4/src" -name '*.c' ! -name luac.c) -lm
    }
    lua=tests/bench/objects.lua
    clang_row lua_pgo_gain $((ROUNDS * 3)) "$lua 60000" "$lua 500" "$lua" 800
    rm -rf "$pgo"
  fi
fi

# chroma, which colours source text: a Go program that profiles itself.
if wanted go_pgo_gain; then
  go=$(find "$PWD/$B/go/1.27" -path '*/bin/go' -type f 2>/dev/null | head -1)
  if [ -z "$go" ]; then
    echo "skip go_pgo_gain: no toolchain of Go: make toolchains"
  elif pgo_packages go_pgo_gain "$B/packages/chroma" golang-github-alecthomas-chroma-v2-dev \
    golang-github-alecthomas-kong-dev golang-github-dlclark-regexp2-dev \
    golang-github-mattn-go-colorable-dev golang-github-mattn-go-isatty-dev \
    golang-golang-x-sys-dev; then
    pgo=$(mktemp -d /var/tmp/stoker-bench-XXXXXX)
    goroot=${go%/bin/go}
    go_build() { # program, options...
      HOME=$pgo GOCACHE=$pgo/cache GOROOT=$goroot GOTOOLCHAIN=local GO111MODULE=off GOFLAGS= \
        GOPATH=$PWD/$B/packages/chroma/usr/share/gocode \
        "$go" build "${@:2}" -o "$pgo/$1" github.com/alecthomas/chroma/v2/cmd/chroma
    }
    cat "$goroot"/src/cmd/compile/internal/ssa/*.go | head -60000 >"$pgo/profiled.go"
    for i in 1 2 3; do cat "$goroot"/src/net/http/server.go "$goroot"/src/go/printer/nodes.go; done \
      >"$pgo/measured.go"
    go_build plain
    "$B/stoker" record --output "$pgo/ours.pb.gz" --rate 999 -- \
      "$pgo/plain" --html --lexer go "$pgo/profiled.go" >/dev/null 2>&1
    "$pgo/plain" --profile "$pgo/theirs.pb.gz" --html --lexer go "$pgo/profiled.go" >/dev/null
    go_build sampled -pgo="$pgo/ours.pb.gz"
    go_build counted -pgo="$pgo/theirs.pb.gz"
    pgo_row go_pgo_gain "Go's own profile" $((ROUNDS * 3)) --html --lexer go "$pgo/measured.go"
    rm -rf "$pgo"
  fi
fi
