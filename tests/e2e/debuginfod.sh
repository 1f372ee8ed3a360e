#!/bin/bash
# Debug files that this host lacks are fetched after a capture, from untrusted
# servers.
#
# Beside others: it waits for events.
: "${B:=build}"
command -v objcopy >/dev/null || { echo "skip debuginfod: no objcopy"; exit 0; }
. tests/lib/e2e.sh
tmp=$(mktemp -d /var/tmp/stoker-debuginfod-XXXXXX)
chmod 755 "$tmp"
web=$(free_port)
WORKER_CONF="debug_dir = $tmp/none
[symbols]
debuginfod = http://localhost:$web/first http://localhost:$web/second/
max_bytes = 1M
timeout = 2s"
other=
leave() { [ -z "$other" ] || kill "$other"; e2e_stop; rm -rf "$tmp"; }
e2e_start
trap leave EXIT

# Stripped targets.
declare -A id
# The build-id depends on code and debug information, so each variant has a
# different text.
variant() { # name
  sed "1i static const char variant_$1[] __attribute__((used)) = \"$1\";" \
    tests/targets/shares.c >"$tmp/$1.c"
  gcc -O2 -g -fomit-frame-pointer -Wl,--build-id -o "$tmp/$1.whole" "$tmp/$1.c" -lpthread &&
    objcopy --only-keep-debug "$tmp/$1.whole" "$tmp/$1.debug" &&
    strip -o "$STATE/bin/$1" "$tmp/$1.whole" || exit 1
  id[$1]=$(readelf -n "$STATE/bin/$1" | awk '/Build ID/ {print $3}')
}
for name in good wrong big moved absent slow page; do variant "$name"; done
head -c 2M /dev/zero >"$tmp/zeros"
cat "$tmp/big.debug" "$tmp/zeros" >"$tmp/big.file"
chmod 644 "$tmp"/*

# The first server gives only bad answers; the second one has one good file.
page() { echo "location = /$1/buildid/${id[$2]}/debuginfo { default_type application/octet-stream; $3 }"; }
cat >"$tmp/nginx.conf" <<CONF
pid $tmp/nginx.pid; error_log $tmp/error.log; worker_processes 1;
events {}
http {
  access_log $tmp/access.log;
  client_body_temp_path $tmp/body; proxy_temp_path $tmp/proxy;
  fastcgi_temp_path $tmp/fastcgi; uwsgi_temp_path $tmp/uwsgi; scgi_temp_path $tmp/scgi;
  server {
    listen 127.0.0.1:$web;
    $(page second good "alias $tmp/good.debug;")
    $(page first wrong "alias $tmp/good.debug;")
    $(page first big "alias $tmp/big.file;")
    $(page first page 'return 200 "<html>Log in</html>";')
    $(page second moved "return 302 http://localhost:$web/second/buildid/${id[good]}/debuginfo;")
    $(page second slow "alias $tmp/slow.debug; limit_rate 100;")
  }
}
CONF
nginx -e "$tmp/error.log" -c "$tmp/nginx.conf" || { echo "not ok nginx: $(cat "$tmp/error.log")"; exit 1; }
wait_for 10 test -s "$tmp/nginx.pid"
other=$(<"$tmp/nginx.pid")

folded() { api GET "$P/$1/flamegraph?format=folded"; }
samples() { folded "$1" | awk '{n += $NF} END {print n + 0}'; }
has_name() { folded "$1" | grep -q 'share_half '; }
run() { wake "$1" 1; } # name
asked() { grep -c "GET /$1/buildid/${id[$2]}/debuginfo" "$tmp/access.log"; }
cached() { echo "$STATE/data/debuginfod/${id[$1]}.debug"; }
kept() { [ -s "$(cached "$1")" ]; }
denied() { [ -f "$(cached "$1")" ] && [ ! -s "$(cached "$1")" ]; }
for name in good wrong big page absent; do
  background "$name" "$STATE/bin/$name" 1000 2
  service "$name" "$STATE/bin/$name" || exit 1
  rest "$name"
done

# --- a server that has it
first=$(run good)
check a_stripped_program_has_no_names_at_first [ "$(folded "$first" | grep -c share_half)" = 0 ]
check a_debug_file_is_fetched_after_the_capture wait_for 20 kept good
check the_first_server_is_asked_first [ "$(asked first good)" = 1 ]
check the_fetched_file_is_that_of_the_server cmp "$(cached good)" "$tmp/good.debug"
before=$(samples "$first")
check the_stored_profile_is_symbolized stoker_cli symbolize "$first"
check the_symbolized_profile_has_names has_name "$first"
check the_symbolized_profile_keeps_its_samples equal "$(samples "$first")" "$before"
second=$(run good)
check the_next_capture_has_names has_name "$second"
check no_server_is_asked_for_a_file_that_is_there equal "$(asked second good)" 1
check fetched_files_are_closed_to_other_users [ "$(stat -c %A "$(cached good)" | cut -c8-)" = "---" ]

# --- servers that do not have it
run wrong >/dev/null
check another_program_s_file_is_kept_at_first wait_for 20 kept wrong
third=$(run wrong)
check names_of_another_program_s_file_are_not_used [ "$(folded "$third" | grep -c share_half)" = 0 ]
check another_program_s_file_is_thrown_away wait_for 10 denied wrong
run absent >/dev/null
check a_file_that_no_server_has_is_remembered wait_for 20 denied absent
n=$(asked second absent)
run absent >/dev/null
run big >/dev/null
check a_file_that_is_too_large_is_refused wait_for 20 denied big
run page >/dev/null
check a_page_is_no_debug_file wait_for 20 denied page
check a_file_that_no_server_has_is_not_asked_for_again equal "$(asked second absent)" "$n"
check nothing_unfinished_stays_behind [ -z "$(ls -A "$STATE/data/debuginfod" | grep '^.tmp')" ]

# --- servers that can't say: each rests, so the worker is restarted
begin_anew() { # name
  process_stop worker
  worker_start
  background "$1" "$STATE/bin/$1" 1000 2
  service "$1" "$STATE/bin/$1" || exit 1
  rest "$1"
}
begin_anew moved
run moved >/dev/null
check a_redirect_is_not_followed wait_for 60 logged 'second.*HTTP 302'
check nothing_is_remembered_of_a_redirect [ ! -e "$(cached moved)" ]
begin_anew slow
slow=$(run slow)
check a_slow_server_is_given_up wait_for 60 logged 'second.*no answer in time'
check nothing_is_remembered_of_a_slow_server [ ! -e "$(cached slow)" ]
check a_slow_server_does_not_hold_up_its_capture \
  equal "$(api GET "$P/$slow" | jq -r .status)" completed
