/* The object store: signatures, and the harm that a slow or hostile one can
 * do. */
#include "store/s3.h"

#include "base/clock.h"
#include "lib/listener.h"
#include "lib/object_store.h"
#include "lib/sigv4.h"
#include "lib/store.h"
#include "store/blob.h"
#include "store/files/s3_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAME    "aa/blob-aa2345.pb.gz"
#define SECONDS 10

/* --- the check of signatures itself --------------------------------------- */

#define EXAMPLE_KEY    "AKIAIOSFODNN7EXAMPLE"
#define EXAMPLE_SECRET "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define EMPTY_HASH \
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define CREDENTIAL                                 \
	"AWS4-HMAC-SHA256 Credential=" EXAMPLE_KEY \
	"/20130524/us-east-1/s3/aws4_request, SignedHeaders="
#define COMMON                                      \
	{"host", "examplebucket.s3.amazonaws.com"}, \
	{                                           \
		"x-amz-date", "20130524T000000Z"    \
	}

static const struct sigv4_request examples[] = {
	{"GET",
         "/test.txt",
         "",
         {COMMON,
          {"range", "bytes=0-9"},
          {"x-amz-content-sha256", EMPTY_HASH},
          {"authorization", CREDENTIAL
           "host;range;x-amz-content-sha256;x-amz-date, Signature="
           "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"}},
         5,
         "",
         0},
	{"PUT",
         "/test%24file.text",
         "",
         {COMMON,
          {"date", "Fri, 24 May 2013 00:00:00 GMT"},
          {"x-amz-storage-class", "REDUCED_REDUNDANCY"},
          {"x-amz-content-sha256",
           "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"},
          {"authorization", CREDENTIAL
           "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class, "
           "Signature="
           "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"}},
         6,
         "Welcome to Amazon S3.",
         21},
	{"GET",
         "/",
         "lifecycle",
         {COMMON,
          {"x-amz-content-sha256", EMPTY_HASH},
          {"authorization", CREDENTIAL
           "host;x-amz-content-sha256;x-amz-date, Signature="
           "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"}},
         4,
         "",
         0},
	{"GET",
         "/",
         "max-keys=2&prefix=J",
         {COMMON,
          {"x-amz-content-sha256", EMPTY_HASH},
          {"authorization", CREDENTIAL
           "host;x-amz-content-sha256;x-amz-date, Signature="
           "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"}},
         4,
         "",
         0},
	{"GET",
         "/test.txt",
         "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=" EXAMPLE_KEY
         "%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date="
         "20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
         "&X-Amz-Signature="
         "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404",
         {{"host", "examplebucket.s3.amazonaws.com"}},
         1,
         "",
         0},
};

TEST(the_examples_that_amazon_published_are_signed)
{
	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		const char *why = sigv4_refuses(&examples[i], EXAMPLE_KEY,
		                                EXAMPLE_SECRET);

		ck_assert_msg(!why, "example %zu: %s", i, why);
	}
}
END

TEST(an_example_that_was_changed_is_not_signed)
{
	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		struct sigv4_request r = examples[i];

		ck_assert_ptr_nonnull(
			sigv4_refuses(&r, EXAMPLE_KEY, "another secret"));
		ck_assert_ptr_nonnull(
			sigv4_refuses(&r, "another key", EXAMPLE_SECRET));
		r.path = (char *)"/another";
		ck_assert_ptr_nonnull(
			sigv4_refuses(&r, EXAMPLE_KEY, EXAMPLE_SECRET));
		r = examples[i];
		r.method = (char *)"DELETE";
		ck_assert_ptr_nonnull(
			sigv4_refuses(&r, EXAMPLE_KEY, EXAMPLE_SECRET));
		r = examples[i];
		r.headers[0].value = (char *)"example.com";
		ck_assert_ptr_nonnull(
			sigv4_refuses(&r, EXAMPLE_KEY, EXAMPLE_SECRET));
	}
}
END

/* --- an object store ------------------------------------------------------ */

struct fixture {
	struct test_store t;
	struct objects *o;
	struct conf conf;
};

