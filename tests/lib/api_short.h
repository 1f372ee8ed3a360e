/* Asking the API in few words: what its tests have in common. */
#pragma once

#include "lib/api.h"

/* Makes a request as a viewer. */
struct client_reply api_get(struct test_api *a, const char *path);
/* Makes a request as a viewer; fmt has up to two %s. */
struct client_reply
api_getf(struct test_api *a, const char *fmt, const char *id, const char *id2);
/* Make requests as an operator. */
struct client_reply
api_post(struct test_api *a, const char *path, const char *body);
struct client_reply api_delete(struct test_api *a, const char *path);

/* Uploads stacks (lib/stacks.h) as goroutines, or folded ones as CPU time. */
void api_upload(struct test_api *a, const char *stacks, char id[static ID_MAX]);
void
api_upload_cpu(struct test_api *a, const char *folded, char id[static ID_MAX]);

/* Members: 0, "(none)", NULL when there is none. */
int64_t number_of(const json_t *j, const char *key);
const char *text_of(const json_t *j, const char *key);
const json_t *item_of(const struct client_reply *r, const char *list, size_t i);
size_t length_of(const struct client_reply *r, const char *list);
/* Posts bytes of any type as an operator. */
struct client_reply api_send(struct test_api *a, const char *path,
                             const char *type, const void *body, size_t n);
/* Sessions in the store, whatever their state. */
size_t sessions_stored(struct test_api *a);
