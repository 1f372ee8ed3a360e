#include "checks.h"

#include "base/clock.h"
#include "base/log.h"
#include "importer/importer.h"
#include "store/clock_jump.h"

#include <string.h>

const struct finding *
checks_own(struct call *c)
{
	struct env *e = c->env;
	int64_t now = clock_mono_ns();
	enum verdict before = e->store_finding.verdict;
	int rc;

	if (e->store_tried_ns && now - e->store_tried_ns < CHECKS_AGE_NS)
		return &e->store_finding;
	e->store_tried_ns = now;
	rc = store_try(&e->store, e->conf->continuous_min_free,
	               &e->store_finding);
	if (e->store_finding.verdict != before)
		log_warn("store: %s%s%s", e->store_finding.found,
		         rc ? ": " : "", rc ? strerror(-rc) : "");
	return &e->store_finding;
}

const struct finding *
checks_importers(struct call *c)
{
	struct env *e = c->env;
	const struct finding *f = importer_finding(e->importer);
	int64_t now = clock_mono_ns();
	enum verdict before = f->verdict;

	if (e->importer_tried_ns && now - e->importer_tried_ns < CHECKS_AGE_NS)
		return f;
	importer_try(e->importer);
	if (f->verdict != before)
		log_warn("importers: %s%s%s", f->found, *f->fix ? "; " : "",
		         f->fix);
	e->importer_tried_ns = now;
	return f;
}

json_t *
checks_of_worker(const struct worker *w)
{
	CLEANUP_JSON json_t *all = json_loads(w->capabilities, 0, NULL);

	return w->alive ? json_incref(json_object_get(all, "checks")) : NULL;
}

const json_t *
checks_find(const json_t *findings, enum check c)
{
	json_t *f;
	size_t i;

	json_array_foreach(findings, i, f) {
		if (c < CHECKS && check_find(json_member(f, "part"),
		                             json_member(f, "check")) == c)
			return f;
	}
	return NULL;
}

static bool
has_verdict(const json_t *finding, enum verdict v)
{
	return !strcmp(json_member(finding, "verdict"), verdict_word(v));
}

bool
checks_is_poor(const json_t *finding)
{
	return has_verdict(finding, WARNING) || has_verdict(finding, BROKEN);
}

const char *
checks_block(const json_t *findings)
{
	json_t *f;
	size_t i;

	json_array_foreach(findings, i, f) {
		enum check c = check_find(json_member(f, "part"),
		                          json_member(f, "check"));

		if (has_verdict(f, BROKEN) && check_needed(c))
			return check_name(c);
	}
	return NULL;
}

static void
put_worker(struct buf *out, const struct worker *w)
{
	static const char *const keys[] = {"part", "check", "verdict", "found",
	                                   "fix"};
	CLEANUP_JSON json_t *findings = checks_of_worker(w);
	json_t *f;
	size_t i;

	json_array_foreach(findings, i, f) {
		json_open(out, NULL, '{');
		json_put_text(out, "host", w->host);
		for (size_t k = 0; k < ARRAY_LEN(keys); k++)
			json_put_text(out, keys[k], json_member(f, keys[k]));
		json_put_time(out, "publishedAt", w->heartbeat_ms);
		json_close(out, '}');
	}
}

static int
find_clock(struct call *c, struct finding *out)
{
	char offset[CLOCK_OFFSET_LEN];
	int64_t held_ms, ahead_ms;
	int rc = clock_jump_held(&c->env->store, &held_ms)
	                 ?: worker_clock(&c->env->store, &ahead_ms);

	if (rc)
		return fail_store(c, rc);
	clock_format_offset(ahead_ms, offset);
	if (!clock_agrees(ahead_ms))
		finding_set(out, WARNING, "timedatectl set-ntp true",
		            "the clock of the API's host is %s%s the "
		            "database's",
		            offset, ahead_ms > 0 ? " of" : "");
	else if (held_ms)
		finding_set(out, WARNING, "timedatectl set-ntp true",
		            "the clock went forward by more than a day: if it "
		            "is wrong, set it within %lld h, after which what "
		            "is too old is removed",
		            (long long)(held_ms / (3600 * MS_PER_S)));
	else
		finding_set(
			out, FINE, NULL,
			"it agrees with the database's, and has not jumped");
	return 0;
}

static void
put_own(struct buf *out, const struct finding *f, enum check c)
{
	json_open(out, NULL, '{');
	json_put_text(out, "host", "");
	finding_json(f, c, out);
	json_put_time(out, "publishedAt", clock_wall_ms());
	json_close(out, '}');
}

int
checks_get(struct call *c)
{
	CLEANUP_WORKERS struct worker_list list = {0};
	const struct finding *own = checks_own(c),
			     *importers = checks_importers(c);
	struct finding clock = {0};
	int rc = worker_list(&c->env->store, c->caller.tenant, &list);
	struct buf *out;

	if (rc)
		return fail_store(c, rc);
	if (find_clock(c, &clock))
		return -1;
	out = page_begin(c);
	put_own(out, own, CHECK_API_STORE);
	put_own(out, &clock, CHECK_API_CLOCK);
	put_own(out, importers, CHECK_API_IMPORTERS);
	for (size_t i = 0; i < list.n; i++)
		put_worker(out, &list.items[i]);
	return page_end(c, NULL);
}
