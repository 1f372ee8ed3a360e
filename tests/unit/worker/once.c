/*
 * Captures of programs with known behaviour by a whole worker: stoker-worker
 * --once. tests/e2e measures their figures; here captures are as short as
 * possible, and bounds are wide.
 *
 * Alone: a second's samples are counted.
 */
#include "base/file.h"
#include "lib/test.h"
#include "profile/export.h"
#include "profile/pprof.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_BYTES   ((size_t)16 << 20)
#define MAX_TARGETS 8

struct captured {
	char dir[64];
	pid_t pids[MAX_TARGETS];
	int out[MAX_TARGETS], in[MAX_TARGETS]; /* the targets' pipes */
	size_t n;
	struct buf report, stacks;
};
#define CLEANUP_CAPTURED CLEANUP(captured_done)

static void
captured_done(struct captured *c)
{
	char command[128];

	for (size_t i = 0; i < c->n; i++) {
		kill(c->pids[i], SIGKILL);
		waitpid(c->pids[i], NULL, 0);
		close(c->out[i]);
		close(c->in[i]);
	}
	snprintf(command, sizeof(command), "rm -rf %s", c->dir);
	ck_assert_int_eq(system(command), 0);
	buf_done(&c->report);
	buf_done(&c->stacks);
}

static struct captured
nothing(void)
{
	/* On a disk, which programs wait for. */
	struct captured c = {.dir = "/var/tmp/stoker-once.XXXXXX",
	                     .report = BUF_INIT(BUF_MAX_SMALL),
	                     .stacks = BUF_INIT(MAX_BYTES)};

	ck_assert_ptr_nonnull(mkdtemp(c.dir));
	ck_assert_int_eq(chmod(c.dir, 0755), 0);
	return c;
}

static const char *
built(void)
{
	const char *b = getenv("B");

	return b ? b : "build";
}

/* Starts a target in the directory, and waits until it prints a line that
 * begins with `line`. */
static void
begin(struct captured *c, const char *command, const char *line)
{
	int out[2], in[2];
	char text[512], all[8192];
	size_t len = 0;

	ck_assert_uint_lt(c->n, MAX_TARGETS);
	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
	snprintf(text, sizeof(text), "B=$(realpath %s); cd %s; exec %s",
	         built(), c->dir, command);
	c->pids[c->n] = fork();
	if (!c->pids[c->n]) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], STDOUT_FILENO);
		dup2(in[0], STDIN_FILENO);
		execl("/bin/sh", "sh", "-c", text, NULL);
		_exit(127);
	}
	close(out[1]);
	close(in[0]);
	c->out[c->n] = out[0];
	c->in[c->n++] = in[1];
	for (;;) {
		ssize_t got = read(out[0], all + len, sizeof(all) - 1 - len);
		const char *at;

		ck_assert_msg(got > 0, "%s has ended", command);
		len += (size_t)got;
		all[len] = '\0';
		at = strstr(all, line);
		if (at && (at == all || at[-1] == '\n'))
			return;
	}
}

/* Runs the worker on all targets; returns its exit status. */
static int
run(struct captured *c, const char *options)
{
	CLEANUP_BUF struct buf line = BUF_INIT(BUF_MAX_SMALL);
	FILE *said;

	buf_addf(&line,
	         "exec %s/stoker-worker --config /dev/null "
	         "--out %s/profile %s --once ",
	         built(), c->dir, options);
	for (size_t i = 0; i < c->n; i++)
		buf_addf(&line, "%s%d", i ? "," : "", (int)c->pids[i]);
	buf_puts(&line, " 2>&1");
	said = popen(buf_str(&line), "r");
	buf_clear(&c->report);
	ck_assert_int_eq(fd_read_all(fileno(said), &c->report), 0);
	return WEXITSTATUS(pclose(said));
}

static void
read_stacks(struct captured *c)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	const struct export_meta meta = {.type = "cpu"};
	char path[96];
	uint32_t type;

	snprintf(path, sizeof(path), "%s/profile", c->dir);
	ck_assert_int_eq(file_read(AT_FDCWD, path, &bytes), 0);
	ck_assert_int_eq(pprof_decode(bytes.p, bytes.len, MAX_BYTES, &p, &why),
	                 0);
	type = profile_type_index(p, "samples");
	if (type == PROFILE_NONE)
		type = profile_type_index(p, NULL);
	ck_assert_int_eq(tree_new(p, type, &t), 0);
	ck_assert(t->counted);
	memcpy(t->self, t->samples, t->n * sizeof(*t->self));
	buf_clear(&c->stacks);
	ck_assert_int_eq(format_find("folded")->write(t, &meta, &c->stacks), 0);
}

