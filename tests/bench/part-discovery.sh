# Containers that become services automatically.

CONTAINERS=100
EACH=5 # processes

if wanted discover_ms discover_cpu_pct; then
  . tests/lib/container.sh
  groups=$(container_groups) || exit 1
  WORKER_CONF=$'[discover]\nauto = containers\nservices = 1000\n'"tenant = $TENANT"
  e2e_start
  made=()
  discovery_end() {
    local id
    for id in "${made[@]}"; do
      xargs kill <"$groups/docker-$id.scope/cgroup.procs"
      container_id=$id container_end "$groups"
    done
    e2e_stop
  }
  trap discovery_end EXIT
  new_container() { # name
    local i
    background first sleep 1000
    container_make "$groups" "$1" registry.example/bench "$(<"$STATE/pid/first")"
    for ((i = 1; i < EACH; i++)); do
      background other sleep 1000
      cat "$STATE/pid/other" >"$groups/docker-$container_id.scope/cgroup.procs"
    done
    made+=("$container_id")
  }
  services() { sqlite3 "$STATE/data/stoker.db" "SELECT COUNT(*) FROM service WHERE match_kind = 'container' $1"; }
  has() { [ "$(services "$1")" -ge "$2" ]; }
  for ((i = 1; i <= CONTAINERS; i++)); do new_container "bench$i"; done
  wait_for 60 has "" $CONTAINERS || exit 1
  read -rt 40 <> <(:) # until no process is young
  pids="$(<"$STATE/pid/worker") $(pgrep -P "$(<"$STATE/pid/worker")")"
  before=$(ticks $pids)
  read -rt 30 <> <(:)
  row discover_cpu_pct "$(awk "BEGIN { print ($(ticks $pids) - $before) / $(getconf CLK_TCK) / 30 * 100 }")" % - - - $((CONTAINERS * EACH))
  for ((i = 1; i <= ROUNDS; i++)); do
    new_container "more$i"
    begun=$(date +%s%N)
    until has "AND name = 'more$i'" 1; do read -rt 0.02 <> <(:); done
    echo $((($(date +%s%N) - begun) / 1000000))
  done >"$STATE/took"
  row discover_ms "$(median <"$STATE/took")" ms goal 1000 - "$ROUNDS"
  discovery_end
  trap - EXIT
  unset WORKER_CONF
fi
