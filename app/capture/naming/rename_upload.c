#include "capture/rename.h"

#include "capture/elf/elf_id.h"
#include "capture/process/modules.h"
#include "capture/symbols/debug_file.h"

#include <errno.h>
#include <string.h>

/* Addresses below this belong to programs at fixed addresses: they are the same
 * in each process, and so do not identify it. */
#define MOVED_FROM (UINT64_C(1) << 32)

/* A mapping of a file in one of the processes. */
struct seen {
	uint64_t start, end, offset;
	uint32_t pid; /* index of the process */
	uint32_t module;
};

struct finder {
	const struct host *host;
	const struct rename_files *files;
	const struct profile *in;
	struct modules *modules;
	struct seen *seen;
	uint32_t nseen, room;
	bool *wanted;              /* by mapping of in */
	uint32_t *modules_of;      /* likewise; PROFILE_NONE: unknown */
	struct elf_image **images; /* debug files, likewise; NULL: none */
};

static void
finder_done(struct finder *f)
{
	modules_free(f->modules);
	for (uint32_t i = 0; f->images && i < f->in->nmappings; i++)
		elf_free(f->images[i]);
	free(f->images);
	free(f->seen);
	free(f->wanted);
	free(f->modules_of);
}

static int
finder_init(struct finder *f)
{
	size_t n = f->in->nmappings + 1;

	f->wanted = calloc(n, sizeof(*f->wanted));
	f->modules_of = calloc(n, sizeof(*f->modules_of));
	f->images = calloc(n, sizeof(struct elf_image *));
	if (!f->wanted || !f->modules_of || !f->images)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->in->nmappings; i++)
		f->modules_of[i] = PROFILE_NONE;
	rename_wanted(f->in, f->wanted);
	return modules_new(f->host, &f->modules);
}

/* --- files that the processes run ----------------------------------------- */

static int
add_seen(struct finder *f, uint32_t process, int32_t pid,
         const struct map_seen *row)
{
	struct map map;
	int rc = modules_resolve(f->modules, &pid, 1, row, &map);

	if (rc == -E2BIG || rc == -ENAMETOOLONG)
		return 0;
	if (!rc)
		rc = ROWS_ROOM(f->seen, f->room, f->nseen, 1);
	if (!rc)
		f->seen[f->nseen++] = (struct seen){
			row->start, row->end, row->offset, process, map.module};
	return rc;
}

static int
look_at(struct finder *f, uint32_t process, int32_t pid)
{
	CLEANUP_BUF struct buf text = BUF_INIT(MAPS_MAX_TEXT);
	CLEANUP_FREE struct map_seen *rows = NULL;
	uint32_t threads;
	size_t n = 0;
	int rc = 0;

	if (maps_text(f->host, pid, &text, &threads))
		return 0; /* it has ended */
	rc = maps_split(text.p, &rows, &n);
	for (size_t i = 0; i < n && !rc; i++)
		if (rows[i].executable && rows[i].path[0] == '/')
			rc = add_seen(f, process, pid, &rows[i]);
	return rc;
}

/* Finds the module with a mapping's build-id. */
static uint32_t
by_build_id(const struct finder *f, uint32_t mapping)
{
	const char *id = profile_text(f->in, f->in->mappings[mapping].build_id);

	for (uint32_t i = MODULE_FIRST; *id && i < f->modules->n; i++) {
		const struct module *m = f->modules->rows[i];

		if (m && m->elf && elf_has_id(m->elf, id))
			return i;
	}
	return PROFILE_NONE;
}

/* --- mappings without a build-id ------------------------------------------ */

/* True for a mapping that only its place can identify. */
static bool
is_nameless(const struct finder *f, uint32_t mapping)
{
	const struct mapping *m = &f->in->mappings[mapping];

	return f->wanted[mapping] && !m->build_id &&
	       *profile_text(f->in, m->file) == '/';
}

