/* Code of this process that is in no file, or in a file that was deleted. */
#include "capture/process/modules.h"

#include "base/cleanup.h"
#include "capture/naming/namer.h"
#include "capture/process/process.h"
#include "capture/unwind/unwind_table.h"
#include "lib/here.h"
#include "lib/test.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA           0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

#ifdef __x86_64__
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

#define PAGE    4096u
#define LIBRARY "libz.so.1"

static struct {
	struct modules *modules;
	struct process proc;
	char dir[64], library[96];
} the;

static void
read_maps_of(pid_t pid)
{
	uint32_t threads;

	maps_done(&the.proc.maps);
	the.proc =
		(struct process){.pid = (uint32_t)pid, .modules = the.modules};
	ck_assert_int_eq(process_read_maps(&the.proc, the.modules, &threads),
	                 0);
}

static void
read_maps(void)
{
	read_maps_of(getpid());
}

static void
look_through(const struct host *host)
{
	ck_assert_int_eq(modules_new(host, &the.modules), 0);
	read_maps();
}

static void
look(void)
{
	look_through(&here);
}

static void
stop_looking(void)
{
	maps_done(&the.proc.maps);
	modules_free(the.modules);
}

static const struct module *
module_at(const void *p)
{
	struct place at = process_place(&the.proc, (uintptr_t)p);

	ck_assert_uint_ne(at.module, MODULE_UNKNOWN);
	return the.modules->rows[at.module];
}

/* --- generated code ------------------------------------------------------- */

static void *
map_private(void)
{
	return mmap(NULL, PAGE, PROT_READ | PROT_EXEC,
	            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *
map_shared(void)
{
	return mmap(NULL, PAGE, PROT_READ | PROT_EXEC,
	            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void *
map_named(void)
{
	void *p = map_private();

	(void)prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, p, PAGE, "code");
	return p;
}

static void *
map_file(int fd)
{
	void *p;

	ck_assert_int_eq(ftruncate(fd, 2 * PAGE), 0);
	p = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, PAGE);
	close(fd);
	return p;
}

static int
make_file(char path[static 64])
{
	strcpy(path, "/var/tmp/stoker-modules-XXXXXX");
	return mkstemp(path);
}

static void *
map_memfd(void)
{
	return map_file(memfd_create("doublemapper", MFD_CLOEXEC));
}

static void *
map_unlinked(void)
{
	char path[64];
	int fd = make_file(path);

	unlink(path);
	return map_file(fd);
}

static void *
map_sysv(void)
{
	int id = shmget(IPC_PRIVATE, PAGE, 0700 | IPC_CREAT);
	void *p = shmat(id, NULL, SHM_EXEC);

	shmctl(id, IPC_RMID, NULL);
	return p;
}

static const struct {
	const char *label;
	void *(*map)(void);
} kinds[] = {
	{"private memory", map_private},    {"shared memory", map_shared},
	{"memory with a name", map_named},  {"a memfd", map_memfd},
	{"an unlinked file", map_unlinked}, {"System V memory", map_sysv},
};

TEST(code_in_memory_of_every_kind_is_made_at_run_time)
{
	const uint8_t *maps[ARRAY_LEN(kinds)];

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		maps[i] = kinds[i].map();
		ck_assert_msg(maps[i] && maps[i] != MAP_FAILED, "%s",
		              kinds[i].label);
	}
	look();
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const uint64_t in = (uintptr_t)maps[i] + 11;

		ck_assert_msg(module_at(maps[i])->pid == getpid(), "%s",
		              kinds[i].label);
		/* a perf map has addresses */
		ck_assert_msg(process_place(&the.proc, in).vaddr == in, "%s",
		              kinds[i].label);
	}
	stop_looking();
}
END

TEST(code_without_a_name_is_one_row_for_a_stretch)
{
	const uint8_t *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_EXEC,
	                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct quality quality = {0};
	char want[64];

	/* listed as two mappings */
	ck_assert_ptr_ne(p, MAP_FAILED);
	ck_assert_int_eq(mprotect((void *)(p + PAGE), PAGE,
	                          PROT_READ | PROT_WRITE | PROT_EXEC),
	                 0);
	ck_assert_int_eq(munmap((void *)(p + 3 * PAGE), PAGE), 0);
	look();
	snprintf(want, sizeof(want), "[anon]+%p", (const void *)p);
	for (uint32_t at = 1; at < 3 * PAGE; at += PAGE / 2) {
		CLEANUP_SYMBOLS_CACHE struct symbols_cache *symbols =
			symbols_cache_new((size_t)1 << 20);
		CLEANUP_NAMER struct namer *n = namer_new(
			the.modules, &here, symbols, &quality, false, 0);
		struct place place =
			process_place(&the.proc, (uintptr_t)p + at);
		struct sym_frame frame;

		ck_assert_uint_eq(namer_lookup(n, place, &frame, 1), 0);
		ck_assert(!namer_knows_code(n, place));
		ck_assert_uint_eq(namer_unknown(n, place, &frame), 1);
		ck_assert_str_eq(frame.name, want);
	}
	stop_looking();
}
END

