/*
 * The goroutines of a recorded Go program: how many there are of each kind,
 * what they wait for, what they are labelled with, and every frame.
 */
#include "base/file.h"
#include "capture/goroutines/goroutine_tags.h"
#include "capture/ranges.h"
#include "lib/goroutine_image.h"
#include "lib/here.h"
#include "lib/test.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define IMAGE     "tests/data/goroutines.image.gz"
#define EXPECTED  "tests/data/goroutines.txt"
#define MAX_BYTES ((size_t)16 << 20)

static void
put_label(const struct profile *p, const struct label *l, struct buf *out)
{
	buf_addf(out, " %s=%s", profile_text(p, l->key),
	         profile_text(p, l->str));
	if (l->num)
		buf_addf(out, "%lld%s", (long long)l->num,
		         profile_text(p, l->unit));
}

/* Writes "VALUE KEY=VALUE..." and, below that, a line per frame. */
static void
put_sample(const struct profile *p, uint32_t i, struct buf *out)
{
	const struct sample *s = &p->samples[i];

	buf_addf(out, "%lld", (long long)p->values[i * p->ntypes]);
	for (uint32_t k = 0; k < s->nlabels; k++)
		put_label(p, &p->labels[s->label0 + k], out);
	buf_putc(out, '\n');
	for (uint32_t k = 0; k < s->nstack; k++) {
		const struct location *at =
			&p->locations[p->stack[s->stack0 + k]];

		for (uint32_t j = 0; j < at->nlines; j++) {
			const struct line *l = &p->lines[at->line0 + j];
			const struct function *f = &p->functions[l->function];

			buf_addf(out, "\t%s %s:%ld\n", profile_text(p, f->name),
			         profile_text(p, f->file), (long)l->line);
		}
	}
}

/* Fails at the first line that differs. */
static void
assert_lines(const char *got, const char *expected)
{
	for (int line = 1; *got || *expected; line++) {
		size_t n = strcspn(got, "\n"), m = strcspn(expected, "\n");

		ck_assert_msg(n == m && !memcmp(got, expected, n),
		              "%s:%d: '%.*s', not '%.*s'", EXPECTED, line,
		              (int)n, got, (int)m, expected);
		got += n + (got[n] == '\n');
		expected += m + (expected[m] == '\n');
	}
}

TEST(a_recorded_program_is_read_goroutine_by_goroutine)
{
	CLEANUP(image_done) struct image m = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf got = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf expected = BUF_INIT(MAX_BYTES);

	ck_assert_int_eq(image_read(IMAGE, &m), 0);
	ck_assert_int_eq(image_play(&m, &p), 0);
	for (uint32_t i = 0; i < p->nsamples; i++)
		put_sample(p, i, &got);
	ck_assert_int_eq(file_read(AT_FDCWD, EXPECTED, &expected), 0);
	assert_lines(buf_str(&got), buf_str(&expected));
}
END

/* Changes the first letter of each copy of the text in the recording; returns
 * how many there are. */
static size_t
change(struct image *m, const char *text, char to)
{
	size_t n = strlen(text), found = 0;

	for (size_t i = 0; i < m->n; i++) {
		uint8_t *p = m->data[i], *end = p + m->pieces[i].bytes;

		while ((p = memmem(p, (size_t)(end - p), text, n))) {
			*p++ = (uint8_t)to;
			found++;
		}
	}
	return found;
}

/* Counts the samples that have a text label of this value. */
static size_t
count_with(const struct profile *p, const char *key, const char *value)
{
	size_t n = 0;

	for (uint32_t i = 0; i < p->nsamples; i++)
		for (uint32_t k = 0; k < p->samples[i].nlabels; k++) {
			const struct label *l =
				&p->labels[p->samples[i].label0 + k];

			n += !strcmp(profile_text(p, l->key), key) &&
			     !strcmp(profile_text(p, l->str), value);
		}
	return n;
}

