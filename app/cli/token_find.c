/* Finds the token of a call. */
#include "base/file.h"
#include "http.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static int
from_file(const char *path, char **out, struct buf *why)
{
	CLEANUP_BUF struct buf text = BUF_INIT(HTTP_TOKEN_MAX);
	int rc = file_read(AT_FDCWD, path, &text);

	if (!rc && !strcspn(buf_str(&text), " \t\r\n"))
		rc = -ENODATA;
	if (rc) {
		buf_addf(why, "token file %s: %s", path,
		         rc == -ENODATA ? "it is empty" : strerror(-rc));
		if (rc == -ENODATA || rc == -ENOENT)
			buf_addf(why,
			         "\n  on the server's host: stoker token "
			         "create NAME >%s",
			         path);
		return rc;
	}
	*out = strndup(buf_str(&text), strcspn(buf_str(&text), " \t\r\n"));
	return *out ? 0 : -ENOMEM;
}

void
token_home(struct buf *out)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");

	if (config && *config)
		buf_addf(out, "%s/stoker", config);
	else if (home && *home)
		buf_addf(out, "%s/.config/stoker", home);
}

/* Reads the token file of the user, which need not exist. */
static int
from_home(char **out, struct buf *why)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);

	token_home(&path);
	if (!path.len)
		return 0;
	buf_puts(&path, "/" TOKEN_FILE);
	if (access(buf_str(&path), F_OK))
		return 0;
	return from_file(buf_str(&path), out, why);
}

int
token_find(const char *token, const char *token_file, char **out,
           struct buf *why)
{
	*out = NULL;
	if (!token && token_file)
		return from_file(token_file, out, why);
	if (!token)
		token = getenv("STOKER_TOKEN");
	if (token && *token) {
		*out = strdup(token);
		return *out ? 0 : -ENOMEM;
	}
	token_file = getenv("STOKER_TOKEN_FILE");
	if (token_file && *token_file)
		return from_file(token_file, out, why);
	return from_home(out, why);
}