/* --- 32-bit files --------------------------------------------------------- */

/* The process can open the file; its parent and origin, pid 0, cannot. */
TEST(a_32_bit_file_is_known_as_one_once_a_process_has_opened_it)
{
	static const uint8_t header[] = {0x7f, 'E', 'L', 'F', 1, 1, 1};
	char path[64];
	int fd = make_file(path);
	const void *p;

	ck_assert_int_eq(pwrite(fd, header, sizeof(header), 0), sizeof(header));
	p = map_file(fd);
	ck_assert_ptr_ne(p, MAP_FAILED);
	look();
	unlink(path);
	ck_assert(module_at(p)->is_32);
	ck_assert_uint_eq(module_at(p)->tries, 1);
	stop_looking();
}
END

/* --- files without a path ------------------------------------------------- */

static void
copy_library(const char *to)
{
	char command[256];

	snprintf(command, sizeof(command),
	         "cp $(ldconfig -p | sed -n 's/.*" LIBRARY
	         ".* => //p' | head -n 1) %s",
	         to);
	ck_assert_int_eq(system(command), 0);
}

static const void *
load_library(void)
{
	void *library;

	strcpy(the.dir, "/var/tmp/stoker-modules-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(the.dir));
	snprintf(the.library, sizeof(the.library), "%s/copy.so", the.dir);
	copy_library(the.library);
	library = dlopen(the.library, RTLD_NOW);
	ck_assert_ptr_nonnull(library);
	return dlsym(library, "deflate");
}

static const struct {
	const char *label;
	bool replaced;
} fates[] = {{"unlinked", false}, {"replaced", true}};

TEST(a_library_whose_file_is_gone_from_its_path_is_read)
{
	for (size_t i = 0; i < ARRAY_LEN(fates); i++) {
		const void *function = load_library();
		char other[128];
		const struct module *m;

		snprintf(other, sizeof(other), "%s/new.so", the.dir);
		copy_library(other);
		ck_assert_int_eq(fates[i].replaced ? rename(other, the.library)
		                                   : unlink(the.library),
		                 0);
		look();
		m = module_at(function);
		ck_assert_msg(m->elf && m->table, "%s", fates[i].label);
		ck_assert_msg(m->replaced == fates[i].replaced, "%s",
		              fates[i].label);
		ck_assert_str_eq(m->path, the.library);
		stop_looking();
		unlink(the.library);
		unlink(other);
		rmdir(the.dir);
	}
}
END

/* Answers like an opener without CAP_CHECKPOINT_RESTORE. */
static int
ask_without_links(void *arg, const struct host_ask *ask,
                  struct host_reply *reply, int fds[HOST_MAX_FDS], size_t *nfds)
{
	if (ask->op != HOST_MAPPED)
		return host_ask_here(arg, ask, reply, fds, nfds);
	*reply = (struct host_reply){.error = -EPERM};
	*nfds = 0;
	return 0;
}

struct wanted {
	const char *name;
	uint64_t vaddr;
};

static void
match(void *arg, const Elf64_Sym *sym, const char *name)
{
	struct wanted *want = arg;

	if (!strcmp(name, want->name))
		want->vaddr = sym->st_value;
}

TEST(a_library_that_cannot_be_opened_is_read_from_memory)
{
	const struct host host = {.ask = ask_without_links, .arg = here.arg};
	const void *function = load_library();
	struct wanted want = {"deflate", 0};
	CLEANUP_ELF struct elf_image *file = NULL;
	const struct module *m;
	struct place at;

	ck_assert_int_eq(elf_open_fd(open(the.library, O_RDONLY), &file), 0);
	ck_assert_int_eq(unlink(the.library), 0);
	look_through(&host);
	m = module_at(function);
	at = process_place(&the.proc, (uintptr_t)function);
	ck_assert(m->elf && m->from_memory);
	ck_assert_uint_gt(file->build_id_size, 0);
	ck_assert_uint_eq(m->elf->build_id_size, file->build_id_size);
	ck_assert_mem_eq(m->elf->build_id, file->build_id, file->build_id_size);
	ck_assert(unwind_table_has_frames(m->table));
	ck_assert_int_eq(elf_symbols(m->elf, SHT_DYNSYM, match, &want), 0);
	ck_assert_uint_eq(want.vaddr, at.vaddr);
	stop_looking();
	rmdir(the.dir);
}
END

/* --- code that was moved -------------------------------------------------- */

enum moved_to { PRIVATE, SHARED, NAMED, UNLINKED };

static int
open_memory(enum moved_to kind)
{
	char path[] = "/tmp/stoker-moved-XXXXXX";
	int fd = kind == NAMED      ? memfd_create("text", MFD_CLOEXEC)
	         : kind == UNLINKED ? mkostemp(path, O_CLOEXEC)
	                            : -1;

	if (kind == UNLINKED)
		unlink(path);
	if (fd >= 0)
		ck_assert_int_eq(ftruncate(fd, PAGE), 0);
	return fd;
}

/* Replaces the page that holds p with a copy in memory, as programs do that
 * want their code in huge pages. */
static void
move_page(const void *p, enum moved_to kind)
{
	char *page = (char *)((uintptr_t)p & ~(uintptr_t)(PAGE - 1));
	CLEANUP_FD int fd = open_memory(kind);
	char *copy = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
	                  (kind == PRIVATE ? MAP_PRIVATE : MAP_SHARED) |
	                          (fd < 0 ? MAP_ANONYMOUS : 0),
	                  fd, 0);

	ck_assert_ptr_ne(copy, MAP_FAILED);
	memcpy(copy, page, PAGE);
	ck_assert_int_eq(mprotect(copy, PAGE, PROT_READ | PROT_EXEC), 0);
	ck_assert_ptr_eq(
		mremap(copy, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page),
		page);
}

