#!/bin/bash
# Signed links in a real browser, from a real server and with its policy: what
# the page says about its link, that every format it offers can be opened, and
# what a broken link shows.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
. tests/lib/dom.sh links
e2e_start

browse() { # address, what the page must have: the DOM in $STATE/dom
  dom "$1" "$2" >"$STATE/dom" || { head -c 2000 "$STATE/dom"; return 1; }
}
upload() { # file: its ProfileResult
  api POST "/api/v1/profiling/sessions?service=shop&type=cpu&sampleRate=100&durationSeconds=20" \
    --data-binary @"$1" -H 'Content-Type: text/plain'
}
# Prints the addresses of the formats that the page offers, as a browser would
# open them.
offered() {
  grep -oE '<ul part="formats">.*</ul>' "$STATE/dom" |
    grep -oE 'href="[^"]*"' | sed 's/href="//; s/"$//; s/&amp;/\&/g'
}
all_open() { # number of formats that the page must offer
  local n=0 url
  while read -r url; do
    [ "$(curl -sS -o "$STATE/body" -w '%{http_code}' "$url")" = 200 ] ||
      { echo "$url: $(head -c 200 "$STATE/body")"; return 1; }
    [ -s "$STATE/body" ] || { echo "$url is empty"; return 1; }
    n=$((n + 1))
  done < <(offered)
  equal $n "$1"
}
says() { # text
  grep -qF "$1" "$STATE/dom" || { head -c 3000 "$STATE/dom"; return 1; }
}

stoker_cli service add shop --exe /usr/bin/shop >/dev/null
base=$(upload tests/ui/base.folded)
now=$(upload tests/ui/now.folded)
one=$(jq -r .flameGraphUrl <<<"$base")
until=$(date -u -d "@$(($(sed 's/.*signature=\([0-9]*\).*/\1/' <<<"$one") * 3600))" '+%Y-%m-%d %H:%M:%S UTC')

check a_link_opens_the_page browse "$one" 'data-paint-ms'
check the_page_says_until_when_its_link_works says "This link works until</dt><dd title=\"$until\">"
formats=$(grep '^FORMAT(' include/formats.def | grep -vcE ' (READ|LISTED),')
check every_format_that_a_profile_has_is_linked_and_opens all_open "$formats"
browse "$one#focus-text=m&hide-text=no-such&fold-text=wor&fold-kind=runtime" 'foldText' >/dev/null
check formats_leave_out_what_the_page_does eval '[ "$(offered | grep foldKind=runtime | grep focusText=m | grep hideText=no-such | grep -c foldText=wor)" = "$formats" ]'
browse "${one/format=/}&format=html" 'data-paint-ms' >/dev/null
check a_page_asked_for_by_format_links_to_the_others all_open "$formats"

diff=$(api GET "$P/compare?baseProfileId=$(jq -r .id <<<"$base")&comparisonProfileId=$(jq -r .id <<<"$now")&normalize=rate" |
  jq -r .links.diff)
check a_diff_opens_from_its_link browse "$diff" 'data-paint-ms'
check every_format_that_a_diff_has_is_linked_and_opens all_open 5
check formats_of_a_diff_are_compared_as_the_page_is eval 'offered | grep -q "normalize=rate.*format=svg"'

merge=$(api GET "$P/merge?service=shop&profileType=cpu" | jq -r .flameGraphUrl)
check a_range_opens_from_its_link browse "$merge" 'data-paint-ms'
check every_format_that_a_range_has_is_linked_and_opens all_open "$formats"

check a_changed_link_tells_a_person_what_to_do browse "${one/signature=/signature=0}" '<h1>This link does not work</h1>'
check a_changed_link_says_how_to_make_a_new_one says "<code>stoker top $(jq -r .id <<<"$base")</code>"
stoker_cli remove "$(jq -r .id <<<"$base")" >/dev/null
check a_deleted_profile_is_told_to_be_gone browse "$one" '<h1>This profile is no longer here</h1>'