static struct fixture
fixture(void)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct fixture f = {.t = test_store(), .o = objects_start()};

	objects_conf(f.o, f.t.dir, &f.conf);
	ck_assert_msg(!bytes_configure(&f.t.s, &f.conf, &why), "%s",
	              buf_str(&why));
	return f;
}

static void
fixture_done(struct fixture *f)
{
	s3_free(f->t.s.s3);
	objects_stop(f->o);
	test_store_done(&f->t);
}
#define CLEANUP_FIXTURE CLEANUP(fixture_done)

static int
put(struct fixture *f, const char *text)
{
	int hold = -1;

	return bytes_put(&f->t.s, BYTES_S3, NAME, text, strlen(text), &hold);
}

static int
get(struct fixture *f, int64_t whole, int64_t start, int64_t n)
{
	CLEANUP_BUF struct buf out = BUF_INIT(1 << 20);
	struct piece piece = {whole, start, n};

	return bytes_get(&f->t.s, BYTES_S3, NAME, &piece, &out);
}

static int
see(void *arg, const char *name)
{
	(void)name;
	++*(int *)arg;
	return 0;
}

static int
list(struct fixture *f, int *n)
{
	struct bytes_at at = {0};
	int rc;

	do
		rc = bytes_list(&f->t.s, BYTES_S3, &at, see, n);
	while (!rc && at.more);
	return rc;
}

/* Results of requests for each mood; listing never succeeds. */
static const struct {
	enum objects_mood mood;
	int put, get, drop;
} moods[] = {
	{OBJECTS_HANG, -ETIMEDOUT, -ETIMEDOUT, -ETIMEDOUT},
	{OBJECTS_REFUSE, -EHOSTUNREACH, -EHOSTUNREACH, -EHOSTUNREACH},
	{OBJECTS_FORBID, -EKEYREJECTED, -EKEYREJECTED, -EKEYREJECTED},
	{OBJECTS_NO_BUCKET, -EKEYREJECTED, -EKEYREJECTED, -EKEYREJECTED},
	{OBJECTS_FLOOD, 0, -EBADMSG, 0},
	{OBJECTS_BABBLE, -EREMOTEIO, -EREMOTEIO, -EREMOTEIO},
	{OBJECTS_HEADERS, -EREMOTEIO, -EREMOTEIO, -EREMOTEIO},
	{OBJECTS_HEADER, -EREMOTEIO, -EREMOTEIO, -EREMOTEIO},
	{OBJECTS_CONTINUE, -EREMOTEIO, -EREMOTEIO, -EREMOTEIO},
};

TEST(an_object_store_that_misbehaves_costs_no_more_than_its_time)
{
	for (size_t i = 0; i < ARRAY_LEN(moods); i++) {
		CLEANUP_FIXTURE struct fixture f = fixture();
		int64_t began = clock_mono_ns();
		int n = 0;

		ck_assert_int_eq(put(&f, "some bytes"), 0);
		objects_mood(f.o, moods[i].mood);
		for (int call = 0; call < 4; call++) {
			f.t.s.until_ns = clock_mono_ns() + 400 * NS_PER_MS;
			if (call == 0)
				ck_assert_int_eq(put(&f, "x"), moods[i].put);
			else if (call == 1)
				ck_assert_int_eq(get(&f, 10, 0, 10),
				                 moods[i].get);
			else if (call == 2)
				ck_assert_int_eq(
					bytes_drop(&f.t.s, BYTES_S3, NAME),
					moods[i].drop);
			else
				ck_assert(bytes_unreachable(list(&f, &n)));
		}
		ck_assert_int_lt((clock_mono_ns() - began) / NS_PER_S, SECONDS);
	}
}
END

TEST(a_body_that_stops_halfway_ends_with_the_time)
{
	CLEANUP_FIXTURE struct fixture f = fixture();

	ck_assert_int_eq(put(&f, "some bytes"), 0);
	objects_mood(f.o, OBJECTS_STALL);
	f.t.s.until_ns = clock_mono_ns() + 200 * NS_PER_MS;
	ck_assert_int_eq(get(&f, 10, 0, 10), -ETIMEDOUT);
}
END

