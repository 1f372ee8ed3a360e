/*
 * Messages of an analyser and a fetcher that were taken over, as the scheduler
 * handles them while captures, windows and other profiles are under way. Each
 * is a struct head, then the message from its type on, and the files sent with
 * it.
 */
#include "base/clock.h"
#include "base/log.h"
#include "lib/store.h"
#include "worker/captures/runs_private.h"
#include "worker/continuous/periodic_private.h"
#include "worker/ipc/fetch.h"
#include "worker/scheduler/scheduler_step.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_MESSAGES 16
#define MAX_BYTES    4096 /* of one message of an unknown type */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct head {
	uint8_t kind; /* enum kind */
	uint8_t nfiles;
	uint16_t len;      /* the rest of a known message is zeros */
	uint16_t files[2]; /* bytes */
};

enum kind {
	PROGRESS,
	DONE,
	WINDOWS,
	ROLLED,
	DEBUG,
	OTHER,
	FETCHED,
	EXPORTED,
	KINDS
};

static const struct {
	uint32_t type;
	size_t size;
} known[KINDS] = {
	[PROGRESS] = {MSG_PROGRESS, sizeof(struct msg_progress)},
	[DONE] = {MSG_DONE, sizeof(struct msg_done)},
	[WINDOWS] = {MSG_WINDOWS, sizeof(struct msg_windows)},
	[ROLLED] = {MSG_ROLLED, sizeof(struct msg_batch)},
	[DEBUG] = {MSG_DEBUG, sizeof(struct msg_debug)},
	[EXPORTED] = {MSG_EXPORTED, sizeof(struct msg_batch)},
	[FETCHED] = {MSG_FETCHED, sizeof(struct fetch_answer)},
};

/* In memory, since every input makes files and syncs some. */
static char dir[] = "/dev/shm/stoker-fuzz.XXXXXX";
static struct conf conf;
static struct scheduler s = {.conf = &conf,
                             .watches = WATCHES_INIT,
                             .rollup = ROLLUP_INIT,
                             .debuginfod = DEBUGINFOD_INIT};

/* --- for all inputs ------------------------------------------------------- */

static void
remove_dir(void)
{
	test_remove(dir);
}

static void
open_scheduler(void)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	log_setup("fuzz", LOG_ERR_);
	assert(mkdtemp(dir) && !atexit(remove_dir));
	buf_addf(&text,
	         "[store]\ndir = %s\n[symbols]\n"
	         "debuginfod = http://debug.example\n",
	         dir);
	assert(!conf_parse("fuzz", buf_str(&text), &conf, &why));
	assert(!store_open(&conf, true, &s.store, &why));
	debuginfod_start(&s.debuginfod, &conf);
	assert(s.debuginfod.cache.dir >= 0);
}

/* --- what is under way ---------------------------------------------------- */

static struct run *
add_run(const char *id, const char *type, uint64_t ways)
{
	struct run *v = calloc(1, sizeof(*v));

	assert(v);
	*v = (struct run){.job = {.session = strdup(id),
	                          .tenant = strdup("t"),
	                          .service = strdup("svc"),
	                          .type = strdup(type),
	                          .asked_seconds = 60},
	                  .profile = BLOB_WRITER_INIT,
	                  .timeline = BLOB_WRITER_INIT,
	                  .checkpoint = BLOB_WRITER_INIT,
	                  .ways = ways,
	                  .phase = "capturing"};
	v->ref = job_ref(&v->job);
	assert(!blob_create(&s.store, BLOB_PPROF, &v->profile));
	s.runs.items[s.runs.n++] = v;
	return v;
}

static void
add_pull(const char *id, enum pull_step step, uint64_t fetch)
{
	struct run *v =
		add_run(id, "goroutine", UINT64_C(1) << WAY_cpu_any_RECORDER);

	v->pull = calloc(1, sizeof(*v->pull));
	assert(v->pull);
	*v->pull = (struct pull){.base = "http://127.0.0.1:6060",
	                         .step = step,
	                         .fetch = fetch,
	                         .leaks = fetch & 1,
	                         .scratch = -1,
	                         .first_top = -1};
}

