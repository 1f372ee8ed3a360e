#include "lib/imported.h"
#include "lib/test.h"
#include "profile/import.h"

#include <elf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>

#define TYPE                                                         \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
	 PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)
#define KERNEL    UINT64_C(0xffffffff81000000)
#define PROGRAM   UINT64_C(0x555555554000) /* where it is mapped, at 0x1000 */
#define IN(a)     (PROGRAM + (a))
#define USER      ((uint64_t)PERF_CONTEXT_USER)
#define IN_KERNEL ((uint64_t)PERF_CONTEXT_KERNEL)
#define CLOCK     "perfdata cpu samples/count cpu/nanoseconds\n"

/* The parts of a file that is being made. */
struct making {
	struct buf attrs, data;
	uint32_t nattrs;
	uint64_t type;
};

#define MAKING                                                            \
	{                                                                 \
		BUF_INIT(BUF_MAX_REPLY), BUF_INIT(BUF_MAX_REPLY), 0, TYPE \
	}

static void
making_done(struct making *m)
{
	buf_done(&m->attrs);
	buf_done(&m->data);
}

static void
put(struct buf *b, const void *p, size_t n)
{
	buf_add(b, p, n);
}

static void
put32(struct buf *b, uint32_t v)
{
	put(b, &v, sizeof(v));
}

static void
put64(struct buf *b, uint64_t v)
{
	put(b, &v, sizeof(v));
}

static void
put_text(struct buf *b, const char *text)
{
	put(b, text, strlen(text) + 1);
	while (b->len % 8)
		buf_putc(b, '\0');
}

static size_t
begin(struct buf *b, uint32_t type, uint16_t misc)
{
	size_t at = b->len;

	put(b, &(struct perf_event_header){type, misc, 0},
	    sizeof(struct perf_event_header));
	return at;
}

static void
end(struct buf *b, size_t at)
{
	uint16_t size = (uint16_t)(b->len - at);

	memcpy(b->p + at + 6, &size, sizeof(size));
}

/* Puts the sample id that ends other records. */
static void
put_trailer(struct making *m, uint32_t pid, uint64_t time_ns)
{
	put32(&m->data, pid);
	put32(&m->data, pid);
	put64(&m->data, time_ns);
	put64(&m->data, 1); /* id */
}

static struct perf_event_attr
attr_of(const struct making *m, uint32_t type, uint64_t config)
{
	return (struct perf_event_attr){.type = type,
	                                .size = sizeof(struct perf_event_attr),
	                                .config = config,
	                                .sample_type = m->type,
	                                .sample_id_all = 1};
}

/* Adds an event, whose id is its number from 1. */
static void
add_event(struct making *m, const struct perf_event_attr *a)
{
	put(&m->attrs, a, sizeof(*a));
	m->nattrs++;
}

static void
add_clock(struct making *m)
{
	struct perf_event_attr a =
		attr_of(m, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);

	add_event(m, &a);
}

static void
add_map(struct making *m, uint32_t pid, uint64_t time_ns, uint64_t start,
        uint64_t n, uint64_t offset, const char *path)
{
	bool kernel = pid == UINT32_MAX;
	size_t at =
		begin(&m->data, kernel ? PERF_RECORD_MMAP : PERF_RECORD_MMAP2,
	              kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);

	put32(&m->data, pid);
	put32(&m->data, pid);
	put64(&m->data, start);
	put64(&m->data, n);
	put64(&m->data, offset);
	for (int i = 0; i < 3 && !kernel; i++)
		put64(&m->data, 0); /* device, inode */
	if (!kernel) {
		put32(&m->data, PROT_READ | PROT_EXEC);
		put32(&m->data, MAP_PRIVATE);
	}
	put_text(&m->data, path);
	put_trailer(m, pid, time_ns);
	end(&m->data, at);
}

static void
add_comm(struct making *m, uint32_t pid, uint64_t time_ns, bool exec,
         const char *name)
{
	size_t at = begin(&m->data, PERF_RECORD_COMM,
	                  exec ? PERF_RECORD_MISC_COMM_EXEC : 0);

	put32(&m->data, pid);
	put32(&m->data, pid);
	put_text(&m->data, name);
	put_trailer(m, pid, time_ns);
	end(&m->data, at);
}

static void
add_fork(struct making *m, uint32_t pid, uint32_t parent, uint64_t time_ns)
{
	size_t at = begin(&m->data, PERF_RECORD_FORK, 0);

	put32(&m->data, pid);
	put32(&m->data, parent);
	put32(&m->data, pid);
	put32(&m->data, parent);
	put64(&m->data, time_ns);
	put_trailer(m, pid, time_ns);
	end(&m->data, at);
}

