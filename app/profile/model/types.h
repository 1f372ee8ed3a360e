/* What types.def says of a type. */
#pragma once

#include <stdbool.h>

/* Averaged over a range, never summed. */
bool type_is_gauge(const char *type);
