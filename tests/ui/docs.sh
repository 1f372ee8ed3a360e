#!/bin/bash
# The API's page in a real browser, from a real server and under its policy:
# the page, with a script of tests beside its own, in a wide window and in a
# narrow one.
#
# Beside others: pages have a clock of their own.
browser=$(command -v chromium || command -v google-chrome) || {
  echo "skip docs: no chromium"
  exit 0
}
. "$(dirname "$0")/../lib/e2e.sh"
e2e_start

{
  echo "import './docs.js';"
  echo "const TOKEN = '$TOKEN';"
  cat tests/ui/run.js tests/ui/docs.js
} >"$STATE/web/docs/test.js"
sed 's|docs\.js|test.js|; s|</body>|<pre id="report"></pre>&|' \
  app/web/docs/index.html >"$STATE/web/docs/test.html"

# Virtual time: the dump waits for the tests, not for the clock.
browse() { # window
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-quic \
    --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync \
    --user-data-dir="$STATE/profile" --window-size="$1" \
    --virtual-time-budget=60000 --dump-dom \
    "http://127.0.0.1:$PORT/docs/test.html" >"$STATE/dom" 2>"$STATE/log/browser"
}

# A run that the browser ends half-way, on a busy machine, is taken again.
for window in 1280,900 400,800; do
  for _ in 1 2 3; do
    browse $window
    ! grep -q 'ok all_' "$STATE/dom" || break
  done
  sed -n '/<pre id="report">/,/<\/pre>/p' "$STATE/dom" |
    grep -aoE '(not )?ok .*' | sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' |
    sed -E "s/^((not )?ok )/\1${window%,*}_/"
  grep -q 'ok all_' "$STATE/dom" || echo "not ok docs: stopped half-way at $window"
done
