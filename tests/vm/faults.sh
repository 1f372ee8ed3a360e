#!/bin/bash
# An execve(2) that never ends, power cuts, jumps of the clock and little memory, on
# a kernel of Debian's.
#
#	tests/vm/faults.sh IMAGE
. "$(dirname "$0")/lib.sh"
capturing() { running=$(begin burn --seconds 60 2>/dev/null) && wait_for 60 json '.progress > 0.02' get "$profiling/$running"; }

# --- a process that makes its readers wait: the power cut below ends it --------------------
in_machine sh -c 'install -d -o nobody /run/execs
  exec setsid setpriv --reuid nobody --regid nogroup --clear-groups \
    slowfs exec /run/execs >/run/execs.said 2>&1 </dev/null &'
execs() { in_machine grep -qx ready /run/execs.said; }
check a_process_waits_in_execve_for_its_own_file_system wait_for 60 execs
anew
check the_worker_starts_beside_a_process_that_waits_in_execve wait_for 60 healthy
check other_programs_are_profiled_beside_a_process_that_waits_in_execve all_good

# --- power goes in a capture and in a rollup -----------------------------------------------
in_machine systemctl stop stoker-worker
cli service add past --exe /usr/local/bin/none >/dev/null
put=$(in_machine setpriv --reuid stoker --regid stoker --clear-groups windows \
  /var/lib/stoker default past stokervm 150)
in_machine sync
in_machine systemctl start stoker-worker
wait_for 120 alive
kept=$(printf 'main;work 70\n' | cli upload burn - 2>&1 | grep -o 'sess-[a-z0-9]*')
capturing
machine_cut
check all_is_up_after_a_power_cut wait_for 180 healthy
check the_store_is_whole_after_it leaves 0 cli verify
check a_profile_from_right_before_it_is_there status_is "$profiling/$kept" 200
check the_capture_under_way_has_an_end \
  json '.status == "completed" or .error.error_code == "WorkerDied"' finished "$running"
added_up() { json ".sampleCount == $put" cli --json merge past --from now-12h; }
check windows_add_up_to_what_there_was added_up
check captures_work_after_it good burn cpu share_half

# --- the clock jumps in a capture and in windows -----------------------------------------------
cli continuous on burn --types cpu,goroutine >/dev/null
cli continuous on pages --types memory,alloc >/dev/null
now_there() { # service, type: a window of the last seconds
  json '.source == "windows" and .sampleCount > 0' cli --json merge "$1" --type "$2" --from now-30s
}
wait_for 60 now_there burn cpu
for jump in '+1 hour' '-1 hour' '-1 hour' '+1 hour'; do
  name=$(tr -d ' +' <<<"${jump/-/back_}")
  id=$(begin burn --seconds 10 2>/dev/null)
  wait_for 60 phase_is "$id" capturing
  in_machine date -s "$jump" >/dev/null
  check "a_capture_outlives_a_jump_of_$name" json \
    '.status == "completed" and .durationSeconds >= 9 and .durationSeconds <= 30' finished "$id"
  check "captures_work_after_a_jump_of_$name" within 90 good burn cpu share_half
  for each in burn.cpu burn.goroutine pages.memory pages.alloc; do
    check "windows_of_${each/./_}_go_on_after_a_jump_of_$name" \
      within 60 now_there "${each%.*}" "${each#*.}"
  done
  check "doctor_finds_nothing_broken_after_a_jump_of_$name" doctor_is_content
done
check the_store_is_whole_after_jumps leaves 0 cli verify

# --- little memory ---------------------------------------------------------------------------
in_machine sh -c 'awk "BEGIN { for (i = 0; i < 150000; i++) print \"main;f\" i % 9973 \";g\" i, i + 1 }" >/root/big'
fails() { ! "$@"; }
drop_in stoker-api memory <<<$'[Service]\nMemoryMax=24M\nMemorySwapMax=0'
wait_for 60 healthy
check an_upload_beyond_the_apis_memory_ends_with_an_error fails cli upload burn /root/big
check the_api_goes_on_without_the_process_that_was_killed wait_for 60 healthy
killed_said() { in_machine journalctl -q --no-pager -u "$1" | grep -q 'OOM killer'; }
check and_its_log_says_why killed_said stoker-api
in_machine rm -r /etc/systemd/system/stoker-api.service.d
drop_in stoker-worker memory <<<$'[Service]\nMemoryMax=16M\nMemorySwapMax=0'
check the_log_of_a_worker_without_memory_says_why wait_for 120 killed_said stoker-worker
in_machine rm -r /etc/systemd/system/stoker-worker.service.d
anew
check with_memory_it_works_again good burn cpu share_half
check nothing_was_lost leaves 0 cli verify
