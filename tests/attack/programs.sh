#!/bin/bash
# The owner of a program controls its symbols, unwind tables, DWARF and headers.
# Captures of spoilt programs end, no part of the worker dies, and captures of
# other programs go on.
. tests/lib/e2e.sh
[ "$(id -u)" -eq 0 ] || skip programs 'only root may capture every program'
e2e_start shares
# Another seed makes other programs: SEED=7 tests/attack/programs.sh
: "${SEED:=1}"
mkdir "$STATE/bin/spoilt"
chmod 755 "$STATE/bin/spoilt"

# A few programs run at a time, until they are killed. Those that no longer
# start are left out.
count=6
first=$((SEED * 1000))
spoilt=()
spoil_and_run() { # seed
  local to=$STATE/bin/spoilt/$1 from arguments=(600 1 20)
  case $(($1 % 3)) in
  0) from=shares ;;
  1) from=inlined ;;
  2) from=demo arguments=(1 20) ;;
  esac
  "$B/tests/tools/spoil" "$1" "$B/targets/$from" "$to" || exit 1
  "$to" "${arguments[@]}" >/dev/null 2>&1 </dev/null &
  spoilt+=($!)
}
end_spoilt() {
  { kill -KILL "${spoilt[@]}" && wait "${spoilt[@]}"; } 2>/dev/null
  spoilt=()
}
run() { # round
  local i
  for ((i = 0; i < count; i++)); do
    spoil_and_run $((first + $1 * count + i))
  done
}

snapshot() { # service
  post $P/start "{\"service\":\"$1\",\"profileType\":\"goroutine\"}" | jq -r '.id // error'
}
completed() { # id: its profile is there, and holds samples
  local result
  result=$(finished "$1")
  jq -e '.status == "completed"' <<<"$result" >/dev/null || { echo "$result"; return 1; }
  api GET "$P/$1/flamegraph?format=folded" >"$STATE/folded" &&
    grep -q ' [0-9]*$' "$STATE/folded"
}

background other "$STATE/bin/shares" 600 1 20
service other "$STATE/bin/shares" || { echo "not ok a_service_is_made"; exit 1; }
run 0
stoker_cli service add spoilt --cmdline "^$STATE/bin/spoilt/" >/dev/null &&
  wait_for 60 seen spoilt || { echo "not ok a_service_has_them"; exit 1; }
for round in 0 1 2 3; do
  [ $round -eq 0 ] || run $round
  sampled=$(start spoilt 1) looked=$(snapshot spoilt) other=$(start other 1)
  check "programs_of_round_${round}_are_sampled" completed "$sampled"
  check "threads_of_round_${round}_are_looked_at" completed "$looked"
  check "another_program_is_sampled_beside_round_$round" completed "$other"
  end_spoilt
done
nobody_died() { ! grep -h 'died' "$STATE/log/worker.log"; }
check no_part_of_the_worker_died nobody_died
