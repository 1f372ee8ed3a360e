#!/bin/bash
# Waits and allocations of programs that run others in their place, have a
# thousand threads, are static, have files of their own, or are killed.
. tests/lib/e2e.sh
. tests/lib/once.sh
tmp=$(mktemp -d /var/tmp/stoker-lives-XXXXXX)
trap 'kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$tmp"' EXIT
if [ "$(id -u)" -ne 0 ]; then
  echo "skip lives: needs root"
  exit 0
fi
can_capture lives || exit

# Time of naps, in seconds, and bytes: each thread has one nap and 4096 bytes a
# tenth of a second.
naps() { "$B/tests/tools/folded" "$tmp/$1.pb.gz" values:delay | awk '/;live;nap;/ { n += $NF } END { printf "%d", n / 1e9 }'; }
bytes() { "$B/tests/tools/folded" "$tmp/$1.pb.gz" values:alloc_space | awk '/;live;get / { n += $NF } END { printf "%d", n }'; }
between() { # number, least, most
  echo "$1 of $2 to $3"
  [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
}
both() { # name, threads, seconds
  once "$1-block" "$pid" --type block --seconds "$3" && once "$1-alloc" "$pid" --type alloc --seconds "$3" &&
    between "$(naps "$1-block")" $(($2 * $3 * 6 / 10)) $(($2 * $3 * 14 / 10)) &&
    between "$(bytes "$1-alloc")" $(($2 * $3 * 24576)) $(($2 * $3 * 57344))
}

target many "$B/targets/crowd" 1000
check a_thousand_threads_are_captured both many 1000 4
kill -KILL "$pid"

gcc -O2 -g -static -o "$tmp/static" tests/targets/crowd.c
target static "$tmp/static" 100
check a_static_program_is_captured both static 100 4
kill -KILL "$pid"

# Its program and its libc are files that only its mount namespace has.
target apart unshare --mount sh -c "mount -t tmpfs none /mnt &&
  cp '$B/targets/crowd' /mnt/inside && cp \$(ldd /mnt/inside | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p') /mnt &&
  LD_LIBRARY_PATH=/mnt exec /mnt/inside 100"
check files_of_a_mount_namespace_of_its_own_are_found both apart 100 4
check and_have_their_names grep -q ';live;get ' "$tmp/apart-alloc.folded"
kill -KILL "$pid"

# A shell becomes the program in the middle of the capture.
becomes() { # type, function
  mkfifo "$tmp/go-$1"
  target "$1" bash -c "echo ready; read -r _ <'$tmp/go-$1'; exec '$B/targets/crowd' 100"
  (sleep 1; echo >"$tmp/go-$1") &
  once "becomes-$1" "$pid" --type "$1" --seconds 4 &&
    has "becomes-$1" ";live;$2" 1
  local rc=$?
  kill -KILL "$pid"
  return $rc
}
check waits_after_an_exec_are_captured becomes block nap
check allocations_after_an_exec_are_captured becomes alloc get

ends() { # type, function: what it did until then is there
  target "end-$1" "$B/targets/crowd" 100
  local victim=$pid
  (sleep 2; kill -KILL "$victim") &
  once "ends-$1" "$pid" --type "$1" --seconds 6 && has "ends-$1" ";live;$2" 1
}
check waits_of_a_killed_program_are_there ends block nap
check allocations_of_a_killed_program_are_there ends alloc get
