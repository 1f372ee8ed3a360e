# Measures how often comparisons of short captures are right on a machine whose
# CPU other programs use, too. The demo and a steady program are captured again
# and again beside this many loops, and each capture is compared with each
# later one; so is the steady program after one function, which takes half of
# its time, was made 30 % slower.

: "${LOADED_S:=10}" "${LOADED_CAPTURES:=12}"

# Takes a capture of each service, all at once.
loaded_round() { # number
  local name id blob
  for name in ai steady slower; do
    post $P/start "{\"service\":\"$name\",\"profileType\":\"cpu\",\"durationSeconds\":$LOADED_S,\"sampleRate\":400}" |
      jq -r '.id // error' >"$STATE/$name.id"
  done
  for name in ai steady slower; do
    id=$(<"$STATE/$name.id")
    finished "$id" >/dev/null
    blob=$(sqlite3 "$STATE/data/stoker.db" \
      "SELECT name FROM blob WHERE session = '$id' AND kind = 'timeline' AND deleted_ms = 0")
    cp "$STATE/data/profiles/$blob" "$STATE/$name.$1.timeline"
    api GET "$P/$id/flamegraph?format=pprof" >"$STATE/$name.$1.pprof"
  done
}
loaded_files() { # service
  local i
  for ((i = 0; i < LOADED_CAPTURES; i++)); do echo "$STATE/$1.$i.timeline" "$STATE/$1.$i.pprof"; done
}
# Prints the percentage of the verdicts on standard input that match a pattern,
# and their number.
verdicts() { awk -v want="$1" '{ n++; found += $3 ~ want } END { print 100 * found / n, n }'; }

if wanted loaded_false_{0,4,12} loaded_found_{0,4,12} loaded_open_{0,4,12}; then
  loaded=$B/tests/bench/loaded
  e2e_start slower
  cp "$STATE/bin/slower" "$STATE/bin/slower-half"
  background ai "$STATE/bin/demo"
  background steady "$STATE/bin/slower" 100000
  background slower "$STATE/bin/slower-half" 100000 half 30
  service ai "$STATE/bin/demo"
  service steady "$STATE/bin/slower"
  service slower "$STATE/bin/slower-half"
  for load in 0 4 12; do
    wanted loaded_{false,found,open}_$load || continue
    for ((i = 0; i < load; i++)); do background "loop$i" sh -c 'while :; do :; done'; done
    for ((i = 0; i < LOADED_CAPTURES; i++)); do loaded_round $i; done
    for ((i = 0; i < load; i++)); do process_stop "loop$i"; done
    for name in ai steady; do "$loaded" $LOADED_CAPTURES $(loaded_files $name); done >"$B/bench.loaded"
    read -r wrong n < <(verdicts 'regressed|costs-more|improved' <"$B/bench.loaded")
    row loaded_false_$load "$wrong" % goal 1 - "$n"
    read -r open n < <(verdicts insufficient <"$B/bench.loaded")
    row loaded_open_$load "$open" % - - - "$n"
    read -r found n < <("$loaded" $LOADED_CAPTURES $(loaded_files steady) $(loaded_files slower) | verdicts regressed)
    row loaded_found_$load "$found" % - - - "$n"
  done
  for name in ai steady slower; do process_stop $name; done
  e2e_stop
  trap - EXIT
fi
