#include "debuginfod.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

void
debuginfod_start(struct debuginfod *d, const struct conf *conf)
{
	const char *at;
	int rc;

	d->conf = conf;
	if (!debuginfod_server(conf->symbols_debuginfod, 0, &at))
		return;
	rc = debug_cache_open(conf, &d->cache);
	if (rc)
		log_warn("debuginfod: no cache directory: %s", strerror(-rc));
}

static void
drop_file(struct debuginfod *d)
{
	if (d->file < 0)
		return;
	debug_cache_drop(&d->cache, d->temp);
	close_ptr(&d->file);
}

void
debuginfod_done(struct debuginfod *d)
{
	drop_file(d);
	debug_cache_close(&d->cache);
}

/* --- the queue ------------------------------------------------------------ */

static void
queue(struct debuginfod *d, const char *name)
{
	for (size_t i = 0; i < d->n; i++)
		if (!strcmp(d->queue[i], name))
			return;
	if (d->n < DEBUGINFOD_MAX_QUEUE)
		strcpy(d->queue[d->n++], name);
}

static void
deny(const struct debuginfod *d, const char *name)
{
	int rc = debug_cache_deny(&d->cache, name);

	if (rc)
		log_warn("debuginfod: %s: %s", name, strerror(-rc));
}

/* Handles one row: queues a file that is missing, and records one that the
 * parser refused as missing. */
static void
take_row(struct debuginfod *d, const struct host_debug *row, int64_t now_ms)
{
	enum debug_cache_state state;
	char name[DEBUG_CACHE_NAME];

	debug_cache_name(row->build_id, row->size, name);
	state = debug_cache_look(&d->cache, name, now_ms);
	if (row->state == HOST_DEBUG_USED) {
		debug_cache_touch(&d->cache, name);
	} else if (row->state == HOST_DEBUG_REFUSED &&
	           state == DEBUG_CACHE_FILE) {
		log_warn("debuginfod: %s is not the debug file that was asked "
		         "for",
		         name);
		deny(d, name);
	} else if (row->state == HOST_DEBUG_NONE && state == DEBUG_CACHE_NONE) {
		queue(d, name);
	}
}

void
debuginfod_take(struct debuginfod *d, const struct msg_debug *m)
{
	int64_t now_ms = clock_wall_ms();

	if (d->cache.dir < 0)
		return;
	for (uint32_t i = 0; i < m->debugs.n && i < HOST_MAX_DEBUG; i++)
		if (m->debugs.rows[i].size >= 2 &&
		    m->debugs.rows[i].size <= HOST_BUILD_ID)
			take_row(d, &m->debugs.rows[i], now_ms);
}

/* --- requests ------------------------------------------------------------- */

bool
debuginfod_waits(const struct debuginfod *d)
{
	return d->n && !d->fetch;
}

bool
debuginfod_busy(const struct debuginfod *d)
{
	return d->n > 0;
}

/* Removes the first file from the queue. */
static void
next(struct debuginfod *d)
{
	drop_file(d);
	d->n--;
	memmove(d->queue, d->queue + 1, d->n * sizeof(*d->queue));
	d->server = 0;
	d->failed = false;
	d->fetch = 0;
}

static int
send_ask(struct debuginfod *d, int fetcher, const char *url, uint64_t id)
{
	const struct conf *conf = d->conf;
	int64_t most = conf->symbols_max_bytes < conf->symbols_cache_bytes
	                       ? conf->symbols_max_bytes
	                       : conf->symbols_cache_bytes;
	struct fetch_ask ask = {
		.type = MSG_FETCH,
		.method = FETCH_GET,
		.purpose = FETCH_DEBUGINFOD,
		.connect_ms =
			(uint32_t)(conf->fetch_connect_timeout * MS_PER_S),
		.total_ms = (uint32_t)(conf->symbols_timeout * MS_PER_S),
		.max_bytes = (uint64_t)most,
		.id = id,
	};
	int rc = debug_cache_create(&d->cache, d->temp, &d->file);

	strcpy(ask.url, url);
	return rc ? rc : msg_send(fetcher, &ask, sizeof(ask), &d->file, 1);
}

