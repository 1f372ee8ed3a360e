#include "base/service_text.h"

#include <string.h>

void
text_for_service(const char *text, const char *service, struct buf *out)
{
	static const char word[] = "SERVICE";
	const char *at;

	while (service && (at = strstr(text, word))) {
		buf_add(out, text, (size_t)(at - text));
		buf_puts(out, service);
		text = at + strlen(word);
	}
	buf_puts(out, text);
}
