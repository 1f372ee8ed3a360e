#!/bin/bash
# The command line with a real installation.
#
# Beside others: it waits for events.
. "$(dirname "$0")/../lib/e2e.sh"
WORKER_CONF='
[continuous]
window = 1s
[webhook]
allow = 127.0.0.1
[quota]
tokens = 3
'
e2e_start demo
background demo "$STATE/bin/demo"

json() { # jq filter, command: whether it is true of the command's output
  local filter=$1
  shift
  "$@" | jq -e "$filter" >/dev/null
}

shows() { # regular expression, command
  local want=$1 out
  shift
  out=$("$@" 2>&1) || :
  grep -qE -- "$want" <<<"$out" || { echo "expected '$want' in: $out"; return 1; }
}

lacks() { ! shows "$@" >/dev/null; }

check a_service_is_added leaves 0 stoker_cli service add demo --exe "$STATE/bin/demo" --label team=core
nothing_matches() {
  says 'the service has no processes' stoker_cli service add nothing &&
    says "no process of 'nothing' is running" timeout 20 "$STATE/bin/stoker" --server "http://127.0.0.1:$PORT" --token-file "$STATE/token" run nothing --wait &&
    stoker_cli service remove nothing >/dev/null
}
check a_service_that_matches_nothing_is_told_and_not_waited_for nothing_matches
no_near_process() { # a mistyped program is refused at once, with a suggestion
  shows '^no process matches now; programs like it' stoker_cli service add typo --exe "$STATE/bin/dmeo" || return 1
  shows "^  stoker service set typo --exe $STATE/bin/demo\$" timeout 10 "$STATE/bin/stoker" --server "http://127.0.0.1:$PORT" --token-file "$STATE/token" run typo --wait
  shows '^1 process matches now:$' stoker_cli service set typo --exe "$STATE/bin/demo" && stoker_cli service remove typo --yes >/dev/null
}
check a_mistyped_program_is_refused_with_the_one_that_was_meant no_near_process
check a_service_is_not_added_twice says '(ServiceExists)' stoker_cli service add demo --exe "$STATE/bin/demo"
check a_service_is_listed_with_its_labels json 'any(.[]; .name == "demo" and .labels.team == "core")' stoker_cli --json service list
processes() { json '.processes | length > 0' stoker_cli --json service show demo --processes; }
check processes_of_a_service_are_seen wait_for 10 processes

# The output of one run serves several claims.
stoker_cli run demo --seconds 1 --wait >"$STATE/out" 2>"$STATE/err"
check run_ends_well equal $? 0
check run_shows_the_top_functions grep -q 'model::matmul' "$STATE/out"
link_is_alone() { grep -A 1 '^flame graph:$' "$STATE/out" | grep -Eq '^http://[^ ]*/flamegraph\?[^ ]*$'; }
check run_shows_the_link_on_a_line_of_its_own link_is_alone
check progress_is_plain_lines_off_a_terminal grep -q '^capturing$' "$STATE/err"
no_bar() { ! grep -q $'\r' "$STATE/err"; }
check no_bar_is_drawn_off_a_terminal no_bar
id=$(sed -n 's/^profile: *//p' "$STATE/out")
check top_shows_the_functions_of_a_profile says 'model::matmul' stoker_cli top "$id"
check the_callers_of_a_function_are_shown says 'model::embed' stoker_cli top "$id" --callers model::matmul
listing() { # the text of lines and instructions, for a service that allows it
  gcc -O2 -g -o "$STATE/bin/inlined" "$PWD/tests/targets/inlined.c" &&
    background inlined "$STATE/bin/inlined" 900 &&
    stoker_cli service add inlined --exe "$STATE/bin/inlined" --allow sourceCode >/dev/null &&
    stoker_cli run inlined --seconds 1 --wait >/dev/null 2>&1 || return 1
  kill "$(<"$STATE/pid/inlined")"
  shows 'inlined.c:[0-9]+ .*x \* 6364136223846793005u' stoker_cli top inlined --list inlined_work &&
    shows '0x[0-9a-f]+ +[a-z]+ .*%' stoker_cli top inlined --list inlined_work --disasm &&
    json 'any(.[]; .self > 0 and .function == "inlined_work" and (.file | endswith("inlined.c")))' \
      stoker_cli --json top inlined --list inlined_work --disasm &&
    json 'length == 1 and .[0].self > 0' stoker_cli --json top inlined --list inlined_work --limit 1
}
check lines_and_instructions_have_their_text_if_the_service_allows_it listing
of_a_range() { # a range has no listing of its own: no capture is requested
  shows 'inlined.c:[0-9]+ .*x \* 6364136223846793005u' stoker_cli merge inlined --list inlined_work &&
    shows '^text of the capture sess-[a-z2-7]+ of 20' stoker_cli merge inlined --list inlined_work &&
    json 'any(.files[].from; . != null and .build == "same" and (.id | startswith("sess-")))' \
      stoker_cli merge inlined --format listing &&
    json 'any(.functions[]; .from.build == "same" and any(.code[]; .self > 0))' \
      stoker_cli merge inlined --format listing
}
check a_range_has_the_text_of_a_capture_of_the_same_build of_a_range
relative() { # as in reproducible builds: the program lies above its source
  mkdir -p "$STATE/bin/out" && cp tests/targets/inlined.c "$STATE/bin/relative.c" &&
    (cd "$STATE/bin" && gcc -O2 -g -fdebug-prefix-map="$STATE/bin=." -o out/relative relative.c) &&
    background relative "$STATE/bin/out/relative" 900 &&
    stoker_cli service add relative --exe "$STATE/bin/out/relative" --allow sourceCode >/dev/null &&
    stoker_cli run relative --seconds 1 --wait >/dev/null 2>&1 || return 1
  kill "$(<"$STATE/pid/relative")"
  json 'any(.files[]; (.file | startswith("/") | not) and (.file | endswith("relative.c")) and .state == "read")' \
    stoker_cli get relative --format listing
}
check a_source_with_a_relative_path_is_found_near_its_program relative
secret() { # debug information may name any file
  (umask 077 && echo 'secret words' >"$STATE/secret.c")
  { echo "#line 1 \"$STATE/secret.c\"" && cat tests/targets/inlined.c; } >"$STATE/names.c" &&
    gcc -O2 -g -o "$STATE/bin/names" "$STATE/names.c" &&
    background names setpriv --reuid 65534 --regid 65534 --clear-groups "$STATE/bin/names" 900 &&
    stoker_cli service add names --exe "$STATE/bin/names" --allow sourceCode >/dev/null &&
    stoker_cli run names --seconds 1 --wait >/dev/null 2>&1 || return 1
  kill "$(<"$STATE/pid/names")"
  json 'any(.files[]; .file | endswith("secret.c")) and all(.files[]; .state != "read" and .state != "newer")' \
    stoker_cli get names --format listing
}
if [ "$(id -u)" -eq 0 ]; then
  check a_file_that_the_program_itself_may_not_read_is_not_shown secret
