/* A pool that keeps profiles in an object store. */
#include "base/clock.h"
#include "lib/api_short.h"
#include "lib/object_store.h"
#include "store/blob.h"
#include "store/s3.h"

#include <string.h>
#include <unistd.h>

#define SESSIONS "/api/v1/profiling/sessions"
#define UPLOAD   SESSIONS "?service=" TEST_SERVICE "&type=cpu&sampleRate=100"

struct fixture {
	struct objects *o;
	char key_dir[32];
	struct test_api a;
};

/* accel: from how many bytes on nginx sends profiles. */
static struct fixture
fixture(const char *accel)
{
	struct fixture f = {.o = objects_start(),
	                    .key_dir = "/tmp/stoker-key.XXXXXX"};
	char extra[1024];
	struct conf conf;

	ck_assert_ptr_nonnull(mkdtemp(f.key_dir));
	objects_conf(f.o, f.key_dir, &conf);
	snprintf(extra, sizeof(extra),
	         "request_time = 3s\naccel_bytes = %s\n[store]\nbytes = s3\n"
	         "[s3]\nendpoint = %s\nbucket = %s\nprefix = %s\n"
	         "key_file = %s\ntimeout = 2s",
	         accel, conf.s3_endpoint, conf.s3_bucket, conf.s3_prefix,
	         conf.s3_key_file);
	f.a = test_api(1, extra);
	return f;
}

static void
fixture_done(struct fixture *f)
{
	test_api_done(&f->a);
	objects_stop(f->o);
	test_remove(f->key_dir);
}
#define CLEANUP_FIXTURE CLEANUP(fixture_done)

static struct client_reply
upload(struct fixture *f)
{
	return api_send(&f->a, UPLOAD, "text/plain", "main;work 3\nmain 1\n",
	                19);
}

static struct client_reply
graph_of(struct fixture *f, const struct client_reply *uploaded,
         const char *format)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/flamegraph?format=%s",
	         client_header(uploaded, "Location"), format);
	return ask(&f->a, (struct ask){.key = KEY_VIEWER, .path = path});
}

TEST(an_upload_goes_to_the_object_store_and_is_read_from_there)
{
	CLEANUP_FIXTURE struct fixture f = fixture("16M");
	CLEANUP_REPLY struct client_reply r = upload(&f), graph = {0};

	ck_assert_msg(r.status == 201, "%s", buf_str(&r.body));
	ck_assert_uint_eq(objects_count(f.o), 1);
	graph = graph_of(&f, &r, "folded");
	ck_assert_str_eq(buf_str(&graph.body), "main 1\nmain;work 3\n");
	ck_assert_str_eq(objects_refused(f.o), "");
}
END

TEST(an_object_store_that_does_not_answer_is_503_in_time)
{
	static const enum objects_mood moods[] = {OBJECTS_HANG, OBJECTS_REFUSE,
	                                          OBJECTS_FORBID};
	CLEANUP_FIXTURE struct fixture f = fixture("16M");
	CLEANUP_REPLY struct client_reply r = upload(&f);

	for (size_t i = 0; i < ARRAY_LEN(moods); i++) {
		CLEANUP_REPLY struct client_reply sent = {0}, graph = {0};

		objects_mood(f.o, moods[i]);
		sent = upload(&f);
		assert_error(&sent, 503, "StoreUnavailable");
		ck_assert_ptr_nonnull(client_header(&sent, "Retry-After"));
		graph = graph_of(&f, &r, "folded");
		assert_error(&graph, 503, "StoreUnavailable");
		ck_assert_ptr_nonnull(client_header(&graph, "Retry-After"));
	}
	objects_mood(f.o, OBJECTS_FINE);
	ck_assert_uint_eq(objects_count(f.o), 1); /* that of r */
}
END

TEST(a_big_profile_is_named_to_nginx_by_a_signed_path)
{
	static const char begin[] = "/_objects/" OBJECTS_BUCKET "/one/";
	CLEANUP_FIXTURE struct fixture f = fixture("0");
	CLEANUP_REPLY struct client_reply r = upload(&f), file = {0};
	const char *where;

	file = graph_of(&f, &r, "pprof");
	where = client_header(&file, "X-Accel-Redirect");
	ck_assert_ptr_nonnull(where);
	ck_assert(!strncmp(where, begin, sizeof(begin) - 1));
	ck_assert_ptr_nonnull(strstr(where, "&X-Amz-Signature="));
	ck_assert_ptr_null(strstr(where, OBJECTS_SECRET));
}
END

TEST(a_profile_from_before_the_object_store_is_read_from_its_file)
{
	CLEANUP_FIXTURE struct fixture f = fixture("16M");
	CLEANUP_REPLY struct client_reply graph = {0};
	char id[ID_MAX], path[128];

	test_profile(&f.a, id); /* stored before the restart */
	snprintf(path, sizeof(path),
	         API_PROFILES "/%s/flamegraph?format=folded", id);
	graph = ask(&f.a, (struct ask){.key = KEY_VIEWER, .path = path});
	ck_assert_int_eq(graph.status, 200);
	ck_assert_uint_eq(objects_count(f.o), 0);
}
END

static int
upkeep(struct fixture *f)
{
	const char *build = getenv("B");
	char line[512];

	snprintf(line, sizeof(line),
	         "%s/stoker-api --upkeep --config %s 2>/dev/null",
	         build ? build : "build", f->a.conf);
	return system(line);
}

TEST(upkeep_drops_the_objects_of_deleted_profiles)
{
	CLEANUP_FIXTURE struct fixture f = fixture("16M");
	CLEANUP_REPLY struct client_reply one = upload(&f), two = upload(&f),
					  gone = {0}, graph = {0};

	ck_assert_uint_eq(objects_count(f.o), 2);
	gone = ask(&f.a, (struct ask){.key = KEY_OPERATOR,
	                              .method = "DELETE",
	                              .path = client_header(&one, "Location")});
	ck_assert_int_eq(gone.status, 204);
	objects_plant(f.o, "one/aa/blob-aa.pb.gz", "of no row, and young");
	ck_assert_int_eq(upkeep(&f), 0);
	ck_assert_uint_eq(objects_count(f.o), 2);
	objects_pass(f.o, S3_SETTLED_MS / MS_PER_S + 2);
	ck_assert_int_eq(upkeep(&f), 0);
	ck_assert_uint_eq(objects_count(f.o), 1);
	graph = graph_of(&f, &two, "folded");
	ck_assert_int_eq(graph.status, 200);
	objects_mood(f.o, OBJECTS_REFUSE);
	ck_assert_int_ne(upkeep(&f), 0);
}
END

SUITE("objects", .seconds = 60);
