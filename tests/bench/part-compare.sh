# Measures how often comparisons of real captures find what changed, and nothing
# else.

# Name of the figure, what was slowed down, number of busy threads (0: as many
# as the bound takes), quantity.
COMPARE_POWER='half half 0 share
share_30 share_30 0 share
share_10 share_10 0 share
half_1 half 1 share
half_work half 1 work'

recording() { echo "$STATE/$1.timeline" "$STATE/$1.pprof"; }

# Records a service for RECORD_S seconds, ten times as densely as a capture.
record_begin() { # name, what makes it slower
  local name=$1
  shift
  cp "$STATE/bin/slower" "$STATE/bin/slower-$name"
  background "slower-$name" "$STATE/bin/slower-$name" $((RECORD_S + 15)) "$@"
  service "bench-$name" "$STATE/bin/slower-$name" || return 1
  post $P/start "{\"service\":\"bench-$name\",\"profileType\":\"cpu\",\"durationSeconds\":$RECORD_S,\"sampleRate\":990}" |
    jq -r '.id // error' >"$STATE/$name.id"
}
record_end() { # name
  local id blob
  id=$(<"$STATE/$1.id")
  while finished "$id" >"$STATE/$1.json"; do
    [ "$(jq -r .status "$STATE/$1.json")" = running ] || break
  done
  blob=$(sqlite3 "$STATE/data/stoker.db" \
    "SELECT name FROM blob WHERE session = '$id' AND kind = 'timeline' AND deleted_ms = 0")
  cp "$STATE/data/profiles/$blob" "$STATE/$1.timeline"
  api GET "$P/$id/flamegraph?format=pprof" >"$STATE/$1.pprof"
  wait "$(<"$STATE/pid/slower-$1")"
}
work_of() { sed -n 's/^work //p' "$STATE/log/slower-$1.log"; }

# Two at a time, for machines with two CPUs.
record_all() { # names
  local name
  while [ $# -gt 0 ]; do
    for name in "${@:1:2}"; do
      [ "$name" = base ] && record_begin base || record_begin "$name" "$name" 10
    done
    for name in "${@:1:2}"; do record_end "$name"; done
    shift $(($# > 1 ? 2 : 1))
  done
}

alarms() { # row, number of comparisons, arguments of compare...
  local name=$1 n=$2 percent
  shift 2
  wanted "$name" || return 0
  percent=$("$compare" "$@" $(recording base)) && row "$name" "$percent" % goal 5 - "$n"
}

# Figures of comparisons, and of the differential flame graphs of the same
# pairs.
drawn_alarms() {
  local listed sure
  wanted compare_false_alarms diff_false_alarms || return 0
  read -r listed sure < <("$compare" drawn $(recording base)) || return 0
  row compare_false_alarms "$listed" % goal 5 - 1000
  row diff_false_alarms "$sure" % goal 5 - 1000
}

# Compares ranges of windows with themselves, with blocks of windows and
# without.
range_alarms() { # row, number of similar windows, recording
  local with without
  wanted "$1" || return 0
  read -r with without < <("$compare" ranges "$2" $(recording "$3")) || return 0
  row "$1" "$with" % without_blocks "$without" - 500
}

if wanted compare_false_alarms diff_false_alarms compare_false_alarms_neighbours compare_false_alarms_among_3 compare_false_alarms_ranges compare_false_alarms_phases compare_false_alarms_minutes compare_dispersion $(sed 's/ .*//; s/.*/compare_power_& diff_power_&/' <<<"$COMPARE_POWER"); then
  : "${RECORD_S:=120}"
  compare=$B/tests/bench/compare
  e2e_start slower
  slowed=$(while read -r figure f _; do
    wanted "compare_power_$figure" "diff_power_$figure" && echo "$f"
  done <<<"$COMPARE_POWER" | sort -u)
  phases=
  wanted compare_false_alarms_phases compare_false_alarms_minutes && phases=phases
  record_all base $phases $slowed
  dispersion=$("$compare" dispersion $(recording base)) &&
    row compare_dispersion "$dispersion" 1 - - - 1
  drawn_alarms
  alarms compare_false_alarms_neighbours "$((RECORD_S / 5 * (RECORD_S / 5 - 1) / 2))" neighbours
  alarms compare_false_alarms_among_3 1000 others 2
  range_alarms compare_false_alarms_ranges 1 base
  range_alarms compare_false_alarms_phases 1 phases
  range_alarms compare_false_alarms_minutes 6 phases
  while read -r figure f threads by; do
    wanted "compare_power_$figure" "diff_power_$figure" || continue
    work=
    [ "$by" = work ] && work="$(work_of base) $(work_of "$f")"
    read -r found sure bound threads _ < <("$compare" power "$f" "$threads" $(recording base) $(recording "$f") $work) || continue
    row "compare_power_$figure" "$found" % "bound,${threads}_threads" "$bound" "$(awk "BEGIN { print $found / $bound }")" 200
    row "diff_power_$figure" "$sure" % listed "$found" "$(awk "BEGIN { print $sure / $found }")" 200
  done <<<"$COMPARE_POWER"
  e2e_stop
  trap - EXIT
fi
