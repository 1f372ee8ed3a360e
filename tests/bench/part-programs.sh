# Forty programs as Debian ships them, watched at the same time by a capture and
# by perf with copies of stacks: how many stacks have a name at the leaf and reach
# the start of their thread, and whether both give functions the same shares; and
# then stopped by gdb a few times. Programs that are not installed are left out.
#
# Only with ONLY=programs: it takes twelve minutes.

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
php       php -r 'for (;;) { $a = []; for ($i = 0; $i < 9999; $i++) $a[] = md5($i); sort($a); }'
lua5.4    lua5.4 -e 'while true do local t = {} for i = 1, 9999 do t[i] = tostring(i * 7919 % 9973) end table.sort(t) end'
luajit    luajit -e 'while true do local t = {} for i = 1, 9999 do t[i] = tostring(i * 7919 % 9973) end table.sort(t) end'
x264      x264 --demuxer raw --input-res 640x360 --frames 999999 -o /dev/null /dev/urandom
ffmpeg    ffmpeg -v error -f lavfi -i testsrc=size=640x360 -c:v mpeg4 -f null -
convert   bash -c 'while :; do convert -size 1500x1500 plasma: -blur 0x20 null:; done'
sox       sox -n -t raw - synth 99999 sine 440 reverb
gs        gs -q -dNODISPLAY -c '{ 1 1 99999 { sqrt sin pop } for } loop'
git       seq 99999 | shuf >a; seq 99999 | shuf >b; git diff --no-index --minimal a b
redis-server redis-server --port 0 --unixsocket redis --save '' & sleep 0.5; redis-benchmark -s redis -n 99999999 -q
grep-P    yes "$(head -c 2000 /dev/urandom | base64 -w0)" | head -n 99999 >t; grep -cP '([a-z]+[0-9]){2,}(?=[A-Z]).*[^a-z](x|y)+q' t t t t t
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

# Read samples of functions, one a line, and print their shares: name, percent.
# Names are without their arguments; code without a name is that of its file.
shares() {
  awk '{ n = $1; sub(/^[0-9]+ /, ""); if (sub(/[+]0x[0-9a-f]+$/, "")) $0 = "[" $0 "]"
      sub(/[(<].*/, ""); samples[$0] += n; all += n }
    END { for (name in samples) printf "%s\t%.3f\n", name, 100 * samples[name] / all }'
}
perf_functions() { # perf.data, half of the samples (0 or 1; none: all)
  perf script -i "$1" --no-inline -F comm,ip,sym,dso 2>/dev/null | awk -v half="${2-}" '
    BEGIN { RS = ""; FS = "\n" }
    half != "" && NR % 2 != half { next }
    { leaf = $2; file = leaf; sub(/.*[(\/]/, "", file); sub(/\)$/, "", file)
      sub(/^[ \t]*[0-9a-f]+ /, "", leaf); sub(/ \([^()]*\)$/, "", leaf)
      print 1, leaf == "[unknown]" ? file "+0x0" : leaf }' | shares
}
# Prints the percentage that two tables of shares have in common.
in_common() {
  awk -F'\t' 'NR == FNR { one[$1] = $2; next }
    { a = one[$1] + 0; b = $2 + 0; all += (a < b ? a : b) } END { printf "%.1f\n", all }' "$1" "$2"
}

program_row() { # name, command
  local pid target perf common halves ours=() theirs=() gdbs=()
  setsid bash -c "cd '$programs' && $2" >/dev/null 2>&1 </dev/null &
  pid=$!
  sleep 2
  # Takes the process of the group that used the most CPU time, since g++ runs
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
    common=$(in_common <("$B/tests/tools/folded" "$programs/profile" functions | shares) \
      <(perf_functions "$programs/perf.data"))
    halves=$(in_common <(perf_functions "$programs/perf.data" 0) <(perf_functions "$programs/perf.data" 1))
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
  beside "shares_${1}_pct" "$common" halves_of_perf "$halves" "${ours[2]}"
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
    if command -v "${name%-P}" >/dev/null; then program_row "$name" "$command"; fi
  done < <(program_rows)
  rm -rf "$programs"
  trap - EXIT
fi
