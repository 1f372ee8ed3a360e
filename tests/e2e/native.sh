#!/bin/bash
# Programs as Debian ships them, stripped, in places where their symbols and
# unwind tables say nothing.
. tests/lib/e2e.sh
. tests/lib/once.sh
tmp=$(mktemp -d /var/tmp/stoker-native-XXXXXX)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$tmp"' EXIT
can_capture native || exit

at_least() { # part, of, percent
  echo "$1 of $2, $3 % wanted"
  [ "$2" -ge 100 ] && [ $(($1 * 100)) -ge $(($2 * $3)) ]
}
whole() { # name, percent
  at_least "$(quality "$1" stacksComplete)" "$(quality "$1" samplesKept)" "$2"
}
leaf() { # name: samples and the innermost function, each once
  awk '{n = $NF; sub(/ [0-9]+$/, ""); sub(/.*;/, ""); self[$0] += n}
       END {for (f in self) print self[f], f}' "$tmp/$1.folded" | sort -rn
}

# An image of nothing that never ends: libjpeg's assembly has no tables and no
# symbols, and is most of the work.
cjpeg -outfile /dev/null < <(printf 'P6 65500 65500 255\n' && exec cat /dev/zero) &
check cjpeg_is_captured once cjpeg $! --seconds 4 --rate 500
kill $!
check stacks_of_assembly_reach_their_start whole cjpeg 98
# Its callers are those that its tables tell of: the compressor calls it.
check its_callers_are_in_the_stack at_least \
  "$(samples cjpeg ';jpeg_write_scanlines[; ]')" "$(samples cjpeg)" 60
is_few_rows() {
  local rows
  leaf cjpeg | grep 'libjpeg' >"$tmp/rows"
  rows=$(wc -l <"$tmp/rows")
  echo "$rows rows: $(head -n 3 "$tmp/rows" | tr '\n' ' ')"
  [ "$rows" -gt 0 ] && [ "$rows" -le 20 ]
}
check assembly_is_a_row_for_each_function is_few_rows

# The library calls itself and others through slots.
sqlite3 :memory: \
  "with recursive c(x) as (select 1 union all select x+1 from c where x<60000000)
   select count(*), sum(x*x%97), max(hex(x)) from c where x%7=3 or hex(x) like '%9%'" \
  >/dev/null &
check sqlite3_is_captured once sqlite3 $! --seconds 4 --rate 500
kill $!
wait $! 2>/dev/null
check slots_have_the_names_of_what_they_lead_to has sqlite3 '@plt ' 5
