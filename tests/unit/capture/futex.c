/*
 * Distinguishes waits for a lock from other waits in futex(2), by their stacks.
 */
#include "capture/naming/futex.h"

#include "capture/interp/interp_layout.h"
#include "lib/stacks.h"
#include "lib/test.h"

#include <string.h>

#define WAIT "1 |[futex] __futex_abstimed_wait_common "

static const uint32_t *
leaf_of(const struct profile *p)
{
	return &p->stack[p->samples[0].stack0];
}

static struct futex_wait
wait_of(struct profile *p, const char *file)
{
	ck_assert_int_eq(profile_cstring(p, file, &p->mappings[0].file), 0);
	return futex_wait_of(p, leaf_of(p), p->samples[0].nstack);
}

TEST(locks_are_known_by_their_functions)
{
	static const struct {
		const char *stack, *reason;
		bool lock;
	} rows[] = {
		{WAIT "f main", "futex", false},
		{WAIT "pthread_cond_wait f main", "condition variable", false},
		{WAIT "sem_clockwait f main", "semaphore", false},
		{WAIT "__pthread_rwlock_rdlock_full64 pthread_rwlock_rdlock f",
	         "read-write lock", true},
		{WAIT "__pthread_mutex_cond_lock pthread_cond_wait f", "mutex",
	         true},
		{WAIT "pthread_cond_wait os::PlatformEvent::park "
	              "ObjectMonitor::EnterI ObjectMonitor::enter f",
	         "monitor", true},
		{WAIT "pthread_cond_wait os::PlatformEvent::park "
	              "ObjectMonitor::wait f",
	         "condition variable", false},
		{WAIT "<std::sys::sync::rwlock::futex::RwLock>::read_contended",
	         "read-write lock", true},
		{WAIT "std::sys::unix::locks::futex_rwlock::RwLock::write f",
	         "read-write lock", true},
		{WAIT "pthread_cond_timedwait take_gil PyEval_RestoreThread f",
	         "GIL", true},
		{WAIT "sem_clockwait PyThread_acquire_lock_timed acquire_timed "
	              "lock_PyThread_acquire_lock cfunction_call checkout",
	         "lock", true},
		{WAIT
	         "sem_clockwait PyThread_acquire_lock_timed python3.11+0x1 "
	         "python3.11+0x2 Condition.wait Queue.get work",
	         "condition variable", false},
		{WAIT "sem_wait PyThread_acquire_lock_timed python3.11+0x1 "
	              "Thread._wait_for_tstate_lock Thread.join",
	         "thread's end", false},
		{WAIT "sem_wait PyThread_acquire_lock_timed python3.11+0x1 "
	              "python3.11+0x2 _worker Thread.run",
	         "queue", false},
		{WAIT "sem_clockwait _PySemaphore_Wait _PyParkingLot_Park "
	              "python3.13+0x1 python3.13+0x2 _PyObject_MakeTpCall f",
	         "lock", true},
		{WAIT "_PySemaphore_Wait _PyParkingLot_Park python3.13+0x1 "
	              "python3.13+0x2 Condition.wait Queue.get work",
	         "condition variable", false},
		{WAIT "_PySemaphore_Wait _PyParkingLot_Park PyEvent_WaitTimed "
	              "python3.13+0x1 Thread.join",
	         "thread's end", false},
		{WAIT "_PySemaphore_Wait _PyParkingLot_Park python3.13+0x1 "
	              "python3.13+0x2 _worker Thread.run",
	         "queue", false},
		{WAIT "a b c d e pthread_rwlock_rdlock", "read-write lock",
	         true},
		{WAIT "a b c d e f pthread_rwlock_rdlock", "futex", false},
		{WAIT "PyThread_acquire_lock_timed a b c d e f g "
	              "Condition.wait",
	         "condition variable", false},
		{WAIT "PyThread_acquire_lock_timed a b c d e f g h "
	              "Condition.wait",
	         "lock", true},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_PROFILE struct profile *p = stacks_of(rows[i].stack);
		const struct futex_wait got = wait_of(p, "/srv/prog");

		ck_assert_msg(!strcmp(got.reason, rows[i].reason), "%s: %s",
		              rows[i].stack, got.reason);
		ck_assert_msg(got.lock == rows[i].lock, "%s", rows[i].stack);
	}
}
END

