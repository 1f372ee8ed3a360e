#!/bin/bash
# A stranger on a bare Debian has a checkout and a busy service: what "Try it" of
# the README says, up to the first flame graph of that service.
#
#	tests/debian/checkout.sh ROOT
#
# Prints the seconds of each command, and how many a CPU worked for it.
. "$(dirname "$0")/../lib/machine.sh"
. tests/lib/installed.sh
. tests/debian/apt.sh
MACHINE_ROOT=$1
free_port() { echo $((16384 + RANDOM % 16384)); }
port=$(free_port)
machine_start
apt_ready
git ls-files -z | tar -cz --null -T - |
  in_machine sh -c 'mkdir stoker && tar -xzC stoker --no-same-owner'
machine_put 755 "$B/targets/shares" /usr/local/bin
service_unit burn '/usr/local/bin/shares 3000 1 50'

total=0
line_works() { # command; one shell, which has the files that earlier lines sourced
  local out code=0
  out=$(typed "cd stoker && . /root/sourced && TIMEFORMAT='%R %U %S' && time { $1; } 2>&1" 2>"$MACHINE_AT/took") || code=$?
  [ $code -eq 0 ] || tail -c 600 <<<"$out"
  echo "$out" >"$MACHINE_AT/out"
  return $code
}
line() { # command
  check "as_typed:_${1// /_}" line_works "$1"
  awk -v command="$1" '{ printf "# %.0f s, %.0f s of CPU time: %s\n", $1, $2 + $3, command }' <<<"$(tail -n 1 "$MACHINE_AT/took")"
  total=$(awk -v sum="$total" '{ print sum + $1 }' <<<"$(tail -n 1 "$MACHINE_AT/took")")
}
in_machine sh -c ': >sourced'
while read -r command; do
  case $command in
  "make run") line "make run DETACH=1 PORT=$port" ;;
  ". "*)
    in_machine sh -c "echo '$command' >>sourced"
    break
    ;;
  *) line "$command" ;;
  esac
done < <(awk '/^## / { on = $0 == "## Try it" } on && sub(/^    /, "")' README.md | sed 's/ *#.*//')
line 'stoker run --unit burn.service --seconds 10s --wait'
check the_function_that_is_busy_has_its_name grep -q share_half "$MACHINE_AT/out"
line 'curl -fsS "$(stoker open burn | grep -o "http://.*")"'
check the_flame_graph_has_it grep -q share_half "$MACHINE_AT/out"
printf '# %.0f s from a checkout to the flame graph\n' "$total"
