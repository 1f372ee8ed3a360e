/* The source of a call's token, and URLs. */
#include "base/file.h"
#include "cli/http.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct home {
	char dir[64];
	int fd;
};

static void
home_done(struct home *h)
{
	static const char *const names[] = {"stoker/token", "stoker", "mine"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (unlinkat(h->fd, names[i], 0))
			unlinkat(h->fd, names[i], AT_REMOVEDIR);
	close(h->fd);
	rmdir(h->dir);
}

static void
home_init(struct home *h)
{
	*h = (struct home){.dir = "/tmp/stoker-home-XXXXXX"};
	ck_assert_ptr_nonnull(mkdtemp(h->dir));
	h->fd = open(h->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(h->fd, 0);
	setenv("XDG_CONFIG_HOME", h->dir, 1);
	unsetenv("STOKER_TOKEN");
	unsetenv("STOKER_TOKEN_FILE");
}
#define HOME(h)                           \
	CLEANUP(home_done) struct home h; \
	home_init(&h)

static const char *
path_in(const struct home *h, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", h->dir, name);
	return path;
}

static char *
token_of(const char *token, const char *file, int expected)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	char *out = NULL;

	ck_assert_int_eq(token_find(token, file, &out, &why), expected);
	ck_assert((expected != 0) == (why.len != 0));
	return out;
}

static void
write_token(const struct home *h, const char *name, const char *text)
{
	ck_assert_int_eq(file_replace(h->fd, name, 0600, text, strlen(text)),
	                 0);
}

TEST(without_any_there_is_none)
{
	HOME(h);

	ck_assert_ptr_null(token_of(NULL, NULL, 0));
}
END

TEST(the_nearest_source_wins)
{
	HOME(h);
	CLEANUP_FREE char *by_home = NULL, *by_env_file = NULL;
	CLEANUP_FREE char *by_env = NULL, *by_file = NULL, *by_option = NULL;

	ck_assert_int_eq(mkdirat(h.fd, "stoker", 0700), 0);
	{
		CLEANUP_FD int fd = openat(h.fd, "stoker",
		                           O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		ck_assert_int_eq(file_replace(fd, "token", 0600, "home\n", 5),
		                 0);
	}
	by_home = token_of(NULL, NULL, 0);
	ck_assert_str_eq(by_home, "home");
	write_token(&h, "mine", "file\nsecond line\n");
	setenv("STOKER_TOKEN_FILE", path_in(&h, "mine"), 1);
	by_env_file = token_of(NULL, NULL, 0);
	ck_assert_str_eq(by_env_file, "file");
	setenv("STOKER_TOKEN", "env", 1);
	by_env = token_of(NULL, NULL, 0);
	ck_assert_str_eq(by_env, "env");
	by_file = token_of(NULL, path_in(&h, "mine"), 0);
	ck_assert_str_eq(by_file, "file");
	by_option = token_of("option", path_in(&h, "mine"), 0);
	ck_assert_str_eq(by_option, "option");
}
END

TEST(a_named_file_must_be_there)
{
	HOME(h);

	ck_assert_ptr_null(token_of(NULL, path_in(&h, "none"), -ENOENT));
}
END

TEST(an_empty_file_holds_no_token)
{
	HOME(h);

	write_token(&h, "mine", "\n");
	ck_assert_ptr_null(token_of(NULL, path_in(&h, "mine"), -ENODATA));
}
END

static const struct {
	const char *text, *escaped;
} escapes[] = {
	{"web-1.example_x~", "web-1.example_x~"},
	{"a/b?c#d%e&f", "a%2Fb%3Fc%23d%25e%26f"},
	{"\xc3\xa4 ", "%C3%A4%20"},
	{"..", ".."},
	{"", ""},
};

TEST(a_name_stays_one_segment)
{
	for (size_t i = 0; i < ARRAY_LEN(escapes); i++) {
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

		url_escape(&out, escapes[i].text);
		ck_assert_str_eq(buf_str(&out), escapes[i].escaped);
	}
}
END

SUITE("cli_token");
