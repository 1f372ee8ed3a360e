#!/bin/bash
# axe-core checks the pages that links open, in a wide and a narrow window and
# in both themes.
#
# Beside others: it waits for events.
set -u
cd "$(dirname "$0")/../.."
. tests/lib/dom.sh axe
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Appends axe-core and the script that runs it to the page.
judged() {
  cat
  echo '<script>'
  cat "$B/npm/node_modules/axe-core/axe.min.js"
  echo '</script><script>'
  cat tests/ui/axe.js
  echo '</script>'
}
"$B/tests/ui/page" html <tests/ui/now.folded | judged >"$tmp/one.html"
"$B/tests/ui/page" html tests/ui/base.folded <tests/ui/now.folded |
  judged >"$tmp/two.html"
# Removes the page's policy, which allows no scripts.
judged <app/web/refused/refused.html >"$tmp/refused.html"

for page in one two refused; do
  for window in '1280 900' '390 844'; do
    # shellcheck disable=SC2086 # a width and a height
    dom "file://$tmp/$page.html" '\nall_were_looked_at' $window >"$tmp/dom"
    sed -nE "s/^((not )?ok) /\1 axe_${page}_${window% *}_/p" "$tmp/dom"
    grep -q '^all_were_looked_at' "$tmp/dom" ||
      echo "not ok axe_$page: stopped half-way at $window"
  done
done
