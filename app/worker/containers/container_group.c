#include "container_group.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define ID_DIGITS 64
#define KUBE \
	(RUNTIME_DOCKER | RUNTIME_CRIO | RUNTIME_CONTAINERD | RUNTIME_KUBELET)
#define KUBE_SPACE "k8s.io"

/* A piece of a path: p[n]. */
struct piece {
	const char *p;
	size_t n;
};

static bool
starts(struct piece name, const char *with)
{
	size_t n = strlen(with);

	return name.n >= n && !memcmp(name.p, with, n);
}

static bool
is(struct piece name, const char *text)
{
	return name.n == strlen(text) && starts(name, text);
}

/* Takes a text off the start. */
static bool
skip(struct piece *name, const char *start)
{
	size_t n = strlen(start);

	if (!starts(*name, start))
		return false;
	name->p += n;
	name->n -= n;
	return true;
}

/* Takes a text off the end. */
static bool
cut(struct piece *name, const char *end)
{
	size_t n = strlen(end);

	if (name->n < n || memcmp(name->p + name->n - n, end, n) != 0)
		return false;
	name->n -= n;
	return true;
}

static bool
is_id(struct piece name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!isdigit((unsigned char)name.p[i]) &&
		    !(name.p[i] >= 'a' && name.p[i] <= 'f'))
			return false;
	return name.n == ID_DIGITS;
}

static bool
keep(struct piece name, unsigned runtimes, struct container_group *out)
{
	if (!name.n || name.n >= sizeof(out->id))
		return false;
	memcpy(out->id, name.p, name.n);
	out->id[name.n] = '\0';
	out->runtimes = runtimes;
	return true;
}

/* --- names of one group --------------------------------------------------- */

/* The prefix of a group's name before the id of a container, and the namespace
 * of containerd that it implies. */
static const struct {
	const char *start;
	unsigned runtimes;
	const char *space;
} prefixes[] = {
	{"docker-", RUNTIME_DOCKER | RUNTIME_KUBELET, KUBE_SPACE},
	{"libpod-payload-", RUNTIME_PODMAN, KUBE_SPACE},
	{"libpod-", RUNTIME_PODMAN, KUBE_SPACE},
	{"cri-containerd-", RUNTIME_CONTAINERD | RUNTIME_KUBELET, KUBE_SPACE},
	{"nerdctl-", RUNTIME_CONTAINERD, "default"},
	{"crio-", RUNTIME_CRIO | RUNTIME_KUBELET, KUBE_SPACE},
};

static bool
by_prefix(struct piece name, struct container_group *out)
{
	(void)cut(&name, ".scope");
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		struct piece id = name;

		if (skip(&id, prefixes[i].start) && is_id(id)) {
			snprintf(out->space, sizeof(out->space), "%s",
			         prefixes[i].space);
			return keep(id, prefixes[i].runtimes, out);
		}
	}
	return false;
}

/* Takes "SLICE:cri-containerd:ID", a name meant for systemd, which runc uses
 * as it is without systemd. */
static bool
by_colons(struct piece name, struct container_group *out)
{
	static const char middle[] = ":cri-containerd:";
	size_t k = sizeof(middle) - 1;
	struct piece id = name;

	if (name.n < ID_DIGITS + k)
		return false;
	id.p += name.n - ID_DIGITS;
	id.n = ID_DIGITS;
	if (memcmp(id.p - k, middle, k) != 0 || !is_id(id))
		return false;
	snprintf(out->space, sizeof(out->space), KUBE_SPACE);
	return keep(id, RUNTIME_CONTAINERD | RUNTIME_KUBELET, out);
}

/* Takes an id below the folder of Docker, of a pod, or of a namespace of
 * containerd at the top. */
static bool
by_parent(struct piece parent, int depth, struct piece name,
          struct container_group *out)
{
	bool pod = starts(parent, "pod") || starts(parent, "kubepods");

	if (!is_id(name))
		return false;
	if (is(parent, "docker"))
		return keep(name, RUNTIME_DOCKER, out);
	if (pod) {
		snprintf(out->space, sizeof(out->space), KUBE_SPACE);
		return keep(name, KUBE, out);
	}
	if (depth != 2 || !parent.n || parent.n >= sizeof(out->space))
		return false;
	snprintf(out->space, sizeof(out->space), "%.*s", (int)parent.n,
	         parent.p);
	return keep(name, RUNTIME_CONTAINERD, out);
}

/* Undoes systemd's escapes "\x2d". Source: systemd.unit(5). */
static void
unescape(char *s)
{
	char *to = s;
	unsigned c;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] == 'x' &&
		    isxdigit((unsigned char)s[2]) &&
		    isxdigit((unsigned char)s[3]) &&
		    sscanf(s + 2, "%2x", &c) == 1 && c) {
			*to++ = (char)c;
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

/* Takes containers whose control group has the container's name. */
static bool
by_name(struct piece name, struct container_group *out)
{
	bool unit =
		(skip(&name, "systemd-nspawn@") && cut(&name, ".service")) ||
		(skip(&name, "machine-") && cut(&name, ".scope"));

	if (!unit && !skip(&name, "lxc.payload."))
		return false;
	if (!keep(name, RUNTIME_NAMED, out))
		return false;
	if (unit)
		unescape(out->id);
	return true;
}

/* --- paths ---------------------------------------------------------------- */

static bool
find_in_path(struct piece path, struct container_group *out)
{
	const char *end = path.p + path.n;
	struct piece parent = {path.p, 0};
	int depth = 0;

	for (const char *p = path.p; p < end;) {
		const char *slash = memchr(p, '/', (size_t)(end - p));
		struct piece name = {p, (size_t)((slash ?: end) - p)};
		size_t before = (size_t)(p - path.p);

		if (before < sizeof(out->folder) &&
		    name.n < sizeof(out->name) &&
		    (by_prefix(name, out) || by_colons(name, out) ||
		     by_parent(parent, depth, name, out) ||
		     by_name(name, out))) {
			memcpy(out->folder, path.p, before);
			out->folder[before] = '\0';
			memcpy(out->name, name.p, name.n);
			out->name[name.n] = '\0';
			return true;
		}
		depth++;
		parent = name;
		p += name.n + 1;
	}
	return false;
}

/* Finds where a line's hierarchy is mounted: "4:cpu,cpuacct:/docker/ID" is
 * below "cpu,cpuacct", "1:name=systemd:/docker/ID" below "systemd". */
static bool
find_in_line(struct piece line, struct container_group *out)
{
	const char *list = memchr(line.p, ':', line.n), *path;
	struct piece hierarchy;

	if (!list)
		return false;
	path = memchr(list + 1, ':', (size_t)(line.p + line.n - list - 1));
	if (!path)
		return false;
	hierarchy = (struct piece){list + 1, (size_t)(path - list - 1)};
	(void)skip(&hierarchy, "name=");
	if (hierarchy.n >= sizeof(out->hierarchy) ||
	    memchr(hierarchy.p, '/', hierarchy.n))
		return false;
	memcpy(out->hierarchy, hierarchy.p, hierarchy.n);
	out->hierarchy[hierarchy.n] = '\0';
	path++;
	return find_in_path(
		(struct piece){path, (size_t)(line.p + line.n - path)}, out);
}

bool
container_group_find(const char *text, struct container_group *out)
{
	*out = (struct container_group){0};
	while (*text) {
		struct piece line = {text, strcspn(text, "\n")};

		if (find_in_line(line, out))
			return true;
		text += line.n + (text[line.n] == '\n');
	}
	return false;
}