else
  echo "skip a_file_that_the_program_itself_may_not_read_is_not_shown: only root gives programs to other users"
fi
check the_lines_of_a_function_are_shown says 'demo.cc:' stoker_cli top "$id" --list matmul
check lines_have_no_text_otherwise lacks CODE stoker_cli top "$id" --list matmul
check instructions_are_not_kept_otherwise says 'if the service allows sourceCode' stoker_cli top "$id" --list matmul --disasm
check top_as_json json '.[0].selfPct > 0' stoker_cli --json top "$id"
check top_keeps_its_limit equal "$(stoker_cli top "$id" --limit 1 | grep -vc '^note: ')" 2
check get_writes_a_file leaves 0 stoker_cli get "$id" --output "$STATE/demo.pb.gz"
check the_file_that_get_writes_is_gzip gzip -t "$STATE/demo.pb.gz"
check get_folded says 'model::matmul' stoker_cli get "$id" --format folded
check an_unknown_format_is_refused says '(InvalidParameter)' stoker_cli get "$id" --format bmp
check run_as_json json '.status == "completed"' stoker_cli --json run demo --seconds 1 --wait
id=$(stoker_cli run demo --seconds 4 2>/dev/null)
check run_without_wait_prints_the_id_only equal "${id//[a-z2-7]/}" -
check top_of_a_running_one_says_so says 'is still running' stoker_cli top "$id"
newest_complete() { # regardless of profiles started since, which are reported
  local out
  out=$(stoker_cli top @last:demo 2>&1 >/dev/null)
  [[ $out == "@last:demo is sess-"* && $out == *"  newer: $id: "* && $out != "@last:demo is $id"* ]] || { echo "$out"; return 1; }
}
check the_newest_is_the_newest_complete newest_complete
check top_leaves_a_running_capture_alone equal "$(finished "$id" | jq -r .status)" completed

interrupted() {
  local pid id
  rm -f "$STATE/err" # of an earlier run: not to be taken for this one's
  "$STATE/bin/stoker" --server "http://127.0.0.1:$PORT" --token-file "$STATE/token" \
    run demo --seconds 60 --wait >"$STATE/out" 2>"$STATE/err" &
  pid=$!
  wait_for 20 grep -qE 'queued|capturing' "$STATE/err" || { cat "$STATE/err"; return 1; }
  kill -TERM $pid
  wait $pid
  equal $? 130 || return 1
  id=$(sed -n 's/^stoker: cancelled //p' "$STATE/err")
  equal "$(finished "$id" | jq -r .phase)" cancelled
}
check an_interrupt_cancels_the_capture interrupted

# --- what runs here
lists_what_is_busy() { # with a command that profiles it, and adds it once
  json "any(.[]; .match.exe == \"$STATE/bin/demo\" and .service == \"demo\" and .cpuPercent > 1 and (.command | test(\"^stoker run demo --seconds 10s( --rate 400)? --wait$\")))" stoker_cli --json ps --limit 100
}
check ps_lists_what_is_busy_and_how_to_profile_it lists_what_is_busy
check ps_of_a_program_says_what_each_type_needs shows '^memory +nothing, for new memory; libstoker-heap.so' stoker_cli ps demo --seconds 1
check ps_of_nothing_that_runs_says_so says 'stoker ps lists' stoker_cli ps no-such-unit --seconds 1
runs_without_a_service() {
  cp "$STATE/bin/demo" "$STATE/bin/alone" && background alone "$STATE/bin/alone" || return 1
  shows '^stoker: added the service alone$' stoker_cli run --exe "$STATE/bin/alone" --seconds 1 --wait &&
    lacks 'added' stoker_cli run --exe "$STATE/bin/alone" --seconds 1 --wait &&
    lacks 'added' stoker_cli run --pid "$(<"$STATE/pid/alone")" --seconds 1 --wait
}
check a_program_is_profiled_without_a_service_which_is_added_once runs_without_a_service
process_stop alone
rest demo # it computes only while claims need that

# --- a command, from its first instruction to its end
command_home=$(mktemp -d "$STATE/home-XXXXXX")
commanded() { XDG_CONFIG_HOME=$command_home stoker_cli run "$@"; }
counts='for (i = 0; i < 6000000; i++) n += i'
commanded bench --command --rate 999 --label build=7 -- \
  sh -c "mawk 'BEGIN { $counts }'; mawk 'BEGIN { $counts; print \"counted\" }'; exit 3" >"$STATE/out" 2>"$STATE/err"
