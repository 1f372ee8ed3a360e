/*
 * Contexts that processes publish: found in their maps, read while they change,
 * and parsed.
 */
#include "worker/contexts/context.h"

#include "lib/memory_image.h"
#include "lib/test.h"
#include "profile/stored/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- mappings ------------------------------------------------------------- */

#define LINE(name) "7f00-7f40 rw-p 00000000 00:01 5   " name "\n"

static const struct {
	const char *maps;
	size_t found;
} named[] = {
	{LINE("/memfd:OTEL_CTX (deleted)"), 1},
	{LINE("/memfd:OTEL_CTX"), 1},
	{LINE("[anon_shmem:OTEL_CTX]"), 1},
	{"7f00-7f40 rw-p 00000000 00:00 0 [anon:OTEL_CTX]\n", 1},
	{LINE("/tmp/memfd:OTEL_CTX"), 0},
	{LINE("/memfd:OTEL_CTX2 (deleted)"), 0},
	{LINE("[anon:OTEL_CTX] "), 0},
	{"7f00-7f40 rw-p 00000000 00:00 0\n", 0},
	{"7f00-7f40 rw-p 00000000 00:00 0 [anon:OTEL_CTX]", 0}, /* cut off */
	{"\n\n", 0},
	{"", 0},
	{LINE("[heap]") LINE("[anon:OTEL_CTX]") LINE("[stack]"), 1},
};

TEST(a_context_is_found_by_the_name_of_its_mapping)
{
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		uint64_t at[PUBLISHED_MAX_NAMED] = {0};
		size_t n = published_find(named[i].maps, strlen(named[i].maps),
		                          at);

		ck_assert_msg(n == named[i].found, "row %zu: %zu", i, n);
		ck_assert_msg(!n || at[0] == 0x7f00, "row %zu", i);
	}
}
END

TEST(of_many_mappings_with_the_name_some_are_looked_at)
{
	CLEANUP_BUF struct buf maps = BUF_INIT(BUF_MAX_SMALL);
	uint64_t at[PUBLISHED_MAX_NAMED];

	for (int i = 0; i < 20; i++)
		buf_puts(&maps, LINE("[anon:OTEL_CTX]"));
	ck_assert_uint_eq(published_find(maps.p, maps.len, at),
	                  PUBLISHED_MAX_NAMED);
}
END

/* --- the encoded context -------------------------------------------------- */

static void
put_attribute(struct buf *out, uint32_t number, const char *key,
              const char *value)
{
	size_t attribute = wire_open(out, number), any;

	wire_put_bytes(out, 1, key, strlen(key));
	any = wire_open(out, 2);
	wire_put_bytes(out, 1, value, strlen(value));
	wire_close(out, any);
	wire_close(out, attribute);
}

static void
put_context(struct buf *out, const char *service)
{
	size_t resource = wire_open(out, 1);

	put_attribute(out, 1, "service.instance.id", "7");
	put_attribute(out, 1, "service.name", service);
	put_attribute(out, 1, "service.name", "a second one");
	put_attribute(out, 1, "service.version", "1.4\n"); /* no label */
	wire_close(out, resource);
	put_attribute(out, 2, "deployment.environment.name", "prod");
}

TEST(attributes_that_are_labels_are_kept)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP(context_done) struct context c = {0};

	put_context(&text, "checkout");
	ck_assert_int_eq(context_parse(text.p, text.len, &c), 0);
	ck_assert_str_eq(c.texts[CONTEXT_SERVICE], "checkout");
	ck_assert_str_eq(c.texts[CONTEXT_ENVIRONMENT], "prod");
	ck_assert_ptr_null(c.texts[CONTEXT_VERSION]);
	ck_assert_ptr_null(c.texts[CONTEXT_HOST_NAME]);
}
END

TEST(texts_up_to_the_limit_of_labels_are_kept)
{
	for (size_t n = 254; n <= 256; n++) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP(context_done) struct context c = {0};
		char name[512] = "";

		memset(name, 'x', n);
		put_context(&text, name);
		ck_assert_int_eq(context_parse(text.p, text.len, &c), 0);
		ck_assert_str_eq(c.texts[CONTEXT_SERVICE],
		                 n < 256 ? name : "a second one");
	}
}
END

TEST(each_byte_of_a_context_may_be_any)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	put_context(&text, "checkout");
	for (size_t i = 0; i < text.len; i++)
		for (unsigned v = 0; v < 256; v++) {
			CLEANUP(context_done) struct context c = {0};
			char before = text.p[i];
			int rc;

			text.p[i] = (char)v;
			rc = context_parse(text.p, text.len, &c);
			ck_assert(!rc || rc == -EBADMSG);
			text.p[i] = before;
		}
}
END

/* --- reading -------------------------------------------------------------- */

#define BASE    UINT64_C(0x7f0000000000)
#define PAYLOAD 64

