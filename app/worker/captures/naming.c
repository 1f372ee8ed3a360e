#include "naming.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "profile/pprof.h"
#include "runs_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define AGAIN_NS (600 * NS_PER_S)
#define MAX_MADE ((size_t)64 << 20)

static void
forget(struct naming *g)
{
	if (g->events &&
	    worker_may_look(*g->events, g->asked.id, NULL, NULL, 0))
		log_debug("%s: the opener takes no messages", g->asked.id);
	g->events = NULL;
	pushed_close(&g->pushed);
	names_module_done(&g->asked);
	free(g->addresses);
	g->addresses = NULL;
	g->n = 0;
	close_ptr(&g->made);
}

void
naming_done(struct naming *g)
{
	if (g->asked.id)
		forget(g);
}

/* Leaves the module without names; naming_again() queues it again. */
static void
give_up(struct naming *g, struct store *s, const char *why)
{
	int rc = names_finish(s, &g->asked, NULL, NULL, 0);

	log_warn("%s: not named: %s", g->asked.file, why);
	if (rc)
		log_warn("%s: %s", g->asked.id, strerror(-rc));
	forget(g);
}

/* --- to the analyser ------------------------------------------------------ */

/* Makes a profile in which each address is a stack. */
static int
make_profile(const struct naming *g, struct profile **out)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	struct mapping m = {
		.start = (uint64_t)g->asked.start,
		.limit = (uint64_t)g->asked.limit,
		.offset = (uint64_t)g->asked.offset,
	};
	uint32_t mapping, location;
	const int64_t one = 1;
	int rc = !p ? -ENOMEM
	            : profile_type(p, "frames", "count")
	                      ?: profile_cstring(p, g->asked.file, &m.file)
	                      ?: profile_cstring(p, g->asked.build_id,
	                                         &m.build_id)
	                      ?: profile_mapping(p, &m, &mapping);

	for (uint32_t i = 0; i < g->n && !rc; i++)
		rc = profile_location(p, mapping, g->addresses[i], NULL, 0,
		                      &location)
		             ?: profile_sample(p, &location, 1, NULL, 0, &one);
	if (!rc)
		*out = TAKE(p);
	return rc;
}

static int
write_asked(const struct naming *g, int fd)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_MADE);
	CLEANUP_PROFILE struct profile *p = NULL;

	return make_profile(g, &p)
	               ?: pprof_encode(p, &bytes)
	               ?: fd_write_all(fd, bytes.p, bytes.len);
}

static int
open_pushed(struct naming *g, struct store *s)
{
	CLEANUP_DEBUG_FILE_USES struct debug_file_uses l = {0};
	int rc = debug_file_of(s, g->asked.tenant, g->asked.build_id, &l);

	if (!rc)
		pushed_open(&g->pushed, s, &l, PUSHED_COPIED);
	return rc;
}

static int
send_ask(struct runs *c, const struct targets *targets)
{
	struct naming *g = &c->naming;
	struct msg_symbolize m = {.type = MSG_SYMBOLIZE, .uploaded = 1};
	CLEANUP_FD int asked = memfd_create("stoker-unnamed", MFD_CLOEXEC);
	struct followed now;
	int rc;

	g->made = memfd_create("stoker-named", MFD_CLOEXEC);
	if (asked < 0 || g->made < 0)
		return -errno;
	snprintf(m.id, sizeof(m.id), "%s", g->asked.id);
	targets_followed(targets, g->asked.tenant, g->asked.service,
	                 SESSION_ALL_ORDINALS, &now);
	rc = open_pushed(g, c->store)
	             ?: write_asked(g, asked)
	             ?: worker_may_look(c->events, m.id, now.pids, now.starts,
	                                now.n);
	if (rc)
		return rc;
	g->events = &c->events;
	m.npids = now.n;
	memcpy(m.pids, now.pids, now.n * sizeof(*now.pids));
	return pushed_send(&g->pushed, c->analyser, &m,
	                   (int[]){g->made, asked});
}