TEST(a_wait_reason_is_taken_when_all_of_it_is_printable)
{
	static const struct {
		char first;
		bool taken;
	} rows[] = {{'\037', false}, {' ', true}, {'~', true}, {'\177', false}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(image_done) struct image m = {0};
		CLEANUP_PROFILE struct profile *p = NULL;
		char reason[] = "?leep";

		reason[0] = rows[i].first;
		ck_assert_int_eq(image_read(IMAGE, &m), 0);
		ck_assert_uint_gt(change(&m, "sleep", reason[0]), 0);
		ck_assert_int_eq(image_play(&m, &p), 0);
		ck_assert_uint_eq(count_with(p, "waitReasonRaw", "sleep"), 0);
		ck_assert_msg(!!count_with(p, "waitReasonRaw", reason) ==
		                      rows[i].taken,
		              "row %zu", i);
	}
}
END

/* Writes to an address of the recording, in each piece that contains it. */
static void
poke(struct image *m, uint64_t addr, const void *from, size_t n)
{
	for (size_t i = 0; i < m->n; i++)
		for (size_t k = 0; k < n; k++) {
			uint64_t off = addr + k - m->pieces[i].addr;

			if (off < m->pieces[i].bytes)
				m->data[i][off] = ((const uint8_t *)from)[k];
		}
}

/* An address above everything that was recorded. */
#define ELSEWHERE UINT64_C(0x7f0000000000)

/* Changes the string headers of all copies of a text to another text. */
static void
rename_text(struct image *m, const char *text, const char *to)
{
	size_t n = strlen(text), recorded = m->n;
	const uint64_t now[2] = {ELSEWHERE, strlen(to)};

	ck_assert_int_eq(image_add(m, ELSEWHERE, to, strlen(to)), 0);
	for (size_t i = 0; i < recorded; i++) {
		uint8_t *p = m->data[i], *end = p + m->pieces[i].bytes;

		for (; (p = memmem(p, (size_t)(end - p), text, n)); p++) {
			uint64_t at = m->pieces[i].addr +
			              (uint64_t)(p - m->data[i]);
			const uint64_t was[2] = {at, n};

			for (size_t k = 0; k < recorded; k++) {
				uint8_t *header = memmem(m->data[k],
				                         m->pieces[k].bytes,
				                         was, sizeof(was));

				if (header)
					poke(m,
					     m->pieces[k].addr +
					             (uint64_t)(header -
					                        m->data[k]),
					     now, sizeof(now));
			}
		}
	}
}

TEST(a_wait_reason_is_taken_up_to_the_room_for_it)
{
	for (size_t n = GO_MAX_REASON - 1; n <= GO_MAX_REASON + 1; n++) {
		CLEANUP(image_done) struct image m = {0};
		CLEANUP_PROFILE struct profile *p = NULL;
		char reason[GO_MAX_REASON + 2] = "";

		memset(reason, 'x', n);
		ck_assert_int_eq(image_read(IMAGE, &m), 0);
		rename_text(&m, "sleep", reason);
		ck_assert_int_eq(image_play(&m, &p), 0);
		ck_assert_uint_eq(count_with(p, "waitReasonRaw", "sleep"), 0);
		ck_assert_uint_eq(count_with(p, "waitReasonRaw", reason),
		                  n <= GO_MAX_REASON);
	}
}
END

/* Finds the list of goroutines in the same way as the reader. */
static void
find_list(struct image *m, struct go_runtime *r)
{
	const struct host host = image_host(m);
	const struct memory mem = {&host, 1, NULL};
	CLEANUP_ELF struct elf_image *elf = NULL;

	r->mem = &mem;
	r->bias = m->head.bias;
	ck_assert_int_eq(elf_open_memory(m->elf, m->head.elf_bytes, &elf), 0);
	ck_assert_int_eq(gobin_open(elf, &r->bin), 0);
	ck_assert_int_eq(go_runtime_find(r), 0);
	ck_assert_int_eq(go_runtime_list(r), 0);
	gobin_free(TAKE(r->bin));
	r->mem = NULL;
}