/* Runs the worker, which must succeed. */
static void
capture(struct captured *c, const char *options)
{
	ck_assert_msg(!run(c, options), "%s: %s", options, buf_str(&c->report));
	read_stacks(c);
}

/* Counts the samples whose stack contains a part. */
static long
samples(const struct captured *c, const char *part)
{
	CLEANUP_FREE char *text = strdup(buf_str(&c->stacks));
	char *line, *rest = text;
	long sum = 0;

	while ((line = strsep(&rest, "\n"))) {
		char *count = strrchr(line, ' ');

		if (count && strstr(line, part))
			sum += atol(count);
	}
	return sum;
}

static double
quality(const struct captured *c, const char *key)
{
	char line[64];
	const char *at;

	snprintf(line, sizeof(line), "\n  %s ", key);
	at = strstr(buf_str(&c->report), line);
	ck_assert_msg(at != NULL, "no %s in: %s", key, buf_str(&c->report));
	return strtod(at + strlen(line), NULL);
}

/* Fails unless `low` to `high` percent of the samples with part have `more`,
 * too. */
static void
assert_share(const struct captured *c, const char *part, const char *more,
             long low, long high)
{
	long all = samples(c, part), got = samples(c, more);

	ck_assert_msg(all >= 10 && got * 100 >= low * all &&
	                      got * 100 <= high * all,
	              "%ld of %ld samples with '%s' have '%s':\n%s%s", got, all,
	              part, more, buf_str(&c->stacks), buf_str(&c->report));
}

/* Returns why no capture can be made here; NULL if one can. */
static const char *
why_not(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/stoker-worker", built());
	return geteuid() != 0       ? "only root may capture"
	       : access(path, X_OK) ? "stoker-worker is not built"
	                            : NULL;
}

TEST(stacks_on_the_cpu_are_whole_and_named)
{
	static const struct {
		const char *command, *innermost, *stack;
	} rows[] = {
		{"$B/targets/inlined 60", "inlined_work",
	         "_start;__libc_start_main;__libc_start_call_main;main;outer;"
	         "inlined_work"},
		{"$B/targets/recurse 60 24", ";down", "main;outermost;down;"},
		{"$B/targets/hollow 60", "hollow_inner",
	         "hollow_start;hollow_outer;hollow_inner"},
		{"$B/targets/detour altstack 60", "detour_work",
	         ";main;interrupt;detour_waits;__restore_rt;detour_handler;"
	         "detour_way;detour_work"},
		{"$B/targets/jit 60", "compiled_at_run_time",
	         "__libc_start_call_main;main;compiled_at_run_time"},
	};
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		begin(&c, rows[i].command, "ready");
	capture(&c, "--seconds 1 --rate 500");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_share(&c, rows[i].innermost, rows[i].stack, 90, 100);
	ck_assert_double_eq(quality(&c, "processes"), ARRAY_LEN(rows));
	ck_assert_double_eq(quality(&c, "askedRate"), 500);
	ck_assert_double_ge(quality(&c, "runRate"), 490);
	ck_assert_double_ge(quality(&c, "durationMs"), 950);
	ck_assert_double_eq(quality(&c, "samplesKept"), samples(&c, ""));
	ck_assert_double_ge(quality(&c, "stacksComplete"),
	                    0.9 * quality(&c, "samplesKept"));
	ck_assert_double_ge(quality(&c, "framesNamed"),
	                    0.98 * quality(&c, "frames"));
	ck_assert_double_gt(quality(&c, "stacksToppedUp"), 0);
}
END

TEST(shares_of_cpu_time_are_those_of_the_program)
{
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	begin(&c, "$B/targets/shares 60 2", "ready");
	capture(&c, "--seconds 1 --rate 500");
	assert_share(&c, ";spin", ";spin;share_half", 35, 65);
	assert_share(&c, ";spin", ";spin;share_three_tenths", 15, 45);
	assert_share(&c, ";spin", ";spin;share_two_tenths", 5, 35);
	assert_share(&c, "clone3;", "clone3;start_thread;spin", 95, 100);
	assert_share(&c, "_start;", "__libc_start_call_main;main;spin", 95,
	             100);
	ck_assert_double_eq(quality(&c, "threads"), 2);
	ck_assert_double_eq(quality(&c, "processes"), 1);
	/* each sample stands for a period of CPU time */
	ck_assert_double_gt(quality(&c, "cpuNs"),
	                    1.9e6 * quality(&c, "samplesKept"));
	ck_assert_double_lt(quality(&c, "cpuNs"),
	                    2.1e6 * quality(&c, "samplesKept"));
	ck_assert_ptr_nonnull(
		strstr(buf_str(&c.report), "share_half (shares)"));
}
END

