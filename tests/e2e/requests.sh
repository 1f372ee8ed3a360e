#!/bin/bash
# Samples have the trace, span and attributes that their threads publish.
. tests/lib/e2e.sh
. tests/lib/once.sh
tmp=$(mktemp -d /var/tmp/stoker-requests-XXXXXX)
trap 'kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$tmp"' EXIT
can_capture requests || exit

build() { # output, gcc's arguments
  gcc -O2 -g -fomit-frame-pointer -o "$tmp/$1" "${@:2}" tests/targets/requests.c -lpthread
}
library() { build "$1.so" -DVARIABLE -fPIC -shared "${@:2}"; } # name, arguments
linked() { # name: a program that needs that library
  build "linked-$1" -DSERVER -Wl,--no-as-needed "$tmp/$1.so" -Wl,-rpath,"$tmp"
}

build program -rdynamic
build server -DSERVER
dialects=(gnu2 gnu) # of this machine: with descriptors, and without
[ "$(uname -m)" = x86_64 ] || dialects=(desc trad)
library descriptor "-mtls-dialect=${dialects[0]}"
library general "-mtls-dialect=${dialects[1]}"
library early -ftls-model=initial-exec
linked descriptor
linked early

forms=(program linked_descriptor linked_early late_descriptor late_general)
declare -A command=(
  [program]="$tmp/program 600"
  [linked_descriptor]="$tmp/linked-descriptor 600"
  [linked_early]="$tmp/linked-early 600"
  [late_descriptor]="$tmp/server 600 $tmp/descriptor.so"
  [late_general]="$tmp/server 600 $tmp/general.so"
)
for form in "${forms[@]}"; do
  target "$form" ${command[$form]}
  begin "$form" "$pid" 400 --rate 999
done
target lies "$tmp/program" 600 lies
begin lies "$pid" 200 --rate 999
target waits "$tmp/program" 600
begin waits "$pid" 100 --type block
await_captures

labels() { "$B/tests/tools/folded" "$tmp/$1.pb.gz" labels; } # name
# The given percentage of a function's samples has the label; none has the
# other.
labelled() { # name, function, label, least percent, other label
  labels "$1" | awk -v f="$2" -v label=" $3( |$)" -v least="$4" -v other=" $5( |$)" '
    $2 != f { next }
    { n += $1 }
    $0 ~ label { has += $1 }
    $0 ~ other { wrong += $1 }
    END { printf "%d of %d samples, %d wrong\n", has, n, wrong
          exit !(n >= 20 && has >= least * n / 100 && wrong <= n / 100) }'
}
in_none() { # name: samples outside of requests have no labels
  labels "$1" | awk '$2 == "clean_up" { n += $1; if (NF > 2) wrong += $1 }
    END { printf "%d of %d samples\n", wrong, n; exit !(n >= 20 && wrong <= n / 50) }'
}
share() { # name, label, percent
  labels "$1" | awk -v label=" $2( |$)" -v want="$3" '
    { n += $1 }
    $0 ~ label { has += $1 }
    END { d = 100 * has / n - want; p = want / 100
          far = 2 + 400 * sqrt(p * (1 - p) / n)
          printf "%d of %d samples, %d percent wanted\n", has, n, want
          exit !(n >= 200 && d < far && d > -far) }'
}
waits_are_labelled() { # only requests for /items wait
  labels waits | awk '/ http.route=\/items / { has += $1 } / http.route=\/cart / { wrong += $1 }
    END { printf "%d samples, %d wrong\n", has, wrong; exit !(has >= 20 && wrong <= has / 20) }'
}
has_no() { ! labels "$1" | grep -E -- "$2"; } # name, expression

trace=$(printf '69%.0s' {1..16})
for form in "${forms[@]}"; do
  check "$form.is_captured" captured "$form"
  check "$form.samples_have_the_route_of_their_request" \
    labelled "$form" serve_cart http.route=/cart 97 http.route=/items
  check "$form.routes_have_their_shares" share "$form" http.route=/cart 50
  check "$form.samples_of_no_request_have_no_labels" in_none "$form"
  check "$form.samples_have_trace_and_span" labelled "$form" serve_items \
    "span_id=696969696969690[01] trace_id=$trace" 97 trace_id=0
  check "$form.the_last_value_of_an_attribute_counts" \
    labelled "$form" serve_cart http.request.method=GET 97 http.request.method=PUT
done
check waits.is_captured captured waits
check waits.have_the_route_of_their_request waits_are_labelled
check lies.is_captured captured lies
check lies.contexts_that_are_not_there_are_none has_no lies =
