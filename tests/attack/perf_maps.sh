#!/bin/bash
# A program's /tmp/perf-PID.map names only that program's code. Links to root's
# files, maps written by other users, and maps of a process with the same pid
# in another namespace are not used. No content of such a file ends a capture.
#
# Beside others: it waits for events.
. tests/lib/e2e.sh
. tests/lib/once.sh
[ "$(id -u)" -eq 0 ] || skip perf_maps 'only root may write files of others'
tmp=$(mktemp -d "$B/perf-maps-XXXXXX")
map=
leave() {
  kill -KILL $(jobs -p) 2>/dev/null
  wait 2>/dev/null # keeps the jobs' ends out of the log
  [ -z "$map" ] || rm -f "$map"
  rm -rf "$tmp"
}
trap leave EXIT
can_capture perf_maps || exit
target own "$B/targets/jit" 600 || { echo "not ok it_starts"; exit 1; }
map=/tmp/perf-$pid.map
read -r address size name <"$map"

# The capture must have samples below main, but none with this name.
is_captured() {
  once "$1" "$pid" --seconds 1 --rate 1000 && has "$1" '(^|;)main;' 1
}
is_not_named() { # capture, name
  is_captured "$1" && equal "$(samples "$1" "$2")" 0
}
is_named() { is_captured "$1" && has "$1" "$2" 1; }
check a_map_names_the_code_of_its_process is_named own "$name"

rm "$map"
install -m 600 <(echo "$address $size of_root") "$tmp/of-root"
ln -s "$tmp/of-root" "$map"
check a_link_to_another_file_is_not_read is_not_named link of_root
rm "$map"
echo "$address $size of_another" >"$map"
chown 65534 "$map"
check a_map_of_another_user_is_not_read is_not_named another of_another
rm "$map"
mkfifo "$map"
check a_map_that_is_a_pipe_holds_nobody is_captured pipe
rm "$map"
mkdir "$map"
check a_folder_is_no_map is_captured folder
rmdir "$map"

# Strings of a profile are UTF-8, even if the names are not.
printf '%s %s not\xff\xfeutf8\n' "$address" "$size" >"$map"
is_mended() { # capture
  is_captured "$1" && gzip -dc "$tmp/$1.pb.gz" | LC_ALL=C grep -qaF 'not\xff\xfeutf8'
}
check a_name_that_is_not_utf8_is_mended is_mended bytes

hostile() {
  echo "$address"
  echo "$address ffffffffffffffff over_all"
  echo "ffffffffffffffff $size above_all"
  echo "-1 -1 below_all"
  printf '%s %s %s\n' "$address" 0 empty "$address" "$size" $'\x01\xff;\x1b[2J'
  head -c 100000 /dev/zero
  printf '%s %s ' "$address" "$size"
  head -c 3000000 /dev/zero | tr '\0' x
  printf '\n%s' "$address $size"
}
hostile >"$map"
check hostile_lines_end_no_capture is_captured hostile
truncate -s 5G "$map"
check a_map_past_all_bounds_ends_no_capture is_captured huge
rm "$map"

# Two processes with pid 1, in separate namespaces, each with its own /tmp.
alone() {
  exec unshare --pid --mount --fork --kill-child sh -c \
    'mount -t tmpfs none /tmp && exec "$0" 600' "$B/targets/jit"
}
target alone alone || { echo "skip perf_maps: no namespaces"; exit 0; }
pid=$(pgrep -P "$pid")
map=/tmp/perf-$pid.map
check the_map_of_a_process_is_that_of_its_namespace is_named inner "$name"
read -r address size name <"/proc/$pid/root/tmp/perf-1.map"
echo "$address $size of_its_outer_pid" >"$map"
check a_map_of_its_outer_pid_is_not_read is_not_named outer of_its_outer_pid
