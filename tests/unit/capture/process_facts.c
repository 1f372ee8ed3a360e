/* The name of a process in profiles of several programs, and the language that
 * it runs, by the files that it has mapped. */
#include "capture/process/process_runtime.h"
#include "capture/process/process_title.h"
#include "capture/process/wait_names.h"

#include "capture/quality.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>

/* A process that has mapped two files. */
struct rig {
	struct host host;
	const char *title; /* that the opener answers with; NULL: it fails */
	unsigned asked;
	struct modules *modules;
	struct module files[2];
	struct elf_image images[2];
	struct map rows[2];
	struct process proc;
};
#define CLEANUP_RIG CLEANUP(rig_done)

static int
answer(void *arg, const struct host_ask *ask, struct host_reply *reply,
       int fds[HOST_MAX_FDS], size_t *nfds)
{
	struct rig *r = arg;

	(void)fds;
	ck_assert_int_eq(ask->op, HOST_TITLE);
	*nfds = 0;
	r->asked++;
	memset(reply, 0, sizeof(*reply));
	reply->error = r->title ? 0 : -ESRCH;
	snprintf(reply->text, sizeof(reply->text), "%s",
	         r->title ? r->title : "");
	return 0;
}

static void
rig_init(struct rig *r, const char *program, const char *library)
{
	*r = (struct rig){.host = {.ask = answer, .arg = r}};
	ck_assert_int_eq(modules_new(&r->host, &r->modules), 0);
	r->proc = (struct process){.pid = 7,
	                           .modules = r->modules,
	                           .maps = {.rows = r->rows, .n = 2}};
	for (uint32_t i = 0; i < 2; i++) {
		r->images[i].is_program = i == 0;
		r->files[i].path = (char *)(i ? library : program);
		r->files[i].elf = &r->images[i];
		r->rows[i].module = MODULE_FIRST + i;
		r->modules->rows[MODULE_FIRST + i] = &r->files[i];
	}
}

static void
rig_done(struct rig *r)
{
	for (uint32_t i = 0; i < 2; i++)
		r->modules->rows[MODULE_FIRST + i] = NULL;
	modules_free(r->modules);
}

/* --- the language --------------------------------------------------------- */

enum { PROGRAM = MODULE_FIRST, LIBRARY = MODULE_FIRST + 1 };

/* Returns the language that may be missing from a stack with one place. */
static uint32_t
missing_at(struct rig *r, uint32_t module)
{
	static struct proc_stack stack;

	stack.n = 1;
	stack.places[0].module = module;
	return process_runtime(&r->proc, &stack);
}

#define BIT(of) (UINT32_C(1) << QUALITY_RUNTIME_##of)

TEST(functions_are_missing_where_a_stack_passes_a_program_that_runs_a_language)
{
	static const struct {
		const char *program, *library;
		uint32_t expected;
	} rows[] = {
		{"/usr/bin/lua5.4", "/lib/libc.so.6", BIT(LUA)},
		{"/usr/lib/erlang/bin/beam.smp", "/lib/libc.so.6", BIT(ERLANG)},
		{"/usr/sbin/nginx", "/usr/lib/lua", 0}, /* no program */
		{"/usr/bin/luarocks", "/lib/libc.so.6", 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_RIG struct rig r;

		rig_init(&r, rows[i].program, rows[i].library);
		ck_assert_msg(missing_at(&r, PROGRAM) == rows[i].expected, "%s",
		              rows[i].program);
		ck_assert_uint_eq(missing_at(&r, LIBRARY), 0);
		r.files[1].pid = 7; /* code that was made at run time */
		ck_assert_msg(missing_at(&r, LIBRARY) == rows[i].expected, "%s",
		              rows[i].program);
	}
}
END

TEST(functions_of_a_runtime_that_is_read_are_not_missing)
{
	static struct interp_image interp;
	static struct jit_image jit;

	for (int i = 0; i < 2; i++) {
		CLEANUP_RIG struct rig r;

		rig_init(&r, "/usr/bin/luajit", "/usr/lib/libluajit.so");
		r.files[1].interp = i == 0 ? &interp : NULL;
		r.files[1].jit = i == 1 ? &jit : NULL;
		ck_assert_uint_eq(missing_at(&r, PROGRAM), 0);
	}
}
END

/* --- the name ------------------------------------------------------------- */

static const char *
title_of(struct rig *r)
{
	const struct place *at = process_title(&r->proc);

	ck_assert_ptr_nonnull(at);
	return wait_name_of(r->modules->waits, at->vaddr);
}

/* Gives a process the name that its parent has. */
static void
inherit(struct rig *r, const char *name)
{
	r->proc.title.module = MODULE_TITLE;
	ck_assert(wait_keep(r->modules->waits, name, &r->proc.title.vaddr));
}

static const struct {
	const char *answer;    /* NULL: it has ended */
	const char *inherited; /* NULL: nothing */
	const char *lowest;    /* mapping; the other one is /lib/libc.so.6 */
	const char *expected;
} titles[] = {
	{"web.service", NULL, "/usr/bin/web", "web.service"},
	{"web.service", "cron.service", "/usr/bin/web", "web.service"},
	{NULL, NULL, "/usr/bin/web", "/usr/bin/web"},
	{NULL, "/usr/bin/sh", "/usr/bin/web", "/usr/bin/web"},
	{NULL, "cron.service", "/usr/bin/web", "cron.service"},
	{NULL, NULL, "[heap]", "/lib/libc.so.6"},
	{"", NULL, "/usr/bin/web", "/usr/bin/web"},
};

TEST(a_process_has_its_unit_or_program_for_a_name)
{
	for (size_t i = 0; i < ARRAY_LEN(titles); i++) {
		CLEANUP_RIG struct rig r;

		rig_init(&r, titles[i].lowest, "/lib/libc.so.6");
		r.title = titles[i].answer;
		if (titles[i].inherited)
			inherit(&r, titles[i].inherited);
		ck_assert_msg(!strcmp(title_of(&r), titles[i].expected),
		              "row %zu: %s", i, title_of(&r));
		(void)title_of(&r);
		ck_assert_uint_eq(r.asked, 1); /* its name stays */
	}
}
END

TEST(a_process_that_ended_with_nothing_mapped_is_called_so)
{
	static const struct {
		const char *inherited, *expected;
	} rows[] = {{NULL, "[ended]"}, {"/usr/bin/sh", "/usr/bin/sh"}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_RIG struct rig r;

		rig_init(&r, "", "");
		r.proc.maps.n = 0;
		if (rows[i].inherited)
			inherit(&r, rows[i].inherited);
		ck_assert_str_eq(title_of(&r), rows[i].expected);
	}
}
END

SUITE("process_facts");
