#!/bin/bash
# The house rules that a machine can check: one-way includes, the top level,
# SQL only under sql/.
set -u
cd "$(dirname "$0")/../.."

claim() { # name, findings: empty is fine
  if [ -z "$2" ]; then echo "ok $1"; else echo "not ok $1: $2"; fi
}
# A directory may include headers of its own and of these.
declare -A may=(
  [base]="base" [profile]="base profile" [store]="base profile store"
  [endpoint]="base profile store endpoint" [api]="base profile store endpoint api"
  [capture]="base profile capture" [worker]="base profile store capture worker"
  [cli]="base profile store cli"
)
wrong=
for dir in "${!may[@]}"; do
  for f in $(find "app/$dir" "include/$dir" -name '*.[ch]' 2>/dev/null); do
    for want in $(sed -n 's|^#include "\([a-z_]*\)/.*|\1|p' "$f"); do
      [[ " ${may[$dir]} " == *" $want "* ]] || wrong+="$f->$want "
    done
  done
done
claim includes_point_one_way "$wrong"

claim the_top_level_is_fixed "$(git ls-files 2>/dev/null | cut -d/ -f1 | sort -u |
  grep -vE '^(app|include|conf|sql|tests|systemd|Makefile|README\.md|\..*)$')"
claim sql_lives_under_sql "$(grep -rnE '"(SELECT|INSERT|UPDATE|DELETE|CREATE) ' app include --include='*.[ch]')"
claim nothing_is_left_half_done "$(grep -rnE '\b(TODO|FIXME|XXX|HACK)\b' app include sql systemd conf |
  grep -v 'tests/unit/source.sh')"
