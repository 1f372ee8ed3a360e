# The web application in Chromium, compared with speedscope, which opens the
# same profile in the format that it reads fastest.

ui_graph='ui_flame_200k_paint_ms ui_flame_200k_zoom_ms ui_flame_200k_search_ms ui_flame_200k_sandwich_ms ui_flame_200k_bottomup_ms ui_flame_200k_longest_ms'
ui_large='ui_flame_2m_paint_ms ui_flame_2m_longest_ms'
if wanted ui_bundle_kb ui_first_paint_cold_ms ui_first_paint_warm_ms $ui_graph $ui_large &&
  has_browser; then
  e2e_start
  install -m 755 "$B/tests/bench/seed" "$STATE/bin/"
  large=$(as_user "$STATE/bin/seed" "$STATE/data" 550e8400 bench 200000 10 2>/dev/null)
  {
    in_browser first
    ! wanted $ui_graph || in_browser flame "$large"
    ! wanted $ui_large || in_browser large "$(as_user "$STATE/bin/seed" "$STATE/data" 550e8400 larger 2000000 10 2>/dev/null)"
  } >"$STATE/ui.txt"
  figure() { awk -v name="$1" '$1 == name { print $2 }' "$STATE/ui.txt"; }
  row ui_bundle_kb "$(figure bundle_kb)" KiB goal 60 - 1
  row ui_first_paint_cold_ms "$(figure first_paint_cold_ms)" ms - - - "$ROUNDS"
  row ui_first_paint_warm_ms "$(figure first_paint_warm_ms)" ms - - - "$ROUNDS"
  if wanted $ui_graph; then
    for name in paint zoom longest; do
      ours=$(figure flame_200k_${name}_ms) theirs=$(figure speedscope_200k_${name}_ms)
      row ui_flame_200k_${name}_ms "$ours" ms speedscope "$theirs" \
        "$(awk "BEGIN { printf \"%.2f\", $theirs / $ours }")" "$ROUNDS"
    done
    for name in search sandwich bottomup; do
      row ui_flame_200k_${name}_ms "$(figure flame_200k_${name}_ms)" ms goal 100 - "$ROUNDS"
    done
  fi
  for name in paint longest; do
    row ui_flame_2m_${name}_ms "$(figure flame_2m_${name}_ms)" ms - - - "$ROUNDS"
  done
  e2e_stop
  trap - EXIT
fi
