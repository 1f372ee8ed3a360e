/*
 * Reads facts about a container from the files of its runtime. People choose
 * labels and annotations, so the files are hostile: texts that could not be a
 * fact (store/container.h) and what is past a limit are left out, and a
 * document is read token by token.
 *
 *	DOCKER            an object with Name, Config.Image and Config.Labels
 *	STORAGE           a list of objects with id, names and metadata, a text
 *	                  that is itself JSON, with image-name
 *	CONTAINERD, CRIO  the configuration of an OCI bundle, with annotations
 *	LOG               a name: POD_NAMESPACE_CONTAINER-ID.log
 *
 *   Source   as container_file.def; annotations: containerd
 *            pkg/cri/annotations/annotations.go, cri-o pkg/annotations,
 *            kubelet pkg/kubelet/types/labels.go, nerdctl pkg/labels/labels.go,
 *            compose pkg/api/labels.go
 */
#pragma once

#include "store/container.h"

#define CONTAINER_FILE_MAX ((size_t)4 << 20) /* bytes of a file */

enum container_form {
	CONTAINER_FORM_DOCKER,
	CONTAINER_FORM_STORAGE,
	CONTAINER_FORM_CONTAINERD,
	CONTAINER_FORM_CRIO,
	CONTAINER_FORM_LOG,
};

/*
 * Reads the facts about the container with this id.
 *   Owns     container_facts_done(out)
 *   Errors   -ENODATA malformed, or it has no name; -E2BIG past
 *            CONTAINER_FILE_MAX; -ENOMEM; *out untouched
 */
MUST_CHECK int
container_read(enum container_form form, const char *id, const void *p,
               size_t n, struct container_facts *out);
