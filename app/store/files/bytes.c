#include "store/bytes.h"

#include "bytes_db.h"
#include "bytes_file.h"
#include "s3_private.h"

#include <errno.h>
#include <string.h>

static const struct bytes_driver *const drivers[] = {
	&bytes_file,
	&bytes_db,
	&bytes_s3,
};

static const struct bytes_driver *
driver_of(const char *store)
{
	for (size_t i = 0; i < ARRAY_LEN(drivers); i++)
		if (!strcmp(drivers[i]->store, store))
			return drivers[i];
	return NULL;
}

bool
bytes_unreachable(int rc)
{
	return rc == -EHOSTUNREACH || rc == -ETIMEDOUT || rc == -EKEYREJECTED ||
	       rc == -EREMOTEIO || rc == -ENOTSUP || rc == -EIO ||
	       rc == -EPROTO || rc == -EBUSY;
}

int
bytes_put(struct store *s, const char *driver, const char *name, const void *p,
          size_t n, int *out_hold)
{
	const struct bytes_driver *d = driver_of(driver);

	if (!d)
		return -ENOTSUP;
	return bytes_name_valid(name) ? d->put(s, name, p, n, out_hold)
	                              : -EINVAL;
}

static bool
is_sound(const struct piece *p)
{
	return p->start >= 0 && p->n >= 0 && p->start <= p->whole &&
	       p->n <= p->whole - p->start;
}

int
bytes_get(const struct store *s, const char *driver, const char *name,
          const struct piece *piece, struct buf *out)
{
	const struct bytes_driver *d = driver_of(driver);

	if (!d)
		return -ENOTSUP;
	return bytes_name_valid(name) && is_sound(piece)
	               ? d->get(s, name, piece, out)
	               : -EBADMSG;
}

int
bytes_drop(struct store *s, const char *driver, const char *name)
{
	const struct bytes_driver *d = driver_of(driver);

	if (!d)
		return -ENOTSUP;
	return bytes_name_valid(name) ? d->drop(s, name) : 0;
}

int
bytes_list(struct store *s, const char *driver, struct bytes_at *at,
           bytes_listed *fn, void *arg)
{
	const struct bytes_driver *d = driver_of(driver);

	at->more = false;
	return d ? d->list(s, at, fn, arg) : -ENOTSUP;
}
