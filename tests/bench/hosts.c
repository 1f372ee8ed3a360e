/*
 * Many hosts of a fleet at once, which ask their centre as workers do: each has
 * a separate address and connections, sends a block of ten services a minute
 * after that minute has ended, and polls at the interval that the centre sets.
 *
 *	hosts URL CA-FILE TENANT KEYS MINUTES [SPREAD]
 *
 * KEYS is a file with the key of one host in each line. Blocks of a minute come
 * spread over SPREAD seconds (60); 0: none come. Prints lines of a name and
 * numbers:
 *
 *	block, poll	number, and median, p95, p99 and most ms, of those that
 *			succeeded
 *	refused		number, for each status that is not 200
 *	lag		most seconds that a block waited since it was due
 *	unsent		blocks that were due and not taken by the end
 */
#include "base/buf.h"
#include "base/clock.h"
#include "lib/minute_block.h"
#include "lib/random.h"

#include <curl/curl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define SERVICES   10
#define KEY_MAX    128
#define MINUTE_MS  INT64_C(60000)
#define BEAT_MS    5000 /* a third of the lease that workers have by default */
#define PAUSE_MAX  60000
#define STATUS_MAX 600
#define BLOCK_MAX  ((size_t)64 << 20)
#define HEAD       "Authorization: Bearer "

struct times {
	double *ms;
	size_t n, room;
};

/* A request of a host, which makes one at a time. */
struct call {
	struct host *host;
	CURL *curl;
	struct curl_slist *headers;
	struct buf reply;
	bool busy;
	int64_t next_ms, pause_ms;
};

struct host {
	size_t i;
	struct call poll, block;
	char generation[256];
	int64_t minute_ms; /* wall clock of the minute that is sent next */
	int64_t spread_ms; /* delay from the minute's end to the send */
	int64_t beat_ms, processes_ms;
	bool beats, tells;
};

struct bench {
	const char *url, *ca, *tenant;
	CURLM *multi;
	struct host *hosts;
	size_t n;
	int64_t end_ms, wall_ms; /* wall clock minus monotonic clock */
	struct times polls, blocks;
	size_t refused[STATUS_MAX];
	int64_t lag_ms;
	uint64_t random;
};

static void
die(const char *what)
{
	fprintf(stderr, "hosts: %s\n", what);
	exit(1);
}

static int64_t
now_ms(void)
{
	return clock_mono_ns() / NS_PER_MS;
}

static void
add_time(struct times *t, double ms)
{
	if (t->n == t->room) {
		t->room = t->room ? t->room * 2 : 4096;
		t->ms = realloc(t->ms, t->room * sizeof(*t->ms));
		if (!t->ms)
			die("no memory");
	}
	t->ms[t->n++] = ms;
}

/* --- requests ------------------------------------------------------------- */

static size_t
take_bytes(char *p, size_t size, size_t n, void *arg)
{
	buf_add(arg, p, size * n);
	return size * n;
}

static void
call_init(struct bench *b, struct call *c, struct host *h, const char *key,
          const char *path, const char *type)
{
	char text[KEY_MAX + 512];

	c->host = h;
	c->curl = curl_easy_init();
	if (!c->curl)
		die("no memory");
	c->reply = (struct buf)BUF_INIT((size_t)8 << 20);
	snprintf(text, sizeof(text), "%s%s", HEAD, key);
	c->headers = curl_slist_append(NULL, text);
	snprintf(text, sizeof(text), "Content-Type: %s", type);
	c->headers = curl_slist_append(c->headers, text);
	c->headers = curl_slist_append(c->headers, "Expect:");
	snprintf(text, sizeof(text), "%s%s", b->url, path);
	curl_easy_setopt(c->curl, CURLOPT_URL, text);
	curl_easy_setopt(c->curl, CURLOPT_CAINFO, b->ca);
	curl_easy_setopt(c->curl, CURLOPT_HTTP_VERSION,
	                 (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, 30000L);
	curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &c->reply);
	curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, c->headers);
	curl_easy_setopt(c->curl, CURLOPT_PRIVATE, c);
	/* curl reuses no connection from another local address */
	snprintf(text, sizeof(text), "host!127.1.%zu.%zu", h->i / 250,
	         h->i % 250 + 1);
	curl_easy_setopt(c->curl, CURLOPT_INTERFACE, text);
}

static void
call_start(struct bench *b, struct call *c, const struct buf *body)
{
	buf_clear(&c->reply);
	curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE, (long)body->len);
	curl_easy_setopt(c->curl, CURLOPT_COPYPOSTFIELDS, body->p);
	c->busy = true;
	if (curl_multi_add_handle(b->multi, c->curl))
		die("no request can be made");
}

