#include "lib/api.h"

#include "base/clock.h"
#include "base/file.h"
#include "profile/pprof.h"
#include "store/token.h"
#include "store/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static void
listen_at(struct test_api *a)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	snprintf(a->socket, sizeof(a->socket), "%s/api.sock", a->store.dir);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", a->socket);
	a->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(
		bind(a->listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(a->listener, 128), 0);
}

static void
write_conf(struct test_api *a, int n, const char *extra)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	int fd;

	snprintf(a->conf, sizeof(a->conf), "%s/stoker.conf", a->store.dir);
	buf_addf(&text, "[store]\ndir = %s\ndatabase = %s\n", a->store.dir,
	         test_database(a->store.dir));
	/* A store on a server keeps the profiles there, too. */
	if (test_on_server() && !strstr(extra, "\nbytes ="))
		buf_puts(&text, "bytes = db\n");
	buf_addf(&text,
	         "[api]\npublic_url = http://stoker.test\n"
	         "run_dir = %s\npool = %d\n%s\n"
	         "[scope." TEST_TENANT "]\nunits = a.service b.service\n"
	         "exe = /bin /opt/app\n"
	         "endpoints = *\nwebhooks = *\ncollectors = *\n",
	         a->store.dir, n, extra);
	fd = open(a->conf, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(fd_write_all(fd, text.p, text.len), 0);
	close(fd);
}

/* The process dies when the test ends, however it ends. */
static pid_t
start_process(const struct test_api *a)
{
	const char *build = getenv("B");
	char program[256], log[96];
	pid_t pid;

	snprintf(program, sizeof(program), "%s/stoker-api",
	         build ? build : "build");
	ck_assert_msg(!access(program, X_OK), "no %s: B tells where it is",
	              program);
	snprintf(log, sizeof(log), "%s/api.log", a->store.dir);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(open(log, O_WRONLY | O_CREAT | O_APPEND, 0600), STDERR_FILENO);
	dup2(a->listener, STDIN_FILENO);
	if (a->enter)
		a->enter();
	execl(program, program, "--config", a->conf, NULL);
	perror(program);
	_exit(127);
}

/* Makes a key in a new millisecond, so that lists have a fixed order. */
static void
make_key(struct test_api *a, enum api_key k, const char *role,
         const char *tenants)
{
	const struct token_ask t = {
		.name = role,
		.role = role,
		.tenants = tenants,
		.default_tenant = tenants[0] == 't' ? TEST_TENANT : tenants,
		.host = k == KEY_WORKER ? TEST_AGENT : NULL,
	};
	int64_t made_ms;
	char id[ID_MAX];

	ck_assert_int_eq(token_create(&a->store.s, &t, id, a->keys[k]), 0);
	made_ms = clock_wall_ms();
	while (clock_wall_ms() == made_ms)
		;
}

void
test_worker(struct test_api *a, const char *host, const char *capabilities)
{
	const struct worker w = {
		.host = (char *)host,
		.boot_id = "boot",
		.version = "1",
		.capabilities = (char *)capabilities,
		.pid = 1,
	};

	ck_assert_int_eq(worker_heartbeat(&a->store.s, &w, 600000), 0);
}

static void
fill_store(struct test_api *a)
{
	const struct worker_process p = {
		.host = TEST_HOST,
		.tenant = TEST_TENANT,
		.service = TEST_SERVICE,
		.boot_id = "boot",
		.argv0 = "/bin/true",
		.cmdline = "/bin/true --password=x",
		.pid = 77,
	};

	make_key(a, KEY_VIEWER, "viewer", TEST_TENANT);
	make_key(a, KEY_OPERATOR, "operator", TEST_TENANT);
	make_key(a, KEY_ADMIN, "admin", "t t2");
	make_key(a, KEY_OTHER, "admin", "other");
	make_key(a, KEY_WORKER, "worker", "t t2");
	test_worker(a, TEST_HOST, "{}");
	ck_assert_int_eq(process_put(&a->store.s, &p), 0);
}

struct test_api
test_api(int n, const char *extra)
{
	return test_api_in(n, extra, NULL);
}

struct test_api
test_api_in(int n, const char *extra, void (*enter)(void))
{
	struct test_api a = {.store = test_store(), .n = n, .enter = enter};

	fill_store(&a);
	listen_at(&a);
	write_conf(&a, n, extra);
	for (int i = 0; i < n; i++)
		a.pids[i] = start_process(&a);
	return a;
}

void
test_looks(struct test_api *a)
{
	ck_assert_int_eq(worker_looked(&a->store.s, TEST_HOST,
	                               clock_wall_ms() + 3600 * MS_PER_S),
	                 0);
}