static void
add_runs(void)
{
	struct run *v =
		add_run("sess-a", "cpu", UINT64_C(1) << WAY_cpu_any_RECORDER);

	assert(!blob_create(&s.store, BLOB_TIMELINE, &v->timeline));
	assert(!blob_create(&s.store, BLOB_PPROF, &v->checkpoint));
	add_pull("sess-b", PULL_STEP_GOROUTINE, 1);
	add_pull("sess-c", PULL_STEP_GOROUTINE, 2);
	s.runs.symbolizing.asked.session = strdup("sess-d");
	s.runs.symbolizing.asked.quality = strdup("{}");
	s.runs.symbolizing.asked.origin = strdup("upload");
	s.runs.symbolizing.asked.tenant = strdup("default");
	assert(!blob_create(&s.store, BLOB_PPROF, &s.runs.symbolizing.profile));
}

static void
add_watch(void)
{
	struct watch *v = calloc(1, sizeof(*v));

	assert(v);
	*v = (struct watch){.id = "watch-a",
	                    .tenant = strdup("t"),
	                    .service = strdup("svc"),
	                    .type = "cpu",
	                    .series = "series-a"};
	s.watches.items = v;
	s.watches.n = 1;
}

static void
add_periodics(void)
{
	static const struct periodic all[] = {
		{.id = "per-a", .gauge = true, .state = PERIODIC_MAKING},
		{.id = "per-b", .grows = true, .state = PERIODIC_MAKING},
		{.id = "per-c", .fetch = 3, .state = PERIODIC_FETCHING},
	};

	s.periodics.items = calloc(ARRAY_LEN(all), sizeof(all[0]));
	assert(s.periodics.items);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct periodic *v = &s.periodics.items[i];

		*v = all[i];
		v->tenant = strdup("t");
		v->service = strdup("svc");
		v->type = "alloc";
		v->period_ns = 60 * NS_PER_S;
		v->fd = v->reading = -1;
	}
	s.periodics.n = ARRAY_LEN(all);
}

static int
fetcher_is_there(void *arg)
{
	(void)arg;
	return 0;
}

/* Adds one whose request is being made, one being read, and one being sent. */
static void
add_deliveries(void)
{
	static const struct delivering all[] = {
		{.state = DELIVERY_IS_MADE},
		{.state = DELIVERY_IS_READ},
		{.state = DELIVERY_IS_SENT, .fetch = 4},
	};

	s.deliveries = (struct deliveries){.runs = &s.runs,
	                                   .host = "host",
	                                   .want_fetcher = fetcher_is_there,
	                                   .asked = true};
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct delivering *v = &s.deliveries.items[i];

		*v = all[i];
		v->of.source = strdup("sess-e");
		v->of.tenant = strdup("t");
		v->of.service = strdup(i ? "svc" : "other");
		v->of.collector = strdup("http://127.0.0.1:4318");
		v->reply = memfd_create("reply", MFD_CLOEXEC);
		if (v->state != DELIVERY_IS_READ)
			close_ptr(&v->reply);
	}
}

/* Makes the sockets of an analyser and a fetcher; in[] has the other ends. */
static void
begin(int in[static 2])
{
	int analyser[2], fetcher[2];

	assert(!msg_pair(analyser) && !msg_pair(fetcher));
	in[0] = analyser[0];
	in[1] = fetcher[0];
	s.runs = (struct runs){.store = &s.store,
	                       .other = scheduler_other,
	                       .other_fetched = scheduler_other_fetched,
	                       .other_arg = &s,
	                       .conf = &conf,
	                       .analyser = analyser[1],
	                       .events = -1,
	                       .fetcher = fetcher[1],
	                       .last_fetch = 10};
	s.watches = (struct watches)WATCHES_INIT;
	s.watches.store = &s.store;
	s.watches.conf = &conf;
	s.watches.host = "host";
	s.rollup.store = &s.store;
	s.periodics = (struct periodics){.runs = &s.runs,
	                                 .watches = &s.watches,
	                                 .scanned_ns = &s.scanned_ns};
	add_runs();
	add_watch();
	add_periodics();
	add_deliveries();
}