static size_t
begin_sample(struct making *m, uint64_t id, uint32_t pid, uint64_t time_ns,
             uint64_t period, const uint64_t *chain, size_t n)
{
	size_t at = begin(&m->data, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

	put64(&m->data, id);
	put64(&m->data, n > 1 ? chain[1] : 0);
	put32(&m->data, pid);
	put32(&m->data, pid);
	put64(&m->data, time_ns);
	put64(&m->data, period);
	put64(&m->data, n);
	put(&m->data, chain, 8 * n);
	return at;
}

#define CHAIN(...)                       \
	(const uint64_t[]){__VA_ARGS__}, \
		sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)

static void
add_sample(struct making *m, uint64_t id, uint32_t pid, uint64_t time_ns,
           uint64_t period, const uint64_t *chain, size_t n)
{
	end(&m->data, begin_sample(m, id, pid, time_ns, period, chain, n));
}

/* Adds a program of one process, whose kernel part is known. */
static void
add_program(struct making *m)
{
	add_map(m, UINT32_MAX, 0, KERNEL, 1 << 24, KERNEL,
	        "[kernel.kallsyms]_text");
	add_comm(m, 7, 0, true, "work");
	add_map(m, 7, 0, PROGRAM, 0x3000, 0x1000, "/bin/work");
}

/* Writes a file in the form that has a header. */
static void
write_file(const struct making *m, struct buf *out)
{
	const size_t each = sizeof(struct perf_event_attr), head = 104;
	const size_t ids = head, attrs = ids + 8 * m->nattrs;
	const size_t data = attrs + m->nattrs * (each + 16);

	buf_puts(out, "PERFILE2");
	put64(out, head);
	put64(out, each + 16);
	put64(out, attrs);
	put64(out, m->nattrs * (each + 16));
	put64(out, data);
	put64(out, m->data.len);
	for (int i = 0; i < 6; i++)
		put64(out, 0); /* kinds of events, features */
	for (uint32_t i = 0; i < m->nattrs; i++)
		put64(out, i + 1);
	for (uint32_t i = 0; i < m->nattrs; i++) {
		put(out, m->attrs.p + i * each, each);
		put64(out, ids + 8 * i);
		put64(out, 8);
	}
	put(out, m->data.p, m->data.len);
}

/* Writes the header and the events of a file that goes through a pipe. */
static void
write_pipe_head(const struct making *m, struct buf *out)
{
	const size_t each = sizeof(struct perf_event_attr);

	buf_puts(out, "PERFILE2");
	put64(out, 16);
	for (uint32_t i = 0; i < m->nattrs; i++) {
		size_t at = begin(out, 64, 0);

		put(out, m->attrs.p + i * each, each);
		put64(out, i + 1);
		end(out, at);
	}
}

static void
expect_bytes(const struct buf *file, int rc, const char *want)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_REPLY);
	int r = imported("", file->p, file->len, &got);

	ck_assert_str_eq(buf_str(&got), want);
	ck_assert_int_eq(r, rc);
}

static void
expect(const struct making *m, int rc, const char *want)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY);

	write_file(m, &file);
	expect_bytes(&file, rc, want);
}

/* A caller's address is where the call returns to, so the call is one byte
 * before it. */
#define TWICE                                 \
	"work+0x1fff;work+0x1100 2 3000000\n" \
	"work+0x1fff;[kernel.kallsyms]+0xfff;[kernel.kallsyms]+0x10 1 500\n"

static void
add_samples(struct making *m)
{
	add_clock(m);
	add_program(m);
	add_sample(m, 1, 7, 10, 1000000, CHAIN(USER, IN(0x100), IN(0x1000)));
	add_sample(m, 1, 7, 20, 2000000, CHAIN(USER, IN(0x100), IN(0x1000)));
	add_sample(m, 1, 7, 30, 500,
	           CHAIN(IN_KERNEL, KERNEL + 0x10, KERNEL + 0x1000, USER,
	                 IN(0x1000)));
}

TEST(stacks_of_kernel_and_user_count_by_offset_in_their_file)
{
	CLEANUP(making_done) struct making m = MAKING;

	add_samples(&m);
	expect(&m, 0, CLOCK TWICE);
}
END

TEST(a_recording_written_to_a_pipe_reads_the_same)
{
	CLEANUP(making_done) struct making m = MAKING;
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY);

	add_samples(&m);
	write_pipe_head(&m, &file);
	put(&file, m.data.p, m.data.len);
	expect_bytes(&file, 0, CLOCK TWICE);
}
END

