#include "lib/api_short.h"

#include "store/session.h"

#include "lib/folded.h"
#include "lib/stacks.h"

struct client_reply
api_get(struct test_api *a, const char *path)
{
	return ask(a, (struct ask){.key = KEY_VIEWER, .path = path});
}

struct client_reply
api_say(struct test_api *a, enum api_key key, const char *method,
        const char *path, const char *body)
{
	return ask(a, (struct ask){.key = key,
	                           .method = method,
	                           .path = path,
	                           .body = body});
}

struct client_reply
api_post(struct test_api *a, const char *path, const char *body)
{
	return api_say(a, KEY_OPERATOR, "POST", path, body);
}

struct client_reply
api_getf(struct test_api *a, const char *fmt, const char *id, const char *id2)
{
	char path[256];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(path, sizeof(path), fmt, id, id2);
#pragma GCC diagnostic pop
	return api_get(a, path);
}

struct client_reply
api_delete(struct test_api *a, const char *path)
{
	return ask(a, (struct ask){.key = KEY_OPERATOR,
	                           .method = "DELETE",
	                           .path = path});
}

void
api_upload(struct test_api *a, const char *stacks, char id[static ID_MAX])
{
	CLEANUP_PROFILE struct profile *p = stacks_of(stacks);

	test_upload(a, p, "goroutine", id);
}

void
api_upload_cpu(struct test_api *a, const char *folded, char id[static ID_MAX])
{
	CLEANUP_PROFILE struct profile *p = profile_of(folded);

	p->duration_ns = INT64_C(10000000000);
	test_upload(a, p, "cpu", id);
}

int64_t
number_of(const json_t *j, const char *key)
{
	return json_integer_value(json_object_get(j, key));
}

const char *
text_of(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "(none)";
}

const json_t *
item_of(const struct client_reply *r, const char *list, size_t i)
{
	return json_array_get(json_object_get(r->json, list), i);
}

size_t
length_of(const struct client_reply *r, const char *list)
{
	return json_array_size(json_object_get(r->json, list));
}

struct client_reply
api_send(struct test_api *a, const char *path, const char *type,
         const void *body, size_t n)
{
	return ask(a, (struct ask){
			      .key = KEY_OPERATOR,
			      .method = "POST",
			      .path = path,
			      .type = type,
			      .body = body,
			      .body_len = n,
		      });
}

size_t
sessions_stored(struct test_api *a)
{
	CLEANUP_SESSIONS struct session_list l = {0};
	const struct session_filter f = {TEST_TENANT, "", "", "", 0, 0, ""};

	ck_assert_int_eq(session_list(&a->store.s, &f,
	                              (struct page){STORE_PAGE_MAX, ""}, &l),
	                 0);
	return l.n;
}
