#!/bin/bash
# Profiles in a real object store: a one-node Ceph with its object gateway, of
# the packages in conf/packages/objects.txt. Part of no make check: it takes
# half a minute to come up, and several hundred MiB.
#
#	tests/fleet/object_store.sh
. "$(dirname "$0")/../lib/e2e.sh"
. tests/lib/ceph.sh
why=$(ceph_lacks) && { echo "skip object_store: $why"; exit 0; }

leave() {
  ceph_down
  if [ -d "${STATE:-}" ]; then e2e_stop; fi
}
LEAVE=leave
trap leave EXIT
ceph_start || exit 1
check a_bucket_is_made equal "$(s3 PUT stoker -o /dev/null -w '%{http_code}')" 200

# --- Stoker ------------------------------------------------------------------------------
API_CONF="accel_bytes = 0
[store]
bytes = s3
$(ceph_conf)"
OBJECTS=http://127.0.0.1:$gate
e2e_start
stoker_cli service add pushed --exe /bin/true >/dev/null
upload() {
  printf 'main;work 3\nmain 1\n' | api POST '/api/v1/profiling/sessions?service=pushed&type=cpu&sampleRate=100' \
    -H 'Content-Type: text/plain' --data-binary @-
}
profile=$(upload)
id=$(jq -r .id <<<"$profile")
check an_upload_is_stored equal "$(jq -r .status <<<"$profile")" completed
check no_file_has_it equal "$(find "$STATE/data/profiles" -name '*.pb.gz' | wc -l)" 0
check its_flame_graph_is_read_from_the_bucket equal \
  "$(api GET "$P/$id/flamegraph?format=folded" | sort | tr '\n' ' ')" 'main 1 main;work 3 '
check nginx_sends_the_object equal \
  "$(curl -sS "$(jq -r .links.pprof <<<"$profile")" | gzip -t && echo whole)" whole
check a_deleted_profile_is_204 equal "$(status_of DELETE "$P/$id")" 204
check upkeep_ends as_user "$STATE/bin/stoker-api" --upkeep --config "$STATE/stoker.conf"
keys() { s3 GET 'stoker?list-type=2' | grep -o '<Key>' | wc -l; }
check and_has_dropped_its_object equal "$(keys)" 0

# --- and without it -----------------------------------------------------------------------
other=$(upload | jq -r .id)
gate_signal STOP
begin=$SECONDS
check a_stopped_gateway_is_503 equal "$(status_of GET "$P/$other/flamegraph?format=folded")" 503
check within_the_time_of_a_request [ $((SECONDS - begin)) -le 25 ]
gate_signal CONT
reads_it() { equal "$(api GET "$P/$other/flamegraph?format=folded" | sort | tr '\n' ' ')" 'main 1 main;work 3 '; }
check and_is_read_again_once_it_goes_on wait_for 20 reads_it
