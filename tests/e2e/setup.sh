#!/bin/bash
# stoker setup makes the first key in a store that no server uses yet.
# Beside others: nothing is timed.
set -u
. "$(dirname "$0")/../lib/e2e.sh"
STATE=$(mktemp -d /var/tmp/stoker-setup-XXXXXX)
chmod 755 "$STATE"
trap 'rm -rf "$STATE"' EXIT
PORT=8088
stack_folder
stack_conf

setup() { # home, arguments
  local home=$1
  shift
  env -u XDG_CONFIG_HOME HOME="$home" "$B/stoker" setup --config "$STATE/stoker.conf" "$@"
}
keys() { sqlite3 "$STATE/data/stoker.db" 'SELECT count(*) FROM token'; }
fails() { # text of the error, command
  local text=$1 out
  shift
  out=$("$@" 2>&1) && { echo "done: $out"; return 1; }
  grep -qF -- "$text" <<<"$out" || { echo "$out"; return 1; }
}
own=$STATE/own/.config/stoker/token

said=$(setup "$STATE/own" 2>&1)
check setup_succeeds equal $? 0
id=$(grep -o 'tok-[a-z2-7]*' <<<"$said")
check the_key_of_setup_is_in_the_file_that_the_command_line_reads grep -qE '^stk_[A-Za-z0-9]{40}$' "$own"
check the_file_of_the_key_is_closed_to_others equal "$(stat -c %a "$own")" 600
check the_folder_of_the_key_is_closed_to_others equal "$(stat -c %a "${own%/token}")" 700
check the_key_is_an_admins_of_the_default_tenant equal "$(sqlite3 "$STATE/data/stoker.db" \
  'SELECT role, tenants FROM token')" 'admin|default'
check the_audit_log_names_who_made_it equal "$(sqlite3 "$STATE/data/stoker.db" \
  "SELECT actor FROM audit WHERE action = 'CreateToken'")" 'stoker setup'
check the_output_of_setup_fits_on_a_screen test "$(wc -l <<<"$said")" -le 8
check setup_does_not_print_the_key equal "$(grep -c "$(<"$own")" <<<"$said")" 0
check the_store_belongs_to_its_owner equal "$(find "$STATE/data" ! -user "$RUN_USER")" ""

before=$(<"$own")
check a_second_setup_names_the_key_that_is_there equal "$(setup "$STATE/own" --json | jq -r '.id, .made')" "$id
false"
check a_second_setup_leaves_the_file_of_the_key_as_it_is equal "$(<"$own")" "$before"
check another_user_gets_no_second_key fails "has an admin's key, $id" setup "$STATE/another"
check another_user_gets_no_empty_file test ! -e "$STATE/another/.config/stoker/token"

mkdir -p "$STATE/old/.config/stoker"
echo stk_of_another_store >"$STATE/old/.config/stoker/token"
check a_key_of_another_store_is_kept fails 'does not open this store' setup "$STATE/old"
check a_key_of_another_store_is_not_overwritten equal "$(<"$STATE/old/.config/stoker/token")" stk_of_another_store
touch "$STATE/file"
check setup_names_a_folder_that_cannot_be_made fails "$STATE/file/.config" setup "$STATE/file"
check setup_without_a_home_makes_nothing fails 'HOME is not set' setup ''
check one_key_was_made_in_all equal "$(keys)" 1
