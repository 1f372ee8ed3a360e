/* What the files about takes share. */
#pragma once

#include "takes.h"

/* Back to idle, until the next time. */
void take_rest(struct take *v);
/* Says in the store that it fails, or does no longer, when that is news. */
void take_tell(struct takes *t, struct take *v, enum capture_error e);
