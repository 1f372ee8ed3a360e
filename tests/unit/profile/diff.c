/* Differential trees, made of two trees, and their views. */
#include "profile/diff.h"
#include "base/json.h"
#include "lib/folded.h"
#include "lib/test.h"
#include "profile/pprof.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define CPU 1 /* value type of profile_of() */

struct pair {
	struct profile *p[2];
	struct tree *t[2];
	struct compare_side side[2];
	struct comparison *c;
	struct diff *d;
};

static void
pair_done(struct pair *x)
{
	diff_free(x->d);
	comparison_free(x->c);
	for (int i = 0; i < 2; i++) {
		tree_free(x->t[i]);
		profile_free(x->p[i]);
	}
}
#define CLEANUP_PAIR CLEANUP(pair_done)

static struct pair
pair_s(const char *base, const char *now, enum compare_by by, double s,
       double s2)
{
	struct pair x = {.p = {profile_of(base), profile_of(now)}};

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(tree_new(x.p[i], CPU, &x.t[i]), 0);
	x.side[0] =
		(struct compare_side){.tree = x.t[0], .seconds = s, .work = s};
	x.side[1] = (struct compare_side){
		.tree = x.t[1], .seconds = s2, .work = 3 * s2};
	ck_assert_int_eq(compare_new(&x.side[0], &x.side[1], false, by, &x.c),
	                 0);
	ck_assert_int_eq(diff_new(&x.side[0], &x.side[1], x.c, &x.d), 0);
	return x;
}

static struct pair
pair(const char *base, const char *now, enum compare_by by)
{
	return pair_s(base, now, by, 10, 10);
}

static struct diff_meta
meta_of(const struct pair *x)
{
	const struct export_meta m = {.title = "shop <cpu>",
	                              .id = "sess-a",
	                              .service = "shop",
	                              .type = "cpu",
	                              .duration_ms = 10000};

	return (struct diff_meta){m, m, x->c, DIFF_AFTER};
}

static int
write_as(const struct pair *x, const char *format, struct buf *out)
{
	const struct diff_meta meta = meta_of(x);

	return diff_format_find(format)->write(x->d, &meta, out);
}

/* Writes "depth name base comparison" of each node, in samples. */
static void
tell(const struct diff *d, struct buf *out)
{
	const struct tree *t = d->tree;

	for (uint32_t i = 0; i < t->n; i++)
		buf_addf(out, "%u %s %lld %lld\n", t->depth[i],
		         tree_name(t, t->name[i], NULL),
		         (long long)d->base_total[i] / FOLDED_PERIOD_NS,
		         (long long)t->total[i] / FOLDED_PERIOD_NS);
}

static const struct {
	const char *base, *now, *nodes;
} zips[] = {
	{"", "", "0 all 0 0\n"},
	{"a 1\n", "a 2\n", "0 all 1 2\n1 a 1 2\n"},
	/* new and removed nodes, beside and below common ones */
	{"m;a;x 1\nm;c 1\n", "m;b 2\nm;c;y 3\n",
         "0 all 2 5\n1 m 2 5\n2 a 1 0\n3 x 1 0\n2 b 0 2\n2 c 1 3\n"
         "3 y 0 3\n"},
	/* the same name at another depth is another node */
	{"m;a;b 1\n", "m;b;a 1\n",
         "0 all 1 1\n1 m 1 1\n2 a 1 0\n3 b 1 0\n2 b 0 1\n3 a 0 1\n"},
	/* a name that begins as another does */
	{"m;ab 1\n", "m;a 1\nm;ab;c 1\n",
         "0 all 1 2\n1 m 1 2\n2 a 0 1\n2 ab 1 1\n3 c 0 1\n"},
	{"a;b;c;d 1\n", "z 1\n",
         "0 all 1 1\n1 a 1 0\n2 b 1 0\n3 c 1 0\n4 d 1 0\n1 z 0 1\n"},
};

TEST_EACH(nodes_are_those_of_either_side_in_the_order_of_names, zips)
{
	CLEANUP_PAIR struct pair x =
		pair(zips[_i].base, zips[_i].now, COMPARE_BY_NONE);
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	tell(x.d, &b);
	ck_assert_str_eq(buf_str(&b), zips[_i].nodes);
}
END