void
test_sees_nothing(struct test_api *a)
{
	const struct worker_process p = {.host = TEST_HOST,
	                                 .tenant = TEST_TENANT,
	                                 .service = TEST_SERVICE};

	ck_assert_int_eq(process_remove(&a->store.s, &p), 0);
	test_looks(a);
}

void
test_kind(struct test_api *a, const char *kind, const char *source)
{
	CLEANUP_SERVICE struct service service = {0};

	ck_assert_int_eq(
		service_get(&a->store.s, TEST_TENANT, TEST_SERVICE, &service),
		0);
	free(service.kind);
	free(service.source);
	service.kind = strdup(kind);
	service.source = strdup(source);
	ck_assert_int_eq(service_replace(&a->store.s, &service), 0);
}

void
test_api_done(struct test_api *a)
{
	close(a->listener);
	for (int i = 0; i < a->n; i++) {
		if (a->pids[i] <= 0)
			continue;
		kill(a->pids[i], SIGKILL);
		waitpid(a->pids[i], NULL, 0);
	}
	test_store_done(&a->store);
}

/* Returns the CPU time of a process and its children, in ticks. */
static double
ticks_of(int pid)
{
	unsigned long user = 0, system = 0, of_ended[2] = {0};
	double ticks = 0;
	char path[64];
	int child;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fscanf(f,
	           "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
	           "%lu %lu %lu %lu",
	           &user, &system, &of_ended[0], &of_ended[1]) == 4)
		ticks = (double)(user + system + of_ended[0] + of_ended[1]);
	fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "r");
	while (f && fscanf(f, "%d", &child) == 1)
		ticks += ticks_of(child);
	if (f)
		fclose(f);
	return ticks;
}

double
test_api_cpu_s(const struct test_api *a)
{
	double ticks = 0;

	for (int i = 0; i < a->n; i++)
		ticks += ticks_of(a->pids[i]);
	return ticks / (double)sysconf(_SC_CLK_TCK);
}

int
test_api_wait(struct test_api *a, int i)
{
	int status;

	ck_assert_int_eq(waitpid(a->pids[i], &status, 0), a->pids[i]);
	a->pids[i] = 0;
	return status;
}

void
test_api_restart(struct test_api *a, int i)
{
	kill(a->pids[i], SIGKILL);
	test_api_wait(a, i);
	a->pids[i] = start_process(a);
}

static void
add(struct client_param *p, size_t *n, const char *name, const char *value)
{
	ck_assert_uint_lt(*n, CLIENT_MAX_PARAMS - 1);
	if (value)
		p[(*n)++] = (struct client_param){name, value};
}

int
ask_begin(struct test_api *a, struct ask q)
{
	struct client_param p[CLIENT_MAX_PARAMS] = {0};
	char bearer[10000], length[24];
	int fd = client_connect(a->socket);
	size_t n = 0, len = q.body_len;

	if (!len && q.body)
		len = strlen(q.body);
	ck_assert_int_ge(fd, 0);
	snprintf(bearer, sizeof(bearer), "Bearer %s",
	         q.bearer ? q.bearer : a->keys[q.key]);
	snprintf(length, sizeof(length), "%zu", len);
	add(p, &n, "REQUEST_METHOD", q.method ? q.method : "GET");
	add(p, &n, "REQUEST_URI", q.path);
	add(p, &n, "CONTENT_LENGTH", length);
	add(p, &n, "CONTENT_TYPE",
	    q.type   ? q.type
	    : q.body ? "application/json"
	             : "");
	add(p, &n, "REQUEST_ID", "test-request-id");
	if (q.key || q.bearer || q.authorization)
		add(p, &n, "HTTP_AUTHORIZATION",
		    q.authorization ? q.authorization : bearer);
	add(p, &n, "HTTP_X_SCOPE_ORGID", q.org);
	add(p, &n, "HTTP_X_TENANT_ID", q.tenant);
	add(p, &n, "HTTP_ACCEPT", q.accept);
	add(p, &n, "HTTP_IF_NONE_MATCH", q.if_none_match);
	add(p, &n, "HTTP_IDEMPOTENCY_KEY", q.idempotency);
	add(p, &n, "HTTP_COOKIE", q.cookie);
	add(p, &n, "HTTP_ORIGIN", q.origin);
	add(p, &n, "HTTP_SEC_FETCH_SITE", q.fetch_site);
	add(p, &n, "HTTP_MCP_PROTOCOL_VERSION", q.mcp_version);
	add(p, &n, "HTTP_HOST", q.host ? q.host : "stoker.test");
	add(p, &n, "REQUEST_SCHEME", q.https ? "https" : "http");
	add(p, &n, "REMOTE_ADDR", q.remote ? q.remote : "127.0.0.1");
	add(p, &n, "SSO_USER", q.sso_user);
	add(p, &n, "SSO_GROUPS", q.sso_groups);
	add(p, &n, "METRICS_ALLOWED", q.scraper ? "1" : NULL);
	client_send(fd, p, q.body ? q.body : "", len);
	return fd;
}

