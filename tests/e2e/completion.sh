#!/bin/bash
# Completion in each shell, asked as a user's shell would be.
# Beside others: nothing is timed.
set -u
cd "$(dirname "$0")/../.."
. tests/lib/check.sh
: "${B:=build}"
PATH=$(cd "$B" && pwd):$PATH
temp=$(mktemp -d /tmp/stoker-completion-XXXXXX)
trap 'rm -rf "$temp"' EXIT

# Prints the completions of the last word, one per line.
in_bash() {
  bash --norc -c 'source <(stoker completion bash)
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    compopt() { echo "files"; }
    _stoker && printf "%s\n" "${COMPREPLY[@]}"' bash stoker "$@"
}
in_fish() {
  HOME=$temp fish --no-config -c 'stoker completion fish | source
    complete -C "$argv"' "stoker $*" | cut -f1
}
# zsh completes only on a terminal, so this prints what it writes there.
in_zsh() { # line
  HOME=$temp zsh -f -c '
    zmodload zsh/zpty
    zpty shell "PS1= TERM=dumb zsh -f -i"
    zpty -w shell "autoload compinit; compinit -u -d $HOME/dump; source <(stoker completion zsh)"
    zpty -w shell "zstyle \":completion:*\" list-grouped false; echo be\"\"gin"
    zpty -r -m shell line "*begin*"
    zpty -w -n shell "$1"$'"'\t\t'"'
    zpty -w shell "; echo e\"\"nd"
    zpty -r -m shell line "*end*"
    print -r -- "$line"' zsh "stoker $1"
}
has() { # candidate, command
  local want=$1 out
  shift
  out=$("$@") || return 1
  grep -qE -- "(^|[^a-z-])$want([^a-z-]|\$)" <<<"$out" || { echo "$out"; return 1; }
}
lacks() { ! has "$@" >/dev/null; }

for shell in bash fish; do
  check "${shell}_completes_a_command" equal "$(in_$shell ser | paste -sd' ')" 'series service'
  check "${shell}_completes_its_second_word" equal "$(in_$shell baseline re)" remove
  check "${shell}_completes_the_options_of_a_command" has --exe in_$shell service add web --e
  check "${shell}_offers_no_option_of_another" lacks --kind in_$shell run web --k
  check "${shell}_completes_the_value_of_an_option" equal "$(in_$shell run web --type go)" goroutine
  check "${shell}_offers_no_type_that_is_not_captured" lacks wall in_$shell run web --type ''
  check "${shell}_completes_a_key_of_the_configuration" equal "$(in_$shell config api.po)" api.pool
  check "${shell}_completes_what_help_explains" equal "$(in_$shell help trigger rem)" remove
done
check bash_completes_files_where_one_is_named equal "$(in_bash upload web '' | head -1)" files
touch "$temp/one.folded"
check fish_completes_files_where_one_is_named has one.folded in_fish upload web "$temp/one."
check zsh_completes_a_command has baseline in_zsh basel
check zsh_says_what_commands_do has 'List baselines' in_zsh 'baseline '
check zsh_completes_the_value_of_an_option has goroutine in_zsh 'run web --type go'

every_command_is_offered() {
  local first
  diff <(stoker completion bash -- '' | sort) \
    <(sed -n 's/^COMMAND([A-Z]*, *"\([a-z]*\).*/\1/p' app/cli/commands.def | sort -u)
}
check every_command_is_offered every_command_is_offered
