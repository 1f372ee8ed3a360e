/*
 * Debug files from servers: which are asked for, what is kept, and what is
 * remembered. The test plays the fetcher.
 */
#include "worker/debuginfod/debuginfod.h"

#include "base/clock.h"
#include "base/file.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define CONFIG                                                    \
	"[symbols]\ndebuginfod = http://a.example/x https://b/\n" \
	"max_bytes = 1M\ncache_bytes = 1M\n"

struct rig {
	char dir[32];
	struct conf conf;
	struct debuginfod d;
	int pair[2]; /* the fetcher's end, ours */
	uint64_t id;
	int64_t now_ns;
};
#define CLEANUP_RIG CLEANUP(rig_done)

static void
rig_init(struct rig *r)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	*r = (struct rig){.dir = "/tmp/stoker-debug-XXXXXX",
	                  .d = DEBUGINFOD_INIT};
	ck_assert_ptr_nonnull(mkdtemp(r->dir));
	buf_addf(&text, CONFIG "cache_dir = %s\n", r->dir);
	ck_assert_msg(!conf_parse("test", buf_str(&text), &r->conf, &why), "%s",
	              buf_str(&why));
	ck_assert_int_eq(msg_pair(r->pair), 0);
	ck_assert_int_eq(fcntl(r->pair[1], F_SETFL, O_NONBLOCK), 0);
	debuginfod_start(&r->d, &r->conf);
}

static void
rig_done(struct rig *r)
{
	char command[64];

	debuginfod_done(&r->d);
	close(r->pair[0]);
	close(r->pair[1]);
	conf_done(&r->conf);
	snprintf(command, sizeof(command), "rm -rf %s", r->dir);
	ck_assert_int_eq(system(command), 0);
}

/* Reports that a profile lacked the file of build-id {k, 0xfe}. */
static void
tell(struct rig *r, uint8_t k, enum host_debug_state state)
{
	struct msg_debug m = {.type = MSG_DEBUG, .debugs = {.n = 1}};

	m.debugs.rows[0] = (struct host_debug){
		.state = state, .size = 2, .build_id = {k, 0xfe}};
	debuginfod_take(&r->d, &m);
}

/* Takes the next question; returns its file, or -1 if there is none. */
static int
hear(struct rig *r, struct fetch_ask *out)
{
	size_t nfds = 1;
	int fd = -1;

	while (debuginfod_waits(&r->d)) {
		debuginfod_ask(&r->d, r->pair[0], ++r->id, r->now_ns);
		if (msg_recv(r->pair[1], out, sizeof(*out), &fd, &nfds) > 0)
			return fd;
		nfds = 1;
	}
	return -1;
}

static void
answer(struct rig *r, enum fetch_error error, uint32_t status)
{
	struct fetch_answer a = {.type = MSG_FETCHED,
	                         .error = error,
	                         .status = status,
	                         .id = r->id};

	ck_assert(debuginfod_fetched(&r->d, &a, r->now_ns));
}

/* n bytes that begin as a debug file does. */
static void
give(struct rig *r, int fd, const char *start, size_t n)
{
	struct fetch_answer a = {
		.type = MSG_FETCHED, .status = 200, .id = r->id, .bytes = n};

	ck_assert_int_eq(pwrite(fd, start, strlen(start), 0),
	                 (ssize_t)strlen(start));
	ck_assert_int_eq(ftruncate(fd, (off_t)n), 0);
	close(fd);
	ck_assert(debuginfod_fetched(&r->d, &a, r->now_ns));
}

static enum debug_cache_state
state_of(const struct rig *r, uint8_t k)
{
	uint8_t id[] = {k, 0xfe};
	char name[DEBUG_CACHE_NAME];

	debug_cache_name(id, sizeof(id), name);
	return debug_cache_look(&r->d.cache, name, clock_wall_ms());
}

static void
set_age(const struct rig *r, uint8_t k, int64_t seconds)
{
	uint8_t id[] = {k, 0xfe};
	char name[DEBUG_CACHE_NAME];
	struct timespec t[2];

	debug_cache_name(id, sizeof(id), name);
	clock_gettime(CLOCK_REALTIME, &t[0]);
	t[0].tv_sec -= seconds;
	t[1] = t[0];
	ck_assert_int_eq(utimensat(r->d.cache.dir, name, t, 0), 0);
}

static void
fetch(struct rig *r, uint8_t k, size_t n)
{
	struct fetch_ask ask;
	int fd;

	tell(r, k, HOST_DEBUG_NONE);
	fd = hear(r, &ask);
	ck_assert_int_ge(fd, 0);
	give(r, fd, "\177ELF", n);
	ck_assert_int_eq(state_of(r, k), DEBUG_CACHE_FILE);
}

