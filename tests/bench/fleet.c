/*
 * Costs of a host of a fleet to its centre: blocks of a minute of ten services,
 * 30 KB, and polls that have nothing to tell, one after the other, by FastCGI.
 *
 *	[STOKER_TEST_DB=postgresql://...] [SECONDS_EACH=5] fleet
 *
 * Prints for each: name, milliseconds (median), number for each second of CPU
 * time of the API's processes.
 */
#include "base/clock.h"
#include "lib/api.h"
#include "lib/random.h"
#include "store/files/digest.h"
#include "store/windows/block_private.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOSTS     20
#define SERVICES  10
#define BYTES     3000 /* of a window */
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

/* A block of one minute, as block_of_windows() makes it. */
static void
make_block(struct bench *b, int64_t minute, struct buf *out)
{
	CLEANUP_BUF struct buf entries = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf texts = BUF_INIT(BUF_MAX_SMALL);
	uint64_t start = (uint64_t)(T0 + minute * MINUTE_MS);
	uint64_t end = start + (uint64_t)MINUTE_MS;
	struct block_end e = {
		htole32(BLOCK_FRESH),
		htole32(SERVICES),
		htole32(SERVICES),
		0,
		htole64(start),
		htole64(end),
		0,
		BLOCK_MAGIC,
	};

	buf_clear(out);
	buf_add(&texts, TEST_TENANT, sizeof(TEST_TENANT));
	for (int i = 0; i < SERVICES; i++) {
		uint64_t bytes[BYTES / 8];
		char checksum[WINDOW_CHECKSUM];
		const uint64_t numbers[BLOCK_NUMBERS] = {
			start,   end,      (uint64_t)MINUTE_MS, 6, 1000,
			1000000, out->len, sizeof(bytes)};
		struct block_entry_bytes entry;

		for (size_t k = 0; k < ARRAY_LEN(bytes); k++)
			bytes[k] = random_next(&b->random);
		ck_assert_int_eq(digest(bytes, sizeof(bytes), checksum), 0);
		for (size_t k = 0; k < BLOCK_NUMBERS; k++)
			entry.numbers[k] = htole64(numbers[k]);
		ck_assert_int_eq(hex_decode(checksum, entry.digest,
		                            sizeof(entry.digest)),
		                 0);
		buf_add(out, bytes, sizeof(bytes));
		buf_add(&entries, &entry, sizeof(entry));
		buf_addf(&texts, "bench%d%ccpu%c{}%c1%c", i, 0, 0, 0, 0);
	}
	e.texts = htole32((uint32_t)texts.len);
	e.entries = htole64(out->len);
	buf_add(out, entries.p, entries.len);
	buf_add(out, texts.p, texts.len);
	buf_add(out, &e, sizeof(e));
}

/* CPU time of the API's processes so far. */
static double
cpu_s(const struct bench *b)
{
	double ticks = 0;

	for (int i = 0; i < b->api.n; i++) {
		char path[64];
		unsigned long user = 0, system = 0;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/stat",
		         (int)b->api.pids[i]);
		f = fopen(path, "r");
		ck_assert_ptr_nonnull(f);
		ck_assert_int_eq(fscanf(f,
		                        "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d "
		                        "%*u %*u %*u %*u %*u %lu %lu",
		                        &user, &system),
		                 2);
		fclose(f);
		ticks += (double)user + (double)system;
	}
	return ticks / (double)sysconf(_SC_CLK_TCK);
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
	       (double)b->n / (cpu_s(b) - cpu), b->n);
	b->n = 0;
}

static void
send_blocks(struct bench *b, int64_t until_ns)
{
	CLEANUP_BUF struct buf block = BUF_INIT(BLOCK_MAX_BYTES);
	double cpu = cpu_s(b);

	for (int64_t m = 0; clock_mono_ns() < until_ns; m++) {
		make_block(b, m, &block);
		for (int h = 0; h < HOSTS && b->n < MOST; h++)
			ask_once(b, (struct ask){
					    .bearer = b->keys[h],
					    .method = "POST",
					    .path = "/agent/block",
					    .type = "application/octet-stream",
					    .body = buf_str(&block),
					    .body_len = block.len});
	}
	tell(b, "block", cpu);
}

static void
send_polls(struct bench *b, int64_t until_ns)
{
	double cpu = cpu_s(b);

	for (int h = 0; clock_mono_ns() < until_ns && b->n < MOST; h++)
		ask_once(b, (struct ask){.bearer = b->keys[h % HOSTS],
		                         .method = "POST",
		                         .path = "/agent/poll",
		                         .body = "{\"generation\":\"\"}"});
	tell(b, "poll", cpu);
}

/* The harness of the API's tests works in a test alone. */
START_TEST(measure)
{
	const char *seconds = getenv("SECONDS_EACH");
	int64_t ns = (seconds ? atoll(seconds) : 5) * NS_PER_S;
	struct bench *b = calloc(1, sizeof(*b));

	ck_assert_ptr_nonnull(b);
	b->random = 1;
	b->api = test_api(2, "");
	add_services(b);
	add_hosts(b);
	send_blocks(b, clock_mono_ns() + ns);
	send_polls(b, clock_mono_ns() + ns);
	test_api_done(&b->api);
	free(b);
}
END_TEST

Suite *
suite(void)
{
	Suite *s = suite_create("fleet");
	TCase *c = tcase_create("fleet");

	tcase_set_timeout(c, 0);
	tcase_add_test(c, measure);
	suite_add_tcase(s, c);
	return s;
}
