#include "modules.h"

#include "base/clock.h"
#include "capture/symbols/debug_file.h"
#include "capture/symbols/jitdump.h"
#include "image.h"
#include "preload/heap_layout.h"
#include "wait_names.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FIRST_PAGE       4096
#define MAX_SYMTAB       ((uint64_t)8 << 20)
#define UNDEBUGGED_BYTES (MODULES_MAX * sizeof(int64_t))

static void
module_free(struct module *m)
{
	if (!m)
		return;
	unwind_table_free(m->table);
	elf_free(m->elf);
	free(m->interp);
	if (m->jit)
		jit_image_done(m->jit);
	free(m->jit);
	free(m->tls);
	free(m->query);
	elf_free(m->debug);
	elf_free(m->shared);
	free(m->path);
	free(m->allocator);
	free(m->sampler);
	maps_done(&m->stretches);
	free(m);
}
DEFINE_CLEANUP(struct module *, module_free)

void
modules_free(struct modules *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->n; i++)
		module_free(m->rows[i]);
	interp_codes_free(m->codes);
	wait_names_free(m->waits);
	if (m->undebugged_ns)
		munmap(m->undebugged_ns, UNDEBUGGED_BYTES);
	free(m);
}
DEFINE_CLEANUP(struct modules *, modules_free)

/*
 * True for a path that the kernel gives to memory without a file: private
 * ("//anon" of perf), shared (/dev/zero), of huge pages, of shmget(2).
 *   Source   linux/mm/shmem.c, shmem_zero_setup(); linux/ipc/shm.c, newseg();
 *            linux/kernel/events/core.c, perf_event_mmap_event()
 */
static bool
is_path_of_memory(const char *path)
{
	static const char *const names[] = {"//anon", "/dev/zero", "/SYSV",
	                                    "/anon_hugepage"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t n = strlen(names[i]);

		if (!strncmp(path, names[i], n) && !strchr(path + n, '/'))
			return true;
	}
	return false;
}

static bool
is_file(const struct map_seen *seen)
{
	return seen->path[0] == '/' && !is_path_of_memory(seen->path);
}

/* True for a jitdump, whose path contains the target's pid. */
static bool
is_jitdump(const struct map_seen *seen)
{
	return is_file(seen) && jitdump_is_path(seen->path);
}

static bool
is_vdso(const struct map_seen *seen)
{
	return !strcmp(seen->path, "[vdso]");
}

/* Returns the pid for memory where a JIT compiler may have put code, whose
 * addresses are meaningless in another process; else 0. */
static int32_t
owner(const struct map_seen *seen, int32_t pid)
{
	return (is_file(seen) && !is_jitdump(seen)) || is_vdso(seen) ? 0 : pid;
}

static struct module *
module_new(const struct map_seen *seen, int32_t pid)
{
	CLEANUP(module_free_ptr) struct module *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->path = strdup(seen->path);
	if (!m->path)
		return NULL;
	m->pid = owner(seen, pid);
	m->inode = seen->inode;
	m->major = seen->major;
	m->minor = seen->minor;
	if (seen->build_id && seen->build_id_size <= HOST_BUILD_ID) {
		m->build_id_size = seen->build_id_size;
		memcpy(m->build_id, seen->build_id, seen->build_id_size);
	}
	return TAKE(m);
}

static int
append(struct modules *m, const struct map_seen *seen, int32_t pid,
       uint32_t *out)
{
	struct module *row;
	uint32_t at = 0;

	while (at < m->n && m->rows[at])
		at++;
	if (at == MODULES_MAX)
		return -E2BIG;
	row = module_new(seen, pid);
	if (!row)
		return -ENOMEM;
	m->rows[at] = row;
	m->undebugged_ns[at] = 0;
	m->n += at == m->n;
	*out = at;
	return 0;
}

