#!/bin/bash
# The pages that links open, as axe-core judges them: in a wide window and in a
# narrow one, in both themes.
#
# Beside others: pages have a clock of their own.
set -u
cd "$(dirname "$0")/../.."
B=$(realpath "${B:-build}")
export B
browser=$(command -v chromium || command -v google-chrome) || {
  echo "skip axe: no chromium"
  exit 0
}
why=$(tests/lib/npm) || {
  echo "skip axe: $why"
  exit 0
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Appends axe-core and the script that runs it to the page to be judged.
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
# Without its policy, which lets no script run.
judged <app/web/refused/refused.html >"$tmp/refused.html"

look() { # page, window
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-quic \
    --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --user-data-dir="$tmp/profile" \
    --window-size="$2" --virtual-time-budget=60000 \
    --dump-dom "file://$tmp/$1.html" >"$tmp/dom" 2>"$tmp/log"
}
# A run that the browser ends half-way, on a busy machine, is taken again.
for page in one two refused; do
  for window in 1280,900 390,844; do
    for _ in 1 2 3; do
      look $page $window
      ! grep -q '^all_were_looked_at' "$tmp/dom" || break
    done
    sed -nE "s/^((not )?ok) /\1 axe_${page}_${window%,*}_/p" "$tmp/dom"
    grep -q '^all_were_looked_at' "$tmp/dom" ||
      echo "not ok axe_$page: stopped half-way at $window"
  done
done
