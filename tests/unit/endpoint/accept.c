#include "endpoint/call/accept.h"
#include "lib/test.h"

static const struct {
	const char *accept, *format;
} cases[] = {
	{"", "html"},
	{"*/*", "html"},
	{"text/html", "html"},
	{"IMAGE/SVG+XML", "svg"},
	{"image/*", "svg"},
	{"text/plain", "folded"},
	{"text/*", "html"},
	{"application/octet-stream", "pprof"},
	{"application/*", "json"},
	{"application/json;q=0.5, image/svg+xml;q=0.6", "svg"},
	{"*/*;q=0.1, text/plain", "folded"},
	{"text/html;q=0, */*", "svg"},
	{"text/htmlx", "html"},
	{"application/jsonp, text/plain;q=0.1", "folded"},
	{",,;q=,", "html"},
	{"*/*;q=x", "html"},
	{"text/plain;q=1e300", "folded"},
	{"text/plain;q=-1e300, image/svg+xml;q=0.1", "svg"},
	{"text/plain;q=nan, image/svg+xml;q=0.1", "svg"},
};

TEST(the_format_liked_best_wins)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ck_assert_msg(accept_format(cases[i].accept) ==
		                      format_find(cases[i].format),
		              "'%s' gave %s", cases[i].accept,
		              accept_format(cases[i].accept)->name);
}
END

SUITE("accept");
