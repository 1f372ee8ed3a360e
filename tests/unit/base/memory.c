/* Compares the memory that the processes may need with MemoryMax= of their
 * units. */
#include "base/memory.h"

#include "base/file.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1 << 20)

/* Returns MemoryMax= of a unit of this source tree, in MiB. */
static double
limit_of(const char *unit)
{
	static const char key[] = "\nMemoryMax=";
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char path[64];
	const char *at;
	char *end;
	double n;

	snprintf(path, sizeof(path), "systemd/stoker-%s.service", unit);
	ck_assert_int_eq(file_read(AT_FDCWD, path, &text), 0);
	at = strstr(buf_str(&text), key);
	ck_assert_ptr_nonnull(at);
	n = strtod(at + strlen(key), &end);
	ck_assert_int_eq(*end, 'M');
	return n;
}

TEST(the_limit_of_each_unit_is_the_most_that_it_takes)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP(conf_done) struct conf c;

	ck_assert_int_eq(conf_load(NULL, &c, &why), 0);
	ck_assert_double_eq(memory_most_worker(&c) / MIB, limit_of("worker"));
	ck_assert_double_eq(memory_most_keeper(&c) / MIB, limit_of("keeper"));
	/* the limit leaves room for one more process */
	ck_assert_double_le(memory_most_api(&c) / MIB, limit_of("api"));
	ck_assert_double_ge(memory_most_api(&c) / MIB, limit_of("api") - 128);
}
END

static bool
may_allocate(size_t n)
{
	void *volatile p = malloc(n);

	return p != NULL;
}

TEST(memory_past_the_limit_is_refused_until_the_limit_is_gone)
{
	ck_assert_int_eq(memory_bound(16 * MIB), 0);
	ck_assert(may_allocate(8 * MIB));
	ck_assert(!may_allocate(16 * MIB));
	ck_assert_int_eq(memory_unbound(), 0);
	ck_assert(may_allocate(16 * MIB));
	ck_assert_int_eq(memory_bound_by(-1, MIB), -EBADF);
}
END

SUITE("memory");
