/* Tests of small parts of base that need no file of their own. */
#include "base/driving.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/id.h"
#include "base/json.h"
#include "base/msg.h"
#include "base/rows.h"
#include "base/utf8.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
temp_dir(char *path)
{
	ck_assert_ptr_nonnull(mkdtemp(path));
	return open(path, O_DIRECTORY | O_CLOEXEC);
}

TEST(ids_are_random_and_valid)
{
	char a[ID_MAX], b[ID_MAX];

	id_new("sess-", a);
	id_new("sess-", b);
	ck_assert_str_ne(a, b);
	ck_assert(id_valid("sess-", a));
	ck_assert(!id_valid("bl-", a));
	ck_assert(!id_valid("sess-", "sess-"));
	ck_assert(!id_valid("sess-", "sess-a/b"));
	ck_assert(!id_valid("sess-", "sess-a%00"));
}
END

TEST(hostile_text_is_escaped_for_json_and_script)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"plain", "\"plain\""},
		{"q\"b\\", "\"q\\\"b\\\\\""},
		{"</script>", "\"\\u003c/script>\""},
		{"\n\x7f", "\"\\u000a\\u007f\""},
		{"caf\xc3\xa9 \xf0\x9f\x94\xa5",
	         "\"caf\xc3\xa9 \xf0\x9f\x94\xa5\""},
		{"\xff\xc0\xaf", "\"\\ufffd\\ufffd\\ufffd\""},
		{"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* surrogate */
		{"\xe2\x82", "\"\\ufffd\\ufffd\""},            /* cut short */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

		json_escape(&b, rows[i].in, strlen(rows[i].in));
		ck_assert_str_eq(buf_str(&b), rows[i].out);
	}
}
END

TEST(a_file_is_replaced_whole)
{
	char path[] = "/tmp/stoker-base-XXXXXX";
	CLEANUP_FD int dir = temp_dir(path);
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
	struct stat st;

	ck_assert_int_eq(file_replace(dir, "f", 0600, "old", 3), 0);
	ck_assert_int_eq(file_replace(dir, "f", 0600, "newer", 5), 0);
	ck_assert_int_eq(file_read(dir, "f", &got), 0);
	ck_assert_str_eq(buf_str(&got), "newer");
	ck_assert_int_eq(fstatat(dir, "f", &st, 0), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0600);
	unlinkat(dir, "f", 0);
	ck_assert_int_eq(rmdir(path), 0); /* nothing else was left behind */
}
END

TEST(a_file_past_the_ceiling_is_refused_and_at_it_is_read)
{
	char path[] = "/tmp/stoker-base-XXXXXX";
	CLEANUP_FD int dir = temp_dir(path);
	CLEANUP_BUF struct buf at = BUF_INIT(5), past = BUF_INIT(4);

	ck_assert_int_eq(file_replace(dir, "f", 0600, "12345", 5), 0);
	ck_assert_int_eq(file_read(dir, "f", &at), 0);
	ck_assert_str_eq(buf_str(&at), "12345");
	ck_assert_int_eq(file_read(dir, "f", &past), -E2BIG);
	ck_assert_int_eq(file_read(dir, "none", &past), -ENOENT);
	unlinkat(dir, "f", 0);
	rmdir(path);
}
END

