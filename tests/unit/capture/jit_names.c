#include "capture/symbols/jit_names.h"

#include "capture/naming/namer.h"
#include "capture/symbols/java_map.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static void
is(const char *raw, const char *name, const char *file, uint32_t line)
{
	CLEANUP_FREE char *text = strdup(raw);
	struct jit_name n;

	jit_name_split(text, &n);
	ck_assert_str_eq(n.name, name);
	ck_assert_str_eq(n.file, file);
	ck_assert_uint_eq(n.line, line);
}

TEST(functions_of_scripts_have_file_and_line)
{
	is("JS:*hot /srv/n.js:3:13", "hot", "/srv/n.js", 3);
	is("LazyCompile:~hot /srv/n.js:3:13", "hot", "/srv/n.js", 3);
	is("JS:^hot file:///srv/n.mjs:3:13", "hot", "/srv/n.mjs", 3);
	is("Function:hot node:internal/timers:9:1", "hot",
	   "node:internal/timers", 9);
	is("JS:*hot other:12", "hot", "other", 12);
}
END

TEST(tiers_of_a_function_are_one_function)
{
	static const char *const tiers[] = {"", "~", "^", "+", "*", "*'", "o+"};

	for (size_t i = 0; i < ARRAY_LEN(tiers); i++) {
		char raw[64];

		snprintf(raw, sizeof(raw), "JS:%sf /a.js:1:2", tiers[i]);
		is(raw, "f", "/a.js", 1);
	}
}
END

TEST(functions_of_wasm_have_no_number_and_tier)
{
	is("JS:wasm-function[0]-0-liftoff", "wasm-function[0]", "", 0);
	is("JS:fib-12-turbofan", "fib", "", 0);
	is("JS:-3-turbofan", "-3-turbofan", "", 0);
	is("JS:*a-liftoff /a.js:1:2", "a-liftoff", "/a.js", 1);
}
END

TEST(names_and_files_may_hold_blanks_and_colons)
{
	is("JS:*get area /my dir/a:b.js:2:23", "get area", "/my dir/a:b.js", 2);
	is("JS:~of the loop", "of the", "loop", 0);
}
END

TEST(code_without_a_name_says_what_it_is)
{
	is("JS:~ /a.js:8:73", "(anonymous)", "/a.js", 8);
	is("Script:~ /a.js:1:1", "(script)", "/a.js", 1);
	is("Eval:~ node:internal/x:1:1", "(eval)", "node:internal/x", 1);
	is("JS:", "(anonymous)", "", 0);
}
END

TEST(functions_of_python_have_a_file)
{
	is("py::Shape.area:/srv/a.py", "Shape.area", "/srv/a.py", 0);
	is("py::<lambda>:<frozen x>", "<lambda>", "<frozen x>", 0);
	is("py::f", "f", "", 0);
	is("py::", "py::", "", 0);
	is("py:::x", ":x", "", 0);
}
END

TEST(other_names_stay_as_they_are)
{
	is("Builtin:ArrayForEach", "Builtin:ArrayForEach", "", 0);
	is("long J.hot(int)", "long J.hot(int)", "", 0);
	is("a:1:2", "a:1:2", "", 0);
}
END

/* A JVM that wrote its map of names a while ago, and may write it again. */
struct jvm {
	uint64_t age_ns; /* of its map */
	unsigned written;
};