TEST(children_are_followed_with_their_parent)
{
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	begin(&c, "$B/targets/shortchild 60", "ready");
	capture(&c, "--seconds 2 --rate 1000");
	ck_assert_int_ge(samples(&c, "main;"), 10);
	ck_assert_double_ge(quality(&c, "processes"), 3);
	ck_assert_double_ge(quality(&c, "exits"), 2);
	ck_assert_double_ge(quality(&c, "execs"), 1);
}
END

TEST(processes_of_unusual_forms_have_their_functions)
{
	static const struct {
		const char *command, *stack;
	} rows[] = {
		{"$B/targets/forms memory", ";in_shared_memory"},
		{"$B/targets/forms nowhere",
	         "__libc_start_call_main;main;of_no_file"},
		{"$B/targets/forms again", ";by_second_libc;"},
		{"$B/targets/forms brief",
	         "clone3;start_thread;in_brief_thread"},
		{"$B/targets/forms strict",
	         "clone3;start_thread;in_strict_mode"},
		{"$B/targets/forms ranks", "clone3;start_thread;in_real_time"},
		{"$B/targets/forms killed", ";until_killed"},
	};
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		begin(&c, rows[i].command, "ready");
	capture(&c, "--seconds 1 --rate 500");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_msg(samples(&c, rows[i].stack) > 0, "%s",
		              rows[i].stack);
	ck_assert_double_ge(quality(&c, "stacksComplete"),
	                    0.9 * quality(&c, "samplesKept"));
}
END

/* Compiles a program whose functions are inlined_work() and its caller. */
#define BUILT(caller, flags)                                               \
	"sh -c 'gcc -O2 -g -fomit-frame-pointer -Douter=" caller " " flags \
	" -o " caller " $OLDPWD/tests/targets/inlined.c && exec ./" caller \
	" 60'"

static bool
has_tool(const char *name)
{
	char line[128];

	snprintf(line, sizeof(line), "command -v %s >/dev/null", name);
	return !system(line);
}

struct form {
	const char *tool, *command, *stack;
};

/* Starts the programs whose compilers are installed, removes a file or folder,
 * and expects samples with each stack. */
static void
assert_forms(const struct form *rows, size_t n, const char *gone)
{
	CLEANUP_CAPTURED struct captured c = nothing();
	bool runs[MAX_TARGETS] = {false};
	char command[200];

	for (size_t i = 0; i < n; i++) {
		runs[i] = has_tool(rows[i].tool);
		if (runs[i])
			begin(&c, rows[i].command, "ready");
		else
			printf("skip: no %s\n", rows[i].tool);
	}
	if (!c.n)
		return;
	snprintf(command, sizeof(command), "cd %s && rm -rf %s", c.dir, gone);
	ck_assert_int_eq(system(command), 0);
	capture(&c, "--seconds 1 --rate 500");
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(!runs[i] || samples(&c, rows[i].stack) > 0, "%s",
		              rows[i].stack);
	ck_assert_double_ge(quality(&c, "stacksComplete"),
	                    0.9 * quality(&c, "samplesKept"));
}

/* Their files are deleted, or only they see them; a daemon is nobody's
 * child. */