/* perf compresses the contents of its rings as one stream, cut anywhere. */
TEST(compressed_records_are_one_stream)
{
	CLEANUP(making_done) struct making m = MAKING;
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY);
	char packed[4096];
	size_t n, at;

	add_samples(&m);
	n = ZSTD_compress(packed, sizeof(packed), m.data.p, m.data.len, 1);
	ck_assert(!ZSTD_isError(n));
	write_pipe_head(&m, &file);
	at = begin(&file, 81, 0);
	put(&file, packed, n / 2);
	end(&file, at);
	at = begin(&file, 81, 0);
	put(&file, packed + n / 2, n - n / 2);
	end(&file, at);
	expect_bytes(&file, 0, CLOCK TWICE);
}
END

TEST(records_count_in_the_order_of_time)
{
	CLEANUP(making_done) struct making m = MAKING;

	add_clock(&m);
	add_program(&m);
	/* another CPU's block: at first the child runs its parent's code */
	add_sample(&m, 1, 8, 40, 1, CHAIN(USER, IN(0x100)));
	add_sample(&m, 1, 8, 20, 1, CHAIN(USER, IN(0x100)));
	add_fork(&m, 8, 7, 15);
	add_comm(&m, 8, 30, true, "other");
	add_map(&m, 8, 31, PROGRAM + 0x1000, 0x1000, 0, "/bin/other");
	add_map(&m, 8, 32, PROGRAM, 0x2000, 0, "/bin/third");
	add_sample(&m, 1, 7, 50, 1, CHAIN(USER, IN(0x1100)));
	expect(&m, 0,
	       CLOCK "work+0x1100 1 1\nthird+0x100 1 1\nwork+0x2100 1 1\n");
}
END

TEST(the_first_event_counts_with_its_periods_or_the_one_that_is_named)
{
	CLEANUP(making_done) struct making m = MAKING;
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	struct import_ask ask = {.type = "",
	                         .content_type = "",
	                         .event = "page-faults",
	                         .limits = {1 << 20, 4 << 20, 200, 200, 200}};
	struct perf_event_attr cycles =
		attr_of(&m, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	struct perf_event_attr faults =
		attr_of(&m, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	const struct input *format;
	const struct type *type;

	add_event(&m, &cycles);
	add_event(&m, &faults);
	add_program(&m);
	/* the first sample belongs to the second event */
	add_sample(&m, 2, 7, 5, 3, CHAIN(USER, IN(0x200)));
	add_sample(&m, 1, 7, 10, 9000000, CHAIN(USER, IN(0x100)));
	add_sample(&m, 1, 7, 30, 1000000, CHAIN(USER, IN(0x200)));
	expect(&m, 0,
	       "perfdata cpu samples/count cycles/cycles\n"
	       "work+0x1100 1 9000000\nwork+0x1200 1 1000000\n"
	       "only the event cycles is kept, without page-faults (1 sample); "
	       "the parameter event selects another\n");
	write_file(&m, &file);
	ck_assert_int_eq(profile_import(file.p, file.len, &ask, &p, &format,
	                                &type, &why),
	                 0);
	ck_assert_int_eq(profile_total(p, 1), 3);
}
END

TEST(lost_samples_are_noted)
{
	CLEANUP(making_done) struct making m = MAKING;
	size_t at;

	add_clock(&m);
	add_program(&m);
	add_sample(&m, 1, 7, 10, 5, CHAIN(USER, IN(0x100)));
	at = begin(&m.data, PERF_RECORD_LOST, 0);
	put64(&m.data, 1);
	put64(&m.data, 12);
	put_trailer(&m, 7, 11);
	end(&m.data, at);
	expect(&m, 0,
	       CLOCK "work+0x1100 1 5\nsamples that perf record lost: 12\n");
}
END

TEST(mappings_past_a_bound_are_left_out_with_a_note)
{
	CLEANUP(making_done) struct making m = MAKING;

	add_clock(&m);
	add_program(&m);
	for (uint64_t i = 0; i < 8192; i++)
		add_map(&m, 7, 1, 0x1000 * (2 * i + 1), 0x1000, 0, "/bin/jit");
	add_sample(&m, 1, 7, 10, 5, CHAIN(USER, IN(0x100)));
	expect(&m, 0,
	       CLOCK "work+0x1100 1 5\nmappings of processes that "
	             "have more than 8192, left out: 1\n");
}
END

static void
expect_refusal(const struct buf *file, const char *why)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_lt(imported("", file->p, file->len, &got), 0);
	ck_assert_msg(strstr(buf_str(&got), why), "%s", buf_str(&got));
}

TEST(other_kinds_of_recordings_are_refused_by_what_they_are)
{
	static const struct {
		uint32_t record, word;
		const char *why;
	} rows[] = {
		{70, 1, "Intel PT"},
		{70, 4, "ARM SPE"},
		{70, 99, "with a trace:"},
		{76, 0, "`perf stat`"},
	};
	CLEANUP_BUF struct buf lbr = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP(making_done) struct making of_lbr = MAKING;
	struct perf_event_attr a;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY);
		CLEANUP(making_done) struct making m = MAKING;
		size_t at = begin(&m.data, rows[i].record, 0);

		put64(&m.data, rows[i].word);
		end(&m.data, at);
		add_clock(&m);
		write_file(&m, &file);
		expect_refusal(&file, rows[i].why);
	}
	of_lbr.type |= PERF_SAMPLE_BRANCH_STACK;
	a = attr_of(&of_lbr, PERF_TYPE_HARDWARE, 0);
	a.branch_sample_type = PERF_SAMPLE_BRANCH_CALL_STACK;
	add_event(&of_lbr, &a);
	write_file(&of_lbr, &lbr);
	expect_refusal(&lbr, "--call-graph lbr: upload what `perf script`");
}
END