check a_command_leaves_with_its_own_status equal $? 3
check a_command_has_its_own_output equal "$(<"$STATE/out")" counted
check the_service_of_a_command_is_added grep -q '^stoker: added the service bench$' "$STATE/err"
is_profiled() { # including its children
  stoker_cli --json sessions --service bench >"$STATE/out" &&
    jq -e 'length == 1 and (.[0] | .status == "completed" and .phase == "done" and .labels.build == "7"
      and .durationSeconds < 30 and .sampleCount > 50)' "$STATE/out" >/dev/null || { cat "$STATE/out"; return 1; }
  says 'mawk' stoker_cli top bench
}
check a_command_is_profiled_with_what_it_starts is_profiled
ends_by_signal() { leaves 143 commanded bench --command -- sh -c 'kill -TERM $$'; }
check a_command_that_a_signal_ends_leaves_as_in_a_shell ends_by_signal
ends_alone() { # if a signal ends stoker alone
  local pid
  XDG_CONFIG_HOME=$command_home "$STATE/bin/stoker" --server "http://127.0.0.1:$PORT" --token-file "$STATE/token" \
    run bench --command -- sh -c 'trap "exit 9" INT; echo >'"$STATE/runs"'; while :; do sleep .1; done' >"$STATE/out" 2>&1 &
  pid=$!
  begun() { [ -e "$STATE/runs" ]; }
  wait_for 20 begun && kill -INT $pid || return 1
  wait $pid
  equal $? 9
}
check a_signal_to_stoker_alone_goes_to_the_command ends_alone
check a_capture_that_ends_before_its_command_warns \
  says 'the capture ended before sleep did: --seconds is 3' commanded bench --command --seconds 3 -- sleep 4
check a_capture_of_a_second_sees_its_command \
  says 'the capture ended before sleep did: --seconds is 1' commanded bench --command --seconds 1 -- sleep 2
check a_command_that_is_none_adds_no_service leaves 1 commanded none --command -- /nonexistent
check no_service_is_there_of_it says '(UnknownService)' stoker_cli service show none
check a_command_takes_no_service_of_other_processes says 'not selected by a pid file' commanded demo --command -- true
check a_command_comes_after_two_dashes leaves 64 commanded --command true
check a_command_chooses_its_process leaves 64 commanded --command --pid 1 -- true
check a_command_is_not_all_of_the_host leaves 64 commanded --command --all -- true
used_once() { # the pid file is used once
  local rc
  exec {held}<"$command_home/stoker/bench.pid" && flock -n "$held" || return 1
  says 'is in use' commanded bench --command -- true
  rc=$?
  exec {held}<&-
  return $rc
}
check a_service_has_one_command_at_a_time used_once
goes_on_after_a_kill() { # the capture of the killed command ends, too
  local pid command
  XDG_CONFIG_HOME=$command_home "$STATE/bin/stoker" --server "http://127.0.0.1:$PORT" --token-file "$STATE/token" \
    run bench --command -- sleep 100 2>/dev/null &
  pid=$!
  runs() { json '.[0].phase == "capturing"' stoker_cli --json sessions --service bench && command=$(pgrep -P $pid); }
  wait_for 20 runs || return 1
  kill -KILL $pid
  leaves 0 commanded bench --command -- true
  kill -KILL "$command"
}
check a_stoker_that_is_killed_is_in_no_later_one_s_way goes_on_after_a_kill
is_not_overwritten() { # whatever the server names as the pid file
  echo precious >"$STATE/notes.pid"
  stoker_cli service add notes --pid-file "$STATE/notes.pid" >/dev/null &&
    says 'not a pid file' commanded notes --command -- true && equal "$(<"$STATE/notes.pid")" precious
}
check a_file_that_is_no_pid_file_is_kept is_not_overwritten
is_not_created() {
  stoker_cli service add odd --pid-file "$STATE/odd.txt" >/dev/null &&
    says 'does not end in .pid' commanded odd --command -- true && [ ! -e "$STATE/odd.txt" ]
}
check a_file_with_another_name_is_not_created is_not_created
is_not_run() { # if no worker here looks for it
  stoker_cli service add afar --pid-file "$command_home/afar.pid" --host elsewhere >/dev/null &&
    says 'no worker on this host saw it' commanded afar --command --wait-for-process 1s -- touch "$STATE/ran" && [ ! -e "$STATE/ran" ]
}
check a_command_that_no_worker_sees_is_not_run is_not_run
leaves_no_service() { # if the worker does not find the pid file
  local command_home=/proc/self/cwd
  cd "$STATE" || return 1
  says 'removed the service unseen' commanded unseen --command --wait-for-process 1s -- true
  local rc=$?
  cd "$OLDPWD" && leaves 1 stoker_cli service show unseen && return $rc
}
check a_command_that_is_not_run_leaves_no_service leaves_no_service
adds_none() { says "stoker run --exe $STATE/bin/demo" stoker_cli run --exe "$STATE/bin/dmeo" && leaves 1 stoker_cli service show dmeo; }
check a_program_that_does_not_run_becomes_no_service adds_none
all_is_shown() { # by program; top stores nothing
  local out
  out=$(stoker_cli top --seconds 2 --limit 1000) || return 1
  says "$STATE/bin/demo" echo "$out" && says 'model::matmul' echo "$out" &&
    json 'length == 0' stoker_cli --json sessions --service host
}
awake demo
check top_without_a_profile_shows_the_host_by_program_and_function all_is_shown
check the_service_of_a_host_is_sampled_alone \
  says 'a service of one program' stoker_cli run --all --type alloc --seconds 1
check run_of_nothing_names_ps says 'stoker ps' stoker_cli run
rest demo

# --- how profiles are named
check the_beginning_of_an_id_is_enough says 'model::matmul' stoker_cli top "${id:0:14}"
check the_beginning_of_several_ids_lists_them shows '^  sess-.*: cpu of [a-z]+, 2' stoker_cli top sess-
check @last_is_the_newest_profile says '@last is sess-' stoker_cli top @last
check @last_with_a_service_is_its_newest_profile says "@last:demo is sess-" stoker_cli top @last:demo
check @last~1_is_the_profile_before_the_newest says "@last~1 is sess-" stoker_cli top @last~1
check a_service_stands_for_its_newest_complete_profile shows "demo is sess-.*: cpu of demo" stoker_cli top demo
check a_service_stands_for_a_profile_of_the_type_asked_for says "'demo' has no complete memory profile" stoker_cli top demo --type memory
check @last~99_says_that_there_are_fewer_profiles says 'not that many complete profiles' stoker_cli top @last~99
check ui_prints_a_link_that_signs_in \
  grep -qE '^https?://[^ ]+/ui/#sign-in=lnk_[a-z0-9]{40}$' <(stoker_cli ui 2>&1)
