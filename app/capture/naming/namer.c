#include "namer.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "capture/process/wait_names.h"
#include "capture/symbols/debug_file.h"
#include "capture/symbols/demangle.h"
#include "capture/symbols/java_map.h"
#include "capture/symbols/jit_names.h"
#include "capture/symbols/kallsyms.h"
#include "profile/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Age at which kernel symbols are read again, since modules come and go. */
#define KERNEL_AGE_NS (3600 * NS_PER_S)
#define LOOK_AGAIN_NS (10 * (uint64_t)NS_PER_S)
/* Time before a patient namer asks again for a missing debug file. */
#define UNDEBUGGED_NS (60 * NS_PER_S)

/* Opens a file of split DWARF through the process that mapped the module. */
static struct elf_image *
open_split(void *arg, uint32_t module, const char *dir, const char *name)
{
	const struct namer *n = arg;
	const struct module *m = n->modules->rows[module];

	return debug_file_split(n->host, m->opened_by, m->path, m->elf, dir,
	                        name);
}

/* Returns three quarters of the CPU time that the process has left. */
static int64_t
files_time(void)
{
	struct rlimit cpu;

	if (getrlimit(RLIMIT_CPU, &cpu) || cpu.rlim_cur > INT32_MAX)
		return INT64_MAX;
	return ((int64_t)cpu.rlim_cur * NS_PER_S - clock_cpu_ns()) / 4 * 3;
}

struct namer *
namer_new(const struct modules *modules, const struct host *host,
          struct symbols_cache *cache, struct quality *quality, bool patient,
          uint64_t java_age_ns)
{
	CLEANUP_NAMER struct namer *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->modules = modules;
	n->host = host;
	n->cache = cache;
	n->quality = quality;
	n->patient = patient;
	n->java_age_ns = java_age_ns;
	n->files_max_ns = files_time();
	n->symbolizer = symbolizer_new(cache);
	if (n->symbolizer)
		symbolizer_split(n->symbolizer, open_split, n);
	n->of = calloc(modules->n, sizeof(*n->of));
	return n->symbolizer && n->of ? TAKE(n) : NULL;
}

void
namer_count(struct namer *n, struct quality *quality)
{
	n->quality = quality;
}

void
namer_free(struct namer *n)
{
	if (!n)
		return;
	symbolizer_free(n->symbolizer);
	for (uint32_t i = 0; n->of && i < n->modules->n; i++) {
		elf_free(n->of[i].debug);
		elf_free(n->of[i].shared);
		perfmap_free(n->of[i].perfmap);
		jitdump_free(n->of[i].jitdump);
	}
	free(n->of);
	free(n->text);
	free(n);
}

static size_t
one_name(const char *name, struct sym_frame *out)
{
	*out = (struct sym_frame){
		.name = name, .system_name = name, .file = ""};
	return 1;
}

/* --- kernel --------------------------------------------------------------- */

static int
read_kernel(const struct host *host, struct buf *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(KALLSYMS_MAX_BYTES);
	struct host_ask ask = {.op = HOST_KALLSYMS};
	CLEANUP_FD int fd = -1;
	int rc = host_fd(host, &ask, &fd);

	if (!rc)
		rc = fd_read_all(fd, &text);
	return rc ? rc : kallsyms_build(&text, out);
}

static int
open_kernel(struct namer *n)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(SYMBOLS_MAX_PIECE);
	struct symbols_key key = {
		.kind = SYMBOLS_KERNEL,
		.part = (uint64_t)(clock_mono_ns() / KERNEL_AGE_NS),
	};
	struct symbols_piece piece;
	int rc = 0;

	if (!symbols_cache_find(n->cache, &key, &piece)) {
		rc = read_kernel(n->host, &bytes);
		if (!rc)
			rc = symbols_cache_add(n->cache, &key, &bytes, &piece);
	}
	return rc ? rc : symtab_open(&piece, &n->kernel);
}

static size_t
kernel_name(struct namer *n, uint64_t addr, struct sym_frame *out)
{
	struct namer_module *of = &n->of[MODULE_KERNEL];
	const char *name;

	if (!of->known && open_kernel(n))
		n->quality->notes |= QUALITY_NOTE_OF(NO_KALLSYMS);
	of->known = true;
	name = symtab_lookup(&n->kernel, addr);
	return name ? one_name(name, out) : 0;
}

/* --- programs and libraries ----------------------------------------------- */