static int
file_of(const void *p, size_t n)
{
	int fd = memfd_create("answer", MFD_CLOEXEC);

	ck_assert_int_eq(write(fd, p, n), (ssize_t)n);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Writes a map unless the last one is recent enough. */
static int
write_map(struct jvm *j, uint64_t age_ns)
{
	if (age_ns && j->age_ns <= age_ns)
		return -EALREADY;
	j->age_ns = 0;
	j->written++;
	return 0;
}

static int
ask_jvm(void *arg, const struct host_ask *ask, struct host_reply *reply,
        int fds[HOST_MAX_FDS], size_t *nfds)
{
	static const char maps[] = "1000-2000 r-xp 0 08:01 1 /libjvm.so\n";
	static const char *const names[] = {"1000 10 first\n",
	                                    "1000 10 first\n1010 10 second\n"};
	struct jvm *j = arg;
	int32_t rc;

	*reply = (struct host_reply){.error = 0};
	*nfds = 1;
	switch (ask->op) {
	case HOST_MAPS:
		fds[0] = file_of(maps, strlen(maps));
		return 0;
	case HOST_JAVA:
		rc = write_map(j, ask->period_ns);
		fds[0] = file_of(&rc, sizeof(rc));
		return 0;
	case HOST_PERFMAP:
		fds[0] = file_of(names[!!j->written],
		                 strlen(names[!!j->written]));
		return 0;
	default:
		*nfds = 0;
		reply->error = -ENOENT;
		return 0;
	}
}

TEST(a_function_that_an_old_map_of_a_jvm_lacks_is_looked_up_in_a_new_one)
{
	static const struct {
		uint64_t age_ns;  /* age of the present map */
		unsigned written; /* maps, until function 2 is named */
	} rows[] = {{JAVA_MAP_LACK_NS + 1, 1},
	            {JAVA_MAP_LACK_NS, 0},
	            {JAVA_MAP_AGE_NS + 1, 1}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct jvm j = {.age_ns = rows[i].age_ns};
		const struct host host = {.ask = ask_jvm, .arg = &j};
		struct quality quality = {0};
		struct modules *modules;
		struct module *m = calloc(1, sizeof(*m));
		struct place at = {0};
		struct sym_frame f;
		struct namer *n;

		ck_assert_int_eq(modules_new(&host, &modules), 0);
		at.module = modules->n++;
		modules->rows[at.module] = m;
		m->path = strdup("//anon");
		m->pid = 7;
		n = namer_new(modules, &host, NULL, &quality, false,
		              JAVA_MAP_AGE_NS);
		at.vaddr = 0x1001;
		ck_assert_uint_eq(namer_lookup(n, at, &f, 1), 1);
		ck_assert_str_eq(f.name, "first");
		at.vaddr = 0x1011;
		ck_assert_uint_eq(namer_lookup(n, at, &f, 1), rows[i].written);
		if (rows[i].written)
			ck_assert_str_eq(f.name, "second");
		ck_assert_uint_eq(j.written, rows[i].written);
		namer_free(n);
		modules_free(modules);
	}
}
END

/* Answers with a map that belongs to the user whose id is the pid / 10. */
static int
ask_user(void *arg, const struct host_ask *ask, struct host_reply *reply,
         int fds[HOST_MAX_FDS], size_t *nfds)
{
	static const char map[] = "1000 10 named\n";

	(void)arg;
	*reply = (struct host_reply){.error = -ENOENT};
	*nfds = 0;
	if (ask->op != HOST_PERFMAP)
		return 0;
	fds[0] = file_of(map, strlen(map));
	ck_assert_int_eq(fchown(fds[0], (uid_t)ask->pid / 10, 0), 0);
	reply->error = 0;
	*nfds = 1;
	return 0;
}

TEST(maps_of_a_user_do_not_take_the_time_of_others)
{
	static const struct {
		int32_t pid;
		int64_t spent_ns; /* spent on the first user's files by then */
		bool named;
	} rows[] = {
		{10, 0, true},
		{11, NAMER_MAPS_NS / 3 - NS_PER_S, true},
		{12, NAMER_MAPS_NS / 3 + NS_PER_S, false},
		{20, NAMER_MAPS_NS / 3 + NS_PER_S, true},
	};
	const struct host host = {.ask = ask_user};
	struct quality quality = {0};
	struct modules *modules;
	struct namer *n;

	if (geteuid())
		SKIP("needs root");
	ck_assert_int_eq(modules_new(&host, &modules), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct module *m = calloc(1, sizeof(*m));

		m->path = strdup("//anon");
		m->pid = rows[i].pid;
		modules->rows[modules->n++] = m;
	}
	n = namer_new(modules, &host, NULL, &quality, false, 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct place at = {.module = modules->n - ARRAY_LEN(rows) +
		                             (uint32_t)i,
		                   .vaddr = 0x1001};
		struct sym_frame f;
		size_t found;

		n->users[0].ns = n->maps_ns = rows[i].spent_ns;
		found = namer_lookup(n, at, &f, 1);
		ck_assert_msg(rows[i].named ==
		                      (found && !strcmp(f.name, "named")),
		              "%d", rows[i].pid);
	}
	ck_assert(!!(quality.notes & QUALITY_NOTE_OF(MAPS_LEFT)));
	namer_free(n);
	modules_free(modules);
}
END

/* A copy of this program that belongs to a user. */
static struct elf_image *
program_of(uid_t uid)
{
	int fd = memfd_create("program", MFD_CLOEXEC);
	CLEANUP_FD int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_image *e = NULL;

	while (sendfile(fd, self, NULL, 1 << 20) > 0)
		;
	ck_assert_int_eq(fchown(fd, uid, 0), 0);
	ck_assert_int_eq(elf_open_fd(fd, &e), 0);
	return e;
}

static int
first_bias(struct dl_phdr_info *info, size_t size, void *out)
{
	(void)size;
	*(uint64_t *)out = info->dlpi_addr;
	return 1;
}

TEST(files_of_a_user_do_not_take_the_time_of_others)
{
	enum { MOST = 9 };
	static const struct {
		uid_t uid;
		bool copied, foreign; /* foreign: in a container */
		int64_t spent_s;      /* on the files of user 1 */
		bool named;
	} rows[] = {
		{1, false, false, MOST / 3, true},
		{1, false, false, MOST / 3 + 1, false},
		{1, false, true, MOST / 3 + 1, false},
		{2, false, false, MOST, true},
		{2, false, false, MOST + 1, false},
		{0, false, false, MOST + 1, true},
		{0, false, true, MOST, true},
		{0, false, true, MOST + 1, false},
		{0, true, false, MOST, true},
		{0, true, false, MOST + 1, false},
	};
	struct host host = {.ask = ask_user};
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *cache =
		symbols_cache_new((size_t)1 << 28);
	struct quality quality = {0};
	struct modules *modules;
	struct namer *n;
	struct stat st;
	uint64_t bias;

	if (geteuid())
		SKIP("needs root");
	dl_iterate_phdr(first_bias, &bias);
	ck_assert_int_eq(modules_new(&host, &modules), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct module *m = calloc(1, sizeof(*m));

		m->path = strdup("/srv/program");
		m->elf = program_of(rows[i].uid);
		m->copied = rows[i].copied;
		modules->rows[modules->n++] = m;
	}
	n = namer_new(modules, &host, cache, &quality, false, 0);
	ck_assert(n->files_max_ns > 3600 * NS_PER_S); /* no limit by default */
	n->files_max_ns = MOST * NS_PER_S;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct place at = {.module = modules->n - ARRAY_LEN(rows) +
		                             (uint32_t)i,
		                   .vaddr = (uint64_t)program_of - bias};
		struct sym_frame f;
		size_t found;

		n->files_ns = rows[i].spent_s * NS_PER_S;
		for (size_t u = 0; u < n->nusers; u++)
			n->users[u].files_ns =
				n->users[u].uid == 1 ? n->files_ns : 0;
		n->users[0] =
			(struct namer_user){.uid = 1, .files_ns = n->files_ns};
		n->nusers += !n->nusers;
		ck_assert_int_eq(fstat(modules->rows[at.module]->elf->fd, &st),
		                 0);
		host.device = rows[i].foreign ? st.st_dev + 1 : st.st_dev;
		quality.notes = 0;
		found = namer_lookup(n, at, &f, 1);
		ck_assert_msg(rows[i].named ==
		                      (found && !strcmp(f.name, "program_of")),
		              "row %zu", i);
		ck_assert(rows[i].named ==
		          !(quality.notes & QUALITY_NOTE_OF(FILES_LEFT)));
		ck_assert(!rows[i].named ||
		          (!rows[i].uid && !rows[i].foreign) ||
		          n->files_ns > rows[i].spent_s * NS_PER_S);
	}
	namer_free(n);
	modules_free(modules);
}
END

