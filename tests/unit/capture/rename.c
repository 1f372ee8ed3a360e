#include "capture/rename.h"

#include "base/file.h"
#include "capture/elf/elf.h"
#include "capture/local_debug.h"

#include "lib/folded.h"
#include "lib/test.h"
#include "profile/export.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

static NOINLINE int
known_function(int x)
{
	sink = x;
	return sink + x;
}

/* Answers with this program as the debug file of every build-id. */
static int
answer(void *arg, const struct host_ask *ask, struct host_reply *reply,
       int fds[HOST_MAX_FDS], size_t *nfds)
{
	*reply = (struct host_reply){0};
	*nfds = 0;
	if (ask->op != HOST_DEBUG || !arg) {
		reply->error = -ENOENT;
		return 0;
	}
	fds[(*nfds)++] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	return 0;
}

static int
first_bias(struct dl_phdr_info *info, size_t size, void *out)
{
	(void)size;
	*(uint64_t *)out = info->dlpi_addr;
	return 1;
}

static void
own_build_id(char out[2 * HOST_BUILD_ID + 1])
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP_ELF struct elf_image *e = NULL;

	ck_assert_int_eq(elf_open_fd(fd, &e), 0);
	ck_assert_uint_gt(e->build_id_size, 0);
	ck_assert_uint_le(e->build_id_size, HOST_BUILD_ID);
	for (uint32_t i = 0; i < e->build_id_size; i++)
		sprintf(out + 2 * i, "%02x", e->build_id[i]);
}

/* One sample in known_function, which has no name yet. */
static struct profile *
unnamed(const char *build_id)
{
	struct profile *p = profile_new();
	struct mapping m = {.limit = UINT64_MAX};
	uint32_t mapping, location;
	uint64_t bias;
	int64_t value = 7;

	dl_iterate_phdr(first_bias, &bias);
	ck_assert_int_eq(profile_type(p, "samples", "count"), 0);
	ck_assert_int_eq(profile_cstring(p, build_id, &m.build_id), 0);
	ck_assert_int_eq(profile_mapping(p, &m, &mapping), 0);
	ck_assert_int_eq(profile_location(p, mapping,
	                                  (uint64_t)known_function - bias, NULL,
	                                  0, &location),
	                 0);
	ck_assert_int_eq(profile_sample(p, &location, 1, NULL, 0, &value), 0);
	return p;
}

static const struct rename_files none;

static struct profile *
renamed(const struct profile *in, bool has_debug, struct quality *q)
{
	struct host host = {.ask = answer};
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c = symbols_cache_new(0);
	struct profile *out = NULL;

	host.arg = has_debug ? (void *)&host : NULL;
	ck_assert_int_eq(rename_profile(&host, c, &none, in, &out, q), 0);
	return out;
}

static void
write_folded(const struct profile *p, struct buf *out)
{
	static const struct export_meta meta = {.type = "cpu"};
	CLEANUP_TREE struct tree *t = NULL;

	ck_assert_int_eq(tree_new(p, 0, &t), 0);
	ck_assert_int_eq(format_find("folded")->write(t, &meta, out), 0);
}

TEST(a_debug_file_of_the_build_id_names_functions)
{
	char id[2 * HOST_BUILD_ID + 1] = "";
	struct quality q;

	sink = known_function(1);
	own_build_id(id);
	{
		CLEANUP_PROFILE struct profile *in = unnamed(id);
		CLEANUP_PROFILE struct profile *out = renamed(in, true, &q);
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

		write_folded(out, &text);
		ck_assert_str_eq(buf_str(&text), "known_function 7\n");
		ck_assert_uint_eq(out->locations[0].address,
		                  in->locations[0].address);
	}
	ck_assert_int_eq(q.frames, 7);
	ck_assert_int_eq(q.symbolized, 7);
	ck_assert_int_eq(q.modules, 1);
}
END

TEST(one_of_another_build_id_does_not)
{
	static const char *const ids[] = {"", "0", "0011", "zz",
	                                  "00112233445566778899aabbccddeeff0011"
	                                  "22334455"};

	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		CLEANUP_PROFILE struct profile *in = unnamed(ids[i]);
		struct quality q;
		CLEANUP_PROFILE struct profile *out = renamed(in, true, &q);

		ck_assert_uint_eq(out->locations[0].nlines, 0);
		ck_assert_int_eq(q.symbolized, 0);
		ck_assert_int_eq(q.modules, 0);
	}
}
END

