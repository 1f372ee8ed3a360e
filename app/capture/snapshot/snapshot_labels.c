#include "snapshot_labels.h"

#include "capture/naming/futex.h"

#include "snapshot_creator.h"

#include <string.h>

#define MAX_TEXT ((size_t)8 << 10)

static const char *const keys[] = {
#define SNAPSHOT_LABEL(id, key, doc) key,
#include "snapshot.def"
#undef SNAPSHOT_LABEL
};

/* --- texts ---------------------------------------------------------------- */

static void
put_reason(const struct profile *p, const struct snapshot_batch *b, size_t i,
           const uint32_t *stack, uint32_t n, struct buf *out)
{
	const struct thread_seen *t = &b->seen[i];

	if (t->state == 'T' || t->state == 't') {
		buf_puts(out, "stopped");
	} else if (!t->reason) {
		buf_puts(out, t->call);
	} else if (t->target == TARGET_FUTEX) {
		buf_puts(out, futex_wait_of(p, stack, n).reason);
	} else {
		const char *kind =
			t->target == TARGET_DESCRIPTOR
				? thread_link_kind(snapshot_link(b, t->fds[0]))
				: "";

		buf_addf(out, "%s%s%s", t->reason, *kind ? " " : "", kind);
	}
}

static void
put_call(const struct thread_row *row, const struct thread_seen *t,
         struct buf *out)
{
	buf_puts(out, t->call);
	if (row->how == THREAD_BLOCKED && row->wchan[0] &&
	    strcmp(row->wchan, "0") != 0)
		buf_addf(out, "%s%s", t->call[0] ? ", " : "", row->wchan);
}

static void
put_target(const struct snapshot_batch *b, const struct thread_seen *t,
           struct buf *out)
{
	if (t->target == TARGET_FUTEX && t->futex)
		buf_addf(out, "0x%lx", (unsigned long)t->futex);
	for (size_t i = 0; i < t->nfds; i++) {
		const char *link = snapshot_link(b, t->fds[i]);

		buf_addf(out, "%s%d%s%s", i ? ", " : "", t->fds[i],
		         *link ? " " : "", link);
	}
}

/* Adds a label if it has a text. */
static int
put_label(struct profile *p, enum snapshot_label k, const char *text,
          struct label out[SNAPSHOT_LABELS], uint32_t *nout)
{
	struct label l = {0};
	int rc = profile_cstring(p, keys[k], &l.key)
	                 ?: profile_cstring(p, text, &l.str);

	if (!rc && l.str)
		out[(*nout)++] = l;
	return rc;
}

int
snapshot_labels(struct profile *p, const struct snapshot_batch *b, size_t i,
                const uint32_t *stack, uint32_t n, bool whole,
                struct label out[SNAPSHOT_LABELS], uint32_t *nout)
{
	const struct thread_seen *t = &b->seen[i];
	struct buf texts[SNAPSHOT_LABELS];
	int rc = 0;

	*nout = 0;
	for (size_t k = 0; k < SNAPSHOT_LABELS; k++)
		texts[k] = BUF_INIT(MAX_TEXT);
	buf_puts(&texts[SNAPSHOT_STATE], thread_state(t));
	put_reason(p, b, i, stack, n, &texts[SNAPSHOT_REASON]);
	put_call(snapshot_row(b, i), t, &texts[SNAPSHOT_CALL]);
	put_target(b, t, &texts[SNAPSHOT_TARGET]);
	buf_puts(&texts[SNAPSHOT_THREAD], t->name);
	if (whole)
		buf_puts(&texts[SNAPSHOT_CREATOR],
		         snapshot_creator(p, stack, n));
	for (size_t k = 0; k < SNAPSHOT_LABELS; k++) {
		if (!rc)
			rc = put_label(p, k, buf_str(&texts[k]), out, nout);
		buf_done(&texts[k]);
	}
	return rc;
}

int
snapshot_task_labels(struct profile *p, struct label out[SNAPSHOT_LABELS],
                     uint32_t *nout)
{
	*nout = 0;
	return put_label(p, SNAPSHOT_STATE, "waiting", out, nout)
	               ?: put_label(p, SNAPSHOT_REASON, "await", out, nout);
}