static void
read_list(struct image *m, const struct go_runtime *r, uint64_t *out)
{
	const struct host host = image_host(m);
	const struct memory mem = {&host, 1, NULL};

	ck_assert_int_eq(
		memory_copy(&mem, r->list, out, r->entries * sizeof(*out)), 0);
}

/* Returns where the sample of this goroutine begins in the text. */
static const char *
sample_of(struct buf *text, const char *goid)
{
	const char *at = strstr(buf_str(text), goid);

	ck_assert_ptr_nonnull(at);
	return at;
}

TEST(rows_of_a_group_come_in_the_order_of_what_they_wait_for)
{
	CLEANUP(image_done) struct image m = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf got = BUF_INIT(MAX_BYTES);
	CLEANUP_FREE struct go_runtime *r = calloc(1, sizeof(*r));
	CLEANUP_FREE uint64_t *list = NULL;

	ck_assert_int_eq(image_read(IMAGE, &m), 0);
	find_list(&m, r);
	list = calloc(r->entries, sizeof(*list));
	read_list(&m, r, list);
	for (size_t i = 1; i < r->entries - 1;
	     i++) /* all but the first and the last, backwards */
		poke(&m, r->list + i * sizeof(*list), &list[r->entries - 1 - i],
		     sizeof(*list));
	ck_assert_int_eq(image_play(&m, &p), 0);
	for (uint32_t i = 0; i < p->nsamples; i++)
		put_sample(p, i, &got);
	/* Either pair is one group, though its members wait for two
	 * channels. */
	ck_assert(sample_of(&got, " goid=80 ") < sample_of(&got, " goid=82 "));
	ck_assert(sample_of(&got, " goids=23,24\n") <
	          sample_of(&got, " goids=44,45\n"));
}
END

TEST(a_longer_list_of_what_are_no_goroutines_is_not_taken)
{
	static const uint64_t none[4] = {0};
	CLEANUP(image_done) struct image m = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_FREE struct go_runtime *r = calloc(1, sizeof(*r));
	CLEANUP_FREE uint64_t *list = NULL;
	uint64_t slice[3] = {ELSEWHERE};
	const uint8_t *free_place = NULL;
	size_t in = 0;

	ck_assert_int_eq(image_read(IMAGE, &m), 0);
	find_list(&m, r);
	slice[1] = slice[2] = r->entries + 1;
	list = calloc(slice[1], sizeof(*list));
	for (size_t i = 0; i < slice[1]; i++)
		list[i] = ELSEWHERE; /* its bytes look like addresses, too */
	ck_assert_int_eq(
		image_add(&m, ELSEWHERE, list, slice[1] * sizeof(*list)), 0);
	/* Finds words after runtime.allgs that are all 0. */
	for (; in < m.n && !free_place; in++) {
		uint64_t off = r->allgs - m.pieces[in].addr;

		if (off + sizeof(slice) < m.pieces[in].bytes)
			free_place = memmem(m.data[in] + off,
			                    m.pieces[in].bytes - off, none,
			                    sizeof(none));
	}
	ck_assert_ptr_nonnull(free_place);
	in--;
	poke(&m,
	     (m.pieces[in].addr + (uint64_t)(free_place - m.data[in]) + 7) / 8 *
	             8,
	     slice, sizeof(slice));
	ck_assert_int_eq(image_play(&m, &p), 0);
	ck_assert_uint_eq(count_with(p, "waitReasonRaw", "sleep"), 1);
}
END

/* A process in which one goroutine runs again, once, after its struct was
 * read. */
struct going_on {
	struct image *m;
	uint64_t addr;
	struct go_layout layout;
	bool has;
};