struct client_reply
ask_end(int fd)
{
	struct client_reply r;

	client_receive(fd, &r);
	close(fd);
	return r;
}

static const char *
text_of(const json_t *j)
{
	static char text[4][2048];
	static int turn;
	char *out = text[turn++ & 3];

	out[0] = '\0';
	if (json_is_string(j))
		snprintf(out, 2048, "%s", json_string_value(j));
	else if (json_is_integer(j))
		snprintf(out, 2048, "%lld", (long long)json_integer_value(j));
	return out;
}

const char *
reply_text(const struct client_reply *r, const char *name)
{
	return text_of(json_object_get(r->json, name));
}

const char *
reply_detail(const struct client_reply *r, const char *name)
{
	return text_of(
		json_object_get(json_object_get(r->json, "details"), name));
}

void
assert_error(const struct client_reply *r, int status, const char *code)
{
	ck_assert_msg(r->status == status &&
	                      !strcmp(reply_text(r, "error_code"), code),
	              "expected %d %s, got: %s%s", status, code,
	              buf_str(&r->head), buf_str(&r->body));
	ck_assert_str_eq(client_header(r, "Content-Type"), "application/json");
	ck_assert(*reply_text(r, "message"));
	ck_assert(json_is_object(json_object_get(r->json, "details")) ||
	          *reply_text(r, "code")); /* in the Connect protocol */
	ck_assert_str_eq(client_header(r, "X-Request-Id"), "test-request-id");
}

/* Writes a profile: main -> work, two samples of 10 ms. */
static void
encode_profile(struct buf *out)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	struct function f = {0};
	struct line line = {0};
	uint32_t at[2], mapping;
	struct mapping m = {.start = 0x1000, .limit = 0x9000};
	const char *const names[] = {"work", "main"};
	const int64_t values[] = {2, 20000000};

	ck_assert_int_eq(profile_type(p, "samples", "count"), 0);
	ck_assert_int_eq(profile_type(p, "cpu", "nanoseconds"), 0);
	ck_assert_int_eq(profile_mapping(p, &m, &mapping), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(profile_cstring(p, names[i], &f.name), 0);
		ck_assert_int_eq(profile_function(p, &f, &line.function), 0);
		ck_assert_int_eq(profile_location(p, mapping,
		                                  0x2000 + (uint64_t)i, &line,
		                                  1, &at[i]),
		                 0);
	}
	ck_assert_int_eq(profile_sample(p, at, 2, NULL, 0, values), 0);
	ck_assert_int_eq(pprof_encode(p, out), 0);
}

struct job_ref
test_capture(struct test_api *a)
{
	CLEANUP_JOB struct job job = {0};
	const struct session_ask q = test_ask();
	char id[ID_MAX];

	ck_assert_int_eq(job_enqueue(&a->store.s, &q, TEST_HOST, id), 0);
	test_claim(&a->store.s, &job);
	return job_ref(&job);
}

void
test_capture_end(struct test_api *a, const struct job_ref *ref)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(BUF_MAX_SMALL);
	struct session_result result = test_result();
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;
	struct blob blob;
	const struct job_end end = {"done", "", "", &result, &blob, NULL, NULL};

	result.top_functions =
		"[{\"funcName\":\"work\",\"package\":\"app\",\"selfPct\":12.5,"
		"\"cumulativePct\":100,\"sampleCount\":\"2\"}]";
	encode_profile(&bytes);
	ck_assert_int_eq(blob_put(&a->store.s, BLOB_PPROF, bytes.p, bytes.len,
	                          &w, &blob),
	                 0);
	ck_assert_int_eq(job_finish(&a->store.s, ref, &end), 0);
}

void
test_profile(struct test_api *a, char id[static ID_MAX])
{
	const struct job_ref ref = test_capture(a);

	test_capture_end(a, &ref);
	memcpy(id, ref.session, ID_MAX);
}

void
test_upload(struct test_api *a, const struct profile *p, const char *type,
            char id[static ID_MAX])
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(BUF_MAX_REPLY);
	struct session_ask of = test_ask();
	struct session_result result = test_result();
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;
	struct blob blob;

	of.type = type;
	of.origin = SESSION_UPLOAD;
	of.started_ms = of.completed_ms = p->time_ns / NS_PER_MS;
	result.sample_count = p->nsamples;
	ck_assert_int_eq(pprof_encode(p, &bytes), 0);
	ck_assert_int_eq(blob_put(&a->store.s, BLOB_PPROF, bytes.p, bytes.len,
	                          &w, &blob),
	                 0);
	ck_assert_int_eq(session_upload(&a->store.s, &of, &result, &blob, id),
	                 0);
}
