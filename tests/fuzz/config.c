/* stoker.conf is read, or refused with a readable line. */
#include "base/conf.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct conf c;
	char *text = malloc(n + 1);

	memcpy(text, data, n);
	text[n] = '\0';
	if (conf_parse("fuzz", text, &c, &why)) {
		assert(why.len || buf_err(&why));
	} else {
		assert(c.api_pool >= 1 && c.api_pool <= 256);
		(void)conf_tenant(&c, "t");
		conf_done(&c);
	}
	free(text);
	return 0;
}
