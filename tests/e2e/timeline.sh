#!/bin/bash
# Timelines of captures: every sample of the profile, when and where.
. tests/lib/e2e.sh
e2e_start shares shortchild

blob() { # id, kind: the path of its file
  sqlite3 "$STATE/data/stoker.db" \
    "SELECT '$STATE/data/profiles/' || name FROM blob
     WHERE session = '$1' AND kind = '$2' AND deleted_ms = 0"
}
# Captures a running service; its timeline as text is in $line.
capture() { # service, seconds
  local id
  id=$(start "$1" "$2") &&
    result=$(finished "$id") &&
    line=$("$B/tests/tools/timeline" "$(blob "$id" timeline)" "$(blob "$id" pprof)")
}
rows() { awk -v kind="$1" '$1 == kind' <<<"$line"; }

background shares "$STATE/bin/shares" 300 3
service shares "$STATE/bin/shares" || exit 1
check a_capture_has_a_timeline capture shares 2
capture shares 2
check it_has_every_sample \
  equal "$(rows sample | wc -l)" "$(jq .sampleCount <<<"$result")"
check their_weights_are_the_profiles_time \
  equal "$(rows sample | awk '{n += $4} END {printf "%.0f", n}')" \
  "$(jq .quality.cpuNs <<<"$result")"
check samples_lie_in_the_time_of_the_capture \
  awk '$1 == "head" {end = $2} $1 == "sample" && ($2 < last || $2 > end) {bad++}
       $1 == "sample" {last = $2; n++; if ($2 > end / 2) late++}
       END {print n, late, bad; exit !(n >= 10 && late && !bad)}' \
  <<<"$line"
check they_name_what_ran \
  awk '{n++} / (share_|burn)/ {ours++} END {print ours, n; exit !(ours > n * 0.9)}' \
  <<<"$(rows sample)"
check threads_have_their_names equal \
  "$(rows thread | awk '{print $NF}' | sort -u | head -1)" shares
check memory_and_cpu_time_are_read_every_while \
  awk '$1 == "counter" {n++; if ($4 < 65536 || $5 < cpu) bad++; cpu = $5; if (n == 1) first = $5}
       END {print n, first, cpu, bad; exit !(n >= 2 && !bad && cpu > first)}' \
  <<<"$line"

background shortchild "$STATE/bin/shortchild" 300
service shortchild "$STATE/bin/shortchild" || exit 1
check children_are_in_it capture shortchild 3
capture shortchild 3
check children_are_born_work_and_end \
  awk '$1 == "thread" && $4 != "-" && $5 != "-" && $5 > $4 {n++}
       END {print n; exit !(n >= 4)}' <<<"$line"
check births_ends_and_new_programs_are_events \
  awk '$1 == "event" {n[$3]++} $1 == "event" && $3 == 1 && $6 != "exe" {bad++}
       END {print n[0], n[1], n[2], bad; exit !(n[0] >= 4 && n[1] >= 2 && n[2] >= 4 && !bad)}' \
  <<<"$line"
