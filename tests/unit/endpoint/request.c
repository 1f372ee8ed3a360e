#include "endpoint/request.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *label, *uri;
	int rc;
	const char *path;  /* segments joined by '|' */
	const char *query; /* pairs joined by '|' */
} targets[] = {
	{"root", "/", 0, "", ""},
	{"plain", "/a/b", 0, "a|b", ""},
	{"one trailing slash", "/a/b/", 0, "a|b", ""},
	{"decoded once", "/a%2525", 0, "a%25", ""},
	{"plus in a path is a plus", "/a+b", 0, "a+b", ""},
	{"utf-8", "/%C3%A9", 0, "\xC3\xA9", ""},
	{"lower case escape", "/%c3%a9", 0, "\xC3\xA9", ""},
	{"dots inside", "/a..b/...", 0, "a..b|...", ""},
	{"no slash", "a", -ENOENT, "", ""},
	{"empty", "", -ENOENT, "", ""},
	{"two slashes", "/a//b", -ENOENT, "", ""},
	{"two slashes first", "//a", -ENOENT, "", ""},
	{"two trailing slashes", "/a//", -ENOENT, "", ""},
	{"dot", "/a/./b", -ENOENT, "", ""},
	{"dots", "/a/../b", -ENOENT, "", ""},
	{"escaped dots", "/a/%2e%2E/b", -ENOENT, "", ""},
	{"escaped slash", "/a%2Fb", -ENOENT, "", ""},
	{"escaped nul", "/a%00", -ENOENT, "", ""},
	{"cut escape", "/a%2", -ENOENT, "", ""},
	{"bare percent", "/a%", -ENOENT, "", ""},
	{"bad escape", "/%zz", -ENOENT, "", ""},
	{"bad utf-8", "/%C3", -ENOENT, "", ""},
	{"overlong utf-8", "/%C0%AF", -ENOENT, "", ""},
	{"query", "/a?b=c&d=e", 0, "a", "b=c|d=e"},
	{"query decoded", "/a?b=%26+%2B", 0, "a", "b=& +"},
	{"query with slash", "/a?b=c/d%2Fe", 0, "a", "b=c/d/e"},
	{"second question mark", "/a?b=c?d", 0, "a", "b=c?d"},
	{"no value", "/a?b", 0, "a", "b="},
	{"value with =", "/a?b=c=d", 0, "a", "b=c=d"},
	{"empty pairs", "/a?&&b=1&", 0, "a", "b=1"},
	{"empty query", "/a?", 0, "a", ""},
	{"query with nul", "/a?b=%00", -EINVAL, "", ""},
	{"query with bad utf-8", "/a?b=%FF", -EINVAL, "", ""},
	{"query with bad name", "/a?%=1", -EINVAL, "", ""},
};

static void
join(const struct request *r, char *path, char *query)
{
	*path = *query = '\0';
	for (size_t i = 0; i < r->nsegments; i++)
		sprintf(path + strlen(path), "%s%s", i ? "|" : "",
		        r->segments[i]);
	for (size_t i = 0; i < r->nquery; i++)
		sprintf(query + strlen(query), "%s%s=%s", i ? "|" : "",
		        r->query[i].name, r->query[i].value);
}

TEST(targets_are_split_then_decoded)
{
	char path[256], query[256];

	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		struct request r;
		int rc = request_target(&r, targets[i].uri);

		ck_assert_msg(rc == targets[i].rc, "%s: %d", targets[i].label,
		              rc);
		if (rc)
			continue;
		join(&r, path, query);
		ck_assert_str_eq(path, targets[i].path);
		ck_assert_str_eq(query, targets[i].query);
	}
}
END

/* Parses `first`, followed by `piece` n times. */
static int
repeated(const char *first, const char *piece, int n)
{
	CLEANUP_BUF struct buf uri = BUF_INIT(BUF_MAX_SMALL);
	struct request r;

	buf_puts(&uri, first);
	for (int i = 0; i < n; i++)
		buf_puts(&uri, piece);
	return request_target(&r, buf_str(&uri));
}

TEST(targets_are_bounded)
{
	ck_assert_int_eq(repeated("", "/a", REQUEST_MAX_SEGMENTS), 0);
	ck_assert_int_eq(repeated("", "/a", REQUEST_MAX_SEGMENTS + 1), -E2BIG);
	ck_assert_int_eq(repeated("/?", "a&", REQUEST_MAX_QUERY), 0);
	ck_assert_int_eq(repeated("/?", "a&", REQUEST_MAX_QUERY + 1), -E2BIG);
	ck_assert_int_eq(repeated("/", "a", REQUEST_MAX_URI - 1), 0);
	ck_assert_int_eq(repeated("/", "a", REQUEST_MAX_URI), -E2BIG);
}
END

TEST(methods_are_case_sensitive)
{
	ck_assert_int_eq(request_method("DELETE"), METHOD_DELETE);
	ck_assert_int_eq(request_method("delete"), METHOD_OTHER);
	ck_assert_int_eq(request_method("OTHER"), METHOD_OTHER);
	ck_assert_int_eq(request_method(""), METHOD_OTHER);
}
END

SUITE("request");
