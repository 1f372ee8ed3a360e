#include "perf_spaces.h"

#include "base/rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define KERNEL   "[kernel.kallsyms]"
#define ALL      UINT32_MAX /* pid of the kernel's mappings */
#define BUILD_ID 20

void
perf_spaces_init(struct perf_spaces *s, struct perf_file *f)
{
	*s = (struct perf_spaces){.file = f,
	                          .pids = {.max = PAIRS_MAX},
	                          .tids = {.max = PAIRS_MAX}};
}

void
perf_spaces_done(struct perf_spaces *s)
{
	for (uint32_t i = 0; i < s->pids.n && i < s->room; i++)
		free(s->rows[i].maps);
	free(s->kernel.maps);
	free(s->rows);
	free(s->comms);
	pairs_done(&s->pids);
	pairs_done(&s->tids);
}

/* --- spaces --------------------------------------------------------------- */

static int
space_of(struct perf_spaces *s, uint32_t pid, uint32_t *out)
{
	return pairs_intern(&s->pids, 0, pid, out)
	               ?: ROWS_REACH(s->rows, s->room, *out);
}

int
perf_space_of(struct perf_spaces *s, uint32_t pid,
              const struct perf_space **out)
{
	uint32_t i;
	int rc = space_of(s, pid, &i);

	if (!rc)
		*out = &s->rows[i];
	return rc;
}

/* Returns the number of mappings that begin at or before an address. */
static uint32_t
upto(const struct perf_space *s, uint64_t address)
{
	return ROWS_WHILE(s->n, i, s->maps[i].start <= address);
}

const struct perf_map *
perf_map_find(const struct perf_space *s, uint64_t address)
{
	uint32_t i = upto(s, address);

	return i && address < s->maps[i - 1].end ? &s->maps[i - 1] : NULL;
}

/* Bounds all mappings together, which forks copy. */
static int
count_maps(struct perf_spaces *s, uint64_t more)
{
	size_t most = s->file->im->ask->limits.memory;

	s->nmaps += more;
	if (s->nmaps <= most / sizeof(struct perf_map))
		return 0;
	return import_over(s->file->im, "its mappings take too much memory",
	                   most, "max_memory");
}

static void
touch(struct perf_spaces *s, struct perf_space *space)
{
	space->version = ++s->version;
}

/* Adds a mapping; it replaces what it overlaps. */
static int
add_map(struct perf_spaces *s, struct perf_space *space,
        const struct perf_map *m)
{
	uint32_t at = upto(space, m->start), end = at, keep = at;
	struct perf_map head = {0}, tail = {0}, *maps;
	int rc = 0;

	if (space->n >= PERF_MAX_MAPS) {
		s->left_out++;
		return 0;
	}
	rc = count_maps(s, 2);
	if (rc)
		return rc;
	rc = ROWS_ROOM(space->maps, space->room, space->n, 2);
	if (rc)
		return rc;
	maps = space->maps;
	if (at && maps[at - 1].end > m->start)
		keep = at - 1;
	while (end < space->n && maps[end].start < m->end)
		end++;
	if (keep < end) {
		head = maps[keep];
		tail = maps[end - 1];
	}
	head.end = head.end < m->start ? head.end : m->start;
	tail.start = tail.start > m->end ? tail.start : m->end;
	at = keep + (head.start < head.end);
	memmove(&maps[at + 1 + (tail.start < tail.end)], &maps[end],
	        (space->n - end) * sizeof(*maps));
	space->n += at + 1 + (tail.start < tail.end) - end;
	if (head.start < head.end)
		maps[keep] = head;
	maps[at] = *m;
	if (tail.start < tail.end)
		maps[at + 1] = tail;
	touch(s, space);
	return 0;
}

/* --- records -------------------------------------------------------------- */

/* True for a file, false for memory named by the kernel or the program. */
static bool
is_file(const char *path)
{
	static const char *const names[] = {"//anon", "/dev/zero", "/SYSV",
	                                    "/anon_hugepage", "/memfd:"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strncmp(path, names[i], strlen(names[i])))
			return false;
	return *path == '/' || !strcmp(path, "[vdso]");
}

/* Adds the row of a mapping: a part of a file, memory at its addresses, or a
 * part of the kernel from its start. */
static int
add_row(struct perf_spaces *s, struct perf_map *m, struct perf_text path,
        uint32_t build_id, bool kernel)
{
	struct profile *p = s->file->im->p;
	struct mapping row = {.build_id = build_id};
	bool file;
	int rc = profile_string(p, path.p, path.n, &row.file);

	if (rc)
		return rc;
	file = is_file(profile_text(p, row.file));
	m->shift = kernel ? m->start : file ? m->start - m->offset : 0;
	row.offset = file ? m->offset : 0;
	row.start = m->start - m->shift;
	row.limit = m->end - m->shift;
	if (!row.build_id)
		row.build_id = perf_file_build_id(s->file, row.file);
	return profile_mapping(p, &row, &m->mapping)
	               ?: import_check_names(s->file->im);
}

static int
add_kernel(struct perf_spaces *s, struct perf_map *m, struct perf_text path,
           uint32_t build_id)
{
	if (path.n >= sizeof(KERNEL) - 1 &&
	    !memcmp(path.p, KERNEL, sizeof(KERNEL) - 1))
		path.n = sizeof(KERNEL) - 1; /* a symbol's name follows it */
	return add_row(s, m, path, build_id, true) ?: add_map(s, &s->kernel, m);
}