/* Root in a container has the host's uid 0, unless the container has a user
 * namespace, but a separate file system. Other users may mount many file
 * systems, so theirs do not count. */
static struct namer_user
key_of(int fd)
{
	struct stat st = {0};

	(void)fstat(fd, &st);
	return (struct namer_user){.uid = st.st_uid,
	                           .device = st.st_uid ? 0 : st.st_dev};
}

static struct namer_user *
user_of(struct namer *n, const struct namer_user *key)
{
	size_t i = 0;

	while (i < n->nusers && (n->users[i].uid != key->uid ||
	                         n->users[i].device != key->device))
		i++;
	if (i == NAMER_USERS)
		return &n->users[NAMER_USERS - 1];
	if (i == n->nusers)
		n->users[n->nusers++] = *key;
	return &n->users[i];
}

/* True if files of a user may take more time: half of what is left for all. */
static bool
may_take(int64_t user_ns, int64_t all_ns, int64_t max_ns)
{
	return user_ns * 2 <= max_ns - all_ns;
}

/*
 * Asks for a file in which a program describes its code. A user with many
 * processes could fill each file, and take the time that the names of others
 * need: files of one user may take half of the time that is left.
 *   Errors   -errno, -EDQUOT
 */
static int
open_map(struct namer *n, struct host_ask *ask, int *out,
         struct namer_user **user)
{
	struct namer_user key;
	int rc = host_fd(n->host, ask, out);

	if (rc)
		return rc;
	key = key_of(*out);
	*user = user_of(n, &key);
	if (may_take((*user)->ns, n->maps_ns, NAMER_MAPS_NS))
		return 0;
	n->quality->notes |= QUALITY_NOTE_OF(MAPS_LEFT);
	return -EDQUOT;
}

/* Counts the time since begin_ns, by clock_cpu_ns(). */
static void
spend(struct namer *n, struct namer_user *user, int64_t begin_ns)
{
	int64_t ns = clock_cpu_ns() - begin_ns;

	user->ns += ns;
	n->maps_ns += ns;
}

/* Opens the map that a JIT compiler wrote of its code; NULL when there is none,
 * or the target is gone. */
static struct perfmap *
open_perfmap(struct namer *n, int32_t pid)
{
	CLEANUP_BUF struct buf text = BUF_INIT(PERFMAP_MAX_BYTES);
	struct host_ask ask = {.op = HOST_PERFMAP, .pid = pid};
	struct perfmap *map = NULL;
	struct namer_user *user;
	CLEANUP_FD int fd = -1;
	int64_t begin = clock_cpu_ns();

	if (open_map(n, &ask, &fd, &user))
		return NULL;
	if (fd_read_all(fd, &text) || perfmap_new(&text, &map))
		map = NULL;
	spend(n, user, begin);
	return map;
}

static bool
read_at(void *arg, uint64_t at, void *out, size_t n)
{
	return at <= INT64_MAX &&
	       pread(*(const int *)arg, out, n, (off_t)at) == (ssize_t)n;
}

/* Opens the dump that a process has mapped. */
static struct jitdump *
open_jitdump(struct namer *n, int32_t pid)
{
	struct host_ask ask = {.op = HOST_JITDUMP, .pid = pid};
	struct jitdump *dump = NULL;
	struct namer_user *user;
	CLEANUP_FD int fd = -1;

	for (uint32_t i = MODULE_FIRST; i < n->modules->n && !dump; i++) {
		const struct module *m = n->modules->rows[i];
		int64_t begin = clock_cpu_ns();

		if (!m || m->pid != pid || !jitdump_is_path(m->path) ||
		    strlen(m->path) >= sizeof(ask.path))
			continue;
		strcpy(ask.path, m->path);
		if (!open_map(n, &ask, &fd, &user)) {
			if (jitdump_new(read_at, &fd, &dump))
				dump = NULL;
			spend(n, user, begin);
		}
		close_ptr(&fd);
	}
	return dump;
}

/* Looks up an address in a perf map; an old map lacks functions that were
 * compiled since. */
static const char *
map_name(struct namer *n, struct namer_module *of, uint64_t addr)
{
	const char *name = of->perfmap ? perfmap_lookup(of->perfmap, addr)
	                               : NULL;
	int32_t pid = of->old_map;

	if (name || !pid)
		return name;
	of->old_map = 0;
	if (java_map_ask(n->host, pid, JAVA_MAP_LACK_NS))
		return NULL;
	perfmap_free(of->perfmap);
	of->perfmap = open_perfmap(n, pid);
	return map_name(n, of, addr);
}

