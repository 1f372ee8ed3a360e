#!/bin/bash
# In a root of that Debian, dpkg-buildpackage makes equal packages and images in two
# folders, and its lintian accepts them.
#
#	tests/debian/build.sh SUITE
#
#	B, VERSION	as for conf/packages/in_suite
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/check.sh
root=$B/suites/$1-$(dpkg --print-architecture)
twice() { GOAL=reproducible-built conf/packages/in_suite "$1"; }
accepts() {
  local files
  files=$(cd "$root" && ls build/twice/first/stoker_*.deb build/twice/source/*.dsc) &&
    chroot "$root" lintian --allow-root --fail-on error,warning $files
}
began=$SECONDS
check two_builds_are_equal twice "$1"
check lintian_accepts_package_and_source accepts
echo "# $((SECONDS - began)) s to build twice"
