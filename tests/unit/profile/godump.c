/* Goroutine dumps as text, in the forms of all Go releases. */
#include "profile/godump.h"
#include "lib/test.h"
#include "profile/goroutine.h"

#include <errno.h>
#include <string.h>

static const char *const thread_keys[] = {
#define SNAPSHOT_LABEL(id, key, doc) key,
#include "capture/snapshot/snapshot.def"
#undef SNAPSHOT_LABEL
};

struct parsed {
	struct profile *p;
	struct godump_seen seen;
};

static void
parsed_done(struct parsed *d)
{
	profile_free(d->p);
}
#define CLEANUP_PARSED CLEANUP(parsed_done)

static struct parsed
parse(const char *text, size_t n)
{
	CLEANUP_BUF struct buf why = BUF_INIT(1024);
	struct parsed d = {0};
	int rc = godump_parse(text, n, &d.p, &d.seen, &why);

	ck_assert_msg(rc == 0, "%s", buf_str(&why));
	return d;
}

/* Returns the text of a label of sample i; numbers in decimal; "" without
 * one. */
static const char *
label(const struct profile *p, uint32_t i, const char *key)
{
	static char number[32];
	const struct sample *s = &p->samples[i];

	for (uint32_t k = 0; k < s->nlabels; k++) {
		const struct label *l = &p->labels[s->label0 + k];

		if (strcmp(profile_text(p, l->key), key) != 0)
			continue;
		if (l->str)
			return profile_text(p, l->str);
		snprintf(number, sizeof(number), "%lld", (long long)l->num);
		return number;
	}
	return "";
}

/* Returns the functions of sample i, leaf first: "a;b", inlined ones joined by
 * "+". */
static const char *
stack(const struct profile *p, uint32_t i, struct buf *out)
{
	const struct sample *s = &p->samples[i];

	buf_clear(out);
	for (uint32_t k = 0; k < s->nstack; k++) {
		uint32_t at = p->stack[s->stack0 + k];

		if (k)
			buf_putc(out, ';');
		for (uint32_t f = 0; f < p->locations[at].nlines; f++) {
			if (f)
				buf_putc(out, '+');
			profile_frame_name(p, at, f, out);
		}
	}
	return buf_str(out);
}

/* --- headers -------------------------------------------------------------- */

static const struct {
	const char *head, *state, *reason, *raw, *goid, *minutes;
	const char *key, *value; /* one more label */
} heads[] = {
	/* 1.19 */
	{"goroutine 1 [running]:", "running", "", "running", "1", "", "", ""},
	{"goroutine 18 [chan receive, 4 minutes]:", "waiting",
         "channel receive", "chan receive", "18", "4", "", ""},
	{"goroutine 5 [chan send (nil chan)]:", "waiting",
         "channel send (nil channel)", "chan send (nil chan)", "5", "", "", ""},
	{"goroutine 2 [force gc (idle), 2 minutes]:", "waiting",
         "force gc (idle)", "force gc (idle)", "2", "2", "", ""},
	{"goroutine 3 [syscall, locked to thread]:", "syscall", "", "syscall",
         "3", "", "lockedToThread", "yes"},
	{"goroutine 6 [select (no cases)(scan)]:", "waiting",
         "select (no cases)", "select (no cases)", "6", "", "", ""},
	/* 1.21 */
	{"goroutine 7 [sync.RWMutex.RLock (scan), 1 minutes]:", "waiting",
         "read-write lock (to read)", "sync.RWMutex.RLock", "7", "1", "", ""},
	/* 1.23, GOTRACEBACK=system */
	{"goroutine 1 gp=0xc000002380 m=0 mp=0x5502 [IO wait]:", "waiting",
         "input or output", "IO wait", "1", "", "", ""},
	{"goroutine 8 gp=0xc000002380 m=nil [runnable]:", "runnable", "",
         "runnable", "8", "", "", ""},
	/* 1.24, 1.25: testing/synctest */
	{"goroutine 9 [sleep, synctest group 3]:", "waiting", "sleep", "sleep",
         "9", "", "synctest", "3"},
	{"goroutine 9 [chan receive (durable), 2 minutes, synctest bubble 4]:",
         "waiting", "channel receive", "chan receive", "9", "2", "synctest",
         "4"},
	/* 1.26 */
	{"goroutine 10 [chan send (leaked) (scan), 3 minutes]:", "waiting",
         "channel send", "chan send", "10", "3", "leaked", "yes"},
	{"goroutine 11 [select, 1 minutes labels:{\"a\": \"b, ]:\"}]:",
         "waiting", "select", "select", "11", "1", "a", "b, ]:"},
	/* 1.27 */
	{"goroutine 12 [select] {tenant: acme, x: y}:", "waiting", "select",
         "select", "12", "", "x", "y"},
	{"goroutine 13 [select] {\"a b\": \"\\\"\\u00e9}\\n\\x41\"}:",
         "waiting", "select", "select", "13", "", "a b", "\"\u00e9}\nA"},
	{"goroutine 14 [select] {state: mine}:", "waiting", "select", "select",
         "14", "", "label:state", "mine"},
	{"goroutine 15 [some new reason]:", "waiting", "some new reason",
         "some new reason", "15", "", "", ""},
	{"goroutine 16 [waiting]:", "waiting", "", "waiting", "16", "", "", ""},
};

