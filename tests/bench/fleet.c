/*
 * Costs of a host of a fleet to its centre: blocks of a minute of ten services,
 * 30 KB, polls without news, and blocks of an hour, 1.8 MB, one after the
 * other, by FastCGI; and jobs that are claimed by the polls of 50 hosts, four
 * at a time.
 *
 *	[STOKER_TEST_DB=postgresql://...] [SECONDS_EACH=5] [API_CONF=...]
 *		[ONLY_HOURS=1] fleet
 *
 * API_CONF is put into stoker.conf. Prints for each: name, milliseconds
 * (median), number for each second of CPU time of the API's processes, and
 * count; and "claims" and their number per second.
 */
#include "base/clock.h"
#include "lib/api.h"
#include "lib/minute_block.h"
#include "store/block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOSTS     50
#define SENDERS   20 /* this many of the hosts send blocks and polls */
#define CLAIMERS  4
#define CLAIMS    20 /* jobs of a host */
#define SERVICES  10
#define MINUTE_MS INT64_C(60000)
#define T0        (20000 * 24 * 60 * MINUTE_MS)
#define MOST      200000

struct bench {
	struct test_api api;
	char keys[HOSTS][TOKEN_KEY_MAX];
	uint64_t random;
	double ms[MOST];
	size_t n;
};

static void
add_services(struct bench *b)
{
	for (int i = 0; i < SERVICES; i++) {
		CLEANUP_SERVICE struct service v = {0};
		char name[32];

		snprintf(name, sizeof(name), "bench%d", i);
		ck_assert_int_eq(service_get(&b->api.store.s, TEST_TENANT,
		                             TEST_SERVICE, &v),
		                 0);
		free(v.name);
		v.name = strdup(name);
		ck_assert_int_eq(service_add(&b->api.store.s, &v), 0);
	}
}

static void
add_hosts(struct bench *b)
{
	for (int i = 0; i < HOSTS; i++) {
		char host[32], id[ID_MAX];
		const struct token_ask ask = {
			.name = host,
			.role = TOKEN_WORKER,
			.host = host,
			.tenants = TEST_TENANT,
			.default_tenant = TEST_TENANT,
		};

		snprintf(host, sizeof(host), "host%d", i);
		ck_assert_int_eq(
			token_create(&b->api.store.s, &ask, id, b->keys[i]), 0);
	}
}

static int
by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void
ask_once(struct bench *b, struct ask q)
{
	int64_t began = clock_mono_ns();
	CLEANUP_REPLY struct client_reply r = ask(&b->api, q);

	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	b->ms[b->n++] = (double)(clock_mono_ns() - began) / NS_PER_MS;
}

static void
tell(struct bench *b, const char *name, double cpu)
{
	qsort(b->ms, b->n, sizeof(*b->ms), by_value);
	printf("%s\t%.2f\t%.0f\t%zu\n", name, b->ms[b->n / 2],
	       (double)b->n / (test_api_cpu_s(&b->api) - cpu), b->n);
	b->n = 0;
}

/* Sends blocks of one minute or of an hour. */
static void
send_blocks(struct bench *b, const char *name, int minutes, int64_t until_ns)
{
	CLEANUP_BUF struct buf block = BUF_INIT(BLOCK_MAX_BYTES);
	double cpu = test_api_cpu_s(&b->api);

	for (int64_t m = 0; clock_mono_ns() < until_ns; m++) {
		minute_block(TEST_TENANT, SERVICES, minutes,
		             T0 + m * minutes * MINUTE_MS, &b->random, &block);
		for (int h = 0; h < SENDERS && b->n < MOST; h++)
			ask_once(b, (struct ask){
					    .bearer = b->keys[h],
					    .method = "POST",
					    .path = "/agent/block",
					    .type = "application/octet-stream",
					    .body = buf_str(&block),
					    .body_len = block.len});
	}
	tell(b, name, cpu);
}

static void
send_polls(struct bench *b, int64_t until_ns)
{
	double cpu = test_api_cpu_s(&b->api);

	for (int h = 0; clock_mono_ns() < until_ns && b->n < MOST; h++)
		ask_once(b, (struct ask){.bearer = b->keys[h % SENDERS],
		                         .method = "POST",
		                         .path = "/agent/poll",
		                         .body = "{\"generation\":\"\"}"});
	tell(b, "poll", cpu);
}

static void
add_jobs(struct bench *b)
{
	for (int i = 0; i < HOSTS * CLAIMS; i++) {
		char type[24], host[32], id[ID_MAX];
		const struct session_ask ask = {
			.tenant = TEST_TENANT,
			.service = "bench0",
			.type = type,
			.origin = SESSION_CAPTURE,
			.seconds = 10,
			.rate = 99,
			.labels = "{}",
			.created_by = "bench",
		};

		snprintf(type, sizeof(type), "type%d", i / HOSTS);
		snprintf(host, sizeof(host), "host%d", i % HOSTS);
		ck_assert_int_eq(job_enqueue(&b->api.store.s, &ask, host, id),
		                 0);
	}
}

/* Each poll claims one job, and reports none. */
static void
claim_some(struct bench *b, int from)
{
	for (int i = 0; i < CLAIMS; i++)
		for (int h = from; h < HOSTS; h += CLAIMERS)
			ask_once(b, (struct ask){.bearer = b->keys[h],
			                         .method = "POST",
			                         .path = "/agent/poll",
			                         .body = "{\"room\":1}"});
}

static void
claim(struct bench *b)
{
	int64_t began;
	char left[24];

	add_jobs(b);
	began = clock_mono_ns();
	for (int i = 0; i < CLAIMERS; i++) {
		if (fork())
			continue;
		claim_some(b, i);
		_exit(0);
	}
	for (int i = 0; i < CLAIMERS; i++) {
		int status;

		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	printf("claims\t%.0f\n", (double)HOSTS * CLAIMS * NS_PER_S /
	                                 (double)(clock_mono_ns() - began));
	test_sql(&b->api.store,
	         "SELECT COUNT(*) FROM job WHERE state = 'queued'", left,
	         sizeof(left));
	ck_assert_str_eq(left, "0");
}

/* The harness of the API's tests works only inside a test. */
TEST(measure)
{
	const char *seconds = getenv("SECONDS_EACH"),
		   *conf = getenv("API_CONF");
	int64_t ns = (seconds ? atoll(seconds) : 5) * NS_PER_S;
	struct bench *b = calloc(1, sizeof(*b));

	ck_assert_ptr_nonnull(b);
	b->random = 1;
	b->api = test_api(2, conf ? conf : "");
	add_services(b);
	add_hosts(b);
	if (!getenv("ONLY_HOURS")) {
		send_blocks(b, "block", 1, clock_mono_ns() + ns);
		send_polls(b, clock_mono_ns() + ns);
		claim(b);
	}
	send_blocks(b, "hour_block", 60, clock_mono_ns() + ns);
	test_api_done(&b->api);
	free(b);
}
END

SUITE("fleet", .seconds = INT32_MAX);
