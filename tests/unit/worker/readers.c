/* Whose questions the opener's readers refuse, after one took too long. */
#include "worker/opener/opener.h"

#include "base/clock.h"
#include "lib/test.h"

#include <errno.h>
#include <sys/wait.h>

/* The opener's readers, one process of which made a reader wait. */
static void
hold(struct opener *o, pid_t pid, uint64_t start_time)
{
	o->self = getpid();
	o->readers.held[3] = (struct reader_held){
		.of = {.pid = pid, .start_time = start_time},
		.until_ns = clock_mono_ns() + 600 * NS_PER_S,
	};
}

/* Asks what no reader answers with anything of the process; then the reader
 * ends. */
static int
ask_about(struct opener *o, pid_t pid)
{
	const struct host_ask ask = {.op = HOST_OPS, .pid = pid};
	int rc = readers_ask(o, 7, &ask, -1);

	for (size_t i = 0; i < OPENER_MAX_CLIENTS; i++)
		if (o->readers.rows[i].pid) {
			close(o->readers.rows[i].socket);
			waitpid(o->readers.rows[i].pid, NULL, 0);
		}
	return rc;
}

static const struct {
	uint64_t later; /* the start of the held process, after this one's */
	int32_t number; /* its pid, after this one's */
	int rc;
} held[] = {
	{0, 0, -ETIMEDOUT},
	{1, 0, 0}, /* it has ended, and its number is another's now */
	{0, 1, 0},
};

TEST(a_process_that_made_one_wait_is_held_and_not_the_next_of_its_number)
{
	for (size_t i = 0; i < ARRAY_LEN(held); i++) {
		struct opener *o = calloc(1, sizeof(*o));

		ck_assert_ptr_nonnull(o);
		hold(o, getpid() + held[i].number,
		     proc_start_time(getpid()) + held[i].later);
		ck_assert_msg(ask_about(o, getpid()) == held[i].rc, "row %zu",
		              i);
		free(o);
	}
}
END

SUITE("readers",
      a_process_that_made_one_wait_is_held_and_not_the_next_of_its_number)