TEST(every_release_s_header_is_understood)
{
	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(4096);
		CLEANUP_PARSED struct parsed d = {0};

		buf_addf(&text, "%s\nmain.f()\n\t/f.go:1 +0x1\n",
		         heads[i].head);
		d = parse(text.p, text.len);
		ck_assert_uint_eq(d.seen.goroutines, 1);
		ck_assert_str_eq(label(d.p, 0, "state"), heads[i].state);
		ck_assert_str_eq(label(d.p, 0, "waitReason"), heads[i].reason);
		ck_assert_str_eq(label(d.p, 0, "waitReasonRaw"), heads[i].raw);
		ck_assert_str_eq(label(d.p, 0, "goid"), heads[i].goid);
		ck_assert_str_eq(label(d.p, 0, "waitMinutes"),
		                 heads[i].minutes);
		ck_assert_str_eq(label(d.p, 0, heads[i].key), heads[i].value);
	}
}
END

TEST(what_is_no_header_is_none)
{
	static const char *const texts[] = {
		"",
		"goroutine",
		"goroutine profile: total 4\n",
		"goroutine 1 [running]\n",
		"goroutine 1 [running:\n",
		"goroutine 1 [running] x:\n",
		"goroutine 1 []:\n",
		"goroutine x [running]:\n",
		"goroutine 12345678901234567890 [running]:\n",
		"goroutine 1 [select labels:{\"a\": \"b]:\n",
		"goroutine 1 [select] {a: b:\n",
		" goroutine 1 [running]:\n",
		"<html><body>Log in</body></html>\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEANUP_BUF struct buf why = BUF_INIT(1024);
		struct profile *p = NULL;
		struct godump_seen seen;

		ck_assert_msg(!godump_looks_like(texts[i], strlen(texts[i])),
		              "%s", texts[i]);
		ck_assert_int_eq(godump_parse(texts[i], strlen(texts[i]), &p,
		                              &seen, &why),
		                 -EBADMSG);
		ck_assert_ptr_null(p);
		ck_assert_uint_gt(why.len, 0);
	}
}
END

/* --- stacks --------------------------------------------------------------- */

#define HEAD "goroutine 1 [running]:\n"
#define MAIN "main.main()\n\t/src/main.go:10 +0x1d\n"

