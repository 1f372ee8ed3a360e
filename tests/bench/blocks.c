/*
 * Sends the contents of one host's store to a centre, as blocks, without a
 * network: the minutes of MINUTES_DAYS days, and the hours and days of 30 days.
 *
 * 	blocks HOST_DIR HOST CONF TENANT END_MS MINUTES_DAYS STORE NAME...
 *
 * END_MS is the end of an hour. The centre is that of a stoker.conf; it keeps
 * the bytes in STORE (file, db or s3), once for each NAME, as if the host of
 * that name had sent them. Prints the number of blocks stored, and their size.
 */
#include "lib/store.h"

#include "base/clock.h"
#include "base/conf.h"
#include "store/block.h"
#include "store/s3.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HOUR_MS (INT64_C(3600) * MS_PER_S)
#define DAY_MS  (24 * HOUR_MS)

struct bench {
	struct store host, centre;
	const char *tenant;
	char **names;
	int n;
	int64_t blocks, bytes;
};

static void
must(int rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "blocks: %s: %s\n", what, strerror(-rc));
	exit(1);
}

static void
accept_block(struct bench *b, const struct buf *bytes)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BLOCK struct block of = {0};
	int64_t cursor_ms;

	must(block_decode(bytes->p, bytes->len, &of, &why), buf_str(&why));
	for (int i = 0; i < b->n; i++) {
		must(block_accept(&b->centre, b->names[i], &of, bytes->p,
		                  bytes->len, &cursor_ms),
		     b->names[i]);
		b->blocks++;
		b->bytes += (int64_t)bytes->len;
	}
}

/* Sends blocks of a tier, each of step_ms, up to a time. */
static void
send_tier(struct bench *b, enum block_tier tier, int64_t from_ms, int64_t to_ms,
          int64_t step_ms)
{
	for (int64_t ms = from_ms; ms < to_ms; ms += step_ms) {
		CLEANUP_BUF struct buf bytes = BUF_INIT(BLOCK_MAX_BYTES);
		int64_t end = ms + step_ms < to_ms ? ms + step_ms : to_ms;
		int rc = block_of_windows(&b->host, b->tenant, tier, ms, end,
		                          &bytes);

		if (rc == -ENODATA)
			continue;
		must(rc, "a block");
		accept_block(b, &bytes);
	}
}

static void
open_store(const char *path, struct conf *conf, struct store *out)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	must(conf_load(path, conf, &why), buf_str(&why));
	must(store_open(conf, false, out, &why), buf_str(&why));
}

int
main(int argc, char **argv)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct bench b = {0};
	struct conf own, conf;
	int64_t end, day;

	if (argc < 9) {
		fputs("usage: blocks HOST_DIR HOST CONF TENANT END_MS "
		      "MINUTES_DAYS STORE NAME...\n",
		      stderr);
		return 2;
	}
	own = test_conf(argv[1]);
	must(store_open(&own, true, &b.host, &why), buf_str(&why));
	snprintf(b.host.host, sizeof(b.host.host), "%s", argv[2]);
	open_store(argv[3], &conf, &b.centre);
	must(bytes_configure(&b.centre, &conf, &why), buf_str(&why));
	b.tenant = argv[4];
	end = atoll(argv[5]) / HOUR_MS * HOUR_MS;
	day = end / DAY_MS * DAY_MS;
	b.centre.bytes = argv[7];
	b.names = argv + 8;
	b.n = argc - 8;
	send_tier(&b, BLOCK_MINUTES, end - atoll(argv[6]) * DAY_MS, end,
	          HOUR_MS);
	send_tier(&b, BLOCK_HOURS, day - 30 * DAY_MS, end, DAY_MS);
	send_tier(&b, BLOCK_DAYS, day - 30 * DAY_MS, day, DAY_MS);
	store_close(&b.centre);
	store_close(&b.host);
	printf("%lld %lld\n", (long long)b.blocks, (long long)b.bytes);
	return 0;
}