static int
apply_map(struct perf_spaces *s, const struct perf_record *r)
{
	struct perf_cursor c;
	struct perf_event_header h = perf_record_body(r, &c);
	uint32_t pid = perf_u32(&c), prot = PROT_EXEC, build_id = 0, i;
	struct perf_map m = {.function = PROFILE_NONE};
	const char *id;
	int rc = 0;

	(void)perf_u32(&c); /* tid */
	m.start = perf_u64(&c);
	m.end = m.start + perf_u64(&c);
	m.offset = perf_u64(&c);
	if (h.type == PERF_RECORD_MMAP2) {
		id = perf_bytes(&c, 24);
		prot = perf_u32(&c);
		(void)perf_u32(&c); /* flags */
		if (id && s->file->mapped_ids && id[0] > 0 &&
		    id[0] <= BUILD_ID &&
		    h.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
			rc = perf_hex(s->file->im, id + 4, (size_t)id[0],
			              &build_id);
	}
	if (rc || c.bad || m.start >= m.end)
		return rc;
	if (pid == ALL ||
	    (h.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
		return add_kernel(s, &m, perf_text_at(&c), build_id);
	if (!(prot & PROT_EXEC) || h.misc & PERF_RECORD_MISC_MMAP_DATA)
		return 0;
	return space_of(s, pid, &i)
	               ?: add_row(s, &m, perf_text_at(&c), build_id, false)
	               ?: add_map(s, &s->rows[i], &m);
}

/* Adds code that the kernel compiled, such as BPF programs, under its name. */
static int
apply_symbol(struct perf_spaces *s, const struct perf_record *r)
{
	struct profile *p = s->file->im->p;
	struct function f = {0};
	struct perf_map m = {0};
	struct perf_cursor c;
	struct perf_text name;
	int rc;

	(void)perf_record_body(r, &c);
	m.start = perf_u64(&c);
	m.end = m.start + perf_u32(&c);
	(void)perf_u32(&c); /* its type, and whether it was removed */
	name = perf_text_at(&c);
	if (c.bad || m.start >= m.end || !name.n)
		return 0;
	rc = profile_string(p, name.p, name.n, &f.name);
	f.system_name = f.name;
	return rc ?: profile_function(p, &f, &m.function)
	               ?: add_row(s, &m, name, 0, true)
	               ?: add_map(s, &s->kernel, &m);
}

static int
set_comm(struct perf_spaces *s, uint32_t tid, uint32_t comm)
{
	uint32_t i;
	int rc = pairs_intern(&s->tids, 0, tid, &i)
	                 ?: ROWS_REACH(s->comms, s->comm_room, i);

	if (!rc)
		s->comms[i] = comm;
	return rc;
}

static int
apply_comm(struct perf_spaces *s, const struct perf_record *r)
{
	struct perf_cursor c;
	struct perf_event_header h = perf_record_body(r, &c);
	uint32_t pid = perf_u32(&c), tid = perf_u32(&c), comm, i;
	struct perf_text name = perf_text_at(&c);
	int rc = profile_string(s->file->im->p, name.p, name.n, &comm)
	                 ?: import_check_names(s->file->im)
	                 ?: set_comm(s, tid, comm);

	if (rc || !(h.misc & PERF_RECORD_MISC_COMM_EXEC))
		return rc;
	rc = space_of(s, pid, &i);
	if (rc)
		return rc;
	s->rows[i].n = 0;
	touch(s, &s->rows[i]);
	return 0;
}

static int
copy_space(struct perf_spaces *s, uint32_t from, uint32_t to)
{
	uint32_t a, b, n;
	int rc = space_of(s, from, &a) ?: space_of(s, to, &b);

	if (rc)
		return rc;
	n = s->rows[a].n;
	rc = count_maps(s, n)
	             ?: ROWS_ROOM(s->rows[b].maps, s->rows[b].room, 0, n);
	if (rc)
		return rc;
	if (n)
		memcpy(s->rows[b].maps, s->rows[a].maps,
		       n * sizeof(struct perf_map));
	s->rows[b].n = n;
	touch(s, &s->rows[b]);
	return 0;
}

static int
apply_fork(struct perf_spaces *s, const struct perf_record *r)
{
	uint32_t pid, parent, tid, from, comm;
	struct perf_cursor c;
	int rc;

	(void)perf_record_body(r, &c);
	pid = perf_u32(&c);
	parent = perf_u32(&c);
	tid = perf_u32(&c);
	from = perf_u32(&c);
	rc = perf_thread_name(s, parent, from, &comm) ?: set_comm(s, tid, comm);
	return rc || pid == parent ? rc : copy_space(s, parent, pid);
}

int
perf_spaces_apply(struct perf_spaces *s, const struct perf_record *r)
{
	struct perf_event_header h;

	memcpy(&h, r->at, sizeof(h));
	switch (h.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return apply_map(s, r);
	case PERF_RECORD_COMM:
		return apply_comm(s, r);
	case PERF_RECORD_FORK:
		return apply_fork(s, r);
	case PERF_RECORD_KSYMBOL:
		return apply_symbol(s, r);
	default:
		return 0;
	}
}

int
perf_thread_name(struct perf_spaces *s, uint32_t pid, uint32_t tid,
                 uint32_t *out)
{
	const uint32_t of[] = {tid, pid};
	char text[24];
	int rc = 0;

	*out = 0;
	for (size_t i = 0; i < ARRAY_LEN(of) && !rc && !*out; i++) {
		uint32_t n;

		rc = pairs_intern(&s->tids, 0, of[i], &n);
		if (!rc && n < s->comm_room)
			*out = s->comms[n];
	}
	if (rc || *out)
		return rc;
	snprintf(text, sizeof(text), tid ? ":%u" : "swapper", tid);
	return profile_cstring(s->file->im->p, text, out)
	               ?: import_check_names(s->file->im);
}