TEST(without_debug_files_a_profile_stays_as_it_is)
{
	CLEANUP_PROFILE struct profile *in =
		profile_of("main;work;f@libc.so 3\nmain;idle 1\nmain;work 2\n");
	struct quality q;
	CLEANUP_PROFILE struct profile *out = renamed(in, false, &q);
	CLEANUP_BUF struct buf a = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_uint_eq(out->nsamples, in->nsamples);
	ck_assert_uint_eq(out->nlocations, in->nlocations);
	ck_assert_int_eq(out->time_ns, in->time_ns);
	ck_assert_int_eq(out->period, in->period);
	for (uint32_t i = 0; i < in->nsamples * in->ntypes; i++)
		ck_assert_int_eq(out->values[i], in->values[i]);
	write_folded(in, &a);
	write_folded(out, &b);
	ck_assert_str_eq(buf_str(&a), buf_str(&b));
}
END

/* A profile with something in each field that a viewer shows. */
static struct profile *
full(void)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	struct mapping m = {.start = 0x1000, .limit = 0x2000, .offset = 0x10};
	struct function f = {.start_line = 40};
	struct line lines[2] = {{.line = 42}, {.line = 43}};
	struct label label = {.num = 5};
	uint32_t at[2], mapping;
	static const int64_t values[2] = {3, -4};
	int rc = profile_type(p, "inuse", "objects")
	                 ?: profile_type(p, "space", "bytes");

	rc = rc ?: profile_comment(p, "first") ?: profile_comment(p, "second");
	rc = rc ?: profile_cstring(p, "space", &p->default_type);
	rc = rc ?: profile_cstring(p, "drop.*", &p->drop_frames);
	rc = rc ?: profile_cstring(p, "keep.*", &p->keep_frames);
	rc = rc ?: profile_cstring(p, "https://doc", &p->doc_url);
	rc = rc ?: profile_cstring(p, "period", &p->period_type.type);
	rc = rc ?: profile_cstring(p, "seconds", &p->period_type.unit);
	p->period = 512;
	p->time_ns = 1234;
	p->duration_ns = 5678;
	rc = rc ?: profile_cstring(p, "/lib/a.so", &m.file);
	rc = rc ?: profile_cstring(p, "0123", &m.build_id);
	rc = rc ?: profile_mapping(p, &m, &mapping);
	rc = rc ?: profile_cstring(p, "outer", &f.name);
	rc = rc ?: profile_cstring(p, "_Z5outer", &f.system_name);
	rc = rc ?: profile_cstring(p, "outer.cc", &f.file);
	rc = rc ?: profile_function(p, &f, &lines[1].function);
	rc = rc ?: profile_cstring(p, "inner", &f.name);
	rc = rc ?: profile_function(p, &f, &lines[0].function);
	rc = rc ?: profile_location(p, mapping, 0x1010, lines, 2, &at[0]);
	rc = rc ?: profile_location(p, PROFILE_NONE, 7, NULL, 0, &at[1]);
	rc = rc ?: profile_cstring(p, "size", &label.key);
	rc = rc ?: profile_cstring(p, "bytes", &label.unit);
	rc = rc ?: profile_sample(p, at, 2, &label, 1, values);
	rc = rc ?: profile_cstring(p, "large", &label.str);
	rc = rc ?: profile_sample(p, at, 1, &label, 1, values);
	ck_assert_int_eq(rc, 0);
	return TAKE(p);
}

struct texts {
	const struct profile *in, *out;
};

static void
same_text(const struct texts *t, uint32_t in, uint32_t out)
{
	size_t n;

	ck_assert_str_eq(strings_get(t->in->strings, in, &n),
	                 strings_get(t->out->strings, out, &n));
}

static void
same_header(const struct texts *t)
{
	const struct profile *in = t->in, *out = t->out;

	ck_assert_uint_eq(out->ntypes, 2);
	for (int i = 0; i < 2; i++) {
		same_text(t, in->types[i].type, out->types[i].type);
		same_text(t, in->types[i].unit, out->types[i].unit);
		same_text(t, in->comments[i], out->comments[i]);
	}
	ck_assert_uint_eq(out->ncomments, 2);
	same_text(t, in->default_type, out->default_type);
	same_text(t, in->drop_frames, out->drop_frames);
	same_text(t, in->keep_frames, out->keep_frames);
	same_text(t, in->doc_url, out->doc_url);
	same_text(t, in->period_type.type, out->period_type.type);
	same_text(t, in->period_type.unit, out->period_type.unit);
	ck_assert_int_eq(out->period, 512);
	ck_assert_int_eq(out->time_ns, 1234);
	ck_assert_int_eq(out->duration_ns, 5678);
}