static const struct {
	const char *name, *text, *stack;
} stacks[] = {
	{"arguments", HEAD "main.(*T).M({0x1, 0x2?}, ...)\n\t/a.go:1 +0x1\n",
         "main.(*T).M"},
	{"generic", HEAD "main.(*P[...]).put(0x1)\n\t/a.go:1 +0x1\n" MAIN,
         "main.(*P[...]).put;main.main"},
	{"closure", HEAD "main.main.func1.2()\n\t/a.go:1 +0x1\n",
         "main.main.func1.2"},
	{"inlined",
         HEAD "main.a(...)\n\t/a.go:1\nmain.b(...)\n\t/a.go:2\n" MAIN,
         "main.a+main.b+main.main"},
	{"inlined last", HEAD "main.a(...)\n\t/a.go:1\n", "main.a"},
	{"elided, 1.21", HEAD MAIN "...12 frames elided...\n" MAIN,
         "main.main;" GODUMP_ELIDED ";main.main"},
	{"elided, 1.19", HEAD MAIN "...additional frames elided...\n",
         "main.main;" GODUMP_ELIDED},
	{"panic", HEAD "panic({0x1?, 0x2?})\n\t/p.go:7 +0x13\n" MAIN,
         "runtime.gopanic;main.main"},
	{"system level",
         HEAD "main.main()\n\t/a.go:1 +0x1d fp=0xc0 sp=0xc1 pc=0x43\n",
         "main.main"},
	{"ancestors",
         HEAD MAIN "[originating from goroutine 7]:\nmain.x()\n\t/a.go:1\n",
         "main.main"},
	{"other thread",
         HEAD "\tgoroutine running on other thread; stack unavailable\n", ""},
	{"odd path", HEAD "main.main()\n\tC:/a b +0/x:1.go:10 +0x1d\n",
         "main.main"},
	{"carriage returns",
         "goroutine 1 [running]:\r\nmain.main()\r\n\t/a.go:1 +0x1\r\n",
         "main.main"},
	{"a line of another kind", HEAD "what is this\n" MAIN, "main.main"},
};

TEST(stacks_are_those_of_the_text)
{
	CLEANUP_BUF struct buf got = BUF_INIT(4096);

	for (size_t i = 0; i < ARRAY_LEN(stacks); i++) {
		CLEANUP_PARSED struct parsed d =
			parse(stacks[i].text, strlen(stacks[i].text));

		ck_assert_msg(!strcmp(stack(d.p, 0, &got), stacks[i].stack),
		              "%s: %s", stacks[i].name, buf_str(&got));
	}
}
END

TEST(files_and_lines_are_kept)
{
	static const char text[] = HEAD
		"main.main()\n\tC:/a b/x:1.go:10 +0x1d\n";
	CLEANUP_PARSED struct parsed d = parse(text, sizeof(text) - 1);
	const struct line *l = &d.p->lines[0];

	ck_assert_int_eq(l->line, 10);
	ck_assert_str_eq(profile_text(d.p, d.p->functions[l->function].file),
	                 "C:/a b/x:1.go");
}
END

static const struct {
	const char *text, *by, *at, *parent;
} creators[] = {
	{HEAD MAIN "created by main.(*T).run in goroutine 17\n"
                   "\t/src/t.go:30 +0xa5\n",
         "main.(*T).run", "/src/t.go:30", "17"},
	{HEAD MAIN "created by main.run\n\t/src/t.go:30 +0xa5\n", "main.run",
         "/src/t.go:30", ""},
	{HEAD MAIN "[originating from goroutine 7]:\nmain.x()\n\t/a.go:1\n"
                   "created by main.other\n\t/b.go:2\n",
         "", "", ""},
	{HEAD MAIN, "", "", ""},
};

TEST(creators_are_told)
{
	for (size_t i = 0; i < ARRAY_LEN(creators); i++) {
		CLEANUP_PARSED struct parsed d =
			parse(creators[i].text, strlen(creators[i].text));

		ck_assert_str_eq(label(d.p, 0, "createdBy"), creators[i].by);
		ck_assert_str_eq(label(d.p, 0, "createdAt"), creators[i].at);
		ck_assert_str_eq(label(d.p, 0, "parentGoid"),
		                 creators[i].parent);
	}
}
END

/* Before Go 1.21 a lock is recognised by its function. */
static const struct {
	const char *function, *reason;
} locks[] = {
	{"sync.(*Mutex).lockSlow", "mutex"},
	{"sync.(*RWMutex).RLock", "read-write lock (to read)"},
	{"sync.(*RWMutex).Lock", "read-write lock (to write)"},
	{"sync.(*WaitGroup).Wait", "wait group"},
	{"main.wait", "semaphore"},
};

TEST(a_bare_semaphore_is_named_after_its_lock)
{
	for (size_t i = 0; i < ARRAY_LEN(locks); i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(4096);
		CLEANUP_PARSED struct parsed d = {0};

		buf_addf(&text,
		         "goroutine 4 [semacquire]:\n"
		         "sync.runtime_SemacquireMutex(0x1)\n\t/s.go:1 +0x1\n"
		         "%s(0x1)\n\t/m.go:1 +0x1\n",
		         locks[i].function);
		d = parse(text.p, text.len);
		ck_assert_str_eq(label(d.p, 0, "waitReason"), locks[i].reason);
	}
}
END

