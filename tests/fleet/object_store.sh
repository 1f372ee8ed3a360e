#!/bin/bash
# Profiles in a real object store: a one-node Ceph with its object gateway, of
# the packages in conf/packages/objects.txt. Part of no make check: it takes
# half a minute to come up, and several hundred MiB.
#
#	tests/fleet/object_store.sh
for p in radosgw radosgw-admin ceph-mon ceph-osd ceph-mgr; do
  command -v $p >/dev/null || { echo "skip object_store: no $p: conf/packages/install objects"; exit 0; }
done
[ "$(id -u)" -eq 0 ] || { echo "skip object_store: Ceph needs root here"; exit 0; }
. "$(dirname "$0")/../lib/e2e.sh"

# --- Ceph: a monitor, a manager, an OSD in a file, and the gateway -------------------
ceph_dir=$(mktemp -d /var/tmp/stoker-ceph-XXXXXX)
leave() {
  local pid
  for pid in "$ceph_dir"/run/*.pid; do [ ! -s "$pid" ] || kill "$(<"$pid")"; done
  if [ -d "${STATE:-}" ]; then e2e_stop; fi
  rm -rf "$ceph_dir"
}
trap leave EXIT
gate=$(free_port) mon=$(free_port)
while [ "$mon" = "$gate" ]; do mon=$(free_port); done
ceph_up() {
  local fsid osd
  cd "$ceph_dir" && mkdir mon mgr osd run rgw log || return 1
  fsid=$(</proc/sys/kernel/random/uuid)
  cat >ceph.conf <<CONF
[global]
fsid = $fsid
mon host = v1:127.0.0.1:$mon
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
mgr initial modules =
run dir = $ceph_dir/run
admin socket = $ceph_dir/run/\$name.asok
pid file = $ceph_dir/run/\$name.pid
log file = $ceph_dir/log/\$name.log
keyring = $ceph_dir/keyring
osd objectstore = bluestore
bluestore block size = 4294967296
osd memory target = 939524096
[mon.a]
mon data = $ceph_dir/mon
[mgr.x]
mgr data = $ceph_dir/mgr
[osd.0]
osd data = $ceph_dir/osd
[client.rgw]
rgw data = $ceph_dir/rgw
rgw frontends = beast endpoint=127.0.0.1:$gate tcp_nodelay=1
rgw thread pool size = 16
CONF
  export CEPH_CONF=$ceph_dir/ceph.conf CEPH_ARGS="-c $ceph_dir/ceph.conf"
  ceph-authtool -C keyring --gen-key -n mon. --cap mon 'allow *'
  ceph-authtool keyring --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
  ceph-authtool keyring --gen-key -n mgr.x --cap mon 'allow profile mgr' --cap osd 'allow *'
  ceph-authtool keyring --gen-key -n osd.0 --cap mon 'allow profile osd' --cap osd 'allow *' --cap mgr 'allow profile osd'
  ceph-authtool keyring --gen-key -n client.rgw --cap mon 'allow rw' --cap osd 'allow rwx' --cap mgr 'allow rw'
  monmaptool --create --addv a "[v1:127.0.0.1:$mon]" --fsid "$fsid" monmap
  ceph-mon --mkfs -i a --monmap monmap --keyring keyring && ceph-mon -i a && ceph-mgr -i x || return 1
  osd=$(</proc/sys/kernel/random/uuid)
  ceph osd new "$osd" && ceph-osd -i 0 --mkfs --osd-uuid "$osd" --keyring keyring &&
    ceph-osd -i 0 && radosgw -n client.rgw
}
answers() { curl -sS -m 2 -o /dev/null "http://127.0.0.1:$gate/"; }
s3() { # method, path: the status
  curl -sS -o /dev/null -w '%{http_code}' -X "$1" --aws-sigv4 aws:amz:us-east-1:s3 \
    --user STOKERKEY:stoker+secret/1 -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' "http://127.0.0.1:$gate/$2"
}
(ceph_up) >"$ceph_dir.log" 2>&1 || { echo "not ok ceph_comes_up: $(tail -n 3 "$ceph_dir.log")"; exit 1; }
rm -f "$ceph_dir.log"
wait_for 60 answers || { echo 'not ok the_gateway_answers'; exit 1; }
radosgw-admin -c "$ceph_dir/ceph.conf" user create --uid=stoker --display-name=stoker \
  --access-key=STOKERKEY --secret-key=stoker+secret/1 >/dev/null 2>&1
check a_bucket_is_made equal "$(s3 PUT stoker)" 200

# --- Stoker ------------------------------------------------------------------------------
API_CONF="accel_bytes = 0
[store]
bytes = s3
[s3]
endpoint = http://127.0.0.1:$gate
bucket = stoker
key_file = $ceph_dir/s3.key"
(umask 027 && echo STOKERKEY:stoker+secret/1 >"$ceph_dir/s3.key")
chgrp "$RUN_GROUP" "$ceph_dir/s3.key"
chmod 755 "$ceph_dir"
eval "$(declare -f stack_conf | sed 's|RATE=|OBJECTS="http://127.0.0.1:$gate" RATE=|')"
e2e_start
trap leave EXIT
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
keys() {
  curl -sS --aws-sigv4 aws:amz:us-east-1:s3 --user STOKERKEY:stoker+secret/1 \
    -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' "http://127.0.0.1:$gate/stoker?list-type=2" | grep -o '<Key>' | wc -l
}
check and_has_dropped_its_object equal "$(keys)" 0

# --- and without it -----------------------------------------------------------------------
other=$(upload | jq -r .id)
kill -STOP "$(<"$ceph_dir/run/client.rgw.pid")"
begin=$SECONDS
check a_stopped_gateway_is_503 equal "$(status_of GET "$P/$other/flamegraph?format=folded")" 503
check within_the_time_of_a_request [ $((SECONDS - begin)) -le 25 ]
kill -CONT "$(<"$ceph_dir/run/client.rgw.pid")"
check and_is_read_again_once_it_goes_on wait_for 20 \
  equal "$(api GET "$P/$other/flamegraph?format=folded" | sort | tr '\n' ' ')" 'main 1 main;work 3 '
