#!/bin/bash
# A database, a compiler and an interpreter from Debian give the same results
# in every round while profiles of every type are taken of them, one after the
# other. Nothing stays in the kernel afterwards.
#
# Alone: three programs work while they are captured for two seconds.
. tests/lib/e2e.sh
. tests/lib/once.sh
. tests/lib/pg.sh
[ "$(id -u)" -eq 0 ] || skip real_programs 'needs root'
tmp=$(mktemp -d /var/tmp/stoker-real-XXXXXX)
trap 'touch "$tmp/stop"; pg_stop; kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$tmp"' EXIT
chmod 755 "$tmp"
can_capture real_programs || exit
# Lists our programs in the kernel that no process holds, such as pinned ones;
# captures of other tests hold theirs. If tracefs is mounted, it lists other
# probes.
held() { cat /proc/[0-9]*/fdinfo/* 2>/dev/null | awk '$1 == "prog_id:" { print $2 }' | sort -u; }
left() { comm -23 <(bpftool prog show | awk '/ name stoker_/ { print $1 + 0 }' | sort) <(held); }
before=$(left)
install -m 755 "$B/libstoker-heap.so" "$tmp/libstoker-heap.so"
library=$tmp/libstoker-heap.so

cat >"$tmp/round.py" <<'P'
import hashlib, json, os, re, sys, threading, time
lock, stop, path = threading.Lock(), sys.argv[1], sys.argv[2]
def work(seed, out):
    words = {}
    for i in range(4000):
        word = hashlib.md5(b"%d %d" % (seed, i)).hexdigest()
        with lock:
            words.setdefault(word[:2], []).append(re.sub("[a-f]+", "-", word))
    time.sleep(0.01)
    out[seed] = json.dumps(words, sort_keys=True)
while True:
    out = {}
    threads = [threading.Thread(target=work, args=(n, out)) for n in range(4)]
    for t in threads: t.start()
    for t in threads: t.join()
    with open(path, "w") as f:
        f.write("".join(out[n] for n in range(4)))
        f.flush()
        os.fsync(f.fileno())
    with open(path, "rb") as f:
        print(hashlib.sha256(f.read()).hexdigest(), flush=True)
    if os.path.exists(stop): break
P
cat >"$tmp/unit.cc" <<'C'
#include <map>
#include <regex>
#include <string>
int among(const std::map<std::string, int> &m, const std::string &s)
{
	std::smatch found;
	return std::regex_search(s, found, std::regex("a+b*")) ? m.at(found[0]) : 0;
}
C
compiles() {
  while :; do
    g++ -O2 -pipe -c -o "$1.o" "$tmp/unit.cc" && sha256sum <"$1.o"
    [ ! -e "$2" ] || break
  done
}
asks() {
  local said
  coproc db { pg_run psql -h "$tmp/pg" -U stoker -d postgres -qAt 2>&1; }
  while :; do
    cat >&"${db[1]}" <<'SQL'
set client_min_messages to error;
drop table if exists t; create table t(a int, b text);
insert into t select i, md5(i::text) from generate_series(1, 20000) i;
create index on t(b); update t set a = a + 1 where b > '8'; checkpoint;
select md5(string_agg(a || b, ',' order by b)) from t;
SQL
    read -r said <&"${db[0]}" && echo "$said"
    [ ! -e "$1" ] || break
  done
  kill -TERM "$db_PID"
}

# Runs a round without profiles and without the library, then rounds with
# profiles: the compiler and the database use the library, the interpreter does
# not.
touch "$tmp/at_once"
python3 "$tmp/round.py" "$tmp/at_once" "$tmp/python.out" >"$tmp/python.alone"
compiles "$tmp/compiler" "$tmp/at_once" >"$tmp/compiler.alone"
pg_start "$tmp" >"$tmp/log" 2>&1 || { echo "not ok a_database_starts: $(tail -n 1 "$tmp/log")"; exit; }
asks "$tmp/at_once" >"$tmp/database.alone" 2>&1
pg_stop
pg_run env LD_PRELOAD="$library" pg_ctl -D pg/data -w -l pg/log \
  -o "-c listen_addresses='' -c unix_socket_directories='$tmp/pg'" start >/dev/null
python3 "$tmp/round.py" "$tmp/stop" "$tmp/python.out" >"$tmp/python.said" &
python=$!
export LD_PRELOAD=$library
compiles "$tmp/compiler" "$tmp/stop" >"$tmp/compiler.said" &
compiler=$!
asks "$tmp/stop" >"$tmp/database.said" 2>&1 &
unset LD_PRELOAD
database=$(head -n 1 "$pg_data/postmaster.pid")
for name in python compiler database; do
  wait_for 60 [ -s "$tmp/$name.said" ]
done

tree() { # the pids of a process and its descendants
  local pid
  for pid in $(pgrep -P "$1"); do tree "$pid"; done
  echo "$1"
}
# A capture must have samples, unless no thread waited for a lock, or memory
# costs too much without the library, which the error names. A wait counts when
# it ends, which in a long compilation may be after the first tries.
profile() { # program, type
  local _
  for _ in {1..8}; do
    once "$1-$2" "$(tree "${!1}" | head -n 200 | paste -sd,)" --type "$2" --seconds 2 ||
      { [ "$1-$2" = python-memory ] && grep -q libstoker-heap.so "$tmp/$1-$2.err"; return; }
    [ "$(samples "$1-$2")" -eq 0 ] && [ "$2" != mutex ] || return 0
  done
  cat "$tmp/$1-$2.txt"
  return 1
}
# The types of profiles that are taken of non-Go programs from outside.
types=$(sed -n 's/^WAY(\([a-z]*\), *\(any\|native\), *\([A-Z]*\),.*/\3 \1/p' include/ways.def |
  sed -n 's/^[^P].* //p' | sort -u)
for type in $types; do
  captures=()
  for name in python compiler database; do
    { profile $name $type; echo $? >"$tmp/$name.status"; } >"$tmp/$name.why" 2>&1 &
    captures+=($!)
  done
  wait "${captures[@]}"
  for name in python compiler database; do
    check "${type}_of_a_${name}_is_captured" eval "cat '$tmp/$name.why'; [ $(<"$tmp/$name.status") = 0 ]"
  done
done
touch "$tmp/stop"
wait
for name in python compiler database; do
  check "the_${name}_says_in_each_round_what_it_said_alone" \
    equal "$(sort -u "$tmp/$name.said")" "$(sort -u "$tmp/$name.alone")"
  check "the_${name}_goes_on_while_it_is_profiled" [ "$(wc -l <"$tmp/$name.said")" -gt 1 ]
done
is_gone() { [ -z "$(comm -13 <(echo "$before") <(left))" ] && ! grep -s . /sys/kernel/tracing/uprobe_events; }
check nothing_of_ours_stays_in_the_kernel wait_for 10 is_gone
