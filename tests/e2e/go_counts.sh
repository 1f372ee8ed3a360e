#!/bin/bash
# Memory, block and mutex profiles of Go programs, read from outside, equal
# those that the programs write themselves, plain and stripped. The newest
# version of Go, or with EVERY=1 all, also position-independent, with cgo and
# with pages of net/http/pprof: each of these compiles the standard library
# again. And a Go service through the API.
#
# Beside others, first: the counts that are compared hold still, since the
# program waits for its next order.
set -u
cd "$(dirname "$0")/../.."
: "${B:=build}"
B=$(cd "$B" && pwd) export B
kinds="plain stripped"
tags="none own"

end_program() {
  [ -z "${pid-}" ] || { kill -KILL "$pid" && wait "$pid"; } 2>/dev/null
  pid=
}
run_program() { # program, arguments
  rm -f "$tmp/in" "$tmp/out"
  mkfifo "$tmp/in" "$tmp/out"
  "$@" <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
  pid=$!
  exec {orders}>"$tmp/in" {answers}<"$tmp/out"
  hear && [ "$heard" = ready ]
}
hear() { read -r -t 60 heard <&"$answers"; }
say() { echo "$@" >&"$orders" && hear; }

check() {
  local name=$1 why
  shift
  if why=$("$@" 2>&1); then echo "ok $name"; else echo "not ok $name: ${why//$'\n'/ | }"; fi
}

capture() { # type, more arguments
  local type=$1
  shift
  "$B/stoker-worker" --config /dev/null --once "$pid" --type "$type" "$@" \
    --out "$tmp/profile" >"$tmp/report" 2>"$tmp/err" ||
    { tail -n 1 "$tmp/err"; return 1; }
}
# Go gives all functions of one name the same file, which is wrong for functions
# called init. Buckets whose stacks then read the same are added up.
rows() { # profile
  "$B/tests/tools/counts" "$1" | sed -E 's/\[go\.shape[^]]*\]/[...]/g
    s,(\.init(\.[0-9]+)?) [^ ]*/,\1 ,g; s,(\.init) [^ ]*:,\1 :,g' |
    awk '{ for (n = 1; $n ~ /^-?[0-9]+$/; n++) v[n] = $n
      key = $0; for (i = 1; i < n; i++) sub(/^-?[0-9]+ /, "", key)
      for (i = 1; i < n; i++) sum[key, i] += v[i]
      width[key] = n - 1 }
    END { for (key in width) { line = ""; any = 0
      for (i = 1; i <= width[key]; i++) { line = line sprintf("%d ", sum[key, i])
        any += sum[key, i] != 0 }
      if (any) print line key } }' | LC_ALL=C sort
}

# Compares all memory in use: each value, function and line.
same_memory() {
  capture memory && say write heap "$tmp/own" || return 1
  rows "$tmp/profile" >"$tmp/ours"
  rows "$tmp/own" >"$tmp/theirs"
  echo "$(wc -l <"$tmp/theirs") rows"
  [ "$(wc -l <"$tmp/theirs")" -ge "$1" ] || return 1
  diff "$tmp/ours" "$tmp/theirs" | head -n 4
  [ "${PIPESTATUS[0]}" -eq 0 ]
}

