#include "settings.h"

#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *
settings_file(const struct options *o)
{
	const char *file = getenv("STOKER_CONFIG");

	return o->config ? o->config : file && *file ? file : CONFIG_DEFAULT;
}

int
settings_load(const struct options *o, struct conf *out, struct buf *why)
{
	const char *file = settings_file(o);
	struct conf c;
	int rc;

	/* a file that the user named must exist */
	if (strcmp(file, CONFIG_DEFAULT) != 0 && access(file, R_OK)) {
		rc = -errno;
		buf_addf(why, "%s: %s", file, strerror(-rc));
		return rc;
	}
	rc = conf_load(file, &c, why);
	if (rc)
		return rc;
	if (o->state) {
		char *dir = file_absolute(o->state);

		if (!dir) {
			conf_done(&c);
			return -ENOMEM;
		}
		free(c.store_dir);
		c.store_dir = dir;
	}
	*out = c;
	return 0;
}
