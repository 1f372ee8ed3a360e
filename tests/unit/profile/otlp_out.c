/* Requests for collectors of OpenTelemetry, and their replies. */
#include "profile/otlp_out.h"

#include "base/json.h"
#include "lib/any_profile.h"
#include "lib/same_profile.h"
#include "lib/test.h"
#include "profile/export.h"
#include "profile/otlp.h"
#include "profile/stored/otlp_fields.h"

#include <errno.h>
#include <string.h>

#define MOST ((size_t)4 << 20)

struct got {
	char service[64], labels[512];
	struct profile *p;
	unsigned parts;
};

static int
take(void *arg, const struct otlp_part *of, struct profile **made)
{
	struct got *g = arg;

	snprintf(g->service, sizeof(g->service), "%s", of->service);
	snprintf(g->labels, sizeof(g->labels), "%s", of->labels);
	g->parts++;
	profile_free(g->p);
	g->p = TAKE(*made);
	return 0;
}

static void
write_and_read(const struct profile *p, const struct otlp_origin *of,
               struct buf *file, struct got *out)
{
	static const struct import_ask ask = {
		.type = "",
		.content_type = "",
		.deltas = true,
		.limits = {.raw_bytes = MOST,
	                   .memory = MOST,
	                   .ratio = 200,
	                   .strings = 10000,
	                   .samples = 10000},
	};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(otlp_out(p, of, file), 0);
	ck_assert_msg(!otlp_read(file->p, file->len, &ask, take, out, &why),
	              "%s", buf_str(&why));
}

/* Some labels become attributes by OpenTelemetry's conventions, and are read
 * back from these; others become attributes of their own names, which are read
 * as no label. */
TEST(a_request_is_read_as_the_profile_with_its_origin)
{
	static const struct {
		const char *host, *labels, *read;
	} rows[] = {
		{"", "{}", "{}"},
		{"a.test", "{}", "{\"host\":\"a.test\"}"},
		{"a.test", "{\"version\":\"7\",\"team\":\"web\"}",
	         "{\"version\":\"7\",\"host\":\"a.test\"}"},
		{"a.test", "{\"host\":\"b.test\"}", "{\"host\":\"a.test\"}"},
		{"", "{\"host\":\"b.test\"}", "{\"host\":\"b.test\"}"},
		{"", "{\"service.version\":\"7\",\"service.name\":\"x\"}",
	         "{}"},
		{"",
	         "{\"namespace\":\"n\",\"pod\":\"p\",\"container\":\"c\","
	         "\"image\":\"i\",\"environment\":\"e\"}",
	         "{\"environment\":\"e\",\"namespace\":\"n\",\"pod\":\"p\","
	         "\"container\":\"c\",\"image\":\"i\"}"},
		{"", "{\"container\":\"c\",\"n\":7}", "{\"container\":\"c\"}"},
	};

	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_PROFILE struct profile *any = any_profile(i);
		CLEANUP_BUF struct buf file = BUF_INIT(MOST);
		CLEANUP_JSON json_t *labels =
			json_loads(rows[i].labels, 0, NULL);
		const struct otlp_origin of = {"shop", rows[i].host, "sess-a",
		                               labels};
		struct got got = {.p = NULL};

		any->drop_frames = any->keep_frames = 0;
		write_and_read(any, &of, &file, &got);
		ck_assert_uint_eq(got.parts, 1);
		ck_assert_str_eq(got.service, "shop");
		ck_assert_str_eq(got.labels, rows[i].read);
		profile_free(got.p);
	}
}
END

TEST(a_container_is_one_of_kubernetes_only_with_a_namespace)
{
	CLEANUP_PROFILE struct profile *any = any_profile(1);

	for (unsigned pod = 0; pod < 2; pod++) {
		CLEANUP_BUF struct buf file = BUF_INIT(MOST);
		CLEANUP_JSON json_t *labels =
			json_loads(pod ? "{\"namespace\":\"n\","
		                         "\"container\":\"c\"}"
		                       : "{\"container\":\"c\"}",
		                   0, NULL);
		const struct otlp_origin of = {"shop", "", "", labels};

		ck_assert_int_eq(otlp_out(any, &of, &file), 0);
		ck_assert_int_eq(
			!memmem(file.p, file.len, "k8s.container.name", 18),
			!pod);
	}
}
END

