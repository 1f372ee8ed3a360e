/*
 * Captures of more programs than the cache of symbols has room for, one after
 * the other. As in the analyser, a child looks up the names, and its parent
 * keeps what the child learnt.
 */
#include "capture/symbols/symbols.h"
#include "lib/corpus.h"
#include "lib/test.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PROGRAMS 10
#define FIT      3 /* programs that fit into the cache */

struct answer {
	char name[64], file[PATH_MAX];
	uint32_t line;
};

struct world {
	char dir[PATH_MAX];
	uint64_t vaddr; /* address of an inlined call in each program */
	struct answer want[2];
	struct symbols_cache *cache;
};

/* --- programs ------------------------------------------------------------- */

static struct elf_image *
open_image(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_image *e = NULL;

	ck_assert_int_eq(elf_open_fd(fd, &e), 0);
	return e;
}

static void
program_path(const struct world *w, int i, char out[PATH_MAX])
{
	ck_assert_int_lt(snprintf(out, PATH_MAX, "%s/%d", w->dir, i), PATH_MAX);
}

/* Writes a copy that has another build-id. */
static void
write_program(const struct world *w, const struct elf_image *e, uint8_t *bytes,
              int i)
{
	uint8_t *id = memmem(bytes, e->size, e->build_id, e->build_id_size);
	char path[PATH_MAX];
	FILE *f;

	ck_assert_uint_ge(e->build_id_size, 8);
	ck_assert_ptr_nonnull(id);
	id[0] = (uint8_t)(e->build_id[0] + 1 + i);
	program_path(w, i, path);
	f = fopen(path, "we");
	ck_assert_uint_eq(fwrite(bytes, 1, e->size, f), e->size);
	ck_assert_int_eq(fclose(f), 0);
	id[0] = e->build_id[0];
}

/* --- asking --------------------------------------------------------------- */

static size_t
look_up(struct symbols_cache *c, const struct elf_image *e, uint64_t vaddr,
        struct answer out[2])
{
	CLEANUP_SYMBOLIZER struct symbolizer *s = symbolizer_new(c);
	struct sym_frame f[2];
	size_t n;

	if (!s || symbolizer_add(s, 0, e, NULL))
		return 0;
	n = symbolizer_lookup(s, 0, vaddr, f, 2);
	memset(out, 0, 2 * sizeof(*out));
	for (size_t i = 0; i < n; i++) {
		snprintf(out[i].name, sizeof(out[i].name), "%s", f[i].name);
		snprintf(out[i].file, sizeof(out[i].file), "%s", f[i].file);
		out[i].line = f[i].line;
	}
	return n;
}

/* Finds where deep_folded runs, inlined in deep_c, and keeps the answer. */
static void
find_call(struct world *w, const struct elf_image *e)
{
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c = symbols_cache_new(0);
	const struct elf_segment *s;

	for (uint32_t i = 0; (s = elf_segment(e, PT_LOAD, i)); i++)
		for (uint64_t at = 0; s->flags & PF_X && at < s->filesz; at++) {
			w->vaddr = s->vaddr + at;
			if (look_up(c, e, w->vaddr, w->want) == 2 &&
			    !strcmp(w->want[0].name, "deep_folded"))
				return;
		}
	ck_abort_msg("no call is inlined");
}

static bool
finds_all(struct world *w, const struct elf_image *e, int news)
{
	struct answer got[2];

	return look_up(w->cache, e, w->vaddr, got) == 2 &&
	       !memcmp(got, w->want, sizeof(got)) &&
	       !symbols_cache_send(w->cache, news);
}

/* Does what one capture of a program does. */
static void
capture(struct world *w, int i)
{
	CLEANUP_FD int news = memfd_create("news", MFD_CLOEXEC);
	CLEANUP_ELF struct elf_image *e = NULL;
	char path[PATH_MAX];
	int status;
	pid_t pid;

	program_path(w, i, path);
	e = open_image(path);
	pid = fork();
	if (!pid)
		_exit(!finds_all(w, e, news));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(!status, "program %d: other answers", i);
	ck_assert_int_eq(symbols_cache_learn(w->cache, news), 0);
}

/* Asks in a child that sends no news, so that it does not count as a use. */
static bool
is_kept(struct world *w, int i)
{
	int status;
	pid_t pid;

	CLEANUP_ELF struct elf_image *e = NULL;
	struct symbols_key key = {.kind = SYMBOLS_ANSWER, .part = w->vaddr};
	struct symbols_piece piece;
	char path[PATH_MAX];

	program_path(w, i, path);
	e = open_image(path);
	ck_assert(symbols_file_of(e->fd, &key.image));
	pid = fork();
	if (!pid)
		_exit(!symbols_cache_find(w->cache, &key, &piece));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return !status;
}

/* --- life ----------------------------------------------------------------- */

static void
make_programs(struct world *w)
{
	CLEANUP_ELF struct elf_image *e = NULL;
	CLEANUP_FREE void *bytes = NULL;
	char path[PATH_MAX];

	corpus_target("deep", path, sizeof(path));
	e = open_image(path);
	strcpy(w->dir, "/var/tmp/stoker-bound-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(w->dir));
	ck_assert_int_eq(elf_copy(e, 0, e->size, SIZE_MAX, &bytes), 0);
	for (int i = 0; i < PROGRAMS; i++)
		write_program(w, e, bytes, i);
	find_call(w, e);
}

static void
remove_programs(const struct world *w)
{
	char path[PATH_MAX];

	for (int i = 0; i < PROGRAMS; i++) {
		program_path(w, i, path);
		unlink(path);
	}
	rmdir(w->dir);
}

static size_t
bytes_of_one(struct world *w)
{
	size_t n;

	w->cache = symbols_cache_new((size_t)1 << 30);
	capture(w, 0);
	n = symbols_cache_bytes(w->cache);
	symbols_cache_free(w->cache);
	ck_assert_uint_gt(n, SYMBOLS_ENTRY);
	return n;
}

TEST(programs_beyond_the_bound_drive_out_the_oldest_and_are_named_right)
{
	struct world w = {0};
	size_t one;

	make_programs(&w);
	one = bytes_of_one(&w);
	w.cache = symbols_cache_new(FIT * one);
	for (int i = 0; i < PROGRAMS; i++) {
		capture(&w, i);
		ck_assert_uint_le(symbols_cache_bytes(w.cache), FIT * one);
		for (int j = 0; j <= i; j++)
			ck_assert_msg(is_kept(&w, j) == (i - j < FIT),
			              "%d after %d", j, i);
	}
	capture(&w, PROGRAMS - FIT); /* the oldest is used again */
	capture(&w, 0);              /* and the one that was dropped */
	ck_assert(is_kept(&w, PROGRAMS - FIT));
	ck_assert(is_kept(&w, 0));
	ck_assert_uint_le(symbols_cache_bytes(w.cache), FIT * one);
	symbols_cache_free(w.cache);
	remove_programs(&w);
}
END

SUITE("symbols_bound");
