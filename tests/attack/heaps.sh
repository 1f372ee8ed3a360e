#!/bin/bash
# A program may load any library with the name libstoker-heap.so, and count
# anything in it. This affects only its own profile.
#
# Beside others: it waits for events.
. tests/lib/e2e.sh
. tests/lib/once.sh
tmp=$(mktemp -d "$B/heaps-XXXXXX")
leave() {
  kill -KILL $(jobs -p) 2>/dev/null
  wait 2>/dev/null # keeps the jobs' ends out of the log
  rm -rf "$tmp"
}
trap leave EXIT
can_capture heaps || exit

cat >"$tmp/library.c" <<'C'
#include "preload/heap_layout.h"
#include <stdlib.h>

static struct heap_stack stacks[HEAP_STACKS];
static uint64_t frames[4096];
__attribute__((visibility("default"))) struct heap_head stoker_heap;

__attribute__((constructor)) static void
begin(void)
{
	stoker_heap = (struct heap_head)HEAD;
	srandom(1);
	for (unsigned i = 0; i < HEAP_STACKS; i++) {
		uint64_t *word = (uint64_t *)&stacks[i];

		for (unsigned k = 0; k < sizeof(stacks[i]) / 8; k++)
			word[k] = COUNT;
	}
	for (unsigned i = 0; i < 4096; i++)
		frames[i] = (uint64_t)random() << 17 ^ random();
}
C
echo 'int puts(const char *); int pause(void); int fflush(void *);
int main(void) { puts("ready"); fflush(0); for (;;) pause(); }' >"$tmp/main.c"
gcc -w -o "$tmp/main" "$tmp/main.c"
loads() { # name, its head, expression for each word of its counts: $pid
  mkdir "$tmp/$1"
  gcc -w -shared -fPIC -Iinclude "-DHEAD={$2}" "-DCOUNT=$3" -o "$tmp/$1/libstoker-heap.so" "$tmp/library.c"
  target "$1" env LD_PRELOAD="$tmp/$1/libstoker-heap.so" "$tmp/main"
}
any='(uint64_t)random() << 33 ^ (uint64_t)random() << 11 ^ random()'
own='(uint64_t)stacks, (uint64_t)frames'

# The capture must end with a profile, or with an error that is the library's
# fault.
ends_well() { # name
  once "$1" "$pid" --type memory >"$tmp/$1.log" && return
  ! grep -E 'died|failed|internal' "$tmp/$1.log" && grep -q 'libstoker-heap.so' "$tmp/$1.log"
}
while IFS='|' read -r name head count; do
  loads "$name" "$head" "$count"
  check "counts_${name}_end_no_capture" ends_well "$name"
  kill -KILL "$pid"
done <<ROWS
without_a_beginning|0|$any
at_no_address|HEAP_MAGIC, 0, 0, ~0u, ~0u, ~0ull, ~0ull|$any
of_the_kernel|HEAP_MAGIC, 0xffffffff81000000, 0xffffffff81000000, 9, 9|$any
past_their_end|HEAP_MAGIC, $own, ~0u, ~0u, 1, 0|$any
that_are_noise|HEAP_MAGIC, $own, HEAP_STACKS, 4096, 1, 0|$any
that_are_all_ones|HEAP_MAGIC, $own, HEAP_STACKS, 4096, ~0ull, ~0ull|~0ull
with_endless_stacks|HEAP_MAGIC, $own, HEAP_STACKS, 4096, 1, 0|k == 1 ? 0xffffffff00000000 : 1000
that_are_large|HEAP_MAGIC, $own, HEAP_STACKS, 4096, 1, 0|k == 1 ? 0 : k < 5 ? 1ull << 46 : 0
ROWS

# No value may be negative or too large to be summed.
is_sane() { # name
  "$B/tests/tools/folded" "$tmp/$1.pb.gz" values:inuse_space >"$tmp/$1.folded" &&
    ! grep -q ' -' "$tmp/$1.folded"
}
check noise_gives_no_negative_bytes is_sane that_are_noise
check large_counts_give_no_negative_bytes is_sane that_are_large

# A file of that name that is not a library.
mkdir "$tmp/text"
head -c 8192 /dev/urandom >"$tmp/text/libstoker-heap.so"
cat >"$tmp/map.c" <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int
main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY);

	if (argc != 2 || mmap(0, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
C
gcc -w -o "$tmp/map" "$tmp/map.c"
target text "$tmp/map" "$tmp/text/libstoker-heap.so"
check a_file_that_is_no_library_ends_no_capture ends_well text