/* Finds the ids of the profiles of a request. */
static unsigned
ids_of(const struct buf *file, char out[4][16])
{
	static const uint8_t path[] = {1, 2, 2};
	struct wire at[4] = {{(const uint8_t *)file->p,
	                      (const uint8_t *)file->p + file->len}};
	struct wire_field f;
	unsigned depth = 0, n = 0;

	while (true) {
		int r = wire_next(&at[depth], &f);

		ck_assert_int_ge(r, 0);
		if (!r && !depth)
			return n;
		if (!r)
			depth--;
		else if (depth == 3 &&
		         f.key == WIRE_KEY(OTLP_N_PROFILE_PROFILE_ID,
		                           WIRE_BYTES)) {
			ck_assert_int_eq(f.bytes.end - f.bytes.p, 16);
			ck_assert_uint_lt(n, 4);
			memcpy(out[n++], f.bytes.p, 16);
		} else if (depth < 3 &&
		           f.key == WIRE_KEY(path[depth], WIRE_BYTES))
			at[++depth] = f.bytes;
	}
}

TEST(profiles_of_a_source_have_the_same_ids_whenever_they_are_sent)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_BUF struct buf a = BUF_INIT(MOST), b = BUF_INIT(MOST),
			       c = BUF_INIT(MOST), d = BUF_INIT(MOST);
	struct otlp_origin of = {"shop", "", "win-a", NULL};
	char ids[4][4][16];

	ck_assert_int_eq(profile_type(p, "samples", "count"), 0);
	ck_assert_int_eq(profile_type(p, "cpu", "nanoseconds"), 0);
	ck_assert_int_eq(otlp_out(p, &of, &a), 0);
	ck_assert_int_eq(otlp_out(p, &of, &b), 0);
	of.id = "win-b";
	ck_assert_int_eq(otlp_out(p, &of, &c), 0);
	of.id = "";
	ck_assert_int_eq(otlp_out(p, &of, &d), 0);
	ck_assert_uint_eq(ids_of(&a, ids[0]), 2);
	ck_assert_uint_eq(ids_of(&b, ids[1]), 2);
	ck_assert_uint_eq(ids_of(&c, ids[2]), 2);
	ck_assert_uint_eq(ids_of(&d, ids[3]), 0);
	ck_assert_mem_eq(ids[0], ids[1], 32);
	ck_assert_mem_ne(ids[0][0], ids[0][1], 16);
	ck_assert_mem_ne(ids[0][0], ids[2][0], 16);
}
END

TEST(a_view_has_no_ids)
{
	CLEANUP_PROFILE struct profile *p = any_profile(1);
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_BUF struct buf file = BUF_INIT(MOST);
	const struct export_meta meta = {.title = "shop cpu",
	                                 .id = "sess-a",
	                                 .service = "shop",
	                                 .type = "cpu"};
	char ids[4][16];

	ck_assert_int_eq(tree_new(p, 0, &t), 0);
	ck_assert_int_eq(format_find("otlp")->write(t, &meta, &file), 0);
	ck_assert_uint_eq(ids_of(&file, ids), 0);
}
END

/* --- replies -------------------------------------------------------------- */

#define TEN     "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

TEST(a_reply_is_understood_or_is_none)
{
	static const struct {
		const char *bytes;
		size_t n;
		int error;
		int64_t rejected;
		const char *message;
	} rows[] = {
#define R(text, ...) {text, sizeof(text) - 1, __VA_ARGS__}
		R("", 0, 0, ""),
		R("\x0a\x00", 0, 0, ""),
		R("\x0a\x02\x08\x07", 0, 7, ""),
		R("\x0a\x07\x08\x02\x12\x03old", 0, 2, "old"),
		R("\x0a\x05\x12\x03old", 0, 0, "old"),
		R("\x0a\x08\x12\x06"
	          "a\nb\x7f\xff\x00",
	          0, 0, "a b ?"),
		R("\x12\x01x", 0, 0, ""), /* a field of a later release */
		R("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0, 0,
	          ""),
		R("\x0a\xcd\x01\x12\xca\x01\xc3\xa4" HUNDRED HUNDRED, 0, 0,
	          "\xc3\xa4" HUNDRED HUNDRED),
		R("\x0a", -EBADMSG, 0, ""),
		R("\x0a\x05\x08", -EBADMSG, 0, ""),
		R("\x0a\x02\x12\x03old", -EBADMSG, 0, ""),
		R("{}", -EBADMSG, 0, ""),
		R("ok", -EBADMSG, 0, ""),
		R("<!doctype html>", -EBADMSG, 0, ""),
#undef R
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct otlp_reply r = {.rejected = -1};
		int rc = otlp_out_reply(rows[i].bytes, rows[i].n, &r);

		ck_assert_msg(rc == rows[i].error, "row %zu: %d", i, rc);
		if (rc) {
			ck_assert_int_eq(r.rejected, -1);
			continue;
		}
		ck_assert_int_eq(r.rejected, rows[i].rejected);
		ck_assert_msg(!strncmp(r.message, rows[i].message,
		                       OTLP_MESSAGE_MAX - 1),
		              "row %zu: %s", i, r.message);
	}
}
END

SUITE("otlp_out");
