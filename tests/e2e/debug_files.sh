#!/bin/bash
# Names and frames from separate debug files, wherever they lie.
. tests/lib/e2e.sh
. tests/lib/once.sh
tmp=$(mktemp -d /var/tmp/stoker-debug-XXXXXX)
trap 'kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$tmp"' EXIT
command -v gcc >/dev/null || { echo "skip debug_files: no gcc"; exit 0; }
export DEBUGINFOD_URLS=
cat >"$tmp/conf" <<END
[worker]
debug_dir = $tmp/debug
END

capture() { # name, program with its arguments
  local pid fd code
  target "$@" && begin "$1" "$pid" 200 --rate 999 --config "$tmp/conf" && await_captures &&
    captured "$1"
  code=$?
  { kill -KILL "$pid" && wait "$pid"; } 2>/dev/null
  exec {fd}<&-
  return $code
}
named() { capture "$1" "${@:3}" && has "$1" "$2" 50; }

# Compiles a target, and moves its debug information to NAME.debug.
build() { # name, source, flags
  gcc -O2 -g -fomit-frame-pointer "${@:3}" -o "$tmp/$1" "tests/targets/$2.c" -lpthread &&
    objcopy --only-keep-debug "$tmp/$1" "$tmp/$1.debug" &&
    (cd "$tmp" && objcopy --strip-all --add-gnu-debuglink="$1.debug" "$1")
}
by_build_id() { # the debug file's place below $tmp/debug
  local id
  id=$(readelf -n "$1" 2>/dev/null | awk '/Build ID/ {print $3}')
  mkdir -p "$tmp/debug/.build-id/${id:0:2}"
  echo "$tmp/debug/.build-id/${id:0:2}/${id:2}.debug"
}
WHOLE='(^|;)main;outer;inlined_work '

# --- by link, in the root of the target
build linked inlined -Wl,--build-id=none -static || exit 1
check a_link_leads_to_a_file_beside named beside "$WHOLE" "$tmp/linked" 600
mkdir "$tmp/.debug" && mv "$tmp/linked.debug" "$tmp/.debug/"
check a_link_leads_to_a_file_in_the_debug_folder_beside named folder "$WHOLE" "$tmp/linked" 600
if [ "$(id -u)" -eq 0 ]; then
  mkdir -p "$tmp/root/bin" "$tmp/root/usr/lib/debug/bin"
  cp "$tmp/linked" "$tmp/root/bin/"
  cp "$tmp/.debug/linked.debug" "$tmp/root/usr/lib/debug/bin/"
  check a_link_leads_below_usr_lib_debug_in_the_root_of_the_target \
    named root "$WHOLE" chroot "$tmp/root" /bin/linked 600
  rm "$tmp/root/usr/lib/debug/bin/linked.debug"
  ln -s "$tmp/.debug/linked.debug" "$tmp/root/usr/lib/debug/bin/linked.debug"
  check a_target_whose_link_leaves_its_root_is_captured capture escape chroot "$tmp/root" /bin/linked 600
  check a_link_is_not_followed_out_of_the_root_of_the_target [ "$(grep -c outer "$tmp/escape.folded")" = 0 ]
else
  echo "skip a_link_leads_below_usr_lib_debug_in_the_root_of_the_target: chroot is for root"
fi
printf x >>"$tmp/.debug/linked.debug"
check a_target_whose_debug_file_has_another_checksum_is_captured capture other "$tmp/linked" 600
check names_of_a_debug_file_with_another_checksum_are_not_used [ "$(grep -c outer "$tmp/other.folded")" = 0 ]

# --- frames
# Code that returns through a thunk can't be unwound without tables.
build framed inlined -fno-asynchronous-unwind-tables \
  -mfunction-return=thunk -fcf-protection=none || exit 1
check debug_frame_of_a_debug_file_unwinds named framed "$WHOLE" "$tmp/framed" 600
rm "$tmp/framed.debug"
check a_target_without_debug_frame_is_captured capture blind "$tmp/framed" 600
check stacks_without_debug_frame_end_early \
  [ "$(quality blind stacksComplete)" -lt "$(($(quality blind samplesKept) / 2))" ]

