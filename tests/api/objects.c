/* A pool that stores profiles in an object store. */
#include "base/clock.h"
#include "lib/api_short.h"
#include "lib/object_store.h"
#include "store/blob.h"
#include "store/s3.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SESSIONS "/api/v1/profiling/sessions"
#define UPLOAD   SESSIONS "?service=" TEST_SERVICE "&type=cpu&sampleRate=100"

struct fixture {
	struct objects *o;
	char key_dir[32];
	struct test_api a;
};

/* accel: the size from which nginx sends profiles; times are in seconds. */
static struct fixture
fixture_with(const char *accel, int request_time, int timeout)
{
	struct fixture f = {.o = objects_start(),
	                    .key_dir = "/tmp/stoker-key.XXXXXX"};
	char extra[1024];
	struct conf conf;

	ck_assert_ptr_nonnull(mkdtemp(f.key_dir));
	objects_conf(f.o, f.key_dir, &conf);
	snprintf(extra, sizeof(extra),
	         "request_time = %ds\naccel_bytes = %s\nkept_bytes = 0\n"
	         "[store]\nbytes = s3\n"
	         "[s3]\nendpoint = %s\nbucket = %s\nprefix = %s\n"
	         "key_file = %s\ntimeout = %ds",
	         request_time, accel, conf.s3_endpoint, conf.s3_bucket,
	         conf.s3_prefix, conf.s3_key_file, timeout);
	f.a = test_api(1, extra);
	return f;
}