static void
same_code(const struct texts *t)
{
	const struct location *l = t->out->locations;
	const struct mapping *m = t->out->mappings;

	ck_assert_uint_eq(t->out->nlocations, 2);
	ck_assert_uint_eq(l[0].mapping, 0);
	ck_assert_uint_eq(l[0].address, 0x1010);
	ck_assert_uint_eq(l[0].nlines, 2);
	ck_assert_uint_eq(l[1].mapping, PROFILE_NONE);
	ck_assert_uint_eq(l[1].address, 7);
	ck_assert_uint_eq(l[1].nlines, 0);
	ck_assert_uint_eq(m->start, 0x1000);
	ck_assert_uint_eq(m->limit, 0x2000);
	ck_assert_uint_eq(m->offset, 0x10);
	same_text(t, t->in->mappings->file, m->file);
	same_text(t, t->in->mappings->build_id, m->build_id);
	for (int i = 0; i < 2; i++) {
		const struct line *was = &t->in->lines[i];
		const struct line *is = &t->out->lines[l[0].line0 + i];
		const struct function *f = &t->in->functions[was->function];
		const struct function *g = &t->out->functions[is->function];

		ck_assert_int_eq(is->line, was->line);
		ck_assert_int_eq(g->start_line, 40);
		same_text(t, f->name, g->name);
		same_text(t, f->system_name, g->system_name);
		same_text(t, f->file, g->file);
	}
}

static void
same_labels(const struct texts *t)
{
	ck_assert_uint_eq(t->out->nsamples, 2);
	for (int i = 0; i < 2; i++) {
		const struct label *was = &t->in->labels[i];
		const struct label *is =
			&t->out->labels[t->out->samples[i].label0];

		ck_assert_uint_eq(t->out->samples[i].nlabels, 1);
		ck_assert_int_eq(is->num, 5);
		same_text(t, was->key, is->key);
		same_text(t, was->str, is->str);
		same_text(t, was->unit, is->unit);
		ck_assert_int_eq(t->out->values[2 * i], 3);
		ck_assert_int_eq(t->out->values[2 * i + 1], -4);
	}
}

TEST(nothing_that_a_profile_says_is_lost_when_it_gets_names)
{
	CLEANUP_PROFILE struct profile *in = full();
	struct quality q;
	CLEANUP_PROFILE struct profile *out = renamed(in, true, &q);
	const struct texts t = {in, out};

	same_header(&t);
	same_code(&t);
	same_labels(&t);
	/* two frames and one, of 3 samples each; the second has no name */
	ck_assert_int_eq(q.frames, 9);
	ck_assert_int_eq(q.symbolized, 6);
}
END

/* --- uploads -------------------------------------------------------------- */

/* Answers about this process as the opener does, and has no debug file. */
static int
answer_self(void *arg, const struct host_ask *ask, struct host_reply *reply,
            int fds[HOST_MAX_FDS], size_t *nfds)
{
	const char *path = ask->op == HOST_MAPS   ? "/proc/self/maps"
	                   : ask->op == HOST_FILE ? ask->path
	                                          : "/nowhere";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void)arg;
	*reply = (struct host_reply){.error = fd < 0 ? -ENOENT : 0};
	*nfds = fd >= 0;
	fds[0] = fd;
	return 0;
}

/* Finds the mapping of known_function in /proc/self/maps. */
static struct mapping
own_mapping(struct profile *p)
{
	FILE *f = fopen("/proc/self/maps", "re");
	struct mapping m = {0};
	char line[4500], path[4096];

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095s", &m.start,
		           &m.limit, &m.offset, path) == 4 &&
		    (uint64_t)known_function - m.start < m.limit - m.start)
			break;
	fclose(f);
	ck_assert_int_eq(profile_cstring(p, path, &m.file), 0);
	return m;
}

struct upload_case {
	bool build_id;  /* whether the upload has it */
	uint64_t moved; /* distance to the running mapping */
	bool running;
	bool named;
};