#define SP 7
#define IP 8

/* Adds a sample whose user stack is a copy of memory. */
static void
add_copied(struct making *m)
{
	struct perf_event_attr a;
	size_t at;

	m->type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	a = attr_of(m, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	a.sample_regs_user = 1 << SP | 1 << IP;
	add_event(m, &a);
	add_program(m);
	at = begin_sample(m, 1, 7, 10, 9, CHAIN(IN_KERNEL, KERNEL + 0x10));
	put64(&m->data, PERF_SAMPLE_REGS_ABI_64);
	put64(&m->data, 0x7fff0000);
	put64(&m->data, IN(0x100));
	put64(&m->data, 16);
	put64(&m->data, IN(0x200));
	put64(&m->data, 0);
	put64(&m->data, 8); /* bytes of it that were filled */
	end(&m->data, at);
}

TEST(copied_stacks_need_the_programs)
{
	CLEANUP(making_done) struct making m = MAKING;
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY);

	add_copied(&m);
	write_file(&m, &file);
	expect_refusal(&file, "--call-graph dwarf: ");
}
END

static size_t
unwind_two(void *arg, const struct import_stack *s, uint64_t *pcs, size_t max)
{
	struct import_code code;

	ck_assert_uint_ge(max, 2);
	ck_assert_uint_eq(s->n, 8);
	ck_assert_uint_eq(s->regs[SP], 0x7fff0000);
	ck_assert(s->find(s->arg, s->regs[IP], &code));
	ck_assert_uint_eq(code.start, PROGRAM);
	ck_assert_uint_eq(code.offset, 0x1000);
	ck_assert_str_eq(code.path, "/bin/work");
	ck_assert(!s->find(s->arg, 1, &code));
	pcs[0] = s->regs[IP];
	memcpy(&pcs[1], s->bytes, sizeof(pcs[1]));
	++*(int *)arg;
	return 2;
}

TEST(an_unwinder_finds_the_frames_of_copied_stacks)
{
	int calls = 0;
	const struct import_unwinder unwinder = {unwind_two, &calls};
	const struct import_ask ask = {
		.type = "",
		.content_type = "",
		.unwinder = &unwinder,
		.limits = {1 << 20, 4 << 20, 200, 200, 200}};
	CLEANUP(making_done) struct making m = MAKING;
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	const uint64_t want[] = {0x10, 0x1100, 0x11ff};
	const struct input *format;
	const struct type *type;

	add_copied(&m);
	write_file(&m, &file);
	ck_assert_int_eq(profile_import(file.p, file.len, &ask, &p, &format,
	                                &type, &why),
	                 0);
	ck_assert_int_eq(calls, 1);
	ck_assert_uint_eq(p->samples[0].nstack, ARRAY_LEN(want));
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		ck_assert_uint_eq(p->locations[p->stack[i]].address, want[i]);
}
END

TEST(a_recording_that_is_cut_anywhere_is_read_up_to_there_or_refused)
{
	CLEANUP(making_done) struct making m = MAKING;
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY);
	size_t whole;

	add_samples(&m);
	write_file(&m, &file);
	whole = file.len;
	for (size_t n = 8; n < whole; n++) {
		CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_FREE char *cut = malloc(n);

		memcpy(cut, file.p, n);
		if (!imported("", cut, n, &got))
			ck_assert_msg(strstr(buf_str(&got), "did not end"),
			              "%zu: %s", n, buf_str(&got));
		else if (strstr(buf_str(&got), "did not end"))
			ck_assert_ptr_nonnull(
				strstr(buf_str(&got), "without a sample"));
	}
}
END

SUITE("import_perf_data");