/* A process with a context at BASE. */
static struct {
	uint8_t bytes[PUBLISHED_MAX_BYTES + 4096];
	struct memory_image image;
	struct host under, host;
	int reads;   /* of memory */
	int changes; /* reads during which the context changes */
} p;

static void
put(size_t at, uint64_t value, size_t n)
{
	memcpy(p.bytes + at, &value, n);
}

static void
publish(uint64_t published_ns, const char *service)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	put_context(&text, service);
	memcpy(p.bytes, "OTEL_CTX", 8);
	put(8, 2, 4);
	put(12, text.len, 4);
	put(16, published_ns, 8);
	put(24, BASE + PAYLOAD, 8);
	memcpy(p.bytes + PAYLOAD, text.p, text.len);
}

static int
ask(void *arg, const struct host_ask *a, struct host_reply *reply,
    int fds[HOST_MAX_FDS], size_t *nfds)
{
	char maps[128];
	int n;

	(void)arg;
	if (a->op != HOST_MAPS) {
		p.reads++;
		if (p.changes) {
			p.changes--;
			put(16, 1000 + (uint64_t)p.changes, 8);
		}
		return p.under.ask(p.under.arg, a, reply, fds, nfds);
	}
	memset(reply, 0, sizeof(*reply));
	n = snprintf(maps, sizeof(maps),
	             "%llx-%llx rw-s 00000000 00:01 5 /memfd:OTEL_CTX "
	             "(deleted)\n",
	             (unsigned long long)BASE,
	             (unsigned long long)(BASE + sizeof(p.bytes)));
	fds[0] = memfd_create("maps", MFD_CLOEXEC);
	ck_assert_int_eq(write(fds[0], maps, (size_t)n), n);
	*nfds = 1;
	return 0;
}

static struct memory
begin(void)
{
	memset(&p, 0, sizeof(p));
	p.image = (struct memory_image){BASE, p.bytes, sizeof(p.bytes)};
	p.under = memory_image_host(&p.image);
	p.host = (struct host){.ask = ask};
	publish(1, "checkout");
	return (struct memory){.host = &p.host, .pid = 1};
}

TEST(a_context_is_read_and_read_again_when_it_changes)
{
	CLEANUP(context_done) struct context c = {0};
	const struct memory m = begin();

	ck_assert_int_eq(context_read(&m, &c), 0);
	ck_assert_str_eq(c.texts[CONTEXT_SERVICE], "checkout");
	p.reads = 0;
	ck_assert_int_eq(context_read(&m, &c), 0);
	ck_assert_int_eq(p.reads, 1);
	publish(2, "basket");
	ck_assert_int_eq(context_read(&m, &c), 0);
	ck_assert_str_eq(c.texts[CONTEXT_SERVICE], "basket");
	put(0, 0, 8); /* withdrawn */
	ck_assert_int_eq(context_read(&m, &c), -ENOENT);
	ck_assert_uint_eq(c.at.address, 0);
	ck_assert_ptr_null(c.texts[CONTEXT_SERVICE]);
}
END

/* A wrong field of the header, and the result of reading. */
static const struct {
	size_t at, n;
	uint64_t value;
	int rc;
} wrong[] = {
	{0, 8, 0, -ENOENT}, /* signature */
	{8, 4, 1, -ENOENT}, /* version */
	{8, 4, 3, -ENOENT},
	{12, 4, PUBLISHED_MAX_BYTES, -EBADMSG}, /* size: zeros follow */
	{12, 4, PUBLISHED_MAX_BYTES + 1, -E2BIG},
	{12, 4, 100 << 20, -E2BIG},
	{12, 4, UINT32_MAX, -E2BIG},
	{12, 4, 0, 0},
	{16, 8, 0, -EAGAIN}, /* being written */
	{24, 8, 0, -EFAULT}, /* payload */
	{24, 8, UINT64_MAX - 8, -EFAULT},
	{24, 8, BASE + PUBLISHED_MAX_BYTES + 4090, -EFAULT},
	{24, 8, BASE, -EBADMSG}, /* the header itself */
};

TEST(a_context_that_lies_is_none)
{
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		CLEANUP(context_done) struct context c = {0};
		const struct memory m = begin();
		int rc;

		put(wrong[i].at, wrong[i].value, wrong[i].n);
		rc = context_read(&m, &c);
		ck_assert_msg(rc == wrong[i].rc, "row %zu: %d", i, rc);
		ck_assert_ptr_null(c.texts[CONTEXT_SERVICE]);
	}
}
END

TEST(a_context_that_changes_at_each_read_is_left_after_some_tries)
{
	CLEANUP(context_done) struct context c = {0};
	const struct memory m = begin();

	p.changes = 1000;
	ck_assert_int_eq(context_read(&m, &c), -EAGAIN);
	ck_assert_int_le(p.reads, 3 * PUBLISHED_TRIES);
	p.changes = 2; /* it comes to rest */
	ck_assert_int_eq(context_read(&m, &c), 0);
	ck_assert_str_eq(c.texts[CONTEXT_SERVICE], "checkout");
}
END

SUITE("context");