/* Makes a profile with known_function, unnamed, below a location with a
 * name. */
static struct profile *
upload_of(const struct upload_case *c)
{
	struct profile *p = profile_new();
	struct mapping m = own_mapping(p);
	struct line line = {.line = 1};
	struct function of = {0};
	uint32_t mapping, stack[2];
	char id[2 * HOST_BUILD_ID + 1] = "";
	const int64_t value = INT64_MAX;

	own_build_id(id);
	m.start += c->moved;
	m.limit += c->moved;
	ck_assert_int_eq(profile_type(p, "samples", "count"), 0);
	ck_assert_int_eq(profile_cstring(p, c->build_id ? id : "", &m.build_id),
	                 0);
	ck_assert_int_eq(profile_mapping(p, &m, &mapping), 0);
	ck_assert_int_eq(profile_cstring(p, "given", &of.name), 0);
	ck_assert_int_eq(profile_function(p, &of, &line.function), 0);
	ck_assert_int_eq(profile_location(p, mapping,
	                                  (uint64_t)known_function + c->moved,
	                                  NULL, 0, &stack[0]),
	                 0);
	ck_assert_int_eq(profile_location(p, mapping,
	                                  (uint64_t)unnamed + c->moved, &line,
	                                  1, &stack[1]),
	                 0);
	ck_assert_int_eq(profile_sample(p, stack, 2, NULL, 0, &value), 0);
	return p;
}

TEST(an_upload_is_named_by_files_that_processes_run)
{
	static const struct upload_case cases[] = {
		{true, 0, true, true},   {true, 1u << 20, true, true},
		{false, 0, true, true},  {false, 1u << 20, true, false},
		{true, 0, false, false}, {false, 0, false, false},
	};
	const struct host host = {.ask = answer_self};
	const int32_t pid = getpid();

	sink = known_function(1);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP_PROFILE struct profile *in = upload_of(&cases[i]);
		CLEANUP_PROFILE struct profile *out = NULL;
		CLEANUP_SYMBOLS_CACHE struct symbols_cache *c =
			symbols_cache_new(0);
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
		struct quality q;

		const struct rename_files files = {&pid, cases[i].running, NULL,
		                                   0};

		ck_assert_int_eq(rename_upload(&host, c, &files, in, &out, &q),
		                 0);
		profile_frame_name(out, 0, 0, &text);
		ck_assert_int_eq(!strcmp(buf_str(&text), "known_function"),
		                 cases[i].named);
		ck_assert_int_eq(q.frames, 2);
		ck_assert_int_eq(q.symbolized, 1 + cases[i].named);
		buf_clear(&text);
		profile_frame_name(out, 1, 0, &text);
		ck_assert_str_eq(buf_str(&text), "given");
	}
}
END

TEST(a_pushed_file_names_an_upload_if_it_has_the_build_id_that_it_should)
{
	static const struct upload_case unknown = {true, 0, false, false};
	const struct host host = {.ask = answer_self};
	CLEANUP_LOCAL_DEBUG struct local_debug own = {.bytes = BUF_INIT(0)};
	CLEANUP_FD int fd = memfd_create("pushed", MFD_CLOEXEC);
	char id[2 * HOST_BUILD_ID + 1] = "";

	own_build_id(id);
	ck_assert_int_eq(local_debug_read("/proc/self/exe", 1 << 30, &own), 0);
	ck_assert_str_eq(own.build_id, id);
	ck_assert_int_eq(fd_write_all(fd, own.bytes.p, own.bytes.len), 0);
	for (int good = 0; good < 2; good++) {
		CLEANUP_SYMBOLS_CACHE struct symbols_cache *c =
			symbols_cache_new(0);
		CLEANUP_PROFILE struct profile *in = upload_of(&unknown);
		CLEANUP_PROFILE struct profile *out = NULL;
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
		struct rename_pushed pushed = {id, good ? id : "00ff", fd,
		                               false, false};
		const struct rename_files files = {NULL, 0, &pushed, 1};
		struct quality q;

		ck_assert_int_eq(rename_upload(&host, c, &files, in, &out, &q),
		                 0);
		ck_assert_int_eq(pushed.used, good);
		ck_assert_int_eq(pushed.refused, !good);
		profile_frame_name(out, 0, 0, &text);
		ck_assert_int_eq(!strcmp(buf_str(&text), "known_function"),
		                 good);
		ck_assert_uint_eq(out->locations[0].nlines, good);
		ck_assert(!good || out->lines[0].line > 0);
	}
}
END

