#include "lib/gateway.h"

#include "base/file.h"
#include "lib/listener.h"

#include <ctype.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_REQUEST (4 << 20)

struct param_list {
	struct client_param p[CLIENT_MAX_PARAMS];
	size_t n;
	char names[CLIENT_MAX_PARAMS][64];
};

static void
add(struct param_list *l, const char *name, const char *value)
{
	ck_assert_uint_lt(l->n, CLIENT_MAX_PARAMS - 1);
	snprintf(l->names[l->n], sizeof(l->names[0]), "%s", name);
	l->p[l->n] = (struct client_param){l->names[l->n], value};
	l->n++;
}

/* Names a header as CGI does, such as HTTP_ACCEPT and CONTENT_TYPE. */
static void
add_header(struct param_list *l, const char *header, const char *value)
{
	char name[64];
	size_t n = (size_t)snprintf(
		name, sizeof(name), "%s%s",
		strncasecmp(header, "Content-", 8) ? "HTTP_" : "", header);

	for (size_t i = 0; i < n; i++)
		name[i] = name[i] == '-' ? '_' : (char)toupper(name[i]);
	add(l, name, value);
}

/* Splits the head into lines; the first has method and path. */
static void
read_head(char *head, struct param_list *out)
{
	char *line = strtok(head, "\r\n"), *path = strchr(line, ' ');

	*path++ = '\0';
	path[strcspn(path, " ")] = '\0';
	add(out, "REQUEST_METHOD", line);
	add(out, "REQUEST_URI", path);
	while ((line = strtok(NULL, "\r\n"))) {
		char *value = strchr(line, ':');

		*value++ = '\0';
		add_header(out, line, value + strspn(value, " "));
	}
}

static size_t
length_of(const struct param_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->p[i].name, "CONTENT_LENGTH"))
			return strtoul(l->p[i].value, NULL, 10);
	return 0;
}

/* Returns false if the client has left. */
static bool
receive(int fd, struct buf *in)
{
	char *to = buf_reserve(in, 4096);
	ssize_t n = to ? read(fd, to, 4096) : 0;

	if (n <= 0)
		return false;
	in->len += (size_t)n;
	in->p[in->len] = '\0';
	return true;
}

static void
send_reply(int fd, const struct client_reply *r)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	const char *rest = strchr(r->head.p, '\n') + 1; /* after "Status: " */

	buf_addf(&out,
	         "HTTP/1.1 %d Is\r\nContent-Length: %zu\r\n"
	         "Connection: close\r\n%s",
	         r->status, r->body.len, rest);
	buf_add(&out, buf_str(&r->body), r->body.len);
	ck_assert_int_eq(buf_err(&out), 0);
	(void)!fd_write_all(fd, out.p, out.len);
}

static void
hand_over(void *pool, int fd)
{
	CLEANUP_BUF struct buf in = BUF_INIT(MAX_REQUEST);
	CLEANUP_REPLY struct client_reply r = {0};
	struct param_list l = {0};
	const char *body;
	size_t head;
	int to;

	while (!in.len || !strstr(in.p, "\r\n\r\n"))
		if (!receive(fd, &in))
			return;
	head = (size_t)(strstr(in.p, "\r\n\r\n") - in.p) + 4;
	CLEANUP_FREE char *lines = strndup(in.p, head);

	read_head(lines, &l);
	add(&l, "REQUEST_ID", "test-request-id");
	add(&l, "REQUEST_SCHEME", "http");
	add(&l, "REMOTE_ADDR", "127.0.0.1");
	while (in.len < head + length_of(&l))
		if (!receive(fd, &in))
			return;
	body = in.p + head;
	to = client_connect(pool);
	ck_assert_int_ge(to, 0);
	client_send(to, l.p, body, in.len - head);
	client_receive(to, &r);
	send_reply(fd, &r);
}

struct gateway
gateway_start(struct test_api *a)
{
	struct gateway g = {.api = a};
	int fd = listener_open(&g.port);

	g.pid = listener_serve(fd, hand_over, a->socket);
	close(fd);
	return g;
}

void
gateway_stop(struct gateway *g)
{
	kill(g->pid, SIGKILL);
	waitpid(g->pid, NULL, 0);
}

