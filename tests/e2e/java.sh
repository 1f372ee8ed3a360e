#!/bin/bash
# Java's methods have names and callers without any option or consent. A JVM
# that can't be read from outside is asked where its service allows it, and no
# process comes to harm by that.
. tests/lib/e2e.sh
command -v javac >/dev/null || skip java 'no JDK here'
WORKER_CONF='
[continuous]
window = 1s
'
e2e_start
trap '[ -z "${pid-}" ] || done_with 2>/dev/null; e2e_stop' EXIT
mkdir "$STATE/classes"
javac -d "$STATE/classes" tests/targets/{Shares,Fills}.java || exit 1

# A JVM that is killed leaves files in /tmp.
done_with() {
  kill -KILL "$pid"
  rm -f "/tmp/perf-$pid.map" "/tmp/.java_pid$pid" "/tmp/.attach_pid$pid"
}

jvm() { # name, words before java, --, options: $pid of service NAME
  local name=$1 before=()
  shift
  while [ "$1" != -- ]; do before+=("$1"); shift; done
  shift
  "${before[@]}" java "$@" -cp "$STATE/classes" "${class:-Shares}" 600 "$name" >"$STATE/$name.out" 2>&1 &
  pid=$!
  wait_for 60 grep -qx ready "$STATE/$name.out" || { cat "$STATE/$name.out"; return 1; }
  pid=$(pgrep -f "^java .* ${class:-Shares} 600 $name\$")
  allow "$name" '{}' POST && wait_for 10 seen "$name"
}

allow() { # service, JSON
  local path=/api/v1/services name=
  [ "${3-}" ] && name=",\"name\":\"$1\"" || path+=/$1
  api "${3-PUT}" $path -f -o /dev/null -H 'Content-Type: application/json' \
    -d "{\"match\":{\"cmdline\":\"^java .* ${class:-Shares} 600 $1\$\"},\"allow\":$2$name}"
}

begin() { # service, seconds [type [rate]]: the session's id
  start "$1" "$2" "${3:-cpu}" "${4:-499}"
}
end() { # session: $STATE/result, folded
  finished "$1" >"$STATE/result"
  api GET "$P/$1/flamegraph?format=folded" >"$STATE/folded"
  jq -e '.sampleCount > 0' "$STATE/result" >/dev/null || { cat "$STATE/result"; return 1; }
}
capture() { end "$(begin "$1" 1)"; }
notes() { jq -r '.quality.notes[]' "$STATE/result"; }
has_note() { notes | grep -qF "$1" || { notes; return 1; }; }
no_note() { ! notes | grep -F "$1"; }

# At least this percentage of samples must pass through methods of Shares.
named() {
  awk -v least="$1" '{ n += $NF } /long Shares[.]/ { got += $NF }
    END { printf "%d of %d samples\n", got, n; exit !(n > 20 && 100 * got >= least * n) }' "$STATE/folded"
}
nameless() { ! grep -F Shares "$STATE/folded"; }
# The program must run, and must not have printed anything else.
lives() { kill -0 "$pid" && equal "$(<"$STATE/$1.out")" ready; }
untouched() { ! ls "/tmp/.java_pid$pid" "/tmp/.attach_pid$pid" "/tmp/perf-$pid.map" 2>/dev/null; }
owner() { stat -c %u "$1"; }

# Of the samples in functions with known shares, the share with this function
# is within four deviations, and at least 2 points, of another share.
near() { # share, function
  awk -v want="$1" -v f=";$2;" '/;Shares[.]work;Shares[.]share[136]0[; ]/ { n += $NF; line = $0; sub(/ [0-9]+$/, ";", line); if (index(line, f)) got += $NF }
    END { if (n < 100) { print n + 0, "samples"; exit 1 }
      got = 100 * got / n; room = 400 * sqrt(want / 100 * (1 - want / 100) / n); if (room < 2) room = 2
      printf "%.2f of %s, %d samples\n", got, want, n; exit !(got >= want - room && got <= want + room) }' "$STATE/folded"
}
# At least 99 of 100 stacks reach the start of their thread.
whole() { jq -e '.quality | .stacksComplete >= .samplesKept * 0.99' "$STATE/result" >/dev/null || { jq -c .quality "$STATE/result"; return 1; }; }
hot_first() { # the hottest function
  equal "$(awk '{ n = split($0, f, /[; ]/); self[f[n - 1]] += $NF } END { for (k in self) print self[k], k }' "$STATE/folded" |
    sort -rn | head -1 | cut -d' ' -f2)" "$1"
}
methods() { # least percentage of samples through methods of Shares
  awk -v least="$1" '{ n += $NF } /;Shares[.]/ { got += $NF }
    END { printf "%d of %d samples\n", got, n; exit !(n > 20 && 100 * got >= least * n) }' "$STATE/folded"
}
has_stack() { # regular expression
  grep -q "$1" "$STATE/folded" || { awk '{ print $NF, $0 }' "$STATE/folded" | sort -rn | head -5; return 1; }
}
measured() { # claims about a capture of a JVM without options
  check "$1.is_captured" end "$(begin "$1" 5 cpu 999)"
  check "$1.methods_have_names" methods 90
  check "$1.stacks_are_whole" whole
  check "$1.known_shares_are_found_60" near 60 Shares.share60
  check "$1.known_shares_are_found_30" near 30 Shares.share30
  check "$1.known_shares_are_found_10" near 10 Shares.share10
  check "$1.native_callers_are_in_the_same_stack" has_stack \
    ';JavaMain;.*JavaCalls::call_helper;call_stub;Shares[.]main;Shares[.]work;Shares[.]share60;Shares[.]spin'
  check "$1.no_note_is_about_java" no_note Java
  check "$1.the_jvm_is_left_alone" untouched
}