/* Answers as if no more files may be copied. */
static int
ask_for_copy(void *arg, const struct host_ask *ask, struct host_reply *reply,
             int fds[HOST_MAX_FDS], size_t *nfds)
{
	const bool of_file = ask->op == HOST_FILE || ask->op == HOST_MAPPED ||
	                     ask->op == HOST_EXE;

	(void)arg, (void)fds;
	*reply = (struct host_reply){.error = of_file ? -EFBIG : -ENOENT};
	*nfds = 0;
	return 0;
}

TEST(files_that_are_not_copied_are_told)
{
	const struct map_seen seen = {
		.start = 0x1000, .end = 0x2000, .path = "/srv/program"};
	const struct host host = {.ask = ask_for_copy};
	const int32_t pid = 1;
	struct quality quality = {.kept = 100};
	struct modules *modules;
	struct sym_frame f;
	struct namer *n;
	struct map row;

	ck_assert_int_eq(modules_new(&host, &modules), 0);
	ck_assert_int_eq(modules_resolve(modules, &pid, 1, &seen, &row), 0);
	n = namer_new(modules, &host, NULL, &quality, false, 0);
	(void)namer_lookup(
		n, (struct place){.module = row.module, .vaddr = 0x1000}, &f,
		1);
	ck_assert_int_eq(quality.modules_unread, 1);
	quality_conclude_stacks(&quality);
	ck_assert(quality.notes & QUALITY_NOTE_OF(UNCOPIED));
	ck_assert(!(quality.notes & QUALITY_NOTE_OF(NOTHING_READ)));
	namer_free(n);
	modules_free(modules);
}
END

TEST(files_take_three_quarters_of_the_time_that_is_left)
{
	const struct rlimit hundred = {100, 200};
	const struct host host = {.ask = ask_user};
	struct quality quality = {0};
	struct modules *modules;
	struct namer *n;

	ck_assert_int_eq(modules_new(&host, &modules), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_CPU, &hundred), 0);
	n = namer_new(modules, &host, NULL, &quality, false, 0);
	ck_assert_int_le(n->files_max_ns, 75 * NS_PER_S);
	ck_assert_int_gt(n->files_max_ns, 70 * NS_PER_S);
	namer_free(n);
	modules_free(modules);
}
END

SUITE("jit_names");
