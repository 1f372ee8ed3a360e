/*
 * Calls that list what there is: types, labels, and sets of labels. They list
 * all that is stored: start and end are ignored.
 */
#include "base/clock.h"
#include "profile/profile.h"
#include "profile/stored/wire.h"
#include "question.h"

#include <errno.h>
#include <string.h>

/* --- sets of texts -------------------------------------------------------- */

struct words {
	struct strings *set;
	int rc;
};

static struct words
words_new(void)
{
	struct strings *set = strings_new();

	return (struct words){set, set ? 0 : -ENOMEM};
}

static void
words_done(struct words *w)
{
	strings_free(w->set);
}

static void
add_word(void *to, const char *text)
{
	struct words *w = to;
	uint32_t id;

	if (!w->rc && *text)
		w->rc = strings_add(w->set, text, strlen(text), &id);
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns the words in order, which the caller frees; NULL: no memory. */
static const char **
sorted(const struct words *w, uint32_t *n)
{
	const char **list;

	*n = w->rc ? 0 : strings_count(w->set) - 1;
	list = calloc((size_t)*n + 1, sizeof(*list));
	for (uint32_t i = 0; list && i < *n; i++)
		list[i] = strings_get(w->set, i + 1, NULL);
	if (list && *n)
		qsort(list, *n, sizeof(*list), by_text);
	return list;
}

static int
answer_words(struct call *c, const struct words *w)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	uint32_t n;
	CLEANUP_FREE const char **list = sorted(w, &n);

	if (w->rc || !list)
		return fail_store(c, w->rc ?: -ENOMEM);
	for (uint32_t i = 0; i < n; i++)
		wire_put_bytes(&out, F_Names_names, list[i], strlen(list[i]));
	return connect_answer(c, M_Names, &out);
}

/* --- names and values ----------------------------------------------------- */

int
grafana_names(struct call *c)
{
	CLEANUP_JSON json_t *asked = NULL;
	CLEANUP_SUBJECTS struct subjects found = {0};
	CLEANUP(words_done) struct words w = words_new();

	if (connect_read(c, M_LabelNamesRequest, &asked) ||
	    question_subjects(c, asked, &found))
		return -1;
	for (size_t i = 0; i < found.n; i++)
		subject_each_label(&found.items[i], add_word, &w);
	return answer_words(c, &w);
}

int
grafana_values(struct call *c)
{
	CLEANUP_JSON json_t *asked = NULL;
	CLEANUP_SUBJECTS struct subjects found = {0};
	CLEANUP(words_done) struct words w = words_new();
	char part[ID_PART_MAX];

	if (connect_read(c, M_LabelValuesRequest, &asked) ||
	    question_subjects(c, asked, &found))
		return -1;
	for (size_t i = 0; i < found.n; i++)
		add_word(&w, subject_label(&found.items[i],
		                           asked_text(asked, "name"), part));
	return answer_words(c, &w);
}

/* --- types ---------------------------------------------------------------- */

static void
put_type(struct buf *out, const struct type *t)
{
	static const int numbers[] = {
		[ID_NAME] = F_ProfileType_name,
		[ID_SAMPLE] = F_ProfileType_sample_type,
		[ID_UNIT] = F_ProfileType_sample_unit,
		[ID_PERIOD] = F_ProfileType_period_type,
		[ID_PERIOD_UNIT] = F_ProfileType_period_unit,
	};
	const char *id = profile_id(t);
	size_t place = wire_open(out, F_ProfileTypesResponse_profile_types);
	char part[ID_PART_MAX];

	wire_put_bytes(out, F_ProfileType_ID, id, strlen(id));
	for (unsigned i = 0; i < ID_PARTS; i++) {
		profile_id_part(id, i, part);
		wire_put_bytes(out, (uint32_t)numbers[i], part, strlen(part));
	}
	wire_close(out, place);
}

int
grafana_types(struct call *c)
{
	CLEANUP_JSON json_t *asked = NULL;
	CLEANUP_SUBJECTS struct subjects found = {0};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	bool there[TYPES] = {0};

	if (connect_read(c, M_ProfileTypesRequest, &asked) ||
	    question_subjects(c, asked, &found))
		return -1;
	for (size_t i = 0; i < found.n; i++)
		there[type_id(found.items[i].type)] = true;
	for (size_t i = 0; i < TYPES; i++)
		if (there[i])
			put_type(&out, &profile_types[i]);
	return connect_answer(c, M_ProfileTypesResponse, &out);
}