static struct fixture
fixture(const char *accel)
{
	return fixture_with(accel, 3, 2);
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
	ck_assert_uint_eq(objects_count(f.o), 1); /* the object of r */
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
	gone = api_say(&f.a, KEY_OPERATOR, "DELETE",
	               client_header(&one, "Location"), NULL);
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

/* --- whatever it does, at any request ------------------------------------- */

#define BOUND_S 15 /* far beyond request_time and [s3] timeout */

/* Two uploads, and a request that reads or adds one. */
struct pair {
	struct client_reply one, two;
};

static struct client_reply
ask_upload(struct fixture *f, const struct pair *p)
{
	(void)p;
	return upload(f);
}

static struct client_reply
ask_folded(struct fixture *f, const struct pair *p)
{
	return graph_of(f, &p->one, "folded");
}

static struct client_reply
ask_pprof(struct fixture *f, const struct pair *p)
{
	return graph_of(f, &p->one, "pprof");
}

static struct client_reply
ask_both(struct fixture *f, const struct pair *p, const char *what)
{
	const char *one = strrchr(client_header(&p->one, "Location"), '/');
	const char *two = strrchr(client_header(&p->two, "Location"), '/');
	char path[256];

	snprintf(path, sizeof(path),
	         API_PROFILES
	         "/%s?baseProfileId=%s&comparisonProfileId=%s&format=json",
	         what, one + 1, two + 1);
	return ask(&f->a, (struct ask){.key = KEY_VIEWER, .path = path});
}

static struct client_reply
ask_diff(struct fixture *f, const struct pair *p)
{
	return ask_both(f, p, "diff");
}

static struct client_reply (*const requests[])(struct fixture *f,
                                               const struct pair *p) = {
	ask_upload, ask_folded, ask_pprof, ask_diff};

/* Returns whether the object store claims success in this mood, but lies. */
static bool
lies(enum objects_mood mood)
{
	return mood == OBJECTS_FLOOD || mood == OBJECTS_SHORT ||
	       mood == OBJECTS_LONG || mood == OBJECTS_OTHER;
}

/* Makes a request whose nth request to the object store meets this mood. Adds
 * accepted profiles to *kept; returns false once there is no nth request. */
static bool
attempt(struct fixture *f, size_t request, enum objects_mood mood, int n,
        size_t *kept)
{
	struct pair p = {upload(f), upload(f)};
	CLEANUP_REPLY struct client_reply r = {0}, after = {0};
	int64_t began = clock_mono_ns();

	objects_spoil(f->o, mood, n);
	r = requests[request](f, &p);
	ck_assert_msg((clock_mono_ns() - began) / NS_PER_S < BOUND_S,
	              "request %zu, mood %d at %d took too long", request,
	              (int)mood, n);
	if (r.status == 500 && lies(mood))
		assert_error(&r, 500, "ProfileDamaged");
	else if (r.status / 100 != 2 &&
	         strcmp(reply_text(&r, "error_code"), "RequestTooSlow") != 0)
		assert_error(&r, 503, "StoreUnavailable");
	n = objects_spoiled(f->o);
	*kept += 2 + (r.status == 201 && !(n && mood == OBJECTS_FLOOD));
	objects_mood(f->o, OBJECTS_FINE);
	after = graph_of(f, r.status == 201 && !lies(mood) ? &r : &p.one,
	                 "folded");
	ck_assert_str_eq(buf_str(&after.body), "main 1\nmain;work 3\n");
	ck_assert_int_eq(waitpid(f->a.pids[0], NULL, WNOHANG), 0);
	client_reply_done(&p.one);
	client_reply_done(&p.two);
	return n;
}

TEST(whatever_an_object_store_does_a_request_has_an_answer)
{
	CLEANUP_FIXTURE struct fixture f = fixture_with("16M", 1, 1);
	size_t kept = 0;

	for (int mood = OBJECTS_FINE + 1; mood < OBJECTS_MOODS; mood++)
		for (size_t i = 0; i < ARRAY_LEN(requests); i++)
			for (int n = 1;
			     attempt(&f, i, (enum objects_mood)mood, n, &kept);
			     n++)
				;
	ck_assert_str_eq(objects_refused(f.o), "");
	/* what was put for refused uploads is dropped, and nothing else */
	objects_pass(f.o, S3_SETTLED_MS / MS_PER_S + 2);
	ck_assert_int_eq(upkeep(&f), 0);
	ck_assert_uint_eq(objects_count(f.o), kept);
}
END

TEST(whatever_an_object_store_does_upkeep_ends_and_drops_no_other)
{
	CLEANUP_FIXTURE struct fixture f = fixture_with("16M", 1, 1);
	CLEANUP_REPLY struct client_reply kept = upload(&f), graph = {0};

	objects_pass(f.o, S3_SETTLED_MS / MS_PER_S + 2);
	for (int mood = OBJECTS_FINE + 1; mood < OBJECTS_MOODS; mood++)
		for (int n = 1, more = 1; more; n++) {
			CLEANUP_REPLY struct client_reply one = upload(&f),
							  gone = {0};
			int64_t began = clock_mono_ns();

			gone = api_say(&f.a, KEY_OPERATOR, "DELETE",
			               client_header(&one, "Location"), NULL);
			ck_assert_int_eq(gone.status, 204);
			objects_spoil(f.o, (enum objects_mood)mood, n);
			(void)!upkeep(&f);
			ck_assert_msg((clock_mono_ns() - began) / NS_PER_S <
			                      BOUND_S,
			              "mood %d at %d took too long", mood, n);
			more = objects_spoiled(f.o);
			objects_mood(f.o, OBJECTS_FINE);
		}
	/* profiles that were stored, though the object store denied it, are
	 * dropped later */
	objects_pass(f.o, S3_SETTLED_MS / MS_PER_S + 2);
	ck_assert_int_eq(upkeep(&f), 0);
	ck_assert_uint_eq(objects_count(f.o), 1);
	graph = graph_of(&f, &kept, "folded");
	ck_assert_int_eq(graph.status, 200);
	ck_assert_str_eq(objects_refused(f.o), "");
}
END

static pid_t
start_keeper(const struct fixture *f)
{
	const char *build = getenv("B");
	char program[256];
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(program, sizeof(program), "%s/stoker-api",
	         build ? build : "build");
	execl(program, program, "--keeper", "--config", f->a.conf, NULL);
	_exit(127);
}

/* The keeper drops the deleted profile between two parts of the list. */
TEST(a_list_that_never_ends_keeps_the_keeper_from_nothing)
{
	CLEANUP_FIXTURE struct fixture f = fixture("16M");
	CLEANUP_REPLY struct client_reply one = upload(&f), two = upload(&f),
					  gone = {0};
	int status = -1, before = objects_requests(f.o);
	pid_t keeper;

	objects_mood(f.o, OBJECTS_ENDLESS);
	keeper = start_keeper(&f);
	while (objects_requests(f.o) < before + 20)
		poll(NULL, 0, 10);
	gone = api_say(&f.a, KEY_OPERATOR, "DELETE",
	               client_header(&one, "Location"), NULL);
	ck_assert_int_eq(gone.status, 204);
	while (objects_count(f.o) > 1)
		poll(NULL, 0, 10);
	ck_assert_int_eq(kill(keeper, SIGTERM), 0);
	ck_assert_int_eq(waitpid(keeper, &status, 0), keeper);
	ck_assert_int_eq(status, 0);
}
END

SUITE("objects", .seconds = 180);
