/*
 * Puts a finished profile into a store, as an upload would, and prints its
 * id: what the benches of the API read.
 *
 *	seed STORE_DIR TENANT SERVICE NODES TOP
 *
 * Its call tree has about NODES nodes, its result TOP top functions.
 */
#include "lib/store.h"
#include "profile/pprof.h"
#include "profile/summary.h"
#include "store/blob.h"
#include "store/service.h"
#include "store/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SHARED    6  /* frames that stacks share */
#define TAIL      10 /* frames at the end of a stack that only it has */
#define SAMPLE_NS 10000000

static void
must(int rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "seed: %s: %s\n", what, strerror(-rc));
	exit(1);
}

static uint32_t
frame(struct profile *p, uint32_t mapping, unsigned number)
{
	struct function f = {0};
	struct line line = {0};
	uint32_t location;
	char name[80];

	snprintf(name, sizeof(name), "shop::%s::step_%u(int, char const*)",
	         number % 2 ? "cart" : "stock", number);
	must(profile_cstring(p, name, &f.name), "name");
	must(profile_function(p, &f, &line.function), "function");
	must(profile_location(p, mapping, 0x1000 + 16ull * number, &line, 1,
	                      &location),
	     "location");
	return location;
}

/*
 * Adds stack i: a path of shared frames, then a tail of frames that only it
 * has.
 */
static void
add_stack(struct profile *p, uint32_t mapping, unsigned i)
{
	uint32_t stack[SHARED + TAIL];
	int64_t weight = 1 + i % 7;
	int64_t values[] = {weight, weight * SAMPLE_NS};
	unsigned prefix = i;

	for (unsigned k = 0; k < SHARED; k++, prefix /= 4)
		stack[TAIL + k] = frame(p, mapping, k * 10 + prefix % 4);
	for (unsigned k = 0; k < TAIL; k++)
		stack[k] = frame(p, mapping, 100 + (i * TAIL + k) % 5000);
	must(profile_sample(p, stack, SHARED + TAIL, NULL, 0, values),
	     "sample");
}

static struct profile *
synthetic(unsigned nodes)
{
	struct profile *p = profile_new();
	struct mapping m = {.start = 0x1000, .limit = 0x1000000};
	uint32_t mapping;

	must(p ? 0 : -ENOMEM, "profile");
	must(profile_type(p, "samples", "count"), "type");
	must(profile_type(p, "cpu", "nanoseconds"), "type");
	must(profile_cstring(p, "/usr/bin/shop", &m.file), "file");
	must(profile_mapping(p, &m, &mapping), "mapping");
	for (unsigned i = 0; i < nodes / TAIL; i++)
		add_stack(p, mapping, i);
	return p;
}

static void
add_service(struct store *s, const char *tenant, const char *name)
{
	const struct service v = test_no_match(tenant, name);
	int rc = service_add(s, &v);

	must(rc == -EEXIST ? 0 : rc, "service");
}

static void
add_session(struct store *s, const char *tenant, const char *service,
            const struct profile *p, uint32_t top)
{
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_BUF struct buf pprof = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf functions = BUF_INIT(BUF_MAX_REPLY);
	struct session_ask ask = {
		.tenant = tenant,
		.service = service,
		.type = "cpu",
		.origin = SESSION_UPLOAD,
		.ordinal = SESSION_ALL_ORDINALS,
		.seconds = 60,
		.rate = 100,
		.labels = "{}",
		.created_by = "bench",
	};
	struct session_result result = {.duration_ms = 60000, .rate = 99};
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;
	struct blob blob;
	char id[ID_MAX];

	must(tree_new(p, 1, &t), "tree");
	must(summary_top(t, top, &functions), "top functions");
	must(pprof_encode(p, &pprof), "encode");
	must(blob_put(s, BLOB_PPROF, pprof.p, pprof.len, &w, &blob), "blob");
	result.sample_count = t->samples[0];
	result.top_functions = buf_str(&functions);
	result.quality = "{}";
	must(session_upload(s, &ask, &result, &blob, id), "session");
	fprintf(stderr, "seed: %u nodes, %zu bytes\n", t->n, pprof.len);
	puts(id);
}

int
main(int argc, char **argv)
{
	CLEANUP_STORE struct store s = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	struct conf conf;

	if (argc != 6) {
		fputs("usage: seed STORE_DIR TENANT SERVICE NODES TOP\n",
		      stderr);
		return 2;
	}
	conf = test_conf(argv[1]);
	must(store_open(&conf, false, &s, &why), argv[1]);
	add_service(&s, argv[2], argv[3]);
	p = synthetic((unsigned)atoi(argv[4]));
	add_session(&s, argv[2], argv[3], p, (uint32_t)atoi(argv[5]));
	return 0;
}
