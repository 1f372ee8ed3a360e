#include "containers.h"

#include "container_json.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SHORT_ID  12 /* digits, as runtimes show them */
#define USERS_MAX 100000
#define ENTRY_MAX 4096

static const struct {
	unsigned runtime;
	enum container_form form;
	const char *path;
} files[] = {
#define CONTAINER_FILE(runtime, form, path) \
	{RUNTIME_##runtime, CONTAINER_FORM_##form, path},
#include "worker/ipc/container_file.def"
#undef CONTAINER_FILE
};

static void
container_free(struct container *c)
{
	container_facts_done(&c->facts);
	free(c);
}

void
containers_done(struct containers *c)
{
	for (size_t i = 0; i < c->n; i++)
		container_free(c->items[i]);
	free(c->items);
	c->items = NULL;
	c->n = c->cap = 0;
}

void
containers_leave(struct container *c)
{
	if (c)
		c->uses--;
}

/* --- owners --------------------------------------------------------------- */

/* Returns how many times a path starts with "/..". */
static size_t
ups(const char *path)
{
	size_t n = 0;

	while (!strncmp(path, "/..", 3) &&
	       (!path[3] || strchr("/\n", path[3]))) {
		path += 3;
		n++;
	}
	return n;
}

/* Learns how deep the worker's own group is from the group of a process;
 * process 1 comes first. */
static void
find_depth(struct containers *c, const char *text)
{
	while ((text = strstr(text, ":/.."))) {
		size_t n = ups(++text);

		c->depth = n > c->depth ? n : c->depth;
	}
}

/* Finds the owner of the folder that contains a group; cuts the path there. */
static int
owner_above(char *group, uid_t *out)
{
	char *slash = strrchr(group, '/');
	struct stat st;

	*slash = '\0';
	if (stat(group, &st))
		return -errno;
	*out = st.st_uid;
	return 0;
}

/*
 * Finds the owner of the folder of a control group. A worker in a separate
 * cgroup namespace sees other groups relative to its own, as "/../..", without
 * the names of common ancestors: any folder at that depth which has a group of
 * the container's name may be meant. If there are several, one that a user
 * owns counts.
 */
static int
owner_of(const struct containers *c, const char *root,
         const struct container_group *g, uid_t *out)
{
	const char *folder = g->folder;
	size_t up = ups(folder), shared = up ? c->depth - up : 0;
	CLEANUP_BUF struct buf path = BUF_INIT(PATH_MAX - 1);
	CLEANUP(globfree) glob_t found = {0};
	uid_t owner = 0;
	int rc = -ENOENT;

	folder += 3 * up;
	if (shared && (strpbrk(folder, "*?[") || strpbrk(g->name, "*?[")))
		return rc;
	buf_puts(&path, root);
	for (size_t i = 0; i < shared; i++)
		buf_puts(&path, "/*");
	buf_puts(&path, folder);
	buf_puts(&path, g->name);
	if (buf_err(&path))
		return rc;
	if (!shared)
		return owner_above(path.p, out);
	glob(buf_str(&path), GLOB_NOSORT | GLOB_NOESCAPE, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		if (owner_above(found.gl_pathv[i], &owner) || (!rc && !owner))
			continue;
		*out = owner;
		rc = 0;
	}
	return rc;
}

/* Finds who owns the folder in which the group was made. With both versions
 * mounted, version 2 is below "unified". */
static int
find_owner(const struct containers *c, const struct container_group *g,
           uid_t *out)
{
	const char *const below[] = {
		g->hierarchy,
		*g->hierarchy ? NULL : "unified",
	};
	char root[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(below) && below[i]; i++) {
		int n = snprintf(root, sizeof(root), "%s%s%s", c->groups,
		                 *below[i] ? "/" : "", below[i]);

		if (n < (int)sizeof(root) && !owner_of(c, root, g, out))
			return 0;
	}
	return -ENOENT;
}

/* Finds a user's home in the file of users; no name service is asked. */
static int
find_home(const struct containers *c, uid_t uid, char out[static PATH_MAX])
{
	FILE *f = fopen(c->users, "re");
	char room[ENTRY_MAX];
	struct passwd entry, *found;
	int rc = -ENOENT;

	for (int i = 0; f && i < USERS_MAX && rc &&
	                !fgetpwent_r(f, &entry, room, sizeof(room), &found);
	     i++)
		if (entry.pw_uid == uid &&
		    snprintf(out, PATH_MAX, "%s", entry.pw_dir) < PATH_MAX)
			rc = 0;
	if (f)
		fclose(f);
	return rc;
}

/* --- files ---------------------------------------------------------------- */

/* Writes the path of a row's file. */
static int
path_of(const struct containers *c, const char *row, const struct container *v,
        struct buf *out)
{
	char home[PATH_MAX];

	if ((*row == '~') != (v->owner != 0))
		return -ENOENT;
	if (*row == '~') {
		int rc = find_home(c, v->owner, home);

		if (rc)
			return rc;
		buf_puts(out, home);
		row++;
	}
	for (; *row; row++) {
		if (!strncmp(row, "$ID", 3)) {
			buf_puts(out, v->group.id);
			row += 2;
		} else if (!strncmp(row, "$SPACE", 6)) {
			buf_puts(out, v->group.space);
			row += 5;
		} else {
			buf_putc(out, *row);
		}
	}
	return buf_err(out);
}

static int
read_file(struct containers *c, uint32_t row, const struct container *v,
          struct container_facts *out)
{
	CLEANUP_BUF struct buf path = BUF_INIT(PATH_MAX - 1),
			       text = BUF_INIT(CONTAINER_FILE_MAX);
	int rc = path_of(c, files[row].path, v, &path);

	if (!rc)
		rc = c->reader.file(c->reader.arg, row, buf_str(&path),
		                    v->owner, &text);
	return rc
	               ?: container_read(files[row].form, v->group.id, text.p,
	                                 text.len, out);
}

/* Uses the shortened id as the name. */
static int
name_by_id(const struct container *v, struct container_facts *out)
{
	bool is_name = v->group.runtimes == RUNTIME_NAMED;
	size_t n = strlen(v->group.id);

	if (!container_text_ok(v->group.id, n))
		return -ENODATA;
	out->facts[CONTAINER_NAME] =
		strndup(v->group.id, is_name || n < SHORT_ID ? n : SHORT_ID);
	return out->facts[CONTAINER_NAME] ? 0 : -ENOMEM;
}

/* Reads the facts again, and keeps the old ones if no file has any. */
static int
read_facts(struct containers *c, struct container *v, int64_t now_ns)
{
	struct container_facts facts = {0};
	int rc = -ENOENT;

	v->read_ns = now_ns;
	for (uint32_t i = 0; i < ARRAY_LEN(files) && rc && rc != -ENOMEM; i++)
		if (files[i].runtime & v->group.runtimes)
			rc = read_file(c, i, v, &facts);
	if (rc == -ENOMEM || (rc && v->facts.facts[CONTAINER_NAME]))
		return rc == -ENOMEM ? rc : 0;
	v->named = !rc || v->group.runtimes == RUNTIME_NAMED;
	if (rc)
		rc = name_by_id(v, &facts);
	if (rc)
		return rc;
	container_facts_done(&v->facts);
	v->facts = facts;
	return 0;
}

/* --- containers ----------------------------------------------------------- */

static struct container *
known(struct containers *c, const struct container_group *g)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->items[i]->group.id, g->id) &&
		    !strcmp(c->items[i]->group.folder, g->folder))
			return c->items[i];
	return NULL;
}