check open_prints_the_link_that_opens_the_graph leaves 0 curl -fsS -o /dev/null "$(stoker_cli open @last~1 2>/dev/null)"
check a_word_that_names_nothing_is_an_unknown_service says '(UnknownService)' stoker_cli top frobnicate
check remove_takes_no_name_of_a_service leaves 64 stoker_cli remove demo

# --- what was meant
check a_mistyped_command_gets_a_suggestion says 'did you mean sessions?' stoker_cli session
check a_mistyped_service_gets_a_suggestion says 'did you mean demo?' stoker_cli run dmeo
check a_mistyped_type_gets_a_suggestion says 'did you mean goroutine?' stoker_cli run demo --type gorutine
check an_error_names_the_option shows '^stoker: --rate takes .*(InvalidParameter)' stoker_cli run demo --rate 1000000
for seconds in 0 5000 abc -1; do
  check "a_span_of_${seconds}_is_refused_with_examples" shows "^stoker: --seconds takes a time such as 10s, 2m or 1h.* not '$seconds'" stoker_cli run demo --seconds "$seconds"
  check "a_span_of_${seconds}_leaves_64" leaves 64 stoker_cli run demo --seconds "$seconds"
done
check an_error_repeats_what_was_typed shows "^stoker: --unit takes .* not 'n/x.service' " stoker_cli service add web --unit n/x.service
check the_help_of_the_command_is_named says 'stoker help run' stoker_cli run demo --frob
check seconds_of_what_is_read_at_once_are_warned_of says 'warning: --seconds does nothing here' stoker_cli run demo --type goroutine --seconds 5
check a_list_of_no_service_says_which_was_meant says 'did you mean demo?' stoker_cli sessions --service dmeo
check sessions_of_an_unknown_service_leave_1 leaves 1 stoker_cli sessions --service dmeo
check baselines_of_no_service_are_an_error leaves 1 stoker_cli baseline list --service dmeo
check json_of_a_profile_is_its_graph json '.unit == "nanoseconds"' stoker_cli --json get demo
check json_in_a_format_that_is_none_is_refused leaves 64 stoker_cli --json get demo --format pprof
check version_tells_all_three equal "$(stoker_cli version | cut -d' ' -f1 | paste -sd' ')" 'stoker server worker'

check shells_complete_services equal "$(stoker_cli completion bash -- run de)" demo
check shells_complete_profiles says "$id" stoker_cli completion bash -- top sess-
check completed_profiles_name_their_service says "$id"$'\tdemo' stoker_cli completion fish -- top sess-

# --- on a terminal of 80 columns
terminal() { # command...: its output on a terminal, without escapes
  script -qec "stty cols 80; $(printf '%q ' "$STATE/bin/stoker" --server "http://127.0.0.1:$PORT" --token-file "$STATE/token" "$@")" /dev/null
}
plain() { sed 's/\x1b\[[0-9;]*m//g; s/\r$//'; }
within() { # columns, command...; a link or a long path is not folded
  local most=$1 long
  shift
  long=$(terminal "$@" | plain | grep -vE 'http://|/[^ ]{40}' | sed 's/.*\r//; s/…/_/g' | awk -v n="$most" 'length > n')
  equal "$long" ""
}
check sessions_fit_80_columns within 80 sessions
check ps_fits_80_columns within 80 ps --limit 3
check functions_fit_80_columns within 80 top @last~1
check a_call_tree_fits_80_columns within 80 top @last~1 --tree
check functions_by_total_fit_80_columns within 80 top @last~1 --cum --lines
check a_verdict_fits_80_columns within 80 compare @last:demo @last:demo
check help_fits_80_columns within 80 help
check doctor_fits_80_columns within 80 doctor --config "$STATE/stoker.conf"
check ids_are_whole_on_a_terminal says "$id" terminal sessions
times() { terminal sessions | plain | grep -qE '^sess-[a-z2-7]+ +[0-9]{2}:[0-9]{2}:[0-9]{2} '; }
check times_are_short_on_a_terminal times
check the_match_of_a_service_is_whole_on_a_terminal shows "^ +exe=$STATE/bin/demo" terminal service list
check a_label_is_told_to_go_with_check says 'stoker check --baseline' stoker_cli compare v1.2.0 @last
check times_are_whole_in_a_pipe shows '^sess-[a-z2-7]* *[0-9-]*T[0-9:.]*Z ' stoker_cli sessions
TERM=xterm check titles_are_bold_on_a_terminal shows $'\033\\[1mID' terminal sessions
no_colours() { ! TERM=xterm NO_COLOR=1 terminal sessions | grep -q $'\033'; }
check titles_are_plain_with_NO_COLOR no_colours
awake demo
TERM=xterm terminal run demo --seconds 3 --wait >"$STATE/drawn"
moves() { [ "$(grep -oE 'capturing: [0-9.]+ of 3 s' "$STATE/drawn" | sort -u | wc -l)" -ge 10 ]; }
check progress_moves_ten_times_a_second moves
check progress_ends_with_the_whole_time grep -qE 'done: 3\.0 of 3 s' "$STATE/drawn"
stoker_cli service add silent --pprof-url http://127.0.0.1:1 >/dev/null # no listener
stoker_cli run silent --wait >/dev/null 2>&1
reason=$(stoker_cli sessions --limit 1 | sed -n 's/.* failed: //p')
check in_a_pipe_a_reason_of_a_failure_stands_in_its_row \
  grep -q 'connecting to pprofUrl failed.* beside its unit$' <<<"$reason"
reason_is_whole() { terminal sessions --limit 1 | plain | tr -s '\r\n ' ' ' | grep -qF "$reason"; }
check the_reason_of_a_failure_is_whole_on_a_terminal reason_is_whole
check the_reason_of_a_failure_fits_80_columns within 80 sessions --limit 1
stoker_cli service remove silent --yes >/dev/null
check an_empty_list_says_none equal "$(stoker_cli baseline list)" none