/* --- sets of labels ------------------------------------------------------- */

/* Writes the requested labels of a subject, in the order of their names. */
static void
put_labels(const struct subject *s, const char *const *names, uint32_t n,
           struct buf *out)
{
	char part[ID_PART_MAX];

	for (uint32_t i = 0; i < n; i++) {
		const char *value = subject_label(s, names[i], part);
		size_t place;

		if (!*value)
			continue;
		place = wire_open(out, F_Labels_labels);
		wire_put_bytes(out, F_LabelPair_name, names[i],
		               strlen(names[i]));
		wire_put_bytes(out, F_LabelPair_value, value, strlen(value));
		wire_close(out, place);
	}
}

static int
add_set(const struct subject *s, const struct words *names, struct words *sets)
{
	CLEANUP_BUF struct buf one = BUF_INIT(BUF_MAX_SMALL);
	uint32_t n, id;
	CLEANUP_FREE const char **list = sorted(names, &n);

	if (names->rc || !list)
		return names->rc ?: -ENOMEM;
	put_labels(s, list, n, &one);
	if (buf_err(&one) || !one.len)
		return buf_err(&one);
	return strings_add_stored(sets->set, one.p, one.len, &id);
}

static int
find_sets(const struct subjects *found, const json_t *names, struct words *sets)
{
	CLEANUP(words_done) struct words asked = words_new();
	int rc = sets->rc;
	size_t i;
	json_t *v;

	json_array_foreach((json_t *)names, i, v)
		add_word(&asked, json_string_value(v));
	for (i = 0; i < found->n && !rc; i++) {
		CLEANUP(words_done) struct words all = words_new();

		if (!json_array_size(names))
			subject_each_label(&found->items[i], add_word, &all);
		rc = add_set(&found->items[i],
		             json_array_size(names) ? &asked : &all, sets);
	}
	return rc;
}

int
grafana_series(struct call *c)
{
	CLEANUP_JSON json_t *asked = NULL;
	CLEANUP_SUBJECTS struct subjects found = {0};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP(words_done) struct words sets = words_new();
	int rc;

	if (connect_read(c, M_SeriesRequest, &asked) ||
	    question_subjects(c, asked, &found))
		return -1;
	rc = find_sets(&found, asked_list(asked, "label_names"), &sets);
	if (rc)
		return fail_store(c, rc);
	for (uint32_t i = 1; i < strings_count(sets.set); i++) {
		size_t n;
		const char *one = strings_get(sets.set, i, &n);

		wire_put_bytes(&out, F_SeriesResponse_labels_set, one, n);
	}
	return connect_answer(c, M_SeriesResponse, &out);
}

/* --- calls about the server ----------------------------------------------- */

/* Answers that there are profiles, and when the first series began. The newest
 * time is now: Grafana only offers a range of time with it. */
int
grafana_stats(struct call *c)
{
	CLEANUP_JSON json_t *asked = NULL;
	CLEANUP_SUBJECTS struct subjects found = {0};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	int64_t oldest = clock_wall_ms();

	if (connect_read(c, M_Empty, &asked) ||
	    question_subjects(c, asked, &found))
		return -1;
	for (size_t i = 0; i < found.series.n; i++) {
		int64_t ms = found.series.items[i].created_ms;

		oldest = ms && ms < oldest ? ms : oldest;
	}
	if (found.n) {
		wire_put_number(&out, F_GetProfileStatsResponse_data_ingested,
		                1);
		wire_put_number(&out,
		                F_GetProfileStatsResponse_oldest_profile_time,
		                (uint64_t)oldest);
		wire_put_number(&out,
		                F_GetProfileStatsResponse_newest_profile_time,
		                (uint64_t)clock_wall_ms());
	}
	return connect_answer(c, M_GetProfileStatsResponse, &out);
}

int
grafana_settings(struct call *c)
{
	CLEANUP_JSON json_t *asked = NULL;
	const struct buf none = BUF_INIT(0);

	if (connect_read(c, M_Empty, &asked))
		return -1;
	return connect_answer(c, M_Empty, &none);
}

int
grafana_unserved(struct call *c)
{
	const char *method = strrchr(c->route->path, '/') + 1;

	return fail(c, CallNotServed, method);
}
