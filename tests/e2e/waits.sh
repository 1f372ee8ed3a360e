#!/bin/bash
# Waits of threads: block, mutex and io profiles of programs that are not Go,
# against what the program measures itself.
. tests/lib/e2e.sh
. tests/lib/once.sh
tmp=$(mktemp -d /var/tmp/stoker-waits-XXXXXX)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$tmp"; e2e_stop' EXIT
can_capture waits || exit

mkfifo "$tmp/said"
"$B/targets/waiting" "$tmp/truth" "$tmp/through.dat" >"$tmp/said" &
pid=$!
exec {said}<"$tmp/said"
read -r _ peer <&"$said"
read -r line <&"$said"
check the_target_is_ready [ "$line" = ready ]

# Has the target write what it measured since the last time.
measure() {
  rm -f "$tmp/truth"
  kill -USR1 $pid
  wait_for 10 [ -s "$tmp/truth" ]
}
# The part of a function's waits in all, and its time in a second.
truth() { # column, functions, seconds
  awk -v c="$1" -v f="$2" -v s="$3" 'BEGIN { split(f, list); for (i in list) among[list[i]] }
    $1 in among { print $1, $c / s }' "$tmp/truth"
}
measured() { # capture, value, functions, seconds
  "$B/tests/tools/folded" "$tmp/$1.pb.gz" "values:$2" | awk -v f="$3" -v s="$4" '
    BEGIN { n = split(f, list) }
    { for (i = 1; i <= n; i++) if (index(";" $0, ";" list[i] ";")) sum[list[i]] += $NF }
    END { for (i = 1; i <= n; i++) print list[i], sum[list[i]] / s }'
}
# Shares within 3 points and what chance allows so many samples (four standard
# errors), and the sum within 10 %; or other bounds, for numbers that few samples
# stand for.
agree() { # capture, value, column of the truth, functions [points percent]
  local seconds kept
  kept=$(samples "$1" ";(${4// /|})[;]")
  seconds=$(awk -v ms="$(quality "$1" durationMs)" 'BEGIN { print ms / 1000 }')
  join <(truth "$3" "$4" "$(cat "$tmp/$1.seconds")" | sort) <(measured "$1" "$2" "$4" "$seconds" | sort) |
    awk -v points="${5:-3}" -v percent="${6:-10}" -v kept="$kept" '{ name[NR] = $1; is[NR] = $2; got[NR] = $3; all += $2; sum += $3 }
      END {
        for (i = 1; i <= NR; i++) {
          a = 100 * is[i] / all; b = 100 * got[i] / sum
          printf "%s %.1f %.1f; ", name[i], a, b
          far = 400 * sqrt(a / 100 * (1 - a / 100) / (kept + 1))
          if (far < points) far = points
          if (a - b > far || b - a > far) bad = 1
        }
        printf "sum %.4g of %.4g, %d samples\n", sum, all, kept
        exit bad || NR < 2 || sum < (1 - percent / 100) * all || sum > (1 + percent / 100) * all
      }'
}
# The capture's time lies within the measured time, which is known to the ms.
captured() { # type, seconds
  local began=${EPOCHREALTIME/./} rc
  measure && once "$1" $pid --type "$1" --seconds "$2"
  rc=$?
  measure && awk -v us=$((${EPOCHREALTIME/./} - began)) 'BEGIN { print us / 1e6 }' >"$tmp/$1.seconds"
  return $rc
}

