# apt on a bare Debian that machine.sh has booted.
#
#	apt_ready		sets it up: it asks nothing, and keeps files in /etc that
#				were changed here and in the package
#	typed COMMAND		what root types there, with the host's network
#	apt ARGUMENT...		apt-get
#
# apt has the host's network, and dpkg that of the machine, where scripts of packages
# look for ports.
apt_ready() {
  in_machine sh -c 'printf "#!/bin/sh\nexec nsenter --net=/proc/1/ns/net dpkg \"\$@\"\n" >/usr/local/sbin/dpkg-here
    chmod 755 /usr/local/sbin/dpkg-here
    cat >/etc/apt/apt.conf.d/here' <<'CONF'
Dir::Bin::dpkg "/usr/local/sbin/dpkg-here";
DPkg::Options { "--force-confold"; };
APT::Get::Assume-Yes "true";
quiet "2";
CONF
}
typed() { machine_online env DEBIAN_FRONTEND=noninteractive bash -ec "$1" </dev/null; }
apt() { typed "apt-get $(printf '%q ' "$@")"; }
