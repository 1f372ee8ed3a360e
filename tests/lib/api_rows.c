#include "lib/api_rows.h"

#include <string.h>

/* A value that is right for a parameter, as it stands in a path or query. */
static const char *
good_text(const struct param_row *p, const char *profile)
{
	switch (p->type) {
	case PT_PROFILE:
		return profile;
	case PT_TOKEN:
		return "tok-none";
	case PT_NAME:
		return p->op == OP_CreateService ? "fresh" : TEST_SERVICE;
	case PT_TEXT:
		return "x";
	default:
		return param_words(p->type) ? param_words(p->type)[0] : "1";
	}
}

/* The route's path with its parameters filled in. */
static void
path_of(const struct route *r, const char *profile, struct buf *out)
{
	for (const char *s = r->path; *s; s++) {
		if (*s != '{') {
			buf_putc(out, *s);
			continue;
		}
		for (size_t i = 0; i < P_COUNT; i++)
			if (params[i].op == r->op && params[i].in == IN_PATH)
				buf_puts(out, good_text(&params[i], profile));
		s = strchr(s, '}');
	}
}

void
body_of(const struct route *r, const struct param_row *bad, const char *value,
        struct buf *out)
{
	json_open(out, NULL, '{');
	for (size_t i = 0; i < P_COUNT; i++) {
		const struct param_row *p = &params[i];

		if (p->op == r->op && p->in == IN_BODY && p->required &&
		    p != bad)
			json_put_text(out, p->name, good_text(p, ""));
	}
	if (value)
		json_put_raw(out, bad->name, value, "");
	json_close(out, '}');
}

void
query_of(const struct route *r, const struct param_row *bad, struct buf *out)
{
	for (size_t i = 0; i < P_COUNT; i++) {
		const struct param_row *p = &params[i];

		if (p->op == r->op && p->in == IN_QUERY && p->required &&
		    p != bad)
			buf_addf(out, "%c%s=%s",
			         strchr(buf_str(out), '?') ? '&' : '?', p->name,
			         good_text(p, ""));
	}
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
		.body = BUF_INIT(BUF_MAX_SMALL),
		.ask = {.key = KEY_ADMIN, .method = method_names[r->method]},
	};

	path_of(r, profile, &g.path);
	if (r->max_body) {
		body_of(r, NULL, NULL, &g.body);
		g.ask.body = buf_str(&g.body);
	}
	if (r->upload) {
		g.ask.body = "main;work 1\n";
		g.ask.type = "text/plain";
	}
	g.ask.path = buf_str(&g.path);
	return g;
}
