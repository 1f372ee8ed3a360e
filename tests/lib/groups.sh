# Control groups of tests, in version 1 or 2 of the kernel's hierarchies.
#
#	memory_group NAME BYTES	makes a group with a limit of memory, and prints its
#				folder; fails where this machine limits none
#	ended GROUP		prints how many processes were ended for their memory
#	anonymous GROUP		prints the bytes that the kernel cannot reclaim
#	apart PID...		moves each process to a unit of its own, as programs
#				of other users are
#	apart_end		removes these units, once their processes have ended
memory_group() {
  local root group most
  for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    group=$root/stoker-$$-$1
    mkdir "$group" 2>/dev/null || continue
    for most in "$group/memory.limit_in_bytes" "$group/memory.max"; do
      [ ! -e "$most" ] || { echo "$2" >"$most" && echo "$group"; return; }
    done
    rmdir "$group"
  done
  return 1
}
ended() { sed -n 's/^oom_kill //p' "$1/memory.oom_control" "$1/memory.events" 2>/dev/null; }
anonymous() { sed -n 's/^\(total_rss\|anon\) //p' "$1/memory.stat"; }

units=()
apart() {
  local pid root unit
  for pid; do
    for root in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified /sys/fs/cgroup; do
      unit=$root/stoker-$$-$pid.service
      mkdir "$unit" 2>/dev/null || continue
      units+=("$unit")
      echo "$pid" >"$unit/cgroup.procs" && break
    done
  done
}
apart_end() {
  local unit
  for unit in "${units[@]}"; do wait_for 5 rmdir "$unit"; done
}
