# Whether comparisons of real captures find what changed, and nothing else.

COMPARED='half share_30 share_10'

# Records a service for RECORD_S seconds, ten times as densely as a capture.
record_begin() { # name, what makes it slower
  local name=$1
  shift
  cp "$STATE/bin/slower" "$STATE/bin/slower-$name"
  background "slower-$name" "$STATE/bin/slower-$name" 3600 "$@"
  service "bench-$name" "$STATE/bin/slower-$name" || return 1
  api POST $P/start -H 'Content-Type: application/json' \
    -d "{\"service\":\"bench-$name\",\"profileType\":\"cpu\",\"durationSeconds\":$RECORD_S,\"sampleRate\":990}" |
    jq -r '.id // error' >"$STATE/$name.id"
}
record_end() { # name
  local id blob
  id=$(<"$STATE/$1.id")
  finished "$id" >"$STATE/$1.json"
  blob=$(sqlite3 "$STATE/data/stoker.db" \
    "SELECT name FROM blob WHERE session = '$id' AND kind = 'timeline' AND deleted_ms = 0")
  cp "$STATE/data/profiles/$blob" "$STATE/$1.timeline"
  api GET "$P/$id/flamegraph?format=pprof" >"$STATE/$1.pprof"
}
recording() { echo "$STATE/$1.timeline" "$STATE/$1.pprof"; }

if wanted compare_false_alarms compare_false_alarms_neighbours compare_dispersion compare_power_half compare_power_share_30 compare_power_share_10; then
  : "${RECORD_S:=120}"
  e2e_start slower
  record_begin base
  for f in $COMPARED; do record_begin "$f" "$f" 10; done
  for f in base $COMPARED; do record_end "$f"; done
  row compare_dispersion "$("$B/tests/bench/compare" dispersion $(recording base))" 1 - - - 1
  row compare_false_alarms "$("$B/tests/bench/compare" false $(recording base))" % goal 5 - 1000
  row compare_false_alarms_neighbours "$("$B/tests/bench/compare" neighbours $(recording base))" % goal 5 - "$((RECORD_S / 5 * (RECORD_S / 5 - 1) / 2))"
  for f in $COMPARED; do
    read -r found bound threads _ < <("$B/tests/bench/compare" power "$f" $(recording base) $(recording "$f")) || continue
    row "compare_power_$f" "$found" % "bound,${threads}_threads" "$bound" "$(awk "BEGIN { print $found / $bound }")" 200
  done
  e2e_stop
  trap - EXIT
fi
