#!/bin/bash
# CPU captures of Go programs from outside have known shares, whole stacks and
# names, even if stripped. Go's own reader finds the same in our files.
. "$(dirname "$0")/../lib/e2e.sh"
. tests/lib/once.sh
tmp=$(mktemp -d /var/tmp/stoker-go-XXXXXX)
trap 'kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$tmp"' EXIT
reader=1.24 # that reads pprof files

end() { # pid of a child
  kill "$1"
  wait "$1" 2>/dev/null
  return 0
}

# Prints the percentage of samples with a function that matches the first
# expression, of all samples or of those that match the second.
share() { # profile, expression on "root;...;leaf", another one
  "$B/tests/tools/folded" "$1" | awk -v want="$2" -v of="${3-}" '{ n = $NF
    sub(/ [0-9]+$/, ""); if ($0 !~ of) next
    all += n; if ($0 ~ want) some += n }
    END { printf "%.1f\n", all ? 100 * some / all : 0 }'
}
near() { # profile, expression, percent, tolerance, expression for all stacks
  local got
  got=$(share "$1" "$2" "${5-}")
  awk -v g="$got" -v w="$3" -v by="$4" 'BEGIN { exit !(g >= w - by && g <= w + by) }' ||
    { echo "$2 has $got %, expected $3"; return 1; }
}
known_shares() {
  near "$1" ';main\.heavy(;|$)' 60 8 && near "$1" ';main\.middle(;|$)' 30 8 &&
    near "$1" ';main\.\(\*worker\[[^]]*\]\)\.light(;|$)' 10 5
}
# On a busy machine, the runtime works more on its own stacks.
whole_stacks() { near "$1" '^runtime\.goexit;main\.main\.[a-z0-9]+;main\.work;main\.deeper;' 99 1 '(^|;)main\.'; }
inlined() { near "$1" ';main\.middle;main\.steps(;|$)' 30 8; }

go_pprof() { "$root/bin/go" tool pprof "$@" 2>/dev/null; }
same_top() { # profile, what the capture printed
  local ours theirs
  ours=$(awk '/self%/ { getline; print $4 }' "$2")
  theirs=$(go_pprof -top -nodecount=1 "$1" | awk '/flat%/ { getline; print $6 }')
  echo "ours '$ours', theirs '$theirs'"
  [ -n "$ours" ] && [ "$ours" = "$theirs" ]
}
main_program() { # profile, program
  local file
  file=$(go_pprof -top -nodecount=1 "$1" | sed -n 's/^File: //p')
  echo "$file"
  [ "$file" = "$(basename "$2")" ]
}
with_lines() {
  go_pprof -raw "$1" | grep -E 'main\.middle .*/?gowork/main\.go:[0-9]+' >/dev/null
}
with_package() { grep -E '(main\.heavy) \(main\)$' "$1" >/dev/null; }

# Takes a thousand samples, however little of a CPU the program gets.
capture() { # name
  begin "$1" "$pid" 1000 --rate 999
  await_captures
  captured "$1"
}
one() { # version, kind
  local v=$1 kind=$2 cgo=0 flag= name=go${1}_$2 program=$B/go/bin/gowork-$1-$2 pid
  case $kind in *cgo*) cgo=1 ;; esac
  case $kind in stripped) flag='-ldflags=-s -w' ;; pie) flag=-buildmode=pie ;; esac
  CGO_ENABLED=$cgo tests/lib/go build "$v" "$program" tests/targets/gowork ${flag:+"$flag"} 2>"$tmp/why"
  case $? in
  0) ;;
  69) echo "skip go_cpu: $name: $(tail -n 1 "$tmp/why")"; return ;;
  *) echo "not ok ${name}_builds: $(tail -n 1 "$tmp/why")"; return ;;
  esac
  target "$name" "$program" 2 300
  check "${name}_is_captured" capture "$name"
  { kill -KILL "$pid" && wait "$pid"; } 2>/dev/null
  check "${name}_has_its_shares" known_shares "$tmp/$name.pb.gz"
  check "${name}_stacks_reach_the_goroutine_s_entry" whole_stacks "$tmp/$name.pb.gz"
  check "${name}_shows_inlined_calls" inlined "$tmp/$name.pb.gz"
  check "${name}_functions_have_their_package" with_package "$tmp/$name.txt"
  [ -n "$root" ] || return 0
  check "${name}_has_the_same_top_in_go_tool_pprof" same_top "$tmp/$name.pb.gz" "$tmp/$name.txt"
  check "${name}_is_the_main_program_for_go_tool_pprof" main_program "$tmp/$name.pb.gz" "$program"
  check "${name}_has_lines_in_go_tool_pprof" with_lines "$tmp/$name.pb.gz"
}

