/* Files and answers of a process that may be a JVM. */
#include "worker/opener/java_text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct java_status s;
	char *text = malloc(size + 1), *bytes = malloc(size ? size : 1);

	if (!text || !bytes)
		abort();
	memcpy(text, data, size);
	memcpy(bytes, data, size); /* nothing marks its end */
	text[size] = '\0';
	if (!java_parse_status(text, &s) && s.inner <= 0)
		abort();
	if (java_is_hotspot(text) && !strstr(text, "libjvm.so"))
		abort();
	if (java_refuses(bytes, size) && !java_parse_answer(bytes, size) &&
	    size < 3)
		abort();
	free(text);
	free(bytes);
	return 0;
}