static size_t
jit_name(struct namer *n, struct namer_module *of, uint64_t addr,
         struct sym_frame *out)
{
	struct jit_place at = {.file = NULL};
	struct jit_name parts;

	if (!of->jitdump || !jitdump_lookup(of->jitdump, addr, &at))
		at.name = map_name(n, of, addr);
	free(n->text);
	n->text = at.name ? strdup(at.name) : NULL;
	if (!n->text)
		return 0;
	jit_name_split(n->text, &parts);
	*out = (struct sym_frame){
		.name = parts.name,
		.system_name = parts.name,
		.file = parts.file,
		.start_line = parts.line,
	};
	if (!at.file)
		return 1;
	/* V8 11 writes file names here that it has freed already. */
	out->line = at.line;
	if (!*parts.file)
		out->file = at.file;
	if (!parts.line)
		out->start_line = at.start_line;
	return 1;
}

static bool
has_had_none(const struct namer *n, uint32_t module, int64_t now_ns)
{
	int64_t none_ns = n->modules->undebugged_ns[module];

	return n->patient && none_ns && now_ns - none_ns < UNDEBUGGED_NS;
}

/*
 * Opens a module's debug file, which may have been installed since the mapping
 * was first seen. The result is recorded for the process that fetches debug
 * files.
 */
static struct elf_image *
look_again(const struct namer *n, uint32_t module)
{
	const struct module *m = n->modules->rows[module];
	int64_t now_ns = clock_mono_ns();
	uint64_t age = (uint64_t)now_ns - m->looked_ns;
	struct elf_image *debug;

	if ((age <= LOOK_AGAIN_NS && !n->host->debugs) ||
	    has_had_none(n, module, now_ns))
		return NULL;
	debug = debug_file_of_host(n->host, m->elf);
	n->modules->undebugged_ns[module] = debug ? 0 : now_ns;
	return debug;
}

/* Adds the file with which the module's debug file shares entries. */
static void
share(struct namer *n, uint32_t module, const struct elf_image *debug)
{
	struct namer_module *of = &n->of[module];
	const struct elf_image *shared = n->modules->rows[module]->shared;
	struct elf_altlink link;

	of->shared = debug_file_shared(n->host, debug);
	if (of->shared)
		shared = of->shared;
	if (shared)
		symbolizer_share(n->symbolizer, module, shared);
	else if (!elf_debugaltlink(debug, &link))
		n->quality->notes |= QUALITY_NOTE_OF(NO_SHARED);
}

static int
add_image(struct namer *n, uint32_t module)
{
	const struct module *m = n->modules->rows[module];
	struct namer_module *of = &n->of[module];
	const struct elf_image *debug = m->debug;
	int rc;

	if (!debug)
		debug = of->debug = look_again(n, module);
	else
		host_debug_note(n->host, m->elf->build_id,
		                m->elf->build_id_size, HOST_DEBUG_USED);
	rc = symbolizer_add(n->symbolizer, module, m->elf, debug);
	if (!rc)
		symbolizer_frames(n->symbolizer, module, m->table);
	if (!rc)
		share(n, module, debug ? debug : m->elf);
	return rc;
}

/* Makes the frame of code without a function name: the name of its file and, if
 * start is not 0, where the code begins. */
static size_t
nameless(struct namer *n, const struct module *m, uint64_t start,
         struct sym_frame *out)
{
	const char *file = path_name(m->path);

	free(n->text);
	if ((start ? asprintf(&n->text, "%s+0x%" PRIx64, file, start)
	           : asprintf(&n->text, "%s", file)) < 0)
		n->text = NULL;
	if (!n->text)
		return 0;
	*out = (struct sym_frame){
		.name = n->text, .system_name = "", .file = ""};
	return 1;
}

/* Makes the frame of a function without a name, so that its samples stay
 * together. */
static size_t
nameless_function(struct namer *n, struct place at, struct sym_frame *out)
{
	const struct module *m = n->modules->rows[at.module];
	uint64_t start, offset, left;

	if (!symbolizer_function(n->symbolizer, at.module, at.vaddr, &start) ||
	    !elf_offset_of(m->elf, start, &offset, &left))
		return 0;
	return nameless(n, m, offset, out);
}