# --- JVMs without options -------------------------------------------------------

nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
[ "$(id -u)" -eq 0 ] || nobody=()
# A JVM on one CPU collects garbage without helpers, and then counted loops have
# no safepoint: the time of an inlined one counts as its caller's. So this JVM
# may use all CPUs, whatever this script was given.
jvm compiled "${nobody[@]}" taskset -c "0-$(($(nproc --all) - 1))" --
measured compiled
check waits.is_captured end "$(begin compiled 2 block)"
check waits.callers_have_names grep -q ';Shares[.]park;java[.]util[.]concurrent[.]locks[.]LockSupport[.]parkNanos;' "$STATE/folded"
check snapshot.is_captured end "$(begin compiled 1 goroutine)"
check snapshot.threads_at_rest_have_methods grep -q ';Shares[.]nap;java[.]lang[.]Thread[.]sleep' "$STATE/folded"
done_with
jvm interpreted -- -Xint
measured interpreted
check interpreted.the_hottest_is_first hot_first Shares.spin
done_with
jvm quick -- -XX:TieredStopAtLevel=1 -XX:CompileCommand=quiet -XX:CompileCommand=dontinline,Shares::spin
measured quick
check quick.the_hottest_is_first hot_first Shares.spin
done_with
for newer in /usr/lib/jvm/*-25-*; do
  [ -x "$newer/bin/java" ] || { echo "skip newer: no JDK 25 here"; continue; }
  jvm newer env PATH="$newer/bin:$PATH" --
  measured newer
  done_with
done

# --- the heap -------------------------------------------------------------------

filled() { # percent: share of the bytes that Fills allocates, within 8
  awk -v f=";Fills.fill$1;" '/;Fills[.]fill[136]0[; ]/ { n += $NF; line = $0; sub(/ [0-9]+$/, ";", line); if (index(line, f)) got += $NF }
    END { got = n ? 100 * got / n : 0; printf "%.1f of %d bytes\n", got, n
      exit !(n > 50e6 && got > want - 8 && got < want + 8) }' want="$1" "$STATE/folded"
}
first_of() { # session: the function below which most is allocated
  stoker_cli top "$1" --limit 1
}
heap() { # java, options
  local name=$1
  shift
  class=Fills jvm "$name" "$@"
  check "$name.allocations_are_captured" end "$(begin "$name" 5 alloc)"
  for part in 60 30 10; do check "$name.methods_that_fill_it_are_known_$part" filled $part; done
  check "$name.no_note_is_about_java" no_note Java
  check "$name.the_method_that_fills_most_is_the_first" says Fills.fill60 first_of "$(jq -r .id "$STATE/result")"
  finished "$(begin "$name" 2 memory)" >"$STATE/result"
  check "$name.a_note_says_where_its_methods_are" has_note 'a profile of type alloc has the methods that fill it'
  done_with
}
heap heap --
heap serial -- -XX:+UseSerialGC -XX:TieredStopAtLevel=1
for newer in /usr/lib/jvm/*-25-*; do
  [ ! -x "$newer/bin/java" ] || heap heap25 env PATH="$newer/bin:$PATH" --
done

# --- a JVM of another user, that can't be read ----------------------------------

# Without the name of one of its tables a JVM is not recognised.
real=$(dirname "$(dirname "$(realpath "$(command -v java)")")")
jdk=$STATE/blind
cp -rs "$real" "$jdk"
for file in bin/java lib/libjli.so lib/server/libjvm.so; do
  rm "$jdk/$file" && sed s/gHotSpotVMTypes/gHotSpotVMTypez/ "$real/$file" >"$jdk/$file"
done
chmod -R go+rX,+x "$jdk/bin" "$jdk"
PATH=$jdk/bin:$PATH
jvm plain "${nobody[@]}" -- -XX:+PreserveFramePointer -XX:-Inline
check unasked.is_captured capture plain
check unasked.methods_have_no_names nameless
check unasked.a_note_says_how_they_get_them has_note 'service set plain --allow javaPerfMap'
check unasked.the_jvm_is_left_alone untouched

allow plain '{"javaPerfMap":true}'
check asked_by_waits.is_captured end "$(begin plain 1 block)"
check asked_by_waits.the_jvm_wrote_names [ -s "/tmp/perf-$pid.map" ]
check asked_by_waits.java_code_has_names grep -q 'Interpreter' "$STATE/folded"
check asked_by_waits.no_note_is_about_java no_note Java
finished "$(begin plain 1 mutex)" >"$STATE/result"
check asked_by_locks.a_note_says_which_may_be_missing has_note 'waits for locks of java.util.concurrent may be missing'
check asked.is_captured capture plain
check asked.methods_have_names named 90
check asked.callers_have_names \
  grep -q 'JavaMain;.*long Shares[.]share60();long Shares[.]spin(int)' "$STATE/folded"
check asked.no_note_is_about_java no_note Java
check asked.the_jvm_wrote_them_itself equal "$(owner "/tmp/perf-$pid.map")" "$(owner "/proc/$pid")"
check asked.no_file_of_the_question_is_left [ ! -e "/tmp/.attach_pid$pid" ]
check asked.the_jvm_goes_on lives plain
done_with

# --- one that stops -----------------------------------------------------------

under_way() { api GET "$P/$1" | jq -e '.progress > 0'; }
jvm stops --
allow stops '{"javaPerfMap":true}'
id=$(begin stops 60)
wait_for 10 under_way "$id"
kill -STOP "$pid"
api DELETE "$P/$id" -o /dev/null
check stopped.the_capture_ends end "$id"
check stopped.a_note_says_why_there_are_no_names has_note 'the JVM did not write'
check stopped.the_jvm_is_left_alone untouched
kill -CONT "$pid"
check stopped.the_jvm_goes_on lives stops
done_with

# --- one that was upgraded since it started -------------------------------------

cp -rs "$jdk" "$STATE/jdk"
for file in bin/java lib/libjli.so lib/server/libjvm.so; do
  rm "$STATE/jdk/$file" && cp "$jdk/$file" "$STATE/jdk/$file"
done
chmod -R go+rX "$STATE/jdk"
jvm upgraded "${nobody[@]}" env PATH="$STATE/jdk/bin:$PATH" -- -XX:+PreserveFramePointer -XX:-Inline
for file in bin/java lib/server/libjvm.so; do
  cp "$jdk/$file" "$STATE/jdk/new" && mv "$STATE/jdk/new" "$STATE/jdk/$file"
done
allow upgraded '{"javaPerfMap":true}'
check upgraded.is_captured capture upgraded
check upgraded.methods_have_names named 90
check upgraded.a_note_says_so has_note 'was replaced since it was started'
check upgraded.functions_of_libjvm_have_names grep -q ';JavaMain;jni_CallStaticVoidMethod' "$STATE/folded"
done_with

# --- one whose signals are its own --------------------------------------------

# With -Xrs, HotSpot listens from the start.
jvm signals -- -Xrs
allow signals '{"javaPerfMap":true}'
check xrs.is_captured capture signals
check xrs.methods_have_names named 90
check xrs.the_jvm_gets_no_sigquit lives signals
done_with

# --- one in a container -------------------------------------------------------

window_has_names() {
  api GET "$P/merge?service=elsewhere&profileType=cpu&from=now-1h&format=folded" |
    grep -F 'long Shares.'
}
if [ "$(id -u)" -eq 0 ] && unshare --fork --pid --mount true; then
  jvm elsewhere unshare --fork --pid --mount --mount-proc --kill-child \
    sh -c 'mount -t tmpfs none /tmp && exec "$@"' sh --
  allow elsewhere '{"javaPerfMap":true}'
  post $P/continuous '{"service":"elsewhere","sampleRate":99}' -o /dev/null
  check elsewhere.windows_have_names wait_for 60 window_has_names
  check elsewhere.is_captured capture elsewhere
  check elsewhere.methods_have_names named 80
  check elsewhere.nothing_comes_to_our_tmp untouched
  check elsewhere.the_jvm_goes_on lives elsewhere
  done_with
else
  echo "skip elsewhere: this user can't make namespaces"
fi
