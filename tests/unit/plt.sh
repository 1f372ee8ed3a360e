#!/bin/bash
# Slots of procedure linkage tables have the names that objdump gives them,
# whatever the options of the linker, and end where the next one begins.
#
# Beside others, first: programs are built and compared.
set -u
cd "$(dirname "$0")/../.."
: "${B:=build}"
tmp=$(mktemp -d /var/tmp/stoker-plt-XXXXXX)
trap 'rm -rf "$tmp"' EXIT

cat >"$tmp/calls.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int by_text(const void *a, const void *b) { return strcmp(a, b); }
int main(int argc, char **argv)
{
	qsort(argv, argc, sizeof(*argv), by_text);
	return puts(getenv("HOME") ? argv[0] : "?") < 0;
}
C

ours() { "$B/tests/tools/symbols" "$1" | awk '/@plt$/ {print $1, $3}' | sort; }
# Leaves out the first slot, and slots whose function is chosen at run time:
# objdump has no names for them.
theirs() { # file, objdump
  "$2" -d "$1" | sed -nE 's/^0*([0-9a-f]+) <([^*@]+)(@[^@]*)?@plt>:$/\1 \2@plt/p' | sort
}
same() { # file, objdump
  theirs "$1" "$2" >"$tmp/theirs"
  ours "$1" | join -v 1 -j 1 "$tmp/theirs" - >"$tmp/missing"
  ours "$1" | join -j 1 "$tmp/theirs" - | awk '$2 != $3' >"$tmp/other"
  echo "$(wc -l <"$tmp/theirs") slots: $(head -n 3 "$tmp/missing" "$tmp/other")"
  [ -s "$tmp/theirs" ] && [ ! -s "$tmp/missing" ] && [ ! -s "$tmp/other" ]
}
check() { # name, command...
  local name=$1 out
  shift
  if out=$("$@" 2>&1); then echo "ok $name"; else echo "not ok $name: ${out//$'\n'/ | }"; fi
}
built() { # prefix of the tools, name, options...
  local tools=$1 name=$2
  shift 2
  if ! command -v "${tools}gcc" >/dev/null; then
    echo "skip slots_$name: no ${tools}gcc"
    return
  fi
  # The linker warns that its own files have no branch marks.
  "${tools}gcc" -O1 "$@" -o "$tmp/$name" "$tmp/calls.c" 2>/dev/null &&
    check "slots_${name}_have_objdumps_names" same "$tmp/$name" "${tools}objdump"
}

built '' lazy -Wl,-z,lazy
built '' now -Wl,-z,now
built '' ibt -fcf-protection -Wl,-z,ibtplt,-z,lazy
built '' stripped -s
arm=aarch64-linux-gnu-
built $arm aarch64 -Wl,-z,lazy
built $arm bti -mbranch-protection=bti -Wl,-z,force-bti
built $arm pac -Wl,-z,pac-plt
built $arm bti_and_pac -mbranch-protection=standard -Wl,-z,force-bti,-z,pac-plt

lib=/usr/lib/x86_64-linux-gnu
check slots_of_sqlite_have_objdumps_names same $lib/libsqlite3.so.0 objdump
check slots_of_libcrypto_have_objdumps_names same $lib/libcrypto.so.3 objdump

# In libc and in static programs the loader chooses these functions by CPU.
chosen() { ours "$1" | awk '{print $2}' | grep -qx 'memchr@plt'; }
check slots_of_functions_that_are_chosen_have_their_name chosen $lib/libc.so.6
sed 's/puts(/puts(memchr(argv[0], argc, 9) ? "" : /' "$tmp/calls.c" >"$tmp/static.c"
gcc -O1 -static -o "$tmp/static" "$tmp/static.c"
check also_in_static_programs chosen "$tmp/static"

# No slot reaches into the next one.
apart() {
  "$B/tests/tools/symbols" "$1" | awk '/@plt$/ {
    if ($2 > 24 || $2 < 8) {print; bad = 1}; n++} END {exit bad || !n}'
}
check slots_are_as_large_as_they_are apart $lib/libsqlite3.so.0

# _init lies before .plt, and has no size.
init_ends() {
  local end begins
  end=$("$B/tests/tools/symbols" "$1" | awk '$3 == "_init" {print $1, $2}')
  begins=$(objdump -h "$1" | awk '$2 == ".init" {print $4, $3}')
  echo "_init: $end, .init: $begins"
  [ -n "$end" ] &&
    [ $((0x${end% *} + ${end#* })) -eq $((0x${begins% *} + 0x${begins#* })) ]
}
check a_symbol_without_a_size_ends_with_its_section init_ends "$tmp/lazy"
