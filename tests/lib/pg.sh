# A throwaway PostgreSQL of Debian's, in $1/pg, that only its own user may look
# into; it listens on a socket there.
#
#	. tests/lib/pg.sh
#	pg_start FOLDER [SETTINGS]	$pg_data, $postmaster; -c NAME=VALUE ...
#	pg_run PROGRAM...	as its user, in the folder
#	pg_stop
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

pg_stop() { [ -z "${pg_folder-}" ] || pg_run pg_ctl -D pg/data -m immediate stop >/dev/null 2>&1; }
