#!/bin/bash
# Files that an installation adds to a machine: units, users, folders, pages,
# configuration. They are checked in a temporary root; nothing is started.
#
# Beside others: nothing is timed.
set -u
cd "$(dirname "$0")/../.."
. tests/lib/check.sh
. tests/lib/manual.sh
temp=$(mktemp -d /tmp/stoker-units-XXXXXX)
trap 'rm -rf "$temp"' EXIT
root=$temp/root

silent() { # command: any word on standard error is a failure, whatever it returns
  local said
  said=$("$@" 2>&1 >/dev/null) && [ -z "$said" ] || { echo "$said"; return 1; }
}

# The check of units needs only that the programs exist, so any executable will
# do; manuals are read.
mkdir -p "$temp"/bin/{ui,manual} "$root/usr/bin" "$root/usr/lib/systemd/system" "$root/etc"
for program in stoker stoker-api stoker-worker; do
  install -m 755 /bin/true "$temp/bin/$program"
done
: >"$temp/bin/libstoker-heap.so"
: >"$temp/bin/manual/index.html"
ln -s "${B:-build}/man" "$temp/bin/man"
B=$temp/bin DESTDIR=$root PREFIX=/usr conf/install || echo "not ok installs"
install -m 755 /bin/true "$root/usr/bin/kill"
for unit in sysinit basic multi-user sockets network nss-user-lookup shutdown; do
  printf '[Unit]\nDescription=%s\n' $unit >"$root/usr/lib/systemd/system/$unit.target"
done
api=$root/usr/lib/systemd/system/stoker-api.service
keeper=$root/usr/lib/systemd/system/stoker-keeper.service
worker=$root/usr/lib/systemd/system/stoker-worker.service