# True while the capture waits for its second look: the worker's grandchild is
# in poll().
looks() { # worker
  local child
  for child in $(pgrep -P "$(pgrep -d, -P "$1")"); do
    grep -q '^7 0x[0-9a-f]* 0x1 ' "/proc/$child/syscall" && return
  done 2>/dev/null
  return 1
}
# Gives the program an order between the two looks.
during() { # type, order to the program
  local type=$1 worker i
  shift
  capture "$type" --seconds 60 &
  worker=$!
  for ((i = 0; i < 1000; i++)); do
    looks "$(pgrep -n -P $worker)" && break
    kill -0 $worker 2>/dev/null || break
    read -r -t 0.01 <> <(:)
  done
  say "$@"
  kill -INT "$(pgrep -n -P $worker)"
  wait $worker
}
# Prints the largest row with a function of the program. Small objects may be
# sampled, too, and on a busy machine the program also waits elsewhere.
row_of() {
  rows "$1" | awk -v f=" main.$2 " 'index($0, f) { print $1, $2 }' | sort -rnk 2 | head -n 1
}
# Expects the same number of events and the same time, within a tolerance: the
# program measures its clock's rate itself, and a late goroutine does not wait,
# so a few of the 20 may be missing.
same_events() { # type, function of the program
  local ours theirs
  during "$1" "$2" 20 && say write "$1" "$tmp/own" || return 1
  ours=$(row_of "$tmp/profile" "$2") theirs=$(row_of "$tmp/own" "$2")
  echo "ours $ours, theirs $theirs"
  awk -v a="$ours" -v b="$theirs" 'BEGIN { split(a, x); split(b, y)
    exit !(x[1] == y[1] && x[1] > 10 && x[2] > 1e6 * x[1] && x[2] > 0.9 * y[2] && x[2] < 1.1 * y[2]) }'
}
# Expects allocations up to this moment, including those that no collection has
# published. How much is allocated between two samples is random: 200 MiB are
# about 400 samples.
same_allocations() {
  local got
  during alloc allocate 200 || return 1
  got=$(row_of "$tmp/profile" allocate)
  echo "got $got"
  awk -v a="$got" 'BEGIN { split(a, x)
    exit !(x[1] > 160 && x[1] < 240 && x[2] > 160 * 2^20 && x[2] < 240 * 2^20) }'
}
is_off() { # type, words of the reason
  ! capture "$1" --seconds 1 && grep -q "$2" "$tmp/err" || { cat "$tmp/err"; return 1; }
}

build() { # version, kind, output
  local cgo=0 flag=
  case $2 in cgo) cgo=1 ;; pie) flag=-buildmode=pie ;; stripped) flag='-ldflags=-s -w' ;; esac
  CGO_ENABLED=$cgo tests/lib/go build "$1" "$3" tests/targets/go/counts ${flag:+"$flag"}
}

many_rows() { # program
  GOMAXPROCS=1 run_program "$1" fine && say many 600 && say gc 0 && same_memory 300
  local code=$?
  end_program
  return $code
}

one() { # version
  local v=$1 kind p name
  case ${EVERY-}$v in 1.27 | 11.*) kinds+=" pie cgo" tags+=" pages" ;; esac
  for kind in $kinds; do
    name=go${v}_$kind p=$B/go/bin/counts-$v-$kind
    build "$v" "$kind" "$p" 2>"$tmp/why"
    case $? in
    0) ;;
    69) echo "skip go_counts: go$v: $(tail -n 1 "$tmp/why")"; return 1 ;;
    *) echo "not ok ${name}_builds: $(tail -n 1 "$tmp/why")"; return ;;
    esac
    run_program "$p" block mutex || { echo "not ok ${name}_starts"; continue; }
    check "${name}_memory_in_use_is_what_the_program_writes" same_memory 6
    check "${name}_block_events_are_what_the_program_writes" same_events block block
    check "${name}_mutex_events_are_what_the_program_writes" same_events mutex contend
    check "${name}_allocations_are_counted_to_the_moment" same_allocations
    end_program
    check "${name}_hundreds_of_stacks_are_what_the_program_writes" many_rows "$p"
    run_program "$p" off
    check "${name}_a_program_without_a_memory_profile_is_reported" is_off memory MemProfileRate
    check "${name}_a_program_without_block_events_is_reported" is_off block SetBlockProfileRate
    end_program
  done
}

