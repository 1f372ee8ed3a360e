/*
 * Baselines: creates them from sessions, lists and removes them.
 */
#include "base/json.h"
#include "compare_call.h"
#include "endpoint/profile/load.h"

#include <errno.h>
#include <string.h>

#define BASELINES_PATH "/api/v1/profiling/baselines/"
#define TEXT_MAX       REQUEST_MAX_BODY

/* --- replies --- */

static void
put_tags(struct buf *out, const char *tags)
{
	CLEANUP_BUF struct buf tag = BUF_INIT(BUF_MAX_SMALL);

	json_open(out, "tags", '[');
	for (size_t n; *tags; tags += n) {
		tags += strspn(tags, "\n");
		n = strcspn(tags, "\n");
		buf_clear(&tag);
		buf_add(&tag, tags, n);
		if (n)
			json_put_text(out, NULL, buf_str(&tag));
	}
	json_close(out, ']');
}

static int
put_baseline(struct call *c, struct buf *out, const struct baseline *b)
{
	int64_t named;
	int rc = baseline_count_label(&c->env->store, b, &named);

	if (rc)
		return fail_store(c, rc);
	json_put_text(out, "baselineId", b->id);
	json_put_text(out, "baselineLabel", b->label);
	json_put_text(out, "profileType", b->type);
	json_put_text(out, "sessionId", b->session);
	json_put_text(out, "description", b->description);
	json_put_raw(out, "topFunctions", b->top_functions, "[]");
	json_put_time(out, "createdAt", b->created_ms);
	json_put_bool(out, "isLatest", b->is_latest);
	put_tags(out, b->tags);
	json_put_text(out, "service", b->service);
	json_put_int(out, "othersOfLabel", named - 1);
	return 0;
}

static int
answer_baseline(struct call *c, const char *id)
{
	CLEANUP_BASELINE struct baseline b = {0};
	struct buf *out;

	if (compare_call_baseline(c, id, &b))
		return -1;
	out = answer_json(c);
	return put_baseline(c, out, &b) ? -1 : answer_end(c);
}

int
baseline_one_get(struct call *c)
{
	return answer_baseline(c, param_text(c, P_GetBaseline_baselineId));
}

int
baseline_list_get(struct call *c)
{
	CLEANUP_BASELINES struct baseline_list list = {0};
	const struct baseline_filter filter = {
		.tenant = c->caller.tenant,
		.service = param_text(c, P_ListBaselines_service),
		.type = param_text(c, P_ListBaselines_profileType),
		.label = param_text(c, P_ListBaselines_label),
		.tag = param_text(c, P_ListBaselines_tag),
	};
	struct page page = PAGE_OF(c, ListBaselines);
	int rc = baseline_list(&c->env->store, &filter, page, &list);
	struct buf *out;

	if (rc)
		return page_fail(c, rc, page.cursor);
	out = page_begin(c);
	for (size_t i = 0; i < list.n; i++) {
		json_open(out, NULL, '{');
		if (put_baseline(c, out, &list.items[i]))
			return -1;
		json_close(out, '}');
	}
	return page_end(c, list.next);
}

/* --- making one --- */

/* Returns a member that exists and is not null. */
static const json_t *
member(const json_t *entry, const char *name)
{
	const json_t *v = json_object_get(entry, name);

	return json_is_null(v) ? NULL : v;
}

static void
put_entry(struct buf *out, const json_t *entry)
{
	const json_t *count = member(entry, "sampleCount");
	CLEANUP_BUF struct buf number = BUF_INIT(64);

	buf_addf(&number, "%lld", (long long)json_integer_value(count));
	json_open(out, NULL, '{');
	json_put_text(out, "funcName",
	              json_string_value(member(entry, "funcName")));
	json_put_text(out, "package",
	              json_string_value(member(entry, "package")));
	json_put_real(out, "selfPct",
	              json_number_value(member(entry, "selfPct")));
	json_put_real(out, "cumulativePct",
	              json_number_value(member(entry, "cumulativePct")));
	json_put_text(out, "sampleCount",
	              json_is_string(count) ? json_string_value(count)
	                                    : buf_str(&number));
	json_close(out, '}');
}

/* Writes the given functions with every field, in the types of a reply; the
 * session's functions if none are given. */
static void
write_functions(const json_t *given, const struct session *s, struct buf *out)
{
	const json_t *entry;
	size_t i;

	if (!json_is_array(given) || !json_array_size(given)) {
		buf_puts(out, *s->top_functions ? s->top_functions : "[]");
		return;
	}
	json_open(out, NULL, '[');
	json_array_foreach(given, i, entry) {
		put_entry(out, entry);
	}
	json_close(out, ']');
}

static void
write_tags(const json_t *given, struct buf *out)
{
	const json_t *tag;
	size_t i;

	json_array_foreach(given, i, tag) {
		baseline_tag(out, json_string_value(tag));
	}
}

static int
add(struct call *c, const struct baseline_ask *ask, char id[static ID_MAX])
{
	struct store *store = &c->env->store;

	return store_begin(store)
	               ?: audit_end(c, baseline_add(store, ask, id), id, "{}");
}

int
baseline_post(struct call *c)
{
	CLEANUP_SESSION struct session s = {0};
	CLEANUP_BUF struct buf functions = BUF_INIT(2 * TEXT_MAX);
	CLEANUP_BUF struct buf tags = BUF_INIT(TEXT_MAX);
	const enum param which = P_CreateBaseline_sessionId;
	struct baseline_ask ask = {
		.tenant = c->caller.tenant,
		.session = param_text(c, which),
		.label = param_text(c, P_CreateBaseline_label),
		.description = param_text(c, P_CreateBaseline_description),
		.created_by = c->caller.id,
	};
	char id[ID_MAX];
	int rc;

	if (load_completed(c, which,
	                   param_text(c, P_CreateBaseline_profileType), &s))
		return -1;
	if (!s.sample_count) {
		detail_text(c, params[which].name, s.id);
		return fail(c, ProfileEmpty);
	}
	write_functions(param_json(c, P_CreateBaseline_topFunctions), &s,
	                &functions);
	write_tags(param_json(c, P_CreateBaseline_tags), &tags);
	rc = buf_err(&functions) ?: buf_err(&tags);
	ask.top_functions = buf_str(&functions);
	ask.tags = buf_str(&tags);
	if (!rc)
		rc = add(c, &ask, id);
	if (rc) /* -ENOENT: deleted meanwhile */
		return fail_id(c, rc, which);
	reply_header(c->reply, "Location", BASELINES_PATH "%s", id);
	return answer_baseline(c, id);
}

int
baseline_delete(struct call *c)
{
	const char *id = param_text(c, P_DeleteBaseline_baselineId);
	struct store *store = &c->env->store;
	const char *tenant = c->caller.tenant;
	int rc = store_begin(store)
	                 ?: audit_end(c, baseline_remove(store, tenant, id), id,
	                              "{}");

	if (rc)
		return fail_id(c, rc, P_DeleteBaseline_baselineId);
	return answer_empty(c, c->route->status);
}
