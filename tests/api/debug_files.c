/* Debug files that clients push, in a real pool. */
#include "lib/api.h"
#include "lib/api_short.h"
#include "store/debug_file.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define FILES "/api/v1/debug-files"
#define ID    "00112233445566778899aabbccddeeff00112233"

/* Looks like an ELF file: the API checks nothing else. */
static const char bytes[sizeof(Elf64_Ehdr)] = ELFMAG;

static struct client_reply
push(struct test_api *a, enum api_key key, const char *query, const char *body,
     size_t n)
{
	char path[256];

	snprintf(path, sizeof(path), FILES "?%s", query);
	return ask(a, (struct ask){.key = key,
	                           .method = "POST",
	                           .path = path,
	                           .type = "application/octet-stream",
	                           .body = body,
	                           .body_len = n});
}

TEST(a_pushed_file_is_listed_and_deleted_within_its_tenant)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made = {0}, list = {0}, theirs = {0};
	CLEANUP_REPLY struct client_reply not = {0}, gone = {0}, none = {0};
	const json_t *item;
	char path[256];

	made = push(&a, KEY_OPERATOR,
	            "buildId=" ID "&goBuildId=a/b/c/d&name=server", bytes,
	            sizeof(bytes));
	ck_assert_msg(made.status == 201, "%s", buf_str(&made.body));
	list = api_get(&a, FILES "?buildId=a/b/c/d");
	ck_assert_uint_eq(length_of(&list, "items"), 1);
	item = item_of(&list, "items", 0);
	ck_assert_str_eq(text_of(item, "id"), reply_text(&made, "id"));
	ck_assert_str_eq(text_of(item, "name"), "server");
	ck_assert_str_eq(text_of(item, "buildId"), ID);
	ck_assert_str_eq(text_of(item, "state"), "stored");
	ck_assert_int_eq(number_of(item, "bytes"), sizeof(bytes));
	theirs = api_say(&a, KEY_OTHER, "GET", FILES, NULL);
	ck_assert_uint_eq(length_of(&theirs, "items"), 0);
	snprintf(path, sizeof(path), FILES "/%s", reply_text(&made, "id"));
	not = api_say(&a, KEY_OTHER, "DELETE", path, NULL);
	assert_error(&not, 404, "UnknownDebugFile");
	gone = api_delete(&a, path);
	ck_assert_int_eq(gone.status, 204);
	none = api_get(&a, FILES);
	ck_assert_uint_eq(length_of(&none, "items"), 0);
}
END

TEST(what_is_not_an_elf_file_is_refused)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	static const struct {
		const char *body;
		size_t n;
	} bad[] = {{ELFMAG, SELFMAG},
	           {"<html>a page, which is longer than the head of an ELF "
	            "file is</html>",
	            67}};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP_REPLY struct client_reply r = push(
			&a, KEY_OPERATOR, "buildId=" ID, bad[i].body, bad[i].n);

		assert_error(&r, 400, "InvalidDebugFile");
	}
}
END

TEST(who_pushed_and_deleted_a_debug_file_is_in_the_audit_log)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made = {0}, gone = {0}, log = {0};
	char path[256];

	made = push(&a, KEY_OPERATOR, "buildId=" ID "&name=server", bytes,
	            sizeof(bytes));
	snprintf(path, sizeof(path), FILES "/%s", reply_text(&made, "id"));
	gone = api_delete(&a, path);
	ck_assert_int_eq(gone.status, 204);
	log = api_get(&a, "/api/v1/audit");
	ck_assert_str_eq(text_of(item_of(&log, "items", 0), "action"),
	                 "DeleteDebugFile");
	ck_assert_str_eq(text_of(item_of(&log, "items", 1), "action"),
	                 "PushDebugFile");
	ck_assert_str_eq(text_of(item_of(&log, "items", 1), "target"),
	                 reply_text(&made, "id"));
}
END

static void
limit_files(struct test_api *a)
{
	CLEANUP_REPLY struct client_reply first = {0}, again = {0}, next = {0};

	first = push(a, KEY_OPERATOR, "buildId=aaaa", bytes, sizeof(bytes));
	ck_assert_int_eq(first.status, 201);
	again = push(a, KEY_OPERATOR, "buildId=aaaa", bytes, sizeof(bytes));
	ck_assert_int_eq(again.status, 201);
	next = push(a, KEY_OPERATOR, "buildId=bbbb", bytes, sizeof(bytes));
	assert_error(&next, 403, "QuotaExceeded");
}

TEST(a_quota_limits_debug_files_and_their_bytes)
{
	static const char *const keys[] = {"[quota]\ndebug_files = 1\n",
	                                   "[quota]\ndebug_bytes = 100\n"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		CLEANUP_API struct test_api a = test_api(1, keys[i]);

		limit_files(&a);
	}
}
END

SUITE("debug_files");
