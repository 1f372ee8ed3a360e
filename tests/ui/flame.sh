#!/bin/bash
# The flame graph page in a real browser: pages of each kind are assembled with
# the tests that use them, and Chromium prints the results.
#
# Beside others: it waits for events.
set -u
cd "$(dirname "$0")/../.."
. tests/lib/dom.sh flame
export_page=$B/tests/ui/page
cd tests/ui || exit 1
pages='exported diff empty big pair page sandbox-page'
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# page DATA TEST: prints the page with this data and this test script
page() {
  awk -v data="$1" -v test="$2" -v web="$B/gen/web/flame/" '
    function put(file,    line) {
      while ((getline line <file) > 0) print line
      close(file)
    }
    /STOKER-CSS/ { print "<style>"; put(web "page.css"); print "</style>" }
    /STOKER-DATA/ {
      print "<script type=\"application/json\" id=\"data\">"
      put(data)
      print "</script>"
    }
    /STOKER-JS/ {
      print "<script>"
      put(web "page.js")
      print "</script><script>"
      put("run.js")
      put(test)
      print "</script>"
    }
    !/STOKER-/' ../../app/web/flame/page.html
}

awk -v n=50000 -f tree.awk >"$tmp/big.json"
page small.json flame.js | tee "$tmp/page.html" >"$tmp/sandbox-page.html"
page empty.json empty.js >"$tmp/empty.html"
page small.json pair.js | sed '/^<script type="application/i\
<script>const pristine = document.querySelector(".profile").cloneNode(true);</script>
' >"$tmp/pair.html"
page "$tmp/big.json" big.js >"$tmp/big.html"
# Appends the test to a page of the exporter, which must run unchanged.
{
  printf '%s\n' 'main@/bin/shop;parse</script>@/lib/parse.so 30' \
    'main@/bin/shop;work 70' | "$export_page"
  echo '<script>'
  cat run.js exported.js
  echo '</script>'
} >"$tmp/exported.html"
{
  "$export_page" html base.folded <now.folded
  echo '<script>'
  cat run.js diff.js
  echo '</script>'
} >"$tmp/diff.html"
{
  echo '<!doctype html><meta charset="utf-8"><pre id="report"></pre>'
  echo "<body data-pages=\"$pages\"><script>"
  cat frames.js
  echo '</script>'
} >"$tmp/index.html"

(cd ../.. && dom "file://$tmp/index.html" "ok ${pages##* }/all_") >"$tmp/dom"
grep -aoE '(not )?ok [a-z-]+/.*' "$tmp/dom" |
  sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g'
for name in $pages; do
  grep -q "ok $name/all_" "$tmp/dom" || echo "not ok $name: stopped half-way"
done