/* The tree of both sides, without what only the other side has, is one side. */
TEST(each_side_is_kept_whole)
{
	const char *base = "m;a;x 3\nm;a;y 4\nm;b 5\nn 6\n";
	const char *now = "m;a;y 40\nm;a;z 7\nm;c;d;e 1\n";
	CLEANUP_PAIR struct pair x = pair(base, now, COMPARE_BY_NONE);
	const struct tree *t = x.d->tree;
	uint32_t i = 0, k = 0;

	for (uint32_t at = 0; at < t->n; at++) {
		uint32_t end = at + 1;

		while (end < t->n && t->depth[end] > t->depth[at])
			end++;
		ck_assert_uint_eq(t->end[at], end);
		if (x.d->base_total[at]) {
			ck_assert_int_eq(x.d->base_self[at], x.t[0]->self[i]);
			ck_assert_int_eq(x.d->base_samples[at],
			                 x.t[0]->samples[i]);
			ck_assert_int_eq(x.d->base_total[at],
			                 x.t[0]->total[i++]);
		}
		if (t->total[at]) {
			ck_assert_int_eq(t->self[at], x.t[1]->self[k]);
			ck_assert_int_eq(t->total[at], x.t[1]->total[k++]);
		}
	}
	ck_assert_uint_eq(i, x.t[0]->n);
	ck_assert_uint_eq(k, x.t[1]->n);
}
END

static const struct {
	enum compare_by by;
	double s, s2, scale;
	enum compare_by made;
} scales[] = {
	{COMPARE_BY_NONE, 10, 20, 1, COMPARE_BY_NONE},
	{COMPARE_BY_RATE, 10, 20, 2, COMPARE_BY_RATE},
	{COMPARE_BY_SHARE, 10, 20, 3, COMPARE_BY_SHARE},
	{COMPARE_BY_WORK, 10, 20, 6, COMPARE_BY_WORK},
	/* unknown duration: only shares can be compared */
	{COMPARE_BY_RATE, 0, 20, 3, COMPARE_BY_SHARE},
	{COMPARE_BY_RATE, 10, 0, 3, COMPARE_BY_SHARE},
};

TEST_EACH(sides_are_made_equal_as_the_comparison_makes_them, scales)
{
	CLEANUP_PAIR struct pair x = pair_s("f 100\n", "f 300\n", scales[_i].by,
	                                    scales[_i].s, scales[_i].s2);

	ck_assert_double_eq_tol(x.d->scale, scales[_i].scale, 1e-12);
	ck_assert_int_eq(x.d->by, scales[_i].made);
}
END

/* --- what is sure --------------------------------------------------------- */

/* Writes the names of the nodes that are sure, in order. */
static void
tell_sure(const struct diff *d, struct buf *out)
{
	for (uint32_t i = 0; i < d->tree->n; i++)
		if (d->sure[i])
			buf_addf(out, "%s ",
			         tree_name(d->tree, d->tree->name[i], NULL));
}

static const struct {
	const char *base, *now, *sure;
	enum compare_by by;
} cases[] = {
	/* f's callers, as long as f is most of their cost */
	{"m;a;f 1000\nm;b;g 9000\n", "m;a;f 2000\nm;b;g 8000\n", "a f b g ",
         COMPARE_BY_SHARE},
	/* per second, g costs the same, and the total costs more */
	{"m;a;f 1000\nm;b;g 9000\n", "m;a;f 3000\nm;b;g 9000\n", "all m a f ",
         COMPARE_BY_RATE},
	/* one sample against none, and many samples */
	{"m;f 1000\n", "m;f 1000\nm;h 1\n", "", COMPARE_BY_SHARE},
	{"m;f 1000\n", "m;f 1000\nm;h 500\n", "f h ", COMPARE_BY_SHARE},
	{"m;f 1000\nm;h 500\n", "m;f 1000\n", "f h ", COMPARE_BY_SHARE},
	/* f costs more in one place and less in another: not listed */
	{"m;a;f 1000\nm;b;f 1000\nm;g 8000\n",
         "m;a;f 1500\nm;b;f 500\nm;g 8000\n", "", COMPARE_BY_SHARE},
	/* f is listed, but not because of b */
	{"m;a;f 1000\nm;b;f 1000\nm;g 8000\n",
         "m;a;f 3000\nm;b;f 500\nm;g 6500\n", "a f g ", COMPARE_BY_SHARE},
	/* at least half a percent of all cost, however certain */
	{"m;f 10000\nm;g 990000\n", "m;f 14000\nm;g 986000\n", "",
         COMPARE_BY_SHARE},
	{"m;f 10000\nm;g 990000\n", "m;f 16000\nm;g 984000\n", "f g ",
         COMPARE_BY_SHARE},
	/* too few samples for any verdict */
	{"m;f 80\n", "m;f 20\nm;g 60\n", "", COMPARE_BY_SHARE},
};

