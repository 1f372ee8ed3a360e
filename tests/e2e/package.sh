#!/bin/bash
# The Debian package: lintian accepts it, and its lists agree with ours.
# Beside others: nothing is timed.
set -u
cd "$(dirname "$0")/../.."
. tests/lib/check.sh
: "${B:=build}"
deb=$(ls "$B"/deb/stoker_*.deb)
temp=$(mktemp -d /tmp/stoker-package-XXXXXX)
trap 'rm -rf "$temp"' EXIT
dpkg-deb -R "$deb" "$temp/package"

lintian_is_silent() { # package
  local said
  said=$(lintian --allow-root --fail-on none "$1" 2>&1 | grep -v 'Warning while running readelf')
  [ -z "$said" ] || { echo "$said"; return 1; }
}
# Build dependencies are the packages that make deps installs, except compilers
# and make, which every Debian build machine has.
build_dependencies_are_those_of_make_deps() {
  diff <(sed -n '/^Build-Depends:/,/^[^ ]/s/^ \([a-z0-9.+-]*\),\{0,1\}$/\1/p' conf/debian/control |
    grep -v '^dh-') <(cat conf/packages/{build,tools}.txt | grep -vxE 'gcc|g\+\+|make' | sort)
}
# The package depends on the packages that make run installs.
dependencies_hold() {
  local package depends
  depends=$(dpkg-deb -f "$deb" Depends)
  for package in $(grep -vx curl conf/packages/run.txt); do
    grep -qw -- "$package" <<<"$depends" || { echo "$package is not in $depends"; return 1; }
  done
}
version() { "$temp/package/usr/$1" --version | sed 's/.* //'; }
the_programs_are_of_its_version() {
  local program
  for program in bin/stoker sbin/stoker-api sbin/stoker-worker; do
    equal "$(version $program)" "$(dpkg-deb -f "$deb" Version)" || return 1
  done
}
the_version_names_the_commit() {
  local commit
  commit=$(git log -1 --abbrev=7 --format=%h 2>/dev/null) || return 0 # of a tarball
  equal "$(dpkg-deb -f "$deb" Version | sed 's/.*[.]g//')" "$commit"
}
everything_below_etc_is_a_conffile() {
  diff <(cd "$temp/package" && find etc -type f | sed 's|^|/|' | sort) \
    <(sort "$temp/package/DEBIAN/conffiles")
}
scripts_are_clean() {
  local script
  for script in postinst prerm postrm; do
    sh -n "$temp/package/DEBIAN/$script" || return 1
  done
}
# Runs apt with lists and settings separate from the host's.
apt_here() {
  mkdir -p "$temp"/state/lists/partial "$temp"/cache/archives/partial
  : >"$temp/status"
  echo "deb [signed-by=$temp/apt/stoker.asc] file:$temp/apt $suite main" >"$temp/sources.list"
  apt-get -qq -o Dir::Etc::SourceList="$temp/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
    -o Dir::State="$temp/state" -o Dir::State::Status="$temp/status" -o Dir::Cache="$temp/cache" \
    -o APT::Sandbox::User= "$@"
}
apt_has_the_package() {
  local uris
  apt_here --error-on=any update && uris=$(cd "$temp" && apt_here --print-uris download stoker) ||
    return 1
  grep -qF "$(sha512sum "$deb" | cut -d ' ' -f 1)" <<<"$uris" || { echo "$uris"; return 1; }
}
apt_refuses_another_signature() {
  sed -i 's/^Label: .*/Label: another/' "$temp/apt/dists/$suite/InRelease"
  ! apt_here --error-on=any update 2>"$temp/said" && grep -qi sign "$temp/said" ||
    { cat "$temp/said"; return 1; }
}
# Each library is in the tarball or belongs to the C library.
the_tarball_has_its_libraries() {
  local root=$temp/root needed missing=
  B=$B DESTDIR=$root PREFIX=/usr conf/install &&
    XZ_LEVEL=0 conf/packages/tarball "$root" "$temp/stoker.tar.xz" || return 1
  for needed in $(objdump -p "$root"/usr/{bin,sbin}/* "$root"/usr/lib/stoker/* |
    awk '$1 == "NEEDED" { print $2 }' | sort -u); do
    [ -e "$root/usr/lib/stoker/$needed" ] ||
      [[ $needed =~ ^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv))\.so ]] || missing+="$needed "
  done
  [ -z "$missing" ] || { echo "not in the tarball: $missing"; return 1; }
  grep -qF '[/usr/lib/stoker]' <(readelf -d "$root/usr/sbin/stoker-worker")
}
programs_of_the_tarball_run() {
  local program
  for program in bin/stoker sbin/stoker-api sbin/stoker-worker; do
    LD_LIBRARY_PATH=$temp/root/usr/lib/stoker "$temp/root/usr/$program" --version || return 1
  done
}

# dpkg-buildpackage finds the files that it needs.
the_source_package_is_debian_s() {
  local version tree=$temp/source/tree
  version=$(dpkg-deb -f "$deb" Version)
  B=$B VERSION=$version XZ_LEVEL=1 conf/packages/source "$temp/source" &&
    dpkg-source -x "$temp"/source/*.dsc "$tree" >/dev/null 2>&1 &&
    equal "$(dpkg-parsechangelog -l "$tree/debian/changelog" -S Version)" "$version" &&
    equal "$(env -u MAKEFLAGS make -s -C "$tree" version)" "$version" &&
    dpkg-checkbuilddeps "$tree/debian/control" && cmp "$tree/debian/pages/index.html" "$B/ui/index.html"
}

check lintian_is_silent lintian_is_silent "$deb"
check the_source_package_is_debian_s the_source_package_is_debian_s
check lintian_is_silent_about_the_source lintian_is_silent "$temp"/source/*.dsc
check build_dependencies_are_those_of_make_deps build_dependencies_are_those_of_make_deps
check dependencies_hold_what_make_run_installs dependencies_hold
check the_programs_are_of_its_version the_programs_are_of_its_version
check the_version_names_the_commit the_version_names_the_commit
check everything_below_etc_is_a_conffile everything_below_etc_is_a_conffile
check the_scripts_of_the_package_are_shell scripts_are_clean
check the_copyright_file_has_the_license_of_the_kernels_program \
  grep -q 'Dual MIT/GPL' "$temp/package/usr/share/doc/stoker/copyright"
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
check a_repository_is_made conf/packages/repository "$temp/apt" "$deb"
check apt_has_the_package_of_the_repository apt_has_the_package
check apt_refuses_a_repository_that_was_changed apt_refuses_another_signature
check the_tarball_has_the_libraries_of_its_programs the_tarball_has_its_libraries
check programs_of_the_tarball_run programs_of_the_tarball_run
