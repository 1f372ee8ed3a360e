#!/bin/bash
# Memory of programs that load libstoker-heap.so, compared with their own
# counts.
. tests/lib/e2e.sh
. tests/lib/once.sh
. tests/lib/allocating.sh
tmp=$(mktemp -d /var/tmp/stoker-heap-XXXXXX)
leave='kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$tmp"'
LEAVE="$leave; e2e_stop"
trap "$leave" EXIT
can_capture heap || exit
library=$(realpath "$B")/libstoker-heap.so

# --- what is in use ---------------------------------------------------------
keeps() { # name, arguments of the target: $pid, which keeps memory
  local name=$1
  shift
  mkfifo "$tmp/$name.fifo"
  LD_PRELOAD="$library${behind:+:$behind}" "$B/targets/keeping" "$tmp/$name.truth" "$@" >"$tmp/$name.fifo" &
  read -r pid <"$tmp/$name.fifo"
}
# Shares of functions must be within three points, and the sum within a tenth,
# plus what chance allows.
agree_in_use() { # name, value, column of the truth
  awk '{ gsub(/\(anonymous namespace\)::/, ""); sub(/^.*;keep_all;/, ""); sub(/[; ].* /, " "); got[$1] += $NF } END { for (f in got) print f, got[f] }' \
    <("$B/tests/tools/folded" "$tmp/$1.pb.gz" "values:$2") >"$tmp/got"
  awk -v column="$3" -v kept="$(quality "$1" samplesKept)" '
    NR == FNR { is[$1] = $column; all += $column; next }
    { got[$1] = $2; sum += $2 }
    END {
      for (f in is) {
        a = 100 * is[f] / all; b = 100 * got[f] / sum
        allowed = 3 + 3 * sqrt(a * (100 - a) / kept)
        printf "%s %.1f %.1f; ", f, a, b
        if (a - b > allowed || b - a > allowed) bad = 1
      }
      printf "sum %.4g of %.4g by %d samples\n", sum, all, kept
      part = 0.1 + 3 / sqrt(kept)
      exit bad || sum < (1 - part) * all || sum > (1 + part) * all
    }' "$tmp/$1.truth" "$tmp/got"
}
first_is() { # name, function
  local first
  first=$("$B/tests/tools/folded" "$tmp/$1.pb.gz" values:inuse_space | sort -n -k 2 | tail -n 1)
  [[ $first == *";$2 "* ]] || { echo "$first"; return 1; }
}
no_row() { # name, function that keeps nothing
  ! "$B/tests/tools/folded" "$tmp/$1.pb.gz" values:inuse_space | grep ";$2 "
}

keeps plain
check memory_of_a_program_that_loads_the_library_is_captured once plain "$pid" --type memory
check shares_of_what_is_kept_are_true agree_in_use plain inuse_space 3
check the_largest_keeper_comes_first first_is plain keep_most
check what_was_freed_is_not_in_use no_row plain throw_away
check the_report_has_the_resident_memory [ "$(quality plain residentBytes)" -gt 1000000 ]
check stacks_begin_at_the_allocator_s_callers \
  grep -q ';keep_all;keep_most [0-9]*$' <("$B/tests/tools/folded" "$tmp/plain.pb.gz" values:inuse_space)
without=$("$B/targets/keeping" "$tmp/none.truth" >/dev/null & echo $!)
wait_for 10 [ -s "$tmp/none.truth" ]
named() {
  once none "$without" --type memory --seconds 1 >"$tmp/refused" && cp "$tmp/none.txt" "$tmp/refused"
  grep -q 'LD_PRELOAD=/usr/lib/stoker/libstoker-heap.so\|if the program loads libstoker-heap.so' "$tmp/refused"
}
check a_program_without_the_library_is_told_its_name named
kill -KILL "$pid" "$without"

keeps child fork
check memory_of_a_child_is_captured once child "$pid" --type memory
check a_child_has_what_its_parent_kept_and_its_own agree_in_use child inuse_space 3
kill -KILL "$pid"

# --- allocators behind the library ----------------------------------------------
lib=/usr/lib/$(gcc -print-multiarch)
for name in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
  behind=$lib/$name keeps "$name"
  check "memory_served_by_${name%%.*}_is_captured" once "$name" "$pid" --type memory
  check "shares_of_${name%%.*}_are_true" agree_in_use "$name" inuse_space 3
  kill -KILL "$pid"
done

# --- C++ operators, which an allocator may define ------------------------
for name in libc.so.6 libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
  short=${name%%.*} fails=
  [ "$short" != libmimalloc ] || fails=aborts
  mkfifo "$tmp/new-$short.fifo"
  LD_PRELOAD="$library:$lib/$name" "$B/targets/newing" "$tmp/new-$short.truth" $fails >"$tmp/new-$short.fifo" &
  read -r pid <"$tmp/new-$short.fifo"
  check "memory_from_operator_new_of_${short}_is_captured" once "new-$short" "$pid" --type memory
  sed -i 's/(anonymous namespace):://' "$tmp/new-$short.truth"
  check "shares_of_operators_of_${short}_are_true" agree_in_use "new-$short" inuse_space 3
  kill -KILL "$pid"
