# A centre of a fleet: what conf/run/lib.sh starts, on a server's database,
# with a second pool of the API if POOLS=2, and without a worker.
#
#	. tests/lib/e2e.sh
#	. tests/lib/centre.sh
#	POOLS=2		number of pools
#	API_CONF	sets [store] database
#	e2e_start
#	centre_stop	stops what e2e_stop does not
stack_start() {
  stack_folder
  stack_programs
  stack_conf
  as_user "$STATE/bin/stoker" migrate --config "$STATE/stoker.conf" >/dev/null ||
    fail 'the database has no schema'
  stack_token
  stack_env
  api_start
  [ "${POOLS:-1}" = 1 ] || second_pool
  nginx_start || fail "nginx did not start: see $STATE/log/stoker-error.log"
  # Waits for healthz, since the API is not ready while no worker is alive.
  wait_for 15 curl -fsS -o /dev/null "http://127.0.0.1:$PORT/healthz" ||
    fail 'the API does not answer'
}

# Both pools are servers of nginx's upstream: requests that one loses go to the
# other one.
second_pool() {
  sed "s|^run_dir = .*|run_dir = $STATE/run2|" "$STATE/stoker.conf" >"$STATE/stoker2.conf"
  mkdir "$STATE/run2"
  [ "$(id -u)" -ne 0 ] || chown "$RUN_USER:$RUN_GROUP" "$STATE/run2"
  chmod 2755 "$STATE/run2"
  sed -i '0,/^\tserver unix:/s|run/api.sock|run2/api.sock|' "$STATE/nginx/http.conf"
  api_start 2
}

centre_stop() { process_stop api2; }
