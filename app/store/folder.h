/* Folders that upkeep walks. */
#pragma once

#include "base/cleanup.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#define CLEANUP_FOLDER CLEANUP(folder_close)

/* name below dir_fd, never a link; *out is the caller's. */
MUST_CHECK int folder_open(int dir_fd, const char *name, DIR **out);
void folder_close(DIR **d);
/* A regular file that nobody has written to for so long. */
bool folder_is_old(int dir_fd, const char *name, int64_t age_ms);
