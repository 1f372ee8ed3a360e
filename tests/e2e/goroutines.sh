#!/bin/bash
# Goroutines read from outside are those that the program itself reports: plain,
# stripped, without section headers, and, if its tables show its version, without
# the version's name. The newest version of Go, or with EVERY=1 all, also as PIE
# and with cgo; and a program as Debian ships it.
#
# The program writes a dump before the capture and another one after it. A
# goroutine that is the same in both must be the same in the capture, and the
# capture has no other goroutines.
#
# Beside others, first: the goroutines that are compared hold still.
set -u
cd "$(dirname "$0")/../.."
: "${B:=build}"
B=$(cd "$B" && pwd) export B
kinds="plain stripped bare"
all_kinds="$kinds pie pie_bare cgo cgo_pie_bare"
running='^[0-9]* \[run(ning|nable)\]'

end_program() {
  [ -z "${pid-}" ] || { kill -KILL "$pid" && wait "$pid"; } 2>/dev/null
  pid=
}
run_program() { # program
  rm -f "$tmp/in" "$tmp/out"
  mkfifo "$tmp/in" "$tmp/out"
  "$1" <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
  pid=$!
  exec {in}>"$tmp/in" {out}<"$tmp/out"
  hear && [ "$heard" = ready ]
}
hear() { read -r -t 120 heard <&"$out"; }
say() { echo "$@" >&"$in" && hear; }

ours() { # pid, output
  "$B/stoker-worker" --config /dev/null --once "$1" --type goroutine \
    --out "$tmp/profile" >"$tmp/report" 2>"$tmp/err" &&
    "$B/tests/tools/goroutines" "$tmp/profile" >"$2"
}
theirs() { "$B/tests/tools/goroutines" "$1" >"$2"; } # dump, output

# Counts the goroutines that are the same in both dumps, and how many of these
# differ in the capture.
judge() { # before, ours, after
  local side
  for side in "$1" "$2" "$3"; do
    sed -E 's/\[go\.shape[^ ]*\]/[...]/g' "$side" | grep -vE "$running" |
      LC_ALL=C sort >"$side.sorted"
  done
  LC_ALL=C comm -12 "$1.sorted" "$3.sorted" >"$tmp/stable"
  LC_ALL=C comm -23 "$tmp/stable" "$2.sorted" >"$tmp/wrong"
  # Goroutines of the capture that are in neither dump are wrong, too. The one
  # that runs finalizers, which has only runtime functions, is in a dump only
  # while it runs one.
  awk '{ print $1 }' "$1" "$3" | LC_ALL=C sort -u >"$tmp/known"
  awk '!/^[0-9]+ \[[^]]*\] \| / { print $1 }' "$2" | LC_ALL=C sort | LC_ALL=C comm -13 "$tmp/known" - |
    sed 's/$/ is nowhere/' >>"$tmp/wrong"
  stable=$(wc -l <"$tmp/stable") wrong=$(wc -l <"$tmp/wrong")
}
quality() { awk -v key="$1" '$1 == key { print $2 }' "$tmp/report"; }

compare() { # name
  say dump "$tmp/before.txt" && ours "$pid" "$tmp/mine" &&
    say dump "$tmp/after.txt" &&
    theirs "$tmp/before.txt" "$tmp/before" && theirs "$tmp/after.txt" "$tmp/after" ||
    { echo "not ok $1: $(tail -n 1 "$tmp/err")"; return; }
  judge "$tmp/before" "$tmp/mine" "$tmp/after"
  echo "# $1 $stable goroutines, $wrong differ;" \
    "$(quality threadsStopped) threads stopped for $(quality stoppedNs) ns," \
    "$(quality goroutinesRetried) read again," \
    "$(quality threadsUnread) unread"
  if [ "$stable" -lt 70 ]; then
    echo "not ok $1: only $stable goroutines can be compared"
  elif [ "$wrong" -gt 0 ]; then
    echo "not ok $1: of $stable, $wrong: $(head -n 2 "$tmp/wrong" | tr '\n' ' ')"
  else
    echo "ok $1"
  fi
}

# The goroutine that computes was stopped, and its stack was read.
sees_what_runs() { # name
  local row
  row=$(grep ' main.spin ' "$tmp/mine")
  case $row in
  *"[running] main.spin "*goroutines/main.go:*"| main.main "*goroutines/main.go:* | \
    *"[runnable] main.spin "*goroutines/main.go:*) echo "ok $1" ;;
  *) echo "not ok $1: $row" ;;
  esac
}

