#!/bin/bash
# Code that is in no ELF file: interpreted and JIT-compiled functions.
#
# RUNTIMES, if set, is a file for figures: tests/bench/part-runtimes.sh.
. tests/lib/e2e.sh
tmp=$(mktemp -d /var/tmp/stoker-languages-XXXXXX)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$tmp" /tmp/perf-${pid:-0}.map' EXIT
B=$(cd "$B" && pwd)
. tests/lib/once.sh
targets=$PWD/tests/targets

target() { # name, command...: $pid, of a process that is ready
  local name=$1 line
  shift
  mkfifo "$tmp/$name.fifo"
  (cd "$tmp" && exec "$@") >"$tmp/$name.fifo" 2>"$tmp/$name.says" &
  pid=$!
  exec {fd}<"$tmp/$name.fifo"
  read -r line <&"$fd"
  [ "$line" = ready ] || { echo "$line"; cat "$tmp/$name.says"; return 1; }
}

# Takes as many samples as the claims need, however little of a CPU the target
# gets, and leaves it stopped, so that it takes no CPU while claims are judged.
capture() { # name: $tmp/NAME.txt and .folded
  kill -CONT ${pid//,/ }
  begin "$1" "$pid" 0 --rate 1499
  wait_for 60 enough "$1"
  kill -STOP ${pid//,/ }
  end_capture "$1" 2>/dev/null # fails if the target ended
  await_captures
  captured "$1" && figures "$1"
}
enough() { [ -e "$tmp/$1.status" ] || has_taken "$1" 1000; }
take() { # name, type [seconds]: a profile of what happens in that time
  once "$1" "$pid" --type "$2" --seconds "${3:-2}" && figures "$1"
}
figures() { # name
  awk -v name="$1" '$1 == "samplesKept" { kept = $2 } $1 == "stacksComplete" { whole = $2 }
    $1 == "workerCpuNs" { ns = $2 } END { print "samples", name, kept, whole, ns }' \
    "$tmp/$1.txt" >>"${RUNTIMES:-/dev/null}"
}

end() { # pid: it may be stopped
  kill "$1"
  kill -CONT "$1"
}
done_with() { # the target at hand
  end "$pid"
  wait "$pid" 2>/dev/null
  rm -f "/tmp/perf-$pid.map"
}

says() { grep -e "$2" "$tmp/$1.txt" || { cat "$tmp/$1.txt"; return 1; }; }

# Of the stacks through any of the last functions, `want` percent must go
# through the first ones, within 3 points and four standard errors.
share() { # name, functions, want, functions: two expressions
  awk -v f="(^|;)($2)(;| [0-9]+$)" -v all="(^|;)($4)(;| [0-9]+$)" -v want="$3" \
    -v to="${RUNTIMES:-/dev/null}" -v name="$1" '
    $0 ~ all { n += $NF; if ($0 ~ f) got += $NF }
    END { if (!n) n = 1; d = 100 * got / n - want
          print "share", name, d < 0 ? -d : d >>to
          printf "%d of %d samples: %.1f%%, expected %.1f%%\n", got, n, 100 * got / n, want
          p = want / 100; far = 3 + 400 * sqrt(p * (1 - p) / n)
          exit !(n >= 30 && d <= far && d >= -far) }' "$tmp/$1.folded"
}

# At least 95 of 100 stacks must reach the start of their thread.
complete() { # name
  awk '$1 == "samplesKept" { kept = $2 } $1 == "stacksComplete" { whole = $2 }
    END { print whole, kept; exit !(kept >= 30 && whole >= 0.95 * kept) }' "$tmp/$1.txt"
}

has_text() { # name, text that the profile's strings contain
  gzip -dc "$tmp/$1.pb.gz" | grep -aqF "$2"
}

under() { # name, expression of consecutive frames, least number of samples
  awk -v re="$2" -v least="$3" '$0 ~ re { n += $NF }
    END { print n + 0; exit !(n >= least) }' "$tmp/$1.folded" ||
    { awk '{ print $NF, $0 }' "$tmp/$1.folded" | sort -rn | head -3; return 1; }
}

# --- V8 -----------------------------------------------------------------------

javascript() { # name, options...
  local name=$1 all='share60|get thirty|share10'
  shift
  target "$name" node "$@" "$targets/shares.js" 300
  check "$name.is_captured" capture "$name"
  check "$name.stacks_are_whole" complete "$name"
  check "$name.functions_have_names" share "$name" share60 60 "$all"
  check "$name.getters_have_names" share "$name" 'get thirty' 30 "$all"
  check "$name.files_have_names" has_text "$name" "$targets/shares.js"
  check "$name.compiled_code_calls_and_is_called" \
    under "$name" 'node::Start.*;share60' 5
  done_with
}
few_unknown() { # name
  awk '$1 == "samplesKept" { kept = $2 } $1 == "samplesUnknown" { unknown = $2 }
    END { print unknown, kept; exit !(kept >= 30 && unknown <= 0.05 * kept) }' "$tmp/$1.txt"
}
if command -v node >/dev/null; then
  javascript node
  javascript node_not_inlined --no-turbo-inlining --no-use-osr
  check node.callers_have_names_before_they_are_compiled \
    under node 'executeUserEntryPoint;.*;work;share60' 5
  # WebAssembly functions, which only a map names
  target wasm node "$targets/wasm.js"
  check wasm.is_captured capture wasm
  check wasm.stacks_are_whole complete wasm
  check wasm.without_a_map_is_one_function under wasm 'work;caller;.*;\(WebAssembly\)[; ]' 20
  check wasm.without_names_gets_a_note says wasm 'note: .*code whose functions are not known'
  done_with
  target wasm_map node --perf-basic-prof "$targets/wasm.js"
  check wasm_map.is_captured capture wasm_map
  check wasm_map.functions_have_names under wasm_map 'caller;.*;wasm-function\[0\][; ]' 20
  check wasm_map.next_to_nothing_is_without_a_name few_unknown wasm_map
  done_with
else
  echo "skip node: no node here"
fi

# --- Python -------------------------------------------------------------------

calls= # what C does between two functions, up to 3.10
python() { # name, command...
  local name=$1 all='share_60|share_30|share_10'
  shift
  target "$name" "$@" "$targets/shares.py" 120
  check "$name.is_captured" capture "$name"
  end "$pid"
  check "$name.functions_have_true_shares" share "$name" share_60 60 "$all"
  check "$name.small_functions_have_true_shares" share "$name" share_10 10 "$all"
  check "$name.functions_call_one_another" \
    under "$name" "<module>;${calls}main;${calls}work;${calls}share_60;${calls}spin[; ]" 5
  check "$name.generators_and_methods_have_callers" \
    under "$name" '(Item.)?each;.*<genexpr>' 1
  check "$name.threads_have_their_functions" \
    under "$name" "(Thread.)?run;${calls:-(_PyFunction_Vectorcall;)?}work;${calls}share_60" 5
  check "$name.files_have_names" has_text "$name" "$targets/shares.py"
  read -r _ truth <&"$fd"
  # including the time to release and retake the interpreter's lock
  check "$name.an_extension_has_its_share" \
    share "$name" in_extension "$(awk "BEGIN { print 100 * $truth }")" '.*work.*'
  check "$name.an_extension_is_below_its_caller" under "$name" 'in_extension;.*deflate' 10
  check "$name.next_to_nothing_is_missed" next_to_nothing "$name"
  wait "$pid"
}
next_to_nothing() {
  awk '$1 == "samplesKept" { kept = $2 } $1 == "interpretedMissed" { missed = $2 }
    END { print missed, kept; exit !(kept >= 30 && missed <= 0.05 * kept) }' "$tmp/$1.txt"
}

# Greenlets: functions on a stack that begins on top of another one.
greenlets() { # python
  local root=$B/packages/greenlet
  if ! B=$B conf/packages/unpack bookworm "$root" python3-greenlet; then
    echo "skip greenlets: python3-greenlet can't be had"
    return
  fi
  cat >"$tmp/greenlets.py" <<'P'
import greenlet
def busy(n):
    total = 0
    for i in range(n): total += i
    return total
def serve():
    while True:
        busy(20000)
        main.switch()
main = greenlet.getcurrent()
both = [greenlet.greenlet(serve), greenlet.greenlet(serve)]
print("ready", flush=True)
while True:
    for one in both: one.switch()
P
  target greenlets env PYTHONPATH="$root/usr/lib/python3/dist-packages" "$1" -B "$tmp/greenlets.py"
  check greenlets.are_captured capture greenlets
  check greenlets.functions_have_names under greenlets 'PyEval_EvalFrameDefault;.*;serve;busy[; ]' 20
  check greenlets.next_to_nothing_is_missed next_to_nothing greenlets
  done_with
}

# Tasks of asyncio: below the tasks that await them, with their known shares.
awaits() { # name, command...
  local name=$1 all='\[task all\]' leaf
  shift
  target "$name" "$@" "$targets/awaits.py" 300
  check "$name.are_captured" capture "$name"
  leaf() { echo "\\[task\\];main;$all;$1;([^;]*;)*\\[task leaf of $1\\];leaf;([^;]*;)*inner"; }
  check "$name.gather_awaits" share "$name" "$(leaf gathers)" 30 "$all"
  check "$name.a_group_awaits" share "$name" "$(leaf groups)" 20 "$all"
  check "$name.wait_awaits" share "$name" "$(leaf waits)" 20 "$all"
  check "$name.wait_for_awaits" share "$name" \
    "\\[task\\];main;$all;limits;([^;]*;)*leaf;([^;]*;)*inner" 20 "$all"
  check "$name.a_task_awaits" share "$name" "$(leaf awaits)" 10 "$all"
  check "$name.the_loop_stays_outside" under "$name" "Handle._run;([^;]*;)*\\[task\\];main;$all;" 20
  check "$name.next_to_nothing_is_missed" next_to_nothing "$name"
  done_with
}

# Tasks of asyncio that wait, in a snapshot: each below those that await it.
tasks() { # name, command...
  local name=$1 leaf='([^;]*;)*\[task leaf of' all='^\[task\];main;\[task all\]'
  shift
  target "$name" "$@" "$targets/awaits.py" 300 waits
  wait_for 10 is_at_rest
  check "$name.are_captured" take "$name" goroutine
  check "$name.who_gathers_a_task_that_sleeps_is_above_it" \
    under "$name" "$all;gathers;$leaf gathers\];leaf;sleep 1\$" 1
  check "$name.so_is_a_group" under "$name" "$all;groups;$leaf groups\];leaf;sleep 1\$" 1
  check "$name.so_is_who_waits" under "$name" "$all;waits;$leaf waits\];leaf;sleep 1\$" 1
  check "$name.so_is_who_limits" under "$name" "$all;limits;([^;]*;)*leaf;sleep 1\$" 1
  check "$name.so_is_who_awaits" under "$name" "$all;awaits;$leaf awaits\];leaf;sleep 1\$" 1
  check "$name.the_task_of_all_waits_itself" under "$name" '^\[task\];main 1$' 1
  check "$name.the_thread_is_there_too" under "$name" '_start;.*select' 1
  check "$name.each_is_there_once" says "$name" 'tasks *1[01]$'
  done_with
}
is_at_rest() { [ "$(awk '{ print $3 }' "/proc/$pid/stat")" = S ]; }

# Unpacks the interpreter of another suite, together with that suite's C
# library.
newer() { # suite, version, other packages: $interpreter
  local root=$B/packages/$1-python
  B=$B conf/packages/unpack "$1" "$root" "python$2-minimal" \
    "libpython$2-minimal" "libpython$2-stdlib" libc6 zlib1g libexpat1 "${@:3}" ||
    return 1
  interpreter=("$root/usr/lib64/ld-linux-x86-64.so.2" --library-path
    "$root/usr/lib/x86_64-linux-gnu" "$root/usr/bin/python$2")
}

# Snapshots of waiting threads.
waits() { # name, command...
  local name=$1
  shift
  target "$name" "$@" "$targets/waits.py" 300
  check "$name.is_captured" take "$name" goroutine
  check "$name.a_thread_waits_for_a_lock" \
    under "$name" 'Thread.run;.*waits_for_a_lock' 1
  check "$name.a_thread_sleeps" under "$name" 'Thread.run;.*sleeps;' 1
  check "$name.a_thread_is_in_a_generator" \
    under "$name" 'Thread.run;.*Queue.get;.*Queue.each;' 1
  check "$name.no_thread_is_missed" says "$name" 'interpretedMissed *0$'
  done_with
}

# Threads and children that live for a few milliseconds each.
lives() { # name, command...
  local name=$1
  shift
  target "$name" "$@" "$targets/lives.py" 300
  check "$name.are_captured" capture "$name"
  check "$name.a_thread_has_its_functions_from_its_first_ms_on" \
    under "$name" 'Thread.run;(_PyFunction_Vectorcall;)?in_a_thread;spin[; ]' 10
  check "$name.a_forked_child_has_its_functions_from_its_first_ms_on" \
    under "$name" 'fork;in_a_child;spin[; ]' 10
  check "$name.next_to_nothing_is_missed" next_to_nothing "$name"
  done_with
}

# Threads that wait and allocate during the capture.
events() { # name, command...
  local name=$1
  shift
  target "$name" "$@" "$targets/waiting.py" 300
  check "$name.waits_are_captured" take "$name" block
  check "$name.a_sleep_is_its_function_s" \
    under "$name" 'Thread.run;.*naps;.*\[clock_nanosleep\]' 50
  check "$name.no_wait_lacks_its_functions" next_to_nothing "$name"
  check "$name.reads_are_captured" take "$name" io
  check "$name.a_read_is_its_function_s" \
    under "$name" 'Thread.run;.*reads;.*\[read pipe\]' 50
  check "$name.allocations_are_captured" take "$name" alloc
  check "$name.an_allocation_is_its_function_s" \
    under "$name" 'Thread.run;.*makes;fresh;.*[Bb]yte' 50
  done_with
}

# With -X perf the interpreter itself names its functions, for tools that can't
# read its frames.
with_perf() { # name, command...
  local name=$1 all='share_60|share_30|share_10'
  shift
  target "$name" "$@" "$targets/shares.py" 300
  check "$name.is_captured" capture "$name"
  check "$name.stacks_are_whole" complete "$name"
  check "$name.functions_have_true_shares" share "$name" share_60 60 "$all"
  if [ "$(id -u)" -eq 0 ]; then
    with=(setpriv --bounding-set "-bpf,-sys_admin")
    check "$name.is_captured_without_bpf" capture "$name"
    with=()
    check "$name.no_frame_is_read_without_bpf" says "$name" 'stacksInterpreted *0$'
    check "$name.stacks_are_whole_without_bpf" complete "$name"
    check "$name.functions_have_true_shares_without_bpf" share "$name" share_60 60 "$all"
    check "$name.functions_call_one_another_without_bpf" \
      under "$name" '<module>;.*;main;.*;work;.*;share_60;.*;spin;' 50
    check "$name.files_have_names_without_bpf" has_text "$name" "$targets/shares.py"
  else
    echo "skip $name: this user can't do without CAP_BPF alone"
  fi
  done_with
}

# An older interpreter runs with this C library.
older=$B/packages/bullseye-python
if B=$B conf/packages/unpack bullseye "$older" python3.9-minimal \
  libpython3.9-minimal libpython3.9-stdlib; then
  calls='([^;]*;)*' python python3.9 env PYTHONHOME="$older/usr" "$older/usr/bin/python3.9" -B
else
  echo "skip python3.9: bullseye can't be had"
fi
if [ -x /usr/bin/python3.11 ]; then
  python python3.11 /usr/bin/python3.11 -B
  check python3.11.stacks_are_whole complete python3.11
  waits waits3.11 /usr/bin/python3.11 -B
  lives lives3.11 /usr/bin/python3.11 -B
  events events3.11 /usr/bin/python3.11 -B
  awaits awaits3.11 /usr/bin/python3.11 -B
  tasks tasks3.11 /usr/bin/python3.11 -B
  greenlets /usr/bin/python3.11
else
  echo "skip python3.11: not here"
fi
if newer trixie 3.13; then
  python python3.13 env PYTHONHOME="$B/packages/trixie-python/usr" \
    "${interpreter[@]}" -B
  check python3.13.stacks_are_whole complete python3.13
  events events3.13 env PYTHONHOME="$B/packages/trixie-python/usr" \
    "${interpreter[@]}" -B
  awaits awaits3.13 env PYTHONHOME="$B/packages/trixie-python/usr" \
    "${interpreter[@]}" -B
  tasks tasks3.13 env PYTHONHOME="$B/packages/trixie-python/usr" \
    "${interpreter[@]}" -B
  with_perf perf3.13 env PYTHONHOME="$B/packages/trixie-python/usr" \
    "${interpreter[@]}" -B -X perf
else
  echo "skip python3.13: trixie can't be had"
fi
if newer sid 3.14 libzstd1; then
  python python3.14 env PYTHONHOME="$B/packages/sid-python/usr" \
    "${interpreter[@]}" -B
  check python3.14.stacks_are_whole complete python3.14
  waits waits3.14 env PYTHONHOME="$B/packages/sid-python/usr" \
    "${interpreter[@]}" -B
  awaits awaits3.14 env PYTHONHOME="$B/packages/sid-python/usr" \
    "${interpreter[@]}" -B
  tasks tasks3.14 env PYTHONHOME="$B/packages/sid-python/usr" \
    "${interpreter[@]}" -B
  lives lives3.14 env PYTHONHOME="$B/packages/sid-python/usr" \
    "${interpreter[@]}" -B
else
  echo "skip python3.14: sid can't be had"
fi

# --- Ruby ---------------------------------------------------------------------

# A thread up to 3.1 has its Ruby stack of 1 MiB on its native one, so frames of C
# below it are out of reach.
ruby() { # name, command...
  local name=$1 all='share_60|share_30|share_10'
  shift
  target "$name" "$@" "$targets/shares.rb" 300
  check "$name.is_captured" capture "$name"
  check "$name.methods_have_true_shares" share "$name" share_60 60 "$all"
  check "$name.small_ones_too" share "$name" share_10 10 "$all"
  check "$name.methods_and_blocks_call_one_another" \
    under "$name" '<main>;work;share_60;([^;]*;)*block in share_60;spin[; ]' 5
  check "$name.threads_too" under "$name" 'block in <main>;work;share_60' 5
  check "$name.files_are_there" has_text "$name" "$targets/shares.rb"
  check "$name.next_to_nothing_is_missed" next_to_nothing "$name"
  done_with
}
older=$B/packages/bullseye-ruby
if B=$B conf/packages/unpack bullseye "$older" ruby2.7 libruby2.7; then
  ruby ruby2.7 env LD_LIBRARY_PATH="$older/usr/lib/x86_64-linux-gnu" \
    "$older/usr/bin/ruby2.7" --disable-gems
else
  echo "skip ruby2.7: bullseye can't be had"
fi
if [ -x /usr/bin/ruby3.1 ]; then
  ruby ruby3.1 /usr/bin/ruby3.1
else
  echo "skip ruby3.1: not here"
fi
newer=$B/packages/trixie-ruby
if B=$B conf/packages/unpack trixie "$newer" ruby3.3 libruby3.3 libc6 zlib1g libgmp10 \
  libcrypt1 libgcc-s1; then
  ruby ruby3.3 "$newer/usr/lib64/ld-linux-x86-64.so.2" \
    --library-path "$newer/usr/lib/x86_64-linux-gnu" "$newer/usr/bin/ruby3.3" --disable-gems
  check ruby3.3.stacks_are_whole complete ruby3.3
else
  echo "skip ruby3.3: trixie can't be had"
fi

# --- PHP ----------------------------------------------------------------------

# A closure exists only during a call: it is [gone] until a sample meets it.
php() { # name, command...
  local name=$1 all='[^;]*share_[136]0' sixty ten
  shift
  target "$name" "$@" "$targets/shares.php" 300
  check "$name.is_captured" capture "$name"
  end "$pid"
  check "$name.stacks_are_whole" complete "$name"
  check "$name.functions_call_one_another" \
    under "$name" 'zend_execute;{main};Shop.work;Shop.Cart::share_60;Shop.spin[; ]' 50
  check "$name.functions_in_c_stand_between" \
    under "$name" 'Shop.share_10;array_map;([^;]*;)*zend_call_function;([^;]*{closure[^;]*|.gone.);Shop.spin[; ]' 5
  check "$name.generators_have_callers" under "$name" 'Shop.waits;([^;]*;)*Shop.each_of;Shop.spin[; ]' 1
  check "$name.files_have_names" has_text "$name" "$targets/shares.php"
  check "$name.next_to_nothing_is_missed" next_to_nothing "$name"
  read -r sixty ten <&"$fd"
  wait "$pid"
  check "$name.functions_have_true_shares" \
    share "$name" '[^;]*share_60' "$(awk "BEGIN { print 100 * $sixty }")" "$all"
  check "$name.small_functions_have_true_shares" \
    share "$name" '[^;]*share_10' "$(awk "BEGIN { print 100 * $ten }")" "$all"
}

# Workers of a pool, one of which has no request. As installed, with opcache:
# without it, functions are gone when a request ends.
php_fpm() { # command, options
  mkdir "$tmp/www"
  cat >"$tmp/www/page.php" <<'P'
<?php
function busy($n) { $t = 0; for ($i = 0; $i < $n; $i++) { $t += $i % 7; } return $t; }
class Page { public function render() { busy(2000000); echo "done"; } }
(new Page)->render();
P
  cat >"$tmp/fpm.conf" <<P
[global]
error_log = $tmp/fpm.log
[www]
listen = $tmp/fpm.sock
pm = static
pm.max_children = 2
clear_env = no
P
  "$1" -n -R -F "${@:2}" -y "$tmp/fpm.conf" &
  local master=$! client
  wait_for 20 test -S "$tmp/fpm.sock"
  python3 "$targets/fastcgi.py" "$tmp/fpm.sock" "$tmp/www/page.php" 300 >"$tmp/fastcgi.txt" &
  client=$!
  wait_for 20 grep -q ready "$tmp/fastcgi.txt"
  check php_fpm.answers cat "$tmp/fastcgi.txt"
  pid=$(echo "$master" $(pgrep -P "$master") | tr ' ' ,)
  check php_fpm.is_captured capture php_fpm
  check php_fpm.requests_have_their_functions \
    under php_fpm 'php_execute_script[^;]*;([^;]*;)*{main};Page::render;busy[; ]' 50
  check php_fpm.next_to_nothing_is_missed next_to_nothing php_fpm
  kill "$client" && wait "$client" 2>/dev/null
  end "$master" && wait "$master" 2>/dev/null
}

here=$B/packages/bookworm-php
if B=$B conf/packages/unpack bookworm "$here" php8.2-cli php8.2-fpm php8.2-opcache; then
  php php8.2 "$here/usr/bin/php8.2" -n
  opcache=$(echo "$here"/usr/lib/php/*/opcache.so)
  php_fpm "$here/usr/sbin/php-fpm8.2" -d zend_extension="$opcache"
  # with its compiler, callers in C are out of reach
  target php_jit "$here/usr/bin/php8.2" -n -d zend_extension="$opcache" \
    -d opcache.enable_cli=1 -d opcache.jit=tracing -d opcache.jit_buffer_size=32M \
    "$targets/shares.php" 300
  check php_jit.is_captured capture php_jit
  check php_jit.stacks_reach_the_first_function complete php_jit
  check php_jit.compiled_functions_have_callers \
    under php_jit '{main};Shop.work;Shop.Cart::share_60;Shop.spin[; ]' 50
  check php_jit.next_to_nothing_is_missed next_to_nothing php_jit
  done_with
else
  echo "skip php8.2: bookworm can't be had"
fi
older=$B/packages/bullseye-php
if B=$B conf/packages/unpack bullseye "$older" php7.4-cli libssl1.1; then
  php php7.4 env LD_LIBRARY_PATH="$older/usr/lib/x86_64-linux-gnu" "$older/usr/bin/php7.4" -n
else
  echo "skip php7.4: bullseye can't be had"
fi
newer=$B/packages/trixie-php
if B=$B conf/packages/unpack trixie "$newer" php8.4-cli libc6 zlib1g libxml2 libssl3t64 \
  libpcre2-8-0 libsodium23 libargon2-1; then
  php php8.4 "$newer/usr/lib64/ld-linux-x86-64.so.2" \
    --library-path "$newer/usr/lib/x86_64-linux-gnu" "$newer/usr/bin/php8.4" -n
else
  echo "skip php8.4: trixie can't be had"
fi

# --- Perl ---------------------------------------------------------------------

almost_whole() { # name: 99 of 100 stacks
  awk '$1 == "samplesKept" { kept = $2 } $1 == "stacksComplete" { whole = $2 }
    END { print whole, kept; exit !(kept >= 30 && whole >= 0.99 * kept) }' "$tmp/$1.txt"
}
# Ways in which C calls subs, each within the one before.
all_calls='\(main\)'
for way in by_sort_block by_first by_block by_string by_pattern by_require by_sort_sub by_reduce \
  by_overload by_tie by_block by_destroy by_signal by_block by_block by_substitute onward; do
  all_calls+=";([^;]*;)*main::onward;main::$way"
done
perls() { # name, command...
  local name=$1 all='Shop::Cart::share_60|main::__ANON__.shares.pl:4[0-9].|main::share_10' sixty ten
  shift
  target "$name" "$@" "$targets/shares.pl" 300
  check "$name.is_captured" capture "$name"
  end "$pid"
  check "$name.stacks_are_whole" almost_whole "$name"
  check "$name.subs_call_one_another" \
    under "$name" 'perl_run;\(main\);main::work;Shop::Cart::share_60;Shop::spin[; ]' 20
  check "$name.c_calls_subs" \
    under "$name" 'main::share_10;([^;]*;)*main::__ANON__.shares.pl:[0-9]*.;main::tried;Shop::spin[; ]' 3
  check "$name.strings_are_called" under "$name" 'main::in_a_string;.eval.;main::__ANON__[^;]*;Shop::spin' 1
  check "$name.files_have_names" has_text "$name" "$targets/shares.pl"
  check "$name.next_to_nothing_is_missed" next_to_nothing "$name"
  read -r sixty ten <&"$fd"
  wait "$pid"
  check "$name.subs_have_true_shares" share "$name" Shop::Cart::share_60 "$(awk "BEGIN { print 100 * $sixty }")" "$all"
  check "$name.small_subs_have_true_shares" share "$name" main::share_10 "$(awk "BEGIN { print 100 * $ten }")" "$all"
  target "calls-$name" "$@" "$targets/calls.pl" 300
  check "$name.is_captured_in_calls_from_c" capture "calls-$name"
  check "$name.c_calls_subs_in_every_way" under "calls-$name" "$all_calls;main::spin[; ]" 10
  check "$name.next_to_nothing_is_missed_there" next_to_nothing "calls-$name"
  done_with
}
if [ -x /usr/bin/perl ] && [[ $(/usr/bin/perl -v) == *v5.36* ]]; then
  perls perl5.36 /usr/bin/perl
  target perl_threads /usr/bin/perl "$targets/shares.pl" 300 2
  check perl_threads.are_captured capture perl_threads
  check perl_threads.have_their_subs \
    under perl_threads 'start_thread;([^;]*;)*Perl_call_sv;main::work;Shop::Cart::share_60;Shop::spin[; ]' 5
  check perl_threads.next_to_nothing_is_missed next_to_nothing perl_threads
  done_with
else
  echo "skip perl5.36: not here"
fi
newer=$B/packages/trixie-perl
if B=$B conf/packages/unpack trixie "$newer" perl-base libperl5.40 libc6 libcrypt1; then
  perls perl5.40 env PERL5LIB="$(echo "$newer"/usr/lib/x86_64-linux-gnu/{perl-base,perl/5.40.*} | tr ' ' :)" \
    "$newer/usr/lib64/ld-linux-x86-64.so.2" \
    --library-path "$newer/usr/lib/x86_64-linux-gnu" "$newer/usr/bin/perl"
else
  echo "skip perl5.40: trixie can't be had"
fi

# --- Erlang -------------------------------------------------------------------

none() { # name, expression of consecutive frames
  ! grep -E "$2" "$tmp/$1.folded"
}

# Runs the target with one scheduler, so that its processes take turns.
erlang_begins() { # name, folder of the packages, ld.so with arguments
  local name=$1 root=$2 bin=$tmp/$1-bin tool beam
  shift 2
  mkdir -p "$bin"
  ln -s "$root"/usr/lib/erlang/erts-*/bin/* "$bin"
  for tool in erl_child_setup inet_gethost; do # programs of that C library
    rm "$bin/$tool"
    printf '#!/bin/sh\nexec %s "$@"\n' "$* $(echo "$root"/usr/lib/erlang/erts-*/bin/$tool)" >"$bin/$tool"
    chmod +x "$bin/$tool"
  done
  beam=(env ROOTDIR="$root/usr/lib/erlang" BINDIR="$bin" EMU=beam PROGNAME=erl "$@"
    "$bin/beam.smp" -S 1 $flags -- -root "$root/usr/lib/erlang" -bindir "$bin" -progname erl --
    -home "$tmp" -- -noshell -noinput)
  (cd "$tmp" && "${beam[@]}" -eval "{ok,_}=compile:file(\"$targets/shares.erl\",[debug_info]), halt().") ||
    { echo "skip $name: its compiler does not run"; return 1; }
  target "$name" "${beam[@]}" -run shares main 300 || { echo "not ok $name.begins"; return 1; }
}
flags= # of the emulator
erlang() { # name, command...
  local name=$1 all='shares:share_[136]0/0'
  erlang_begins "$@" || return
  check "$name.is_captured" capture "$name"
  check "$name.stacks_are_whole" almost_whole "$name"
  check "$name.functions_have_true_shares" share "$name" shares:share_60/0 60 "$all"
  check "$name.small_functions_have_true_shares" share "$name" shares:share_10/0 10 "$all"
  check "$name.functions_call_one_another" \
    under "$name" 'shares:main/1;shares:work/1;shares:share_60/0;shares:spin/2[; ]' 20
  check "$name.c_code_has_who_called_it" \
    under "$name" '(^| )shares:in_c_until/2;shares:in_c/1;([^;]*;)*term_to_binary_1' 10
  check "$name.no_c_code_lacks_who_called_it" \
    none "$name" '^([^;]*;)?term_to_binary_1'
  check "$name.files_have_names" has_text "$name" shares.erl
  done_with
}
here=$B/packages/bookworm-erlang
if B=$B conf/packages/unpack bookworm "$here" erlang-base; then
  erlang erlang25 "$here"
else
  echo "skip erlang25: bookworm can't be had"
fi
newer=$B/packages/trixie-erlang
if B=$B conf/packages/unpack trixie "$newer" erlang-base libc6 libsystemd0 libtinfo6 \
  libstdc++6 libgcc-s1 zlib1g libcap2; then
  erlang erlang27 "$newer" "$newer/usr/lib64/ld-linux-x86-64.so.2" \
    --library-path "$newer/usr/lib/x86_64-linux-gnu"
else
  echo "skip erlang27: trixie can't be had"
fi

# Debian's build of OTP 29 does not export the symbols that lead to its code.
unread_erlang() { # name, folder of the packages, ld.so with arguments
  local name=$1
  erlang_begins "$@" || return
  check "$name.is_captured" capture "$name"
  check "$name.a_note_says_what_helps" says "$name" 'as its name says,.*cannot be read: Erlang: .*JPperf'
  done_with
  flags='-JPperf true' erlang_begins "$name-named" "${@:2}" || return
  check "$name.is_captured_with_that" capture "$name-named"
  check "$name.functions_have_names_then" under "$name-named" 'shares:share_60/0' 100
  check "$name.no_note_says_more" eval '! says "$name-named" "as its name says," >/dev/null'
  done_with
}
newer=$B/packages/sid-erlang
if B=$B conf/packages/unpack sid "$newer" erlang-base libc6 libsystemd0 libtinfo6 \
  libstdc++6 libgcc-s1 zlib1g libcap2 libsctp1; then
  unread_erlang unread_erlang "$newer" "$newer/usr/lib64/ld-linux-x86-64.so.2" \
    --library-path "$newer/usr/lib/x86_64-linux-gnu"
else
  echo "skip unread_erlang: sid can't be had"
fi

# --- Java ---------------------------------------------------------------------

# A JVM on one CPU compiles and collects garbage without helpers (java.sh).
java_shares() { # name, java
  local name=$1 all='Shares[.]share60|Shares[.]share30|Shares[.]share10'
  target "$name" taskset -c "0-$(($(nproc --all) - 1))" "$2" -cp "$tmp" Shares 300
  check "$name.is_captured" capture "$name"
  check "$name.stacks_are_whole" almost_whole "$name"
  check "$name.methods_have_true_shares" share "$name" Shares[.]share60 60 "$all"
  check "$name.small_methods_have_true_shares" share "$name" Shares[.]share10 10 "$all"
  check "$name.native_code_calls_them" \
    under "$name" 'JavaMain;.*call_stub;Shares[.]main;Shares[.]work;Shares[.]share60[; ]' 20
  done_with
}
if command -v javac >/dev/null && javac --release 11 -d "$tmp" "$targets/Shares.java"; then
  for home in $(realpath /usr/lib/jvm/*/bin/java | sort -u); do
    version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "${home%/bin/java}/release")
    java_shares "java$version" "$home"
  done
else
  echo "skip java: no JDK here"
fi

# --- Lua ----------------------------------------------------------------------

# Ways in which C and the interpreter call functions.
states=
lua() { # name, command...
  local name=$1 all='share_60|share_30|share_10'
  shift
  target "$name" "$@" "$targets/shares.lua" 300 $states
  check "$name.is_captured" capture "$name"
  check "$name.stacks_are_whole" almost_whole "$name"
  check "$name.functions_have_true_shares" share "$name" share_60 60 "$all"
  check "$name.small_functions_have_true_shares" share "$name" share_10 10 "$all"
  check "$name.functions_call_one_another" \
    under "$name" 'main;([^;]*;)*.main chunk.;work;share_60;spin[; ]' 20
  check "$name.c_calls_functions" \
    under "$name" '.main chunk.;sorted;([^;]*;)+shares.lua:[0-9]*[; ]' 3
  [ -z "$states" ] || check "$name.other_states_have_their_functions_and_who_called_them" \
    under "$name" '.main chunk.;other_state;([^;]*;)+lua_pcall;(.main chunk.;inside|.gone.;.gone.)[; ]' 1
  check "$name.coroutines_have_who_resumed_them" \
    under "$name" '.main chunk.;shares.lua:[0-9]*;(shares.lua:[0-9]*;)?spin[; ]' 1
  check "$name.files_have_names" has_text "$name" "$targets/shares.lua"
  check "$name.next_to_nothing_is_missed" next_to_nothing "$name"
  done_with
}
lua_waits() { # command...
  target lua_waits "$@" "$targets/waits.lua"
  check lua_waits.are_captured take lua_waits block 1
  check lua_waits.a_sleep_is_its_function_s under lua_waits '.main chunk.;.*work;naps;.*nanosleep' 20
  check lua_waits.no_wait_lacks_its_functions next_to_nothing lua_waits
  check lua_waits.reads_are_captured take lua_waits io 1
  check lua_waits.a_read_is_its_function_s under lua_waits '.main chunk.;.*work;reads;.*read' 1
  kill -STOP "$pid" # neither wait is long
  check lua_waits.a_snapshot_is_captured take lua_waits goroutine
  check lua_waits.a_snapshot_has_functions under lua_waits '.main chunk.;.*work;(naps|reads);' 1
  kill -CONT "$pid"
  done_with
}
here=$B/packages/bookworm-luajit
if B=$B conf/packages/unpack bookworm "$here" luajit libluajit-5.1-common; then
  lua luajit2022 "$here/usr/bin/luajit"
  states=states lua luajit2022_interpreted "$here/usr/bin/luajit" -joff
  lua_waits "$here/usr/bin/luajit"
else
  echo "skip luajit: bookworm can't be had"
fi
newer=$B/packages/sid-luajit
if B=$B conf/packages/unpack sid "$newer" luajit libluajit-5.1-common libc6 libgcc-s1; then
  lua luajit2025 "$newer/usr/lib64/ld-linux-x86-64.so.2" \
    --library-path "$newer/usr/lib/x86_64-linux-gnu" "$newer/usr/bin/luajit"
else
  echo "skip luajit: sid can't be had"
fi

# --- other namespaces ---------------------------------------------------------

# The process has its own /tmp and pids; unshare reports its pid outside.
elsewhere() { # name, command...
  local name=$1 line
  shift
  mkfifo "$tmp/$name.fifo"
  unshare --fork --pid --mount --mount-proc --kill-child sh -c \
    'mount -t tmpfs none /tmp && exec "$@"' sh "$@" >"$tmp/$name.fifo" 2>"$tmp/$name.says" &
  unshared=$!
  exec {fd}<"$tmp/$name.fifo"
  read -r line <&"$fd"
  pid=$(pgrep -P "$unshared")
}
if [ "$(id -u)" -eq 0 ] && unshare --fork --pid --mount true; then
  cp "$B/targets/jit" "$targets"/{lives,shares}.py "$tmp/" # /tmp is hidden there
  elsewhere jit "$tmp/jit" 300
  check elsewhere.compiled_code_is_captured capture jit
  check elsewhere.a_map_is_found_by_the_number_in_its_namespace \
    under jit 'main;compiled_at_run_time' 5
  kill "$unshared"
  elsewhere python_elsewhere /usr/bin/python3.11 -B "$tmp/shares.py" 300
  check elsewhere.python_is_captured capture python_elsewhere
  check elsewhere.python_threads_are_known_by_their_numbers_there \
    share python_elsewhere share_60 60 'share_60|share_30|share_10'
  kill "$unshared"
  elsewhere lives_elsewhere /usr/bin/python3.11 -B "$tmp/lives.py" 300
  check elsewhere.short_lives_are_captured capture lives_elsewhere
  check elsewhere.a_thread_has_its_functions_from_its_first_ms_on \
    under lives_elsewhere 'Thread.run;.*in_a_thread;spin[; ]' 10
  check elsewhere.a_forked_child_has_its_functions_from_its_first_ms_on \
    under lives_elsewhere 'fork;in_a_child;spin[; ]' 10
  kill "$unshared"
else
  echo "skip elsewhere: this user can't make namespaces"
fi
