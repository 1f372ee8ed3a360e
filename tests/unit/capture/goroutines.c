/*
 * The goroutines of a recorded Go program: how many there are of each kind,
 * what they wait for, what they are labelled with, and every frame.
 */
#include "base/file.h"
#include "capture/goroutines/goroutine_tags.h"
#include "lib/goroutine_image.h"
#include "lib/here.h"
#include "lib/test.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define IMAGE     "tests/data/goroutines.image.gz"
#define EXPECTED  "tests/data/goroutines.txt"
#define MAX_BYTES ((size_t)16 << 20)

static const char *
text(const struct profile *p, uint32_t id)
{
	return strings_get(p->strings, id, NULL);
}

static void
put_label(const struct profile *p, const struct label *l, struct buf *out)
{
	buf_addf(out, " %s=%s", text(p, l->key), text(p, l->str));
	if (l->num)
		buf_addf(out, "%lld%s", (long long)l->num, text(p, l->unit));
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

			buf_addf(out, "\t%s %s:%ld\n", text(p, f->name),
			         text(p, f->file), (long)l->line);
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

/* Puts another character into each text of the recording; returns how many. */
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

			n += !strcmp(text(p, l->key), key) &&
			     !strcmp(text(p, l->str), value);
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

/* Labels as Go 1.24 has them: a list of pairs of texts. */
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

/* Reads the labels of goroutines, each of which has one of these lists. */
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
	t.nodes.max = t.nodes.n + 1; /* a single label more */
	ck_assert_int_eq(learn(&t, lists, ARRAY_LEN(lists)), 0);
	ck_assert_uint_eq(
		go_tags_get(&t, go_tags_of(&t, (uintptr_t)&lists[0]), got), 1);
	ck_assert_str_eq(text(p, got[0].key), "job");
	ck_assert_str_eq(text(p, got[0].str), "a");
	ck_assert_uint_eq(go_tags_of(&t, (uintptr_t)&lists[1]), 0);
	go_tags_done(&t);
}
END

SUITE("goroutines", a_recorded_program_is_read_goroutine_by_goroutine,
      a_wait_reason_is_taken_when_all_of_it_is_printable,
      goroutines_whose_labels_are_all_empty_are_read,
      labels_past_the_room_for_them_are_left_out)
