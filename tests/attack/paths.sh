#!/bin/bash
# A tenant names paths of programs and pid files. They may be links or files of
# any kind. Nothing outside the tenant's scope gets profiled, no content of a
# file is revealed, and nothing waits for a file.
#
# Beside others: it waits for events.
set -u
. tests/lib/e2e.sh
[ "$(id -u)" -eq 0 ] || skip paths 'only root gives programs to users of their own'
tmp=$(mktemp -d /var/tmp/stoker-paths-XXXXXX)
chmod 755 "$tmp"
leave() { e2e_stop; rm -rf "$tmp"; }
trap leave EXIT
WORKER_CONF="
[scope.guest]
exe = $tmp/guest/"
e2e_start
mkdir "$tmp/guest" "$tmp/host"
install -m 755 "$B/targets/shares" "$tmp/host/shares"
install -m 755 "$B/targets/shares" "$tmp/guest/own"
background host "$tmp/host/shares" 900 1 20
background guest "$tmp/guest/own" 900 1 20
host=$(<"$STATE/pid/host") guest=$(<"$STATE/pid/guest")
key=$(stoker_cli --json token create guest --role admin --tenant guest \
  --config "$STATE/stoker.conf" | jq -r .key)
as_guest() { # method, path, curl's arguments
  curl -sS -X "$1" "http://127.0.0.1:$PORT$2" -H "Authorization: Bearer $key" \
    -H 'Content-Type: application/json' "${@:3}"
}
matched() { # kind, path: the pids of a service that is matched by this path
  local name=s$BASHPID answer
  answer=$(as_guest POST /api/v1/services -d "{\"name\":\"$name\",\"match\":{\"$1\":\"$2\"}}")
  jq -e .name <<<"$answer" >/dev/null || { jq -r .error_code <<<"$answer"; return; }
  as_guest POST /api/v1/services -d "{\"name\":\"last$name\",\"match\":{\"exe\":\"$tmp/guest/own\"}}" -o /dev/null
  # Services are looked at in order: once the second has processes, the first
  # was looked at.
  wait_for 20 known "last$name"
  as_guest GET "/api/v1/services/$name/processes" | jq -c '[.items[].pid]'
}
known() { as_guest GET "/api/v1/services/$1/processes" | jq -e '.items | length > 0'; }

as_guest POST /api/v1/services -d "{\"name\":\"own\",\"match\":{\"exe\":\"$tmp/guest/own\"}}" -o /dev/null
check a_program_of_the_tenant_is_matched equal "$(matched exe "$tmp/guest/own")" "[$guest]"
# --- programs ------------------------------------------------------------------
ln -s "$tmp/host/shares" "$tmp/guest/link"
check a_link_matches_no_program_of_others equal "$(matched exe "$tmp/guest/link")" '[]'
ln "$tmp/host/shares" "$tmp/guest/hard"
check a_hard_link_matches_no_program_of_others equal "$(matched exe "$tmp/guest/hard")" '[]'
ln -s "$tmp/host" "$tmp/guest/folder"
check a_link_to_a_folder_matches_no_program_of_others equal "$(matched exe "$tmp/guest/folder/shares")" '[]'
for path in "$tmp/guest/../host/shares" "$tmp/guest/.." "$tmp/guest/./../host/shares"; do
  check "a_path_that_leaves_is_refused.${path##*guest/}" eval \
    '[[ "$(matched exe "$path")" =~ ^(ScopeForbidden|InvalidParameter|\[\])$ ]]'
done

# --- pid files -------------------------------------------------------------------
echo "$guest" >"$tmp/guest/pid"
check a_pid_file_names_its_own_process equal "$(matched pidFile "$tmp/guest/pid")" "[$guest]"
echo "$host" >"$tmp/guest/other"
check a_pid_file_names_no_process_of_others equal "$(matched pidFile "$tmp/guest/other")" '[]'
ln -s /proc/self/stat "$tmp/guest/self"
check a_pid_file_that_links_into_proc_names_no_process equal "$(matched pidFile "$tmp/guest/self")" '[]'
mkfifo "$tmp/guest/pipe"
check a_pid_file_that_is_a_pipe_holds_nobody equal "$(matched pidFile "$tmp/guest/pipe")" '[]'
ln -s /dev/zero "$tmp/guest/endless"
check a_pid_file_that_is_a_device_holds_nobody equal "$(matched pidFile "$tmp/guest/endless")" '[]'
truncate -s 1T "$tmp/guest/huge"
check a_huge_pid_file_holds_nobody equal "$(matched pidFile "$tmp/guest/huge")" '[]'
check a_folder_is_no_pid_file equal "$(matched pidFile "$tmp/guest")" '[]'
for text in -1 0 1 99999999999999999999 0x10 "$guest$guest" "$host
$guest"; do
  printf '%s\n' "$text" >"$tmp/guest/text"
  check "no_number_in_it_is_taken_for_another.$(head -n1 "$tmp/guest/text")" equal "$(matched pidFile "$tmp/guest/text")" '[]'
done
# A secret file that begins with a number: the rest of it must not be revealed.
(umask 077 && echo "$guest secret-words" >"$tmp/secret")
ln -s "$tmp/secret" "$tmp/guest/leads"
matched pidFile "$tmp/guest/leads" >/dev/null
check nothing_of_a_file_is_logged_or_stored leaves 1 grep -rq secret-words "$STATE/log" "$STATE/data"
check the_worker_still_captures equal "$(
  id=$(as_guest POST $P/start -d '{"service":"own","profileType":"cpu","durationSeconds":1}' | jq -r '.id // error')
  wait_for 30 eval "as_guest GET $P/$id | jq -e '.status == \"completed\"'"
  as_guest GET "$P/$id" | jq -r .status)" completed
