/* Control groups with a CPU quota. */
#pragma once

#include "capture/host.h"

/* Sets quota_group and quota_us of a process; zeros where no quota has held it
 * back. */
void group_read(int32_t pid, struct host_usage *out);
