/* Claims about every row of params.def. */
#include "lib/api_rows.h"
#include "lib/api_short.h"

#include <string.h>

static void
expect_refusal(struct test_api *a, const struct param_row *p, const char *raw)
{
	const struct route *r = &routes[p->op];
	CLEANUP_GOOD struct good g = good_ask(r, "sess-x");
	CLEANUP_REPLY struct client_reply reply = {0};

	if (p->in == IN_QUERY) {
		g.path.len = strcspn(buf_str(&g.path), "?");
		g.path.p[g.path.len] = '\0';
		query_of(r, "sess-x", p, raw, &g.path);
		g.ask.path = buf_str(&g.path);
	} else {
		buf_clear(&g.body);
		body_of(r, p, raw, &g.body);
		g.ask.body = buf_str(&g.body);
	}
	reply = ask(a, g.ask);
	ck_assert_msg(reply.status == 400, "%s %s=%s: %s", r->name, p->name,
	              raw ? raw : "(absent)", buf_str(&reply.body));
	assert_error(&reply, 400, "InvalidParameter");
	ck_assert_str_eq(reply_detail(&reply, "parameter"), p->name);
	ck_assert_str_ne(reply_detail(&reply, "expected"), "");
	ck_assert_str_ne(reply_detail(&reply, "got"), "");
}

TEST(every_required_field_is_missed_by_name)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	/* without a query, the body would be StartProfile's */
	EACH_PARAM(p)
		if (p->required && p->in != IN_PATH &&
		    !(p->op == OP_CreateSession && !strcmp(p->name, "service")))
			expect_refusal(&a, p, NULL);
}
END

TEST(every_field_refuses_values_of_other_types)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	EACH_PARAM(p) {
		if (p->in != IN_BODY)
			continue;
		if (p->type != PT_BOOL)
			expect_refusal(&a, p, "true");
		expect_refusal(&a, p, "1.5");
		if (p->type != PT_WORDS && p->type != PT_TAGS &&
		    p->type != PT_FRAMES && p->type != PT_FUNCTIONS &&
		    p->type != PT_LIST)
			expect_refusal(&a, p, "[]");
		if (p->type == PT_TAGS || p->type == PT_FRAMES ||
		    p->type == PT_FUNCTIONS || p->type == PT_LIST)
			expect_refusal(&a, p, "[7]");
		if (p->type != PT_LABELS && p->type != PT_OBJECT)
			expect_refusal(&a, p, "{}");
		if (p->type != PT_TEXT)
			expect_refusal(&a, p, "\"\\u0001\"");
	}
}
END

TEST(every_integer_refuses_what_is_past_its_bounds)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	char text[32];

	EACH_PARAM(p) {
		if (p->type != PT_INT)
			continue;
		snprintf(text, sizeof(text), "%lld", (long long)p->min - 1);
		expect_refusal(&a, p, text);
		snprintf(text, sizeof(text), "%lld", (long long)p->max + 1);
		expect_refusal(&a, p, text);
		expect_refusal(&a, p, "99999999999999999");
		if (p->in == IN_QUERY)
			expect_refusal(&a, p, "12x");
	}
}
END

TEST(every_text_refuses_what_is_past_its_length)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	EACH_PARAM(p) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
		const char *quote = p->in == IN_BODY ? "\"" : "";

		if ((p->type != PT_TEXT && p->type != PT_NAME) ||
		    p->in == IN_PATH)
			continue;
		buf_addf(&text, "%s%0*d%s", quote, (int)p->max + 1, 7, quote);
		expect_refusal(&a, p, buf_str(&text));
		if (p->min > 0 && p->in == IN_BODY)
			expect_refusal(&a, p, "\"\"");
	}
}
END

TEST(a_label_has_a_name_and_its_value_may_be_empty)
{
	static const struct {
		int key, value; /* bytes */
		int status;
	} rows[] = {
		{0, 1, 400},  {1, 0, 201},   {63, 200, 201},
		{64, 1, 400}, {1, 201, 400},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_REPLY struct client_reply r = {0};

		buf_addf(&body, "{\"name\":\"web%zu\",\"labels\":{\"", i);
		for (int k = 0; k < rows[i].key; k++)
			buf_putc(&body, 'k');
		buf_puts(&body, "\":\"");
		for (int k = 0; k < rows[i].value; k++)
			buf_putc(&body, 'v');
		buf_puts(&body, "\"}}");
		r = api_say(&a, KEY_ADMIN, "POST", "/api/v1/services",
		            buf_str(&body));
		ck_assert_msg(r.status == rows[i].status, "row %zu: %d: %s", i,
		              r.status, buf_str(&r.body));
	}
}
END

TEST(every_choice_refuses_other_words)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	EACH_PARAM(p)
		if (param_words(p->type) && p->in == IN_BODY)
			expect_refusal(&a, p, "\"CPU\"");
		else if (param_words(p->type))
			expect_refusal(&a, p, "exe");
}
END

TEST(every_ill_formed_name_in_a_path_is_404)
{
	static const char *const bad[] = {"x%01", "-x",  "x y", "a%2Fb",
	                                  "%zz",  "%C3", "..",  "a%00"};
	CLEANUP_API struct test_api a = test_api(1, "");

	EACH_PARAM(p) {
		for (size_t i = 0; p->in == IN_PATH && i < ARRAY_LEN(bad);
		     i++) {
			const struct route *r = &routes[p->op];
			CLEANUP_GOOD struct good g = good_ask(r, bad[i]);
			CLEANUP_REPLY struct client_reply reply = {0};
			CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);

			buf_addf(&path, "%.*s%s%s", (int)strcspn(r->path, "{"),
			         r->path, bad[i], strchr(r->path, '}') + 1);
			g.ask.path = buf_str(&path);
			reply = ask(&a, g.ask);
			ck_assert_msg(reply.status == 404, "%s: %s",
			              buf_str(&path), buf_str(&reply.body));
		}
	}
}
END

SUITE("params", .seconds = 60);