/* Adds up to a tenth more or less, as workers do. */
static int64_t
jitter(struct bench *b, int64_t ms)
{
	return ms * 9 / 10 +
	       (int64_t)(random_next(&b->random) % (uint64_t)(ms / 5 + 1));
}

/* Pauses after a failure, twice as long each time. */
static void
postpone(struct bench *b, struct call *c)
{
	c->pause_ms = c->pause_ms ? c->pause_ms * 2 : 1000;
	if (c->pause_ms > PAUSE_MAX)
		c->pause_ms = PAUSE_MAX;
	c->next_ms = now_ms() + jitter(b, c->pause_ms);
}

/* --- polls ---------------------------------------------------------------- */

static void
put_processes(struct bench *b, const struct host *h, struct buf *out)
{
	buf_puts(out, ",\"processes\":[");
	for (int i = 0; i < SERVICES; i++)
		buf_addf(out,
		         "%s{\"tenant\":\"%s\",\"service\":\"bench%d\","
		         "\"ordinal\":0,\"pid\":%d,\"startTime\":%zu,"
		         "\"argv0\":\"/usr/bin/bench%d\",\"cmdline\":"
		         "\"/usr/bin/bench%d --config /etc/bench.conf\"}",
		         i ? "," : "", b->tenant, i, 1000 + i, h->i, i, i);
	buf_puts(out, "],\"trees\":[]");
}

static void
send_poll(struct bench *b, struct host *h, int64_t now)
{
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);

	h->beats = now >= h->beat_ms;
	h->tells = now >= h->processes_ms;
	buf_addf(&body,
	         "{\"bootId\":\"boot-%zu\",\"generation\":\"%s\",\"jobs\":[],"
	         "\"room\":8",
	         h->i, h->generation);
	if (h->beats)
		buf_addf(&body,
		         ",\"version\":\"1\",\"pid\":%zu,\"capabilities\":{}",
		         h->i + 100);
	if (h->tells)
		put_processes(b, h, &body);
	buf_putc(&body, '}');
	call_start(b, &h->poll, &body);
}

static void
take_poll(struct bench *b, struct call *c)
{
	struct host *h = c->host;
	json_t *j = json_loadb(buf_str(&c->reply), c->reply.len, 0, NULL);
	const char *generation =
		json_string_value(json_object_get(j, "generation"));
	int64_t ms = json_integer_value(json_object_get(j, "pollMs"));
	int64_t now = now_ms();

	if (!generation || ms < 1)
		die("a poll has a reply that is none");
	snprintf(h->generation, sizeof(h->generation), "%s", generation);
	json_decref(j);
	if (h->beats)
		h->beat_ms = now + BEAT_MS;
	if (h->tells)
		h->processes_ms = now + MINUTE_MS;
	c->next_ms = now + jitter(b, ms);
}

/* --- blocks --------------------------------------------------------------- */

static int64_t
due_ms(const struct bench *b, const struct host *h)
{
	return h->minute_ms + MINUTE_MS + h->spread_ms - b->wall_ms;
}

static void
send_block(struct bench *b, struct host *h)
{
	CLEANUP_BUF struct buf body = BUF_INIT(BLOCK_MAX);
	uint64_t seed = (uint64_t)h->minute_ms ^ (uint64_t)h->i << 48;

	minute_block(b->tenant, SERVICES, 1, h->minute_ms, &seed, &body);
	call_start(b, &h->block, &body);
}

static void
take_block(struct bench *b, struct call *c)
{
	struct host *h = c->host;
	int64_t waited = now_ms() - due_ms(b, h);

	if (waited > b->lag_ms)
		b->lag_ms = waited;
	h->minute_ms += MINUTE_MS;
	c->next_ms = due_ms(b, h);
}

/* --- all of them ---------------------------------------------------------- */

static void
take_answer(struct bench *b, CURL *curl, CURLcode rc)
{
	struct call *c;
	curl_off_t us = 0;
	long status = 0;
	bool poll;

	curl_easy_getinfo(curl, CURLINFO_PRIVATE, (char **)&c);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(curl, CURLINFO_TOTAL_TIME_T, &us);
	curl_multi_remove_handle(b->multi, curl);
	c->busy = false;
	poll = c == &c->host->poll;
	if (rc || status != 200) {
		b->refused[!rc && status > 0 && status < STATUS_MAX ? status
		                                                    : 0]++;
		postpone(b, c);
		return;
	}
	c->pause_ms = 0;
	add_time(poll ? &b->polls : &b->blocks, (double)us / 1000);
	if (poll)
		take_poll(b, c);
	else
		take_block(b, c);
}

