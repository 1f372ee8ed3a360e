/* Short functions for requests that most tests of the API make. */
#pragma once

#include "lib/api.h"

/* Makes a request with a viewer's key. */
struct client_reply api_get(struct test_api *a, const char *path);
/* Makes a request with a viewer's key; fmt has up to two %s. */
struct client_reply
api_getf(struct test_api *a, const char *fmt, const char *id, const char *id2);
/* Makes a request with this key; body may be NULL. */
struct client_reply
api_say(struct test_api *a, enum api_key key, const char *method,
        const char *path, const char *body);
/* Make requests with an operator's key. */
struct client_reply
api_post(struct test_api *a, const char *path, const char *body);
struct client_reply api_delete(struct test_api *a, const char *path);

/* Upload stacks (lib/stacks.h) as goroutines, or folded stacks as CPU time. */
void api_upload(struct test_api *a, const char *stacks, char id[static ID_MAX]);
void
api_upload_cpu(struct test_api *a, const char *folded, char id[static ID_MAX]);

/* Return members; missing ones are 0, "(none)" or NULL. */
int64_t number_of(const json_t *j, const char *key);
const char *text_of(const json_t *j, const char *key);
const json_t *item_of(const struct client_reply *r, const char *list, size_t i);
size_t length_of(const struct client_reply *r, const char *list);
/* Posts bytes of any type with an operator's key. */
struct client_reply api_send(struct test_api *a, const char *path,
                             const char *type, const void *body, size_t n);
/* Returns the number of sessions in the store, in any state. */
size_t sessions_stored(struct test_api *a);