units_are_clean() {
  silent systemd-analyze verify --man=no --root="$root" \
    stoker-api.service stoker-api.socket stoker-keeper.service stoker-worker.service
}
drop_ins_are_clean() {
  mkdir -p "$root/etc/systemd/system/stoker-api.service.d"
  manual_block stoker.conf.5 PrivateNetwork=no | sed 's/ADDRESS/192.0.2.1/' \
    >"$root/etc/systemd/system/stoker-api.service.d/postgres.conf"
  install -D -m 644 "$root/usr/share/stoker/worker-sys-admin.conf" \
    "$root/etc/systemd/system/stoker-worker.service.d/sys-admin.conf"
  install -D -m 644 "$root/usr/share/stoker/worker-network.conf" \
    "$root/etc/systemd/system/stoker-worker.service.d/network.conf"
  install -D -m 644 "$root/usr/share/stoker/api-network.conf" \
    "$root/etc/systemd/system/stoker-api.service.d/network.conf"
  install -D -m 644 "$root/usr/share/stoker/api-network.conf" \
    "$root/etc/systemd/system/stoker-keeper.service.d/network.conf"
  units_are_clean
}
# The limit of exposure is in tenths, the unit that systemd uses.
exposed_at_most() {
  systemd-analyze security --offline=true --no-pager --threshold="$1" "$2"
}
users_are_made() {
  echo 'www-data:x:33:33::/:/usr/sbin/nologin' >"$root/etc/passwd"
  echo 'www-data:x:33:' >"$root/etc/group"
  systemd-sysusers --root="$root" stoker.conf &&
    grep -q '^stoker:' "$root/etc/passwd" &&
    grep -q '^stoker-worker:' "$root/etc/passwd"
}
folders_are_made() {
  systemd-tmpfiles --root="$root" --create stoker.conf &&
    [ "$(stat -c %a "$root/run/stoker")" = 2750 ] &&
    [ "$(stat -c %g "$root/run/stoker")" = 33 ] &&
    [ "$(stat -c %a "$root/var/lib/stoker/profiles" | tail -c 5)" = 2770 ]
}
# No mask of the API takes away the group's right to write, which the worker
# needs.
folders_made_later_are_the_groups() {
  (umask 007 && mkdir "$root/var/lib/stoker/profiles/ab") &&
    [ "$(stat -c %a "$root/var/lib/stoker/profiles/ab")" = 2770 ]
}
conf_is_current() {
  local make="awk -f conf/man/rows.awk -f conf/man/conf.awk include/config.def include/quotas.def include/scope.def"
  $make | diff conf/stoker.conf - || { echo "run: $make >conf/stoker.conf"; return 1; }
}
every_key_is_in_the_page() {
  local key page=$root/usr/share/man/man5/stoker.conf.5
  sed -n 's/^KEY([a-z]*, \([a-z_]*\),.*/\1/p; s/^QUOTA(\([a-z_]*\),.*/\1/p' include/config.def include/quotas.def | while read -r key; do
    grep -q "^\.It Sy $key " "$page" || { echo "$key is not in stoker.conf.5"; return 1; }
  done
}
every_command_is_in_the_page() {
  local name page=$root/usr/share/man/man1/stoker.1
  sed -n 's/^COMMAND([A-Z]*, *"\([a-z ]*\)",.*/\1/p' app/cli/commands.def | while read -r name; do
    grep -qE "^\.It Sy $name( No|\$)" "$page" || { echo "$name is not in stoker.1"; return 1; }
  done
}
# Compares the first words of each row with the text of the page.
every_note_and_error_is_in_the_page() {
  local text page=$root/usr/share/man/man7/stoker-troubleshooting.7 missing=
  text=$(tr '\n' ' ' <"$page" | sed 's/\\-/-/g; s/\\&//g; s/\\e/\\/g')
  while read -r first; do
    [[ ${text,,} == *"${first,,}"* ]] || missing+="$first; "
  done < <(sed -n 's/^QUALITY_NOTE([A-Z_0-9]*, *[A-Z]*, *[A-Z_]*, "\([^":;,%]*\).*/\1/p' app/capture/host/quality.def
    sed -n 's/^    "\([^":;,%\\]*\).*/\1/p' app/worker/ipc/capture_error.def
    sed -n 's/^ERROR(\([A-Za-z]*\),.*/\.It Sy \1 Pq/p' include/errors.def
    sed -n 's/^CHECK([A-Z_]*, *"[a-z]*", *"\([a-z ]*\)".*/\.It Sy \1 Pq/p' include/checks.def)
  [ -z "$missing" ] || { echo "not in stoker-troubleshooting.7: $missing"; return 1; }
}
pages_are_clean() { silent mandoc -T lint -W warning,stop "$root"/usr/share/man/man*/*; }
# A block that readme.sh does not run has a row, each row has a block, and the
# file of the row reads the page, or states what it runs instead.
blocks_of_the_manual_are_run() {
  local page text file why wrong=
  while IFS=$'\t' read -r page text file why; do
    [ -n "$(manual_block "$page" "$text")" ] || wrong+="$page has no '$text'; "
    [ "$file" = none ] || [ -e "$file" ] || wrong+="no $file; "
    case $file in none | conf/*) continue ;; esac
    [ -n "$why" ] || grep -qF "${page%.*}" "$file" || wrong+="$file does not name $page; "
  done < <(sed '/^#/d' tests/manual.txt)
  for page in conf/man/*.[1578]; do
    page=${page##*/}
    while IFS= read -r text; do
      awk -F '\t' -v page="$page" -v text="$text" '$1 == page && index(text, $2) { found = 1 } END { exit !found }' tests/manual.txt ||
        wrong+="$page: no row has ${text:0:60}; "
    done < <(blocks_to_name "$page")
  done
  [ -z "$wrong" ] || { echo "$wrong"; return 1; }
}
# Prints each such block on one line.
blocks_to_name() { # page
  awk -v ours="$(grep -cwF "$1" <<<"$run_pages")" '
    /^\.Bd -literal/ { on = 1; block = ""; other = !ours; next }
    /^\.Ed/ { if (on && other) print block; on = 0 }
    on { gsub(/\\-/, "-"); gsub(/\\\(aq/, "\047"); block = block $0 " "
      if (!more && $0 !~ /^[$#] stoker /) other = 1; more = /\\e$/ }' "conf/man/$1"
}
run_pages=$(sed -n "s/^pages='\(.*\)'$/\1/p" tests/e2e/readme.sh)
# The table of README names the versions of these tables, and no others.
versions_of_the_readme_are_those_of_tables() {
  local wrong= words
  for words in "Python 3.$(versions PYTHON | head -n 1)–3.$(versions PYTHON | tail -n 1)" \
    "Ruby $(versions RUBY | paste -sd /)" \
    "PHP $(versions PHP | head -n 1)–$(versions PHP | tail -n 1)" \
    "Perl $(versions PERL | head -n 1)–$(versions PERL | tail -n 1)"; do
    grep -qF "$words" README.md || wrong+="README.md lacks '$words'; "
  done
  [ -z "$wrong" ] || { echo "$wrong"; return 1; }
}
versions() { sed -n "s/^$1(\([0-9.]*\),.*/\1/p" app/capture/*/*_versions.def; }
# A word such as No is a macro of mdoc(7) there, and is not printed.
headings_have_no_macros() {
  ! grep -nE '^[.]S[hs] (.* )?(A[dnrt]|B[xq]|C[dm]|D[ov]|E[mrv]|F[aln]|I[cn]|Li|M[es]|N[mos]|O[px]|P[af]|Qq|S[oqtxy]|Tn|V[at]|Xr)( |$)' conf/man/*.[1-8]
}
# man(1) breaks the last column of a table that is wider than a screen.
tables_fit_a_screen() {
  ! for page in conf/man/*.[1-8]; do
    man --warnings=break -P cat -l "$page" 2>&1 >/dev/null | sed "s|^|$page: |"
  done | grep "can't break"
}
errors_of_nginx_are_the_apis() {
  local code wrong=
  for code in $(sed -n '/^map $status $stoker_error_code/,/^}/s/.* \([A-Z][A-Za-z]*\);$/\1/p' conf/nginx/http.conf); do
    grep -q "^ERROR($code," include/errors.def || wrong+="$code "
  done
  [ -z "$wrong" ] || { echo "not in errors.def: $wrong"; return 1; }
}
# The errors of nginx and Apache name the limits that are set.
limits_of_bodies_are_those_that_errors_name() {
  local file most wrong=
  most=$(sed -n 's/^KEY(upload, max_bytes, BYTES, "\([^"]*\)".*/\1/p' include/config.def)
  for file in conf/nginx/http.conf conf/apache/stoker.conf; do
    grep -q "here 64 MiB; .* stoker.conf, $most unless\|\"64 MiB; .* stoker.conf, $most unless" "$file" || wrong+="$file "
  done
  [ "$(grep -c 'client_max_body_size 64m;' conf/nginx/site.conf)" = 6 ] || wrong+="site.conf: 64m "
  grep -q '^client_max_body_size 1m;' conf/nginx/site.conf || wrong+="site.conf: 1m "
  grep -q 'LimitRequestBody 67108864$' conf/apache/stoker.conf || wrong+="stoker.conf: 64m "
  [ -z "$wrong" ] || { echo "$wrong"; return 1; }
}

check units_are_clean units_are_clean
check drop_ins_are_clean drop_ins_are_clean
check the_api_unit_is_sandboxed exposed_at_most 3 "$api"
check the_keeper_unit_is_sandboxed exposed_at_most 3 "$keeper"
check the_worker_unit_is_sandboxed exposed_at_most 30 "$worker"
if [ "$(id -u)" -eq 0 ]; then
  check users_are_made users_are_made
  check folders_are_made folders_are_made
  check folders_made_later_are_the_groups folders_made_later_are_the_groups
else
  echo "skip users_are_made: needs root"
  echo "skip folders_are_made: needs root"
  echo "skip folders_made_later_are_the_groups: needs root"
fi
check the_shipped_configuration_has_every_key conf_is_current
check every_key_is_in_the_page every_key_is_in_the_page
check every_command_is_in_the_page every_command_is_in_the_page
check every_note_and_error_is_in_the_page every_note_and_error_is_in_the_page
check pages_are_clean pages_are_clean
check blocks_of_the_manual_are_run blocks_of_the_manual_are_run
check versions_of_the_readme_are_those_of_tables versions_of_the_readme_are_those_of_tables
check headings_of_pages_have_no_macros headings_have_no_macros
check tables_of_pages_fit_a_screen tables_fit_a_screen
check errors_of_nginx_are_the_apis errors_of_nginx_are_the_apis
check limits_of_bodies_are_those_that_errors_name limits_of_bodies_are_those_that_errors_name

# A folder of the package is a mount point, and the service's users have put
# links into other folders, or in their place.
purged() {
  mkdir "$temp/outside" && : >"$temp/outside/file" || return
  unshare --mount sh -ec 'mount -t tmpfs none /var
    mount -t tmpfs none /run
    mkdir -p /var/lib/stoker/profiles /var/lib/misc /run/stoker
    mount -t tmpfs none /var/lib/stoker
    for link in /var/lib/stoker/a /run/stoker/a /var/lib/stoker-worker; do ln -s "$1" "$link"; done
    sed /#DEBHELPER#/d conf/debian/stoker.postrm >"$1.sh"
    sh -e "$1.sh" purge 2>/dev/null
    ls -A /var/lib /var/lib/stoker; [ ! -e /run/stoker ]' - "$temp/outside" >"$temp/left" &&
    equal "$(tr '\n' ' ' <"$temp/left")" '/var/lib: misc stoker  /var/lib/stoker: ' &&
    [ -e "$temp/outside/file" ]
}
# Before an upgrade and a removal, the service's user has replaced by links
# what is made or removed.
upgraded() {
  local hostile=$temp/hostile
  mkdir -m 755 "$hostile" && mkdir -m 700 "$hostile/outside" && : >"$hostile/outside/file" || return
  sed 's/\<stoker stoker\>/nobody nogroup/; s/\<stoker www-data\>/nobody www-data/' \
    systemd/stoker.tmpfiles.conf >"$hostile/tmpfiles.conf"
  of_outside() { ls -lnd "$hostile/outside" "$hostile/outside/file"; }
  of_outside >"$hostile/before"
  unshare --mount sh -ec 'mount -t tmpfs none /var
    mount -t tmpfs none /run
    mkdir -p /var/lib/stoker /run/stoker /var/lib/misc
    chown nobody /var/lib/stoker /run/stoker
    plant() { setpriv --reuid nobody --clear-groups ln -s "$1" "$2"; }
    plant "$1/outside" /var/lib/stoker/profiles
    plant "$1/outside/file" /var/lib/stoker/segments
    plant "$1/outside/file" /var/lib/stoker/go-rates
    plant "$1/outside" /run/stoker/outside
    systemd-tmpfiles --create "$1/tmpfiles.conf" 2>/dev/null || :
    for step in "postinst configure 0.1.0" "postrm upgrade 0.2.0" "postrm remove"; do
      sed /#DEBHELPER#/d "conf/debian/stoker.${step%% *}" >"$1/script"
      sh -e "$1/script" ${step#* }
    done
    ls -A /var/lib/stoker; [ ! -e /run/stoker ]' - "$hostile" >"$temp/left" &&
    equal "$(tr '\n' ' ' <"$temp/left")" 'profiles segments ' && of_outside | diff "$hostile/before" -
}
for claim in a_purge_empties_a_mount_point_and_follows_no_link:purged \
  an_upgrade_follows_no_link_of_the_service_s_user:upgraded; do
  if [ "$(id -u)" -eq 0 ]; then
    check "${claim%:*}" "${claim#*:}"
  else
    echo "skip ${claim%:*}: needs root"
  fi
done
