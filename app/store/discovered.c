#include "store/discovered.h"

#include "store/audit.h"
#include "store/db/row.h"

#include <errno.h>

static int
write_audit(struct store *s, const struct service *v)
{
	return audit_add(s, &(struct audit){
				    .tenant = v->tenant,
				    .actor = (char *)"discover",
				    .action = (char *)"CreateService",
				    .target = v->name,
				    .request_id = (char *)"",
				    .detail = (char *)"{}",
			    });
}

static int
add(struct store *s, const struct service *v, int64_t most)
{
	int64_t known, made;
	int rc = db_do(s->db, SQL_DISCOVERED_FORGET, NO_ARGS)
	                 ?: row_int(s->db, &known, SQL_DISCOVERED_KNOWN,
	                            ARGS(V(v->tenant), V(v->name),
	                                 V(v->match_kind), V(v->match_value)));

	if (rc || known)
		return rc;
	rc = db_run(s->db, SQL_DISCOVERED_INSERT,
	            ARGS(V(v->tenant), V(v->match_kind), V(v->match_value),
	                 V(v->name)));
	if (rc <= 0)
		return rc;
	rc = row_int(s->db, &made, SQL_DISCOVERED_COUNT, ARGS(V(v->tenant)));
	if (!rc && made >= most)
		rc = -EDQUOT;
	return rc ?: service_add(s, v) ?: write_audit(s, v) ?: 1;
}

int
discovered_add(struct store *s, const struct service *v, int64_t most)
{
	int rc = store_begin(s), made = 0;

	if (rc)
		return rc;
	made = add(s, v, most);
	rc = store_end(s, made < 0 ? made : 0);
	return rc ?: made;
}