TEST_EACH(nodes_are_sure_where_listed_functions_moved, cases)
{
	CLEANUP_PAIR struct pair x =
		pair(cases[_i].base, cases[_i].now, cases[_i].by);
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	tell_sure(x.d, &b);
	ck_assert_str_eq(buf_str(&b), cases[_i].sure);
}
END

/* A node with a hundred functions, each a little slower. The node's total is
 * far beyond chance, but no function can be listed. */
TEST(without_a_listed_function_no_node_is_sure)
{
	CLEANUP_BUF struct buf base = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf now = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	for (int i = 0; i < 100; i++) {
		buf_addf(&base, "m;slow;f%d 500\nm;rest;g%d 500\n", i, i);
		buf_addf(&now, "m;slow;f%d 600\nm;rest;g%d 400\n", i, i);
	}
	CLEANUP_PAIR struct pair x =
		pair(buf_str(&base), buf_str(&now), COMPARE_BY_SHARE);

	ck_assert_uint_eq(x.c->nregressions + x.c->nimprovements, 0);
	tell_sure(x.d, &b);
	ck_assert_str_eq(buf_str(&b), "");
}
END

/* --- views ---------------------------------------------------------------- */

#define HOSTILE "a</script><b>&]]>\"\\;x 1\n\xFF\x01z\xEF\xBF\xBF 1\n"

TEST(every_format_writes_any_two_profiles_and_respects_the_ceiling)
{
	static const char *const texts[] = {"", "main 1\n", HOSTILE};

	for (size_t i = 0; i < ndiff_formats * 9; i++) {
		CLEANUP_PAIR struct pair x =
			pair(texts[i % 3], texts[i / 3 % 3], COMPARE_BY_SHARE);
		CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_REPLY);
		CLEANUP_BUF struct buf less = BUF_INIT(0);
		const char *name = diff_formats[i / 9].name;

		ck_assert_int_eq(write_as(&x, name, &b), 0);
		ck_assert_ptr_nonnull(format_find(name));
		if (!b.len)
			continue;
		less.max = b.len - 1;
		ck_assert_int_eq(write_as(&x, name, &less), -E2BIG);
	}
}
END

TEST(folded_has_both_counts_the_base_in_the_comparisons_stead)
{
	CLEANUP_PAIR struct pair x = pair_s(
		"m;a 10\nm;b 5\n", "m;a 40\nm;c 3\n", COMPARE_BY_RATE, 10, 20);
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(write_as(&x, "folded", &b), 0);
	ck_assert_str_eq(buf_str(&b), "m;a 20 40\nm;b 10 0\nm;c 0 3\n");
}
END

TEST(json_has_columns_of_both_and_what_moved)
{
	CLEANUP_PAIR struct pair x = pair_s("m;a 1000\nm;b 1000\n",
	                                    "m;a 2000\nm;b 1000\n",
	                                    COMPARE_BY_SHARE, 10, 5);
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = NULL;
	const json_t *change, *sure;

	ck_assert_int_eq(write_as(&x, "json", &b), 0);
	ck_assert_ptr_null(strchr(buf_str(&b), '<'));
	j = json_loads(buf_str(&b), 0, NULL);
	ck_assert_ptr_nonnull(j);
	for (const char *const *key =
	             (const char *const[]){"depth", "name", "self", "totals",
	                                   "baseSelf", "baseTotals", NULL};
	     *key; key++)
		ck_assert_uint_eq(json_array_size(json_object_get(j, *key)), 4);
	ck_assert_double_eq_tol(
		json_number_value(json_object_get(j, "baseScale")), 1.5, 1e-9);
	ck_assert_str_eq(json_string_value(json_object_get(j, "normalize")),
	                 "share");
	/* a rose from half to two thirds; b's share fell, its cost rose */
	ck_assert_uint_eq(json_array_size(json_object_get(j, "changes")), 2);
	change = json_array_get(json_object_get(j, "changes"), 0);
	ck_assert(json_is_true(json_object_get(change, "moved")));
	change = json_array_get(json_object_get(j, "changes"), 1);
	ck_assert(json_is_false(json_object_get(change, "moved")));
	sure = json_object_get(j, "sure");
	ck_assert_uint_eq(json_array_size(sure), 2);
	ck_assert_int_eq(json_integer_value(json_array_get(sure, 0)), 2);
	ck_assert_int_eq(json_integer_value(json_array_get(sure, 1)), 3);
}
END