TEST(processes_from_unusual_places_have_their_functions)
{
	static const struct form rows[] = {
		{"cp",
	         "sh -c 'cp $B/targets/detour gone && exec ./gone altstack 60'",
	         ";main;interrupt;detour_waits;__restore_rt;detour_handler;"},
		{"chroot",
	         "sh -c 'mkdir root && cp $B/targets/hollow root && "
	         "for f in $(ldd root/hollow | grep -o \"/[^ ]*\"); do "
	         "mkdir -p root$(dirname $f) && cp $f root$f; done && "
	         "exec chroot root /hollow 60'",
	         "hollow_start;hollow_outer;hollow_inner"},
		{"unshare",
	         "unshare -m sh -c 'mount -t tmpfs none /mnt && "
	         "cp $B/targets/inlined /mnt/same && exec /mnt/same 60'",
	         ";main;outer;inlined_work"},
		{"unshare",
	         "unshare -m sh -c 'mount -t tmpfs none /mnt && "
	         "cp $B/targets/recurse /mnt/same && exec /mnt/same 60 8'",
	         ";main;outermost;down;"},
		{"setpriv",
	         "sh -c 'cp $B/targets/shares high && chmod u+s high && "
	         "exec setpriv --reuid 65534 --clear-groups ./high 60 1'",
	         "__libc_start_call_main;main;spin;share_half"},
		{"setsid",
	         "sh -c 'echo ready; while :; do "
	         "(setsid $B/targets/shortchild 1 >/dev/null &); sleep 0.5; "
	         "done'",
	         ";work_of_forked_child"},
	};

	SKIP_FOR(why_not());
	assert_forms(rows, ARRAY_LEN(rows), "gone root");
}
END

TEST(programs_of_every_linker_have_their_functions)
{
	static const struct form rows[] = {
		{"gcc", BUILT("fixed", "-no-pie -Wl,-z,noseparate-code"),
	         ";main;fixed;inlined_work"},
		{"gcc", BUILT("alone", "-static-pie"),
	         ";main;alone;inlined_work"},
		{"gcc", BUILT("unsorted", "-Wl,--no-eh-frame-hdr"),
	         ";main;unsorted;inlined_work"},
		{"gcc",
	         BUILT("sframed",
	               "-Wa,--gsframe -fno-asynchronous-unwind-tables"),
	         ";main;sframed;inlined_work"},
		{"ld.gold", BUILT("golden", "-fuse-ld=gold"),
	         ";main;golden;inlined_work"},
		{"ld.lld",
	         BUILT("apart", "-fuse-ld=lld "
	                        "-Wl,-z,separate-loadable-segments,"
	                        "-z,max-page-size=2097152"),
	         ";main;apart;inlined_work"},
	};

	SKIP_FOR(why_not());
	assert_forms(rows, ARRAY_LEN(rows), "*");
}
END

TEST(unusual_forms_of_languages_have_their_functions)
{
	static const struct form rows[] = {
		{"node",
	         "node --use-largepages=on -e 'const b = "
	         "require(\"crypto\").randomBytes(99999); "
	         "console.log(\"ready\"); "
	         "for (;;) require(\"zlib\").deflateSync(b)'",
	         ";deflate_"},
		{"node",
	         "node -e 'function in_worker() { for (let n = 0; n < 1e7; ) "
	         "n++ }; new (require(\"worker_threads\").Worker)(`for (;;) "
	         "(${in_worker})()`, { eval: true }); console.log(\"ready\")'",
	         ";in_worker"},
		{"ruby",
	         "ruby -e 'def in_fiber; 999.times { |i| i * i }; end; "
	         "f = Fiber.new { loop { in_fiber; Fiber.yield } }; "
	         "puts \"ready\"; $stdout.flush; loop { f.resume }'",
	         ";in_fiber"},
		{"java",
	         "java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "
	         "$OLDPWD/tests/targets/Copies.java",
	         ";Copies.copy;StubRoutines"},
	};

	SKIP_FOR(why_not());
	assert_forms(rows, ARRAY_LEN(rows), "*");
}
END

TEST(a_deleted_program_has_profiles_of_every_type)
{
	static const struct {
		const char *type, *stack;
	} rows[] = {
		{"alloc", ";work;get_large"},
		{"block", "clone3;start_thread;work;"},
		{"goroutine", ";main;"},
	};
	CLEANUP_CAPTURED struct captured c = nothing();
	char command[128];

	SKIP_FOR(why_not());
	begin(&c,
	      "sh -c 'cp $B/targets/allocating gone && exec ./gone truth 2000'",
	      "ready");
	snprintf(command, sizeof(command), "rm %s/gone", c.dir);
	ck_assert_int_eq(system(command), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(command, sizeof(command), "--seconds 1 --type %s",
		         rows[i].type);
		capture(&c, command);
		ck_assert_msg(samples(&c, rows[i].stack) > 0, "%s",
		              rows[i].type);
		ck_assert_double_eq(quality(&c, "stacksComplete"),
		                    quality(&c, "samplesKept"));
	}
}
END

