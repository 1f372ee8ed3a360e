#!/bin/bash
# README.md as a newcomer follows it: except in Install, each command runs as it
# is written, but for a shorter time, in one checkout, and does what the text
# promises. Then the same holds for commands and configurations of the manual,
# with another program: tests/manual.txt names those that other tests run.
#
# Beside others: it waits for events.
set -u
cd "$(dirname "$0")/../.."
. tests/lib/check.sh
. tests/lib/e2e.sh
. tests/lib/container.sh
. tests/lib/manual.sh
STATE=$(mktemp -d /var/tmp/stoker-e2e-XXXXXX)
PORT=$(free_port)
chmod 755 "$STATE"
trap e2e_stop EXIT
trap 'exit 1' INT TERM
shell=$STATE/shell # what the newcomer's shell has sourced
echo "export XDG_CONFIG_HOME=$STATE/config" >"$shell" # of this newcomer
mkdir "$STATE/there"
# Hosts that occur in examples of triggers and collectors.
allow=$'[webhook]\nallow = chat.example.org\n[collector]\nallow = localhost'

# Commands are indented; their output is fenced.
commands_of() { # title of a section
  awk -v title="## $1" '/^## / { on = $0 == title } on && sub(/^    /, "")' README.md |
    sed 's/ *#.*//'
}

in_shell() { (cd "$STATE/there" && . "$shell" && eval "$1" </dev/null) >"$STATE/out" 2>&1; }

# Runs a line of the README, in place of the newcomer's shell.
follow() { # command
  case $1 in
  apt-get*) return 0 ;; # what .ci/run does first
  "make run") WORKER_CONF=$allow DETACH=1 STATE=$STATE PORT=$PORT B=$B make run >"$STATE/out" 2>&1 || { cat "$STATE/out"; return 1; } ;;
  ". "*)
    echo "${1//build\/run/$STATE}" >>"$shell"
    (. "$shell" && stoker --json doctor) >"$STATE/out"
    return 0 # its findings depend on this machine: told() judges them
    ;;
  "stoker duel"*)
    # Two equal programs, which a short duel can't distinguish: status 2.
    in_shell "${1/--seconds 5m/--seconds 5s}" || [ $? -eq 2 ]
    ;;
  *) in_shell "$(sed -E 's/--seconds [0-9]{2,}s/--seconds 3s/' <<<"$1")" ;;
  esac
}
works() { follow "$1" || { echo "left with $?:"; cat "$STATE/out"; return 1; }; }
prints() { grep -q -- "$1" "$STATE/out" || { cat "$STATE/out"; return 1; }; }

section() {
  local line
  while read -r line; do
    case $line in
    "stoker check "*) # its exit status is its answer
      check "$line" judged "$line"
      ;;
    *) check "$line" works "$line" ;;
    esac
    told "$line"
  done < <(commands_of "$1")
}
judged() {
  follow "$1"
  [ $? -le 2 ] && prints 'against v1.2.0'
}

short_lines() { # but for links, and what a build prints
  local long
  long=$(sed -n '/^SELF %/,/^quality:/p' "$STATE/out" | sed 's/…/_/g' | awk 'length > 80')
  [ -z "$long" ] || { echo "$long"; return 1; }
}

new_token_lists() {
  (. "$shell" && stoker --token "$(stoker token create ci 2>/dev/null)" service list)
}

# Checks what the README promises about a command.
told() {
  case $1 in
  "make run")
    check make_run_shows_the_hottest_functions prints 'model::matmul'
    check lines_of_make_run_are_short_in_a_file short_lines
    ;;
  ". "*)
    check doctor_judges_what_make_run_started prints "$STATE/data, mode"
    check a_token_made_there_opens_its_services says ai-service new_token_lists
    check manuals_have_the_rows_of_their_tables grep -q 'It Sy run' "$STATE/man/man1/stoker.1"
    ;;
  "stoker top") check top_shows_what_is_busy prints "$STATE/bin/demo" ;;
  *"--all --seconds 10s --wait") check run_shows_the_whole_host prints "$STATE/bin/demo" ;;
  *"--seconds 10s --wait") check run_shows_the_hottest_functions prints 'model::matmul' ;;
  *"--type goroutine --wait") check run_shows_what_each_thread_waits_for prints 'waiting (condition variable)' ;;
  "stoker open "*) check the_link_opens_the_flame_graph leaves 0 curl -fsS -o /dev/null "$(grep ^http "$STATE/out")" ;;
  "stoker get "*) check the_file_is_a_profile gzip -t "$STATE/there/web.pb.gz" ;;
  "stoker compare "*) check compare_gives_a_verdict prints '^verdict: ' ;;
  "stoker continuous "*) check continuous_profiles_a_service_all_the_time prints 'is profiled all the time: cpu, goroutine; CPU at 19' ;;
  "stoker merge "*) check a_range_is_one_profile prints '^http://.*/merge' ;;
  "stoker history "*) check history_has_the_profiles prints '^sess-' ;;
  esac
}