/* --- dumps ---------------------------------------------------------------- */

TEST(a_dump_within_other_output_is_found)
{
	static const char text[] =
		"starting\npanic: boom\n\n" HEAD MAIN
		"\ngoroutine 2 [select]:\nmain.b()\n\t/b.go:1 +0x1\n"
		"exit status 2\n";
	CLEANUP_PARSED struct parsed d = parse(text, sizeof(text) - 1);

	ck_assert(godump_looks_like(text, sizeof(text) - 1));
	ck_assert_uint_eq(d.seen.goroutines, 2);
	ck_assert_uint_eq(d.p->nsamples, 2);
	ck_assert(!d.seen.truncated);
}
END

TEST(a_goroutine_that_is_cut_is_not_counted)
{
	static const char text[] = HEAD MAIN
		"\ngoroutine 2 [select]:\nmain.b()\n\t/b.go:1 +0x1\n"
		"main.c(0x1";
	CLEANUP_PARSED struct parsed d = {0};

	d = parse(text, sizeof(text) - 1 - strlen("\nmain.c(0x1"));
	ck_assert_uint_eq(d.seen.goroutines, 2); /* lacks only the newline */
	ck_assert(!d.seen.truncated);
	parsed_done(&d);
	d = parse(text, sizeof(text) - 1);
	ck_assert_uint_eq(d.seen.goroutines, 1);
	ck_assert(d.seen.truncated);
}
END

TEST(a_deep_stack_is_cut_at_the_profile_s_ceiling)
{
	CLEANUP_BUF struct buf text = BUF_INIT(1 << 20);
	CLEANUP_PARSED struct parsed d = {0};

	buf_puts(&text, HEAD);
	for (int i = 0; i < PROFILE_MAX_FRAMES + 5; i++)
		buf_addf(&text, "main.f%d()\n\t/f.go:1 +0x1\n", i);
	d = parse(text.p, text.len);
	ck_assert_uint_eq(d.p->samples[0].nstack, PROFILE_MAX_FRAMES);
	ck_assert_uint_eq(d.seen.elided, 1);
}
END

TEST(a_text_past_its_ceiling_is_refused)
{
	CLEANUP_BUF struct buf why = BUF_INIT(1024);
	struct godump_seen seen;
	struct profile *p = NULL;

	ck_assert_int_eq(
		godump_parse("", GODUMP_MAX_BYTES + 1, &p, &seen, &why),
		-E2BIG);
}
END

TEST(own_labels_fit_in_what_is_left)
{
	CLEANUP_BUF struct buf text = BUF_INIT(1 << 20);
	CLEANUP_PARSED struct parsed d = {0};

	buf_puts(&text, "goroutine 1 [running] {");
	for (int i = 0; i < 2 * PROFILE_MAX_LABELS; i++)
		buf_addf(&text, "%sk%d: v", i ? ", " : "", i);
	buf_puts(&text, "}:\n" MAIN);
	d = parse(text.p, text.len);
	ck_assert_uint_eq(d.p->samples[0].nlabels, PROFILE_MAX_LABELS);
}
END

TEST(its_labels_are_a_thread_s)
{
	static const char *const shared[] = {"state", "waitReason",
	                                     "waitReasonRaw", "createdBy"};

	for (size_t i = 0; i < ARRAY_LEN(shared); i++) {
		bool ours = false, threads = false;

		for (size_t k = 0; k < GOROUTINE_LABELS; k++)
			ours |= !strcmp(goroutine_keys[k], shared[i]);
		for (size_t k = 0; k < ARRAY_LEN(thread_keys); k++)
			threads |= !strcmp(thread_keys[k], shared[i]);
		ck_assert_msg(ours && threads, "%s", shared[i]);
	}
}
END

TEST(the_profile_is_of_goroutines)
{
	static const char text[] = HEAD MAIN;
	CLEANUP_PARSED struct parsed d = parse(text, sizeof(text) - 1);

	ck_assert_uint_eq(profile_type_index(d.p, "goroutine"), 0);
	ck_assert_str_eq(profile_text(d.p, d.p->types[0].unit), "count");
	ck_assert_int_eq(d.p->values[0], 1);
	ck_assert_int_eq(d.p->period, 1);
}
END

SUITE("godump");
