#!/bin/bash
# Exported files, read by the programs for which they are made: speedscope's
# page, Firefox Profiler, graphviz, an XML parser, go tool pprof.
set -u
cd "$(dirname "$0")/../.."
. tests/lib/dom.sh readers
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

check() { # name, command...
  local name=$1 out
  shift
  if out=$("$@" 2>&1); then echo "ok $name"; else echo "not ok $name: ${out//$'\n'/ | }"; fi
}
equal() { [ "$1" = "$2" ] || { echo "got $1, expected $2"; return 1; }; }
has() { grep -qF -- "$1" "$2" || { echo "no '$1' in: $(head -c 2000 "$2")"; return 1; }; }
export_as() { # format: the same stacks, with hostile names
  printf '%s\n' 'main@/bin/shop;a"b\c</script>&@/lib/parse.so 30' \
    'main@/bin/shop;work;work 70' | "$B/tests/ui/page" "$1" >"$tmp/$1"
}
for format in speedscope folded dot svg pprof firefox; do
  export_as $format || echo "not ok ${format}_is_written: $?"
done

# --- speedscope: the page takes a file as base64 in a script beside it -------
speedscope=$B/npm/node_modules/speedscope/dist/release/index.html
# speedscope's alert about a refused file would wait for somebody to close it.
speedscope_shows() { # text, file
  echo "window.alert = text => { document.body.dataset.alert = text }
    speedscope.loadFileFromBase64('$2', '$(base64 -w0 "$tmp/$2")')" >"$tmp/load.js"
  dom "file://$speedscope#localProfilePath=$tmp/load.js" "$1" >"$tmp/dom" ||
    has "$1" "$tmp/dom"
}
# The page's title is the profile's name once it has been imported.
titled() { speedscope_shows "<title>$1 - speedscope</title>" "$2"; }
check speedscope_reads_speedscope titled 'shop cpu' speedscope
check speedscope_reads_folded titled folded folded
check speedscope_reads_pprof titled pprof pprof
echo '{"$schema":"x"}' >"$tmp/bad"
check speedscope_refuses_another_file speedscope_shows 'data-alert="Unrecognized format!' bad

# --- Firefox Profiler: its command line, which is its front end's own code ----
firefox=$B/npm/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js
profiler() { HOME=$tmp timeout 60 node "$firefox" "$@"; }
# Its daemon gets half a second to start, which may be too little on a busy
# machine: load then says so, or there is no session after it.
profiler_loads() { # file
  for _ in 1 2 3 4 5 6 7 8; do
    if profiler load "$1" >"$tmp/load" 2>&1; then
      ! profiler profile info 2>&1 | tee "$tmp/info" | grep 'No active session' || continue
      return 0
    fi
    grep 'did not become ready' "$tmp/load" || break
    profiler stop --all
  done
  cat "$tmp/load"
  return 1
}
if [ -e "$firefox" ] && profiler --version >/dev/null 2>&1; then
  cp "$tmp/firefox" "$tmp/firefox.json"
  check firefox_profiler_loads_it profiler_loads "$tmp/firefox.json"
  profiler thread select t-0 >/dev/null 2>&1
  profiler thread samples >"$tmp/samples" 2>&1
  profiler stop --all >/dev/null 2>&1
  check firefox_profiler_finds_the_thread has 't-0: shop' "$tmp/info"
  check firefox_profiler_counts_as_we_do has 'app!work - self: 700ms (70.0%)' "$tmp/samples"
  check firefox_profiler_knows_the_categories has 'User' "$tmp/samples"
else
  echo "skip firefox: needs npm and a node that profiler-cli runs on"
fi

# --- graphviz, libxml2 --------------------------------------------------------
if command -v dot >/dev/null; then
  check dot_draws_it dot -Tplain -o "$tmp/plain" "$tmp/dot"
  check dot_has_each_function equal "$(grep -c '^node' "$tmp/plain")" 3
  check dot_has_recursion_as_one_edge equal "$(grep -c '^edge N[0-9]* N' "$tmp/plain")" 3
else
  echo "skip dot: no graphviz"
fi
if command -v xmllint >/dev/null; then
  check xmllint_reads_svg xmllint --noout "$tmp/svg"
else
  echo "skip svg: no xmllint"
fi

# --- go tool pprof --------------------------------------------------------------
if goroot=$(tests/lib/go root 1.24 2>"$tmp/go.log"); then
  pprof() { HOME=$tmp GOROOT=$goroot GOTOOLCHAIN=local "$goroot/bin/go" tool pprof "$@"; }
  pprof -top "$tmp/pprof" >"$tmp/top" 2>&1
  check pprof_reads_pprof grep -qE '700ms +70.00% .* work$' "$tmp/top"
else
  echo "skip pprof: $(tail -1 "$tmp/go.log")"
fi
