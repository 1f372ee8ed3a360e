/* Forms and names that come with pushes, besides the profile. */
#include "base/clock.h"
#include "endpoint/call/multipart.h"
#include "endpoint/ingest/ingest_name.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
form(const char *p, size_t n)
{
	struct part part = {0};

	if (multipart_find("multipart/form-data; boundary=b", p, n, "profile",
	                   &part))
		return;
	assert(!part.p || (part.p >= p && part.p + part.n <= p + n));
}

static void
name(const char *text)
{
	CLEANUP_BUF struct buf labels = BUF_INIT(BUF_MAX_SMALL);
	char app[INGEST_APP_MAX];
	json_t *j;

	if (ingest_name(text, app, &labels))
		return;
	j = json_loadb(labels.p, labels.len, JSON_DISABLE_EOF_CHECK, NULL);
	assert(j);
	json_decref(j);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = strndup((const char *)data, n);
	int64_t ms;

	assert(text);
	form((const char *)data, n);
	name(text);
	(void)!clock_read(text, 0, &ms);
	free(text);
	return 0;
}
