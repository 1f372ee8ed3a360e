# Debian's Ceph on one node, with its object gateway: a monitor, a manager, an
# OSD in a file, and the gateway, which answers at 127.0.0.1:$gate after half a
# minute. Takes several hundred MiB of memory.
#
#	. tests/lib/e2e.sh
#	. tests/lib/ceph.sh
#	why=$(ceph_lacks)	prints why it can't run; false if it can
#	ceph_start		in $ceph_dir; prints why it could not
#	s3 METHOD PATH [curl args]
#	ceph_conf		the lines of stoker.conf that use its bucket, stoker
#	gate_signal SIGNAL	stops the gateway, or continues it
#	gate_start		starts the gateway after it was killed
#	ceph_down
ceph_dir=

ceph_lacks() {
  local p
  for p in radosgw radosgw-admin ceph-mon ceph-osd ceph-mgr; do
    command -v $p >/dev/null || { echo "no $p: conf/packages/install objects"; return 0; }
  done
  [ "$(id -u)" -eq 0 ] && return 1
  echo 'Ceph needs root here'
}

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

gate_pid() { cat "$ceph_dir/run/client.rgw.pid"; }
gate_signal() { kill -"$1" "$(gate_pid)"; }
gate_start() { (cd "$ceph_dir" && radosgw -c ceph.conf -n client.rgw) >/dev/null 2>&1; }
gate_answers() { curl -sS -m 2 -o /dev/null "http://127.0.0.1:$gate/"; }

s3() { # method, path, curl arguments
  local method=$1 path=$2
  shift 2
  curl -sS -X "$method" --aws-sigv4 aws:amz:us-east-1:s3 --user STOKERKEY:stoker+secret/1 \
    -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' "$@" "http://127.0.0.1:$gate/$path"
}

ceph_start() {
  ceph_dir=$(mktemp -d /var/tmp/stoker-ceph-XXXXXX)
  gate=$(free_port) mon=$(free_port)
  while [ "$mon" = "$gate" ]; do mon=$(free_port); done
  (ceph_up) >"$ceph_dir/up.log" 2>&1 ||
    { echo "not ok ceph_comes_up: $(tail -n 3 "$ceph_dir/up.log")"; return 1; }
  wait_for 60 gate_answers || { echo 'not ok the_gateway_answers'; return 1; }
  radosgw-admin -c "$ceph_dir/ceph.conf" user create --uid=stoker --display-name=stoker \
    --access-key=STOKERKEY --secret-key=stoker+secret/1 >/dev/null 2>&1
  (umask 027 && echo STOKERKEY:stoker+secret/1 >"$ceph_dir/s3.key")
  chgrp "$RUN_GROUP" "$ceph_dir/s3.key"
  chmod 755 "$ceph_dir"
}

ceph_conf() {
  printf '[s3]\nendpoint = http://127.0.0.1:%s\nbucket = stoker\nkey_file = %s\n' \
    "$gate" "$ceph_dir/s3.key"
}

ceph_down() {
  local pid
  [ -n "$ceph_dir" ] || return 0
  for pid in "$ceph_dir"/run/*.pid; do
    [ ! -s "$pid" ] || kill -KILL "$(<"$pid")" 2>/dev/null
  done
  rm -rf "$ceph_dir"
}