# Most programs import no profiler, so the linker drops the counting code.
lean() { # version
  local v=$1 tag p name
  for tag in $tags; do
    name=go${v} p=$B/go/bin/lean-$v-$tag
    tests/lib/go build "$v" "$p" tests/targets/go/lean -tags $tag 2>"$tmp/why" ||
      { echo "not ok ${name}_lean_${tag}_builds: $(tail -n 1 "$tmp/why")"; continue; }
    run_program "$p" && say keep 30 || { echo "not ok ${name}_lean_${tag}_starts"; continue; }
    case $tag in
    none)
      check "${name}_block_events_of_a_program_without_pprof_are_reported_as_off" \
        is_off block SetBlockProfileRate
      for type in memory alloc; do
        check "${name}_${type}_of_a_program_without_pprof_is_reported_as_off" is_off_by_import $type
      done ;;
    own)
      check "${name}_memory_is_read_where_nothing_calls_runtime_GC" same_lean_memory
      check "${name}_allocations_are_read_where_nothing_calls_runtime_GC" lean_allocations ;;
    pages) check "${name}_importing_net_http_pprof_turns_memory_on" capture memory ;;
    esac
    end_program
  done
}
# The reason names the import that helps, and no text of errno(3).
is_off_by_import() { # type
  is_off "$1" 'import _ "net/http/pprof"' && ! grep -q 'No data available' "$tmp/err"
}
same_lean_memory() {
  capture memory && say write "$tmp/own" || return 1
  rows "$tmp/profile" >"$tmp/ours"
  rows "$tmp/own" >"$tmp/theirs"
  grep -q ' main.keep ' "$tmp/theirs" && diff "$tmp/ours" "$tmp/theirs" | head -n 4
  [ "${PIPESTATUS[0]}" -eq 0 ]
}
lean_allocations() {
  during alloc keep 100 && row_of "$tmp/profile" keep |
    awk '{ print } END { exit !($1 > 70 && $1 < 130) }'
}

through_the_api() {
  local p=$B/go/bin/counts-1.24-stripped type id result
  build 1.24 stripped "$p" 2>"$tmp/why" ||
    { echo "skip go_counts: api: $(tail -n 1 "$tmp/why")"; return; }
  . tests/lib/e2e.sh
  e2e_start
  trap 'end_program; e2e_stop; rm -rf "$tmp"' EXIT
  install -m 755 "$p" "$STATE/bin/counts"
  run_program "$STATE/bin/counts" block mutex
  post /api/v1/services "{\"name\":\"counts\",\"kind\":\"go\",\"match\":{\"exe\":\"$STATE/bin/counts\"}}" -o /dev/null
  wait_for 10 seen counts
  take() { # type, order
    id=$(start "${service:-counts}" 5 "$1")
    [ -z "$2" ] || { wait_for 5 under_way; say $2; }
    result=$(finished "$id")
  }
  under_way() { api GET "$P/$id" | jq -e '.progress > 0'; }
  while read -r type order leaf; do
    take "$type" "${order//_/ }"
    check "${type}_of_a_go_service_completes" equal "$(jq -r .status <<<"$result")" completed
    check "${type}_was_taken_from_outside" equal "$(jq -r .quality.source <<<"$result")" outside
    check "${type}_names_the_program_s_functions" \
      grep "$leaf" <(api GET "$P/$id/flamegraph?format=folded")
    check "${type}_counts_what_happened" [ "$(jq .sampleCount <<<"$result")" -gt 5 ]
  done <<'ROWS'
alloc allocate_200 main.allocate
block block_40 main.block
mutex contend_40 main.contend
ROWS
  # A restarted program counts from its start.
  has_one_process() { jq -e '.quality.processes == 1' <<<"$result" >/dev/null || { echo "$result"; return 1; }; }
  id=$(start counts 10 alloc)
  wait_for 5 under_way
  end_program
  run_program "$STATE/bin/counts" && say allocate 200
  result=$(finished "$id")
  api GET "$P/$id/flamegraph?format=pprof" -o "$tmp/profile"
  check a_capture_of_a_restarted_program_has_one_process has_one_process
  check allocations_of_a_restarted_program_are_captured among 160 240 $(row_of "$tmp/profile" allocate)
  take memory ''
  api GET "$P/$id/flamegraph?format=pprof" -o "$tmp/profile"
  check a_memory_profile_names_the_process_that_was_read \
    grep -aq "process $pid: $STATE/bin/counts" <(gunzip <"$tmp/profile")
  check memory_of_a_go_service_completes equal "$(jq -r .status <<<"$result")" completed
  check heap_profile_of_a_go_service_is_a_profile equal "$(api GET \
    '/v0/pipelines/counts/heap_profile' -o "$tmp/heap.pb.gz" -w '%{http_code}')" 200
  check heap_profile_has_the_program_s_functions grep main.keepLarge <("$B/tests/tools/counts" "$tmp/heap.pb.gz")
  end_program
  turned_on "$p"
}