/* Sends what is due; returns when the next request is due. */
static int64_t
send_due(struct bench *b, int64_t now)
{
	int64_t next = b->end_ms;

	for (size_t i = 0; i < b->n; i++) {
		struct host *h = &b->hosts[i];

		if (!h->poll.busy && h->poll.next_ms <= now)
			send_poll(b, h, now);
		if (!h->block.busy && h->block.next_ms <= now)
			send_block(b, h);
		if (!h->poll.busy && h->poll.next_ms < next)
			next = h->poll.next_ms;
		if (!h->block.busy && h->block.next_ms < next)
			next = h->block.next_ms;
	}
	return next;
}

static void
run(struct bench *b)
{
	int64_t now;

	while ((now = now_ms()) < b->end_ms) {
		int64_t wait = send_due(b, now) - now;
		int running, left;
		CURLMsg *m;

		curl_multi_perform(b->multi, &running);
		while ((m = curl_multi_info_read(b->multi, &left))) {
			if (m->msg == CURLMSG_DONE)
				take_answer(b, m->easy_handle, m->data.result);
			wait = 0;
		}
		if (wait > 0)
			curl_multi_poll(b->multi, NULL, 0,
			                wait < 100 ? (int)wait : 100, NULL);
	}
}

static void
add_host(struct bench *b, const char *key, int64_t spread_ms)
{
	struct host *h = &b->hosts[b->n];
	int64_t now = now_ms(), wall = now + b->wall_ms;

	h->i = b->n++;
	call_init(b, &h->poll, h, key, "/agent/poll", "application/json");
	call_init(b, &h->block, h, key, "/agent/block",
	          "application/octet-stream");
	h->poll.next_ms = now + (int64_t)(random_next(&b->random) % 2000);
	if (!spread_ms) {
		h->block.next_ms = h->minute_ms = INT64_MAX / 2;
		return;
	}
	h->spread_ms = (int64_t)(random_next(&b->random) % (uint64_t)spread_ms);
	/* the first minute whose block is not due yet */
	h->minute_ms = (wall - h->spread_ms) / MINUTE_MS * MINUTE_MS;
	h->block.next_ms = due_ms(b, h);
}

static void
read_keys(struct bench *b, const char *path, int64_t spread_ms)
{
	FILE *f = fopen(path, "r");
	char key[KEY_MAX];
	size_t room = 0;

	if (!f)
		die("the file of keys can't be read");
	while (fgets(key, sizeof(key), f))
		room++;
	b->hosts = calloc(room + 1, sizeof(*b->hosts));
	if (!b->hosts)
		die("no memory");
	rewind(f);
	while (fgets(key, sizeof(key), f)) {
		key[strcspn(key, "\n")] = '\0';
		add_host(b, key, spread_ms);
	}
	fclose(f);
}

/* --- what came of it ------------------------------------------------------ */

static int
by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void
tell(const char *name, struct times *t)
{
	if (!t->n)
		return;
	qsort(t->ms, t->n, sizeof(*t->ms), by_value);
	printf("%s\t%zu\t%.1f\t%.1f\t%.1f\t%.1f\n", name, t->n, t->ms[t->n / 2],
	       t->ms[t->n * 95 / 100], t->ms[t->n * 99 / 100], t->ms[t->n - 1]);
}

static void
tell_all(struct bench *b)
{
	int64_t now = now_ms();
	size_t unsent = 0;

	for (size_t i = 0; i < b->n; i++) {
		int64_t waits = now - due_ms(b, &b->hosts[i]);

		if (waits > b->lag_ms)
			b->lag_ms = waits;
		if (waits > 0)
			unsent += 1 + (size_t)(waits / MINUTE_MS);
	}
	tell("block", &b->blocks);
	tell("poll", &b->polls);
	for (int i = 0; i < STATUS_MAX; i++)
		if (b->refused[i])
			printf("refused\t%d\t%zu\n", i, b->refused[i]);
	printf("lag\t%.1f\n", (double)b->lag_ms / MS_PER_S);
	printf("unsent\t%zu\n", unsent);
}

int
main(int argc, char **argv)
{
	struct bench b = {.random = 1};
	struct rlimit files;

	if (argc < 6)
		die("usage: hosts URL CA-FILE TENANT KEYS MINUTES [SPREAD]");
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &files))
			die("no more files may be open");
	}
	curl_global_init(CURL_GLOBAL_ALL);
	b.url = argv[1];
	b.ca = argv[2];
	b.tenant = argv[3];
	b.multi = curl_multi_init();
	b.wall_ms = clock_wall_ms() - now_ms();
	read_keys(&b, argv[4], (argc > 6 ? atoll(argv[6]) : 60) * MS_PER_S);
	curl_multi_setopt(b.multi, CURLMOPT_MAXCONNECTS, (long)b.n * 2 + 8);
	b.end_ms = now_ms() + atoll(argv[5]) * MINUTE_MS;
	run(&b);
	tell_all(&b);
	return 0;
}