/* Waits for at most one JVM; after a timeout no other JVM is asked. */
static void
open_java(struct namer *n, int32_t pid, struct namer_module *of)
{
	int rc = n->java_stuck ? -EBUSY
	                       : java_map_ask(n->host, pid, n->java_age_ns);
	bool asked = !rc || rc == -EALREADY;

	n->java_stuck |= rc == -ETIMEDOUT;
	of->perfmap = open_perfmap(n, pid);
	of->old_map = rc == -EALREADY && n->java_age_ns ? pid : 0;
	if (rc == -EPERM && !of->perfmap)
		n->quality->notes |= QUALITY_NOTE_OF(JAVA_NAMES);
	if (rc != -EPERM && (!asked || !of->perfmap))
		n->quality->notes |= QUALITY_NOTE_OF(JAVA_SILENT);
}

/* Opens the dump or map of code that a program generated. */
static void
open_jit(struct namer *n, const struct module *m, struct namer_module *of)
{
	const int32_t pid = m->pid;

	of->jitdump = open_jitdump(n, pid);
	if (!of->jitdump && !m->described && java_map_is_jvm(n->host, pid))
		open_java(n, pid, of);
	else
		of->perfmap = open_perfmap(n, pid);
}

/* True for the vdso, which the kernel maps into every process: its code needs
 * no file, and does not show that files can be read. */
static bool
is_of_the_kernel(const struct module *m)
{
	return !strcmp(m->path, "[vdso]");
}

/* The owner of copies, and of images in a process's memory, is not known. */
#define NO_UID ((uid_t)-1)

static struct namer_user *
owner_of(struct namer *n, const struct module *m)
{
	bool unknown = m->copied || m->elf->fd < 0;
	struct namer_user key = {.uid = NO_UID};

	if (!unknown)
		key = key_of(m->elf->fd);
	return key.uid || key.device != n->host->device ? user_of(n, &key)
	                                                : NULL;
}

/*
 * A user with many processes could have each of them run a file whose symbols
 * take long to read. What root installed is read however long it takes: root's
 * files on the file system of this program.
 */
static bool
may_read(struct namer *n, const struct namer_module *of)
{
	if (!of->owner ||
	    may_take(of->owner->files_ns, n->files_ns, n->files_max_ns))
		return true;
	n->quality->notes |= QUALITY_NOTE_OF(FILES_LEFT);
	return false;
}

/* Counts the time since begin_ns, by clock_cpu_ns(). */
static void
spend_on_file(struct namer *n, struct namer_user *owner, int64_t begin_ns)
{
	int64_t ns = clock_cpu_ns() - begin_ns;

	if (!owner)
		return;
	owner->files_ns += ns;
	n->files_ns += ns;
}

static void
open_module(struct namer *n, uint32_t module)
{
	const struct module *m = n->modules->rows[module];
	struct namer_module *of = &n->of[module];
	bool read = false;

	of->known = true;
	if (m->elf)
		of->owner = owner_of(n, m);
	if (m->elf) /* memory has no symbol table */
		read = !add_image(n, module) && !m->from_memory;
	else if (m->pid)
		open_jit(n, m, of);
	if (m->replaced)
		n->quality->notes |= QUALITY_NOTE_OF(REPLACED);
	if (m->uncopied && !read)
		n->quality->notes |= QUALITY_NOTE_OF(UNCOPIED);
	if (m->pid || m->described || m->is_32 || is_of_the_kernel(m))
		return;
	n->quality->modules++;
	n->quality->modules_unread += !read;
}

static size_t
module_names(struct namer *n, struct place at, struct sym_frame *out,
             size_t max)
{
	struct namer_module *of = &n->of[at.module];
	int64_t begin;
	size_t count = 0;

	if (!of->known)
		open_module(n, at.module);
	if (of->perfmap || of->jitdump)
		return jit_name(n, of, at.vaddr, out);
	begin = of->owner ? clock_cpu_ns() : 0;
	if (may_read(n, of)) {
		count = symbolizer_lookup(n->symbolizer, at.module, at.vaddr,
		                          out, max);
		spend_on_file(n, of->owner, begin);
	}
	if (symbolizer_lacked(n->symbolizer))
		n->quality->notes |= QUALITY_NOTE_OF(NO_SPLIT);
	return count ? count : nameless_function(n, at, out);
}

static size_t
interpreted_name(const struct interp_codes *codes, uint64_t vaddr,
                 struct sym_frame *out)
{
	struct interp_name name;

	if (!interp_name(codes, vaddr, &name))
		return 0;
	*out = (struct sym_frame){
		.name = name.name,
		.system_name = name.name,
		.file = name.file,
		.line = name.line,
		.start_line = name.start_line,
	};
	return 1;
}