section "Try it"
section Compare
section "All the time"

# --- the manual ---------------------------------------------------------------
# Pages whose commands "stoker ..." all run here.
pages='stoker-tutorial.7 stoker-troubleshooting.7 stoker-containers.7 stoker-operations.7 stoker-security.7 stoker-ci.7 stoker-integrations.7 stoker.1 stoker.7'
# Replaces names and times by those of this test.
as_here() { # command
  sed -E "s#--container web\b#$in_container#; s#--unit orders[.]service|/usr/local/bin/web#--exe $STATE/bin/orders#; s#--exe --exe#--exe#
    s#[$][(]docker .*[)]#$(<"$STATE/pid/orders")#; s#/var/backups/|/mnt/backup/#$STATE/backups/#
    s#\bSERVICE\b#orders#; s#\bFUNCTION\b|main[.]render#server::work#; s#--callers parse#--callers tokenizer::split#
    s#--seconds [0-9]+[sm]?#--seconds 1s#; /^stoker run .*--type alloc --wait/s#--wait#--seconds 1s --wait#
    s#2d/1d 1d/now#1h/10s 10s/now#; s#/srv/web/bin|[.]/web\b|build/server#$STATE/bin/orders#
    s#service add web#service add site#; s# (web|shop|postgres)( |\$)# orders\2#g
    s# --label version=1.4#$in_version#" <<<"$1"
}
page_works() { # page
  local line
  while read -r line; do
    case $line in
    "stoker setup"*) ;; # tests/machine/readme.sh
    "stoker check "*) check "$1 $line" settled 2 "$(as_here "$line")" ;;
    "stoker doctor"*) check "$1 $line" settled 1 "$(as_here "$line")" ;;
    "stoker restore"*) check "$1 $line is refused while it runs" refused "$(as_here "$line")" ;;
    *queryid) check "$1 $line says that there is none" nothing_has "$(as_here "$line")" ;;
    *) check "$1 $line" works "$(as_here "$line")" ;;
    esac
  done < <(manual_commands "$1" | grep '^stoker ')
}
settled() { # the largest exit status that is an answer, command
  follow "$2"
  [ $? -le "$1" ] || { cat "$STATE/out"; return 1; }
}
nothing_has() { ! follow "$1" && prints 'has sample[.]postgresql[.]queryid'; } # see queries.sh
refused() { ! follow "$1" && prints 'systemctl stop'; }
# Runs the script of stoker-ci(7) as it is printed there.
gate() {
  manual_block stoker-ci.7 '#!/bin/sh' | sed 's/--seconds 60s/--seconds 1s/' >"$STATE/there/profile-gate"
  follow "sh ./profile-gate orders release" && prints '^not enough data'
}

for name in demo go-demo; do process_stop "$name"; done # no longer needed
mkdir "$STATE/backups"
install -m 755 "$B/targets/demo" "$STATE/bin/orders"
background orders "$STATE/bin/orders" 2 10
# If control groups can be made, the program is in a container, too.
in_container="--exe $STATE/bin/orders" in_version=
if groups=$(container_groups); then
  trap 'process_stop orders; container_end "$groups"; e2e_stop' EXIT
  container_make "$groups" "web-$$" shop/web "$(<"$STATE/pid/orders")"
  in_container="--container web-$$" in_version=' --label version=1.4'
fi
page_works ${pages%% *}
follow 'stoker get orders --output cpu.pb.gz'
# A benchmark that runs for a moment.
printf '#!/bin/sh\ni=0\nwhile [ $((i += 1)) -lt 500000 ]; do :; done\n' >"$STATE/there/bench"
chmod 755 "$STATE/there/bench"
cp "$STATE/there/bench" "$STATE/there/bench-main"
cp "$STATE/there/bench" "$STATE/there/bench-change"
cp "$STATE/there/cpu.pb.gz" "$STATE/there/heap.prof"
mkdir -p "$STATE/there/cmd/web"
for page in $(tr ' ' '\n' <<<"${pages#* }" | grep stoker-); do
  page_works $page
done
check the_gate_of_a_pipeline_passes_a_service_that_costs_the_same gate

# A job's commands are printed by an expression of Ruby, which reads YAML.
steps() { manual_block stoker-ci.7 "$1" | ruby -ryaml -e "puts YAML.load(\$stdin.read)['profile']$2"; }
steps_of_jenkins() {
  manual_block stoker-ci.7 "stage('Profile')" | tr '\n' '\001' | grep -oE "sh '''[^']*'''|sh '[^']+'" |
    sed "s/^sh '*//; s/'*\$//" | tr '\001' '\n'
}
# The user's own commands deploy and load the service; gh posts the report.
for name in deploy load gh; do printf '#!/bin/sh\n[ "$1" != pr ] || cat stoker.md\n' >"$STATE/there/$name"; done
chmod 755 "$STATE"/there/{deploy,load,gh}
job() { # commands, the report that they leave
  rm -f "$STATE/there/$2"
  as_here "$1" | sed 's/\${{[^}]*}}/1/g' >"$STATE/there/job"
  settled 2 'PATH=$PWD:$PATH GITHUB_STEP_SUMMARY=summary bash -e job' &&
    { [ -s "$STATE/there/$2" ] || { cat "$STATE/out"; return 1; }; }
}
check the_job_for_github_works job "$(steps actions/checkout "['steps'].filter_map { _1['run'] }")" stoker.md
check the_job_for_gitlab_works job "$(steps 'stage: test' "['script']")" stoker.xml
check the_job_for_jenkins_works job "$(steps_of_jenkins)" stoker.xml