# Compares a version's row of goroutine_layout.def with the program's DWARF, and
# fields at a fixed distance from it.
layout_is_that_of_dwarf() { # version, program
  awk -v minor="${1#1.}" -F '[(,) ]+' '/^GO_LAYOUT\([0-9]/ && $2 <= minor && minor <= $3 {
    split("syscallsp atomicstatus lockedm parentGoid startpc", name, " ")
    for (i = 1; i <= 5; i++) if ($(i + 3)) print "runtime.g", name[i], $(i + 3)
    print "runtime.m procid", $9
    second = minor >= 26 ? 8 : 0 # a word that these two have
    print "runtime.sudog c", $10 - second
    print "runtime.sudog elem", $11 - second
    print "runtime.g goid", $5 + 8 "\nruntime.g waitsince", $5 + 24
    print "runtime.g waitreason", $5 + 32 "\nruntime.g gopc", $8 - 16
    print "runtime.g waiting", $8 + 16 "\nruntime.g labels", $8 + 48
    print "runtime.g m 48\nruntime.g sched 56" }' \
    app/capture/goroutines/goroutine_layout.def >"$tmp/layout"
  while read -r type field _; do
    echo "echo $type $field"
    echo "printf \" %d\\n\", (long)&((struct '$type'*)0)->$field"
  done <"$tmp/layout" >"$tmp/gdb"
  gdb -nx -batch -iex 'set auto-load no' -ex 'set language c' -x "$tmp/gdb" "$2" >"$tmp/dwarf" 2>/dev/null
  [ -s "$tmp/layout" ] && diff "$tmp/layout" "$tmp/dwarf" >"$tmp/why" &&
    echo "ok go$1_layout_is_that_of_dwarf" ||
    echo "not ok go$1_layout_is_that_of_dwarf: $(tr '\n' ' ' <"$tmp/why")"
}

without_headers() { # from, to
  strip -o "$2" "$1" &&
    printf '\0\0\0\0\0\0\0\0' | dd of="$2" bs=1 seek=40 conv=notrunc status=none &&
    printf '\0\0\0\0' | dd of="$2" bs=1 seek=60 conv=notrunc status=none
}
build() { # version, kind, output
  local cgo=0 flags=()
  case $2 in
  unnamed) # without the version of Go as well
    build "$1" bare "$3" &&
      LC_ALL=C sed -i 's/\xff Go buildinf:/\xff No buildinf:/' "$3"
    return ;;
  *bare) # strips an existing one
    local from=${2%_bare}
    [ "$from" != bare ] || from=plain
    build "$1" "$from" "$B/go/bin/goroutines-$1-$from" &&
      without_headers "$B/go/bin/goroutines-$1-$from" "$3"
    return ;;
  esac
  case $2 in *cgo*) cgo=1 ;; esac
  case $2 in *pie*) flags+=(-buildmode=pie) ;; esac
  case $2 in stripped) flags+=("-ldflags=-s -w") ;; esac
  CGO_ENABLED=$cgo tests/lib/go build "$1" "$3" tests/targets/go/goroutines "${flags[@]}"
}

one() { # version
  local v=$1 kind p name
  case ${EVERY-}$v in 1.27 | 11.*) kinds=$all_kinds ;; esac
  # Function tables of the other versions look like those of 1.24. Without the
  # version, their wrappers are shown, and goroutines of 1.22 in system calls
  # have no stack.
  case $v in 1.19 | 1.23 | 1.24 | 1.26 | 1.27) kinds="$kinds unnamed" ;; esac
  for kind in $kinds; do
    name=go${v}_$kind p=$B/go/bin/goroutines-$v-$kind
    build "$v" "$kind" "$p" 2>"$tmp/why"
    case $? in
    0) ;;
    69) echo "skip goroutines: go$v: $(tail -n 1 "$tmp/why")"; return ;;
    *) echo "not ok ${name}_builds: $(tail -n 1 "$tmp/why")"; return ;;
    esac
    [ $kind != plain ] || layout_is_that_of_dwarf "$v" "$p"
    if run_program "$p"; then
      compare "${name}_goroutines_are_those_of_debug_2"
      sees_what_runs "${name}_running_goroutine_is_seen"
    else
      echo "not ok ${name}_starts: $(tail -n 1 "$tmp/err")"
    fi
    end_program
  done
}

