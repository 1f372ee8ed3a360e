#include "endpoint/call/multipart.h"
#include "endpoint/ingest/ingest_name.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>

TEST(a_name_is_taken_apart)
{
	static const struct {
		const char *name, *app, *labels;
	} rows[] = {
		{"shop", "shop", "{}"},
		{"shop{}", "shop", "{}"},
		{"shop.cpu{region=eu-1,host=a=b}", "shop.cpu",
	         "{\"region\":\"eu-1\",\"host\":\"a=b\"}"},
		{"s{__session_id__=1f, x=\"q\" }", "s",
	         "{\"x\":\"\\\"q\\\" \"}"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf labels = BUF_INIT(BUF_MAX_SMALL);
		char app[INGEST_APP_MAX];

		ck_assert_int_eq(ingest_name(rows[i].name, app, &labels), 0);
		ck_assert_str_eq(app, rows[i].app);
		ck_assert_str_eq(buf_str(&labels), rows[i].labels);
	}
}
END

TEST(a_service_name_is_made_of_the_name_of_an_application)
{
	static const struct {
		const char *name, *app;
	} rows[] = {
		{"team/shop{a=b}", "team-shop"},
		{"ns:shop.cpu", "ns-shop.cpu"},
		{"/shop/", "shop"},
		{"my shop", "my-shop"},
		{"///", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf labels = BUF_INIT(BUF_MAX_SMALL);
		char app[INGEST_APP_MAX];

		ck_assert_int_eq(ingest_name(rows[i].name, app, &labels), 0);
		ck_assert_str_eq(app, rows[i].app);
	}
}
END

TEST(an_ill_formed_name_is_refused)
{
	static const char *const bad[] = {"",
	                                  "{a=b}",
	                                  "s{a=b",
	                                  "s{a=b}x",
	                                  "s{a}",
	                                  "s{=b}",
	                                  "s{a=}}",
	                                  "an-application-whose-name-is-longer-"
	                                  "than-sixty-three-characters"
	                                  "-is"};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP_BUF struct buf labels = BUF_INIT(BUF_MAX_SMALL);
		char app[INGEST_APP_MAX];

		ck_assert_msg(ingest_name(bad[i], app, &labels) == -EINVAL,
		              "%s", bad[i]);
	}
}
END

TEST(a_name_may_end_in_a_type)
{
	static const struct {
		const char *app, *type;
		size_t len;
	} rows[] = {
		{"shop.cpu", "cpu", 4},
		{"shop.eu.inuse_space", "memory", 7},
		{"shop.goroutines", "goroutine", 4},
		{"shop.lock_duration", "block", 4},
		{"shop.alloc_objects", "", 4},
		{"shop.wall", "wall", 4},
		{"shop", NULL, 99},
		{"cpu", NULL, 99},
		{".cpu", NULL, 99},
		{"shop.", NULL, 99},
		{"shop.cpus", NULL, 99},
		{"shop.cpu.eu", NULL, 99},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = 99;

		ck_assert_pstr_eq(ingest_type(rows[i].app, &len), rows[i].type);
		ck_assert_uint_eq(len, rows[i].len);
	}
}
END

#define FORM "multipart/form-data; boundary=xY"
#define BODY                                                               \
	"--xY\r\nContent-Disposition: form-data; name=\"profile\"; "       \
	"filename=\"p\"\r\nContent-Type: application/octet-stream\r\n\r\n" \
	"a\r\n--xZ\r\nb\r\n--xY\r\n"                                       \
	"Content-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n--xY--\r\n"

TEST(parts_are_found_by_their_field)
{
	struct part p;

	ck_assert_int_eq(
		multipart_find(FORM, BODY, strlen(BODY), "profile", &p), 0);
	ck_assert_uint_eq(p.n, strlen("a\r\n--xZ\r\nb"));
	ck_assert_mem_eq(p.p, "a\r\n--xZ\r\nb", p.n);
	ck_assert_int_eq(multipart_find(FORM, BODY, strlen(BODY), "empty", &p),
	                 0);
	ck_assert(p.p && !p.n);
	ck_assert_int_eq(multipart_find(FORM, BODY, strlen(BODY), "prof", &p),
	                 0);
	ck_assert_ptr_null(p.p);
}
END

TEST(a_form_cut_short_is_refused)
{
	struct part p;

	for (size_t n = 0; n < strlen(BODY) - 4; n++)
		ck_assert_int_eq(multipart_find(FORM, BODY, n, "profile", &p),
		                 -EBADMSG);
	ck_assert_int_eq(multipart_find("multipart/form-data", BODY,
	                                strlen(BODY), "profile", &p),
	                 -EBADMSG);
}
END

SUITE("ingest");