/* --- locks and waits ------------------------------------------------------ */

#define LOCKS_MAX 256 /* locks looked up; each reads the symbol tables */

/* The variable around an address; name "": there is none. */
struct variable {
	uint64_t vaddr, start;
	char name[DEMANGLE_MAX];
};

/* Source: gABI 5, "Symbol Table"; labels of assembly have no size. */
static void
see_variable(void *arg, const Elf64_Sym *sym, const char *name)
{
	struct variable *v = arg;

	if (ELF64_ST_TYPE(sym->st_info) != STT_OBJECT || !*name ||
	    sym->st_shndx == SHN_UNDEF || v->vaddr < sym->st_value ||
	    v->vaddr - sym->st_value >= sym->st_size || *v->name)
		return;
	v->start = sym->st_value;
	if (!demangle(name, v->name))
		snprintf(v->name, sizeof(v->name), "%s", name);
}

static bool
find_variable(struct namer *n, struct place at, struct variable *out)
{
	const struct module *m = n->modules->rows[at.module];
	const struct namer_module *of = &n->of[at.module];
	const struct elf_image *debug;
	int64_t begin;

	if (!m || !m->elf || n->locks++ >= LOCKS_MAX)
		return false;
	if (!of->known)
		open_module(n, at.module);
	if (!may_read(n, of))
		return false;
	begin = of->owner ? clock_cpu_ns() : 0;
	debug = m->debug ? m->debug : of->debug;
	*out = (struct variable){.vaddr = at.vaddr};
	if (debug && elf_symbols(debug, SHT_SYMTAB, see_variable, out))
		out->name[0] =
			'\0'; /* a table that cannot be read names nothing */
	if (!*out->name && elf_symbols(m->elf, SHT_SYMTAB, see_variable, out) &&
	    elf_symbols(m->elf, SHT_DYNSYM, see_variable, out))
		out->name[0] = '\0';
	spend_on_file(n, of->owner, begin);
	return *out->name;
}

/* Writes the name of a lock that is a variable, or a member of one, or its
 * address: "[lock cache_lock]", "[lock cache+0x28]", "[lock 0x7f31c0]". */
static char *
lock_name(struct namer *n, uint64_t address)
{
	struct variable v;
	struct place at;
	char *text = NULL;
	int rc;

	if (!wait_lock_place(n->modules->waits, address, &at) ||
	    !find_variable(n, at, &v))
		rc = asprintf(&text, "[lock 0x%" PRIx64 "]", address);
	else if (v.vaddr == v.start)
		rc = asprintf(&text, "[lock %s]", v.name);
	else
		rc = asprintf(&text, "[lock %s+0x%" PRIx64 "]", v.name,
		              v.vaddr - v.start);
	return rc < 0 ? NULL : text;
}

static size_t
wait_name(struct namer *n, struct place at, struct sym_frame *out)
{
	free(n->text);
	n->text = at.module == MODULE_LOCK
	                  ? lock_name(n, at.vaddr)
	                  : strdup(wait_name_of(n->modules->waits, at.vaddr));
	return n->text ? one_name(n->text, out) : 0;
}

size_t
namer_lookup(struct namer *n, struct place at, struct sym_frame *out,
             size_t max)
{
	switch (at.module) {
	case MODULE_KERNEL:
		return kernel_name(n, at.vaddr, out);
	case MODULE_UNKNOWN:
		return 0;
	case MODULE_TRUNCATED:
		return one_name(SUMMARY_TRUNCATED, out);
	case MODULE_LOCK:
	case MODULE_WAIT:
	case MODULE_TITLE:
		return wait_name(n, at, out);
	default:
		return at.module < MODULE_FIRST
		               ? interpreted_name(n->modules->codes, at.vaddr,
		                                  out)
		               : module_names(n, at, out, max);
	}
}

size_t
namer_unknown(struct namer *n, struct place at, struct sym_frame *out)
{
	const struct module *m = n->modules->rows[at.module];
	const struct map *stretch = maps_find(&m->stretches, at.vaddr);

	return m->guest ? one_name(m->guest, out)
	                : nameless(n, m, stretch ? stretch->start : 0, out);
}

bool
namer_knows_code(const struct namer *n, struct place at)
{
	const struct module *m = n->modules->rows[at.module];

	return at.module == MODULE_KERNEL || m->elf || m->is_32;
}
