#!/bin/bash
# Waits, allocations and memory at the same time, for programs that have a
# thousand threads, are static, are linked with musl or jemalloc, run in a mount
# namespace, exec or fork other programs, or are killed.
#
# Alone: amounts a second are measured.
. tests/lib/e2e.sh
. tests/lib/once.sh
tmp=$(mktemp -d /var/tmp/stoker-lives-XXXXXX)
trap 'kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$tmp"' EXIT
[ "$(id -u)" -eq 0 ] || skip lives 'needs root'
can_capture lives || exit
types='block mutex io alloc memory'

# Takes a profile of each type of a process, all at the same time, as a worker
# does, until they are awaited.
take() { # name, seconds
  local type
  for type in $types; do
    begin "$1.$type" "$pid" 0 --type "$type" --seconds "$2"
  done
}
# Returns whether this many captures watch their processes.
watched() { # captures
  [ "$(bpftool prog show | grep -c 'name stoker_\(switch\|alloc\|hold\)')" -ge "$1" ]
}
sum() { "$B/tests/tools/folded" "$tmp/$1.pb.gz" "values:$2" | awk -v text="$3" 'index($0, text) { n += $NF } END { printf "%.0f", n }'; }
# A thread naps for 0.8 s in each second, allocates 8 * 4096 bytes, and holds
# as many: the sums must be within these percentages of that.
within() { # capture, value, text, unit, least, most percent
  local percent=$(($(sum "$1" "$2" "$3") * 100 / $4))
  echo "$percent % of $3"
  [ $percent -ge "$5" ] && [ $percent -le "$6" ]
}
# Checks the capture of a program whose threads live throughout it.
lives() { # name, type, threads, seconds
  captured "$1.$2" || return
  case $2 in
  block) within "$1.block" delay ';live;nap;' $(($3 * $4 * 800000000)) 60 140 ;;
  mutex) has "$1.mutex" ';live;take;.*\[lock ' 1 ;;
  io) has "$1.io" ';live;hear;.*\[read pipe\]' 1 ;;
  alloc) within "$1.alloc" alloc_space ';live;get ' $(($3 * $4 * 32768)) 60 140 ;;
  memory) within "$1.memory" inuse_space ';live;get ' $(($3 * 32768)) 60 140 ;;
  esac
}
seen() { # name, type: the capture has samples of it
  captured "$1.$2" || return
  case $2 in
  block) has "$1.block" ';live;nap;' 1 ;;
  alloc | memory) has "$1.$2" ';live;get ' 1 ;;
  *) lives "$1" "$2" 1 1 ;;
  esac
}
each() { # claim, name, check and its arguments: for each type
  local type
  for type in $types; do
    check "${type}_of_$1" "$3" "$2" "$type" "${@:4}"
  done
}

# Memory without the library needs Linux 6.13.
begin memory $$ 0 --type memory --seconds 1
await_captures
if grep -q 'Linux 6.13 or later' "$tmp/memory.err"; then
  echo "skip lives: memory without the library needs Linux 6.13"
  types=${types% memory}
fi

target many "$B/targets/crowd" 1000
take many 5
await_captures
each a_thousand_threads many lives 1000 5
kill -KILL "$pid"

# A static program waits for locks with other futex values than glibc.
gcc -static -O2 -g -o "$tmp/static" tests/targets/crowd.c -lpthread
musl-gcc -O2 -g -o "$tmp/musl" tests/targets/crowd.c -lpthread
gcc -O2 -g -o "$tmp/jemalloc" tests/targets/crowd.c -lpthread -Wl,--no-as-needed -l:libjemalloc.so.2
for name in static musl jemalloc; do
  target "$name" "$tmp/$name" 100 && take "$name" 4
  ends+=("$pid")
done
# The program and its libc exist only in its mount namespace.
target apart unshare --mount sh -c "mount -t tmpfs none /mnt &&
  cp '$B/targets/crowd' /mnt/inside && cp \$(ldd /mnt/inside | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p') /mnt &&
  LD_LIBRARY_PATH=/mnt exec /mnt/inside 100"
take apart 4
await_captures
each a_static_program static lives 100 4
each a_program_with_musl musl lives 100 4
each a_program_linked_with_jemalloc jemalloc lives 100 4
each a_mount_namespace_of_its_own apart lives 100 4
kill -KILL "${ends[@]}" "$pid"

# In the middle of the captures one shell execs the program, another runs it as
# a child, and a program is killed.
for name in becomes runs; do
  mkfifo "$tmp/go-$name"
done
target becomes bash -c "echo ready; read -r _ <'$tmp/go-becomes'; exec '$B/targets/crowd' 100"
becomes=$pid
take becomes 8
target runs bash -c "echo ready; read -r _ <'$tmp/go-runs'; '$B/targets/crowd' 100; exit"
runs=$pid
take runs 8
target killed "$B/targets/crowd" 100
take killed 8
wait_for 20 watched $((3 * $(wc -w <<<"$types")))
# Processes are followed shortly after the kernel's programs are loaded.
read -rt 3 <> <(:)
kill -KILL "$pid"
read -rt 1 <> <(:)
echo >"$tmp/go-becomes"
echo >"$tmp/go-runs"
await_captures
each a_program_after_an_exec becomes seen
each a_child_that_is_forked_meanwhile runs seen
# Samples up to its end are there.
each a_program_that_is_killed killed seen
kill -KILL "$becomes" $(pgrep -P "$runs") "$runs"
