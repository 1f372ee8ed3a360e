/*
 * Hostile counts of a program that loads the library: a byte with the type of
 * the profile and how the process is found, the length of the memory at the
 * first look, then that memory and the memory at the second look, both from
 * HEAD on.
 */
#include "capture/heap.h"
#include "capture/symbols/symbols_cache.h"
#include "lib/memory_image.h"
#include "preload/heap_layout.h"
#include "profile/pprof.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define BASE  UINT64_C(0x7f0000000000) /* of the library */
#define VADDR 0x800                    /* of its variable */
#define HEAD  (BASE + VADDR)
#define LATER 4 /* processes that join, one pid each */

enum { IN_USE = 1, JOINS = 2, ENDS = 4 };

struct head {
	uint8_t how;
	uint8_t reserved;
	uint16_t first_n;
};

/* The library, which has nothing but the symbol. */
struct library {
	Elf64_Ehdr head;
	Elf64_Phdr load;
	Elf64_Shdr sections[3];
	Elf64_Sym symbols[2];
	char names[32];
};

static struct {
	int library, maps;
	struct memory_image image;
	bool ended;
} target = {.library = -1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct library
library(void)
{
	struct library l = {
		.head = {.e_ident = ELFMAG "\2\1\1",
	                 .e_type = ET_DYN,
	                 .e_machine = EM_X86_64,
	                 .e_phoff = offsetof(struct library, load),
	                 .e_phentsize = sizeof(Elf64_Phdr),
	                 .e_phnum = 1,
	                 .e_shoff = offsetof(struct library, sections),
	                 .e_shentsize = sizeof(Elf64_Shdr),
	                 .e_shnum = 3,
	                 .e_shstrndx = 2},
		.load = {.p_type = PT_LOAD,
	                 .p_flags = PF_R | PF_X,
	                 .p_filesz = sizeof(l),
	                 .p_memsz = 0x1000},
		.names = "\0" HEAP_SYMBOL,
	};

	l.sections[1] =
		(Elf64_Shdr){.sh_type = SHT_DYNSYM,
	                     .sh_offset = offsetof(struct library, symbols),
	                     .sh_size = sizeof(l.symbols),
	                     .sh_link = 2,
	                     .sh_entsize = sizeof(Elf64_Sym)};
	l.sections[2] =
		(Elf64_Shdr){.sh_type = SHT_STRTAB,
	                     .sh_offset = offsetof(struct library, names),
	                     .sh_size = sizeof(l.names)};
	l.symbols[1] =
		(Elf64_Sym){.st_name = 1,
	                    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
	                    .st_shndx = 1,
	                    .st_value = VADDR,
	                    .st_size = sizeof(struct heap_head)};
	return l;
}

static int
file_of(const void *p, size_t n)
{
	int fd = memfd_create("heap", MFD_CLOEXEC);

	assert(fd >= 0 && pwrite(fd, p, n, 0) == (ssize_t)n);
	return fd;
}

/* Makes the files of a process that loads the library; all inputs share
 * them. */
static void
open_target(void)
{
	const struct library l = library();
	char maps[256];
	struct stat st;
	int n;

	target.library = file_of(&l, sizeof(l));
	assert(!fstat(target.library, &st));
	n = snprintf(maps, sizeof(maps),
	             "%llx-%llx r-xp 00000000 %02x:%02x %llu "
	             "/usr/lib/" HEAP_LIBRARY "\n",
	             (unsigned long long)BASE,
	             (unsigned long long)BASE + 0x1000, major(st.st_dev),
	             minor(st.st_dev), (unsigned long long)st.st_ino);
	target.maps = file_of(maps, (size_t)n);
}

static int
give(int fd, int *fds, size_t *nfds)
{
	assert(lseek(fd, 0, SEEK_SET) == 0);
	fds[0] = dup(fd);
	assert(fds[0] >= 0);
	*nfds = 1;
	return 0;
}

static int
answer(void *arg, const struct host_ask *ask, struct host_reply *reply,
       int fds[HOST_MAX_FDS], size_t *nfds)
{
	const struct host memory = memory_image_host(&target.image);

	(void)arg;
	if (ask->op == HOST_RANGES)
		return memory.ask(memory.arg, ask, reply, fds, nfds);
	*nfds = 0;
	*reply = (struct host_reply){.error = target.ended ? -ESRCH : 0};
	if (target.ended)
		return 0;
	switch (ask->op) {
	case HOST_MAPS:
		return give(target.maps, fds, nfds);
	case HOST_FILE:
	case HOST_MEMORY:
		return give(target.library, fds, nfds);
	case HOST_EXE_LINK:
		strcpy(reply->text, "/usr/lib/" HEAP_LIBRARY);
		return 0;
	case HOST_USAGE:
		reply->value = 1;
		reply->usage[0] = (struct host_usage){.rss_bytes = 4096};
		return 0;
	default:
		reply->error = -ENOENT;
		return 0;
	}
}

/* No value may be negative, and no sum of a profile may overflow. */
static void
check_profile(const struct profile *p, const struct quality *q)
{
	CLEANUP_BUF struct buf file = BUF_INIT((size_t)64 << 20);
	int64_t sums[4] = {0};

	assert(p->ntypes <= ARRAY_LEN(sums));
	for (size_t i = 0; i < p->nsamples * p->ntypes; i++) {
		int64_t *sum = &sums[i % p->ntypes];

		assert(p->values[i] >= 0);
		assert(!__builtin_add_overflow(*sum, p->values[i], sum));
	}
	assert(q->kept >= 0 && q->buckets >= 0 && q->untracked >= 0);
	assert(q->processes + q->exits + q->processes_unread > 0);
	assert(!pprof_encode(p, &file));
}

static void
look(uint8_t how, const struct memory_image *first,
     const struct memory_image *second)
{
	static const int32_t pids[] = {1}, later[] = {1, 2, 3, 4};
	const struct host host = {.ask = answer};
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *symbols =
		symbols_cache_new(1 << 20);
	const struct engine_ask ask = {
		.host = &host,
		.symbols = symbols,
		.type = how & IN_USE ? TYPE_memory : TYPE_alloc,
		.program = PROGRAM_native,
		.pids = pids,
		.npids = ARRAY_LEN(pids),
	};
	CLEANUP_PROFILE struct profile *p = NULL;
	void *h = NULL;
	struct quality q;

	target.ended = false;
	target.image = *first;
	if (heap_engine.open(&ask, &h))
		return;
	if (how & JOINS)
		assert(!heap_engine.join(h, later, LATER));
	target.image = *second;
	target.ended = how & ENDS;
	if (!heap_engine.finish(h, &p, &q))
		check_profile(p, &q);
	else
		assert(!p && !target.ended);
	heap_engine.free(h);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct memory_image first = {.base = HEAD}, second = {.base = HEAD};
	struct head head;

	if (n < sizeof(head))
		return 0;
	if (target.library < 0)
		open_target();
	memcpy(&head, data, sizeof(head));
	data += sizeof(head);
	n -= sizeof(head);
	first.bytes = data;
	first.n = head.first_n < n ? head.first_n : n;
	second.bytes = data + first.n;
	second.n = n - first.n;
	look(head.how, &first, &second);
	return 0;
}