TEST(servers_are_asked_in_their_order)
{
	CLEANUP_RIG struct rig r;
	struct fetch_ask ask;

	rig_init(&r);
	tell(&r, 0xab, HOST_DEBUG_NONE);
	close(hear(&r, &ask));
	ck_assert_str_eq(ask.url, "http://a.example/x/buildid/abfe/debuginfo");
	ck_assert_uint_eq(ask.purpose, FETCH_DEBUGINFOD);
	ck_assert_uint_eq(ask.max_bytes, 1 << 20);
	ck_assert(!debuginfod_waits(&r.d)); /* one at a time */
	answer(&r, FETCH_OK, 404);
	close(hear(&r, &ask));
	ck_assert_str_eq(ask.url, "https://b/buildid/abfe/debuginfo");
	answer(&r, FETCH_OK, 404);
	ck_assert_int_eq(hear(&r, &ask), -1);
	ck_assert_int_eq(state_of(&r, 0xab), DEBUG_CACHE_NO);
}
END

TEST(what_is_known_is_not_asked_for)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	fetch(&r, 1, 4096);
	tell(&r, 1, HOST_DEBUG_NONE); /* reported before the file came */
	tell(&r, 1, HOST_DEBUG_USED);
	tell(&r, 2, HOST_DEBUG_REFUSED); /* a bad file of this host */
	ck_assert(!debuginfod_waits(&r.d));
	tell(&r, 3, HOST_DEBUG_NONE);
	tell(&r, 3, HOST_DEBUG_NONE);
	ck_assert_uint_eq(r.d.n, 1);
}
END

TEST(a_no_is_believed_for_a_day)
{
	CLEANUP_RIG struct rig r;
	struct fetch_ask ask;

	rig_init(&r);
	tell(&r, 1, HOST_DEBUG_NONE);
	for (int i = 0; i < 2; i++) {
		close(hear(&r, &ask));
		answer(&r, FETCH_OK, 404);
	}
	ck_assert_int_eq(hear(&r, &ask), -1);
	set_age(&r, 1, DEBUG_CACHE_NO_MS / 1000 - 60);
	tell(&r, 1, HOST_DEBUG_NONE);
	ck_assert(!debuginfod_waits(&r.d));
	set_age(&r, 1, DEBUG_CACHE_NO_MS / 1000 + 60);
	tell(&r, 1, HOST_DEBUG_NONE);
	ck_assert(debuginfod_waits(&r.d));
}
END

/* One server's answer, and what is remembered if the other server always
 * answers 404. */
static const struct {
	enum fetch_error error;
	uint32_t status;
	enum debug_cache_state state;
} says[] = {
	{FETCH_OK, 404, DEBUG_CACHE_NO},
	{FETCH_TOO_LARGE, 0, DEBUG_CACHE_NO},
	{FETCH_OK, 302, DEBUG_CACHE_NONE},
	{FETCH_OK, 500, DEBUG_CACHE_NONE},
	{FETCH_TIMEOUT, 0, DEBUG_CACHE_NONE},
	{FETCH_CONNECT, 0, DEBUG_CACHE_NONE},
	{FETCH_HOST, 0, DEBUG_CACHE_NONE},
};

TEST(only_a_no_of_all_is_remembered_and_who_fails_rests)
{
	for (size_t i = 0; i < ARRAY_LEN(says); i++) {
		CLEANUP_RIG struct rig r;
		struct fetch_ask ask;

		rig_init(&r);
		tell(&r, 1, HOST_DEBUG_NONE);
		close(hear(&r, &ask));
		answer(&r, says[i].error, says[i].status);
		close(hear(&r, &ask));
		answer(&r, FETCH_OK, 404);
		ck_assert_int_eq(hear(&r, &ask), -1);
		ck_assert_int_eq(state_of(&r, 1), says[i].state);

		tell(&r, 2, HOST_DEBUG_NONE);
		close(hear(&r, &ask));
		ck_assert_int_eq(ask.url[7] == 'a', /* server a, not b */
		                 says[i].state == DEBUG_CACHE_NO);
	}
}
END

TEST(a_server_that_rested_is_asked_again)
{
	CLEANUP_RIG struct rig r;
	struct fetch_ask ask;

	rig_init(&r);
	for (uint8_t k = 1; k <= 2; k++) {
		tell(&r, k, HOST_DEBUG_NONE);
		close(hear(&r, &ask));
		ck_assert(strstr(ask.url, "//a.example/"));
		answer(&r, FETCH_TIMEOUT, 0);
		close(hear(&r, &ask));
		answer(&r, FETCH_OK, 404);
		r.now_ns += DEBUGINFOD_REST_NS;
	}
}
END

