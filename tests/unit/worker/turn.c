/* Memory of the analyser's children: each has a share, and one at a time gets
 * more. */
#include "worker/analyser/turn.h"

#include "base/memory.h"
#include "lib/test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SILENT_MS 200

/* A child that writes a byte at each step, and lives until it is released. */
struct child {
	pid_t pid;
	int told, release;
};

static bool
may_allocate(size_t n)
{
	void *volatile p = malloc(n);

	return p != NULL;
}

static void
tell(int to, char what)
{
	if (write(to, &what, 1) != 1)
		_exit(2);
}

/* Writes 's' once it has its share, 'w' if more is refused, 'b' once it has
 * more. */
static _Noreturn void
be_child(const struct turns *t, bool big, int told, int released)
{
	char byte;

	if (turn_begin(t) || !may_allocate(MEMORY_CHILD / 2))
		_exit(1);
	tell(told, 's');
	if (big) {
		if (may_allocate(2 * MEMORY_CHILD))
			_exit(1);
		tell(told, 'w');
		if (!turn_take() || !may_allocate(2 * MEMORY_CHILD) ||
		    turn_take())
			_exit(1);
		tell(told, 'b');
	}
	_exit(read(released, &byte, 1) != 0);
}

static struct child
start(const struct turns *t, bool big)
{
	int told[2], release[2];
	struct child c;

	ck_assert_int_eq(pipe(told) | pipe(release), 0);
	c = (struct child){fork(), told[0], release[1]};
	ck_assert_int_ge(c.pid, 0);
	if (!c.pid) {
		close(release[1]);
		be_child(t, big, told[1], release[0]);
	}
	close(told[1]);
	close(release[0]);
	return c;
}

static void
expect(const struct child *c, char what)
{
	char byte = 0;

	ck_assert_int_eq(read(c->told, &byte, 1), 1);
	ck_assert_int_eq(byte, what);
}

static void
end(const struct child *c)
{
	int status;

	close(c->release);
	close(c->told);
	ck_assert_int_eq(waitpid(c->pid, &status, 0), c->pid);
	ck_assert(WIFEXITED(status) && !WEXITSTATUS(status));
}

TEST(children_that_need_much_memory_have_it_one_after_the_other)
{
	struct turns t;
	struct child first, second, small;

	ck_assert_int_eq(turns_open(&t), 0);
	first = start(&t, true);
	expect(&first, 's');
	expect(&first, 'w');
	expect(&first, 'b');
	second = start(&t, true);
	expect(&second, 's');
	expect(&second, 'w');
	small = start(&t, false); /* waits for nobody */
	expect(&small, 's');
	end(&small);
	ck_assert_int_eq(
		poll(&(struct pollfd){second.told, POLLIN, 0}, 1, SILENT_MS),
		0);
	kill(first.pid, SIGKILL); /* its turn ends with it */
	close(first.release);
	ck_assert_int_eq(waitpid(first.pid, NULL, 0), first.pid);
	expect(&second, 'b');
	end(&second);
}
END

TEST(no_turn_is_held_while_a_child_waits_for_a_capture)
{
	struct turns t;

	ck_assert(!turn_take()); /* the caller is no child of the analyser */
	ck_assert_int_eq(turns_open(&t), 0);
	ck_assert_int_eq(turn_begin(&t), 0);
	ck_assert_int_eq(turn_pause(), 0);
	ck_assert(!turn_take());
	turn_resume();
	ck_assert(turn_take());
	ck_assert_int_eq(turn_pause(), -ENOMEM);
}
END

SUITE("turn");
