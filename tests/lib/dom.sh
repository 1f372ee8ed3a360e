# Pages in Chromium, for scripts in tests/ui. If the browser or its driver is
# missing, the script ends here, with a line that says why.
#
#	. tests/lib/dom.sh NAME
#	dom ADDRESS PATTERN [WIDTH HEIGHT]	prints a page once it has PATTERN
#
# Needs B, and the checkout as the current folder.
# The headless shell needs three fifths of the browser's CPU time.
browser=$(command -v chromium-headless-shell || command -v chromium || command -v google-chrome) || {
  echo "skip $1: no chromium"
  exit 0
}
B=$(realpath "${B:-build}")
export B
why=$(tests/lib/npm) || {
  echo "skip $1: $why"
  exit 0
}
dom() { BROWSER=$browser NPM=$B/npm node tests/ui/dom.mjs "$@"; }