TEST(messages_carry_descriptors_and_their_true_length)
{
	int pair[2], fds[2] = {-1, -1};
	size_t nfds = 2;
	char text[8] = "";

	ck_assert_int_eq(msg_pair(pair), 0);
	ck_assert_int_eq(msg_send(pair[0], "hello", 6, &pair[1], 1), 0);
	ck_assert_int_eq(msg_recv(pair[1], text, sizeof(text), fds, &nfds), 6);
	ck_assert_str_eq(text, "hello");
	ck_assert_uint_eq(nfds, 1);
	ck_assert_int_eq(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	close(fds[0]);
	close(pair[0]);
	ck_assert_int_eq(msg_recv(pair[1], text, sizeof(text), NULL, NULL), 0);
	ck_assert_int_eq(msg_send(pair[1], "x", 1, NULL, 0), -EPIPE);
	close(pair[1]);
}
END

TEST(a_message_does_not_wait_for_a_full_socket)
{
	char text[1000] = "";
	int pair[2], rc = 0;

	ck_assert_int_eq(msg_pair(pair), 0);
	for (int i = 0; i < 100000 && !rc; i++)
		rc = msg_try_send(pair[0], text, sizeof(text), NULL, 0);
	ck_assert_int_eq(rc, -EAGAIN);
	ck_assert_int_eq(msg_recv(pair[1], text, sizeof(text), NULL, NULL),
	                 sizeof(text));
	ck_assert_int_eq(msg_try_send(pair[0], text, sizeof(text), NULL, 0), 0);
	close(pair[0]);
	close(pair[1]);
}
END

TEST(unexpected_descriptors_are_refused_and_closed)
{
	int pair[2];
	char text[8];

	ck_assert_int_eq(msg_pair(pair), 0);
	ck_assert_int_eq(msg_send(pair[0], "hello", 6, pair, 2), 0);
	ck_assert_int_eq(msg_recv(pair[1], text, sizeof(text), NULL, NULL),
	                 -EMSGSIZE);
	ck_assert_int_eq(msg_send(pair[0], "too long a text", 16, NULL, 0), 0);
	ck_assert_int_eq(msg_recv(pair[1], text, sizeof(text), NULL, NULL),
	                 -EMSGSIZE);
	ck_assert_int_eq(dup(pair[0]), pair[1] + 1); /* no descriptor leaked */
}
END

/* Source: Unicode 15, table 3-7 */
TEST(characters_are_those_of_unicode_whole_and_in_their_shortest_form)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
		{"a", 1},
		{"\x80", 0},
		{"\xc1\xbf", 0}, /* longer than it must be */
		{"\xc2\x80", 2},
		{"\xc2\x7f", 0},
		{"\xc2", 0},
		{"\xe0\x9f\x80", 0},
		{"\xe0\xa0\x80", 3},
		{"\xed\xa0\x80", 0}, /* a surrogate */
		{"\xe2\x82\xac", 3},
		{"\xe2\x82\x7f", 0},
		{"\xe2\x82\xc0", 0},
		{"\xe2\x82", 0},
		{"\xf0\x90\x80\x80", 4},
		{"\xf0\x90\x80(", 0},
		{"\xf4\x8f\xbf\xbf", 4},
		{"\xf4\x90\x80\x80", 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_msg(utf8_len((const unsigned char *)rows[i].bytes,
		                       strlen(rows[i].bytes)) == rows[i].len,
		              "row %zu", i);
}
END

/* Each row stands between two characters that do neither. */
TEST(characters_that_control_a_terminal_or_the_direction_of_text_are_known)
{
	static const struct {
		const char *below, *first, *last, *above;
	} rows[] = {
		{NULL, "\x01", "\x1f", " "},
		{"~", "\x7f", "\x7f", NULL},
		{NULL, "\xc2\x80", "\xc2\x9f", "\xc2\xa0"},
		{"\xd8\x9b", "\xd8\x9c", "\xd8\x9c", "\xd8\x9d"},
		{"\xe2\x80\x8d", "\xe2\x80\x8e", "\xe2\x80\x8f",
	         "\xe2\x80\x90"},
		{"\xe2\x80\xa9", "\xe2\x80\xaa", "\xe2\x80\xae",
	         "\xe2\x80\xaf"},
		{"\xe2\x81\xa5", "\xe2\x81\xa6", "\xe2\x81\xa9",
	         "\xe2\x81\xaa"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *const is[] = {rows[i].first, rows[i].last},
				  *const is_not[] = {rows[i].below,
		                                     rows[i].above};

		for (size_t k = 0; k < 2; k++) {
			size_t n = strlen(is[k]);

			ck_assert_uint_eq(driving((void *)is[k], n), n);
			ck_assert(!utf8_printable(is[k], n));
			/* a character that is cut short is none of these */
			if (n > 1)
				ck_assert_uint_eq(driving((void *)is[k], n - 1),
				                  0);
			if (!is_not[k])
				continue;
			n = strlen(is_not[k]);
			ck_assert_uint_eq(driving((void *)is_not[k], n), 0);
			ck_assert(utf8_printable(is_not[k], n));
		}
	}
	ck_assert(!utf8_printable("", 0));
	ck_assert(!utf8_printable("a\xff", 2));
}
END

TEST(threads_of_a_process_are_listed_by_number)
{
	CLEANUP_FOLDER DIR *d = NULL;

	ck_assert_int_eq(folder_open_tasks(AT_FDCWD, getpid(), &d), 0);
	ck_assert_int_eq(folder_next_number(d), getpid());
	ck_assert_int_eq(folder_next_number(d), 0);
	ck_assert_int_eq(folder_open_tasks(AT_FDCWD, INT32_MAX, &d), -ESRCH);
	ck_assert_int_eq(folder_open_tasks(AT_FDCWD, 0, &d), -EINVAL);
}
END

TEST(an_array_grows_to_the_limit_of_its_owner_and_no_further)
{
	CLEANUP_FREE int *rows = NULL;
	uint32_t cap = 0;

	ck_assert_int_eq(ROWS_ROOM_OF(rows, cap, 2, 1, 3), 0);
	ck_assert_ptr_nonnull(rows);
	ck_assert_int_eq(ROWS_ROOM_OF(rows, cap, 3, 1, 3), -E2BIG);
}
END

SUITE("base");