/* The child of vfork(2) uses its parent's stack, which waits for it. */
TEST(a_parent_that_waits_for_its_child_to_execute_has_its_callers)
{
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	begin(&c, "$B/targets/vforks", "ready");
	if (has_tool("musl-gcc"))
		begin(&c,
		      "sh -c 'musl-gcc -O1 -o musl $OLDPWD/tests/targets/"
		      "vforks.c && exec ./musl'",
		      "ready");
	else
		printf("skip: no musl-gcc\n");
	capture(&c, "--type goroutine");
	ck_assert_int_eq(samples(&c, ";share_until_exec;"), (long)c.n);
	ck_assert_double_eq(quality(&c, "stacksComplete"), (double)c.n);
}
END

/* The library is closed, renamed over and opened again, by the process itself
 * or by one that shares its memory. Libraries that a child loads into its copy
 * of the memory are not in its parent. */
TEST(a_library_that_is_replaced_meanwhile_has_functions_of_both_versions)
{
	static const char *const ways[] = {"alone", "shared", "apart",
	                                   "forked"};
	CLEANUP_CAPTURED struct captured c = nothing();
	double in_1;
	char text[256];

	SKIP_FOR(why_not());
	snprintf(text, sizeof(text),
	         "for v in 1 2; do gcc -O1 -shared -fPIC -DVERSION=$v -o %s/$v "
	         "tests/targets/upgrades.c || exit; done",
	         c.dir);
	ck_assert_int_eq(system(text), 0);
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		snprintf(text, sizeof(text), "$B/targets/upgrades %s", ways[i]);
		begin(&c, text, "ready");
	}
	capture(&c, "--seconds 2 --rate 400");
	ck_assert_int_gt(samples(&c, ";main;work_in;work;work;in_version_1"),
	                 0);
	ck_assert_int_gt(samples(&c, ";main;work_in;work;work;in_version_2"),
	                 0);
	ck_assert_int_gt(samples(&c, "clone;work;work;in_version_1"), 0);
	ck_assert_int_gt(samples(&c, "clone;work;work;in_version_2"), 0);
	in_1 = (double)samples(&c, ";main;stay;work;work;in_version_1");
	ck_assert_double_ge(in_1, 30);
	ck_assert_double_ge(
		in_1 + (double)samples(&c, ";main;stay;work;work;in_version_2"),
		0.95 * (double)samples(&c, ";main;stay;"));
	ck_assert_double_ge(quality(&c, "stacksComplete"),
	                    0.95 * quality(&c, "samplesKept"));
}
END

TEST(a_wait_for_a_ring_of_the_kernel_is_input_or_output)
{
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	begin(&c, "$B/targets/forms ring", "ready");
	capture(&c, "--seconds 1 --type io");
	assert_share(&c, "", ";wait_for_ring;", 100, 100);
}
END

TEST(a_program_that_has_python_in_it_has_its_functions)
{
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	if (system("ldconfig -p | grep -q libpython3.11.so.1.0"))
		SKIP("no libpython3.11 here");
	begin(&c,
	      "$B/targets/forms within -B $OLDPWD/tests/targets/shares.py 60",
	      "ready");
	capture(&c, "--seconds 1 --rate 400");
	ck_assert_int_gt(samples(&c, ";main;work"), 0);
	ck_assert_int_gt(samples(&c, "Thread.run;"), 0);
	ck_assert_double_le(quality(&c, "interpretedMissed"),
	                    0.05 * quality(&c, "samplesKept"));
}
END

/* Programs are packed with their interpreter, which has the program's name. */
TEST(an_interpreter_with_another_name_is_known)
{
	static const struct {
		const char *interpreter, *source, *stack;
	} rows[] = {
		{"python3.11", "shares.py", ";work"},
		{"perl", "shares.pl", "Shop::spin"},
		{"php8.2", "shares.php", "Shop\\spin"},
		{"node", "shares.js", "share60"},
	};
	CLEANUP_CAPTURED struct captured c = nothing();
	bool runs[ARRAY_LEN(rows)] = {false};
	char command[200];

	SKIP_FOR(why_not());
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(command, sizeof(command), "/usr/bin/%s",
		         rows[i].interpreter);
		runs[i] = !access(command, X_OK);
		if (!runs[i])
			continue;
		snprintf(command, sizeof(command),
		         "sh -c 'cp -L /usr/bin/%s orders%zu && exec "
		         "./orders%zu "
		         "$OLDPWD/tests/targets/%s 60'",
		         rows[i].interpreter, i, i, rows[i].source);
		begin(&c, command, "ready");
	}
	if (!c.n)
		SKIP("no interpreter here");
	capture(&c, "--seconds 1 --rate 500");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_msg(!runs[i] || samples(&c, rows[i].stack) > 0, "%s",
		              rows[i].interpreter);
}
END