# --- goroutines and threads
stoker_cli run demo --type goroutine --wait >"$STATE/out" 2>/dev/null
run_and_analysis_agree() {
  diff <(sed '/^profile:/,$d' "$STATE/out" | sed '$d') <(stoker_cli analysis demo 2>/dev/null)
}
check run_prints_what_analysis_prints run_and_analysis_agree
check callers_are_below_each_other grep -q '^    server::wait_for_work' "$STATE/out"
check diff_of_samples_sends_to_compare says 'stoker compare @last~1 @last~2' stoker_cli diff @last~1 @last~2

# --- a service that starts later
late() {
  stoker_cli service add late --exe "$STATE/bin/late" >/dev/null || return 1
  stoker_cli run late --seconds 1 --wait --wait-for-process 30s >"$STATE/out" 2>"$STATE/err" &
  local pid=$!
  wait_for 20 grep -q 'no process of late was found yet' "$STATE/err" || return 1
  install -m 755 "$STATE/bin/demo" "$STATE/bin/late"
  background late "$STATE/bin/late"
  wait $pid && grep -q 'model::matmul' "$STATE/out"
}
check run_waits_for_a_service_that_starts_later late
process_stop late
# The server may not have noticed yet that the process ended.
restarted() {
  install -m 755 "$STATE/bin/demo" "$STATE/bin/again"
  background again "$STATE/bin/again"
  stoker_cli service add again --exe "$STATE/bin/again" >/dev/null || return 1
  again_runs() { json '.processes | length > 0' stoker_cli --json service show again --processes; }
  wait_for 20 again_runs || return 1
  process_stop again
  stoker_cli run again --seconds 1 --wait --wait-for-process 30s >"$STATE/out" 2>"$STATE/err" &
  local pid=$!
  wait_for 20 grep -q 'no process of again was found yet' "$STATE/err" || { cat "$STATE/err"; return 1; }
  background again "$STATE/bin/again"
  wait $pid && grep -q 'model::matmul' "$STATE/out"
}
check run_waits_for_a_service_that_is_restarted restarted
process_stop again
stoker_cli service remove again --yes >/dev/null
asked() { script -qec "$(printf '%q ' "$STATE/bin/stoker" --server "http://127.0.0.1:$PORT" --token-file "$STATE/token" "${@:2}")" /dev/null <<<"$1"; }
check removing_a_service_asks_on_a_terminal says 'Delete service late with 1 profile ' asked n service remove late
check a_service_is_not_removed_without_a_yes says 'nothing was done' asked n service remove late
check a_service_that_was_not_removed_is_still_there leaves 0 stoker_cli service show late
check a_service_is_removed_with_yes says 'late: removed with 1 profile' stoker_cli service remove late --yes

check continuous_is_turned_on json '.enabled and .profileTypes == ["cpu", "goroutine"] and .sampleRate == 99' \
  stoker_cli --json continuous on demo --types cpu,goroutine --rate 99
check settings_that_are_not_named_stay json '.retentionDays == 90 and .sampleRate == 99' stoker_cli --json continuous on demo --retention-days 90
check an_unknown_type_is_refused says '(InvalidParameter)' stoker_cli continuous on demo --types cpu,frob
check continuous_of_no_service_is_told says '(UnknownService)' stoker_cli continuous on none
check continuous_is_listed says 'cpu, goroutine' stoker_cli continuous list
check continuous_is_shown says 'kept for 90 days' stoker_cli continuous show demo
check no_trigger_warns_of_a_parameter equal "$(stoker_cli trigger list demo 2>&1 >/dev/null)" ""
merged() { json '.source == "windows" and .sampleCount > 0' stoker_cli --json merge demo; }
check windows_become_one_profile wait_for 60 merged
check merge_shows_the_top_functions says 'model::matmul' stoker_cli merge demo
check merge_shows_the_link shows '^http://.*/merge' stoker_cli merge demo --from now-1d
check merge_in_a_format says 'model::matmul' stoker_cli merge demo --format folded
check merge_writes_a_file leaves 0 stoker_cli merge demo --output "$STATE/merged.pb.gz"
check the_file_that_merge_writes_is_gzip gzip -t "$STATE/merged.pb.gz"
check merge_of_another_host_is_empty says '(EmptyRange)' stoker_cli merge demo --host none
check history_lists_sessions_and_windows json 'map(.id[0:4]) | unique == ["sess", "win-"]' stoker_cli --json history demo --type cpu
whole_rows() { terminal history demo --limit 5 | plain | grep -cE '^(sess|win)-[a-z2-7]+ .* [0-9]+ ' | grep -qx 5; }
check rows_of_a_history_have_whole_ids_on_a_terminal whole_rows
check labels_are_below_the_rows_of_a_history shows '^ +team=core' terminal history demo
check history_of_a_time_that_is_over json '. == []' stoker_cli --json history demo --to 2020-01-01T00:00:00Z
check a_label_of_a_range_is_a_pair leaves 64 stoker_cli history demo --label team
check series_draws_what_it_cost says '######' stoker_cli series demo --from now-10m --step 1m
unshared() { ! terminal series demo | grep -q SHARE; }
check a_series_of_a_service_has_no_share unshared
check a_series_of_a_function_has_its_share says SHARE terminal series demo --function model::matmul
check series_of_a_function json '.function == "model::matmul"' stoker_cli --json series demo --function model::matmul
check a_function_that_is_nowhere_is_told says "no sample of that time contains 'nosuch'" stoker_cli series demo --function nosuch
check groups_are_by_host says "by host" stoker_cli groups demo
check a_key_that_nothing_has_is_told says "of that time has label.none" stoker_cli groups demo --by label.none
check when_names_what_it_looked_at json '.functions[0].function == "model::matmul" and .whole.samples > 0' stoker_cli --json when demo model::matmul
check when_says_how_many_samples_it_has says " samples" terminal when demo model::matmul
check continuous_is_turned_off json '.enabled == false and .retentionDays == 90' stoker_cli --json continuous off demo
rest demo

check pin says "$id: pinned" stoker_cli pin "$id"
check a_pinned_profile_is_not_removed_unasked says 'is pinned: to delete it, add --yes' stoker_cli remove "$id"
check a_pinned_profile_is_still_there leaves 0 stoker_cli top "$id"
check removing_a_pinned_profile_asks_on_a_terminal says 'which is pinned?' asked n remove "$id"
check unpin says "$id: unpinned" stoker_cli unpin "$id"
stoker_cli baseline add kept "$id" >/dev/null
check a_profile_of_a_baseline_says_what_holds_it says 'stoker baseline list' stoker_cli remove "$id" --yes
check removing_a_baseline_asks_on_a_terminal says "Remove the baseline 'kept'" asked n baseline remove kept
check a_baseline_stays_without_a_yes says kept stoker_cli baseline list
check a_baseline_is_removed says 'kept: removed' stoker_cli baseline remove kept --yes
printf 'main;work 70\nmain;rest 30\n' >"$STATE/made.folded"
check upload says 'made.folded: sess-' stoker_cli upload demo "$STATE/made.folded"
printf 'main;work 7000\nmain;rest 3000\n' | stoker_cli upload demo - --rate 100 --seconds 100 >/dev/null
printf 'main;work 10500\nmain;rest 3000\n' | stoker_cli upload demo - --rate 100 --seconds 100 >/dev/null
check a_comparison_shows_shares shows '70.0  +77.8  +7.8 .* work' stoker_cli compare @last~1 @last
check a_comparison_by_rate_shows_cost_per_second shows '700.00 ms  +1.05 s +.50.0 .* work' stoker_cli compare @last~1 @last --normalize rate
check a_comparison_by_rate_shows_no_share lacks 'BASE %' stoker_cli compare @last~1 @last --normalize rate
check a_comparison_by_work_shows_cost_per_unit shows '7.00 s  +5.25 s  +-25.0 .* work' stoker_cli compare @last~1 @last --base-work 10 --work 20
check top_shows_the_values_that_are_named shows '77.8  10500 count  work' stoker_cli top @last:demo --sample-type samples
check top_names_the_values_of_a_profile says 'one of: samples, cpu' stoker_cli --json top @last:demo --sample-type calls
uploaded() { printf 'main;work 70\n' | stoker_cli --json upload demo - --rate 100 | jq -e '.sampleCount == 70'; }
check upload_of_standard_input uploaded
# This name would clear the screen (CSI of 8 bits) or reverse the line.
printf 'main;clear\xc2\x9b2J;turn\xe2\x80\xae 70\n' | stoker_cli upload demo - --rate 100 >/dev/null
drives_nothing() { # the name as it is shown, arguments
  local written=$1
  shift
  [ "$({ terminal "$@"; stoker_cli "$@"; } | LC_ALL=C grep -caP '\xc2\x9b|\xe2\x80\xae')" = 0 ] &&
    grep -qF "$written" <(stoker_cli "$@")
}
check a_profile_drives_no_terminal drives_nothing 'clear?2J' get @last:demo --format folded
check json_drives_no_terminal drives_nothing 'clear\u009b2J' top @last:demo --json
check an_upload_that_is_no_profile_is_refused says '(UnsupportedMediaType)' stoker_cli upload demo "$STATE/stoker.conf"
# Files are converted without a server.
convert() { "$STATE/bin/stoker" --server http://127.0.0.1:9 convert "$@"; }
printf 'main;work 7\nmain;rest 3\n' >"$STATE/plain.folded"
converted() { # the name of a file, text that it contains
  convert "$STATE/plain.folded" "$STATE/converted.$1" && grep -qF "$2" "$STATE/converted.$1"
}
check a_profile_is_converted_to_the_format_of_the_files_name converted speedscope.json '"weights":[3,7]'
check a_profile_is_converted_to_a_page converted html '<html'
back() {
  convert "$STATE/plain.folded" "$STATE/converted.pb.gz" &&
    convert - - --format folded <"$STATE/converted.pb.gz" | sort | diff - <(sort "$STATE/plain.folded")
}
check a_converted_profile_is_the_same_profile back
# A pprof file of exceptions and locks, which no profile type covers.
base64 -d >"$STATE/exceptions.pb" <<<"CgQIARACCgQIAxACEggIAQgCEAUQByIICAEiBAgBEAEqBAgB\
EAQiCAgCIgQIAhACKgQIAhAFMgAyCmV4Y2VwdGlvbnMyBWNvdW50Mgpsb2NrX2NvdW50MgNob3QyBG1haW4="
check a_file_of_no_type_of_profile_is_converted \
  says 'main;hot 7' convert "$STATE/exceptions.pb" - --format folded
check another_value_of_a_file_is_converted \
  says 'main;hot 5' convert "$STATE/exceptions.pb" - --format folded --sample-type exceptions
check the_values_of_a_file_are_listed says 'none of: exceptions, lock_count' \
  convert "$STATE/exceptions.pb" - --format folded --sample-type cpu
check an_unknown_name_is_converted_to_nothing leaves 64 convert "$STATE/plain.folded" "$STATE/converted.xyz"
# A heap profile of jemalloc has addresses of a process; its mappings name the
# program.
named() {
  local main offset start=$((0x555555554000))
  main=$((0x$(nm "$B/targets/demo" | awk '$3 == "main" {print $1}')))
  offset=$((main / 4096 * 4096))
  printf 'heap_v2/1\n@ 0x%x\n  t*: 1: 4096 [0: 0]\n\nMAPPED_LIBRARIES:\n' \
    $((start + main + 8)) >"$STATE/heap.prof"
  printf '%x-%x r-xp %08x fe:00 1 /srv/demo\n' $((start + offset)) \
    $((start + offset + 4096)) "$offset" >>"$STATE/heap.prof"
  "$STATE/bin/stoker" --server http://127.0.0.1:9 symbolize "$STATE/heap.prof" \
    --binary "$B/targets" | convert - - --format folded | grep -q '^main '
}
check a_heap_profile_gets_its_names_from_a_binary named
check what_is_no_profile_is_not_converted leaves 1 convert "$STATE/stoker.conf" "$STATE/converted.html"
check a_file_that_is_not_there_is_told says "$STATE/none: No such file" stoker_cli upload demo "$STATE/none"
check a_profile_is_removed says "$id: removed" stoker_cli remove "$id"
check a_removed_profile_is_gone says '(UnknownProfile)' stoker_cli top "$id"

check trigger_add says 'hot: trg-' stoker_cli trigger add demo hot cpuShare 'function=std::operator==' percent=20 --webhook http://127.0.0.1:1/hook --cooldown 5
check trigger_list says 'cpuShare (function=std::operator==, percent=20)' stoker_cli trigger list demo
check triggers_of_all_services_are_listed shows '^demo +hot ' stoker_cli trigger list
check a_number_is_a_number leaves 64 stoker_cli trigger add demo big rss bytes=lots
check a_trigger_without_a_threshold_is_told says 'percent' stoker_cli trigger add demo busy cpu ratio=2
check removing_a_trigger_asks_on_a_terminal says "Remove the trigger 'hot'" asked n trigger remove demo hot
check trigger_remove_by_name says 'hot: removed' stoker_cli trigger remove demo hot
check an_unknown_trigger_is_named says "no trigger is called 'hot'" stoker_cli trigger remove demo hot

check a_run_of_an_unknown_service_names_the_error says '(UnknownService)' stoker_cli run none
check a_run_of_an_unknown_service_leaves_1 leaves 1 stoker_cli run none
check an_unknown_command_is_usage leaves 64 stoker_cli frob
check a_group_of_commands_is_no_command says 'stoker help service' stoker_cli service
check a_group_of_commands_has_a_help says 'service apply' stoker_cli help service
check a_server_that_does_not_answer_leaves_3 leaves 3 stoker_cli --server http://127.0.0.1:0 service list
check a_bad_token_is_told says '(Unauthorized)' stoker_cli --token bad service list
check a_missing_token_file_is_told says "$STATE/none: No such file" stoker_cli --token-file "$STATE/none" service list
check a_missing_token_file_does_not_matter_without_a_request says 4 stoker_cli --token-file "$STATE/none" config api.pool --config "$STATE/stoker.conf"
check one_value_of_the_configuration_as_json json '. == 4' stoker_cli --json config api.pool --config "$STATE/stoker.conf"
check errors_are_json_when_asked json '.error_code == "UnknownService"' stoker_cli --json service show none

echo "[{\"name\":\"one\",\"match\":{\"exe\":\"/bin/true\"}},{\"name\":\"two\",\"match\":{\"exe\":\"/bin/false\"}}]" >"$STATE/services.json"
check apply_creates says 'two: created' stoker_cli service apply "$STATE/services.json"
check apply_replaces says 'two: replaced' stoker_cli service apply "$STATE/services.json"
check a_file_that_is_not_json_is_named says "$STATE/out:1:" stoker_cli service apply "$STATE/out"
echo '{"name":"one","mach":{"exe":"/bin/true"}}' >"$STATE/mistyped.json"
check a_mistyped_field_is_told says "warning: unknown field 'mach'" stoker_cli service apply "$STATE/mistyped.json"
no_warning() { ! stoker_cli service apply "$STATE/services.json" 2>&1 | grep warning; }
check a_file_without_mistakes_gets_no_warning no_warning
check apply_as_json json 'map(.name) == ["one", "two"]' stoker_cli --json service apply "$STATE/services.json"
check a_service_is_changed says 'one: changed' stoker_cli service set one --unit postgresql --allow javaPerfMap,goProfileRates --description shop
check options_that_are_given_are_changed json '.match == {"unit": "postgresql.service"} and .allow == {"javaPerfMap": true, "goProfileRates": true}' stoker_cli --json service show one
check another_change_is_made json '.allow == {}' stoker_cli --json service set one --allow none
run_allows() { # KEY
  stoker_cli run one --type memory --seconds 1 --allow "$1" --wait
  stoker_cli --json service show one
}
check run_allows_something json '.allow == {"goProfileRates": true} and .match.unit == "postgresql.service"' run_allows goProfileRates
check what_run_allows_is_added json '.allow == {"goProfileRates": true, "javaPerfMap": true}' run_allows javaPerfMap
check options_that_are_not_given_stay json '.match.unit == "postgresql.service" and .description == "shop"' stoker_cli --json service show one
check an_unknown_service_is_not_changed says '(UnknownService)' stoker_cli service set three --allow none
unwarned() { ! stoker_cli service set one --kind auto 2>&1 | grep warning; }
check a_change_gets_no_warning unwarned
check a_match_is_readable says 'exe=/bin/false' stoker_cli service list
check remove says 'two: removed' stoker_cli service remove two
check remove_as_json json '.result == "removed"' stoker_cli --json service remove one
check a_removed_service_is_gone says '(UnknownService)' stoker_cli service show two

for tenant in '*' 'a b' a, ''; do
  check "no_token_for_tenant_'$tenant'" leaves 64 stoker_cli token create all --tenant "$tenant" --config "$STATE/stoker.conf"
done
held() { json "any(.[]; .quota == \"tokens\" and .limit == 3 and .held == $1)" stoker_cli --json quota; }
check quota_shows_what_is_held_and_the_limit held 1
for i in 1 2 3; do stoker_cli token create "$i" --tenant 550e8400 --config "$STATE/stoker.conf" >/dev/null 2>&1; done
check the_hosts_administrator_is_held_to_none held 4
check quota_is_a_table shows '^tokens +4 +3 +Valid API keys' stoker_cli quota

key=$(stoker_cli --json token create short --tenant 550e8400 --config "$STATE/stoker.conf")
check a_new_token_works leaves 0 stoker_cli --token "$(jq -r .key <<<"$key")" service list
check a_token_is_listed_without_its_key json 'any(.[]; .name == "short" and (has("key") | not))' stoker_cli --json token list
check a_token_is_revoked says ': revoked' stoker_cli token revoke "$(jq -r .id <<<"$key")"
own=$(api GET /api/v1/browser-session | jq -r .actor)
check the_key_in_use_is_not_revoked_by_mistake says 'the key that stoker itself uses' stoker_cli token revoke "$own"
check a_revoked_token_is_refused says '(Unauthorized)' stoker_cli --token "$(jq -r .key <<<"$key")" service list

broken() { stoker_cli --json doctor --config "$STATE/stoker.conf" | jq -r '.[] | select(.verdict == "broken") | .check + ": " + .found'; }
check doctor_finds_nothing_broken equal "$(broken)" ""
in_its_folder() { (cd "$STATE" && stoker_cli --json doctor --config stoker.conf | jq -r '.[0].found'); }
in_lxc() { container=lxc stoker_cli --json doctor --config "$STATE/stoker.conf" | jq 'any(.[]; .check == "API socket")'; }
check doctor_looks_at_the_whole_of_a_system_container equal "$(in_lxc)" true
check doctor_takes_a_path_from_where_it_runs equal "$(in_its_folder)" "$STATE/stoker.conf"
check doctor_leaves_0_if_nothing_is_broken leaves 0 stoker_cli doctor --config "$STATE/stoker.conf"
# Namespaces that end are cleaned up by kernel threads, which run whenever the
# kernel has time.
kernel_threads_are_shown() {
  local load
  (while :; do unshare --net true; done) &
  load=$!
  for _ in 1 2 3 4; do
    stoker_cli run --all --seconds 2 --rate 999 --wait >"$STATE/out" 2>&1
    stoker_cli get host --format folded >"$STATE/host.folded" 2>/dev/null
    ! grep -q '^\[kernel threads\];.*cleanup_net' "$STATE/host.folded" || break
  done
  kill "$load"
  wait "$load" 2>/dev/null
  grep -q '^\[kernel threads\];.*cleanup_net' "$STATE/host.folded" ||
    { cut -d ';' -f 1 "$STATE/host.folded" | sort | uniq -c; return 1; }
}
[ "$(id -u)" -ne 0 ] ||
  check threads_of_the_kernel_are_a_part_of_the_host kernel_threads_are_shown

# A second installation, whose server never started, since the first one uses
# the port.
mkdir -p "$STATE/second/data"
[ "$(id -u)" -ne 0 ] || chown "$RUN_USER:$RUN_GROUP" "$STATE/second/data"
sed "s|^dir = .*|dir = $STATE/second/data|" "$STATE/stoker.conf" >"$STATE/second/stoker.conf"
second() { env -u STOKER_TOKEN_FILE -u XDG_CONFIG_HOME HOME="$STATE/second" STOKER_URL="http://127.0.0.1:$PORT" \
  STOKER_CONFIG="$STATE/second/stoker.conf" STOKER_COLUMNS=300 "$STATE/bin/stoker" "$@"; }
check setup_says_that_another_installation_answers says 'another installation of Stoker answers there' second setup
check doctor_says_so_of_the_server shows 'nginx and API: .*its store is not' second doctor
check doctor_says_so_of_the_worker shows "worker process: .*another installation's" second doctor
check a_refused_command_says_so says 'another installation of Stoker answers there' second service list
# A type that only Go programs count, unless the service is native.
all_the_time() { # types, what is printed
  shows "$2" stoker_cli continuous on demo --types "$1" && lacks 'no profile can be taken' stoker_cli continuous on demo --types cpu
}
check continuous_on_names_types_that_the_programs_do_not_have all_the_time cpu,alloc,mutex '^stoker: alloc, mutex: no profile can be taken of the programs that match now'
check continuous_on_prints_the_command_that_sets_the_kind all_the_time alloc '^  stoker service set demo --kind native'
mended() { stoker_cli service set demo --kind native >/dev/null && lacks 'no profile can be taken' stoker_cli continuous on demo --types alloc,mutex; }
check setting_the_kind_makes_continuous_on_accept_alloc_and_mutex mended
check a_type_that_settings_exclude_is_refused_with_its_remedy shows '^  fix: stoker service set ep --source auto' eval 'stoker_cli service add ep --pprof-url http://127.0.0.1:1/ --kind native --source endpoint >/dev/null; stoker_cli continuous on ep --types io'
nowhere() { stoker_cli service add bare >/dev/null 2>&1; shows 'bare has no match' stoker_cli continuous on bare; }
check continuous_on_says_that_a_service_has_no_match nowhere
# The windows and captures of one host, on a terminal.
stoker_cli continuous on demo --types cpu >/dev/null 2>&1
windows_are_listed() { stoker_cli history demo | grep -q '^win-.* host='; }
check windows_have_their_host_in_a_pipe wait_for 30 windows_are_listed
check the_only_host_is_on_no_line_of_a_terminal lacks "^ *host=" terminal history demo
stoker_cli continuous off demo >/dev/null 2>&1
process_stop worker
check doctor_finds_a_dead_worker leaves 1 stoker_cli doctor --config "$STATE/stoker.conf"
# First reports that no worker answers, and the line that fixes this.
is_silent() {
  local out
  out=$("$@" 2>&1) || :
  grep -qE '(^|: )no worker answers$' <<<"$out" && grep -q '^  systemctl restart stoker-worker' <<<"$out" || { echo "$out"; return 1; }
}
check ps_says_that_no_worker_answers is_silent stoker_cli ps
check a_pid_is_not_called_forbidden_where_no_worker_answers is_silent stoker_cli run --pid $$
check a_service_is_added_though_no_worker_answers is_silent stoker_cli service add unheard --exe "$STATE/bin/unheard"
check service_show_says_that_no_worker_answers is_silent stoker_cli service show unheard --processes
no_service_is_made() { is_silent stoker_cli run --exe "$STATE/bin/nobody" && leaves 1 stoker_cli service show nobody; }
check no_service_is_made_where_no_worker_answers no_service_is_made
check a_capture_that_no_worker_takes_names_the_remedy shows '^  systemctl restart stoker-worker' stoker_cli run unheard