TEST(an_object_store_that_never_answers_by_tls_costs_no_more_than_its_time)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct conf conf = f.conf;
	char endpoint[64];
	uint16_t port;
	CLEANUP_FD int server = listener_open(&port);
	int n = 0;

	snprintf(endpoint, sizeof(endpoint), "https://127.0.0.1:%u", port);
	conf.s3_endpoint = endpoint;
	s3_free(f.t.s.s3);
	f.t.s.s3 = NULL;
	ck_assert_int_eq(bytes_configure(&f.t.s, &conf, &why), 0);
	f.t.s.until_ns = clock_mono_ns() + 200 * NS_PER_MS;
	ck_assert_int_eq(put(&f, "some bytes"), -ETIMEDOUT);
	f.t.s.until_ns = clock_mono_ns() + 200 * NS_PER_MS;
	ck_assert_int_eq(list(&f, &n), -ETIMEDOUT);
}
END

TEST(no_time_left_asks_nothing)
{
	CLEANUP_FIXTURE struct fixture f = fixture();

	f.t.s.until_ns = clock_mono_ns() - 1;
	ck_assert_int_eq(put(&f, "some bytes"), -ETIMEDOUT);
	ck_assert_int_eq(objects_connections(f.o), 0);
}
END

TEST(a_stopped_object_store_is_unreachable)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf out = BUF_INIT(10);
	struct objects *o = objects_start();
	struct piece piece = {1, 0, 1};
	struct conf conf;
	int rc;

	objects_conf(o, t.dir, &conf);
	ck_assert_int_eq(bytes_configure(&t.s, &conf, &why), 0);
	objects_stop(o);
	rc = bytes_get(&t.s, BYTES_S3, NAME, &piece, &out);
	ck_assert(bytes_unreachable(rc));
	s3_free(t.s.s3);
}
END

/* An object of numbers, seven characters each, far longer than a chunk. */
#define NUMBERS 60000
#define LONG    (7 * NUMBERS)
static void
put_long(struct fixture *f)
{
	CLEANUP_BUF struct buf b = BUF_INIT(LONG + 1);

	for (int i = 0; i < NUMBERS; i++)
		buf_addf(&b, "%06d,", i);
	ck_assert_int_eq(put(f, buf_str(&b)), 0);
}

TEST(a_range_that_is_ignored_is_damage_and_not_believed)
{
	CLEANUP_FIXTURE struct fixture f = fixture();

	put_long(&f);
	objects_mood(f.o, OBJECTS_IGNORE_RANGE);
	ck_assert_int_eq(get(&f, LONG, 2, 3), -EBADMSG);
	ck_assert_int_eq(get(&f, LONG, 0, LONG), 0);
	objects_mood(f.o, OBJECTS_FINE);
	ck_assert_int_eq(get(&f, LONG, 2, 3), 0);
}
END

/* Reads n numbers from first on, which must be right. */
static int
check_numbers(const struct store *s, int first, int n)
{
	CLEANUP_BUF struct buf out = BUF_INIT(1 << 20);
	struct piece piece = {LONG, 7 * first, 7 * n};
	int rc = bytes_get(s, BYTES_S3, NAME, &piece, &out);

	for (int i = 0; i < n && !rc; i++)
		rc = atoi(buf_str(&out) + (size_t)7 * (size_t)i) == first + i
		             ? 0
		             : -EILSEQ;
	return rc ?: out.len == (size_t)7 * (size_t)n ? 0 : -EILSEQ;
}

TEST(pieces_that_lie_together_take_one_request)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	int before;

	put_long(&f);
	before = objects_requests(f.o);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(check_numbers(&f.t.s, i * 3, 5), 0);
	ck_assert_int_eq(objects_requests(f.o), before + 1);
	/* across two chunks, and in the last one */
	ck_assert_int_eq(check_numbers(&f.t.s, (int)(S3_CHUNK / 7) - 2, 5), 0);
	ck_assert_int_eq(check_numbers(&f.t.s, NUMBERS - 5, 5), 0);
	ck_assert_int_eq(objects_requests(f.o), before + 3);
	/* too much to be kept */
	ck_assert_int_eq(check_numbers(&f.t.s, 100, NUMBERS / 2), 0);
	ck_assert_int_eq(objects_requests(f.o), before + 4);
}
END