TEST(pprof_is_the_comparison_less_the_base_which_is_labelled)
{
	CLEANUP_PAIR struct pair x = pair_s(
		"m;a 10\nm;b 5\n", "m;a 40\nm;c 3\n", COMPARE_BY_RATE, 10, 20);
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf why = BUF_INIT(100);
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	int64_t base = 0, now = 0;

	ck_assert_int_eq(write_as(&x, "pprof", &b), 0);
	ck_assert_int_eq(pprof_decode(b.p, b.len, 1 << 20, &p, &why), 0);
	ck_assert_uint_eq(p->ntypes, 1);
	for (uint32_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];

		if (s->nlabels == 0) {
			now += p->values[i];
			continue;
		}
		ck_assert_str_eq(profile_text(p, p->labels[s->label0].key),
		                 "pprof::base");
		base += p->values[i];
	}
	ck_assert_int_eq(now, INT64_C(43) * FOLDED_PERIOD_NS);
	ck_assert_int_eq(base, INT64_C(-30) * FOLDED_PERIOD_NS);
	ck_assert_int_eq(tree_new(p, 0, &t), 0);
	ck_assert_int_eq(t->total[0], INT64_C(13) * FOLDED_PERIOD_NS);
	/* the two sides are unchanged */
	ck_assert_int_eq(x.p[0]->values[1], INT64_C(10) * FOLDED_PERIOD_NS);
}
END

/* Values: difffolded.pl of FlameGraph 1.0, go tool pprof 1.19 -diff_base. */
TEST(formats_for_other_tools_are_by_default_as_these_write_them)
{
	CLEANUP_PAIR struct pair x = {0}, y = {0};
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf why = BUF_INIT(100);
	CLEANUP_PROFILE struct profile *p = NULL;

	x = pair_s("m;cold 5\nm;hot 10\n", "m;cold 5\nm;hot 30\n",
	           diff_format_find("folded")->by, 10, 20);
	ck_assert_int_eq(write_as(&x, "folded", &b), 0);
	ck_assert_str_eq(buf_str(&b), "m;cold 5 5\nm;hot 10 30\n");
	buf_clear(&b);
	y = pair_s("m;cold 5\nm;hot 10\n", "m;cold 5\nm;hot 30\n",
	           diff_format_find("pprof")->by, 10, 20);
	ck_assert_int_eq(write_as(&y, "pprof", &b), 0);
	ck_assert_int_eq(pprof_decode(b.p, b.len, 1 << 20, &p, &why), 0);
	ck_assert_int_eq(profile_total(p, 0), INT64_C(20) * FOLDED_PERIOD_NS);
}
END

static size_t
count(const char *text, const char *what)
{
	size_t n = 0;

	for (text = strstr(text, what); text; text = strstr(text + 1, what))
		n++;
	return n;
}

static const struct {
	enum diff_shape shape;
	bool has_new, has_gone;
} shapes[] = {
	{DIFF_AFTER, true, false},
	{DIFF_BEFORE, false, true},
	{DIFF_BOTH, true, true},
};

/* The two kinds of boxes have different colours; the legend shows them. */
TEST_EACH(svg_draws_what_its_shape_has, shapes)
{
	CLEANUP_PAIR struct pair x = pair("m;a 500\nm;old 500\n",
	                                  "m;a 500\nm;new 500\n",
	                                  COMPARE_BY_NONE);
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	struct diff_meta meta = meta_of(&x);

	meta.shape = shapes[_i].shape;
	ck_assert_int_eq(diff_format_find("svg")->write(x.d, &meta, &b), 0);
	ck_assert_uint_eq(count(buf_str(&b), "rgb(240,228,66)"),
	                  1 + shapes[_i].has_new);
	ck_assert_uint_eq(count(buf_str(&b), "rgb(204,121,167)"),
	                  1 + shapes[_i].has_gone);
}
END

SUITE("diff");