int
naming_step(struct runs *c, const struct targets *targets, const char *host,
            int64_t now_ns)
{
	struct naming *g = &c->naming;
	int rc;

	if (g->asked.id && now_ns > g->deadline_ns)
		give_up(g, c->store, capture_error_text(CAPTURE_LATE));
	if (g->asked.id || c->analyser < 0)
		return 0;
	rc = names_claim(c->store, host, g->last, &g->asked, &g->addresses,
	                 &g->n);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	snprintf(g->last, sizeof(g->last), "%s", g->asked.tenant);
	g->made = -1;
	g->deadline_ns = now_ns + c->finish_ns + OVERDUE_NS;
	rc = g->n ? send_ask(c, targets) : -ENODATA;
	if (rc)
		give_up(g, c->store, strerror(-rc));
	return 0;
}

void
naming_again(struct naming *g, struct store *s, const char *host,
             uint64_t fetched, bool busy, int64_t now_ns)
{
	int rc;

	if (busy || (fetched == g->fetched && now_ns < g->again_ns))
		return;
	g->fetched = fetched;
	g->again_ns = now_ns + AGAIN_NS;
	rc = names_again(s, host);
	if (rc)
		log_warn("names of frames that were pushed: %s", strerror(-rc));
}

/* --- from the analyser ---------------------------------------------------- */

/* Writes the lines of a location, if it has a name. */
static void
put_lines(const struct profile *p, uint32_t location, struct buf *out)
{
	const struct location *l = &p->locations[location];
	struct names_line line;

	for (uint32_t i = 0; i < l->nlines && profile_is_named(p, location);
	     i++) {
		const struct line *from = &p->lines[l->line0 + i];
		const struct function *f = &p->functions[from->function];

		line = (struct names_line){
			(char *)profile_text(p, f->name),
			(char *)profile_text(p, f->system_name),
			(char *)profile_text(p, f->file),
			from->line,
			f->start_line,
		};
		names_line_put(&line, out);
	}
}

static int
by_address(const void *a, const void *b)
{
	int64_t x = (int64_t)(*(const uint64_t *)a);
	int64_t y = (int64_t)(*(const uint64_t *)b);

	return (x > y) - (x < y);
}

/* Reads the names, by address; ignores addresses that were not asked for. */
static int
read_names(const struct naming *g, char **lines)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_MADE);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	int rc = lseek(g->made, 0, SEEK_SET) ? -errno
	                                     : fd_read_all(g->made, &bytes);

	rc = rc ?: pprof_decode(bytes.p, bytes.len, MAX_MADE, &p, &why);
	for (uint32_t i = 0; !rc && i < p->nlocations; i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(NAMES_MAX_TEXT);
		const uint64_t *at = bsearch(&p->locations[i].address,
		                             g->addresses, g->n, sizeof(*at),
		                             by_address);

		if (!at || lines[at - g->addresses])
			continue;
		put_lines(p, i, &text);
		if (!buf_err(&text) && text.len &&
		    !(lines[at - g->addresses] = strdup(buf_str(&text))))
			rc = -ENOMEM;
	}
	return rc;
}

bool
naming_take(struct naming *g, struct store *s, const struct msg_done *done)
{
	char **lines;
	int rc;

	if (!g->asked.id || strcmp(g->asked.id, done->id) != 0)
		return false;
	pushed_report(&g->pushed, s, done);
	if (done->error) {
		give_up(g, s, capture_error_text(done->error));
		return true;
	}
	lines = calloc(g->n, sizeof(*lines));
	rc = lines ? read_names(g, lines) : -ENOMEM;
	if (!rc)
		rc = names_finish(s, &g->asked, g->addresses, lines, g->n);
	for (uint32_t i = 0; lines && i < g->n; i++)
		free(lines[i]);
	free(lines);
	if (rc)
		give_up(g, s, strerror(-rc));
	else
		log_debug("%s: %u frames were looked for", g->asked.file, g->n);
	if (g->asked.id)
		forget(g);
	return true;
}

void
naming_drop(struct naming *g, struct store *s, const char *host)
{
	int rc;

	if (!g->asked.id)
		return;
	forget(g);
	rc = names_take_over(s, host);
	if (rc)
		log_warn("names of frames that were pushed: %s", strerror(-rc));
}
