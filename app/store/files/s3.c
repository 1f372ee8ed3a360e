#include "s3_private.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/url.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define KEY_FILE_MAX 512
#define OTHERS       07 /* bits of a mode */

static const char small[] = "abcdefghijklmnopqrstuvwxyz0123456789";

void
s3_free(struct s3 *s3)
{
	if (!s3)
		return;
	for (size_t i = 0; i < s3->nidle; i++)
		curl_easy_cleanup(s3->idle[i]);
	pthread_mutex_destroy(&s3->lock);
	s3_cache_done(&s3->cache);
	if (s3->secret)
		explicit_bzero(s3->secret, strlen(s3->secret));
	free(s3->base);
	free(s3->host);
	free(s3->path);
	free(s3->bucket);
	free(s3->prefix);
	free(s3->region);
	free(s3->sign);
	free(s3->key);
	free(s3->secret);
	free(s3->ca_file);
	free(s3);
}
DEFINE_CLEANUP(struct s3 *, s3_free)

/* True if a text consists of lower-case letters, digits and the characters in
 * others. */
static bool
made_of(const char *text, const char *others)
{
	for (; *text; text++)
		if (!strchr(small, *text) && !strchr(others, *text))
			return false;
	return true;
}

/* Names go into URLs and signatures unencoded, so only characters that need no
 * encoding are accepted. */
static int
check_names(const struct conf *c, struct buf *why)
{
	struct url url;
	size_t n = strlen(c->s3_prefix);

	if (url_parse(c->s3_endpoint, &url) || *url.path)
		buf_addf(why, "[s3] endpoint: expected http(s)://HOST[:PORT]");
	else if (strlen(c->s3_bucket) < 3 || !made_of(c->s3_bucket, ".-"))
		buf_addf(why, "[s3] bucket: expected 3 to 63 small letters, "
		              "digits, '.' and '-'");
	else if (!made_of(c->s3_region, "-"))
		buf_addf(why, "[s3] region: expected small letters, digits "
		              "and '-'");
	else if (!made_of(c->s3_prefix, "-_/") || c->s3_prefix[0] == '/' ||
	         strstr(c->s3_prefix, "//") ||
	         (n && c->s3_prefix[n - 1] != '/'))
		buf_addf(why, "[s3] prefix: expected small letters, digits, "
		              "'-', '_' and '/', with '/' at its end");
	return why->len ? -EINVAL : 0;
}

/* Reads ACCESS-KEY:SECRET. */
static int
read_key(const char *path, struct s3 *s3, struct buf *why)
{
	CLEANUP_BUF struct buf text = BUF_INIT(KEY_FILE_MAX);
	CLEANUP_FD int fd =
		open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	char *secret, *end;
	int rc = fd < 0 || fstat(fd, &st) ? -errno : 0;

	if (!rc && (!S_ISREG(st.st_mode) || st.st_mode & OTHERS)) {
		buf_addf(why,
		         "%s: must be a file that others may not read: "
		         "chmod o= it",
		         path);
		return -EPERM;
	}
	rc = rc ?: fd_read_all(fd, &text);
	if (rc) {
		buf_addf(why, "%s: %s", path, strerror(-rc));
		return rc;
	}
	end = text.p + strcspn(buf_str(&text), "\r\n");
	*end = '\0';
	secret = strchr(text.p, ':');
	if (!secret || secret == text.p || !secret[1] ||
	    strpbrk(text.p, " \t")) {
		buf_addf(why, "%s: expected one line, ACCESS-KEY:SECRET", path);
		return -EINVAL;
	}
	*secret++ = '\0';
	s3->key = strdup(text.p);
	s3->secret = strdup(secret);
	explicit_bzero(text.p, text.len);
	return s3->key && s3->secret ? 0 : -ENOMEM;
}

PRINTF(2, 3)
static int
print(char **out, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(out, fmt, ap);
	va_end(ap);
	if (n < 0)
		*out = NULL;
	return n < 0 ? -ENOMEM : 0;
}

static int
fill(struct s3 *s3, const struct conf *c)
{
	const char *host = strstr(c->s3_endpoint, "://") + 3;

	s3->tls = host - c->s3_endpoint == sizeof("https://") - 1;
	s3->timeout_ms = c->s3_timeout * MS_PER_S;
	return print(&s3->bucket, "%s/%s", c->s3_endpoint, c->s3_bucket)
	               ?: print(&s3->base, "%s/%s", s3->bucket, c->s3_prefix)
	               ?: print(&s3->path, "/%s/%s", c->s3_bucket,
	                        c->s3_prefix)
	               ?: print(&s3->sign, "aws:amz:%s:s3", c->s3_region)
	               ?: print(&s3->host, "%s", host)
	               ?: print(&s3->prefix, "%s", c->s3_prefix)
	               ?: print(&s3->region, "%s", c->s3_region)
	               ?: print(&s3->ca_file, "%s", c->s3_ca_file);
}

int
s3_new(const struct conf *conf, struct s3 **out, struct buf *why)
{
	CLEANUP(s3_free_ptr) struct s3 *s3 = calloc(1, sizeof(*s3));
	int rc = s3 ? 0 : -ENOMEM;

	if (rc)
		return rc;
	pthread_mutex_init(&s3->lock, NULL);
	s3_cache_init(&s3->cache);
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return -ENOMEM;
	rc = check_names(conf, why) ?: read_key(conf->s3_key_file, s3, why)
	             ?: fill(s3, conf);
	if (!rc)
		*out = TAKE(s3);
	return rc;
}

int
bytes_configure(struct store *s, const struct conf *conf, struct buf *why)
{
	const struct {
		const char *driver;
		bool is_there;
		const char *needs;
	} rows[] = {
		{BYTES_FILE, true, ""},
		{BYTES_DB, db_is_remote(conf->store_database),
	         "a database on a server: [store] database"},
		{BYTES_S3, *conf->s3_endpoint, "endpoint in [s3]"},
	};
	size_t i = 0;

	while (i < ARRAY_LEN(rows) && strcmp(rows[i].driver, conf->store_bytes))
		i++;
	if (i == ARRAY_LEN(rows)) {
		buf_addf(why, "[store] bytes: expected " BYTES_FILE
		              ", " BYTES_DB " or " BYTES_S3);
		return -EINVAL;
	}
	if (!rows[i].is_there) {
		buf_addf(why, "[store] bytes: %s needs %s", rows[i].driver,
		         rows[i].needs);
		return -EINVAL;
	}
	s->bytes = rows[i].driver;
	return *conf->s3_endpoint ? s3_new(conf, &s->s3, why) : 0;
}
