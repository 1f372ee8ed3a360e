#include "capture/host/record.h"
#include "capture/event.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* The end of every record except samples, with sample_id_all. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

struct sample_head {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t nchain;
};

struct task_body {
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct mmap_body {
	uint32_t pid, tid;
	uint64_t addr, len, offset;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, generation;
		};
		struct {
			uint8_t build_id_size, reserved[3];
			uint8_t build_id[RECORD_BUILD_ID];
		};
	};
	uint32_t prot, flags;
};

/* The rest of a record. */
struct bytes {
	const uint8_t *p;
	size_t n;
};

static bool
take(struct bytes *b, void *out, size_t n)
{
	if (b->n < n)
		return false;
	memcpy(out, b->p, n);
	b->p += n;
	b->n -= n;
	return true;
}

static bool
skip(struct bytes *b, size_t n, const uint8_t **at)
{
	if (b->n < n)
		return false;
	*at = b->p;
	b->p += n;
	b->n -= n;
	return true;
}

/* Takes the text that fills the rest, up to its NUL; NULL if it has none. */
static const char *
text(const struct bytes *b)
{
	return memchr(b->p, '\0', b->n) ? (const char *)b->p : NULL;
}

uint64_t
record_time(const void *p, size_t n)
{
	struct perf_event_header h;
	uint64_t time;
	size_t at;

	if (n < sizeof(h))
		return 0;
	memcpy(&h, p, sizeof(h));
	at = h.type == PERF_RECORD_SAMPLE
	             ? offsetof(struct sample_head, time)
	             : n - sizeof(struct trailer) +
	                       offsetof(struct trailer, time);
	if (n < sizeof(h) + sizeof(struct trailer))
		return 0;
	memcpy(&time, (const uint8_t *)p + at, sizeof(time));
	return time;
}

static bool
parse_regs(struct bytes *b, struct record *out)
{
	uint64_t abi, value;

	if (!take(b, &abi, sizeof(abi)))
		return false;
	out->sample.has_user = abi == PERF_SAMPLE_REGS_ABI_64;
	out->sample.is_32 = abi == PERF_SAMPLE_REGS_ABI_32;
	out->sample.no_user = abi == PERF_SAMPLE_REGS_ABI_NONE;
	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	for (unsigned i = 0; i < RECORD_REGS; i++) {
		if (!(EVENT_REGS >> i & 1))
			continue;
		if (!take(b, &value, sizeof(value)))
			return false;
		out->sample.regs[i] = value;
	}
	return true;
}

static bool
parse_stack(struct bytes *b, struct record *out)
{
	uint64_t size, filled;

	if (!take(b, &size, sizeof(size)))
		return false;
	if (!size)
		return true;
	if (size > b->n || !skip(b, size, &out->sample.stack) ||
	    !take(b, &filled, sizeof(filled)) || filled > size)
		return false;
	out->sample.stack_len = filled;
	out->sample.stack_cut = filled == size;
	return true;
}

/* Takes the bytes that a BPF program wrote, padded to a multiple of 8. */
static bool
parse_emitted(struct bytes *b, struct record *out)
{
	uint32_t size;
	const uint8_t *at;

	if (!take(b, &size, sizeof(size)) || !skip(b, size, &at) ||
	    size < sizeof(out->emitted))
		return false;
	memcpy(&out->emitted, at, sizeof(out->emitted));
	out->emitted.name[EMIT_NAME - 1] = '\0';
	out->sample.emitted = &out->emitted;
	out->sample.behind = at + sizeof(out->emitted);
	out->sample.behind_len = size - sizeof(out->emitted);
	return true;
}

static bool
parse_sample(const void *p, size_t n, bool emits, struct record *out)
{
	struct bytes b = {p, n};
	struct sample_head head;

	if (!take(&b, &head, sizeof(head)) || head.nchain > b.n / 8)
		return false;
	memset(&out->sample, 0, sizeof(out->sample));
	out->kind = RECORD_SAMPLE;
	out->pid = head.pid;
	out->tid = head.tid;
	out->time_ns = head.time;
	out->sample.ip = head.ip;
	out->sample.nchain = head.nchain;
	if (!skip(&b, head.nchain * 8, &out->sample.chain) ||
	    (emits && !parse_emitted(&b, out)) || !parse_regs(&b, out) ||
	    !parse_stack(&b, out))
		return false;
	if (!emits) {
		out->sample.behind = b.p;
		out->sample.behind_len = b.n;
	}
	return true;
}