static void *
check_many(void *arg)
{
	struct fixture *f = arg;
	int rc = 0;

	for (int i = 0; i < 3000 && !rc; i++)
		rc = check_numbers(&f->t.s, i * 7919 % (NUMBERS - 50), 50);
	return rc ? f : NULL;
}

TEST(threads_that_read_the_same_wait_for_one_request)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	pthread_t threads[8];
	int before;

	put_long(&f);
	before = objects_requests(f.o);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, check_many, &f), 0);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		ck_assert_ptr_null(failed);
	}
	ck_assert_int_le(objects_requests(f.o),
	                 before + LONG / (int)S3_CHUNK + 1);
}
END

TEST(a_dropped_object_is_not_read_from_memory)
{
	CLEANUP_FIXTURE struct fixture f = fixture();

	put_long(&f);
	ck_assert_int_eq(get(&f, LONG, 2, 3), 0);
	ck_assert_int_eq(bytes_drop(&f.t.s, BYTES_S3, NAME), 0);
	ck_assert_int_eq(get(&f, LONG, 2, 3), -ENOENT);
}
END

TEST(a_list_without_end_ends)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	char key[64];
	int n = 0;

	for (char c = 'a'; c <= 'k'; c++) {
		snprintf(key, sizeof(key), "one/a%c/blob-a%c.pb.gz", c, c);
		objects_plant(f.o, key, "x");
	}
	objects_mood(f.o, OBJECTS_CIRCLE);
	ck_assert_int_eq(list(&f, &n), -EREMOTEIO);
}
END

TEST(objects_of_others_are_never_listed)
{
	static const char *const others[] = {
		"two/aa/blob-aa.pb.gz",    "aa/blob-aa.pb.gz",
		"one/notes.txt",           "one/aa/notes.txt",
		"one/aa/../blob-aa.pb.gz",
	};
	CLEANUP_FIXTURE struct fixture f = fixture();
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		objects_plant(f.o, others[i], "x");
	objects_plant(f.o, "one/" NAME, "x");
	objects_pass(f.o, S3_SETTLED_MS / MS_PER_S + 2);
	ck_assert_int_eq(list(&f, &n), 0);
	ck_assert_int_eq(n, 1);
	n = blob_sweep(&f.t.s, BYTES_S3);
	ck_assert_int_eq(n, 1);
	ck_assert_uint_eq(objects_count(f.o), ARRAY_LEN(others));
}
END

TEST(one_connection_serves_many_requests)
{
	CLEANUP_FIXTURE struct fixture f = fixture();

	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(put(&f, "some bytes"), 0);
		ck_assert_int_eq(get(&f, 10, 0, 10), 0);
	}
	ck_assert_int_eq(objects_connections(f.o), 1);
}
END

TEST(a_signed_address_reads_the_object_and_no_other)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_BUF struct buf where = BUF_INIT(BUF_MAX_SMALL);
	char host[64];
	struct sigv4_request r = {.method = (char *)"GET",
	                          .headers = {{(char *)"host", host}},
	                          .nheaders = 1,
	                          .body = ""};

	snprintf(host, sizeof(host), "127.0.0.1:%d", objects_port(f.o));
	ck_assert_int_eq(s3_presign(f.t.s.s3, NAME, clock_wall_ms(), &where),
	                 0);
	r.path = where.p;
	r.query = strchr(where.p, '?') + 1;
	r.query[-1] = '\0';
	ck_assert_str_eq(r.path, "/" OBJECTS_BUCKET "/one/" NAME);
	ck_assert_ptr_null(sigv4_refuses(&r, OBJECTS_KEY, OBJECTS_SECRET));
	r.path = (char *)"/" OBJECTS_BUCKET "/one/bb/blob-bb.pb.gz";
	ck_assert_ptr_nonnull(sigv4_refuses(&r, OBJECTS_KEY, OBJECTS_SECRET));
}
END

TEST(rows_of_files_stay_readable_once_new_bytes_go_to_the_object_store)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_BUF struct buf got = BUF_INIT(100);
	struct blob old, new;

	f.t.s.bytes = BYTES_FILE;
	test_blob(&f.t.s, "old", &old);
	f.t.s.bytes = BYTES_S3;
	test_blob(&f.t.s, "new", &new);
	ck_assert_str_eq(old.store, BYTES_FILE);
	ck_assert_str_eq(new.store, BYTES_S3);
	ck_assert_uint_eq(objects_count(f.o), 1);
	ck_assert_int_eq(blob_read(&f.t.s, &old, &got), 0);
	ck_assert_int_eq(blob_read(&f.t.s, &new, &got), 0);
	ck_assert_str_eq(buf_str(&got), "oldnew");
}
END