/* Debian's PHP is stripped: most samples are in its own code, without names. */
TEST(functions_have_names_that_an_interpreter_without_names_runs)
{
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	if (access("/usr/bin/php8.2", X_OK))
		SKIP("no PHP 8.2 here");
	begin(&c, "/usr/bin/php8.2 $OLDPWD/tests/targets/shares.php 60",
	      "ready");
	capture(&c, "--seconds 1 --rate 500");
	ck_assert_int_gt(samples(&c, "Shop\\spin"), 0);
	ck_assert_ptr_null(strstr(buf_str(&c.report), "no name"));
}
END

TEST(small_objects_of_python_are_said_to_be_missing)
{
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	if (access("/usr/bin/python3.11", X_OK))
		SKIP("no Python 3.11 here");
	begin(&c, "/usr/bin/python3.11 -B $OLDPWD/tests/targets/shares.py 60",
	      "ready");
	capture(&c, "--seconds 1 --type alloc");
	ck_assert_ptr_nonnull(
		strstr(buf_str(&c.report), "PYTHONMALLOC=malloc"));
}
END

TEST(an_allocator_that_a_setting_replaces_is_not_said_to_be_missing)
{
	static const struct {
		const char *program, *setting, *command;
	} rows[] = {
		{"/usr/bin/python3.11", "PYTHONMALLOC=malloc",
	         "/usr/bin/python3.11 -B $OLDPWD/tests/targets/shares.py 60"},
		{"/usr/bin/php", "USE_ZEND_ALLOC=0",
	         "/usr/bin/php -r 'echo \"ready\\n\"; for (;;) { "
	         "$a = str_repeat(\"x\", 50000); usleep(99); }'"},
	};

	SKIP_FOR(why_not());
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_CAPTURED struct captured c = nothing();
		char command[512];

		if (access(rows[i].program, X_OK))
			continue;
		snprintf(command, sizeof(command), "env %s %s", rows[i].setting,
		         rows[i].command);
		begin(&c, command, "ready");
		capture(&c, "--seconds 1 --type alloc");
		ck_assert_ptr_null(strstr(buf_str(&c.report), rows[i].setting));
	}
}
END

TEST(allocations_by_functions_without_names_are_said_to_be_missing)
{
	static const struct {
		const char *command;
		bool told;
	} rows[] = {
		{"sh -c 'strip -o bare $B/targets/nameless && exec ./bare'",
	         true},
		{"sh -c 'strip -g -o bare $B/targets/nameless && exec ./bare'",
	         false},
	};

	SKIP_FOR(why_not());
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_CAPTURED struct captured c = nothing();

		begin(&c, rows[i].command, "ready");
		capture(&c, "--seconds 1 --type alloc");
		ck_assert_msg(!strstr(buf_str(&c.report), "have no names") ==
		                      !rows[i].told,
		              "%s: %s", rows[i].command, buf_str(&c.report));
		ck_assert_msg(rows[i].told ||
		                      samples(&c, ";by_own_allocator") > 0,
		              "%s", buf_str(&c.report));
	}
}
END

/* Watching puts breakpoints into code of a thread whose system call filter
 * allows only reads and writes. */
#define PAUSE32                                                                \
	"echo \"void _start(void) { for (;;) __asm__(\\\"int \\$0x80\\\" :: "  \
	"\\\"a\\\"(29)); }\" | gcc -m32 -O -nostdlib -static -x c -o pause32 " \
	"-"

TEST(allocations_of_32_bit_programs_are_said_to_be_missing)
{
	CLEANUP_CAPTURED struct captured c = nothing();
	char command[512];

	SKIP_FOR(why_not());
	snprintf(command, sizeof(command), "cd %s && " PAUSE32 " 2>/dev/null",
	         c.dir);
	if (system(command))
		SKIP("no 32-bit program can be linked here");
	begin(&c, "sh -c 'echo ready; exec ./pause32'", "ready");
	capture(&c, "--seconds 1 --type alloc");
	ck_assert_ptr_nonnull(
		strstr(buf_str(&c.report), "a program has 32 bits"));
	ck_assert_ptr_null(
		strstr(buf_str(&c.report), "no allocator was found"));
}
END