api_answers() {
  local lines
  lines=$(manual_commands stoker.7 API= | sed "s#:8088#:$PORT#; s#\"web\"#\"orders\"#; s#Seconds\": 10#Seconds\": 1#")
  TOKEN=$(<"$STATE/token")
  eval "$(head -n 2 <<<"$lines")"
  id=$(eval "$(sed -n 3p <<<"$lines")" | jq -r .id)
  says "$id" eval "$(sed -n "4s/PROFILE_ID/$id/p" <<<"$lines")"
}
check the_api_answers_as_the_manual_asks_it api_answers
# Sends to the address of a page, with a header of it that has the key.
asks() { # address, header, body
  curl -fsS "http://127.0.0.1:$PORT/${1#https://*/}" -H "${2/KEY/$(<"$STATE/token")}" -H 'Content-Type: application/json' -d "$3"
}
assistant_asks() {
  local block
  block=$(manual_block stoker-integrations.7 mcpServers | jq -r '.mcpServers.stoker | .url, (.headers | to_entries[] | "\(.key): \(.value)")')
  asks "${block%%$'\n'*}" "${block#*$'\n'}" '{"jsonrpc":"2.0","id":1,"method":"initialize",
    "params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}' |
    jq -e '.result.serverInfo != null'
}
check assistants_ask_with_the_configuration_of_the_manual assistant_asks
exporter_sends() {
  local block
  block=$(manual_block stoker-integrations.7 otlp_http)
  asks "$(sed -n 's/.*endpoint: //p' <<<"$block")" "$(sed -n 's/^ *Author/Author/p' <<<"$block")" '{}'
}
check exporters_send_to_the_address_of_the_manual exporter_sends

# Last, since triggers of these pages may start captures.
for page in $(tr ' ' '\n' <<<"$pages" | grep -v stoker-); do
  page_works $page
done

# perf is a separate program; its samples of a clock are enough.
recorded() { (cd "$STATE/there" && perf record -q -B -e cpu-clock -- sh bench && perf script) >"$STATE/out" 2>&1; }
if command -v perf >/dev/null && recorded; then
  upload=$(as_here "$(manual_commands stoker-comparison.7)")
  check "stoker-comparison.7 $upload" works "$upload"
else
  echo "skip stoker-comparison.7: perf does not work here: $(tail -n 1 "$STATE/out")"
fi

configured() { # page, text of the block
  manual_block "$1" "$2" >"$STATE/there/page.conf" && follow "stoker config --config page.conf" || { cat "$STATE/out"; return 1; }
}
while read -r page text; do
  check "$page $text is a configuration" configured "$page" "$text"
done <<'ROWS'
stoker-containers.7 [discover]
stoker-containers.7 [scope.shop]
stoker-fleet.7 database = postgresql
stoker-fleet.7 cert_file
stoker.conf.5 [scope.payments]
ROWS
process_stop orders

# make help must explain every target except those that targets call.
explained() {
  local target help
  help=$(env -u MAKEFLAGS make help) || return 1
  for target in $(awk '/^[.]PHONY:/ { on = 1 } on { print; on = /\\$/ }' Makefile | tr -d '\\' | sed 's/^.PHONY://'); do
    case $target in all | help | FORCE | check-built | deb-built | deb-suite | image-built | reproducible-built | toolchains | tools | native-deps | deps-and-pages | deps-of-few) continue ;; esac
    grep -qwF -- "$target" <<<"$help" || { echo "$target"; return 1; }
  done
}
check make_help_names_every_target explained
check the_readme_has_at_most_700_words [ "$(wc -w <README.md)" -le 700 ]
check pictures_of_the_readme_are_light equal "$(find conf/readme -name '*.png' -size +400k)" ""
links() { # every file that it names exists
  local file
  for file in $(grep -oE '\]\([^)h][^)]*\)' README.md | tr -d '])(') $(grep -oE '`(tests|conf|include)/[^` ]*`' README.md | tr -d '`'); do
    [ -e "$file" ] || { echo "$file is not there"; return 1; }
  done
}
check files_that_the_readme_names_are_there links
commands_have_a_manual() {
  local word
  for word in $(grep -oE '`?stoker [a-z]+' README.md | awk '{ print $2 }' | sort -u); do
    "$B/stoker" help "$word" >/dev/null || return 1
  done
}
check commands_that_the_readme_names_have_a_manual commands_have_a_manual