TEST(bytes_of_an_object_store_that_is_not_configured_are_unreachable)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	CLEANUP_BUF struct buf got = BUF_INIT(100);
	struct store without = f.t.s;
	struct blob b;

	test_blob(&f.t.s, "bytes", &b);
	without.s3 = NULL;
	ck_assert(bytes_unreachable(blob_read(&without, &b, &got)));
	ck_assert_int_eq(blob_open(&f.t.s, &b, &(int){-1}), -ENOTSUP);
}
END

/* --- configuration -------------------------------------------------------- */

static int
configure(struct fixture *f, const struct conf *conf)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct store s = f->t.s;
	int rc;

	s.s3 = NULL;
	rc = bytes_configure(&s, conf, &why);
	ck_assert(!rc == !why.len); /* a refusal has a reason */
	s3_free(s.s3);
	return rc;
}

TEST(a_key_file_that_others_may_read_is_refused)
{
	CLEANUP_FIXTURE struct fixture f = fixture();

	ck_assert_int_eq(chmod(f.conf.s3_key_file, 0644), 0);
	ck_assert_int_eq(configure(&f, &f.conf), -EPERM);
	ck_assert_int_eq(chmod(f.conf.s3_key_file, 0600), 0);
	ck_assert_int_eq(configure(&f, &f.conf), 0);
}
END

TEST(a_key_file_of_another_form_is_refused)
{
	static const char *const texts[] = {"", "key", ":secret",
	                                    "key:", "key :secret"};
	CLEANUP_FIXTURE struct fixture f = fixture();

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEANUP_FD int fd = open(f.conf.s3_key_file,
		                         O_WRONLY | O_TRUNC | O_CLOEXEC);

		ck_assert_int_ge(dprintf(fd, "%s\n", texts[i]), 0);
		ck_assert_int_eq(configure(&f, &f.conf), -EINVAL);
	}
}
END

TEST(names_that_would_need_encoding_are_refused)
{
	static const struct {
		const char *endpoint, *bucket, *prefix, *region;
	} bad[] = {
		{"ftp://h", "bucket", "one/", "r"},
		{"http://h/path", "bucket", "one/", "r"},
		{"http://u@h", "bucket", "one/", "r"},
		{"http://h", "ab", "one/", "r"},
		{"http://h", "Bucket", "one/", "r"},
		{"http://h", "buc/ket", "one/", "r"},
		{"http://h", "bucket", "one", "r"},
		{"http://h", "bucket", "/one/", "r"},
		{"http://h", "bucket", "o%2F/", "r"},
		{"http://h", "bucket", "one/", "r:s"},
	};
	CLEANUP_FIXTURE struct fixture f = fixture();

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct conf conf = f.conf;

		conf.s3_endpoint = (char *)bad[i].endpoint;
		conf.s3_bucket = (char *)bad[i].bucket;
		conf.s3_prefix = (char *)bad[i].prefix;
		conf.s3_region = (char *)bad[i].region;
		ck_assert_int_eq(configure(&f, &conf), -EINVAL);
	}
}
END

TEST(a_driver_that_is_not_known_or_has_no_endpoint_is_refused)
{
	CLEANUP_FIXTURE struct fixture f = fixture();
	struct conf conf = f.conf;

	conf.store_bytes = (char *)"tape";
	ck_assert_int_eq(configure(&f, &conf), -EINVAL);
	conf.store_bytes = (char *)"s3";
	conf.s3_endpoint = (char *)"";
	ck_assert_int_eq(configure(&f, &conf), -EINVAL);
	conf.store_bytes = (char *)"db"; /* but this store uses files */
	ck_assert_int_eq(configure(&f, &conf), -EINVAL);
	conf.store_bytes = (char *)"file";
	ck_assert_int_eq(configure(&f, &conf), 0);
}
END

SUITE("s3");