TEST(a_thread_that_may_only_read_and_write_lives_on)
{
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	begin(&c, "$B/targets/forms strict", "ready");
	capture(&c, "--seconds 1 --type alloc");
	ck_assert_int_gt(samples(&c, ";in_strict_mode"), 0);
	capture(&c, "--type goroutine");
	ck_assert_int_eq(samples(&c, ";in_strict_mode"), 1);
	/* all memory was released again */
	ck_assert_msg(!run(&c, "--seconds 1 --type memory") ||
	                      strstr(buf_str(&c.report), "Linux 6.13"),
	              "%s", buf_str(&c.report));
	ck_assert_int_eq(waitpid(c.pids[0], NULL, WNOHANG), 0);
}
END

TEST(a_process_that_loses_its_first_thread_goes_on)
{
	static const char *const ways[] = {"exit", "exec"};

	SKIP_FOR(why_not());
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		CLEANUP_CAPTURED struct captured c = nothing();
		char command[100];

		snprintf(command, sizeof(command), "$B/targets/headless %s",
		         ways[i]);
		begin(&c, command, "ready");
		capture(&c, "--seconds 2 --rate 1000");
		ck_assert_int_ge(samples(&c, "after"), 10);
		ck_assert_msg(quality(&c, "exits") == 0, "%s", ways[i]);
		ck_assert_msg(!strstr(buf_str(&c.report), "ended before"), "%s",
		              ways[i]);
	}
}
END

TEST(allocations_of_a_process_whose_first_thread_has_ended_are_said_to_be_missing)
{
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	begin(&c, "$B/targets/headless exit", "ready");
	capture(&c, "--seconds 2 --rate 1000"); /* the target ends meanwhile */
	capture(&c, "--seconds 1 --type alloc");
	ck_assert_ptr_nonnull(strstr(
		buf_str(&c.report), "the first thread of a program has ended"));
}
END

TEST(every_thread_is_in_a_snapshot_where_it_waits)
{
	static const char *const waits[] = {
		"wait_accept", "wait_cond", "wait_mutex", "wait_poll",
		"wait_epoll",  "wait_read", "wait_sleep",
	};
	CLEANUP_CAPTURED struct captured c = nothing();
	size_t found = 0;

	SKIP_FOR(why_not());
	begin(&c, "$B/targets/threads 40 still", "ready");
	capture(&c, "--type goroutine");
	ck_assert_int_eq(samples(&c, ""), 41);
	ck_assert_int_eq(samples(&c, ";begin;"), 40);
	ck_assert_int_eq(samples(&c, ";wait_"), 40);
	for (size_t i = 0; i < ARRAY_LEN(waits); i++)
		found += samples(&c, waits[i]) > 0;
	ck_assert_uint_ge(found, 3);
	ck_assert_double_eq(quality(&c, "threadsStopped"), 0);
	ck_assert_double_eq(quality(&c, "threadsUnread"), 0);
}
END

TEST(a_thread_that_works_is_stopped_for_a_snapshot)
{
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	begin(&c, "$B/targets/threads 4", "ready");
	/* The thread begins to work only after the target reports that it is
	 * ready. */
	for (int i = 0; i < 100 && !samples(&c, ";spin"); i++)
		capture(&c, "--type goroutine");
	ck_assert_int_eq(samples(&c, ""), 6);
	ck_assert_int_eq(samples(&c, ";spin"), 1);
	ck_assert_double_ge(quality(&c, "threadsStopped"), 1);
	ck_assert_double_gt(quality(&c, "stoppedNs"), 0);
}
END

/* Two threads of the target call one function after another, all the time. */
TEST(python_threads_that_run_are_named_in_a_snapshot)
{
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	if (access("/usr/bin/python3.11", X_OK))
		SKIP("no Python 3.11 here");
	begin(&c, "/usr/bin/python3.11 -B $OLDPWD/tests/targets/shares.py 60",
	      "ready");
	/* Both threads begin to work only after the target reports that it is
	 * ready. */
	for (int i = 0; i < 100 && (!samples(&c, "main;work") ||
	                            !samples(&c, "Thread.run;"));
	     i++)
		capture(&c, "--type goroutine");
	for (int i = 0; i < 5; i++) {
		capture(&c, "--type goroutine");
		ck_assert_double_eq(quality(&c, "interpretedMissed"), 0);
		ck_assert_int_eq(samples(&c, "main;work"), 1);
		ck_assert_int_eq(samples(&c, "Thread.run;"), 1);
	}
}
END

