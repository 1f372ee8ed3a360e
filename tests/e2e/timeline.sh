#!/bin/bash
# The timeline of a capture has the time and the thread of each sample.
#
# Quiet: short children are counted by the second.
. tests/lib/e2e.sh
e2e_start shares shortchild

blob() { # id, kind: the path of its file
  sqlite3 "$STATE/data/stoker.db" \
    "SELECT '$STATE/data/profiles/' || name FROM blob
     WHERE session = '$1' AND kind = '$2' AND deleted_ms = 0"
}
# Sets $result to the finished capture, and $line to its timeline as text.
take() { # id
  result=$(finished "$1") &&
    line=$("$B/tests/tools/timeline" "$(blob "$1" timeline)" "$(blob "$1" pprof)")
}
rows() { awk -v kind="$1" '$1 == kind' <<<"$line"; }

background shares "$STATE/bin/shares" 300 3
background shortchild "$STATE/bin/shortchild" 300
service shares "$STATE/bin/shares" || exit 1
service shortchild "$STATE/bin/shortchild" || exit 1
id=$(start shares 2)
take "$id"
kill "$(<"$STATE/pid/shares")" # so that children have the CPU
children=$(start shortchild 3)
{ finished "$children" >/dev/null; process_stop shortchild; } & # no longer needed
check a_capture_has_a_timeline [ -n "$line" ]
check a_timeline_has_every_sample \
  equal "$(rows sample | wc -l)" "$(jq .sampleCount <<<"$result")"
check weights_of_a_timeline_add_up_to_the_profile_s_time \
  equal "$(rows sample | awk '{n += $4} END {printf "%.0f", n}')" \
  "$(jq .quality.cpuNs <<<"$result")"
check samples_lie_in_the_time_of_the_capture \
  awk '$1 == "head" {end = $2} $1 == "sample" && ($2 < last || $2 > end) {bad++}
       $1 == "sample" {last = $2; n++; if ($2 > end / 2) late++}
       END {print n, late, bad; exit !(n >= 10 && late && !bad)}' \
  <<<"$line"
check samples_of_a_timeline_name_what_ran \
  awk '{n++} / (share_|burn)/ {ours++} END {print ours, n; exit !(ours > n * 0.9)}' \
  <<<"$(rows sample)"
check threads_have_their_names equal \
  "$(rows thread | awk '{print $NF}' | sort -u | head -1)" shares
check memory_and_cpu_time_are_read_repeatedly \
  awk '$1 == "counter" {n++; if ($4 < 65536 || $5 < cpu) bad++; cpu = $5; if (n == 1) first = $5}
       END {print n, first, cpu, bad; exit !(n >= 2 && !bad && cpu > first)}' \
  <<<"$line"

# --- parts of it
holds() { jq -e "$1" <<<"$2" >/dev/null || { echo "not $1: ${2:0:1000}"; return 1; }; }
part() { api GET "$P/$id.$1"; }
line_of=$(api GET "$P/$id/timeline?slotsPerSecond=10")
samples=$(jq .sampleCount <<<"$result")
check slots_hold_every_sample holds \
  "(.slots | length) >= 20 and .samples == $samples and (.slots | add) == $samples" "$line_of"
check threads_hold_every_sample holds "(.threads | map(.samples) | add) == $samples" "$line_of"
tid=$(jq '.threads[0].tid' <<<"$line_of")
check slots_of_a_thread_are_fewer holds \
  ".samples == ($line_of | .threads[0].samples)" "$(api GET "$P/$id/timeline?tid=$tid")"
first=$(part 0-1000) rest=$(part 1000-999999)
check parts_add_up_to_the_capture holds \
  ".sampleCount > 0 and .sampleCount < $samples and .sampleCount + $(jq .sampleCount <<<"$rest") == $samples" "$first"
check a_part_has_its_own_time holds ".durationSeconds == 1 and .topFunctions != []" "$first"
check a_part_is_of_one_thread_if_asked holds \
  ".sampleCount == ($line_of | .threads[0].samples)" "$(part "0-999999.$tid")"
check a_part_has_every_format equal "$(for f in html svg json folded speedscope firefox otlp autofdo dot pprof; do
  status_of GET "$P/$id.0-1000/flamegraph?format=$f"
done)" "$(printf 200%.0s 1 2 3 4 5 6 7 8 9 10)"
check the_link_of_a_part_opens_it_alone equal "$(link=$(jq -r .flameGraphUrl <<<"$first")
  curl -s -o /dev/null -w '%{http_code}' "$link"
  curl -s -o /dev/null -w '%{http_code}' "${link/.0-1000/}")" 200401
check two_parts_are_compared holds '.verdict != null' \
  "$(api GET "$P/compare?baseProfileId=$id.0-1000&comparisonProfileId=$id.1000-2000")"
check the_command_line_knows_parts_by_the_beginning_of_an_id grep -Eq 'share_|burn' \
  <(stoker_cli top "${id:0:14}.0-1000")
check a_part_past_the_end_is_unknown equal "$(status_of GET "$P/$id.9000-9999")" 404
for ill in 5-3 5-5 -5 0- 0-5.x 0-5. 0-5.0 0-5x 0-1234567890; do
  check "no_part_is_called_$ill" equal "$(status_of GET "$P/$id.$ill")" 404
done
check a_part_is_not_deleted_nor_pinned equal \
  "$(status_of DELETE "$P/$id.0-1000")$(status_of POST "$P/$id.0-1000/pin")" 404404
check a_capture_outlives_requests_for_its_parts equal "$(status_of GET "$P/$id")" 200
upload=$(printf 'main;work 7\n' | api POST '/api/v1/profiling/sessions?service=shares&type=cpu' \
  -H 'Content-Type: text/plain' --data-binary @- | jq -r .sessionId)
check an_upload_has_no_timeline holds '.error_code == "TimelineNotKept"' "$(api GET "$P/$upload/timeline")"

take "$children"
check a_capture_of_children_has_a_timeline [ -n "$line" ]
check children_are_born_work_and_end \
  awk '$1 == "thread" && $4 != "-" && $5 != "-" && $5 > $4 {n++}
       END {print n; exit !(n >= 4)}' <<<"$line"
check births_ends_and_new_programs_are_events \
  awk '$1 == "event" {n[$3]++} $1 == "event" && $3 == 1 && $6 != "exe" {bad++}
       END {print n[0], n[1], n[2], bad; exit !(n[0] >= 4 && n[1] >= 2 && n[2] >= 4 && !bad)}' \
  <<<"$line"
