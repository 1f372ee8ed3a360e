/* What the files about captures share. */
#pragma once

#include "captures.h"

struct capture *captures_find(struct captures *c, const char *id);
/* Forgets it; unnamed bytes are removed. */
void captures_drop(struct captures *c, struct capture *v);
/* STOP or CHECKPOINT, the latter with a descriptor. */
MUST_CHECK int captures_tell(struct captures *c, const struct capture *v,
                             enum msg_type type, int fd);
/* Ends it now, once. */
void captures_stop(struct captures *c, struct capture *v);
/* Fails it in the store and drops it. */
void captures_fail(struct captures *c, struct capture *v,
                   enum capture_error error, int sys_error);
/* Takes a DONE and its descriptor, which stays the caller's. */
void captures_take(struct captures *c, struct capture *v,
                   const struct msg_done *done, int top_fd);
/* Asks for a checkpoint when one is due. */
void captures_checkpoint(struct captures *c, struct capture *v, int64_t now_ns);
