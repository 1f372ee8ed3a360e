#include "lib/api_rows.h"

#include "base/file.h"
#include "endpoint/request.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>

const char *good_baseline, *good_goroutines, *good_trigger, *good_join;

/* Returns a valid value of a parameter, for a path or query. */
static const char *
good_text(const struct param_row *p, const char *profile)
{
	switch (p->type) {
	case PT_STACKS:
	case PT_SESSION:
		if (p->op == OP_GetGoroutineAnalysis && good_goroutines)
			return good_goroutines;
		return profile;
	case PT_PROFILE:
		return profile;
	case PT_BASELINE:
		return good_baseline ? good_baseline : "bl-none";
	case PT_TOKEN:
		return "tok-none";
	case PT_BROWSER:
		return "bs-none";
	case PT_DEBUG_FILE:
		return "dbg-none";
	case PT_TRIGGER:
		return good_trigger ? good_trigger : "trg-none";
	case PT_NAME:
		return p->op == OP_CreateService ||
		                       (p->op == OP_CreateTrigger &&
		                        p->in == IN_BODY)
		               ? "fresh"
		               : TEST_SERVICE;
	case PT_TEXT:
		if (p->op == OP_JoinHost && good_join &&
		    !strcmp(p->name, "token"))
			return good_join;
		if (p->op == OP_GrafanaRender || p->op == OP_GrafanaRenderDiff)
			return "process_cpu:cpu:nanoseconds:cpu:nanoseconds";
		return p->op == OP_PushDebugFile ? "00ff" : "x";
	default:
		return param_words(p->type) ? param_words(p->type)[0] : "1";
	}
}

/* True if a good query needs the parameter: it is required, or it is a
 * profile, which a range could replace. */
static bool
is_asked(const struct param_row *p)
{
	return p->required || p->type == PT_PROFILE;
}

/* Appends the route's path with its parameters filled in. */
static void
path_of(const struct route *r, const char *profile, struct buf *out)
{
	for (const char *s = r->path; *s; s++) {
		size_t n = strcspn(s, "}");

		if (*s != '{') {
			buf_putc(out, *s);
			continue;
		}
		for (size_t i = 0; i < P_COUNT; i++)
			if (params[i].op == r->op && params[i].in == IN_PATH &&
			    strlen(params[i].name) == n - 1 &&
			    !memcmp(params[i].name, s + 1, n - 1))
				buf_puts(out, good_text(&params[i], profile));
		s += n;
	}
}

void
query_of(const struct route *r, const char *profile,
         const struct param_row *bad, const char *value, struct buf *out)
{
	const char *mark = "?";

	for (size_t i = 0; i < P_COUNT; i++) {
		const struct param_row *p = &params[i];

		if (p->op != r->op || p->in != IN_QUERY || !is_asked(p) ||
		    p == bad)
			continue;
		buf_addf(out, "%s%s=%s", mark, p->name, good_text(p, profile));
		mark = "&";
	}
	if (value)
		buf_addf(out, "%s%s=%s", mark, bad->name, value);
}

static void
body_for(const struct route *r, const char *profile,
         const struct param_row *bad, const char *value, struct buf *out)
{
	json_open(out, NULL, '{');
	for (size_t i = 0; i < P_COUNT; i++) {
		const struct param_row *p = &params[i];

		if (p->op != r->op || p->in != IN_BODY || !p->required ||
		    p == bad)
			continue;
		if (p->type == PT_OBJECT)
			json_put_raw(out, p->name, "{\"rss\":{\"bytes\":1}}",
			             "");
		else
			json_put_text(out, p->name, good_text(p, profile));
	}
	if (value)
		json_put_raw(out, bad->name, value, "");
	json_close(out, '}');
}

void
body_of(const struct route *r, const struct param_row *bad, const char *value,
        struct buf *out)
{
	body_for(r, "sess-x", bad, value, out);
}

void
good_done(struct good *g)
{
	buf_done(&g->path);
	buf_done(&g->body);
}

struct good
good_ask(const struct route *r, const char *profile)
{
	struct good g = {
		.path = BUF_INIT(BUF_MAX_SMALL),
		.body = BUF_INIT(2 * REQUEST_MAX_BODY),
		.ask = {.key = r->who == WHO_WORKER ? KEY_WORKER : KEY_ADMIN,
	                .method = method_names[r->method]},
	};

	path_of(r, profile, &g.path);
	query_of(r, profile, NULL, NULL, &g.path);
	if (r->max_body) {
		body_for(r, profile, NULL, NULL, &g.body);
		g.ask.body = buf_str(&g.body);
	}
	if (r->upload) {
		g.ask.body = "main;work 1\n";
		g.ask.type = "text/plain";
	}
	if (r->elf)
		g.ask.body = ELFMAG "and at least as many bytes as the head "
				    "of an ELF file has, 64";
	if (r->op == OP_PushProfiles)
		g.ask.body = "";
	else if (r->op == OP_GrafanaDiff)
		g.ask.body = "{\"left\":{\"profileTypeID\":\"a:b:c:d:e\"},"
			     "\"right\":{\"profileTypeID\":\"a:b:c:d:e\"}}";
	else if (r->connect)
		g.ask.body =
			"{\"profileTypeID\":\"process_cpu:cpu:"
			"nanoseconds:cpu:nanoseconds\",\"start\":\"1\","
			"\"end\":\"2\",\"step\":1,\"name\":\"service_name\"}";
	if (r->op == OP_PushProfiles)
		g.ask.type = "application/proto";
	if (r->result) {
		g.ask.body = "{\"attempt\":1,\"state\":\"done\","
			     "\"errorCode\":\"\",\"errorMessage\":\"\","
			     "\"beganAgoMs\":0,\"endedAgoMs\":0,"
			     "\"durationMs\":0,\"sampleCount\":0,\"rate\":0,"
			     "\"topFunctions\":[],\"quality\":{},"
			     "\"profileBytes\":0,\"timelineBytes\":0}\n";
		g.ask.type = "application/octet-stream";
	}
	if (!strcmp(r->name, "SendAgentBlock") || !strcmp(r->reply, "OTLP")) {
		buf_clear(&g.body);
		ck_assert_int_eq(
			file_read(AT_FDCWD,
		                  strcmp(r->reply, "OTLP")
		                          ? "tests/data/fuzz/block/fresh"
		                          : "tests/data/fuzz/import/"
		                            "otlp.1.11",
		                  &g.body),
			0);
		g.ask.body = buf_str(&g.body);
		g.ask.body_len = g.body.len;
	}
	g.ask.path = buf_str(&g.path);
	return g;
}