done
cat >"$tmp/plugin.cc" <<'C'
#include <cstdio>
#include <new>
extern "C" int make(void)
{
	void *volatile p = ::operator new(1000);
	::operator delete(p);
	try { p = ::operator new((size_t)-1 / 4); } catch (const std::bad_alloc &) { return 42; }
	return p != nullptr;
}
C
g++ -O1 -fno-builtin -shared -fPIC -o "$tmp/plugin.so" "$tmp/plugin.cc"
loads() {
  local with
  with=$(LD_PRELOAD=$library python3 -c "import ctypes; print(ctypes.CDLL('$tmp/plugin.so').make())")
  echo "$with"
  [ "$with" = 42 ]
}
check a_program_may_load_a_library_of_c_plus_plus_later loads

# --- allocations ------------------------------------------------------------
allocates many 1000000 LD_PRELOAD="$library"
capture alloc many
check allocations_of_a_program_that_loads_the_library_are_captured captured many
check shares_of_allocations_are_true agree many alloc_space 3 1 15
whole() { ! grep -q 'a part of the time' "$tmp/many.txt"; }
check a_program_that_allocates_often_is_watched_all_the_time whole

# --- programs that Debian ships ---------------------------------------------
same() { # command: prints the same and has the same status with the library
  local with without
  without=$("$@" 2>&1; echo "ended with $?")
  with=$(LD_PRELOAD="$library" "$@" 2>&1; echo "ended with $?")
  equal "$with" "$without"
}
cat >"$tmp/compiled.cc" <<'C'
#include <map>
#include <string>
#include <vector>
std::map<std::string, std::vector<int>> all;
void add(const char *name, int n) { all[name].push_back(n); }
C
compile() { g++ -O2 -c -o "$tmp/compiled.o" "$tmp/compiled.cc" && sha256sum "$tmp/compiled.o"; }
check a_compiler_makes_the_same_code_with_the_library same bash -c "$(declare -f compile); tmp=$tmp compile"
check a_database_gives_the_same_rows_with_the_library same sqlite3 :memory: \
  'create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000)
   insert into t select i, hex(i * 7) from n; create index i on t(b); select count(*), max(b), sum(length(b)) from t where b > "5"'
check an_interpreter_prints_the_same_with_the_library same python3 -c \
  'import json; d = {str(i): [i] * (i % 50) for i in range(20000)}; s = json.dumps(d); print(len(s), len(json.loads(s)))'
check a_shell_with_children_prints_the_same_with_the_library same bash -c 'for i in 1 2 3; do echo "$i" | sed s/1/2/ | sort; done'
mkfifo "$tmp/python"
LD_PRELOAD="$library" python3 -c '
import sys, time
def hold(n):
    return [bytes(50000) for i in range(n)]
kept = hold(4000)
print("ready", flush=True)
time.sleep(600)' >"$tmp/python" &
pid=$!
read -r _ <"$tmp/python"
holds() {
  once python "$pid" --type memory &&
    "$B/tests/tools/folded" "$tmp/python.pb.gz" values:inuse_space |
    awk '{ sum += $NF } END { print sum; exit sum < 150e6 || sum > 260e6 }'
}
check an_interpreter_s_memory_is_captured holds
kill -KILL "$pid"

# --- as a service -----------------------------------------------------------
e2e_start keeping
for name in loaded bare; do
  cp "$B/targets/keeping" "$STATE/bin/$name"
done
LD_PRELOAD=$library background loaded "$STATE/bin/loaded" "$tmp/loaded.truth"
background bare "$STATE/bin/bare" "$tmp/bare.truth"
wait_for 10 [ -s "$tmp/loaded.truth" ]
wait_for 10 [ -s "$tmp/bare.truth" ]
for name in loaded bare; do
  stoker_cli service add $name --exe "$STATE/bin/$name" --kind native >/dev/null
  wait_for 10 seen $name
done
run() { # service, type: puts the profile into $result
  local id
  id=$(start "$1" 1 "$2")
  wait_for 30 ended "$id"
}
ended() {
  result=$(api GET "$P/$1")
  [ "$(jq -r .phase <<<"$result")" = done ]
}
holds_result() { jq -e "$1" <<<"$result" >/dev/null || { echo "$result"; return 1; }; }
run loaded memory
check a_native_service_has_its_memory holds_result \
  '.status == "completed" and .topFunctions[0].funcName == "keep_most"'
# If the kernel allows it, probes replace the library: tests/e2e/inuse.sh.
run bare memory
check a_native_service_without_the_library_is_told_its_name holds_result \
  '.error.message + (.quality.notes | join(" ")) | contains("libstoker-heap.so")'

# --- a process that ends ------------------------------------------------------
id=$(start loaded 5 alloc)
under_way() { api GET "$P/$id" | jq -e '.progress > 0'; }
wait_for 20 under_way
kill -KILL "$(<"$STATE/pid/loaded")"
wait_for 30 ended "$id"
check counts_that_ended_with_their_process_are_noted holds_result \
  '.quality.notes | any(test("counts that a program keeps are lost when it ends.*: 1$"))'
