/*
 * Pages of a program, as a finisher reads them: the step, the status minus 300
 * (0: 200), the length of the earlier page of all goroutines, then that page
 * and this one.
 */
#include "lib/gzip_room.h"
#include "profile/pprof.h"
#include "profile/summary.h"
#include "worker/analyser/pull_read.h"

#include <assert.h>
#include <string.h>

#define MAX_VIEW ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct head {
	uint8_t step, refused;
	uint16_t all_n;
};

static void
use(const struct profile *p)
{
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_VIEW);
	CLEANUP_BUF struct buf top = BUF_INIT(MAX_VIEW);
	CLEANUP_TREE struct tree *t = NULL;
	uint32_t type = profile_type_index(p, NULL);

	assert(type != PROFILE_NONE);
	(void)profile_total(p, type);
	if (!tree_new(p, type, &t))
		(void)!summary_top(t, SUMMARY_FUNCTIONS, &top);
	assert(!pprof_encode(p, &file));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	struct pull_answer a = {0};
	struct quality q;
	struct head head;

	if (n < sizeof(head))
		return 0;
	gzip_room_keep();
	memcpy(&head, data, sizeof(head));
	a.step = (enum pull_step)(head.step % PULL_STEPS);
	a.status = head.refused ? 300u + head.refused : 200;
	a.all = data + sizeof(head);
	a.all_n = n - sizeof(head);
	if (a.all_n > head.all_n)
		a.all_n = head.all_n;
	a.p = data + sizeof(head) + a.all_n;
	a.n = n - sizeof(head) - a.all_n;
	if (pull_read(&a, &p, &q))
		assert(!p);
	else
		use(p);
	return 0;
}
