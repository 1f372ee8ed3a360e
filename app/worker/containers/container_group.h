/*
 * Finds the container of a process by the names of its control groups.
 *
 * Anybody who may create control groups chooses their names. The outermost name
 * of a container counts, since names below it are the container's own, and its
 * owner is whoever owns the folder in which it was made: root for a system's
 * runtime, or a user with a delegated subtree, whose containers are rootless.
 *
 *   Source   cgroups(7). Names: moby daemon/oci_linux.go (docker-ID.scope,
 *            /docker/ID); podman libpod/container_internal_linux.go
 *            (libpod-ID.scope, libpod-payload-ID); containerd
 *            pkg/cri/server/helpers_linux.go, getCgroupsPath() (SLICE:
 *            cri-containerd:ID, which systemd turns into
 *            cri-containerd-ID.scope); cri-o internal/config/cgmgr (crio-ID.scope);
 *            kubelet pkg/kubelet/cm (kubepods); lxc src/lxc/cgroups/cgfsng.c
 *            (lxc.payload.NAME); systemd src/machine/machine.c
 *            (machine-NAME.scope), systemd-nspawn@.service
 */
#pragma once

#include "base/proc_text.h"

#include <limits.h>

#define CONTAINER_ID_MAX    128 /* bytes of an id or name, and a NUL */
#define CONTAINER_SPACE_MAX 64  /* of a containerd namespace */

/* Runtimes, as bits. */
enum {
	RUNTIME_DOCKER = 1,
	RUNTIME_PODMAN = 2,
	RUNTIME_CRIO = 4,
	RUNTIME_CONTAINERD = 8,
	RUNTIME_KUBELET = 16,
	RUNTIME_NAMED = 32, /* LXC, nspawn: the id is the container's name */
};

struct container_group {
	unsigned runtimes; /* that may have made the container */
	char id[CONTAINER_ID_MAX];
	char space[CONTAINER_SPACE_MAX]; /* containerd's namespace */
	/* The folder in which the group was made, below /sys/fs/cgroup with
	 * version 2, or below this hierarchy there with version 1. */
	char hierarchy[32];
	char folder[PROC_GROUP_MAX];
	char name[NAME_MAX + 1]; /* of the group in that folder */
};

/* Reads /proc/PID/cgroup. False if its process is in no container; *out is
 * undefined then. */
bool container_group_find(const char *text, struct container_group *out);