all='sleep_long sleep_short wait_pipe wait_peer'
check waits_are_captured captured block 10
check shares_of_waits_are_true agree block delay 3 "$all"
check waits_are_counted agree block contentions 2 "$all" 8 30
check stacks_of_waits_are_whole [ "$(quality block stacksComplete)" = "$(quality block samplesKept)" ]
# A thread that sleeps in a function waits for nothing else there.
leads() { # capture, text of the innermost frame but for a lock's holder, function
  "$B/tests/tools/folded" "$tmp/$1.pb.gz" | grep -F ";$3;" | awk -v leaf="$2" '
    { n = $NF; sub(/ [0-9]+$/, ""); sub(/;\[held by [^;]*$/, ""); sub(/.*;/, ""); all += n; if (index($0, leaf) == 1) of += n }
    END { print of + 0, "of", all + 0; exit !(all > 0 && of >= 0.95 * all) }'
}
# A wait that begins while the lock changes hands knows of no holder.
held() { # capture, text, function
  "$B/tests/tools/folded" "$tmp/$1.pb.gz" | grep -F ";$3;" | awk -v by="[held by $2]" '
    { n = $NF; sub(/ [0-9]+$/, ""); sub(/.*;/, ""); all += n; if ($0 == by) of += n }
    END { print of + 0, "of", all + 0; exit !(all > 0 && of >= 0.9 * all) }'
}
check a_sleep_is_named leads block '[clock_nanosleep]' sleep_long

# Its time in a fault is the kernel's work, too, where the disk is fast.
faults() { # capture
  local seconds
  seconds=$(awk -v ms="$(quality "$1" durationMs)" 'BEGIN { print ms / 1000 }')
  join <(truth 3 fault_in "$(cat "$tmp/$1.seconds")") <(measured "$1" delay fault_in "$seconds") |
    awk '{ print $3 / $2, "of the time in page faults"; exit !($3 >= 0.3 * $2 && $3 <= 1.2 * $2) }'
}
check page_faults_are_waits faults block

check waits_for_locks_are_captured captured mutex 5
check shares_of_locks_are_true agree mutex delay 3 'take_hot take_cold'
hot=$(awk '$2 == "hot" { print $3 }' "$tmp/truth") cold=$(awk '$2 == "cold" { print $3 }' "$tmp/truth")
check a_lock_has_its_address leads mutex "[lock $hot]" take_hot
check and_so_has_another leads mutex "[lock $cold]" take_cold
check a_lock_is_held_by_the_thread_that_has_it held mutex keeper take_kept
check and_so_is_one_that_outlives_its_holder held mutex keeper take_robust
check and_one_that_lends_its_priority held mutex keeper take_lent
check a_thread_without_a_name_has_its_program_s held mutex waiting take_hot
only_locks() { ! grep -vF '[lock 0x' "$tmp/mutex.folded"; }
check nothing_else_is_a_lock only_locks

check input_and_output_is_captured captured io 5
check shares_of_io_are_true agree io delay 3 'wait_pipe wait_peer'
check bytes_are_counted agree io transferred 4 'wait_pipe wait_peer' 8 30
check a_pipe_is_named leads io '[read pipe]' wait_pipe
check a_peer_is_named leads io "[recvfrom socket $peer]" wait_peer
check a_file_is_named [ "$(samples io '\[(fdatasync|pwrite64) file through.dat\]')" -gt 0 ]
check a_page_of_a_file_is_named leads io '[page fault file through.dat.mapped]' fault_in
check and_the_time_it_took faults io
no_sleep() { ! grep -F nanosleep "$tmp/io.folded"; }
check a_sleep_is_no_io no_sleep
kill -KILL $pid

# --- as a service, with what becomes of its children ---------------------------
e2e_start waiting
cat >"$STATE/bin/parent" <<'P'
#!/bin/bash
while :; do sleep 0.05; done
P
chmod 755 "$STATE/bin/parent"
background parent "$STATE/bin/parent"
stoker_cli service add shell --cmdline "$STATE/bin/parent" >/dev/null
check the_service_is_seen wait_for 10 seen shell
start_of() { # service, type, seconds
  api POST $P/start -H 'Content-Type: application/json' \
    -d "{\"service\":\"$1\",\"profileType\":\"$2\",\"durationSeconds\":$3}" | jq -r '.id // error'
}
id=$(start_of shell block 3)
check a_service_of_any_kind_is_captured eval '[ "$(result_of "$id" | jq -r .status)" = completed ]'
# Each child lives for 50 ms, and waits for all of it.
children() {
  local ms
  ms=$(api GET "$P/$id/flamegraph?format=folded" | awk '/\[clock_nanosleep\] [0-9]+$/ { n += $NF } END { print n + 0 }')
  echo "$ms sleeps of 50 ms in 3 s"
  [ "$ms" -ge 30 ]
}
check its_children_are_followed_from_their_start children
loaded() { bpftool prog show name stoker_switch 2>/dev/null | grep -c stoker_switch; }
id=$(start_of shell io 60)
check programs_are_loaded_while_it_runs wait_for 10 eval '[ "$(loaded)" -ge 1 ]'
before=$(loaded)
kill -KILL "$(<"$STATE/pid/worker")"
check none_is_left_when_the_worker_is_killed wait_for 10 eval '[ "$(loaded)" -lt "$before" ]'