static bool
parse_task(struct bytes *b, enum record_kind kind, struct record *out)
{
	struct task_body body;

	if (!take(b, &body, sizeof(body)))
		return false;
	out->kind = kind;
	out->pid = body.pid;
	out->tid = body.tid;
	out->fork.ppid = body.ppid;
	out->fork.ptid = body.ptid;
	return true;
}

static bool
parse_comm(struct bytes *b, uint16_t misc, struct record *out)
{
	if (!take(b, &out->pid, sizeof(out->pid)) ||
	    !take(b, &out->tid, sizeof(out->tid)))
		return false;
	out->kind = RECORD_COMM;
	out->comm.exec = misc & PERF_RECORD_MISC_COMM_EXEC;
	out->comm.name = text(b);
	return out->comm.name != NULL;
}

static void
identify(const struct mmap_body *body, uint16_t misc, struct record *out)
{
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		out->mmap.build_id_size = body->build_id_size;
		if (out->mmap.build_id_size > RECORD_BUILD_ID)
			out->mmap.build_id_size = RECORD_BUILD_ID;
		memcpy(out->mmap.build_id, body->build_id, RECORD_BUILD_ID);
		return;
	}
	out->mmap.major = body->major;
	out->mmap.minor = body->minor;
	out->mmap.inode = body->inode;
}

static bool
parse_mmap(struct bytes *b, uint16_t misc, struct record *out)
{
	struct mmap_body body;

	if (!take(b, &body, sizeof(body)))
		return false;
	memset(&out->mmap, 0, sizeof(out->mmap));
	out->kind = RECORD_MMAP;
	out->pid = body.pid;
	out->tid = body.tid;
	out->mmap.start = body.addr;
	out->mmap.len = body.len;
	out->mmap.offset = body.offset;
	out->mmap.executable = body.prot & PROT_EXEC;
	identify(&body, misc, out);
	out->mmap.path = text(b);
	return out->mmap.path && body.addr + body.len >= body.addr;
}

static bool
parse_lost(struct bytes *b, struct record *out)
{
	uint64_t id;

	out->kind = RECORD_LOST;
	return take(b, &id, sizeof(id)) &&
	       take(b, &out->lost, sizeof(out->lost));
}

static bool
parse_other(struct bytes *b, const struct perf_event_header *h,
            struct record *out)
{
	switch (h->type) {
	case PERF_RECORD_FORK:
		return parse_task(b, RECORD_FORK, out);
	case PERF_RECORD_EXIT:
		return parse_task(b, RECORD_EXIT, out);
	case PERF_RECORD_COMM:
		return parse_comm(b, h->misc, out);
	case PERF_RECORD_MMAP2:
		return parse_mmap(b, h->misc, out);
	case PERF_RECORD_LOST:
		return parse_lost(b, out);
	case PERF_RECORD_THROTTLE:
		out->kind = RECORD_THROTTLE;
		return true;
	default:
		out->kind = RECORD_OTHER;
		return true;
	}
}

int
record_parse(const void *p, size_t n, bool emits, struct record *out)
{
	struct perf_event_header h;
	struct bytes b = {p, n};

	if (!take(&b, &h, sizeof(h)))
		return -EBADMSG;
	if (h.type == PERF_RECORD_SAMPLE)
		return parse_sample(p, n, emits, out) ? 0 : -EBADMSG;
	if (b.n < sizeof(struct trailer))
		return -EBADMSG;
	b.n -= sizeof(struct trailer);
	out->pid = out->tid = 0;
	out->time_ns = record_time(p, n);
	return parse_other(&b, &h, out) ? 0 : -EBADMSG;
}
