#!/bin/bash
# The units limit the memory of the pool and the worker. Within these limits,
# many of the requests and programs that need most memory, at the same time,
# kill no process.
#
# Beside others: no time is claimed.
set -u
. tests/lib/e2e.sh
. tests/lib/groups.sh
limit=$(sed -n 's/^MemoryMax=//p' systemd/stoker-api.service)
group=$(memory_group api "$limit") || skip requests_under_the_limit 'this machine limits no memory'
LEAVE=leave
maps=()
leave() {
  local code=$? name
  (exit $code)
  rm -f "${maps[@]}"
  for name in jit1 jit2 jit3; do process_stop $name; done
  e2e_stop
  rmdir "$group" ${worker_group-} || echo "not ok no_process_is_left_in_its_group"
}
POOL=4 HEAVY=2
# The worker gets little memory; all other memory of its parts is a constant.
WORKER_CONF="memory = 512M
max_captures = 6"
API_CONF='request_time = 1h
kept_bytes = 0'
e2e_start jit
pool() { pgrep -x stoker-api -P "$(<"$STATE/pid/api")"; }
pool | while read -r pid; do echo "$pid" >"$group/cgroup.procs"; done
before=$(pool | sort)

post /api/v1/services '{"name":"wide","match":{"exe":"/usr/bin/wide"}}' -o /dev/null
sessions="/api/v1/profiling/sessions?service=wide&type=cpu"
for i in 1 2; do
  "$B/tests/tools/wide" $i 50000 36 20000 >"$STATE/wide.$i"
done
# Each byte of these becomes a hundred when inflated, and a thousand in memory:
# locations with the largest number of lines. The file is small enough to count
# as cheap until it is inflated.
lines() { # locations
  perl -e '
    sub field { chr($_[0] << 3 | 2) . number(length $_[1]) . $_[1] }
    sub number { my $n = shift; my $s = ""; while ($n > 127) { $s .= chr($n & 127 | 128); $n >>= 7 } $s . chr($n) }
    print field(6, ""), map { field(6, $_) } qw(cpu nanoseconds samples count f);
    print field(1, "\x08\x03\x10\x04"), field(1, "\x08\x01\x10\x02"), field(5, "\x08\x01\x10\x05");
    my $lines = field(4, "\x08\x01") x 62;
    print field(4, "\x08" . number($_) . $lines) for 1 .. shift;
    print field(2, "\x08\x01\x12\x02\x01\x01")' "$1" | gzip -9
}
lines 98000 >"$STATE/wide.light"
send() { api POST "$sessions" -H 'Content-Type: application/octet-stream' --data-binary "@$STATE/wide.$1" "${@:2}"; }
one=$(send 1 | jq -r '.id // error') && two=$(send 2 | jq -r '.id // error') || exit 1

codes=$STATE/codes
ask() { # n, function, argument: keeps the status of each
  local i
  for ((i = 0; i < $1; i++)); do
    "$2" "$3" -o /dev/null -w '%{http_code}\n' >>"$codes" &
    asked+=($!)
  done
}
get() { api GET "$@"; }
asked=()
ask 8 send light
ask 3 send 1
ask 2 get "$P/compare?baseProfileId=$one&comparisonProfileId=$two"
ask 2 get "$P/diff?baseProfileId=$one&comparisonProfileId=$two&format=json"
ask 2 get "$P/$two/flamegraph?format=html"
ask 2 get "$P/$one/flamegraph?format=firefox"
most=0
while kill -0 "${asked[@]}" 2>/dev/null; do
  now=$(anonymous "$group")
  [ "${now:-0}" -le "$most" ] || most=$now
  read -rt 0.1 <> <(:) || :
done
wait "${asked[@]}"
echo "# requests: $(sort "$codes" | uniq -c | awk '{ printf "%s%s of %s", n++ ? ", " : "", $1, $2 }'); at most $((most >> 20)) MiB of $limit"
check no_process_of_the_pool_is_ended_for_its_memory equal "$(ended "$group")" 0
check the_same_processes_serve_as_before equal "$(pool | sort)" "$before"
check every_request_has_its_answer_or_a_refusal leaves 1 grep -vE '^(20[01]|413|429|503)$' "$codes"
check some_requests_are_answered grep -q '^20[01]$' "$codes"

# --- the worker ---------------------------------------------------------------
# Each of three programs claims that it compiled a million functions. Their
# names take a hundred times the memory of another capture, in three finishers
# at once.
own() { stoker_cli doctor --config "$STATE/stoker.conf" --json | jq -r '.[] | select(.check == "memory").found' |
  sed -n 's/.* \([0-9]*\) MiB for the worker.*/\1/p'; }
limit=$(own)
worker_group=$(memory_group worker "${limit}M") || exit 1
# A loader ends by itself.
worker() { echo "$(<"$STATE/pid/worker")"; pgrep -P "$(<"$STATE/pid/worker")" 'stoker-[^l]'; }
worker | while read -r pid; do echo "$pid" >"$worker_group/cgroup.procs"; done
parts=$(worker | sort)
awk 'BEGIN { for (i = 0; i < 1000000; i++) printf "%x 8 compiled_%d\n", 4096 + i * 8, i }' >"$STATE/many.map"
for i in 1 2 3; do
  install -m 755 "$STATE/bin/jit" "$STATE/bin/jit$i"
  background "jit$i" "$STATE/bin/jit$i" 600
  pid=$(<"$STATE/pid/jit$i")
  maps+=("/tmp/perf-$pid.map")
  wait_for 10 test -s "/tmp/perf-$pid.map"
  cat "$STATE/many.map" >>"/tmp/perf-$pid.map"
  service "jit$i" "$STATE/bin/jit$i" || exit 1
done
ids=()
for i in 1 2 3; do ids+=("$(start "jit$i" 2)"); done
most=0
for id in "${ids[@]}"; do
  until result_of "$id" | jq -e '.status != "running"' >/dev/null; do :; done &
  waits+=($!)
done
while kill -0 "${waits[@]}" 2>/dev/null; do
  now=$(anonymous "$worker_group")
  [ "${now:-0}" -le "$most" ] || most=$now
  read -rt 0.02 <> <(:) || :
done
echo "# captures: at most $((most >> 20)) MiB of $limit"
is_named() { # id
  [ "$(finished "$1" | jq -r .status)" = completed ] && api GET "$P/$1/flamegraph?format=folded" | grep -q compiled_at_run_time
}
for i in 0 1 2; do check "capture_${i}_of_a_program_that_names_a_million_is_complete" is_named "${ids[i]}"; done
check no_process_of_the_worker_is_ended_for_its_memory equal "$(ended "$worker_group")" 0
check no_part_of_the_worker_has_ended equal "$(comm -23 <(echo "$parts") <(worker | sort))" ''
