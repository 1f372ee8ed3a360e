#!/bin/bash
# The page of the API in a real browser, from a real server and with its policy.
# A script of tests is added to the page's scripts, and runs in a wide and a
# narrow window, also on a page of the manual.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
. tests/lib/dom.sh docs
e2e_start

{
  echo "import './docs.js';"
  echo "const TOKEN = '$TOKEN';"
  cat tests/ui/run.js tests/ui/docs.js
} >"$STATE/web/docs/test.js"
sed 's|docs\.js|test.js|; s|</body>|<pre id="report"></pre>&|' \
  app/web/docs/index.html >"$STATE/web/docs/test.html"

{ echo "import '../manual.js';" && cat tests/ui/run.js tests/ui/manual.js; } \
  >"$STATE/web/docs/manual/test.js"
sed 's|\.\./manual\.js|test.js|; s|</body>|<pre id="report"></pre>&|' \
  "$B/manual/stoker-glossary.7.html" >"$STATE/web/docs/manual/test.html"
judge() { # prefix for the names of its tests
  sed -n '/<pre id="report">/,/<\/pre>/p' "$STATE/dom" |
    grep -aoE '(not )?ok .*' | sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' |
    sed -E "s/^((not )?ok )/\1$1_/"
  grep -q 'ok all_' "$STATE/dom" || echo "not ok docs: stopped half-way at $1"
}

for window in '1280 900' '400 800'; do
  # shellcheck disable=SC2086 # a width and a height
  dom "http://127.0.0.1:$PORT/docs/test.html" 'ok all_' $window >"$STATE/dom"
  judge "${window% *}"
done
dom "http://127.0.0.1:$PORT/docs/manual/test.html" 'ok all_' >"$STATE/dom"
judge manual
