# Compares a capture's allocations with those that the target allocating
# counts.
#
#	. tests/lib/e2e.sh
#	. tests/lib/once.sh
#	. tests/lib/allocating.sh

declare -A pids seconds
started() { # name, program, arguments
  target "$@" && pids[$1]=$pid
}
allocates() { # name, rate, environment
  started "$1" env "${@:3}" "$B/targets/allocating" "$tmp/$1.truth" "$2"
}
measure() { # name
  rm -f "$tmp/$1.truth"
  kill -USR1 "${pids[$1]}"
  wait_for 10 [ -s "$tmp/$1.truth" ]
}
# Captures programs at the same time, for 5 s or LASTS, while each measures
# itself; then ends them. Memory is captured for longer, since each of its
# first samples stands for 64 KiB.
capture() { # type, names
  local type=$1 name lasts=${LASTS:-5}
  [ "$type" != memory ] || lasts=15
  local -A began
  shift
  for name; do
    measure "$name"
    began[$name]=${EPOCHREALTIME/./}
    begin "$name" "${pids[$name]}" 0 --type "$type" --seconds $lasts
  done
  await_captures
  for name; do
    measure "$name"
    seconds[$name]=$(awk -v us=$((${EPOCHREALTIME/./} - began[$name])) 'BEGIN { print us / 1e6 }')
    kill -KILL "${pids[$name]}"
  done
}
# Shares of functions must be within `points` plus four standard errors, and
# the sum within `percent`.
agree() { # name, value, column of the truth, points, percent
  local lasted kept
  kept=$(quality "$1" samplesInUse)
  [ "$kept" -gt 0 ] || kept=$(quality "$1" samplesKept)
  lasted=$(awk -v ms="$(quality "$1" durationMs)" 'BEGIN { print ms / 1000 }')
  awk '{ sub(/^.*;main;|^.*;work;/, ""); sub(/[; ].* /, " "); got[$1] += $NF } END { for (f in got) print f, got[f] }' \
    <("$B/tests/tools/folded" "$tmp/$1.pb.gz" "values:$2") >"$tmp/got"
  awk -v column="$3" -v points="$4" -v percent="$5" -v kept="$kept" -v took="${seconds[$1]}" -v lasted="$lasted" '
    NR == FNR { is[$1] = $column / took; all += $column / took; next }
    { got[$1] = $2 / lasted; sum += $2 / lasted }
    END {
      for (f in is) {
        a = 100 * is[f] / all; b = 100 * got[f] / sum
        allowed = points + 4 * sqrt(a * (100 - a) / kept)
        printf "%s %.1f %.1f; ", f, a, b
        if (a - b > allowed || b - a > allowed) bad = 1
      }
      printf "sum %.4g of %.4g by %d samples\n", sum, all, kept
      exit bad || sum < (1 - percent / 100) * all || sum > (1 + percent / 100) * all
    }' "$tmp/$1.truth" "$tmp/got"
}
# True if the code of a process equals its files': it has no breakpoint.
is_whole() { # pid
  local range perms offset path start bytes rest
  while read -r range perms offset _ _ path; do
    [[ $perms = r-xp && $path = /* ]] || continue
    start=$((16#${range%-*} / 4096)) offset=$((16#$offset))
    bytes=$((16#${range#*-} - start * 4096)) rest=$(($(stat -Lc %s "$path") - offset))
    dd if="/proc/$1/mem" bs=4096 skip="$start" count=$((bytes / 4096)) status=none |
      cmp -n $((bytes < rest ? bytes : rest)) -i "0:$offset" - "$path" || return
  done <"/proc/$1/maps"
}