/* Forgets containers without processes. */
static void
sweep(struct containers *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->n; i++)
		if (c->items[i]->uses)
			c->items[kept++] = c->items[i];
		else
			container_free(c->items[i]);
	c->n = kept;
}

static int
make_room(struct containers *c)
{
	size_t cap = c->cap ? 2 * c->cap : 16;
	struct container **items;

	if (c->n < c->cap)
		return 0;
	sweep(c);
	if (c->n < c->cap)
		return 0;
	if (c->n == CONTAINERS_MAX)
		return -ENOENT;
	items = realloc(c->items, cap * sizeof(*items));
	if (!items)
		return -ENOMEM;
	c->items = items;
	c->cap = cap;
	return 0;
}

/* Adds a container. -ENOENT: it has no owner or no name, or there are too
 * many. */
static int
add(struct containers *c, const struct container_group *g, int64_t now_ns,
    struct container **out)
{
	struct container *v;
	uid_t owner = 0;
	int rc = find_owner(c, g, &owner) ?: make_room(c);

	if (rc)
		return rc;
	v = calloc(1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	v->group = *g;
	v->owner = owner;
	rc = read_facts(c, v, now_ns);
	if (rc) {
		container_free(v);
		return rc;
	}
	*out = c->items[c->n++] = v;
	return 0;
}

int
containers_find(struct containers *c, const char *text, int64_t now_ns,
                struct container **out)
{
	struct container_group g;
	struct container *v = NULL;
	int64_t age_ns;
	int rc = 0;

	*out = NULL;
	find_depth(c, text);
	if (!c->reader.file || !container_group_find(text, &g))
		return 0;
	v = known(c, &g);
	age_ns = v ? now_ns - v->read_ns : 0;
	if (!v)
		rc = add(c, &g, now_ns, &v);
	else if (age_ns >= (v->named ? CONTAINER_FRESH_NS : CONTAINER_RETRY_NS))
		rc = read_facts(c, v, now_ns);
	if (rc == -ENOMEM)
		return rc;
	if (!v)
		return 0;
	v->uses++;
	*out = v;
	return 0;
}