among() { echo "$*"; [ "${3-0}" -gt "$1" ] && [ "$3" -lt "$2" ]; }
set_allow() { # JSON
  api PUT /api/v1/services/counts -H 'Content-Type: application/json' -o /dev/null -w '%{http_code}' \
    -d "{\"kind\":\"go\",\"match\":{\"exe\":\"$STATE/bin/counts\"},\"allow\":$1}"
}
mutex_rate() { say gc 0 && awk '{ print $3 }' <<<"$heard"; }
is_rate() { [ "$(mutex_rate)" = "$1" ]; }

# If its service allows it, a program that counts no events is made to count
# them. Its rate is restored afterwards, even if the worker was killed.
turned_on() { # program
  run_program "$STATE/bin/counts"
  wait_for 10 seen counts
  take mutex ''
  check a_program_that_counts_no_events_is_left_alone \
    equal "$(jq -r .error.error_code <<<"$result") $(mutex_rate)" "ProfilingDisabled 0"
  check allow_takes_true_and_false_only equal "$(set_allow '{"goProfileRates":1}')" 400
  set_allow '{"goProfileRates":true}' >"$tmp/code"
  for type in mutex block; do
    take $type "$([ $type = mutex ] && echo contend 200 || echo block 200)"
    check "${type}_events_are_turned_on_where_allowed" equal "$(jq -r .status <<<"$result")" completed
    check "${type}_events_are_counted_once_turned_on" [ "$(jq .sampleCount <<<"$result")" -gt 5 ]
    check "${type}_profile_has_a_note_that_counting_was_turned_on" grep -q 'had the program count' <<<"$result"
  done
  check counting_is_turned_off_after_a_capture wait_for 5 is_rate 0
  start counts 60 mutex >/dev/null
  check counting_is_on_during_a_capture wait_for 10 is_rate 5
  kill -KILL "$(<"$STATE/pid/worker")"
  check a_killed_worker_leaves_counting_on is_rate 5
  worker_start
  check the_next_worker_turns_counting_off wait_for 10 is_rate 0
  end_program
  lean_is_turned_on
}

# The same holds for a program whose allocations the linker has turned off.
set_lean() { # method, path, JSON
  api "$1" "/api/v1/services$2" -H 'Content-Type: application/json' -o /dev/null \
    -d "{$3\"match\":{\"exe\":\"$STATE/bin/lean\"}}"
}
lean_is_turned_on() {
  local p=$B/go/bin/lean-1.24-none service=lean
  tests/lib/go build 1.24 "$p" tests/targets/go/lean -tags none 2>"$tmp/why" ||
    { echo "not ok lean_builds: $(tail -n 1 "$tmp/why")"; return; }
  install -m 755 "$p" "$STATE/bin/lean"
  run_program "$STATE/bin/lean"
  set_lean POST '' '"name":"lean","allow":{"goProfileRates":true},'
  wait_for 10 seen lean
  # Of bytes allocated or in use: sampled small objects stand for many objects,
  # but not for many bytes.
  kept_since() { # column, least and most MiB
    api GET "$P/$id/flamegraph?format=pprof" -o "$tmp/profile"
    among "$2" "$3" "$(rows "$tmp/profile" | awk -v at="$1" '/ main.keep / { n += $at } END { printf "%d", n / 2 ^ 20 }')"
  }
  take alloc "keep 100"
  check allocations_are_turned_on_where_allowed kept_since 2 95 105
  take memory "keep 200"
  check memory_is_turned_on_where_allowed equal "$(jq -r .status <<<"$result")" completed
  # The profile is as of the last collection but one; a collection comes when
  # the heap has doubled.
  check memory_has_what_was_allocated_during_captures kept_since 4 70 310
  check a_profile_of_memory_has_a_note_that_counting_was_turned_on grep -q 'one in 128 KiB' <<<"$result"
  set_lean PUT /lean ''
  take memory ''
  check allocations_are_turned_off_after_a_capture equal "$(jq -r .error.error_code <<<"$result")" ProfilingDisabled
  end_program
}

tmp=$(mktemp -d /var/tmp/stoker-counts-XXXXXX)
trap 'end_program; rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
case ${1-} in
--one) if one "$2"; then lean "$2"; fi ;;
--api) through_the_api ;;
*)
  tests/lib/go fetch 2>/dev/null
  # These tests mostly wait, so four run at a time.
  { tests/lib/go versions | tr ' ' '\n' | sed 's/^/--one /'; echo --api; } | xargs -P 4 -L 1 "$0"
  ;;
esac
