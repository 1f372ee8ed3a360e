# Claims of a script, one line each.
#
#	check NAME command...	ok or not ok, with what the command printed
#	equal GOT EXPECTED
#	says TEXT command...	what it prints, to both streams, holds the text
#	leaves STATUS command...	it ends with that status

check() {
  local name=$1 out
  shift
  if out=$("$@" 2>&1); then
    echo "ok $name"
  else
    echo "not ok $name: ${out//$'\n'/ | }"
  fi
}

equal() { [ "$1" = "$2" ] || { echo "got '$1', expected '$2'"; return 1; }; }

says() {
  local text=$1 out
  shift
  out=$("$@" 2>&1) || :
  [[ $out == *"$text"* ]] || { echo "expected '$text' in: $out"; return 1; }
}

leaves() {
  local want=$1 got out
  shift
  out=$("$@" 2>&1)
  got=$?
  [ $got -eq "$want" ] || { echo "left with $got, expected $want: $out"; return 1; }
}