/* Returns the module that a process has at the place of a mapping. */
static uint32_t
by_place(const struct finder *f, uint32_t process, uint32_t mapping)
{
	const struct mapping *m = &f->in->mappings[mapping];
	const char *path = profile_text(f->in, m->file);

	for (uint32_t i = 0; i < f->nseen; i++) {
		const struct seen *s = &f->seen[i];

		if (s->pid == process && s->start == m->start &&
		    s->end == m->limit && s->offset == m->offset &&
		    !strcmp(f->modules->rows[s->module]->path, path))
			return s->module;
	}
	return PROFILE_NONE;
}

/* True if the profile is of this process: it has all of the mappings at the
 * same places, which are random. */
static bool
is_profiled(const struct finder *f, uint32_t process)
{
	bool moved = false;

	for (uint32_t i = 0; i < f->in->nmappings; i++) {
		if (!is_nameless(f, i))
			continue;
		if (by_place(f, process, i) == PROFILE_NONE)
			return false;
		moved = moved || f->in->mappings[i].start >= MOVED_FROM;
	}
	return moved;
}

/* --- finding -------------------------------------------------------------- */

static void
find_modules(struct finder *f, uint32_t processes)
{
	uint32_t of = 0;

	while (of < processes && !is_profiled(f, of))
		of++;
	for (uint32_t i = 0; i < f->in->nmappings; i++) {
		if (!f->wanted[i])
			continue;
		f->modules_of[i] = by_build_id(f, i);
		if (of < processes && is_nameless(f, i))
			f->modules_of[i] = by_place(f, of, i);
	}
}

/* True if the module's files have lines of the source, too, so that no pushed
 * file has more. */
static bool
is_whole(const struct module *m)
{
	return m->debug || debug_file_has_lines(m->elf);
}

/* Finds the file for a mapping whose program is not at hand, or is stripped. A
 * debug file that is missing is noted, so that it is fetched. */
static void
find_debug(struct finder *f, const char *build_id, const struct module *m,
           uint32_t mapping, struct rename_source *out)
{
	struct elf_image **image = &f->images[mapping];
	uint8_t id[HOST_BUILD_ID];
	uint32_t n = m ? 0 : build_id_parse(build_id, id);

	if (n)
		*image = debug_file_of_build_id(f->host, id, n);
	if (!*image)
		*image = rename_open_pushed(f->files, build_id, &out->pushed);
	if (n && !*image)
		host_debug_note(f->host, id, n, HOST_DEBUG_NONE);
	out->elf = *image ?: (m ? m->elf : NULL);
}

static bool
find_source(void *arg, const struct profile *p, uint32_t mapping,
            struct rename_source *out)
{
	struct finder *f = arg;
	uint32_t at = f->modules_of[mapping];
	const struct module *m = at == PROFILE_NONE ? NULL
	                                            : f->modules->rows[at];

	if (!f->wanted[mapping])
		return false;
	if (m && !m->elf)
		m = NULL;
	*out = (struct rename_source){.elf = NULL};
	if (m && is_whole(m))
		*out = (struct rename_source){.elf = m->elf, .debug = m->debug};
	else
		find_debug(f, profile_text(p, p->mappings[mapping].build_id), m,
		           mapping, out);
	return out->elf &&
	       !rename_bias(out->elf, &p->mappings[mapping], &out->bias);
}

int
rename_upload(const struct host *host, struct symbols_cache *symbols,
              const struct rename_files *files, const struct profile *in,
              struct profile **out, struct quality *quality)
{
	CLEANUP(finder_done)
	struct finder f = {.host = host, .files = files, .in = in};
	const struct rename_ask ask = {.host = host,
	                               .symbols = symbols,
	                               .keeps_names = true,
	                               .find = find_source,
	                               .arg = &f};
	CLEANUP_PROFILE struct profile *p = NULL;
	uint32_t named, n = files->npids;
	int rc = finder_init(&f);

	if (n > RENAME_MAX_PIDS)
		n = RENAME_MAX_PIDS;
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = look_at(&f, i, files->pids[i]);
	if (rc)
		return rc;
	find_modules(&f, n);
	rc = rename_by(&ask, in, &p, quality) ?: profile_count_named(p, &named);
	if (rc)
		return rc;
	quality->frames = p->nstack;
	quality->symbolized = named;
	*out = TAKE(p);
	return 0;
}
