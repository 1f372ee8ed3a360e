#!/bin/bash
# Debian's programs have the same top function as in perf, which watches them
# at the same time.
#
# Quiet: the program that perf and Stoker sample needs a CPU.
. tests/lib/e2e.sh
tmp=$(mktemp -d /var/tmp/stoker-perf-XXXXXX)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$tmp"' EXIT
seconds=5

# perf 6.1 aborts at its end on newer kernels ("stack smashing detected") while
# it collects build-ids, which are not needed here.
record() { perf record -q --no-buildid -e cpu-clock -F 99 "$@"; }

if ! record -o "$tmp/probe.data" -- true 2>"$tmp/probe.err"; then
  [ "$(id -u)" -eq 0 ] || skip perf_agreement "$(tail -n 1 "$tmp/probe.err")"
  echo "not ok perf_works: $(tail -n 1 "$tmp/probe.err")"
  exit 1
fi

# Prints the symbol in which most samples end, as perf names it.
perf_top() {
  perf report -i "$tmp/$1.data" --no-children --stdio -g none --sort symbol \
    2>/dev/null |
    awk '!/^#/ && NF {sub(/^ *[0-9.]+% +\[[.k]\] /, ""); sub(/  .*/, "")
                      print; exit}'
}

our_top() {
  "$B/tests/tools/folded" "$tmp/$1.pb.gz" | awk '
    {n = $NF; sub(/ [0-9]+$/, ""); sub(/.*;/, ""); self[$0] += n}
    END {for (f in self) if (self[f] > most) {most = self[f]; top = f}
         print top}'
}

same_top() {
  local ours theirs
  ours=$(our_top "$1") theirs=$(perf_top "$1")
  echo "ours: $ours, perf's: $theirs"
  [ -n "$ours" ] && [ "${ours%%(*}" = "${theirs%%(*}" ]
}

both() { # name, pid
  record -g -p "$2" -o "$tmp/$1.data" -- sleep "$seconds" 2>"$tmp/$1.perf" &
  local perf=$!
  "$B/stoker-worker" --once "$2" --seconds "$seconds" --rate 100 \
    --out "$tmp/$1.pb.gz" 2>&1
  local code=$?
  wait "$perf" || { code=1; cat "$tmp/$1.perf"; }
  return $code
}

# Prints the number of samples and the function in which most of them end.
summary() {
  awk '{n = $NF; sub(/ [0-9]+$/, ""); sub(/.*;/, ""); self[$0] += n; all += n}
    END {for (f in self) if (self[f] > most) {most = self[f]; top = f}
         print all, top}' "$1"
}

# perf script aborts because of mappings that tests/lib/perf_data repairs; our
# reader does not.
same_data() { # name
  local ours theirs
  "$B/stoker" convert "$tmp/$1.data" "$tmp/$1.ours.folded" || return
  tests/lib/perf_data "$tmp/$1.data"
  perf script -i "$tmp/$1.data" 2>/dev/null >"$tmp/$1.txt"
  "$B/stoker" convert "$tmp/$1.txt" "$tmp/$1.theirs.folded" || return
  ours=$(summary "$tmp/$1.ours.folded") theirs=$(summary "$tmp/$1.theirs.folded")
  echo "ours: $ours, perf script's: $theirs"
  [ -n "$ours" ] && [ "$ours" = "$theirs" ]
}

# Stacks that perf copied must be unwound to the start of the program.
unwound() {
  "$B/stoker" convert "$tmp/dwarf.data" "$tmp/dwarf.folded" || return
  awk '{all += $NF} /__libc_start/ {whole += $NF}
    END {print whole + 0, "of", all; exit !(all > 20 && whole > 0.8 * all)}' \
    "$tmp/dwarf.folded"
}

compare() { # name, command...
  local name=$1
  shift
  "$@" >/dev/null 2>"$tmp/$name.err" &
  local pid=$!
  check "${name}_is_captured" both "$name" "$pid"
  check "${name}_has_the_top_function_of_perf" same_top "$name"
  check "${name}_reads_the_same_from_perf_data_as_from_perf_script" same_data "$name"
  kill "$pid" 2>/dev/null
  wait "$pid" 2>/dev/null || : # it was killed, or ended by itself
}

compare sqlite3 sqlite3 :memory: \
  "with recursive c(x) as (select 1 union all select x+1 from c where x<60000000)
   select count(*), sum(x*x%97), max(hex(x)) from c where x%7=3 or hex(x) like '%9%'"
compare perl perl -e \
  'my %h; for (my $i = 0; ; $i++) { $h{$i % 977} .= chr(65 + $i % 26) if $i % 3;
   $h{$i % 977} = "" if $i % 11 == 0 }'

record --call-graph dwarf -o "$tmp/dwarf.data" -- sqlite3 :memory: \
  "with recursive c(x) as (select 1 union all select x+1 from c where x<2000000)
   select count(*), sum(x*x%97) from c" >/dev/null 2>&1
check stacks_that_perf_copied_reach_the_start_of_the_program unwound
check copied_stacks_are_unwound_like_perf_script_does same_data dwarf