static void
assert_moved(const void *function, const struct place *before)
{
	struct place after;

	look();
	after = process_place(&the.proc, (uintptr_t)function);
	ck_assert_str_eq(module_at(function)->path, the.library);
	ck_assert_uint_eq(after.vaddr, before->vaddr);
}

TEST(code_that_was_moved_to_memory_is_of_its_file)
{
	const void *function = load_library();
	struct place before;
	const void *jit;
	Dl_info library;

	look();
	before = process_place(&the.proc, (uintptr_t)function);
	stop_looking();
	jit = map_private();
	for (enum moved_to kind = PRIVATE; kind <= UNLINKED; kind++) {
		move_page(function, kind);
		assert_moved(function, &before);
		ck_assert_int_ne(module_at(jit)->pid, 0);
		stop_looking();
	}
	/* together with everything before it in the library */
	ck_assert_int_ne(dladdr(function, &library), 0);
	for (const char *p = library.dli_fbase; p <= (const char *)function;
	     p += PAGE)
		move_page(p, PRIVATE);
	assert_moved(function, &before);
	stop_looking();
	unlink(the.library);
	rmdir(the.dir);
}
END

/* --- a process that lives on ---------------------------------------------- */

static void *
wait_for_signal(void *arg)
{
	pause();
	return arg;
}

/* Starts a process whose first thread ends while another one goes on. */
static pid_t
start_without_first(void)
{
	pid_t child = fork();
	pthread_t thread;
	char path[64], link[8];

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ck_assert_int_eq(
			pthread_create(&thread, NULL, wait_for_signal, NULL),
			0);
		syscall(SYS_exit, 0);
	}
	ck_assert_int_gt(child, 0);
	snprintf(path, sizeof(path), "/proc/%d/exe", child);
	while (readlink(path, link, sizeof(link)) >= 0)
		sched_yield();
	return child;
}

TEST(a_process_without_its_first_thread_has_its_code)
{
	pid_t child = start_without_first();
	struct process proc = {.pid = (uint32_t)child};
	uint32_t threads;
	struct place at;

	ck_assert_int_eq(modules_new(&here, &the.modules), 0);
	proc.modules = the.modules;
	ck_assert_int_eq(process_read_maps(&proc, the.modules, &threads), 0);
	at = process_place(&proc, (uintptr_t)wait_for_signal);
	ck_assert_ptr_nonnull(the.modules->rows[at.module]->elf);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	maps_done(&proc.maps);
	modules_free(the.modules);
}
END

/* --- files that take long ------------------------------------------------- */