int
gateway_stoker(const struct gateway *g, enum api_key key, const char *args,
               struct buf *out)
{
	CLEANUP_BUF struct buf line = BUF_INIT(BUF_MAX_SMALL);
	const char *build = getenv("B");
	FILE *said;
	int status;

	buf_addf(&line,
	         "cd %s && unset STOKER_TOKEN_FILE DISPLAY XDG_CONFIG_HOME && "
	         "export STOKER_URL=http://127.0.0.1:%u STOKER_TOKEN=%s "
	         "HOME=%s && exec %s/stoker %s 2>&1 </dev/null",
	         g->api->store.dir, g->port, g->api->keys[key],
	         g->api->store.dir, build ? build : "build", args);
	ck_assert_int_eq(buf_err(&line), 0);
	said = popen(line.p, "r");
	ck_assert_ptr_nonnull(said);
	ck_assert_int_eq(fd_read_all(fileno(said), out), 0);
	status = pclose(said);
	ck_assert_msg(WIFEXITED(status), "stoker %s: it died", args);
	return WEXITSTATUS(status);
}

void
gateway_shows(const struct gateway *g, const char *args, int status,
              const char *pattern)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	int left = gateway_stoker(g, KEY_ADMIN, args, &out);

	ck_assert_msg(left == status && !fnmatch(pattern, buf_str(&out), 0),
	              "stoker %s: left with %d, and showed:\n%s", args, left,
	              buf_str(&out));
}

/* --- rows ----------------------------------------------------------------- */

#define GOROUTINE_1                                 \
	"goroutine 1 [chan receive, 12 minutes]:\n" \
	"main.f(0x1)\n\t/src/app.go:12 +0x1d\n"     \
	"main.main()\n\t/src/app.go:40 +0x2c\n\n"
#define GOROUTINE(id)                                                   \
	"goroutine " #id " [select]:\nmain.g(0x1)\n"                    \
	"\t/src/app.go:22 +0x1d\ncreated by main.main in goroutine 1\n" \
	"\t/src/app.go:40 +0x2c\n\n"

static const struct {
	const char *name, *text;
} files[] = {
	{"a.folded", "main;parse;read 40\nmain;parse 20\n"
                     "main;render;draw 30\nmain 10\n"},
	{"b.folded", "main;parse;read 20\nmain;parse 10\n"
                     "main;render;draw 60\nmain 10\n"},
	{"a.txt", GOROUTINE_1 GOROUTINE(7)},
	{"b.txt", GOROUTINE_1 GOROUTINE(7) GOROUTINE(8)},
	{"o.json",
         "{\"dictionary\":{\"stringTable\":[\"\",\"cpu\",\"nanoseconds\","
         "\"work\"],\"functionTable\":[{},{\"nameStrindex\":3,"
         "\"startLine\":10}],\"locationTable\":[{},{\"lines\":[{"
         "\"functionIndex\":1,\"line\":12}]}],\"stackTable\":[{},{"
         "\"locationIndices\":[1]}]},\"resourceProfiles\":[{"
         "\"scopeProfiles\":[{\"profiles\":[{\"sampleType\":{"
         "\"typeStrindex\":1,\"unitStrindex\":2},\"samples\":[{"
         "\"stackIndex\":1,\"values\":[7]}]}]}]}]}"},
	{"services.json",
         "[{\"name\":\"x\",\"match\":{\"exe\":\"/opt/app/x\"}},"
         "{\"name\":\"web\",\"match\":{\"exe\":\"/opt/app/y\"}}]"},
};

static void
write_files(const char *dir)
{
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char path[128];
		int fd;

		snprintf(path, sizeof(path), "%s/%s", dir, files[i].name);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		ck_assert_int_eq(
			fd_write_all(fd, files[i].text, strlen(files[i].text)),
			0);
		close(fd);
	}
}

/* Removes the files that commands wrote beside the store. */
static void
remove_beside(const char *dir)
{
	char pattern[128];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s.*", dir);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		test_remove(found.gl_pathv[i]);
	globfree(&found);
}

void
gateway_show_all(const struct shown *rows, size_t n)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_GATEWAY struct gateway g = gateway_start(&a);

	test_looks(&a);
	write_files(a.store.dir);
	for (size_t i = 0; i < n; i++)
		gateway_shows(&g, rows[i].args, rows[i].status,
		              rows[i].pattern);
	remove_beside(a.store.dir);
}