static void
end(int in[static 2])
{
	periodics_done(&s.periodics);
	watches_done(&s.watches);
	deliveries_done(&s.deliveries);
	symbolizing_forget(&s.runs.symbolizing);
	runs_done(&s.runs);
	close_ptr(&in[0]);
	close_ptr(&in[1]);
}

/* --- messages ------------------------------------------------------------- */

/* Sends a message, and lets the scheduler handle it. */
static int
say(const struct head *h, const uint8_t *p, const int in[static 2],
    const int *fds)
{
	uint8_t bytes[sizeof(struct msg_debug) + MAX_BYTES] = {0};
	size_t size = known[h->kind].size, len = h->len;
	bool is_fetcher = h->kind == FETCHED;

	if (size) {
		memcpy(bytes, &known[h->kind].type, sizeof(uint32_t));
		if (len > size - sizeof(uint32_t))
			len = size - sizeof(uint32_t);
		memcpy(bytes + sizeof(uint32_t), p, len);
	} else {
		size = len < MAX_BYTES ? len : MAX_BYTES;
		memcpy(bytes, p, size);
	}
	assert(!msg_send(in[is_fetcher], bytes, size, fds, h->nfiles % 3));
	return is_fetcher ? runs_fetched(&s.runs) : runs_receive(&s.runs);
}

static int
file_of(const uint8_t *p, size_t n)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert(fd >= 0 && pwrite(fd, p, n, 0) == (ssize_t)n);
	return fd;
}

static void
check(size_t nruns)
{
	assert(s.runs.n <= nruns);
	for (size_t i = 0; i < s.runs.n; i++) {
		const struct run *v = s.runs.items[i];

		assert(v->progress >= 0 && v->progress <= 1);
		assert(v->samples >= 0 && v->samples <= INT32_MAX);
	}
	for (size_t i = 0; i < s.periodics.n; i++) {
		const struct periodic *v = &s.periodics.items[i];

		if (v->state != PERIODIC_MADE)
			continue;
		assert(v->made.start_ms > 0 &&
		       v->made.end_ms >= v->made.start_ms);
		assert(v->made.sample_count >= 0 && v->made.value >= 0);
	}
	assert(s.deliveries.counts.rejected >= 0);
	assert(s.deliveries.ntroubles <= 2);
	assert(s.watches.counts.stored == 0); /* its series does not exist */
	assert(s.debuginfod.n <= DEBUGINFOD_MAX_QUEUE);
}

/* Handles the next message of an input; returns false at its end. */
static bool
take(const uint8_t **data, size_t *n, const int in[static 2])
{
	size_t nruns = s.runs.n, part[3];
	const uint8_t *parts[3];
	int fds[2], rc;
	struct head h;

	if (*n < sizeof(h))
		return false;
	memcpy(&h, *data, sizeof(h));
	*data += sizeof(h);
	*n -= sizeof(h);
	h.kind %= KINDS;
	part[0] = h.len;
	part[1] = h.files[0];
	part[2] = h.files[1];
	for (size_t i = 0; i < 3; i++) {
		part[i] = part[i] < *n ? part[i] : *n;
		parts[i] = *data;
		*data += part[i];
		*n -= part[i];
	}
	h.len = (uint16_t)part[0];
	fds[0] = file_of(parts[1], part[1]);
	fds[1] = file_of(parts[2], part[2]);
	rc = say(&h, parts[0], in, fds);
	close(fds[0]);
	close(fds[1]);
	check(nruns);
	return !rc;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	int in[2];

	if (s.debuginfod.cache.dir < 0)
		open_scheduler();
	begin(in);
	for (int i = 0; i < MAX_MESSAGES && take(&data, &n, in); i++)
		;
	end(in);
	return 0;
}
