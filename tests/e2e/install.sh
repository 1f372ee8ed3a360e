#!/bin/bash
# make install into a folder: which files it installs, with which modes, and
# that they run from there.
#
# Beside others: nothing is timed.
set -u
cd "$(dirname "$0")/../.."
. tests/lib/check.sh
: "${B:=build}"
temp=$(mktemp -d /tmp/stoker-install-XXXXXX)
trap 'rm -rf "$temp"' EXIT
to=$temp/to

install_to() { # destination, prefix, names of another distribution
  local to=$1 prefix=$2
  shift 2
  make --no-print-directory B="$B" install DESTDIR="$to" PREFIX="$prefix" "$@"
}

expected() {
  cat <<'LIST'
644 /etc/nginx/sites-available/stoker
644 /etc/stoker/stoker.conf
644 /etc/sysctl.d/30-stoker.conf
755 /usr/bin/stoker
644 /usr/lib/stoker/libstoker-heap.so
644 /usr/lib/systemd/system/stoker-api.service
644 /usr/lib/systemd/system/stoker-api.socket
644 /usr/lib/systemd/system/stoker-keeper.service
644 /usr/lib/systemd/system/stoker-worker.service
644 /usr/lib/sysusers.d/stoker.conf
644 /usr/lib/tmpfiles.d/stoker.conf
755 /usr/libexec/stoker/pool
755 /usr/sbin/stoker-api
755 /usr/sbin/stoker-worker
644 /usr/share/bash-completion/completions/stoker
644 /usr/share/doc/stoker/examples/apache/stoker.conf
644 /usr/share/doc/stoker/examples/grafana/dashboard.json
644 /usr/share/doc/stoker/examples/grafana/dashboards.yaml
644 /usr/share/doc/stoker/examples/grafana/datasource.yaml
644 /usr/share/doc/stoker/examples/prometheus/scrape.yml
644 /usr/share/doc/stoker/examples/prometheus/stoker-dashboard.json
644 /usr/share/doc/stoker/examples/prometheus/stoker-rules.yml
644 /usr/share/doc/stoker/examples/services.d/go-service.json
644 /usr/share/doc/stoker/examples/services.d/nginx.json
644 /usr/share/doc/stoker/examples/services.d/postgresql.json
644 /usr/share/fish/vendor_completions.d/stoker.fish
644 /usr/share/man/man1/stoker.1
644 /usr/share/man/man5/stoker.conf.5
644 /usr/share/man/man7/stoker-ci.7
644 /usr/share/man/man7/stoker-comparison.7
644 /usr/share/man/man7/stoker-containers.7
644 /usr/share/man/man7/stoker-fleet.7
644 /usr/share/man/man7/stoker-glossary.7
644 /usr/share/man/man7/stoker-integrations.7
644 /usr/share/man/man7/stoker-operations.7
644 /usr/share/man/man7/stoker-security.7
644 /usr/share/man/man7/stoker-troubleshooting.7
644 /usr/share/man/man7/stoker-tutorial.7
644 /usr/share/man/man7/stoker.7
644 /usr/share/man/man8/stoker-api.8
644 /usr/share/man/man8/stoker-worker.8
644 /usr/share/stoker/nginx/fastcgi.conf
644 /usr/share/stoker/nginx/http.conf
644 /usr/share/stoker/nginx/site.conf
644 /usr/share/stoker/web/docs/docs.css
644 /usr/share/stoker/web/docs/docs.js
644 /usr/share/stoker/web/docs/dom.js
644 /usr/share/stoker/web/docs/form.js
644 /usr/share/stoker/web/docs/index.html
644 /usr/share/stoker/web/docs/manual.css
644 /usr/share/stoker/web/docs/manual.js
644 /usr/share/stoker/web/docs/spec.js
644 /usr/share/stoker/web/docs/try.js
644 /usr/share/stoker/web/docs/manual/index.html
644 /usr/share/stoker/api-network.conf
644 /usr/share/stoker/worker-network.conf
644 /usr/share/stoker/worker-sys-admin.conf
644 /usr/share/zsh/site-functions/_stoker
LIST
  # Each manual page is there.
  for page in conf/man/*.[1578]; do echo "644 /usr/share/stoker/web/docs/manual/${page##*/}.html"; done
  # The names of these files contain a hash.
  find "$B/ui" -type f -printf '644 /usr/share/stoker/web/ui/%P\n'
}
everything_is_there() {
  diff <(expected | sort -k2) <(cd "$to" && find . -type f -printf '%m %P\n' |
    sed 's| | /|' | sort -k2)
}
no_placeholder_is_left() { ! grep -rnE '@[A-Z]+@' "$to/etc" "$to/usr/share"; }
version_of() { "$to/usr/$1" --version | grep -qE '^stoker[a-z-]* [0-9]+\.[0-9]+'; }
configuration_is_read() {
  [ "$("$to/usr/bin/stoker" config store.dir --config "$to/etc/stoker/stoker.conf")" = /var/lib/stoker ]
}
# nginx accepts the site and its includes, with the paths of this folder.
nginx_takes_the_site() {
  sed "s|/usr/share/stoker|$to&|; s|listen [^;]*|listen unix:$temp/web|" \
    "$to/etc/nginx/sites-available/stoker" >"$temp/site"
  sed -i "s|/usr/share/stoker|$to&|; s|/var/log/nginx|$temp|" "$to"/usr/share/stoker/nginx/*.conf
  cat >"$temp/nginx.conf" <<CONF
pid $temp/pid;
error_log $temp/error.log;
events {}
http {
	client_body_temp_path $temp/body;
	fastcgi_temp_path $temp/fastcgi;
	proxy_temp_path $temp/proxy;
	uwsgi_temp_path $temp/uwsgi;
	scgi_temp_path $temp/scgi;
	include $temp/site;
}
CONF
  nginx -t -q -e "$temp/error.log" -p "$temp" -c "$temp/nginx.conf"
}
what_the_administrator_changed_stays() {
  echo '# mine' >>"$to/etc/stoker/stoker.conf"
  echo '# mine' >>"$to/etc/nginx/sites-available/stoker"
  install_to "$to" /usr >/dev/null || return 1
  grep -q '^# mine' "$to/etc/stoker/stoker.conf" &&
    grep -q '^# mine' "$to/etc/nginx/sites-available/stoker"
}
another_prefix_reaches_the_units() {
  install_to "$temp/local" /usr/local >/dev/null || return 1
  grep -q '^ExecStart=/usr/local/libexec/stoker/pool$' \
    "$temp/local/usr/local/lib/systemd/system/stoker-api.service" &&
    grep -q '/usr/local/sbin/stoker-api' "$temp/local/usr/local/libexec/stoker/pool" &&
    grep -q 'include /usr/local/share/stoker/nginx/http.conf' \
      "$temp/local/etc/nginx/sites-available/stoker"
}
another_distribution_has_its_own_names() {
  install_to "$temp/other" /usr UNITDIR=/lib/systemd/system NGINX_GROUP=nginx \
    SITE=/etc/nginx/conf.d/stoker.conf >/dev/null || return 1
  grep -q '^SocketGroup=nginx$' "$temp/other/lib/systemd/system/stoker-api.socket" &&
    grep -q 'u:nginx:x' "$temp/other/usr/lib/tmpfiles.d/stoker.conf" &&
    [ -e "$temp/other/etc/nginx/conf.d/stoker.conf" ] || return 1
  ! grep -rn www-data "$temp/other"
}
uninstall_leaves_configuration_only() {
  make --no-print-directory B="$B" uninstall DESTDIR="$1" PREFIX="$2" || return 1
  diff <(cd "$1" && find etc usr ! -type d | sort) - <<'LIST'
etc/nginx/sites-available/stoker
etc/stoker/stoker.conf
etc/sysctl.d/30-stoker.conf
LIST
}
no_folder_of_stokers_is_left() { ! find "$1/usr" -name '*stoker*' | grep .; }
# Replaces exec by echo, so that pool prints what it would start.
the_pool_follows_the_configuration() {
  local said
  printf '[api]\npool = 7\nheavy = 3\nrun_dir = /run/elsewhere\n' >"$temp/stoker.conf"
  sed "s|^exec|echo|" "$to/usr/libexec/stoker/pool" >"$temp/pool"
  said=$(PATH=$to/usr/bin:$PATH sh "$temp/pool" "$temp/stoker.conf" </dev/null) || return 1
  [[ $said == "spawn-fcgi -n -s /run/elsewhere/api.sock -M 0660 -- /"*"/multiwatch --forks=10 "* ]] ||
    { echo "$said"; return 1; }
}

check make_install_works install_to "$to" /usr
check everything_is_there_with_its_mode everything_is_there
check no_placeholder_is_left no_placeholder_is_left
for program in bin/stoker sbin/stoker-api sbin/stoker-worker; do
  check "${program#*/}_runs" version_of $program
done
check the_configuration_is_read configuration_is_read
check the_pool_follows_the_configuration the_pool_follows_the_configuration
check files_that_the_administrator_changed_stay what_the_administrator_changed_stays
check another_prefix_reaches_the_units another_prefix_reaches_the_units
check another_distribution_has_its_own_names another_distribution_has_its_own_names
check nginx_takes_the_site nginx_takes_the_site
check uninstall_leaves_configuration_only uninstall_leaves_configuration_only "$to" /usr
check uninstall_of_another_prefix_leaves_configuration_only uninstall_leaves_configuration_only "$temp/local" /usr/local
check no_folder_of_stokers_is_left no_folder_of_stokers_is_left "$to"
