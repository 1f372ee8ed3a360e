# The web application in Chromium, compared with speedscope, which opens the
# same profile in the format that it reads fastest.

if wanted ui_bundle_kb ui_first_paint_cold_ms ui_first_paint_warm_ms ui_flame_200k_paint_ms ui_flame_200k_zoom_ms &&
  has_browser; then
  e2e_start
  install -m 755 "$B/tests/bench/seed" "$STATE/bin/"
  large=$(as_user "$STATE/bin/seed" "$STATE/data" 550e8400 bench 200000 10 2>/dev/null)
  {
    in_browser first
    ! wanted ui_flame_200k_paint_ms ui_flame_200k_zoom_ms || in_browser flame "$large"
  } >"$STATE/ui.txt"
  figure() { awk -v name="$1" '$1 == name { print $2 }' "$STATE/ui.txt"; }
  row ui_bundle_kb "$(figure bundle_kb)" KiB goal 60 - 1
  row ui_first_paint_cold_ms "$(figure first_paint_cold_ms)" ms - - - "$ROUNDS"
  row ui_first_paint_warm_ms "$(figure first_paint_warm_ms)" ms - - - "$ROUNDS"
  for name in paint zoom; do
    ours=$(figure flame_200k_${name}_ms) theirs=$(figure speedscope_200k_${name}_ms)
    row ui_flame_200k_${name}_ms "$ours" ms speedscope "$theirs" \
      "$(awk "BEGIN { printf \"%.2f\", $theirs / $ours }")" "$ROUNDS"
  done
  e2e_stop
  trap - EXIT
fi