TEST(a_fetcher_that_dies_leaves_nothing_behind)
{
	CLEANUP_RIG struct rig r;
	struct fetch_ask ask;
	char temp[ID_MAX];

	rig_init(&r);
	tell(&r, 1, HOST_DEBUG_NONE);
	close(hear(&r, &ask));
	memcpy(temp, r.d.temp, sizeof(temp));
	ck_assert_int_eq(faccessat(r.d.cache.dir, temp, F_OK, 0), 0);
	debuginfod_fetcher_gone(&r.d, r.now_ns);
	ck_assert_int_eq(faccessat(r.d.cache.dir, temp, F_OK, 0), -1);
	close(hear(&r, &ask)); /* from the second server */
	ck_assert(strstr(ask.url, "//b/"));
	memcpy(temp, r.d.temp, sizeof(temp));
	debuginfod_done(&r.d);
	r.d = (struct debuginfod)DEBUGINFOD_INIT;
	debuginfod_start(&r.d, &r.conf);
	ck_assert_int_eq(faccessat(r.d.cache.dir, temp, F_OK, 0), -1);
}
END

TEST(what_is_no_elf_file_or_not_whole_is_a_no)
{
	CLEANUP_RIG struct rig r;
	struct fetch_ask ask;
	struct fetch_answer a = {.status = 200, .bytes = 100};
	int fd;

	rig_init(&r);
	tell(&r, 1, HOST_DEBUG_NONE);
	give(&r, hear(&r, &ask), "<html>", 100);
	fd = hear(&r, &ask);
	ck_assert_int_eq(write(fd, "\177ELF", 4), 4); /* of 100 bytes */
	close(fd);
	a.id = r.id;
	ck_assert(debuginfod_fetched(&r.d, &a, 0));
	ck_assert_int_eq(hear(&r, &ask), -1);
	ck_assert_int_eq(state_of(&r, 1), DEBUG_CACHE_NO);
}
END

TEST(a_file_that_a_parser_refused_becomes_a_no)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	fetch(&r, 1, 4096);
	tell(&r, 1, HOST_DEBUG_REFUSED);
	ck_assert_int_eq(state_of(&r, 1), DEBUG_CACHE_NO);
	tell(&r, 1, HOST_DEBUG_NONE);
	ck_assert(!debuginfod_waits(&r.d));
}
END

TEST(those_not_used_for_longest_make_room)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r); /* 1 MiB in all */
	fetch(&r, 1, 400 << 10);
	fetch(&r, 2, 400 << 10);
	set_age(&r, 1, 7200);
	set_age(&r, 2, 3600);
	tell(&r, 1, HOST_DEBUG_USED);
	fetch(&r, 3, 400 << 10);
	ck_assert_int_eq(state_of(&r, 1), DEBUG_CACHE_FILE);
	ck_assert_int_eq(state_of(&r, 2), DEBUG_CACHE_NONE);
	ck_assert_int_eq(state_of(&r, 3), DEBUG_CACHE_FILE);
}
END

TEST(the_queue_and_what_is_told_are_bounded)
{
	CLEANUP_RIG struct rig r;
	static struct msg_debug m;

	rig_init(&r);
	m.debugs.n = UINT32_MAX;
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < HOST_MAX_DEBUG; i++)
			m.debugs.rows[i] = (struct host_debug){
				.size = (uint8_t)(i % 8 ? 20 : 255),
				.build_id = {(uint8_t)i, (uint8_t)round}};
		debuginfod_take(&r.d, &m);
	}
	ck_assert_uint_eq(r.d.n, DEBUGINFOD_MAX_QUEUE);
}
END

TEST(without_servers_nothing_is_made_or_asked)
{
	CLEANUP(conf_done) struct conf conf = {0};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct debuginfod d = DEBUGINFOD_INIT;
	struct msg_debug m = {.debugs = {.n = 1}};

	ck_assert_int_eq(conf_parse("test",
	                            "[symbols]\ncache_dir = /nonexistent/x\n",
	                            &conf, &why),
	                 0);
	debuginfod_start(&d, &conf);
	m.debugs.rows[0].size = 20;
	debuginfod_take(&d, &m);
	ck_assert(!debuginfod_waits(&d));
	debuginfod_done(&d);
}
END

static const struct {
	const char *list, *url;
	bool ok;
} urls[] = {
	{"http://a/x https://b/", "http://a/x/buildid/ab/debuginfo", true},
	{"http://a/x https://b/", "https://b/buildid/ab/debuginfo", true},
	{"http://a/x https://b/", "https://b//buildid/ab/debuginfo", false},
	{"http://a/x https://b/", "http://a/buildid/ab/debuginfo", false},
	{"http://a/x https://b/", "http://a/x/buildid/ab/executable", false},
	{"http://a/x https://b/", "http://a/x/buildid/../debuginfo", false},
	{"http://a", "http://a.evil/buildid/ab/debuginfo", false},
	{"", "/buildid/ab/debuginfo", false},
	{"  ", "/buildid/ab/debuginfo", false},
	{"/", "/buildid/ab/debuginfo", false},
};

TEST(the_fetcher_is_sent_to_files_of_servers_only)
{
	for (size_t i = 0; i < ARRAY_LEN(urls); i++)
		ck_assert_msg(debuginfod_allows(urls[i].list, urls[i].url) ==
		                      urls[i].ok,
		              "%s: %s", urls[i].list, urls[i].url);
}
END

SUITE("debuginfod");
