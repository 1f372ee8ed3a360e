# The cost of pushes of Pyroscope's clients and of OpenTelemetry's exporters,
# in time and disk space, and of flame graphs made of them. The programs are
# recorded as for the month of part-range.sh. ONLY=push asks for all rows.
names="otlp_push_per_s otlp_push_cpu_us folded_push_per_s folded_push_cpu_us push_per_s push_cpu_us push_bytes push_fresh_bytes push_segment_bytes push_peak_mb push_held_mb
  range_pushed_hour_ms range_pushed_hour_cpu_ms range_pushed_2h_ms range_pushed_2h_cpu_ms
  range_pushed_6h_ms range_pushed_6h_cpu_ms"
[[ ",$ONLY," != *,push,* ]] || ONLY+=,$(echo $names | tr ' ' ,)
if wanted $names; then
  made=$(mktemp -d /tmp/stoker-push.XXXXXX)
  for pair in "cc1 sqlite3" "python3 perl"; do
    record "${pair% *}" &
    first=$!
    record "${pair#* }" &
    wait "$first" $!
  done
  pushed() { PROFILES="$(echo "$made"/*.pb.gz)" "$B/tests/bench/push" >"$made/push" || cat "$made/push" >&2; }
  for form in otlp folded; do
    FORM=$form MINUTES=${MINUTES:-120} pushed
    while IFS=$'\t' read -r name a b n; do
      [ "$name" = pushed ] || continue
      row "${form}_push_per_s" "$a" 1/s - - - "$n"
      row "${form}_push_cpu_us" "$b" us - - - "$n"
    done <"$made/push"
  done
  MINUTES=${MINUTES:-360} pushed
  while IFS=$'\t' read -r name a b n; do
    case $name in
    pushed)
      row push_per_s "$a" 1/s goal 2000 "$(awk "BEGIN { printf \"%.2f\", $a / 2000 }")" "$n"
      row push_cpu_us "$b" us goal 800 "$(awk "BEGIN { printf \"%.2f\", 800 / $b }")" "$n"
      ;;
    fresh) row push_fresh_bytes "$a" bytes - - - "$n" ;;
    summed)
      row push_bytes "$a" bytes goal 1850 "$(awk "BEGIN { printf \"%.2f\", 1850 / $a }")" "$n"
      row push_segment_bytes "$b" bytes - - - "$n"
      ;;
    hour)
      row range_pushed_hour_ms "$a" ms goal 5 "$(awk "BEGIN { printf \"%.2f\", 5 / $a }")" "$n"
      row range_pushed_hour_cpu_ms "$b" ms - - - "$n"
      ;;
    2h)
      row range_pushed_2h_ms "$a" ms - - - "$n"
      row range_pushed_2h_cpu_ms "$b" ms - - - "$n"
      ;;
    6h)
      row range_pushed_6h_ms "$a" ms goal 8 "$(awk "BEGIN { printf \"%.2f\", 8 / $a }")" "$n"
      row range_pushed_6h_cpu_ms "$b" ms - - - "$n"
      ;;
    memory)
      row push_peak_mb "$a" MiB - - - 4
      row push_held_mb "$b" MiB - - - 4
      ;;
    esac
  done <"$made/push"
  rm -rf "$made"
fi