static int
map_undebugged(int64_t **out)
{
	void *p = mmap(NULL, UNDEBUGGED_BYTES, PROT_READ | PROT_WRITE,
	               MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	*out = p;
	return 0;
}

int
modules_new(const struct host *host, struct modules **out)
{
	static const char *const names[MODULE_FIRST] = {
		[MODULE_KERNEL] = "[kernel]",
		[MODULE_UNKNOWN] = "[unknown]",
		[MODULE_TRUNCATED] = "[truncated]",
		[MODULE_LOCK] = "[lock]",
		[MODULE_WAIT] = "[wait]",
		[MODULE_TITLE] = "[program]",
		[MODULE_CONTEXT] = "[context]",
#define LANGUAGE(id, name) [MODULE_LANGUAGES + LANGUAGE_##id] = "[" #name "]",
#include "capture/interp/languages.def"
#undef LANGUAGE
#define JIT(id, name, title) [MODULE_JITS + JIT_##id] = "[" title "]",
#include "capture/jit/jits.def"
#undef JIT
	};
	CLEANUP(modules_free_ptr) struct modules *m = calloc(1, sizeof(*m));
	uint32_t index;
	int rc;

	if (!m)
		return -ENOMEM;
	m->host = host;
	m->codes = interp_codes_new();
	m->waits = wait_names_new();
	rc = map_undebugged(&m->undebugged_ns);
	if (rc || !m->codes || !m->waits)
		return -ENOMEM;
	for (unsigned i = 0; i < MODULE_FIRST; i++) {
		struct map_seen seen = {.path = names[i]};

		rc = append(m, &seen, 0, &index);
		if (rc)
			return rc;
	}
	*out = TAKE(m);
	return 0;
}

void
modules_sweep(struct modules *m, const bool in_use[static MODULES_MAX])
{
	wait_locks_sweep(m->waits, in_use);
	for (uint32_t i = MODULE_FIRST; i < m->n; i++) {
		if (in_use[i])
			continue;
		module_free(m->rows[i]);
		m->rows[i] = NULL;
	}
}

/* --- finding a module ----------------------------------------------------- */

/* True unless its change time shows that the file has changed since it was
 * opened. */
static bool
unchanged(const struct module *m)
{
	struct stat st;

	return !m->elf || m->elf->fd < 0 ||
	       (!fstat(m->elf->fd, &st) &&
	        st.st_ctim.tv_sec == m->changed.tv_sec &&
	        st.st_ctim.tv_nsec == m->changed.tv_nsec);
}

static bool
is_mapping_of(const struct module *m, const struct map_seen *seen, int32_t pid)
{
	if (m->outdated)
		return false;
	/* Another file of the same build may be a better one than a copy. */
	if (m->copied && seen->inode && seen->inode != m->inode)
		return false;
	if (seen->build_id && m->build_id_size)
		return m->build_id_size == seen->build_id_size &&
		       !memcmp(m->build_id, seen->build_id, m->build_id_size);
	if (strcmp(m->path, seen->path) != 0)
		return false;
	if (m->pid)
		return m->pid == pid;
	if (is_vdso(seen)) /* the same in all processes */
		return true;
	return !seen->build_id && m->inode && m->inode == seen->inode &&
	       m->major == seen->major && m->minor == seen->minor &&
	       unchanged(m);
}

static bool
find(const struct modules *m, const struct map_seen *seen, int32_t pid,
     uint32_t *out)
{
	for (uint32_t i = MODULE_FIRST; i < m->n; i++) {
		if (m->rows[i] && is_mapping_of(m->rows[i], seen, pid)) {
			*out = i;
			return true;
		}
	}
	return false;
}

/* --- opening -------------------------------------------------------------- */

static int
read_memory(const struct host *host, int32_t pid, uint64_t addr, size_t size,
            uint8_t *out, size_t *got)
{
	struct host_ask ask = {
		.op = HOST_MEMORY,
		.pid = pid,
		.address = addr,
		.size = (uint32_t)size,
	};
	CLEANUP_FD int fd = -1;
	int rc = host_fd(host, &ask, &fd);
	ssize_t n;

	if (rc)
		return rc;
	n = pread(fd, out, size, 0);
	if (n <= 0)
		return n ? -errno : -EIO;
	*got = (size_t)n;
	return 0;
}

static int
bias_of(const struct elf_image *elf, const struct map_seen *seen, uint64_t *out)
{
	return elf_bias(elf, seen->start, seen->offset,
	                seen->executable ? PF_X : 0, out);
}

/*
 * Compares the page with headers and build-id in the file and in the target.
 *   Errors   -ESTALE the file differs; others: the memory can't be read
 */
static int
same_first_page(const struct host *host, int32_t pid,
                const struct map_seen *seen, const struct elf_image *elf)
{
	uint8_t mine[FIRST_PAGE], theirs[FIRST_PAGE];
	uint64_t bias, vaddr;
	size_t n;
	int rc = bias_of(elf, seen, &bias);

	if (rc)
		return rc;
	if (!elf_vaddr_of(elf, 0, &vaddr))
		return -ENOENT;
	rc = read_memory(host, pid, bias + vaddr, FIRST_PAGE, theirs, &n);
	if (rc)
		return rc;
	if (n > elf->size)
		n = elf->size;
	rc = elf_read(elf, 0, mine, n);
	if (rc)
		return rc;
	return memcmp(mine, theirs, n) ? -ESTALE : 0;
}

static bool
same_inode(const struct map_seen *seen, const struct elf_image *elf)
{
	struct stat st;

	return seen->inode && !fstat(elf->fd, &st) &&
	       st.st_ino == seen->inode && major(st.st_dev) == seen->major &&
	       minor(st.st_dev) == seen->minor;
}

static bool
has_build_id(const struct elf_image *elf, const struct map_seen *seen)
{
	return elf->build_id_size == seen->build_id_size &&
	       !memcmp(elf->build_id, seen->build_id, seen->build_id_size);
}

static bool
is_the_mapped(const struct host *host, enum host_op op, int32_t pid,
              const struct map_seen *seen, const struct elf_image *elf)
{
	int rc;

	if (seen->build_id)
		return has_build_id(elf, seen);
	rc = same_first_page(host, pid, seen, elf);
	return !rc ||
	       (rc != -ESTALE && (op == HOST_MAPPED || same_inode(seen, elf)));
}

static bool
is_of_32_bits(int fd)
{
	uint8_t class = 0;

	return pread(fd, &class, 1, EI_CLASS) == 1 && class == ELFCLASS32;
}

/*
 * Opens the file of a mapping by one question to the opener.
 *   Errors   -ENOEXEC not an ELF file, -ENOTSUP a 32-bit one, -ESTALE another
 *            file than the mapped one
 */
static int
open_through(const struct host *host, enum host_op op, int32_t pid,
             const struct map_seen *seen, struct elf_image **out, bool *copied)
{
	struct host_ask ask = {.op = op, .pid = pid};
	CLEANUP_ELF struct elf_image *elf = NULL;
	CLEANUP_FD int fd = -1;
	uint32_t copy = 0;
	int rc;

	if (op == HOST_MAPPED) {
		ask.address = seen->start;
		ask.size = (uint32_t)(seen->end - seen->start);
	} else {
		if (strlen(seen->path) >= sizeof(ask.path))
			return -ENAMETOOLONG;
		strcpy(ask.path, seen->path);
	}
	rc = host_fd_value(host, &ask, &fd, &copy);
	if (rc)
		return rc;
	rc = elf_open_fd(fd, &elf);
	if (rc)
		return rc == -ENOEXEC && is_of_32_bits(fd) ? -ENOTSUP : rc;
	TAKE_FD(fd);
	if (!is_the_mapped(host, op, pid, seen, elf))
		return -ESTALE;
	*out = TAKE(elf);
	*copied = copy != 0;
	return 0;
}

static int
open_vdso(const struct host *host, int32_t pid, const struct map_seen *seen,
          struct elf_image **out)
{
	CLEANUP_FREE uint8_t *copy = NULL;
	size_t n = seen->end - seen->start;
	int rc;

	if (n > HOST_MAX_MEMORY)
		return -E2BIG;
	copy = malloc(n);
	if (!copy)
		return -ENOMEM;
	rc = read_memory(host, pid, seen->start, n, copy, &n);
	return rc ? rc : elf_open_memory(copy, n, out);
}

/* Reads the mapped parts of a file from memory. */
static int
read_image(const struct host *host, int32_t pid, const struct map_seen *seen,
           struct elf_image **out)
{
	CLEANUP_ELF struct elf_image *elf = NULL;
	int rc = image_of_memory(host, pid, seen, &elf);

	if (rc)
		return rc;
	if (seen->build_id && !has_build_id(elf, seen))
		return -ESTALE;
	*out = TAKE(elf);
	return 0;
}

/* Opens a file by its path, or by its mapping if the path leads to another file
 * or to none. Opening by the mapping needs a capability; without it, the
 * program can be opened by /proc/PID/exe, and libraries are read from
 * memory. */
static int
open_image(const struct host *host, int32_t pid, const struct map_seen *seen,
           struct module *m, struct elf_image **out)
{
	static const enum host_op ways[] = {HOST_FILE, HOST_MAPPED, HOST_EXE};
	int rc = -ENOENT;

	if (is_vdso(seen))
		return open_vdso(host, pid, seen, out);
	for (size_t i = seen->unlinked ? 1 : 0; i < ARRAY_LEN(ways); i++) {
		rc = open_through(host, ways[i], pid, seen, out, &m->copied);
		if (!rc || rc == -ESRCH || rc == -ENOEXEC || rc == -ENOTSUP)
			return rc;
		m->uncopied |= rc == -EFBIG;
	}
	rc = read_image(host, pid, seen, out);
	m->copied = m->from_memory = !rc;
	return rc;
}

/* True if the file was unlinked and another ELF file has its path now. */
static bool
is_replaced(const struct host *host, int32_t pid, const struct map_seen *seen)
{
	struct host_ask ask = {.op = HOST_FILE, .pid = pid};
	CLEANUP_FD int fd = -1;

	if (!seen->unlinked)
		return false;
	strcpy(ask.path, seen->path);
	return !host_fd(host, &ask, &fd);
}

/* Returns a copy of what was found; NULL: out of memory, which counts as not
 * found. */
static void *
kept(const void *found, size_t n)
{
	void *copy = malloc(n);

	return copy ? memcpy(copy, found, n) : NULL;
}

static void
look_for_interpreter(struct module *m)
{
	struct interp_image image;

	if (!interp_recognise(m->elf, &image))
		m->interp = kept(&image, sizeof(image));
}

static void
look_for_jit(struct module *m)
{
	struct jit_image image;

	if (jit_recognise(m->elf, &image))
		return;
	m->jit = kept(&image, sizeof(image));
	if (!m->jit)
		jit_image_done(&image);
}

static void
look_for_tls(struct module *m)
{
	struct thread_tls tls;

	if (!thread_tls_find(m->elf, &tls))
		m->tls = kept(&tls, sizeof(tls));
}

static void
look_for_query(struct module *m)
{
	struct query_at query;

	if (!query_find(m->elf, &query))
		m->query = kept(&query, sizeof(query));
}

/* Looks in the target's root for the file with which debug files share
 * entries, unless the host has it. */
static void
look_for_shared(const struct host *host, int32_t pid, struct module *m)
{
	const struct elf_image *of = m->debug ? m->debug : m->elf;
	CLEANUP_ELF struct elf_image *hosts = debug_file_shared(host, of);

	if (!hosts)
		m->shared = debug_file_shared_of_target(host, pid, m->path, of);
}

static void
keep_image(const struct host *host, int32_t pid, struct module *m,
           struct elf_image *elf)
{
	struct stat st;

	m->elf = elf;
	m->opened_by = pid;
	m->debug = debug_file_of_host(host, elf);
	m->looked_ns = (uint64_t)clock_mono_ns();
	if (elf->fd >= 0 && !m->debug)
		m->debug = debug_file_of_target(host, pid, m->path, elf);
	look_for_shared(host, pid, m);
	if (elf->fd >= 0 && !fstat(elf->fd, &st))
		m->changed = st.st_ctim;
	look_for_interpreter(m);
	look_for_jit(m);
	look_for_tls(m);
	look_for_query(m);
}

/* Counts the bytes of unwind tables that were built for a process. */
static size_t
tables_of(const struct modules *all, int32_t pid)
{
	size_t n = 0;

	for (uint32_t i = MODULE_FIRST; i < all->n; i++)
		if (all->rows[i] && all->rows[i]->table &&
		    all->rows[i]->tabled_by == pid)
			n += unwind_table_bytes(all->rows[i]->table);
	return n;
}

/* Builds the unwind table of a file, unless it would make the process's tables
 * too large: another process may have room for it. Frame pointers are followed
 * without a table. */
static void
build_table(const struct modules *all, struct module *m, int32_t pid)
{
	struct unwind_table *t;
	size_t n = tables_of(all, pid);

	if (n + m->untabled > MODULES_MAX_TABLES)
		return;
	m->untabled = 0;
	if (unwind_table_new_split(m->elf, m->debug, &t))
		return;
	if (n + unwind_table_bytes(t) > MODULES_MAX_TABLES) {
		m->untabled = unwind_table_bytes(t);
		unwind_table_free(t);
		return;
	}
	m->table = t;
	m->tabled_by = pid;
}

static void
open_one(const struct modules *all, struct module *m, const int32_t *pids,
         size_t npids, const struct map_seen *seen)
{
	struct elf_image *elf = NULL;

	m->tries++;
	for (size_t i = 0; i < npids && i < MODULES_MAX_ANSWER; i++) {
		int rc = open_image(all->host, pids[i], seen, m, &elf);

		switch (rc) {
		case 0:
			keep_image(all->host, pids[i], m, elf);
			build_table(all, m, pids[0]);
			m->replaced = is_replaced(all->host, pids[i], seen);
			return;
		case -ENOEXEC:
			m->pid = pids[0];
			return;
		case -ENOTSUP:
			m->is_32 = true;
			return;
		default:
			break;
		}
	}
}

/* Finds what a process has spent, less what it may spend again. */
static struct modules_spent *
spent_by(struct modules *all, int32_t pid)
{
	struct modules_spent *s = &all->spent[(uint32_t)pid % MODULES_SPENDERS];
	const int64_t now = clock_mono_ns();

	if (s->pid != pid)
		*s = (struct modules_spent){.pid = pid};
	s->ns -= (now - s->at_ns) / MODULES_CPU_SHARE;
	if (s->ns < 0)
		s->ns = 0;
	s->at_ns = now;
	return s;
}

bool
modules_spend(struct modules *m, int32_t pid, int64_t ns)
{
	struct modules_spent *s = spent_by(m, pid);

	s->ns += ns;
	return s->ns < MODULES_MAX_CPU;
}

/* Opens the file of a mapping. A program may map thousands of files, all of
 * them made to take long, while samples of other programs wait. */
static void
try_open(struct modules *all, struct module *m, const int32_t *pids,
         size_t npids, const struct map_seen *seen)
{
	int64_t began_ns;

	if (m->pid || m->is_32 ||
	    (m->elf ? !m->untabled : m->tries >= MODULES_MAX_TRIES) ||
	    !modules_spend(all, pids[0], 0))
		return;
	began_ns = clock_cpu_ns();
	if (m->elf)
		build_table(all, m, pids[0]);
	else
		open_one(all, m, pids, npids, seen);
	(void)modules_spend(all, pids[0], clock_cpu_ns() - began_ns);
}

/* Copies a mapping and its path. Memory without a name becomes "[anon]", and
 * the path of an unlinked file loses the kernel's mark.
 *   Owns     out->path points into path, or is static
 *   Errors   -ENAMETOOLONG */
static int
name_mapping(const struct map_seen *seen, char path[static HOST_MAX_PATH],
             struct map_seen *out)
{
	*out = *seen;
	out->path = path;
	if (strlen(seen->path) >= HOST_MAX_PATH)
		return -ENAMETOOLONG;
	strcpy(path, seen->path);
	if (is_file(seen))
		out->unlinked = maps_cut_unlinked(path);
	else if (!*path || *path == '/')
		out->path = "[anon]";
	return 0;
}

/* Joins a mapping of generated code with adjacent ones. If memory runs out,
 * its code has only the module's name. */
static void
add_stretch(struct module *m, const struct map_seen *seen)
{
	struct map row = {.start = seen->start, .end = seen->end};
	const struct map *before = maps_find(&m->stretches, row.start - 1);
	const struct map *after = maps_find(&m->stretches, row.end);

	if (before)
		row.start = before->start;
	if (after)
		row.end = after->end;
	else if (before && before->end > row.end)
		row.end = before->end;
	(void)!maps_add(&m->stretches, &row);
}

/* True if addresses of code count from the start of the file. */
static bool
counts_from_start(const struct elf_image *elf)
{
	const struct elf_segment *s;

	for (uint32_t i = 0; (s = elf_segment(elf, PT_LOAD, i)); i++)
		if (s->flags & PF_X && s->vaddr != s->offset)
			return false;
	return true;
}

/*
 * Moves a file that was read late to a separate row, if the addresses that are
 * known in its row would be wrong for its image: earlier mappings and samples
 * keep the old row.
 */
static int
set_apart(struct modules *all, const struct map_seen *seen, int32_t pid,
          uint32_t *index)
{
	struct module *m = all->rows[*index];
	uint32_t before = *index;
	int rc;

	if (!m->elf || !m->guessed)
		return 0;
	m->guessed = false;
	if (counts_from_start(m->elf))
		return 0;
	rc = append(all, seen, pid, index);
	if (rc) {
		m->guessed = true;
		return rc;
	}
	all->rows[before] = all->rows[*index];
	all->rows[before]->outdated = true;
	all->rows[*index] = m;
	return 0;
}

int
modules_resolve(struct modules *m, const int32_t *pids, size_t npids,
                const struct map_seen *found, struct map *out)
{
	char path[HOST_MAX_PATH];
	struct map_seen seen;
	struct module *row;
	uint64_t bias;
	uint32_t index;
	int rc = name_mapping(found, path, &seen);

	if (!rc && !find(m, &seen, pids[0], &index))
		rc = append(m, &seen, pids[0], &index);
	if (rc)
		return rc;
	row = m->rows[index];
	try_open(m, row, pids, npids, &seen);
	rc = set_apart(m, &seen, pids[0], &index);
	if (rc)
		return rc;
	if (row->pid)
		add_stretch(row, &seen);
	/* Without an image, an address counts from the start of the file. In
	 * generated code it stays as it is: perf maps have addresses. */
	row->guessed |= !row->elf && !row->pid;
	if (!row->elf || bias_of(row->elf, &seen, &bias))
		bias = row->pid ? 0 : seen.start - seen.offset;
	*out = (struct map){seen.start, seen.end, bias, index};
	return 0;
}

int
modules_describe(struct modules *m, int32_t pid, struct elf_image *elf,
                 uint32_t *out)
{
	const struct map_seen seen = {.path = "[anon]"};
	struct module *row;
	int rc = append(m, &seen, 0, out);

	if (rc)
		return rc;
	row = m->rows[*out];
	row->described = true;
	row->elf = elf;
	row->opened_by = pid;
	row->looked_ns = (uint64_t)clock_mono_ns();
	build_table(m, row, pid);
	return 0;
}

/* True if a program's symbols can be read while samples wait. */
static bool
has_few_symbols(const struct elf_image *elf)
{
	const struct elf_section *s = elf_section_typed(elf, SHT_SYMTAB);

	return elf->is_program && s && s->size <= MAX_SYMTAB &&
	       s->link < elf->nsections &&
	       elf->sections[s->link].size <= MAX_SYMTAB;
}

static uint64_t
find_symbol(const struct elf_image *elf, const char *name)
{
	struct elf_wanted want = {.name = name};

	(void)!elf_find_symbols(elf, SHT_DYNSYM, &want, 1);
	if (!want.value && has_few_symbols(elf))
		(void)!elf_find_symbols(elf, SHT_SYMTAB, &want, 1);
	return want.value;
}

uint64_t
modules_symbol(struct modules *m, int32_t pid, uint32_t module,
               const char *name)
{
	struct module *row = m->rows[module];
	int64_t began_ns;

	if (!row->elf || row->described)
		return 0;
	if (row->symbol_of == name)
		return row->symbol;
	if (!modules_spend(m, pid, 0))
		return 0;
	began_ns = clock_cpu_ns();
	row->symbol = find_symbol(row->elf, name);
	row->symbol_of = name;
	(void)modules_spend(m, pid, clock_cpu_ns() - began_ns);
	return row->symbol;
}

/* True when a code segment covers all of the pages. */
static bool
has_code(const struct elf_image *elf, uint64_t start, uint64_t end)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	const struct elf_segment *s;

	for (uint32_t i = 0; (s = elf_segment(elf, PT_LOAD, i)); i++)
		if (s->flags & PF_X && start >= (s->vaddr & ~page) &&
		    end <= ((s->vaddr + s->filesz + page) & ~page))
			return true;
	return false;
}

int
modules_resolve_moved(struct modules *m, const int32_t *pids, size_t npids,
                      const struct map_seen *file, const struct map_seen *moved,
                      struct map *out)
{
	const struct elf_image *elf;
	struct map row;
	int rc = modules_resolve(m, pids, npids, file, &row);

	if (rc)
		return rc;
	elf = m->rows[row.module]->elf;
	if (!elf ||
	    !has_code(elf, moved->start - row.bias, moved->end - row.bias))
		return -ENOENT;
	row.start = moved->start;
	row.end = moved->end;
	*out = row;
	return 0;
}

bool
module_is_heap(const struct module *m)
{
	const char *slash = m->path ? strrchr(m->path, '/') : NULL;

	return slash && !strcmp(slash + 1, HEAP_LIBRARY);
}
