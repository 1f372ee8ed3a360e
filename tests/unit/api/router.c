#include "api/router.h"
#include "lib/test.h"

#include <string.h>

#define B "/api/v1/observability/profiling/"

static const struct {
	const char *method, *uri;
	const char *operation; /* "": none */
	const char *allow;     /* for a wrong method; "": no such path */
} cases[] = {
	{"GET", "/healthz", "GetHealth", ""},
	{"HEAD", "/healthz", "GetHealth", ""},
	{"GET", "/Healthz", "", ""},
	{"POST", B "start", "StartProfile", ""},
	{"GET", B "start", "", "POST"},
	{"DELETE", B "start", "", "POST"},
	{"HEAD", B "start", "", "POST"},
	{"GET", B "sess-a", "GetProfile", ""},
	{"HEAD", B "sess-a", "GetProfile", ""},
	{"DELETE", B "sess-a", "DeleteProfile", ""},
	{"PUT", B "sess-a", "", "GET, HEAD, DELETE"},
	{"BREW", B "sess-a", "", "GET, HEAD, DELETE"},
	{"GET", B "sess-a/flamegraph", "GetFlameGraph", ""},
	{"GET", B "start/flamegraph", "GetFlameGraph", ""},
	{"GET", B "sess-a/flamegraph/x", "", ""},
	{"GET", B, "", ""},
	{"GET", "/", "", ""},
	{"PUT", "/api/v1/services/a", "ReplaceService", ""},
	{"POST", "/api/v1/services/a", "", "GET, HEAD, PUT, DELETE"},
};

TEST(literal_segments_beat_parameters_under_every_method)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP_BUF struct buf allow = BUF_INIT(BUF_MAX_SMALL);
		struct request r = {.method = request_method(cases[i].method)};
		struct route_match m;

		ck_assert_int_eq(request_target(&r, cases[i].uri), 0);
		m = route_find(&r);
		ck_assert_str_eq(m.route ? m.route->name : "",
		                 cases[i].operation);
		if (!m.route)
			route_allow(m.allowed, &allow);
		ck_assert_str_eq(buf_str(&allow), cases[i].allow);
	}
}
END

SUITE("router");
