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
if [ "$(id -u)" -ne 0 ]; then
  echo "skip lives: needs root"
  exit 0
fi
can_capture lives || exit
types='block mutex io alloc memory'

# Captures of a program run at the same time, as in a worker.
all_of() { # name, seconds, [what happens meanwhile]
  local type captures=()
  rm -f "$tmp/$1".*.pb.gz
  for type in $types; do
    once "$1.$type" "$pid" --type "$type" --seconds "$2" >"$tmp/$1.$type.said" &
    captures+=($!)
  done
  [ -z "${3:-}" ] || { wait_for 20 watched "$1" && "$3"; }
  wait "${captures[@]}"
  if grep -qs 'Linux 6.13 or later' "$tmp/$1.memory.said"; then
    echo "skip lives: memory without the library needs Linux 6.13"
    types=${types% memory}
  fi
}
watched() { [ "$(bpftool prog show | grep -c 'name stoker_\(switch\|alloc\|hold\)')" -ge "$(wc -w <<<"$types")" ]; }
sum() { "$B/tests/tools/folded" "$tmp/$1.pb.gz" "values:$2" | awk -v text="$3" 'index($0, text) { n += $NF } END { printf "%.0f", n }'; }
# A thread naps for 0.8 s in each second, allocates 8 * 4096 bytes, and holds as
# many: the sums must be within these percentages.
within() { # capture, value, text, unit, least, most percent
  local percent=$(($(sum "$1" "$2" "$3") * 100 / $4))
  echo "$percent % of $3"
  [ $percent -ge "$5" ] && [ $percent -le "$6" ]
}
# Checks the capture of a program whose threads live throughout it.
lives() { # name, type, threads, seconds
  [ -s "$tmp/$1.$2.pb.gz" ] || { cat "$tmp/$1.$2.said"; return 1; }
  case $2 in
  block) within "$1.block" delay ';live;nap;' $(($3 * $4 * 800000000)) 60 140 ;;
  mutex) has "$1.mutex" ';live;take;.*\[lock ' 1 ;;
  io) has "$1.io" ';live;hear;.*\[read pipe\]' 1 ;;
  alloc) within "$1.alloc" alloc_space ';live;get ' $(($3 * $4 * 32768)) 60 140 ;;
  memory) within "$1.memory" inuse_space ';live;get ' $(($3 * 32768)) 60 140 ;;
  esac
}
seen() { # name, type: something of it
  case $2 in
  block) has "$1.block" ';live;nap;' 1 ;;
  alloc | memory) has "$1.$2" ';live;get ' 1 ;;
  *) lives "$1" "$2" 1 1 ;;
  esac
}
each() { # claim, name, what is claimed, its arguments
  local type
  for type in $types; do
    check "${type}_of_$1" "$3" "$2" "$type" "${@:4}"
  done
}

target many "$B/targets/crowd" 1000
all_of many 5
each a_thousand_threads many lives 1000 5
kill -KILL "$pid"

built() { # name, compiler and options
  local name=$1
  shift
  "$@" -O2 -g -o "$tmp/$name" tests/targets/crowd.c -lpthread &&
    target "$name" "$tmp/$name" 100 && all_of "$name" 4
}
# It waits for locks with other futex values than glibc.
built static gcc -static
each a_static_program static lives 100 4
kill -KILL "$pid"
built musl musl-gcc
each a_program_with_musl musl lives 100 4
kill -KILL "$pid"
built jemalloc gcc -Wl,--no-as-needed -l:libjemalloc.so.2
each a_program_linked_with_jemalloc jemalloc lives 100 4
kill -KILL "$pid"

# Its program and its libc exist only in its mount namespace.
target apart unshare --mount sh -c "mount -t tmpfs none /mnt &&
  cp '$B/targets/crowd' /mnt/inside && cp \$(ldd /mnt/inside | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p') /mnt &&
  LD_LIBRARY_PATH=/mnt exec /mnt/inside 100"
all_of apart 4
each a_mount_namespace_of_its_own apart lives 100 4
kill -KILL "$pid"

# A shell execs the program in the middle of the captures, or runs it as a
# child.
shell() { # name, command
  mkfifo "$tmp/go-$1"
  target "$1" bash -c "echo ready; read -r _ <'$tmp/go-$1'; $2"
  go=$tmp/go-$1
}
# Processes are followed shortly after the kernel's programs are loaded.
let_go() { read -rt 4 <> <(:); echo >"$go"; }
shell becomes "exec '$B/targets/crowd' 100"
all_of becomes 8 let_go
each a_program_after_an_exec becomes seen
kill -KILL "$pid"
shell runs "'$B/targets/crowd' 100; exit"
all_of runs 8 let_go
each a_child_that_is_forked_meanwhile runs seen
kill -KILL $(pgrep -P "$pid") "$pid"

# The samples until its end are there.
target killed "$B/targets/crowd" 100
end_it() { (sleep 3; kill -KILL "$pid") & }
all_of killed 8 end_it
each a_program_that_is_killed killed seen
