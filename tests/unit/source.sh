#!/bin/bash
# The house rules that a machine can check: the top level, SQL only under
# sql/. Which room may include which is checked by rooms.sh.
set -u
cd "$(dirname "$0")/../.."

claim() { # name, findings: empty is fine
  if [ -z "$2" ]; then echo "ok $1"; else echo "not ok $1: $2"; fi
}
# Without git, or in another user's checkout, the folder is all there is to see.
files() { git ls-files 2>/dev/null || ls -A | grep -vxF "$(basename "${B:-build}")"; }
claim the_top_level_is_fixed "$(files | cut -d/ -f1 | sort -u |
  grep -vE '^(app|include|conf|sql|tests|systemd|Makefile|README\.md|\..*)$')"
claim sql_lives_under_sql "$(grep -rnE '"(SELECT|INSERT|UPDATE|DELETE|CREATE) ' app include --include='*.[ch]')"
claim nothing_is_left_half_done "$(grep -rInE '\b(TODO|FIXME|XXX|HACK)\b' app include sql systemd conf |
  grep -v 'tests/unit/source.sh')"

# Programs are made of tests/unit/*/*.c and tests/api/*.c; scripts are run of
# tests/*/*.sh.
claim every_test_lies_where_it_is_run "$(grep -rlE '^TEST\(' tests --include='*.c' |
  grep -vE '^tests/(unit/[^/]+|api)/[^/]+$'; find tests -mindepth 3 -name '*.sh')"

# A comment begins with the thing it is about.
claim comments_begin_with_their_subject "$(
  find app include sql -name '*.[ch]' -o -name '*.def' -o -name '*.sql' |
    sort | xargs awk '
      FNR == 1 { first = 0 }
      /\/\*+ *(What|Of|The same) / ||
      (first && /^[\t ]*(\*|--) (What|Of|The same) /) {
        printf "%s:%d ", FILENAME, FNR
      }
      { first = /^[\t ]*\/\*+$/ || (FILENAME ~ /[.]sql$/ &&
          (!/^[\t ]*--/ || /^-- (name|compatible|dialect):/)) }')"
