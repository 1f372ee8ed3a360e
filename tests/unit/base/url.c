#include "base/url.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *text, *host;
	bool tls;
	uint16_t port;
	const char *path;
} good[] = {
	{"http://localhost:6060/debug/pprof", "localhost", false, 6060,
         "/debug/pprof"},
	{"https://A.Example.COM", "a.example.com", true, 443, ""},
	{"HTTP://10.0.0.7/", "10.0.0.7", false, 80, "/"},
	{"http://[::1]:6060/x", "::1", false, 6060, "/x"},
	{"http://[FD00::7]", "fd00::7", false, 80, ""},
	{"http://a_b-c.d/x?gc=1&y=%20", "a_b-c.d", false, 80, "/x?gc=1&y=%20"},
	{"http://h:65535/", "h", false, 65535, "/"},
};

TEST(addresses_are_taken_apart)
{
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct url u;

		ck_assert_msg(!url_parse(good[i].text, &u), "%s", good[i].text);
		ck_assert_str_eq(u.host, good[i].host);
		ck_assert_int_eq(u.tls, good[i].tls);
		ck_assert_uint_eq(u.port, good[i].port);
		ck_assert_str_eq(u.path, good[i].path);
	}
}
END

TEST(what_two_parsers_could_read_differently_is_refused)
{
	static const char *const bad[] = {
		"",
		"localhost:6060",
		"ftp://h/",
		"file:///etc/passwd",
		"gopher://h/",
		"http://",
		"http:///x",
		"http://h:0/",
		"http://h:65536/",
		"http://h:/",
		"http://h:1x/",
		"http://user@h/",
		"http://user:pw@h/",
		"http://h#@other/",
		"http://h?x",
		"http://h\\@other/",
		"http://h/x#y",
		"http://h/x y",
		"http://h/x\ty",
		"http://h/x\r\nHost: y",
		"http://h\xc3\xa9/",
		"http://[::1/",
		"http://[::1]x/",
		"http://[1.2.3.4]/",
		"http://[fe80::1%25eth0]/",
		"http://h/\x7f",
	};
	struct url u;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ck_assert_msg(url_parse(bad[i], &u) == -EINVAL, "%s", bad[i]);
}
END

TEST(lengths_are_bounded)
{
	char text[URL_MAX + 2];
	struct url u;

	memset(text, 'a', sizeof(text));
	memcpy(text, "http://h/", 9);
	text[URL_MAX] = '\0';
	ck_assert_int_eq(url_parse(text, &u), 0);
	text[URL_MAX] = 'a';
	text[URL_MAX + 1] = '\0';
	ck_assert_int_eq(url_parse(text, &u), -EINVAL);
	memset(text, 'a', sizeof(text));
	memcpy(text, "http://", 7);
	text[7 + URL_HOST_MAX - 1] = '\0';
	ck_assert_int_eq(url_parse(text, &u), 0);
	text[7 + URL_HOST_MAX - 1] = 'a';
	text[7 + URL_HOST_MAX] = '\0';
	ck_assert_int_eq(url_parse(text, &u), -EINVAL);
}
END

static const struct {
	const char *list, *url;
	bool allowed;
} lists[] = {
	{"", "http://localhost/", false},
	{"localhost", "http://localhost:6060/", true},
	{"localhost", "http://127.0.0.1/", true},
	{"localhost", "http://127.9.9.9/", true},
	{"localhost", "http://[::1]/", true},
	{"localhost", "http://128.0.0.1/", false},
	{"localhost", "http://localhost.example.com/", false},
	{"self", "http://own/", true},
	{"self", "http://other/", false},
	{"a b", "http://b/", true},
	{"a  b", "http://c/", false},
	{"a:80", "http://a/", true},
	{"a:80", "https://a/", false},
	{"a:6060", "http://a:6061/", false},
	{"*.example.com", "http://x.example.com/", true},
	{"*.example.com", "http://example.com/", false},
	{"*.example.com", "http://xexample.com/", false},
	{"*.example.com", "http://www.example.org/", false},
	{"*.example.com:6060", "http://x.y.example.com:6060/", true},
	{"*.example.com:6060", "http://x.example.com/", false},
	{"[fd00::7]:6060", "http://[fd00::7]:6060/", true},
	{"[fd00::7]", "http://[fd00::8]/", false},
	{"*", "http://anything/", true},
	{"http://a", "http://a/", false},
	{"a:x", "http://a/", false},
};

TEST(lists_let_their_hosts_through)
{
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		struct url u;

		ck_assert_int_eq(url_parse(lists[i].url, &u), 0);
		ck_assert_msg(url_allowed(lists[i].list, &u, "own") ==
		                      lists[i].allowed,
		              "%s %s", lists[i].list, lists[i].url);
	}
}
END

SUITE("url");
