#!/bin/bash
# The house rules that a machine can check, such as the top level and SQL only
# under sql/. rooms.sh checks which room may include which.
#
# Beside others: nothing is timed.
set -u
cd "$(dirname "$0")/../.."

claim() { # name, findings: empty is fine
  if [ -z "$2" ]; then echo "ok $1"; else echo "not ok $1: $2"; fi
}
# Without git, or in another user's checkout, all files of the folder are
# checked.
files() { git ls-files 2>/dev/null || ls -A | grep -vxF "$(basename "${B:-build}")"; }
claim the_top_level_is_fixed "$(files | cut -d/ -f1 | sort -u |
  grep -vE '^(app|include|conf|sql|tests|systemd|Makefile|README\.md|\..*)$')"
claim sql_lives_under_sql "$(grep -rnE '"(SELECT|INSERT|UPDATE|DELETE|CREATE) ' app include --include='*.[ch]')"
claim nothing_is_left_half_done "$(grep -rInE '\b(TODO|FIXME|XXX|HACK)\b' app include sql systemd conf |
  grep -v 'tests/unit/source.sh')"
claim no_merge_is_left_half_done "$(grep -rInE '^(<{7}|>{7})( |$)' app include sql systemd conf tests)"

claim errors_are_in_order_of_status "$(sed -n 's/^ERROR(\(\w*\), *\([0-9]*\),.*/\2 \1/p' include/errors.def |
  awk '$1 < last { print $2 } { last = $1 }')"
# Formatters that wrap comments leave no blank after the star, or put the end of
# a section's title on the next line.
claim no_comment_is_torn "$(grep -rnE '^ \*[A-Za-z0-9(]|^/\* --- .*[^/]$' app include tests --include='*.[ch]')"

# The formatter does not wrap comments.
claim comments_end_at_column_80 "$(grep -rE '^\s*(/\*|\*) \S' app include tests --include='*.[ch]' | sed 's/:/\n/' |
  expand | awk 'NR % 2 { file = $0; next } length > 80 { print file ": " $0 }')"

claim every_claim_that_is_listed_is_in_its_test "$(grep -vE '^(#|$)' tests/claims.txt |
  while read -r subject test claim; do
    grep -qswF -- "$claim" "tests/$test".c "tests/$test".sh || echo "$subject: $test $claim"
  done)"
claim every_note_of_a_profile_and_every_reason_is_produced_by_a_test "$(comm -3 \
  <(sed -n 's/^QUALITY_NOTE(\(\w*\),.*/\1/p; s/^QUALITY_\(\(BREAK\|HIDDEN\)(\w*\),.*/\1/p' \
    app/capture/host/quality.def | tr '(' _ | sort) \
  <(grep -oE '^[A-Z0-9_]+ ' tests/claims.txt | tr -d ' ' | sort -u))"

claim each_decision_has_a_number_of_its_own "$(grep -oE '^[0-9]+\. ' include/DECISIONS | sort | uniq -d)"

# If archives are searched in order, the first definition hides the second.
claim no_symbol_is_defined_twice "$(nm -g --defined-only "${B:-build}"/lib[!t]*.a 2>/dev/null |
  awk 'NF == 3 && $2 ~ /[TDBR]/ { n++; if (seen[$3]++ == 1) printf "%s ", $3 }
       END { if (!n) printf "nothing is built in '"${B:-build}"'" }')"

claim no_header_defines_the_tag_of_another "$(grep -rhoE '^struct \w+ \{' app include --include='*.h' |
  sort | uniq -d)"

# LINK_MAX, for example, would have another value in files that include that
# header later, without a warning from the compiler.
claim no_macro_has_the_name_of_one_in_limits_h "$(comm -12 \
  <(echo '#include <limits.h>' | cc -D_GNU_SOURCE -dM -E - | awk '$2 !~ /^_/ { print $2 }' | sort -u) \
  <(grep -rhoE '^#define \w+' app include tests --include='*.[ch]' | awk '{ print $2 }' | sort -u))"

# No two files use each other: functions that both need belong in a third.
claim files_use_each_other_one_way "$(nm -A "${B:-build}"/lib[!t]*.a 2>/dev/null | awk '
  NF < 2 { next }
  { file = $1; sub(/:[0-9a-f]*$/, "", file); kind = $(NF - 1); symbol = $NF }
  kind ~ /^[TDBR]$/ { of[symbol] = file }
  kind == "U" { uses[file, symbol] = 1 }
  END { for (i in uses) { split(i, use, SUBSEP); to = of[use[2]]
          if (to && to != use[1]) print use[1], to } }' | tsort 2>&1 >/dev/null)"

# Test programs are tests/unit/*/*.c and tests/api/*.c, and those of bench, which
# measure; scripts are tests/*/*.sh.
claim every_test_lies_where_it_is_run "$(grep -rlE '^TEST(_EACH)?\(' tests --include='*.c' |
  grep -vE '^tests/(unit/[^/]+|api|bench)/[^/]+$'; find tests -mindepth 3 -name '*.sh')"
