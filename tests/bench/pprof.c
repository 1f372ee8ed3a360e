/*
 * Measures the costs of reading, merging and writing pprof files.
 *
 *	pprof make FILES SAMPLES DIR	writes DIR/0.pb.gz ...
 *	pprof decode FILE		MB/s of raw bytes: ours, protobuf-c's
 *	pprof peak ours|theirs FILE RAW	peak of memory by RAW, bytes of FILE
 *					when inflated
 *	pprof merge OUT FILE...		as go tool pprof -proto does
 *
 * FILES share their functions and most of their stacks, as captures of one
 * service do.
 */
#include "profile/pprof.h"
#include "base/file.h"
#include "profile.pb-c.h"
#include "profile/gzip.h"
#include "profile/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MAX_RAW   ((size_t)1 << 30)
#define FUNCTIONS 15000
#define LOCATIONS 40000
#define DEPTH     30
#define ROUNDS    5

static double
cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
must(int rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-rc));
	exit(1);
}

static void
load(const char *path, struct buf *out)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(fd < 0 ? -errno : fd_read_all(fd, out), path);
}

/* --- make ----------------------------------------------------------------- */

static uint64_t seed;

static uint32_t
random_below(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)((seed >> 33) % n);
}

static void
add_locations(struct profile *p)
{
	struct mapping m = {.start = 0x400000, .limit = 0x4000000};
	uint32_t mapping, at;
	char name[128];

	must(profile_cstring(p, "/usr/bin/service", &m.file), "file");
	must(profile_cstring(p, "0123456789abcdef0123", &m.build_id), "id");
	must(profile_mapping(p, &m, &mapping), "mapping");
	for (uint32_t i = 0; i < LOCATIONS; i++) {
		struct function f = {.start_line = i % 900};
		struct line line = {.line = i % 997};

		snprintf(name, sizeof(name),
		         "service/internal/package%u.(*Type%u).method%u",
		         i % 211, i % 1009, i % FUNCTIONS);
		must(profile_cstring(p, name, &f.name), "name");
		f.system_name = f.name;
		snprintf(name, sizeof(name),
		         "/src/internal/package%u/file%u.go", i % 211,
		         i % FUNCTIONS / 10);
		must(profile_cstring(p, name, &f.file), "name");
		must(profile_function(p, &f, &line.function), "function");
		must(profile_location(p, mapping, 0x400000 + i * 16, &line, 1,
		                      &at),
		     "location");
	}
}

static void
make_file(const char *dir, unsigned number, uint32_t samples)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_BUF struct buf out = BUF_INIT(MAX_RAW);
	CLEANUP_FD int fd = -1;
	char path[4096];

	must(profile_type(p, "samples", "count"), "type");
	must(profile_type(p, "cpu", "nanoseconds"), "type");
	add_locations(p);
	for (uint32_t i = 0; i < samples; i++) {
		uint32_t stack[DEPTH];
		const int64_t v[] = {1 + random_below(9), 10000000};

		/* nine of ten stacks are in every file */
		seed = i % 10 ? i : (uint64_t)i << 20 | number;
		for (int k = 0; k < DEPTH; k++)
			stack[k] = random_below(LOCATIONS);
		must(profile_sample(p, stack, DEPTH, NULL, 0, v), "sample");
	}
	must(pprof_encode(p, &out), "encode");
	snprintf(path, sizeof(path), "%s/%u.pb.gz", dir, number);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	must(fd < 0 ? -errno : fd_write_all(fd, out.p, out.len), path);
}

/* --- decode --------------------------------------------------------------- */

static double
decode_ours(const struct buf *raw)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct profile *p = NULL;
	double start = cpu_s();

	must(pprof_decode(raw->p, raw->len, MAX_RAW, &p, &why), buf_str(&why));
	profile_free(p);
	return (double)raw->len / 1e6 / (cpu_s() - start);
}

