# A whole installation and a browser, for scripts in tests/ui that drive the web
# application. If either is missing, the script ends here, with a line that
# says why.
#
#	. tests/lib/browser.sh NAME [TARGET...]	starts it; also copies the targets
#	ui FILE				runs the tests of a file with playwright
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
ui_name=$1
shift
. tests/lib/e2e.sh
. tests/lib/dom.sh "$ui_name"
[ -d "$B/ui/assets" ] || skip "$ui_name" 'it was built without npm'
e2e_start "$@"

ui() { # file
  URL=http://127.0.0.1:$PORT KEY=$TOKEN BROWSER=$browser NPM=$B/npm node "$1"
}
