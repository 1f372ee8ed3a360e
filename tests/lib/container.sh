# A container as it looks on a host of Docker's: a control group named by its
# id, and the file that describes it. There is no runtime.
#
#	container_groups	prints the folder of control groups; fails if none
#				can be made there
#	container_make FOLDER NAME IMAGE PID	puts a process into a new container
#				below that folder, and sets container_id
#	container_end FOLDER	removes it after its process has ended
container_files=/var/lib/docker/containers

container_groups() {
  local root
  for root in /sys/fs/cgroup/systemd /sys/fs/cgroup; do
    mkdir "$root/stoker-$$" 2>/dev/null || continue
    if [ -e "$root/stoker-$$/cgroup.procs" ]; then
      rmdir "$root/stoker-$$"
      echo "$root"
      return 0
    fi
    rmdir "$root/stoker-$$"
  done
  return 1
}

container_make() { # folder, name, image, pid
  container_id=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
  mkdir -p "$container_files/$container_id" "$1/docker-$container_id.scope"
  jq -n --arg id "$container_id" --arg name "/$2" --arg image "$3" \
    --arg called "$2" '{ID: $id,
    Config: {Image: $image, Env: ["SECRET=x"], Labels: {
      "com.docker.compose.project": "shop",
      "org.opencontainers.image.version": "1.4", tier: "front", name: $called}},
    Name: $name}' >"$container_files/$container_id/config.v2.json"
  echo "$4" >"$1/docker-$container_id.scope/cgroup.procs"
}

container_end() { # folder
  [ -n "${container_id-}" ] || return 0
  wait_for 10 rmdir "$1/docker-$container_id.scope"
  rm -r "${container_files:?}/$container_id"
  rmdir -p "$container_files" 2>/dev/null
  container_id=
}
