#!/bin/bash
# aarch64 programs run under qemu, and sample themselves at any of their
# instructions. The stacks found are exactly those that the programs made, both
# when this machine walks them and when an aarch64 build of the unwinder does.
# An aarch64 worker is built, too.
#
# Beside others, first: programs are built and compared.
set -u
cd "$(dirname "$0")/../.."
: "${B:=build}"
B=$(cd "$B" && pwd) arm=$B/aarch64
export B
unset MAKEFLAGS MAKELEVEL
sysroot=/usr/aarch64-linux-gnu
cc=aarch64-linux-gnu-gcc

skip() {
  echo "skip aarch64: $*"
  exit 0
}
run() { # program, arguments...: with the unpacked libraries
  local lib=$arm/root/usr/lib/aarch64-linux-gnu
  env -u SKIPPED CK_FORK=no qemu-aarch64 -L $sysroot \
    -E "LD_LIBRARY_PATH=$lib:$arm/root/lib/aarch64-linux-gnu" "$@"
}
passes() { # unit test
  local out
  if out=$(run "$arm/tests/unit/capture/$1" 2>&1); then
    echo "ok aarch64_$1"
  else
    echo "not ok aarch64_$1: ${out//$'\n'/ | }"
  fi
}

# Prints each sample's chain of the program's own functions. Other functions
# between them become "libc".
chains() {
  awk 'NR > 1 {
    chain = last = ""
    for (i = 2; i <= NF; i++) {
      f = $i ~ /^(call_.*|main|_start)$/ ? $i : "libc"
      if (f != last) chain = chain " " f
      last = f
    }
    print $1 chain
  }' "$1"
}
# Each chain must be the end of a known one, from the sampled function on, and
# chains from the leaf function must occur in all three known ones.
exact() { # walks
  chains "$1" | awk '
    BEGIN {
      calls = " call_leaf call_large call_bare call_dynamic call_compare libc call_sort call_often "
      known[1] = calls "main libc _start"
      known[2] = calls "call_handler call_restore libc call_signal main libc _start"
      known[3] = calls "call_thread libc"
    }
    {
      for (k = 1; k <= 3; k++) {
        at = length(known[k]) - length($0) + length($1) + 1
        if ($1 == "root" && NF > 3 && at > 0 &&
            substr(known[k], at) == substr($0, length($1) + 1)) break
      }
      if (k > 3) { bad++; print; next }
      leaf[k] += $2 == "call_leaf"
      n[k]++
    }
    END {
      for (k = 1; k <= 3; k++)
        if (n[k] < 100 || !leaf[k]) { print n[k] + 0, "of way", k; bad++ }
      exit bad > 0
    }'
}
result() { # name, command...
  local name=$1 out
  shift
  if out=$("$@" 2>&1); then
    echo "ok aarch64_$name"
  else
    echo "not ok aarch64_$name: $(head -n 5 <<<"$out" | tr '\n' '|')"
  fi
}

stacks() { # kind, compiler's options...
  local kind=$1 dir=$arm/calls/$1
  shift
  rm -rf "$dir" && mkdir -p "$dir"
  if ! "$cc" -O2 -Wl,-z,now "$@" -o "$dir/calls" \
    tests/targets/aarch64/calls.c ||
    ! qemu-aarch64 -singlestep -L $sysroot "$dir/calls" "$dir"; then
    echo "not ok aarch64_stacks_$kind: no samples"
    return
  fi
  "$B/tests/tools/walk" "$dir" >"$dir/here"
  run "$arm/tests/tools/walk" "$dir" >"$dir/there"
  result "stacks_$kind" exact "$dir/here"
  result "stacks_$kind"_on_aarch64 cmp "$dir/here" "$dir/there"
}
is_signed() { [ "$(sed -n 's/^signed //p;q' "$arm/calls/signed/here")" -gt 0 ]; }

for tool in $cc qemu-aarch64; do
  command -v $tool >/dev/null || skip "no $tool"
done
mkdir -p "$arm"
# shellcheck disable=SC2046 # one package, one word
why=$(ARCH=arm64 B=$arm conf/packages/unpack bookworm "$arm/root" \
  $(cat conf/packages/aarch64.txt) 2>&1)
case $? in
  0) ;;
  69) skip "${why##*: }" ;;
  *) echo "not ok aarch64_libraries: $why" ;;
esac
# Compiling takes most of this test's time.
result worker_is_built make -j"$(nproc)" B="$B" ARM_CFLAGS=-O0 aarch64
passes unwind_frames
passes ring
stacks plain -fomit-frame-pointer
stacks pointers -fno-omit-frame-pointer
stacks signed -fomit-frame-pointer -mbranch-protection=standard
result signed_stacks_bear_signatures is_signed
stacks static -fomit-frame-pointer -static
stacks debug_frame -fomit-frame-pointer -g -fno-asynchronous-unwind-tables \
  -fno-unwind-tables
