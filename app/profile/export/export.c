#include "exports.h"

#include "profile/pprof.h"

#include <string.h>

#define FORMAT(name, content_type, extension, use, doc) \
	{#name, content_type, extension, FORMAT_##use, doc, export_##name},
const struct format formats[] = {
#include "formats.def"
};
#undef FORMAT

const size_t nformats = ARRAY_LEN(formats);

const struct format *
format_find(const char *name)
{
	for (size_t i = 0; i < nformats; i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

int
export_pprof(const struct tree *t, const struct export_meta *meta,
             struct buf *out)
{
	(void)meta;
	return pprof_encode(t->profile, out);
}
