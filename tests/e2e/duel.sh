#!/bin/bash
# stoker duel: real programs, beside whatever else this machine does.
# Beside others: CPU time is compared, and noise is part of the claim.
set -u
cd "$(dirname "$0")/../.."
. tests/lib/check.sh
: "${B:=build}"
stoker=$(realpath "$B/stoker")
temp=$(mktemp -d /tmp/stoker-duel-XXXXXX)
trap 'rm -rf "$temp"' EXIT

# Writes a program that counts to a number, its argument times a hundred
# thousand.
counts() { # name, number
  printf '#!/bin/sh\nexec awk -v n="${1:-1}" "BEGIN { for (i = 0; i < n * %d; i++) s += i %% 7; print s }"\n' \
    "$2" >"$temp/$1"
  chmod 755 "$temp/$1"
}
counts base 500000
counts same 500000
counts slow 580000
counts slowest 800000
printf '#!/bin/sh\nexit 3\n' >"$temp/broken"
chmod 755 "$temp/broken"
duel() { "$B/stoker" duel "$temp/$1" "$temp/$2" --seconds 120 "${@:3}"; }

# One false alarm in a thousand is allowed; "not certain" is not an alarm.
no_alarm() {
  local out
  out=$(duel base same --gate 5)
  [ $? -ne 1 ] || { echo "$out"; return 1; }
}
slower() {
  local out
  out=$(duel base slow)
  leaves_with $? 1 "$out" && [[ $out == "B costs "*" more CPU time than A: "* ]] &&
    awk '/^  [AB] / { ms[++n] = $2 } END { exit !(n == 2 && ms[2] > ms[1]) }' <<<"$out"
}
faster() {
  local out
  out=$(duel slowest base)
  leaves_with $? 0 "$out" && [[ $out == "B costs "*" less CPU time than A: "* ]]
}
leaves_with() { [ "$1" = "$2" ] || { echo "status $1: $3"; return 1; }; }
both_get_arguments() {
  local out
  out=$(duel base slowest --json -- 2)
  leaves_with $? 1 "$out" &&
    jq -e '.verdict == "slower" and .from > 1 and .from < .factor and .factor < .to
      and .pairs > 5 and (.programs | length) == 2' <<<"$out" >/dev/null
}
narrow() { # no line is longer than a terminal's
  local out
  out=$(cd "$temp" && "$stoker" duel ./base ./slowest --seconds 120)
  [[ $out != "" ]] && ! grep -E '^.{81}' <<<"$out"
}

check equals_raise_no_alarm no_alarm
check a_program_that_costs_a_sixth_more_is_found slower
check a_program_that_costs_less_is_no_alarm faster
check arguments_go_to_both both_get_arguments
check lines_fit_a_terminal narrow
check a_program_that_fails_is_no_verdict leaves 2 duel base broken
check the_failure_is_named says 'broken failed with status 3' duel base broken
check a_program_that_is_not_there_is_no_verdict leaves 2 duel base nothing
check too_little_time_is_no_verdict leaves 2 duel base same --seconds 0
check a_gate_is_a_number leaves 64 duel base slow --gate little
[ -z "${not_ok:-}" ]