/* Does the checks of our decoder, for files whose ids are 1 to n. */
static int
check_theirs(const Bench__Profile *p)
{
	for (size_t i = 0; i < p->n_sample; i++) {
		const Bench__Sample *s = p->sample[i];

		if (s->n_value != p->n_sample_type)
			return -EBADMSG;
		for (size_t k = 0; k < s->n_location_id; k++)
			if (s->location_id[k] - 1 >= p->n_location)
				return -EBADMSG;
	}
	for (size_t i = 0; i < p->n_location; i++)
		for (size_t k = 0; k < p->location[i]->n_line; k++)
			if (p->location[i]->line[k]->function_id - 1 >=
			    p->n_function)
				return -EBADMSG;
	for (size_t i = 0; i < p->n_function; i++)
		if ((size_t)p->function[i]->name >= p->n_string_table ||
		    (size_t)p->function[i]->filename >= p->n_string_table)
			return -EBADMSG;
	return 0;
}

static double
decode_theirs(const struct buf *raw)
{
	double start = cpu_s();
	Bench__Profile *p =
		bench__profile__unpack(NULL, raw->len, (const uint8_t *)raw->p);

	must(p ? check_theirs(p) : -EBADMSG, "protobuf-c");
	bench__profile__free_unpacked(p, NULL);
	return (double)raw->len / 1e6 / (cpu_s() - start);
}

/* --- peak ----------------------------------------------------------------- */

/* Returns a value from /proc/self/status, in bytes. */
static double
status_bytes(const char *name)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	const char *at;

	load("/proc/self/status", &text);
	at = strstr(buf_str(&text), name);
	must(at ? 0 : -ENOENT, name);
	return strtod(at + strlen(name) + 1, NULL) * 1024;
}

static size_t
peak_ours(const struct buf *file)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;

	must(pprof_decode(file->p, file->len, MAX_RAW, &p, &why),
	     buf_str(&why));
	return p->nsamples;
}

static size_t
peak_theirs(const struct buf *file)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(MAX_RAW);
	Bench__Profile *p;
	size_t n;

	must(gzip_inflate(file->p, file->len, &raw), "inflate");
	p = bench__profile__unpack(NULL, raw.len, (const uint8_t *)raw.p);
	must(p ? check_theirs(p) : -EBADMSG, "protobuf-c");
	n = p->n_sample;
	bench__profile__free_unpacked(p, NULL);
	return n;
}

/* Measures in a new process the growth of resident memory, including the
 * inflated file. */
static void
peak(const char *whose, const char *path, const char *raw_bytes)
{
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_RAW);
	double before;

	load(path, &file);
	before = status_bytes("VmRSS:");
	if (!(*whose == 'o' ? peak_ours : peak_theirs)(&file))
		exit(1);
	printf("%.2f\n",
	       (status_bytes("VmHWM:") - before) / strtod(raw_bytes, NULL));
}

static void
decode(const char *path)
{
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_RAW);
	CLEANUP_BUF struct buf raw = BUF_INIT(MAX_RAW);

	load(path, &file);
	must(gzip_inflate(file.p, file.len, &raw), path);
	for (int i = 0; i < ROUNDS; i++) {
		double ours = decode_ours(&raw), theirs = decode_theirs(&raw);

		printf("%.1f %.1f\n", ours, theirs);
	}
}

/* --- merge ---------------------------------------------------------------- */

static void
merge(const char *to, char **paths, int n)
{
	CLEANUP_BUF struct buf out = BUF_INIT(MAX_RAW);
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_FD int fd = -1;

	must(merge_new(MAX_RAW, &m), "merge");
	for (int i = 0; i < n; i++) {
		CLEANUP_BUF struct buf file = BUF_INIT(MAX_RAW);
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

		load(paths[i], &file);
		must(merge_add_file(m, file.p, file.len, MAX_RAW, &why),
		     paths[i]);
	}
	must(merge_end(m, &p), "merge");
	must(pprof_encode(p, &out), "encode");
	fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	must(fd < 0 ? -errno : fd_write_all(fd, out.p, out.len), to);
}

int
main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "make"))
		for (int i = 0; i < atoi(argv[2]); i++)
			make_file(argv[4], (unsigned)i,
			          (uint32_t)atoi(argv[3]));
	else if (argc == 3 && !strcmp(argv[1], "decode"))
		decode(argv[2]);
	else if (argc == 5 && !strcmp(argv[1], "peak"))
		peak(argv[2], argv[3], argv[4]);
	else if (argc > 3 && !strcmp(argv[1], "merge"))
		merge(argv[2], argv + 3, argc - 3);
	else
		return 1;
	return 0;
}