# Counts only samples in C code, since the runtime's threads have some of their
# own.
called_by_go() {
  local all whole
  all=$(share "$1" ';c_outer;c_work(;|$)')
  whole=$(share "$1" '^runtime\.goexit;runtime\.main;main\.main;main\.callsC;main\._Cfunc_c_outer;.*;c_outer;c_work(;|$)')
  echo "$whole of $all %"
  awk -v a="$all" -v w="$whole" 'BEGIN { exit !(a > 50 && w >= 0.95 * a) }'
}
# On a busy machine goroutines' stacks may be read too late, hence three tries.
called_from_go() { # pid, file
  local try
  for try in 1 2 3; do
    "$B/stoker-worker" --once "$1" --seconds 2 --rate 100 --out "$2" && called_by_go "$2" && return
  done
  return 1
}
c_code() { # version
  local program=$B/go/bin/gocalls-$1 pid
  CGO_ENABLED=1 tests/lib/go build "$1" "$program" tests/targets/gocalls 2>"$tmp/why" ||
    { echo "skip go_cpu: go$1 cgo: $(tail -n 1 "$tmp/why")"; return; }
  mkfifo "$tmp/calls$1"
  "$program" >"$tmp/calls$1" &
  pid=$!
  read -r _ <"$tmp/calls$1"
  check "go$1_c_code_is_shown_below_the_goroutine_that_calls_it" \
    called_from_go $pid "$tmp/calls$1.pb.gz"
  end $pid
}

# A program that loads a library of Go.
library() { # version
  local lib=$B/go/bin/golib-$1.so pid
  CGO_ENABLED=1 tests/lib/go build "$1" "$lib" tests/targets/golib -buildmode=c-shared -ldflags='-s -w' 2>"$tmp/why" ||
    { echo "skip go_cpu: go$1 c-shared: $(tail -n 1 "$tmp/why")"; return; }
  gcc -o "$tmp/uses" -xc - -xnone -Wl,--no-as-needed "$(realpath "$lib")" <<'C'
#include <stdio.h>
#include <unistd.h>
void Begin(void);
int main(void)
{
	Begin();
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
C
  mkfifo "$tmp/library"
  "$tmp/uses" >"$tmp/library" &
  pid=$!
  read -r _ <"$tmp/library"
  "$B/stoker-worker" --once "$pid" --type goroutine --out "$tmp/threads.pb.gz" >"$tmp/threads.txt"
  "$B/stoker-worker" --once "$pid" --type alloc --seconds 1 --out "$tmp/heap.pb.gz" >"$tmp/heap.txt"
  check goroutines_of_a_library_are_said_to_be_missing grep -q 'note: goroutines are missing: Go is in a library' "$tmp/threads.txt"
  check the_heap_of_a_library_of_go_is_said_to_be_missing grep -q 'the profile lacks memory of .*the heap of Go' "$tmp/heap.txt"
  end $pid
}

export GOCACHE=$(mkdir -p "$B/go" && cd "$B/go" && pwd)/cache GOENV=off GOTOOLCHAIN=local GOPROXY=off
root=$(tests/lib/go root $reader) || root=
case ${1-} in
--one) one "$2" "$3" ;;
--calls) c_code "$2" ;;
--library) library "$2" ;;
*)
  [ -n "$root" ] || echo "skip go_cpu: no go$reader to read our files with"
  { printf -- '--one %s\n' '1.19 plain' '1.19 stripped'
    printf -- '--one 1.27 %s\n' plain stripped pie cgo
    printf -- '--calls %s\n' 1.19 1.27
    echo --library 1.27 # a PIE has compiled its packages
  } | xargs -P 2 -L 1 "$0"
  ;;
esac