/* A program runs a second interpreter: the functions of that one are found, and
 * none appears where the first interpreter's are missing. */
TEST(functions_of_a_second_interpreter_are_those_of_the_inner_calls)
{
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	if (access("/usr/bin/python3.11", X_OK))
		SKIP("no Python 3.11 here");
	begin(&c, "/usr/bin/python3.11 -B $OLDPWD/tests/targets/subs.py 60",
	      "ready");
	capture(&c, "--seconds 2 --rate 199");
	assert_share(&c, "", ";PyEval_EvalCode;<module>;sub_hot;sub_leaf", 80,
	             100);
	ck_assert_int_eq(samples(&c, "sub_leaf;_PyObject_MakeTpCall"), 0);
	ck_assert_double_gt(quality(&c, "interpretedMissed"), 0);
}
END

TEST(allocations_are_those_of_their_callers)
{
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	begin(&c, "$B/targets/allocating truth 20000", "ready");
	capture(&c, "--seconds 2 --type alloc");
	ck_assert_int_gt(samples(&c, ";work;get_large"), 0);
	ck_assert_int_gt(samples(&c, ";work;get_small"), 0);
	ck_assert_int_eq(samples(&c, "ask_too_much"), 0);
	assert_share(&c, "", "clone3;start_thread;work;", 99, 100);
}
END

TEST(memory_in_use_is_that_of_the_functions_that_keep_it)
{
	static const char *const functions[] = {
		"keep_all;keep_most", "keep_all;keep_zeroed",
		"keep_all;keep_grown", "keep_all;keep_passed"};
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	begin(&c,
	      "env LD_PRELOAD=$B/libstoker-heap.so $B/targets/keeping truth",
	      "");
	capture(&c, "--type memory");
	for (size_t i = 0; i < ARRAY_LEN(functions); i++)
		ck_assert_int_gt(samples(&c, functions[i]), 0);
	ck_assert_int_eq(samples(&c, "throw_away"), 0);
	ck_assert_double_gt(quality(&c, "residentBytes"), 1e6);
	ck_assert_double_ge(quality(&c, "stacksCounted"), 4);
}
END

TEST(waits_are_those_of_the_functions_that_wait)
{
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	begin(&c, "$B/targets/waiting truth through.dat", "ready");
	capture(&c, "--seconds 1 --type block");
	ck_assert_int_gt(samples(&c, ";sleep_short;"), 0);
	ck_assert_int_gt(samples(&c, ";wait_pipe;"), 0);
	assert_share(&c, ";sleep_short;", "[clock_nanosleep]", 95, 1000);
	capture(&c, "--seconds 1 --type mutex");
	ck_assert_int_gt(samples(&c, ";take_hot;"), 0);
	ck_assert_int_eq(samples(&c, ";sleep_short;"), 0);
	capture(&c, "--seconds 1 --type io");
	ck_assert_int_gt(samples(&c, ";write_through;"), 0);
	ck_assert_int_eq(samples(&c, ";sleep_short;"), 0);
}
END

TEST(what_can_not_be_captured_is_said)
{
	static const struct {
		const char *options;
		int status;
		const char *says;
	} rows[] = {
		{"--type frob", 2, "usage: stoker-worker"},
		{"--seconds 0", 2, "usage: stoker-worker"},
		{"--rate 1000000", 2, "usage: stoker-worker"},
	};
	CLEANUP_CAPTURED struct captured c = nothing();

	SKIP_FOR(why_not());
	begin(&c, "$B/targets/shares 60 1", "ready");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int left = run(&c, rows[i].options);

		ck_assert_msg(left == rows[i].status &&
		                      strstr(buf_str(&c.report), rows[i].says),
		              "%s: %d, %s", rows[i].options, left,
		              buf_str(&c.report));
	}
	kill(c.pids[0], SIGKILL);
	waitpid(c.pids[0], NULL, 0);
	ck_assert_int_eq(run(&c, "--seconds 1"), 1);
	ck_assert_ptr_nonnull(strstr(buf_str(&c.report),
	                             "no process of the service is running"));
}
END

SUITE("once", .seconds = 60);
