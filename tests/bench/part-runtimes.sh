# Every language at hand, live, by the programs of tests/e2e/languages.sh, whose
# functions have known shares: how far the share that is farthest off is off, how
# many stacks reach their start, and what a sample costs the worker, with all
# that a capture of two or three seconds costs.
#
# Only with ONLY=runtimes: it takes five minutes.

runtimes_rows() { # the lines "samples NAME kept whole ns", "share NAME points"
  awk '
    $1 == "samples" && $3 { whole[$2] = 100 * $4 / $3; us[$2] = $5 / $3 / 1000 }
    $1 == "share" { seen[$2] = 1; if ($3 > off[$2]) off[$2] = $3 }
    END { for (name in seen) print name, off[name] + 0, whole[name], us[name] }' "$1" |
    sort -V
}
if [ "$ONLY" = runtimes ]; then
  : >"$B/runtimes.txt"
  RUNTIMES=$(realpath "$B/runtimes.txt") bash tests/e2e/languages.sh >"$B/runtimes.log" 2>&1
  runtimes_rows "$B/runtimes.txt" | while read -r name off whole us; do
    ONLY= row "runtime_${name}_share_error" "$off" points - - - 1
    ONLY= row "runtime_${name}_whole_pct" "$whole" % - - - 1
    ONLY= row "runtime_${name}_worker_us" "$us" us - - - 1
  done
fi
