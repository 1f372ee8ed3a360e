# Claims of a script, one line each.
#
#	check NAME command...	ok or not ok, with what the command printed
#	skip NAME WHY
#	equal GOT EXPECTED
#	says TEXT command...	its output, on both streams, contains TEXT
#	leaves STATUS command...	it ends with that status
#	finished ID	the ProfileResult of a capture that has ended

# Timeouts are stated for an idle machine, and multiplied by this.
: "${PATIENCE:=3}"

check() {
  local name=$1 out
  shift
  if out=$("$@" 2>&1); then
    echo "ok $name"
  else
    echo "not ok $name: ${out//$'\n'/ | }"
    not_ok=$name
  fi
}

# Ends a script that can't run here.
skip() { # name, why
  echo "skip $1: $2"
  exit 0
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

# Waits for the end of a capture. result_of may reply early if too many
# requests are waiting; then it is called again.
finished() { # id
  local result end=$((SECONDS + 120))
  while :; do
    result=$(result_of "$1")
    case $(jq -r '.status // .error_code' <<<"$result") in
    completed | failed | NotFound) break ;;
    esac
    echo "finished: $1: not yet: ${result:0:200}" >&2
    [ $SECONDS -lt $end ] || break
    read -rt 0.2 <> <(:) || :
  done
  printf '%s' "$result"
}