TEST(files_of_a_process_are_opened_until_they_have_taken_long)
{
	const struct {
		int64_t ns, ago_ns;
		bool opened;
	} cases[] = {{0, 0, true},
	             {2 * MODULES_MAX_CPU, 0, false},
	             {2 * MODULES_MAX_CPU,
	              2 * MODULES_MAX_CPU * MODULES_CPU_SHARE, true}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct modules_spent *spent;

		ck_assert_int_eq(modules_new(&here, &the.modules), 0);
		spent = &the.modules->spent[getpid() % MODULES_SPENDERS];
		*spent = (struct modules_spent){getpid(), cases[i].ns,
		                                clock_mono_ns() -
		                                        cases[i].ago_ns};
		read_maps();
		ck_assert(!module_at(&malloc)->elf != cases[i].opened);
		ck_assert_int_gt(spent->ns, 0);
		stop_looking();
	}
}
END

/* Maps a sparse file with code at vaddr twice. Its unwind table has n
 * bytes. */
static const void *
map_elf(uint64_t vaddr, off_t n)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr segments[3];
	} f = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64,
	                            ELFDATA2LSB},
	                .e_type = ET_DYN,
	                .e_machine = MACHINE,
	                .e_phoff = sizeof(Elf64_Ehdr),
	                .e_phentsize = sizeof(Elf64_Phdr),
	                .e_phnum = 3},
	       .segments = {{PT_LOAD, PF_R | PF_X, 0, vaddr, vaddr, PAGE, PAGE,
	                     PAGE},
	                    {PT_LOAD, PF_R, PAGE, PAGE, 0, 2 * (size_t)n,
	                     2 * (size_t)n, PAGE},
	                    {PT_GNU_EH_FRAME, PF_R, PAGE, PAGE, 0, (size_t)n,
	                     (size_t)n, 4}}};
	const struct {
		uint8_t kinds[4];
		int32_t frames;
		uint32_t rows;
	} table = {{1, 0x1b, 0x03, 0x3b}, (int32_t)n - 4, UINT32_MAX};
	char path[] = "/tmp/stoker-table.XXXXXX";
	int fd = mkstemp(path);
	void *p;

	ck_assert_int_eq(pwrite(fd, &f, sizeof(f), 0), sizeof(f));
	ck_assert_int_eq(pwrite(fd, &table, sizeof(table), PAGE),
	                 sizeof(table));
	ck_assert_int_eq(ftruncate(fd, PAGE + 2 * n), 0);
	p = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	unlink(path);
	ck_assert_ptr_ne(p, MAP_FAILED);
	return p;
}

/* Sets the time that opening files of this process has taken. */
static void
set_spent(int64_t ns)
{
	the.modules->spent[getpid() % MODULES_SPENDERS] =
		(struct modules_spent){getpid(), ns, clock_mono_ns()};
}

TEST(addresses_in_a_file_that_is_read_late_keep_their_meaning)
{
	const uint64_t vaddr = 1 << 30;
	const void *p = map_elf(vaddr, PAGE);
	struct place before, after;

	ck_assert_int_eq(modules_new(&here, &the.modules), 0);
	set_spent(2 * MODULES_MAX_CPU);
	read_maps();
	before = process_place(&the.proc, (uintptr_t)p);
	ck_assert_uint_eq(before.vaddr, 0);
	set_spent(0);
	read_maps();
	after = process_place(&the.proc, (uintptr_t)p);
	ck_assert_uint_eq(after.vaddr, vaddr);
	ck_assert_ptr_nonnull(the.modules->rows[after.module]->elf);
	ck_assert_ptr_null(the.modules->rows[before.module]->elf);
	read_maps();
	ck_assert_uint_eq(process_place(&the.proc, (uintptr_t)p).module,
	                  after.module);
	stop_looking();
}
END

/* --- files that take much ------------------------------------------------- */

static pid_t
fork_waiting(void)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	ck_assert_int_gt(child, 0);
	return child;
}

TEST(unwind_tables_of_one_process_have_a_bound)
{
	const void *first = map_elf(0, 40 << 20),
		   *second = map_elf(0, 40 << 20);

	look();
	ck_assert_ptr_nonnull(module_at(first)->elf);
	ck_assert_ptr_nonnull(module_at(second)->elf);
	ck_assert(!module_at(first)->table != !module_at(second)->table);
	stop_looking();
}
END

TEST(an_unwind_table_is_built_for_the_first_process_with_room_for_it)
{
	const void *first = map_elf(0, 40 << 20),
		   *second = map_elf(0, 40 << 20);
	pid_t child;

	look();
	child = fork_waiting();
	read_maps_of(getpid());
	ck_assert(!module_at(first)->table != !module_at(second)->table);
	read_maps_of(child);
	ck_assert_ptr_nonnull(module_at(first)->table);
	ck_assert_ptr_nonnull(module_at(second)->table);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	stop_looking();
}
END

SUITE("modules");