void
debuginfod_ask(struct debuginfod *d, int fetcher, uint64_t id, int64_t now_ns)
{
	char url[URL_MAX + 1];
	int rc = 0;

	while (!(rc = debuginfod_url(d->conf->symbols_debuginfod, d->server,
	                             d->queue[0], url)) &&
	       now_ns < d->rests_ns[d->server]) {
		d->failed = true;
		d->server++;
	}
	if (rc) { /* all servers were asked */
		if (!d->failed)
			deny(d, d->queue[0]);
		next(d);
		return;
	}
	rc = send_ask(d, fetcher, url, id);
	if (!rc) {
		d->fetch = id;
		return;
	}
	log_warn("debuginfod: %s", strerror(-rc));
	next(d);
}

/* --- answers -------------------------------------------------------------- */

enum kept { KEPT, NO, FAILED };

static bool
is_elf(int fd, uint64_t bytes)
{
	struct stat st;
	char start[4];

	return !fstat(fd, &st) && (uint64_t)st.st_size == bytes &&
	       pread(fd, start, sizeof(start), 0) == sizeof(start) &&
	       !memcmp(start, "\177ELF", sizeof(start));
}

static enum kept
keep(struct debuginfod *d, const struct fetch_answer *a)
{
	int rc;

	if (!is_elf(d->file, a->bytes))
		return NO;
	rc = debug_cache_keep(&d->cache, d->temp, d->file, d->queue[0]);
	close_ptr(&d->file);
	if (rc)
		log_warn("debuginfod: %s", strerror(-rc));
	else
		log_info("debuginfod: %s, %llu bytes", d->queue[0],
		         (unsigned long long)a->bytes);
	return rc ? FAILED : KEPT;
}

static enum kept
judge(struct debuginfod *d, const struct fetch_answer *a)
{
	if (a->error == FETCH_TOO_LARGE) {
		log_warn("debuginfod: %s is larger than max_bytes of [symbols]",
		         d->queue[0]);
		return NO;
	}
	if (!a->error && a->status == 200)
		return keep(d, a);
	if (!a->error && a->status == 404)
		return NO;
	return FAILED;
}

/* For a while, asks nothing of a server that failed. */
static void
let_rest(struct debuginfod *d, const struct fetch_answer *a, int64_t now_ns)
{
	const char *at;
	size_t n =
		debuginfod_server(d->conf->symbols_debuginfod, d->server, &at);

	d->failed = true;
	d->rests_ns[d->server] = now_ns + DEBUGINFOD_REST_NS;
	if (a->error)
		log_warn("debuginfod: %.*s: %s", (int)n, at,
		         fetch_error_text(a->error));
	else
		log_warn("debuginfod: %.*s: HTTP %u", (int)n, at, a->status);
}

static void
take(struct debuginfod *d, const struct fetch_answer *a, int64_t now_ns)
{
	enum kept v = judge(d, a);

	if (v == KEPT) {
		d->kept++;
		next(d);
		return;
	}
	if (v == FAILED)
		let_rest(d, a, now_ns);
	drop_file(d);
	d->fetch = 0;
	d->server++; /* ask the next server for the same file */
}

bool
debuginfod_fetched(struct debuginfod *d, const struct fetch_answer *a,
                   int64_t now_ns)
{
	if (!d->fetch || a->id != d->fetch)
		return false;
	take(d, a, now_ns);
	return true;
}

void
debuginfod_fetcher_gone(struct debuginfod *d, int64_t now_ns)
{
	const struct fetch_answer died = {.error = FETCH_DIED};

	if (d->fetch)
		take(d, &died, now_ns);
}
