/* POST and DELETE pin: profiles that stay, however old they are. */
#include "endpoint/call/audits.h"
#include "load.h"
#include "profile_json.h"
#include "store/session.h"
#include "store/window.h"
#include "window_session.h"

#include <errno.h>

static int
pin_noted(struct call *c, const char *id, bool pinned)
{
	struct store *s = &c->env->store;
	const char *tenant = c->caller.tenant;
	int rc = store_begin(s);

	if (rc)
		return rc;
	rc = window_is(id) ? window_pin(s, tenant, id, pinned)
	                   : session_pin(s, tenant, id, pinned);
	return store_end(s, rc ?: audit_note(c, id, "{}"));
}

static int
pin(struct call *c, enum param which, bool pinned)
{
	CLEANUP_SESSION struct session s = {0};
	int rc = pin_noted(c, param_text(c, which), pinned);

	if (rc)
		return rc == -ENOENT ? fail_unknown(c, which)
		                     : fail_store(c, rc);
	if (load_session(c, which, &s))
		return -1;
	return profile_answer(c, &s);
}

int
pin_post(struct call *c)
{
	return pin(c, P_PinProfile_profileId, true);
}

int
pin_delete(struct call *c)
{
	return pin(c, P_UnpinProfile_profileId, false);
}
