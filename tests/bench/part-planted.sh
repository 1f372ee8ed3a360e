# The first answer that an assistant gets about each of twenty services in which
# a bug was planted, by a client of the Model Context Protocol from npm: how
# many answers name the bug, and how long they are at most.
if wanted mcp_found mcp_tokens && why=$(tests/lib/npm); then
  e2e_start
  URL=http://127.0.0.1:$PORT KEY=$TOKEN NPM=$(realpath "$B/npm") node tests/bench/planted.mjs >"$STATE/planted"
  grep '^missed' "$STATE/planted" >&2
  while read -r name value; do
    case $name in
    found) row mcp_found "$value" of_20 - - - 20 ;;
    tokens) row mcp_tokens "$value" tokens goal 1500 "$(awk "BEGIN { printf \"%.2f\", 1500 / $value }")" 20 ;;
    esac
  done <"$STATE/planted"
  e2e_stop
elif wanted mcp_found mcp_tokens; then
  echo "bench: mcp_tokens: $why" >&2
fi
