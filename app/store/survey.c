#include "store/survey.h"

#include "store/db/row.h"

#include <errno.h>
#include <string.h>

static const struct row_field fields[] = {
	ROW_FIELD(survey, id),          ROW_FIELD(survey, host),
	ROW_FIELD(survey, tenant),      ROW_FIELD(survey, match_kind),
	ROW_FIELD(survey, match_value), ROW_FIELD(survey, found),
};
static const struct row_type type = ROW_TYPE(survey, fields);

ROW_LIST_DONE(survey_list, type)

int
survey_ask(struct store *s, const char *tenant, const char *match_kind,
           const char *match_value, const char *host, char id[static ID_MAX])
{
	char new_id[ID_MAX];
	int rc;

	id_new(SURVEY_PREFIX, new_id);
	rc = db_change(s->db, -EHOSTDOWN, SQL_SURVEY_ASK,
	               ARGS(V(new_id), V(tenant), V(match_kind), V(match_value),
	                    V(host)));
	if (!rc)
		memcpy(id, new_id, ID_MAX);
	return rc;
}

int
survey_read(struct store *s, const char *id, struct survey_list *out)
{
	return ROW_LIST(s->db, &type, out, SQL_SURVEY_READ, ARGS(V(id)));
}

int
survey_forget(struct store *s, const char *id)
{
	const int64_t keep = SURVEY_KEEP_MS;

	return db_do(s->db, SQL_SURVEY_FORGET, ARGS(V(id), V(keep)));
}

int
survey_waiting(struct store *s, const char *host, struct survey_list *out)
{
	const int64_t wait = SURVEY_WAIT_MS, most = SURVEYS_AT_ONCE;

	return ROW_LIST(s->db, &type, out, SQL_SURVEY_WAITING,
	                ARGS(V(host), V(wait), V(most)));
}

int
survey_answer(struct store *s, const struct survey *v, const char *found)
{
	return db_do(s->db, SQL_SURVEY_ANSWER,
	             ARGS(V(found), V(v->id), V(v->host)));
}
