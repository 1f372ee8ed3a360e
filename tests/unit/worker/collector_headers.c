/* The operator's headers for collectors: who gets which. */
#include "worker/fetcher/collector_headers.h"

#include "base/buf.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>

static const char file[] = "# a comment\n"
			   "\n"
			   "shop one.test Authorization: Bearer of shop\n"
			   "* one.test X-All: yes\r\n"
			   "* *.two.test:4318   X-Two:  with spaces \n"
			   "\tshop\tself\tX-Self: here\n"
			   "other * X-Other: any";

static int
take(void *arg, const char *header)
{
	struct buf *out = arg;

	buf_addf(out, "[%s]", header);
	return buf_err(out);
}

TEST(a_request_has_the_headers_of_its_tenant_and_host_and_no_others)
{
	static const struct {
		const char *tenant, *url, *headers;
	} rows[] = {
		{"shop", "http://one.test/x",
	         "[Authorization: Bearer of shop][X-All: yes]"},
		{"bank", "http://one.test:9/", "[X-All: yes]"},
		{"bank", "http://a.two.test:4318/", "[X-Two:  with spaces ]"},
		{"bank", "http://a.two.test/", ""},
		{"shop", "http://here.test/", "[X-Self: here]"},
		{"bank", "http://here.test/", ""},
		{"other", "http://three.test/", "[X-Other: any]"},
		{"#", "http://three.test/", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
		struct url u;

		ck_assert_int_eq(url_parse(rows[i].url, &u), 0);
		ck_assert_int_eq(collector_headers(file, rows[i].tenant, &u,
		                                   "here.test", take, &got),
		                 0);
		ck_assert_str_eq(buf_str(&got), rows[i].headers);
	}
}
END

TEST(a_line_that_is_no_header_is_named_and_left_out)
{
	static const struct {
		const char *text;
		unsigned line; /* the first malformed one */
	} rows[] = {
		{"", 0},
		{"# only\n\n", 0},
		{"* * A: b\n", 0},
		{"* * A:\n", 0},
		{"*\n", 1},
		{"* *\n", 1},
		{"* * A b: c\n", 1},
		{"* * : c\n", 1},
		{"* * A\n", 1},
		{"* * A: b\n* * A: b\001c\n", 2},
		{"* * A: b\n\n* * A: \177\n", 3},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
		struct url u;

		ck_assert_int_eq(url_parse("http://h/", &u), 0);
		ck_assert_uint_eq(collector_headers_check(rows[i].text),
		                  rows[i].line);
		ck_assert_int_eq(collector_headers(rows[i].text, "t", &u, NULL,
		                                   take, &got),
		                 0);
		ck_assert_int_eq(!strchr(rows[i].text, 'b') ||
		                         rows[i].line == 1,
		                 !strstr(buf_str(&got), "[A: b]"));
	}
}
END

SUITE("collector_headers");