/* What follows the lock in a stack. */
TEST(waits_with_the_word_of_a_lock_are_told_apart_by_function)
{
	static const struct {
		const char *stack, *reason;
	} rows[] = {
		{"1 |pthread_mutex_lock f main", NULL},
		{"1 |libgomp.so.1.0.0+0x1ef10 f main", NULL},
		{"1 |syscall take_newer main", NULL},
		{"1 |syscall libtbb.so.12.8+0x22180 start_thread", "semaphore"},
		{"1 |syscall tbb::detail::r1::rml::private_worker::run",
	         "semaphore"},
		{"1 |syscall tbb::detail::r1::wait_on_address f "
	         "libtbb.so.12.8+0x22180",
	         NULL},
		{"1 |libc.so+0x1 libc.so+0x2 sem_timedwait sem_wait f",
	         "semaphore"},
		{"1 |libc.so+0x1", NULL},
		{"1 |c+0x1 c+0x2 c+0x3 c+0x4 c+0x5 c+0x6 c+0x7 sem_timedwait",
	         "semaphore"},
		{"1 |c+0x1 c+0x2 c+0x3 c+0x4 c+0x5 c+0x6 c+0x7 c+0x8 "
	         "sem_timedwait",
	         NULL},
		{"1 |syscall std::sys::unix::futex::futex_wait "
	         "std::sys_common::thread_parker::futex::Parker::park f",
	         "parked thread"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_PROFILE struct profile *p = stacks_of(rows[i].stack);
		const char *got =
			futex_word_of(p, leaf_of(p), p->samples[0].nstack);

		ck_assert_msg(!got == !rows[i].reason &&
		                      (!got || !strcmp(got, rows[i].reason)),
		              "%s: %s", rows[i].stack, got ? got : "a lock");
	}
}
END

#define PARKED WAIT "f f f pthread_cond_wait Parker::park Unsafe_Park "

TEST(locks_of_java_are_known_by_methods_with_names)
{
	static const struct {
		const char *stack;
		bool lock, hidden;
	} rows[] = {
		{PARKED "jdk.internal.misc.Unsafe.park "
	                "java.util.concurrent.locks.LockSupport.park acquire "
	                "acquire java.util.concurrent.locks.ReentrantLock.lock",
	         true, false},
		{PARKED "java.util.concurrent.locks.LockSupport.park "
	                "[anon]+0x12 [anon]+0x12 "
	                "java.util.concurrent.locks.ReentrantLock.lock",
	         true, false},
		{PARKED "Interpreter Interpreter", false, true},
		{PARKED "[anon]+0x12", false, true},
		{PARKED "LinkedBlockingQueue.take Interpreter", false, false},
		{PARKED "a b c d e f locks.ReentrantLock", true, false},
		{PARKED "a b c d e f g locks.ReentrantLock", false, false},
		{PARKED, false, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_PROFILE struct profile *p = stacks_of(rows[i].stack);
		const struct futex_wait got = wait_of(p, "/srv/prog");

		ck_assert_msg(got.lock == rows[i].lock, "row %zu", i);
		ck_assert_msg(got.hidden == rows[i].hidden, "row %zu", i);
	}
}
END

TEST(the_gil_is_known_by_who_waits)
{
	static const char timed[] = WAIT "pthread_cond_timedwait 0x12 main";
	static const char other[] = WAIT "pthread_cond_wait 0x12 main";
	static const struct {
		const char *stack;
		uint8_t interpreter;
		bool lock;
	} rows[] = {
		{timed, LANGUAGE_PYTHON + 1, true},
		{timed, LANGUAGE_RUBY + 1, false},
		{timed, 0, false},
		{other, LANGUAGE_PYTHON + 1, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_PROFILE struct profile *p = stacks_of(rows[i].stack);

		p->mappings[0].interpreter = rows[i].interpreter;
		ck_assert_msg(wait_of(p, "/srv/prog").lock == rows[i].lock,
		              "row %zu", i);
	}
}
END

TEST(a_lock_is_a_location_of_its_own)
{
	CLEANUP_PROFILE struct profile *p = stacks_of(WAIT "f main");
	const struct location *at;
	uint32_t lock, again;

	ck_assert_int_eq(futex_location(p, *leaf_of(p), "monitor", &lock), 0);
	ck_assert_int_eq(futex_location(p, *leaf_of(p), "monitor", &again), 0);
	ck_assert_uint_eq(lock, again);
	ck_assert_uint_ne(lock, *leaf_of(p));
	at = &p->locations[lock];
	ck_assert_str_eq(
		profile_text(p,
	                     p->functions[p->lines[at->line0].function].name),
		"[monitor]");
}
END

SUITE("futex");
