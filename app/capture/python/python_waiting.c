/*
 * Lists all asyncio tasks: up to 3.13 the module _asyncio has a set of weak
 * references to them; in 3.14 each thread has a list.
 *
 *   Source   CPython 3.8 to 3.13: Modules/_asynciomodule.c, Lib/_weakrefset.py,
 *            Include/cpython/setobject.h, weakrefobject.h; 3.14.10:
 *            asyncio_tasks_head in pycore_tstate.h, struct TaskObj
 */
#include "python.h"
#include "python_object.h"

#include <errno.h>
#include <stdlib.h>

enum { TASKS_IN_314 = 880 }; /* offsets of the list in a thread's state, */
enum { NODE_IN_314 = 152 };  /* and of its node in a task */
enum { DICT_VALUES = 40 };

#define MAX_TASKS   16384 /* of a process */
#define MAX_ENTRIES 65536 /* of the set with them */

struct tasks {
	struct walk_at w; /* to read words */
	uint32_t minor, n;
	uint64_t at[MAX_TASKS];
};

/* Returns the set in a WeakSet, which is its first attribute. */
static uint64_t
set_in(const struct tasks *t, uint64_t weak_set)
{
	const struct walk_at *w = &t->w;
	uint64_t values;

	if (t->minor <= PYTHON_310)
		values = python_word(w, python_word(w, weak_set + 16) +
		                                DICT_VALUES);
	else if (t->minor == PYTHON_311)
		values = python_word(w, weak_set - 32);
	else if (t->minor == PYTHON_312)
		values = python_word(w, weak_set - 24) + 1;
	else
		values = weak_set + 24;
	return python_word(w, values);
}

/* Lists the tasks to which a set has weak references. Tasks of classes other
 * than asyncio's own are left out. */
static int
list_set(struct tasks *t, uint64_t set, uint64_t class)
{
	enum { MASK = 32, TABLE = 40, ENTRY = 16, REFERRED = 16, TYPE = 8 };
	CLEANUP_FREE uint8_t *table = NULL;
	const uint64_t n = python_word(&t->w, set + MASK) + 1;
	int rc;

	if (!n || n > MAX_ENTRIES)
		return -E2BIG;
	table = malloc(n * ENTRY);
	if (!table)
		return -ENOMEM;
	rc = memory_copy(t->w.memory, python_word(&t->w, set + TABLE), table,
	                 n * ENTRY);
	for (uint64_t i = 0; i < n && t->n < MAX_TASKS && !rc; i++) {
		uint64_t task = memory_u64(table, ENTRY * i);

		task = task ? python_word(&t->w, task + REFERRED) : 0;
		if (task && python_word(&t->w, task + TYPE) == class)
			t->at[t->n++] = task;
	}
	return rc;
}

/* Lists the tasks of a thread, in 3.14. Detects cycles as Brent does: keeps
 * the task seen at each power of two. */
static void
list_thread(struct tasks *t, uint64_t thread)
{
	const uint64_t head = thread + TASKS_IN_314;
	uint64_t at = python_word(&t->w, head), met = 0;

	while (at && at != head && at != met && t->n < MAX_TASKS) {
		if (!(t->n & (t->n - 1)))
			met = at;
		t->at[t->n++] = at - NODE_IN_314;
		at = python_word(&t->w, at);
	}
}

static int
list_tasks(const struct interp_space *space, const struct interp_list *list,
           struct tasks *t)
{
	CLEANUP(interp_threads_done) struct interp_threads threads = {0};
	uint64_t set, class;
	int rc;

	if (t->minor < PYTHON_314) {
		rc = python_asyncio(space, list,
		                    t->minor <= PYTHON_311 ? "_all_tasks"
		                                           : "_scheduled_tasks",
		                    &set);
		if (!rc)
			rc = python_asyncio(space, list, "Task", &class);
		if (!rc)
			rc = list_set(t, set_in(t, set), class);
		return rc;
	}
	rc = python_attach(space, &threads);
	for (uint32_t i = 0; i < threads.n; i++)
		list_thread(t, threads.rows[i].head - list->at[PYTHON_FRAME]);
	return rc;
}

/* True for a coroutine that is neither running nor done.
 *   Source   3.8, f_stacktop; 3.10, f_state; 3.11, gi_frame_state */
static bool
is_suspended(const struct tasks *t, uint64_t coro)
{
	const struct walk_at *w = &t->w;
	const uint64_t frame = python_coro_frame(w, t->minor, coro);

	if (!coro || !frame)
		return false;
	if (t->minor <= PYTHON_39)
		return python_word(w, frame + 72);
	if (t->minor == PYTHON_310)
		return (int8_t)python_word(w, frame + 108) < 0;
	return (int8_t)(python_word(w, frame - 8) >> 24) < 0;
}

/* Follows the coroutines of a task, and of those that await it. */
static void
follow(const struct tasks *t, const struct interp_list *list, uint64_t task,
       struct interp_stack *out)
{
	const struct interp_slot slot = {.own = {0, list->own[1]}};
	struct walk_at w = {
		.memory = t->w.memory, .next = task, .kind = PYTHON_CORO};

	w.at = python_word(&w, task + python_task_of[t->minor].coro);
	w.end = python_word(&w, w.at + 8);
	out->n = 0;
	while (out->n < INTERP_MAX_FRAMES &&
	       python_task_step(&slot, &w, &out->frames[out->n]) == WALK_KEPT)
		out->n++;
}

int
python_waiting(const struct interp_space *space, interp_waiting_seen *seen,
               void *arg)
{
	CLEANUP_FREE struct tasks *t = calloc(1, sizeof(*t));
	struct interp_stack stack = {.end = INTERP_ROOT}, room;
	struct interp_list list;
	int rc = t ? python_list(space, &list) : -ENOMEM;

	if (rc || !list.own[1])
		return rc;
	t->minor = space->image->version;
	t->w.memory = space->memory;
	rc = list_tasks(space, &list, t);
	for (uint32_t i = 0; i < t->n && !rc; i++) {
		const uint64_t coro = python_task_of[t->minor].coro;

		if (!is_suspended(t, python_word(&t->w, t->at[i] + coro)))
			continue;
		follow(t, &list, t->at[i], &stack);
		rc = seen(arg, interp_arrange_tasks(&stack, &room));
	}
	return rc;
}