static int
answer_going_on(void *arg, const struct host_ask *ask, struct host_reply *reply,
                int fds[HOST_MAX_FDS], size_t *nfds)
{
	struct going_on *g = arg;
	const struct host host = image_host(g->m);
	const struct memory mem = {&host, 1, NULL};
	struct memory_range first = {0};
	uint32_t was, before = 1; /* runnable */
	int rc;

	if (g->has || ask->op != HOST_RANGES ||
	    pread(fds[0], &first, sizeof(first), 0) != sizeof(first) ||
	    first.addr != g->addr || first.len != g->layout.size)
		return host.ask(host.arg, ask, reply, fds, nfds);
	g->has = true;
	rc = memory_copy(&mem, g->addr + g->layout.status, &was, sizeof(was));
	if (rc)
		return rc;
	poke(g->m, g->addr + g->layout.status, &before, sizeof(before));
	rc = host.ask(host.arg, ask, reply, fds, nfds);
	poke(g->m, g->addr + g->layout.status, &was, sizeof(was));
	return rc;
}

TEST(a_goroutine_that_went_on_while_it_was_read_is_read_again)
{
	CLEANUP(image_done) struct image m = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_FREE struct go_runtime *r = calloc(1, sizeof(*r));
	CLEANUP_FREE uint64_t *list = NULL;
	struct going_on g = {.m = &m};
	const struct host host = {.ask = answer_going_on, .arg = &g};

	ck_assert_int_eq(image_read(IMAGE, &m), 0);
	find_list(&m, r);
	list = calloc(r->entries, sizeof(*list));
	read_list(&m, r, list);
	g.addr = list[0];
	g.layout = r->layout;
	ck_assert_int_eq(image_walk(&m, &host, 1, &p), 0);
	ck_assert(g.has);
	ck_assert_uint_eq(count_with(p, "state", "runnable"), 0);
}
END

/* Labels of Go 1.24: a list of pairs of strings. */
struct go_text {
	const char *p;
	uint64_t n;
};

struct go_list {
	const struct go_text *texts;
	uint64_t n, cap;
};

static const struct go_text one[] = {{"job", 3}, {"a", 1}};
static const struct go_text two[] = {{"job", 3}, {"b", 1}};

/* Reads the labels of n goroutines, one list each. */
static int
learn(struct go_tags *t, const struct go_list *l, size_t n)
{
	struct go_g g[4] = {0};

	for (size_t i = 0; i < n; i++)
		g[i].labels = (uintptr_t)&l[i];
	return go_tags_learn(t, g, n);
}

TEST(goroutines_whose_labels_are_all_empty_are_read)
{
	static const struct go_list lists[] = {{one, 0, 1}, {NULL, 0, 0}};
	const struct memory own = {&here, getpid(), NULL};
	const struct go_runtime r = {.mem = &own, .minor = 24};
	CLEANUP_PROFILE struct profile *p = profile_new();
	struct go_tags t;

	ck_assert_int_eq(go_tags_init(&t, &r, p), 0);
	ck_assert_int_eq(learn(&t, lists, ARRAY_LEN(lists)), 0);
	ck_assert_uint_eq(go_tags_of(&t, (uintptr_t)&lists[0]), 0);
	ck_assert_uint_eq(go_tags_of(&t, (uintptr_t)&lists[1]), 0);
	go_tags_done(&t);
}
END

TEST(labels_past_the_room_for_them_are_left_out)
{
	static const struct go_list lists[] = {{one, 1, 1}, {two, 1, 1}};
	const struct memory own = {&here, getpid(), NULL};
	const struct go_runtime r = {.mem = &own, .minor = 24};
	CLEANUP_PROFILE struct profile *p = profile_new();
	struct label got[GO_MAX_TAGS];
	struct go_tags t;

	ck_assert_int_eq(go_tags_init(&t, &r, p), 0);
	t.nodes.max = t.nodes.n + 1; /* room for one more label */
	ck_assert_int_eq(learn(&t, lists, ARRAY_LEN(lists)), 0);
	ck_assert_uint_eq(
		go_tags_get(&t, go_tags_of(&t, (uintptr_t)&lists[0]), got), 1);
	ck_assert_str_eq(profile_text(p, got[0].key), "job");
	ck_assert_str_eq(profile_text(p, got[0].str), "a");
	ck_assert_uint_eq(go_tags_of(&t, (uintptr_t)&lists[1]), 0);
	go_tags_done(&t);
}
END

SUITE("goroutines");
