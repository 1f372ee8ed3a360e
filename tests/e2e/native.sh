#!/bin/bash
# Debian's stripped programs, at places without symbols and unwind tables.
. tests/lib/e2e.sh
. tests/lib/once.sh
tmp=$(mktemp -d /var/tmp/stoker-native-XXXXXX)
trap 'kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$tmp"' EXIT
can_capture native || exit

at_least() { # part, of, percent
  echo "$1 of $2, $3 % wanted"
  [ "$2" -ge 100 ] && [ $(($1 * 100)) -ge $(($2 * $3)) ]
}
whole() { # name, percent
  at_least "$(quality "$1" stacksComplete)" "$(quality "$1" samplesKept)" "$2"
}
leaf() { # name: prints samples and innermost function, once per function
  awk '{n = $NF; sub(/ [0-9]+$/, ""); sub(/.*;/, ""); self[$0] += n}
       END {for (f in self) print self[f], f}' "$tmp/$1.folded" | sort -rn
}

# Compresses an endless black image. Most of the work is libjpeg's assembly,
# which has no tables and no symbols.
cjpeg -outfile /dev/null < <(printf 'P6 65500 65500 255\n' && exec cat /dev/zero) &
begin cjpeg $! 2000 --rate 999

# musl has no unwind tables, and its start code ends no stack. Stacks within it
# must reach main or a thread's first function.
cat >"$tmp/sorts.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int sorts_compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) void sorts_all(void)
{
	int row[1000];

	for (;;) {
		for (int i = 0; i < 1000; i++)
			row[i] = i * 7919 % 1009;
		qsort(row, 1000, sizeof(*row), sorts_compare);
	}
}
static void *sorts_thread(void *arg)
{
	sorts_all();
	return arg;
}
int main(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, sorts_thread, NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	sorts_all();
}
C
for how in dynamic static; do
  flags=()
  [ $how = static ] && flags=(-static)
  check "a_${how}_program_with_musl_is_built" \
    musl-gcc -O2 "${flags[@]}" -o "$tmp/sorts_$how" "$tmp/sorts.c"
  target "$how" "$tmp/sorts_$how"
  begin "$how" "$pid" 1000 --rate 999
done

# The library calls its own functions and others through slots.
sqlite3 :memory: \
  "with recursive c(x) as (select 1 union all select x+1 from c where x<600000000)
   select count(*), sum(x*x%97), max(hex(x)) from c where x%7=3 or hex(x) like '%9%'" \
  >/dev/null &
begin sqlite3 $! 2000 --rate 999
await_captures
{ kill -KILL $(jobs -p) && wait; } 2>/dev/null

check cjpeg_is_captured captured cjpeg
check stacks_of_assembly_reach_their_start whole cjpeg 98
# The assembly is called by the compressor.
check callers_of_assembly_are_in_the_stack at_least \
  "$(samples cjpeg ';jpeg_write_scanlines;(.*;)?libjpeg[^;]*$')" \
  "$(samples cjpeg '(^|;)libjpeg[^;]*$')" 90
is_few_rows() {
  local rows
  leaf cjpeg | grep 'libjpeg' >"$tmp/rows"
  rows=$(wc -l <"$tmp/rows")
  echo "$rows rows: $(head -n 3 "$tmp/rows" | tr '\n' ' ')"
  [ "$rows" -gt 0 ] && [ "$rows" -le 20 ]
}
check assembly_is_a_row_for_each_function is_few_rows

sorts_are_whole() { # name
  at_least "$(samples "$1" '(;main|(^|;)sorts_thread);sorts_all[; ]')" \
    "$(samples "$1")" 95
}
for how in dynamic static; do
  check "a_${how}_program_with_musl_is_captured" captured "$how"
  check "stacks_of_a_${how}_program_with_musl_reach_their_start" whole "$how" 90
  check "callers_are_below_musl_in_a_${how}_program" sorts_are_whole "$how"
done
check sqlite3_is_captured captured sqlite3
check slots_have_the_names_of_the_functions_they_lead_to has sqlite3 '@plt ' 5

# --- a command from its first instruction to its end
record() { # name, command...
  local name=$1
  shift
  "$B/stoker" record --output "$tmp/$name.pb.gz" --rate 999 -- "$@" >"$tmp/$name.txt" 2>&1
}
check a_command_is_recorded record counted mawk 'BEGIN { for (i = 0; i < 20000000; i++) n += i; print "counted" }'
check a_recorded_command_has_its_own_output grep -q '^counted$' "$tmp/counted.txt"
"$B/tests/tools/folded" "$tmp/counted.pb.gz" >"$tmp/counted.folded"
check a_recorded_command_has_samples test "$(samples counted)" -ge 100
check record_fails_as_its_command_does leaves 1 record sad sh -c 'exit 3'
check a_command_that_is_none_is_not_recorded leaves 1 record none /nonexistent