# --- functions without a name
build bare shares -Wl,--build-id || exit 1
mv "$tmp/bare.debug" "$tmp/kept.debug"
check a_stripped_program_is_captured capture bare "$tmp/bare" 600 1
functions() { grep -oE '(^|;)bare\+0x[0-9a-f]+' "$tmp/$1.folded" | tr -d ';' | sort -u; }
# Lists the functions of the debug file by their offset in the file.
true_functions() { nm "$tmp/kept.debug" | awk '$2 ~ /[tT]/ {print "bare+0x" $1}' | sed 's/0x0*/0x/' | sort -u; }
check functions_without_a_name_are_rows_where_they_begin \
  [ -z "$(comm -23 <(functions bare) <(true_functions))" ]
check functions_without_a_name_are_few_rows [ "$(functions bare | wc -l)" -le 6 ]
check functions_without_a_name_do_not_count_as_named [ "$(quality bare framesNamed)" -lt "$(quality bare frames)" ]
check a_note_names_their_file grep -q 'functions that have no name.*; most of them are in bare$' "$tmp/bare.txt"
cp "$tmp/kept.debug" "$(by_build_id "$tmp/bare")"
check a_debug_file_of_the_host_names_them named again 'share_half ' "$tmp/bare" 600 1

# --- what debug files share
if command -v dwz >/dev/null; then
  build one inlined && build two inlined -DTWO -O3 || exit 1
  mkdir -p "$tmp/debug/.dwz/x86"
  (cd "$tmp" && dwz -m debug/.dwz/x86/common -M ../../.dwz/x86/common one.debug two.debug) ||
    exit 1
  check the_test_is_about_a_shared_file \
    grep -q gnu_debugaltlink <(readelf -SW "$tmp/one.debug")
  mv "$tmp/one.debug" "$(by_build_id "$tmp/one")"
  check a_shared_file_has_names_for_several named shared "$WHOLE" "$tmp/one" 600
  mv "$tmp/debug/.dwz/x86/common" "$tmp/gone"
  check a_target_whose_shared_debug_file_is_missing_is_captured capture unshared "$tmp/one" 600
  check names_of_a_missing_shared_debug_file_are_missing [ "$(grep -c inlined_work "$tmp/unshared.folded")" = 0 ]
  check a_missing_shared_debug_file_is_named grep -q "note: inlined functions may be missing: dwz" "$tmp/unshared.txt"
else
  echo "skip a_shared_file_has_names_for_several: no dwz"
fi

# --- split debug information
(cd "$tmp" && gcc -O2 -gdwarf-5 -gsplit-dwarf -o split "$OLDPWD/tests/targets/inlined.c" -lpthread &&
  rm ./*.dwo) || exit 1
check a_target_whose_dwo_files_are_missing_is_captured capture split "$tmp/split" 600
check missing_dwo_files_are_noted grep -q 'note: inlined functions are missing: .*gsplit-dwarf' "$tmp/split.txt"

# --- what compilers read
if command -v clang >/dev/null; then
  clang_builds() { clang -O2 -g1 -fdebug-info-for-profiling "${@:2}" -o "$tmp/$1" tests/targets/opcodes.c; }
  clang_builds opcodes || exit 1
  "$tmp/opcodes" 2000000000 >/dev/null & pid=$!
  begin opcodes "$pid" 500 --rate 999 && await_captures
  check a_program_that_clang_built_is_captured captured opcodes
  kill -KILL "$pid"
  check its_profile_for_clang_is_made_by_its_debug_information \
    "$B/stoker" convert "$tmp/opcodes.pb.gz" "$tmp/opcodes.afdo" --binary "$tmp/opcodes"
  check a_profile_for_clang_tells_the_parts_of_a_line_apart \
    grep -qE '^ +5\.[12]: [1-9][0-9]*$' "$tmp/opcodes.afdo"
  check clang_inlines_what_a_profile_says_is_hot says "'step' inlined into 'main'" \
    clang_builds sampled -Werror -fprofile-sample-use="$tmp/opcodes.afdo" -Rpass=inline
  mv "$tmp/opcodes" "$tmp/moved"
  check another_program_makes_no_profile_for_clang says 'no program with the build-id of the profile' \
    "$B/stoker" convert "$tmp/opcodes.pb.gz" "$tmp/none.afdo" --binary /bin/true
else
  echo "skip a_profile_for_clang_tells_the_parts_of_a_line_apart: no clang"
fi
