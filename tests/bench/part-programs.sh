# Thirty programs as Debian ships them, watched at the same time by a capture and
# by perf with copies of stacks: how many stacks have a name at the leaf and reach
# the start of their thread; and then stopped by gdb a few times. Programs that are
# not installed are left out.
#
# By ONLY=programs alone: it takes ten minutes.

# ONLY_PROGRAMS, if set, selects some of them.
program_rows() {
  grep -E "^(${ONLY_PROGRAMS:-.*}) " <<'P'
gzip      gzip -9 -c /dev/urandom
bzip2     bzip2 -9 -c /dev/urandom
xz        xz -6 -c /dev/urandom
zstd      zstd -12 -q -c </dev/urandom
base64    base64 /dev/urandom
md5sum    md5sum /dev/zero
sha256sum sha256sum /dev/zero
cksum     cksum /dev/zero
od        od -x /dev/urandom
xxd       xxd /dev/urandom
tar       tar -cf - --to-stdout /usr/share /usr/lib
openssl   openssl speed -seconds 60 rsa2048
ssh-keygen ssh-keygen -M generate -O bits=4096 moduli
perl      perl -e 'my %h; for (;;) { $h{$_ % 977} .= "x" for 1..9999; %h = () }'
python3   python3 -c 'while 1: sorted(str(i) for i in range(9999))'
ruby      ruby -e 'loop { (1..9999).map(&:to_s).sort }'
mawk      mawk 'BEGIN { for (;;) { for (i = 0; i < 9999; i++) a[i % 97] = a[i % 97] "x"; delete a } }'
node      node --perf-basic-prof -e 'for (;;) [...Array(9999).keys()].map(String).sort()'
bc        bc -l <<<'while (1) { x = a(1) * 4 + l(7) }'
jq        jq -n 'def f: [range(9999) | tostring] | sort | length; [range(100000) | f] | length'
tclsh     tclsh <(echo 'while 1 { set l {}; for {set i 0} {$i < 9999} {incr i} { lappend l $i }; lsort $l }')
sqlite3   sqlite3 :memory: 'with recursive n(i) as (select 1 union all select i + 1 from n) select max(hex(i)) from n'
bash      bash -c 'while :; do for i in {1..999}; do x=${i//1/2}; done; done'
grep      yes abbbbbbcdefabbbbabcabx | grep -cE '(a|b)+c(.*)y'
sed       sed -nE 's/(a|b)+c(.*)x/\2/p' /dev/urandom
sort      sort --parallel=1 -S 64M <(yes "$RANDOM $RANDOM" | head -n 9999999)
find      find / -xdev -regex '.*\(a\|b\)+c.*'
factor    yes 18446743979220271189 | factor
g++       /usr/bin/g++ -O2 -x c++ -S -o /dev/null <(for i in {1..9999}; do echo "#include <regex>"; echo "namespace n$i { int f(const char *s) { return std::regex_match(s, std::regex(\"a$i+\")); } }"; done)
gdb       gdb -q -batch -ex 'python while True: gdb.execute("info line main", to_string=True)' /bin/bash
objdump   objdump -d /usr/bin/gdb
nm        bash -c 'while :; do nm -D --demangle /usr/lib/*/libLLVM*.so* /usr/lib/*/libstdc++.so.6; done'
P
}

# Prints the percentages of leaves with names and of stacks that begin at the
# start of a thread, and the number of stacks.
perf_stacks() { # perf.data
  perf script -i "$1" --no-inline -F comm,ip,sym 2>/dev/null | awk '
    BEGIN { RS = ""; FS = "\n" }
    { n++; named += $2 !~ /\[unknown\]/
      whole += /[ ](_start|__libc_start_main[^ ]*|start_thread|__?clone3?)(\n|$)/ }
    END { if (n) printf "%.1f %.1f %d\n", 100 * named / n, 100 * whole / n, n }'
}
# Prints the percentage of stacks that begin at the start of a thread, and their
# number.
gdb_stacks() { # pid
  local i
  for ((i = 0; i < 5; i++)); do
    timeout 60 gdb -q -nx -batch -iex 'set debuginfod enabled off' -ex 'set backtrace past-main on' \
      -ex 'set backtrace past-entry on' -ex 'backtrace -4' -p "$1" 2>/dev/null | grep '^#' | paste -sd ' '
    read -rt 0.2 _ <> <(:)
  done | awk '/^#/ { n++; whole += / (_start|__libc_start_main[^ ]*|start_thread|__?clone3?) / }
    END { if (n) printf "%.1f %d\n", 100 * whole / n, n }'
}
our_stacks() { # report, folded stacks
  awk 'FILENAME == ARGV[1] && $1 == "stacksComplete" { whole = $2 }
    FILENAME == ARGV[2] { n += $NF; if ($0 !~ /(\+0x[0-9a-f]+|\[unknown\]) [0-9]+$/) named += $NF }
    END { if (n) printf "%.1f %.1f %d\n", 100 * named / n, 100 * whole / n, n }' "$1" "$2"
}

program_row() { # name, command
  local pid target perf ours=() theirs=() gdbs=()
  setsid bash -c "cd '$programs' && $2" >/dev/null 2>&1 </dev/null &
  pid=$!
  sleep 2
  # Of the process group, takes the process with most CPU time, since g++ runs
  # cc1plus.
  target=$(ps -o pid= --sort=-cputimes -g "$pid" | awk 'NR == 1 { print $1 }')
  if [ -n "$target" ]; then
    perf record -q --no-buildid -e cpu-clock -F 99 --call-graph dwarf,32768 -p "$target" \
      -o "$programs/perf.data" -- sleep 4 2>/dev/null &
    perf=$!
    "$B/stoker-worker" --once "$target" --seconds 4 --rate 99 \
      --out "$programs/profile" >"$programs/report" 2>/dev/null
    wait $perf
    tests/lib/perf_data "$programs/perf.data"
    "$B/tests/tools/folded" "$programs/profile" >"$programs/folded"
    read -r -a ours < <(our_stacks "$programs/report" "$programs/folded")
    read -r -a theirs < <(perf_stacks "$programs/perf.data")
    [ "$1" = gdb ] || read -r -a gdbs < <(gdb_stacks "$target")
  fi
  kill -KILL -- "-$pid" 2>/dev/null
  wait "$pid" 2>/dev/null
  if [ -z "${ours[2]-}" ] || [ -z "${theirs[2]-}" ]; then
    echo "bench: $1 was not seen" >&2
    return
  fi
  beside "names_${1}_pct" "${ours[0]}" perf "${theirs[0]}" "${ours[2]}"
  beside "whole_${1}_pct" "${ours[1]}" perf "${theirs[1]}" "${ours[2]}"
  [ -z "${gdbs[1]-}" ] || beside "whole_${1}_gdb_pct" "${ours[1]}" gdb "${gdbs[0]}" "${gdbs[1]}"
}
beside() { # row, ours, rival, theirs, n
  printf '%s\t%s\t%%\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" \
    "$(awk "BEGIN { print $4 ? sprintf(\"%.2f\", $2 / $4) : \"-\" }")" "$5" | tee -a "$out"
}

if [[ ",$ONLY," == *,programs,* ]]; then
  programs=$(mktemp -d /var/tmp/stoker-bench-XXXXXX)
  trap 'rm -rf "$programs"' EXIT
  while read -r name command; do
    if command -v "$name" >/dev/null; then program_row "$name" "$command"; fi
  done < <(program_rows)
  rm -rf "$programs"
  trap - EXIT
fi
