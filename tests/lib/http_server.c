#include "lib/http_server.h"

#include "lib/listener.h"
#include "lib/test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_REQUEST 8192
#define TRICKLE_MS  10

/* Reads up to the empty line; returns false if the client leaves before. */
static int
read_request(int fd, char out[static MAX_REQUEST])
{
	size_t n = 0;

	while (n < MAX_REQUEST - 1) {
		ssize_t got = read(fd, out + n, MAX_REQUEST - 1 - n);

		if (got <= 0)
			return 0;
		n += (size_t)got;
		out[n] = '\0';
		if (strstr(out, "\r\n\r\n"))
			return 1;
	}
	return 0;
}

static const struct canned *
row_for(const struct canned *rows, size_t n, const char *path)
{
	size_t len = strcspn(path, "? ");

	for (size_t i = 0; i < n; i++)
		if (!strcmp(rows[i].path, "*") ||
		    (strlen(rows[i].path) == len &&
		     !strncmp(rows[i].path, path, len)))
			return &rows[i];
	return NULL;
}

/* A server's answers, and the descriptor to which it reports requests. */
struct serving {
	const struct canned *rows;
	size_t n;
	int asked;
};

/* Sends a text until the client has left. */
static void
send_again(int fd, const char *text, int pause_ms)
{
	struct pollfd left = {fd, POLLRDHUP, 0};

	while (!poll(&left, 1, pause_ms) &&
	       send(fd, text, strlen(text), MSG_NOSIGNAL) > 0)
		;
}

static void
answer(void *arg, int fd)
{
	const struct serving *s = arg;
	char text[MAX_REQUEST], rest;
	const struct canned *row;
	char *path;

	if (!read_request(fd, text) || !(path = strchr(text, ' ')))
		return;
	path++;
	dprintf(s->asked, "%.*s\n", (int)strcspn(path, " "), path);
	row = row_for(s->rows, s->n, path);
	if (!row)
		return;
	listener_send(fd, row->bytes, row->n ? row->n : strlen(row->bytes));
	if (row->again)
		send_again(fd, row->again, row->hangs ? TRICKLE_MS : 0);
	if (!row->hangs)
		return;
	while (read(fd, &rest, 1) > 0)
		;
	dprintf(s->asked, "gone\n");
}

void
http_server_start(struct http_server *s, const struct canned *rows, size_t n)
{
	struct serving serving = {rows, n, -1};
	int fd = listener_open(&s->port), pipes[2];

	ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
	s->asked = pipes[0];
	serving.asked = pipes[1];
	s->pid = listener_serve(fd, answer, &serving);
	close(fd);
	close(pipes[1]);
}

void
http_server_stop(struct http_server *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	close(s->asked);
}

void
http_server_line(const struct http_server *s, char *out, size_t max)
{
	size_t n = 0;

	while (n < max - 1 && read(s->asked, out + n, 1) == 1 && out[n] != '\n')
		n++;
	out[n] = '\0';
}
