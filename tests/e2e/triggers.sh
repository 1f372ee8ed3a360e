#!/bin/bash
# Triggers: growing memory, a growing number of threads and a function's CPU
# time start captures, and a webhook gets the link, once.
#
# Beside others: it waits for events.
: "${B:=build}"
WORKER_CONF='
[continuous]
window = 1s
gauges = 1s
[trigger]
interval = 1s
[webhook]
allow = localhost
tries = 3
retry = 1s
'
tmp=$(mktemp -d /var/tmp/stoker-triggers-XXXXXX)
chmod 755 "$tmp"
. tests/lib/e2e.sh
e2e_start swell grow
leave() { [ ! -s "$tmp/nginx.pid" ] || kill "$(<"$tmp/nginx.pid")"; e2e_stop; rm -rf "$tmp"; }
trap leave EXIT

# --- who listens: an nginx that writes down what it gets, and fails at first
hook=$(free_port) inner=$(free_port)
while [ "$inner" = "$hook" ]; do inner=$(free_port); done
cat >"$tmp/nginx.conf" <<CONF
pid $tmp/nginx.pid; error_log $tmp/error.log; worker_processes 1;
events {}
http {
  log_format said escape=none '\$status \$request_body';
  access_log off; client_body_temp_path $tmp/body; proxy_temp_path $tmp/proxy;
  fastcgi_temp_path $tmp/fastcgi; uwsgi_temp_path $tmp/uwsgi; scgi_temp_path $tmp/scgi;
  server {
    listen 127.0.0.1:$hook;
    location /hook { access_log $tmp/said said; proxy_pass http://127.0.0.1:$inner; }
  }
  server {
    listen 127.0.0.1:$inner;
    if (-f $tmp/broken) { return 503; }
    location / { return 204; }
  }
}
CONF
: >"$tmp/broken"
nginx -e "$tmp/error.log" -c "$tmp/nginx.conf" || { echo "not ok nginx: $(cat "$tmp/error.log")"; exit 1; }
said() { grep -c "^$1" "$tmp/said"; } # status
has_said() { [ "$(said "$1")" -ge "$2" ]; }

trigger() { # service, JSON: its id
  post "/api/v1/services/$1/triggers" "$2" | jq -r '.id // error'
}
of() { api GET "/api/v1/services/$1/triggers/$2"; } # service, trigger
holds() { of "$1" "$2" | jq -e "$3" >/dev/null || { of "$1" "$2"; return 1; }; }
started_by() { # trigger name: number of captures
  api GET /api/v1/profiling/sessions | jq "[.items[] | select(.labels.trigger == \"$1\")] | length"
}

# --- a function's share of a minute, which passes meanwhile, and CPU time
background demo "$STATE/bin/demo" 2 5
service demo "$STATE/bin/demo"
post $P/continuous '{"service":"demo","sampleRate":99}' -o /dev/null
busy=$(trigger demo '{"trigger":"busy","when":{"cpu":{"percent":1}},"capture":{"durationSeconds":1}}')
share=$(trigger demo '{"trigger":"handle","when":{"cpuShare":{"function":"server::handle","percent":30}},
  "capture":{"durationSeconds":1}}')
idle=$(trigger demo '{"trigger":"rest","when":{"cpuShare":{"function":"server::nothing","percent":0.1}}}')
slower=$(trigger demo '{"trigger":"slower","when":{"shift":{"function":"server::handle","times":1.5}}}')

# --- memory
mkfifo "$tmp/swell"
"$STATE/bin/swell" <"$tmp/swell" >/dev/null &
exec 7>"$tmp/swell"
service swell "$STATE/bin/swell"
id=$(trigger swell "{\"trigger\":\"fat\",\"when\":{\"rss\":{\"bytes\":104857600}},
  \"capture\":{\"durationSeconds\":1},\"webhook\":\"http://127.0.0.1:$hook/hook\",\"cooldownSeconds\":3600}")
check a_trigger_on_memory_reads_it wait_for 20 holds swell "$id" '.lastValue > 0'
check a_trigger_does_not_fire_below_its_threshold holds swell "$id" '.lastFiredAt == null and .lastProfileId == ""'
echo 200 >&7
check memory_that_grows_fires wait_for 20 holds swell "$id" '.lastFiredAt != null and .lastValue >= 104857600'
profile=$(of swell "$id" | jq -r .lastProfileId)
check the_capture_of_a_trigger_completes equal "$(finished "$profile" | jq -r .status)" completed
check the_capture_of_a_trigger_names_it equal "$(api GET "$P/$profile" | jq -r .labels.trigger)" fat

check a_webhook_that_fails_is_sent_again wait_for 20 has_said 503 2
rm "$tmp/broken"
check a_webhook_arrives wait_for 40 has_said 204 1
check a_webhook_that_was_sent_is_reported wait_for 10 holds swell "$id" '.webhookState == "sent"'
got=$(sed -n 's/^204 //p' "$tmp/said" | head -1)
check a_webhook_says_what_fired jq -e "
  .trigger == \"fat\" and .service == \"swell\" and .kind == \"rss\" and .value >= 104857600 and
  .threshold == 104857600 and .status == \"completed\" and .profileId == \"$profile\" and
  (.firedAt | test(\"^20\")) and (.firing | test(\"^fire-\"))" <<<"$got"
check the_link_in_a_webhook_opens_without_a_token equal \
  "$(curl -s -o /dev/null -w '%{http_code}' "$(jq -r .flameGraphUrl <<<"$got")")" 200

# --- once in its cooldown, even after a restart of the worker
since=$(of swell "$id" | jq -r .lastValueAt)
kill -KILL "$(<"$STATE/pid/worker")"
wait_for 10 process_gone "$(<"$STATE/pid/worker")"
worker_start
check a_new_worker_looks_again wait_for 30 holds swell "$id" ".lastValueAt > \"$since\""
check a_trigger_does_not_fire_again_in_its_cooldown equal "$(started_by fat)" 1
check a_webhook_is_not_sent_again_in_its_cooldown equal "$(said 204)" 1

# --- a cooldown that has ended
short=$(trigger swell '{"trigger":"again","when":{"rss":{"bytes":104857600}},
  "capture":{"durationSeconds":1},"cooldownSeconds":2}')
twice() { [ "$(started_by again)" -ge 2 ]; }
check a_trigger_fires_again_after_its_cooldown wait_for 40 twice
check a_trigger_without_a_webhook_sends_none holds swell "$short" '.webhookState == "none"'
api DELETE "/api/v1/services/swell/triggers/$short"

# --- a host that configuration does not allow
check a_host_that_is_not_allowed_is_refused equal "$(status_of POST /api/v1/services/swell/triggers \
  -H 'Content-Type: application/json' \
  -d '{"trigger":"no","when":{"rss":{"bytes":1}},"webhook":"http://192.0.2.1/"}')" 403
# This webhook was allowed when it was made.
far=$(trigger swell "{\"trigger\":\"far\",\"when\":{\"rss\":{\"bytes\":1}},\"enabled\":false,
  \"capture\":{\"profileType\":\"goroutine\"},\"webhook\":\"http://127.0.0.1:$hook/hook\"}")
sqlite3 -cmd '.timeout 5000' "$STATE/data/stoker.db" \
  "UPDATE trigger_rule SET webhook = 'http://192.0.2.1/', enabled = 1 WHERE id = '$far'"
check a_host_that_is_not_allowed_is_not_called wait_for 60 holds swell "$far" '.webhookState == "failed"'
check the_log_says_why_a_webhook_is_not_sent grep -q 'webhook.*not one that configuration allows' "$STATE/log/worker.log"

# --- threads
mkfifo "$tmp/grow"
"$STATE/bin/grow" 20 <"$tmp/grow" >/dev/null &
exec 8>"$tmp/grow"
service grow "$STATE/bin/grow"
post $P/continuous '{"service":"grow","profileTypes":["goroutine"]}' -o /dev/null
more=$(trigger grow '{"trigger":"leak","when":{"goroutineGrowth":{"ratio":2,"min":50}},
  "capture":{"profileType":"goroutine"}}')
looked() { [ "$(sqlite3 "$STATE/data/stoker.db" "SELECT COUNT(*) FROM profile_window w
  JOIN series s ON s.id = w.series WHERE s.service = 'grow'")" -ge 2 ]; }
check threads_are_watched wait_for 30 looked
check threads_that_stay_do_not_fire holds grow "$more" '.lastFiredAt == null'
echo 60 >&8
check threads_that_become_more_fire wait_for 30 holds grow "$more" '.lastFiredAt != null and .lastValue >= 2'
check a_trigger_on_threads_captures_threads equal \
  "$(finished "$(of grow "$more" | jq -r .lastProfileId)" | jq -r '.status + .profileType')" completedgoroutine

# --- the function's share, and CPU time
check cpu_time_fires wait_for 30 holds demo "$busy" '.lastFiredAt != null and .lastValue >= 1'
check a_share_of_cpu_time_fires wait_for 200 holds demo "$share" \
  '.lastFiredAt != null and .lastValue >= 30 and .lastValue <= 100'
check a_steady_function_has_no_shift wait_for 10 holds demo "$slower" '.lastValue == 1 and .lastFiredAt == null'
check a_function_that_does_not_run_fires_nothing wait_for 10 holds demo "$idle" \
  '.lastFiredAt == null and .lastValueAt != null'
exec 7>&- 8>&-