# A popular program, stripped, with cgo. It sends its dumps over HTTP.
prometheus() {
  local root=$B/go/prometheus url port
  conf/packages/unpack bookworm "$root" prometheus 2>"$tmp/why" ||
    { echo "skip goroutines: prometheus: $(tail -n 1 "$tmp/why")"; return; }
  echo 'global: {}' >"$tmp/prometheus.yml"
  port=$((16384 + RANDOM % 16384))
  url=http://127.0.0.1:$port
  "$root/usr/bin/prometheus" --config.file="$tmp/prometheus.yml" \
    --storage.tsdb.path="$tmp/data" --web.listen-address="127.0.0.1:$port" \
    >"$tmp/log" 2>&1 &
  pid=$!
  curl -sf --retry 50 --retry-connrefused --retry-delay 1 --retry-max-time 60 \
    -o /dev/null "$url/-/ready"
  curl -sf "$url/debug/pprof/goroutine?debug=2" -o "$tmp/before.txt" &&
    ours "$pid" "$tmp/mine" &&
    curl -sf "$url/debug/pprof/goroutine?debug=2" -o "$tmp/after.txt" &&
    theirs "$tmp/before.txt" "$tmp/before" && theirs "$tmp/after.txt" "$tmp/after"
  if [ $? -ne 0 ]; then
    echo "not ok goroutines_of_a_stripped_prometheus_are_those_of_debug_2: $(tail -n 1 "$tmp/err") $(tail -n 1 "$tmp/log")"
  else
    judge "$tmp/before" "$tmp/mine" "$tmp/after"
    echo "# prometheus: $stable goroutines, $wrong differ"
    if [ "$stable" -ge 15 ] && [ "$wrong" -eq 0 ]; then
      echo "ok goroutines_of_a_stripped_prometheus_are_those_of_debug_2"
    else
      echo "not ok goroutines_of_a_stripped_prometheus_are_those_of_debug_2:" \
        "of $stable, $wrong: $(head -n 2 "$tmp/wrong" | tr '\n' ' ')"
    fi
  fi
  end_program
}

go_service() { # name, executable
  post /api/v1/services "{\"name\":\"$1\",\"kind\":\"go\",\"match\":{\"exe\":\"$2\"}}" -o /dev/null &&
    wait_for 10 seen "$1"
}

# A service of kind go, and one whose program is not Go, through the API.
through_the_api() {
  local p=$B/go/bin/goroutines-1.19-plain id result
  build 1.19 plain "$p" 2>"$tmp/why" ||
    { echo "skip goroutines: api: $(tail -n 1 "$tmp/why")"; return; }
  . tests/lib/e2e.sh
  e2e_start threads
  trap 'end_program; e2e_stop; rm -rf "$tmp"' EXIT
  install -m 755 "$p" "$STATE/bin/gophers"
  run_program "$STATE/bin/gophers"
  go_service gophers "$STATE/bin/gophers"
  id=$(post $P/start '{"service":"gophers","profileType":"goroutine"}' | jq -r '.id // error')
  result=$(finished "$id")
  check a_goroutine_profile_of_a_go_service_completes \
    equal "$(jq -r .status <<<"$result")" completed
  check a_goroutine_profile_has_a_sample_for_each_goroutine \
    equal "$(jq .sampleCount <<<"$result")" "$(jq .quality.goroutines <<<"$result")"
  check a_goroutine_profile_has_all_goroutines [ "$(jq .sampleCount <<<"$result")" -gt 70 ]
  check a_goroutine_profile_names_the_program_s_functions \
    grep 'main.labelled.func1' <(api GET "$P/$id/flamegraph?format=folded")
  end_program
  run_program "$STATE/bin/threads" # it prints ready, too
  go_service none "$STATE/bin/threads"
  id=$(post $P/start '{"service":"none","profileType":"goroutine"}' | jq -r '.id // error')
  result=$(finished "$id")
  check a_goroutine_profile_of_a_program_not_in_go_fails_and_says_so \
    equal "$(jq -r .error.error_code <<<"$result")" Unsupported
}

tmp=$(mktemp -d /var/tmp/stoker-goroutines-XXXXXX)
trap 'end_program; rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
case ${1-} in
--one) one "$2" ;;
--prometheus) prometheus ;;
--api) through_the_api ;;
*)
  tests/lib/go fetch 2>/dev/null
  { tests/lib/go versions | tr ' ' '\n' | sed 's/^/--one /'; echo --prometheus; echo --api; } |
    xargs -P 4 -L 1 "$0"
  ;;
esac
