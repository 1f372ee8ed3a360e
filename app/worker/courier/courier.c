#include "courier.h"

#include "base/file.h"
#include "base/log.h"
#include "worker/fetcher/fetcher_transfer.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define MAX_KEY ((size_t)512) /* bytes of the line; keys have 44 */
#define MAX_PEM ((size_t)256 << 10)

/* Reads a file; fails if its group or others have any right to it. */
static int
read_secret(int fd, const char *path, struct buf *out)
{
	struct stat st;
	int rc = 0;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		log_err("%s: there is no such file, or it cannot be read",
		        path);
		return -ENOENT;
	}
	if (st.st_mode & (S_IRWXG | S_IRWXO)) {
		log_err("%s: others may read it: chmod 600 %s", path, path);
		return -EPERM;
	}
	rc = fd_read_all(fd, out);
	if (rc)
		log_err("%s: %s", path, strerror(-rc));
	return rc;
}

/* True if s has only characters of keys, none of which can end a header. */
static bool
is_key(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                     "abcdefghijklmnopqrstuvwxyz0123456789_-.");

	return n && !s[n];
}

static int
read_key(int fd, const char *path, struct buf *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(MAX_KEY);
	char *end;
	int rc = read_secret(fd, path, &text);

	if (rc)
		return rc;
	end = text.p ? strpbrk(text.p, "\r\n") : NULL;
	if (end)
		*end = '\0';
	if (!is_key(buf_str(&text))) {
		log_err("%s: this is not a key: stoker join makes one", path);
		return -EINVAL;
	}
	buf_addf(out, "Authorization: Bearer %s", buf_str(&text));
	explicit_bzero(text.p, text.len);
	return buf_err(out);
}

static int
read_all(const struct conf *conf, const struct fetch_secrets *s,
         struct centre *out)
{
	int rc = read_key(s->key, conf->agent_key_file, &out->authorization);

	if (rc || !*conf->agent_cert_file)
		return rc;
	rc = s->cert < 0 ? -ENOENT : fd_read_all(s->cert, &out->cert);
	if (rc) {
		log_err("%s: %s", conf->agent_cert_file, strerror(-rc));
		return rc;
	}
	return read_secret(s->cert_key, conf->agent_cert_key_file,
	                   &out->cert_key);
}

int
courier_run(const struct conf *conf, const char *own, int socket, int alive,
            const struct fetch_secrets *secrets)
{
	struct centre centre = {
		.url = conf->agent_url,
		.authorization = BUF_INIT(MAX_KEY * 2),
		.cert = BUF_INIT(MAX_PEM),
		.cert_key = BUF_INIT(MAX_PEM),
	};
	struct fetcher f = {
		.conf = conf,
		.own = own,
		.socket = socket,
		.alive = alive,
		.ca_file = conf->agent_ca_file,
		.centre = &centre,
	};
	int rc;

	prctl(PR_SET_NAME, COURIER_NAME);
	rc = read_all(conf, secrets, &centre);
	close(secrets->key);
	close(secrets->cert);
	close(secrets->cert_key);
	return rc ? rc : fetcher_serve(&f);
}
