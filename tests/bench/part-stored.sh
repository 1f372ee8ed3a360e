# The cost of a range of windows that a host has sent, from an object store and
# from files, and that of a range of a hundred hosts. The host's store has 30
# days of a service (part-range.sh).

# Requests the last ms of the hosts; prints the time of the request.
ask_sent() { # ms, a query that names hosts
  api GET "$P/merge?service=bench0&profileType=cpu&from=$((end - $1))&to=$end&format=html${2-}" \
    --compressed -o /dev/null -w '%{http_code} %{time_total}\n' |
    awk '$1 != 200 { print "bench: " $0 > "/dev/stderr"; exit 1 } { print $2 * 1000 }'
}
send_stored() { # days of minutes, where the bytes are, names of hosts
  as_user "$STATE/bin/blocks" "$STATE/host" bench "$STATE/stoker.conf" 550e8400 $end "$@" ||
    { echo 'bench: blocks could not be stored' >&2; exit 1; }
}
begin_stored() {
  e2e_start
  kill "$(<"$STATE/pid/worker")" # its retention uses another clock than ours
  wait_for 20 process_gone "$(<"$STATE/pid/worker")"
  install -m 755 "$B/tests/bench/"{month,blocks} "$STATE/bin/"
  install -d -m 700 -o "$RUN_USER" -g "$RUN_GROUP" "$STATE/host"
  made=$STATE/made
  mkdir "$made"
  record "$1"
  chmod -R a+rX "$made"
  end=$((($(date +%s) / 86400 * 86400 - 3600) * 1000))
  as_user "$STATE/bin/month" "$STATE/host" 550e8400 $end 1 "$made"/*.pb.gz >/dev/null || exit 1
  stoker_cli service add bench0 --exe /bin/true >/dev/null
}

if wanted range_s3_vs_file_hour range_s3_vs_file_day range_s3_vs_file_month; then
  (
    why=$(ceph_lacks) && { echo "bench: $why" >&2; exit 0; }
    LEAVE='e2e_stop; ceph_down'
    trap ceph_down EXIT
    ceph_start && s3 PUT stoker -o /dev/null || exit 1
    API_CONF=$(ceph_conf)
    OBJECTS=http://127.0.0.1:$gate
    begin_stored xz
    send_stored 7 file in-files >/dev/null
    send_stored 7 s3 in-bucket >/dev/null
    for range in hour:3600 day:86400 month:2592000; do
      ms=${range#*:}000
      for ((i = 0; i < ROUNDS * 5 + 1; i++)); do
        ask_sent "$ms" '&host=in-bucket' >>"$STATE/s3" || exit 1
        ask_sent "$ms" '&host=in-files' >>"$STATE/file" || exit 1
      done
      ours=$(sed 1d "$STATE/s3" | median) theirs=$(sed 1d "$STATE/file" | median)
      row "range_s3_vs_file_${range%:*}" "$ours" ms files "$theirs" \
        "$(awk "BEGIN { printf \"%.2f\", $theirs / $ours }")" $((ROUNDS * 5))
      rm "$STATE/s3" "$STATE/file"
    done
  )
fi

if wanted range_100_hosts_day_ms range_100_hosts_day_p99_ms; then
  (
    begin_stored xz
    send_stored 0 file $(seq -f 'h%g' 100) >/dev/null
    for ((i = 0; i < ROUNDS * 5 + 1; i++)); do ask_sent 86400000; done | sed 1d | sort -g >"$STATE/warm"
    row range_100_hosts_day_ms "$(rank 0.5 <"$STATE/warm")" ms - - - $((ROUNDS * 5))
    row range_100_hosts_day_p99_ms "$(rank 0.99 <"$STATE/warm")" ms - - - $((ROUNDS * 5))
  )
fi
