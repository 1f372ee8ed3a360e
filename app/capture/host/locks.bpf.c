/*
 * Lists the threads of the host whose memory is locked at this moment, for the
 * reader of an iterator.
 *
 *   Source   Linux Documentation/bpf/bpf_iterators.rst;
 *            kernel/locking/rwsem.c
 */
#include "locks_layout.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

const char terms[] SEC("license") = "Dual MIT/GPL";

#define OF_KERNEL __attribute__((preserve_access_index))

struct atomic_word {
	long counter;
} OF_KERNEL;
struct rw_semaphore {
	struct atomic_word count, owner;
} OF_KERNEL;
struct mm_struct {
	struct rw_semaphore mmap_lock;
} OF_KERNEL;
struct task_struct {
	struct mm_struct *mm;
	int tgid;
	struct task_struct *group_leader;
} OF_KERNEL;

#define WRITER_LOCKED 1 /* RWSEM_WRITER_LOCKED of count */

struct bpf_iter_meta {
	struct seq_file *seq;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task; /* NULL at the end */
};

SEC("iter/task")
int
stoker_locks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct locks_row row = {0};
	__u64 count;

	/* locks of real-time kernels have another form */
	if (!bpf_core_field_exists(struct rw_semaphore, count) || !task ||
	    !task->mm)
		return 0;
	/* other threads have the same memory, unless the first has ended */
	if (task->group_leader != task && task->group_leader->mm == task->mm)
		return 0;
	count = (__u64)task->mm->mmap_lock.count.counter;
	if (!count)
		return 0;
	row.mm = (__u64)task->mm;
	if (count & WRITER_LOCKED)
		row.writer = (__u64)task->mm->mmap_lock.owner.counter;
	row.pid = task->tgid;
	bpf_seq_write(ctx->meta->seq, &row, sizeof(row));
	return 0;
}
