# What the target allocating asks for by its own count, and what a capture says.
#
#	. tests/lib/e2e.sh
#	. tests/lib/once.sh
#	. tests/lib/allocating.sh

begin() { # name, rate, environment: $pid
  local name=$1 rate=$2
  shift 2
  target "$name" env "$@" "$B/targets/allocating" "$tmp/$name.truth" "$rate"
}
measure() { # name
  rm -f "$tmp/$1.truth"
  kill -USR1 "$pid"
  wait_for 10 [ -s "$tmp/$1.truth" ]
}
# Captures within the time that the target measures.
captured() { # name [type]
  local began=${EPOCHREALTIME/./} rc
  measure "$1" && once "$1" "$pid" --type "${2:-alloc}" --seconds 5
  rc=$?
  measure "$1" && awk -v us=$((${EPOCHREALTIME/./} - began)) 'BEGIN { print us / 1e6 }' >"$tmp/$1.seconds"
  return $rc
}
# Shares of functions must be within some points plus four standard errors, and
# the sum within some percent.
agree() { # name, value, column of the truth, points, percent
  local seconds kept
  kept=$(quality "$1" samplesInUse)
  [ "$kept" -gt 0 ] || kept=$(quality "$1" samplesKept)
  seconds=$(awk -v ms="$(quality "$1" durationMs)" 'BEGIN { print ms / 1000 }')
  awk '{ sub(/^.*;main;|^.*;work;/, ""); sub(/[; ].* /, " "); got[$1] += $NF } END { for (f in got) print f, got[f] }' \
    <("$B/tests/tools/folded" "$tmp/$1.pb.gz" "values:$2") >"$tmp/got"
  awk -v column="$3" -v points="$4" -v percent="$5" -v kept="$kept" -v took="$(cat "$tmp/$1.seconds")" -v seconds="$seconds" '
    NR == FNR { is[$1] = $column / took; all += $column / took; next }
    { got[$1] = $2 / seconds; sum += $2 / seconds }
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
