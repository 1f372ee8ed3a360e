# Files of other tools, read by Stoker and by the tool itself, in turns; and
# what a file of 300 MB costs.

scope=$B/peers/speedscope
import_all=(pprof folded perf perfdata speedscope cpuprofile heapprofile callgrind heap gopage godump gperftools jfr otlp)
import_rows=()
for format in "${import_all[@]}"; do
  import_rows+=("import_${format}_mb_s" "import_${format}_300mb_s" "import_${format}_300mb_peak_mb")
done
if wanted "${import_rows[@]}"; then
  files=$(mktemp -d)
  tests/peers/speedscope "$scope" || echo "skip speedscope: npm has not got it"
  pprof=$(tests/lib/go root 1.24)/pkg/tool/linux_amd64/pprof
  cpu_of() { # command...: prints its CPU seconds; returns its exit status
    local TIMEFORMAT='%U %S' rc
    { time "$@" >/dev/null 2>"$files/err" || echo failed; } 2>&1 |
      awk '/failed/ { bad = 1 } NF == 2 { print $1 + $2 } END { exit bad }'
  }
  ours() { "$B/stoker" convert "$1" "$files/out.pb.gz"; }
  theirs() { # format, file
    case $1 in
      perfdata) perf report -i "$2" --stdio --no-children -g none ;;
      jfr) jfr print --events jdk.ExecutionSample,jdk.ObjectAllocationSample "$2" ;;
      pprof | heap | gopage | gperftools)
        HOME=$files PPROF_TMPDIR=$files "$pprof" -symbolize=none -proto \
          -output="$files/theirs" "$2" ;;
      *) node --max-old-space-size=4096 tests/peers/speedscope.mjs "$scope/package" "$2" ;;
    esac
  }
  rival() { # prints the rival's name; "-" if there is none
    case $1 in
      godump | otlp) echo - ;;
      perfdata) echo "perf report" ;;
      jfr) echo "jfr print" ;;
      pprof | heap | gopage | gperftools) echo "go tool pprof" ;;
      *) echo speedscope ;;
    esac
  }
  write() { # format, megabytes, file
    local n
    if [ "$1" != jfr ]; then
      node tests/bench/imports.mjs "$1" "$2" >"$3"
      return
    fi
    # a recording is a sequence of chunks
    if [ ! -s "$files/chunk" ]; then
      command -v javac >/dev/null && javac -d "$files" tests/peers/Spin.java &&
        java "-XX:StartFlightRecording:settings=profile,filename=$files/chunk" \
          -cp "$files" Spin 20000 >/dev/null 2>&1 || return
    fi
    n=$(stat -c %s "$files/chunk" | awk -v mb="$2" '{ print int(mb * 1e6 / $1) + 1 }')
    for (( ; n > 0; n--)); do cat "$files/chunk"; done >"$3"
  }
  for format in "${import_all[@]}"; do
    file=$files/$format
    if wanted "import_${format}_mb_s"; then
      write "$format" "${IMPORT_MB:-20}" "$file" || { echo "skip $format: it cannot be written"; continue; }
      mb=$(stat -c %s "$file" | awk '{ print $1 / 1e6 }')
      for ((i = 0; i < ROUNDS; i++)); do
        if [ "$(rival "$format")" = - ]; then
          echo "$(cpu_of ours "$file") 1"
        else
          echo "$(cpu_of ours "$file") $(cpu_of theirs "$format" "$file")"
        fi
      done | awk 'NF == 2 && $1 > 0 && $2 > 0' >"$files/times"
      if [ -s "$files/times" ] && [ "$(rival "$format")" = - ]; then
        row "import_${format}_mb_s" \
          "$(awk -v mb="$mb" '{ print mb / $1 }' "$files/times" | median)" MB/s - - - "$(wc -l <"$files/times")"
      elif [ -s "$files/times" ]; then
        row "import_${format}_mb_s" \
          "$(awk -v mb="$mb" '{ print mb / $1 }' "$files/times" | median)" MB/s "$(rival "$format")" \
          "$(awk -v mb="$mb" '{ print mb / $2 }' "$files/times" | median)" \
          "$(awk '{ print $2 / $1 }' "$files/times" | median)" "$(wc -l <"$files/times")"
      else
        echo "skip import_${format}_mb_s: $(tail -1 "$files/err")"
      fi
    fi
    if wanted "import_${format}_300mb_s" "import_${format}_300mb_peak_mb"; then
      write "$format" 300 "$file" || continue
      ours "$file" >/dev/null 2>"$files/err" & pid=$!
      begin=$EPOCHREALTIME peak=0
      while kb=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [ -n "$kb" ]; do
        peak=$kb
        sleep 0.05
      done
      if wait "$pid"; then
        row "import_${format}_300mb_s" \
          "$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')" s - - - 1
        row "import_${format}_300mb_peak_mb" $((peak / 1024)) MB - - - 1
      else
        echo "skip import_${format}_300mb_s: $(tail -1 "$files/err")"
      fi
    fi
    rm -f "$file"
  done
  rm -rf "$files"
fi
