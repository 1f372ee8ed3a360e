#include "lib/http_server.h"

#include "lib/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_REQUEST 8192

/* Reads up to the empty line; returns false if the client leaves before it. */
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

static void
send_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

		if (sent <= 0)
			return;
		p += sent;
		n -= (size_t)sent;
	}
}

static void
answer(int fd, int asked, const struct canned *rows, size_t n)
{
	char text[MAX_REQUEST], rest;
	const struct canned *row;
	char *path;

	if (!read_request(fd, text) || !(path = strchr(text, ' ')))
		return;
	path++;
	dprintf(asked, "%.*s\n", (int)strcspn(path, " "), path);
	row = row_for(rows, n, path);
	if (!row)
		return;
	send_all(fd, row->bytes, row->n ? row->n : strlen(row->bytes));
	if (!row->hangs)
		return;
	while (read(fd, &rest, 1) > 0)
		;
	dprintf(asked, "gone\n");
}

static void
serve(int listener, int asked, const struct canned *rows, size_t n)
{
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			_exit(1);
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			answer(fd, asked, rows, n);
			shutdown(fd, SHUT_RDWR);
			_exit(0);
		}
		close(fd);
	}
}

void
http_server_start(struct http_server *s, const struct canned *rows, size_t n)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
	                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), pipes[2];

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, len), 0);
	ck_assert_int_eq(listen(fd, 16), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
	s->port = ntohs(a.sin_port);
	s->asked = pipes[0];
	s->pid = fork();
	ck_assert_int_ge(s->pid, 0);
	if (s->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pipes[0]);
		serve(fd, pipes[1], rows, n);
	}
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
