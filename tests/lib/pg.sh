# A throw-away PostgreSQL from Debian, in $1/pg, which only its user may read;
# it listens on a socket there.
#
#	. tests/lib/pg.sh
#	pg_start FOLDER [SETTINGS]	$pg_data, $postmaster; -c NAME=VALUE ...
#	pg_run PROGRAM...	runs a program as its user, in the folder
#	pg_stop
#	pg_standby		starts a standby that commits wait for, as in
#				stoker-fleet(7), in $1/standby
#	pg_promote		makes the standby the server
#	pg_hosts		prints both, as host= of a DSN
. tests/lib/manual.sh
pg_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)

pg_run() {
  local as=()
  if [ "$(id -u)" -eq 0 ]; then # a server refuses to run as root
    as=(setpriv "--reuid=$pg_user" "--regid=$(id -gn "$pg_user")" --clear-groups)
  fi
  (cd "$pg_folder" && "${as[@]}" env -i PATH="$pg_bin:$PATH" LC_ALL=C.UTF-8 "$@")
}

pg_start() { # folder, settings
  pg_folder=$1 pg_data=$1/pg/data
  pg_user=$(id -un postgres 2>/dev/null || echo nobody)
  mkdir "$1/pg"
  [ "$(id -u)" -ne 0 ] || chown "$pg_user" "$1/pg"
  pg_run initdb -D pg/data -U stoker -A trust --no-sync >/dev/null &&
    pg_run pg_ctl -D pg/data -w -l pg/log -o "-c listen_addresses='' \
      -c unix_socket_directories='$1/pg' -c max_parallel_workers_per_gather=0 ${2-}" \
      start >/dev/null && postmaster=$(head -n 1 "$pg_data/postmaster.pid")
}

pg_standby() {
  mkdir "$pg_folder/standby"
  [ "$(id -u)" -ne 0 ] || chown "$pg_user" "$pg_folder/standby"
  pg_run pg_basebackup -h "$pg_folder/pg" -U stoker -D standby/data -R -X stream -c fast &&
    pg_run pg_ctl -D standby/data -w -l standby/log -o "-c listen_addresses='' \
      -c unix_socket_directories='$pg_folder/standby' -c max_parallel_workers_per_gather=0" start >/dev/null &&
    manual_block stoker-fleet.7 synchronous_standby_names |
    sed -n 's/^\(synchronous_[a-z_]*\) = \(.*\)/ALTER SYSTEM SET \1 = \2;/p; $a SELECT pg_reload_conf();' |
      pg_run psql -qX -v ON_ERROR_STOP=1 -h "$pg_folder/pg" -U stoker postgres >/dev/null
}

pg_promote() { pg_run pg_ctl -D standby/data -w promote >/dev/null; }

pg_hosts() { echo "$pg_folder/pg,$pg_folder/standby"; }

pg_stop() {
  [ ! -d "${pg_folder-}/standby/data" ] || pg_run pg_ctl -D standby/data -m immediate stop >/dev/null 2>&1
  [ -z "${pg_folder-}" ] || pg_run pg_ctl -D pg/data -m immediate stop >/dev/null 2>&1
}