/* Opens this program, as if stripped or whole. */
static int
own_program(bool stripped)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(1 << 30);
	int fd = memfd_create("program", MFD_CLOEXEC);
	Elf64_Ehdr head;

	ck_assert_int_eq(file_read(AT_FDCWD, "/proc/self/exe", &bytes), 0);
	memcpy(&head, bytes.p, sizeof(head));
	if (stripped)
		head.e_shoff = head.e_shnum = head.e_shstrndx = 0;
	memcpy(bytes.p, &head, sizeof(head));
	ck_assert_int_eq(fd_write_all(fd, bytes.p, bytes.len), 0);
	return fd;
}

/* Returns whether an upload of this program is named. */
static bool
named_with(bool running, struct rename_pushed *pushed)
{
	const struct upload_case own = {true, 0, running, true};
	const struct host host = {.ask = answer_self};
	const int32_t pid = getpid();
	const struct rename_files files = {&pid, running, pushed, 1};
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c = symbols_cache_new(0);
	CLEANUP_PROFILE struct profile *in = upload_of(&own), *out = NULL;
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	struct quality q;

	ck_assert_int_eq(rename_upload(&host, c, &files, in, &out, &q), 0);
	profile_frame_name(out, 0, 0, &text);
	return !strcmp(buf_str(&text), "known_function");
}

TEST(a_program_with_debug_information_that_runs_is_used_before_what_is_pushed)
{
	char id[2 * HOST_BUILD_ID + 1] = "";

	own_build_id(id);
	for (int stripped = 0; stripped < 2; stripped++) {
		CLEANUP_FD int fd = own_program(stripped);
		struct rename_pushed pushed = {id, id, fd, false, false};

		ck_assert(named_with(true, &pushed));
		ck_assert(!pushed.used);
		ck_assert(!pushed.refused);
	}
}
END

TEST(a_pushed_file_without_symbols_is_refused)
{
	CLEANUP_FD int fd = own_program(true);
	char id[2 * HOST_BUILD_ID + 1] = "";
	struct rename_pushed pushed = {id, id, fd, false, false};

	own_build_id(id);
	ck_assert(!named_with(false, &pushed));
	ck_assert(!pushed.used);
	ck_assert(pushed.refused);
}
END

TEST(what_is_pushed_has_no_code)
{
	CLEANUP_LOCAL_DEBUG struct local_debug own = {.bytes = BUF_INIT(0)};
	CLEANUP_ELF struct elf_image *whole = NULL, *e = NULL;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(elf_open_fd(fd, &whole), 0);
	ck_assert_int_eq(local_debug_read("/proc/self/exe", 1 << 30, &own), 0);
	ck_assert_int_eq(elf_open_memory(own.bytes.p, own.bytes.len, &e), 0);
	ck_assert_uint_lt(own.bytes.len, whole->size);
	ck_assert_ptr_nonnull(elf_section(whole, ".text"));
	ck_assert_ptr_null(elf_section(e, ".text"));
	ck_assert_ptr_null(elf_section(e, ".rodata"));
	ck_assert_ptr_nonnull(elf_section(e, ".symtab"));
}
END

TEST(a_file_without_symbols_is_not_pushed)
{
	struct local_debug unread;

	ck_assert_int_eq(local_debug_read("/proc/self/stat", 1 << 30, &unread),
	                 -ENOEXEC);
	ck_assert_int_eq(local_debug_read("/bin/true", 1 << 30, &unread),
	                 -ENODATA);
}
END

TEST(a_missing_debug_file_of_an_upload_is_asked_for)
{
	static const struct upload_case unknown = {true, 0, false, false};
	struct host_debugs debugs = {.n = 0};
	const struct host host = {.ask = answer_self, .debugs = &debugs};
	CLEANUP_SYMBOLS_CACHE struct symbols_cache *c = symbols_cache_new(0);
	CLEANUP_PROFILE struct profile *in = upload_of(&unknown), *out = NULL;
	struct quality q;

	ck_assert_int_eq(rename_upload(&host, c, &none, in, &out, &q), 0);
	ck_assert_uint_eq(debugs.n, 1);
	ck_assert_int_eq(debugs.rows[0].state, HOST_DEBUG_NONE);
}
END

SUITE("rename");
