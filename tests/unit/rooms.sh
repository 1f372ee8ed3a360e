#!/bin/bash
# Checks what the files of app/ and include/ include against app/rooms.txt,
# which says what each room may include. Prints one claim for each rule.
#
# Beside others: nothing is timed.
set -u
top=$(dirname "$0")/../..
tree=${1:-$top}
cd "$tree" || exit 1
rooms=${ROOMS:-app/rooms.txt}

claim() { # name, findings: empty is fine
  if [ -z "$2" ]; then echo "ok $1"; else echo "not ok $1: $2"; fi
}

# Prints "FROM TO FILE HEADER PLACE" for every include that leaves its own room;
# PLACE is app or include. A header below include/ belongs to the room whose
# source has its name; tables (*.def) are everybody's.
arrows() {
  awk '
    FILENAME == "'"$rooms"'" {
      if (!/^door /) next
      room = $2; sub(/:$/, "", room)
      for (i = 3; i <= NF; i++) door[$i] = "app/" room
      next
    }
    FNR == 1 {
      room = FILENAME; sub(/\/[^\/]*$/, "", room)
      base = FILENAME; sub(/.*\//, "", base); sub(/\.[ch]$/, "", base)
      file[FILENAME] = room
      if (FILENAME ~ /^app\/.*\.c$/) {
        split(FILENAME, part, "/"); home[part[2] "/" base] = room
      }
    }
    /^[ \t]*# *include "/ {
      split($0, quoted, "\""); want[++n] = quoted[2]; by[n] = FILENAME
    }
    function owner(path,   part, b) {
      if (path ~ /^app\//) return file[path]
      if (substr(path, 9) in door) return door[substr(path, 9)]
      split(path, part, "/"); b = path
      sub(/.*\//, "", b); sub(/\.h$/, "", b)
      if ((part[2] "/" b) in home) return home[part[2] "/" b]
      return part[2] in top ? "app/" part[2] : "?" path
    }
    END {
      for (f in file) if (f ~ /^app\//) { split(f, p, "/"); top[p[2]] = 1 }
      for (i = 1; i <= n; i++) {
        from = owner(by[i]); w = want[i]
        if (w !~ /\.h$/) continue
        if (("app/" w) in file) to = owner("app/" w)
        else if (("include/" w) in file) to = owner("include/" w)
        else continue
        sub(/^app\//, "", from); sub(/^app\//, "", to)
        place = ("app/" w) in file ? "app" : "include"
        if (from != to && to != "base") print from, to, by[i], w, place
      }
    }' "$rooms" $(find app include -name '*.[ch]' | sort) | sort -u
}
all=$(arrows)

# Includes that no row of the table allows, rows for includes that do not
# exist, and rooms without a row.
claim every_include_is_allowed "$(awk '
  NR == FNR { if (!/^[a-z]/ || /^(never|door) /) next
              room = $1; sub(/:$/, "", room)
              for (i = 2; i <= NF; i++) may[room, $i] = 1; next }
  !(($1, $2) in may) { printf "%s includes %s of %s; ", $3, $4, $2 }
' "$rooms" - <<<"$all")"
claim every_row_is_needed "$(awk '
  NR == FNR { need[$1, $2] = 1; next }
  !/^[a-z]/ || /^(never|door) / { next }
  { room = $1; sub(/:$/, "", room)
    for (i = 2; i <= NF; i++) if (!((room, $i) in need)) printf "%s: %s; ", room, $i }
' - "$rooms" <<<"$all")"
claim every_room_has_a_row "$(find app -name '*.[ch]' | sed 's|^app/||; s|/[^/]*$||' |
  sort -u | while read -r room; do grep -q "^$room:" "$rooms" || echo "$room"; done)"
# The map lists each room, or all rooms of a folder as FOLDER/*.
claim every_room_is_on_the_map "$(sed -n 's/^\([a-z][a-z/]*\):.*/\1/p' "$rooms" |
  while read -r room; do
    grep -qE "^($room|${room%/*}/\*)( |\$)" include/README || echo "$room"
  done)"
# A room may include only rooms in rows above its own, so there are no circles.
claim rooms_include_only_rooms_above "$(awk '
  !/^[a-z]/ || /^(never|door) / { next }
  { room = $1; sub(/:$/, "", room)
    for (i = 2; i <= NF; i++) if (!($i in seen)) printf "%s: %s; ", room, $i
    seen[room] = 1 }' "$rooms")"
claim rooms_have_at_most_two_levels "$(find app -mindepth 4 -name '*.[ch]')"
# A header beside the code of a room is its own, unless a row says that it is a
# door.
claim other_rooms_include_doors_only "$(awk '
  NR == FNR { if (/^door /) for (i = 3; i <= NF; i++) door[$i] = 1; next }
  $5 == "app" && !($4 in door) { printf "%s includes %s of %s; ", $3, $4, $2 }
' "$rooms" - <<<"$all")"
claim every_door_is_used "$(awk '
  NR == FNR { used[$4] = 1; next }
  /^door / { for (i = 3; i <= NF; i++) if (!($i in used)) printf "%s; ", $i }
' - "$rooms" <<<"$all")"
# "never A: B C": A reaches B and C neither directly nor through others.
claim what_may_never_be_reached_is_not "$(awk '
  /^never / { room = $2; sub(/:$/, "", room)
              for (i = 3; i <= NF; i++) never[room, $i] = 1; next }
  /^door /  { next }
  /^[a-z]/  { room = $1; sub(/:$/, "", room); rooms[room] = 1
              for (i = 2; i <= NF; i++) reach[room, $i] = 1 }
  END {
    for (k in rooms) for (i in rooms) for (j in rooms)
      if ((i, k) in reach && (k, j) in reach) reach[i, j] = 1
    for (pair in never) { split(pair, p, SUBSEP)
      for (j in rooms) for (i in rooms)
        if ((i == p[1] || index(i, p[1] "/") == 1) && (j == p[2] || index(j, p[2] "/") == 1) && (i, j) in reach)
          printf "%s reaches %s; ", i, j }
  }' "$rooms")"
[ "${1:-}" ] && exit
# The rules above notice planted mistakes: the analyser includes the store, and
# capture includes a header that is not a door.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
cp -r app include "$planted/"
echo '#include "store/store.h"' >"$planted/app/worker/analyser/planted.c"
echo '#pragma once' >"$planted/app/capture/elf/planted.h"
echo '#include "capture/elf/planted.h"' >"$planted/app/capture/symbols/planted.c"
found=$(ROOMS=$PWD/$rooms bash "$PWD/tests/unit/rooms.sh" "$planted")
claim a_planted_include_is_found "$(grep -q \
  '^not ok every_include_is_allowed: .*analyser/planted.c' <<<"$found" || echo none)"
claim a_planted_include_past_the_door_is_found "$(grep -q \
  '^not ok other_rooms_include_doors_only: .*symbols/planted.c' <<<"$found" || echo none)"
