/*
 * Distinguishes file systems that always answer from those that may block: on
 * another machine (NFS) or on a process (FUSE). A read that blocks there cannot
 * be ended, not even by SIGKILL; and the kernel reads the page of a new uprobe
 * under a lock that every fork(2) on the host takes.
 *
 * An overlay is as good as its layers, which its mounter chose. A user can
 * mount one in a user namespace, over a FUSE server that the user runs. An
 * overlay is therefore accepted if
 *  - the worker itself runs from it; or
 *  - it is mounted in a mount namespace that the worker's user namespace owns,
 *    where only the host's administrator mounts: in that of the process, or in
 *    that of process 1, from which a container with a separate user namespace
 *    inherits; and every layer that its options name is on a local file system.
 *
 * Files of other overlays, as rootless containers have them, are copied.
 *   Source   mount_namespaces(7): "Restrictions on mount namespaces"; Linux 6.1,
 *            fs/overlayfs/super.c; kernel/events/uprobes.c, register_for_each_vma()
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* True if a read of the open file fd, which process pid uses, cannot block on
 * another machine or process. The look at the layers may block: call this in
 * readers only. */
bool opener_is_local(int fd, int32_t pid);
