/* Lines of the log: a text in one does not end it, or control a terminal. */
#include "base/log.h"

#include "lib/test.h"

#include <string.h>
#include <unistd.h>

/* Returns what is logged for a text. */
static void
logged(const char *text, char *out, size_t size)
{
	int ends[2], before = dup(STDERR_FILENO);
	ssize_t n;

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	log_err("a %s", text);
	ck_assert_int_eq(dup2(before, STDERR_FILENO), STDERR_FILENO);
	n = read(ends[0], out, size - 1);
	ck_assert_int_gt(n, 0);
	out[n] = '\0';
	close(ends[0]);
	close(ends[1]);
	close(before);
}

TEST(a_text_does_not_end_its_line_or_control_a_terminal)
{
	static const struct {
		const char *text, *seen;
	} rows[] = {
		{"plain text", "plain text"},
		{"\303\274ber", "\303\274ber"},
		{"text\n<0>forged: err", "text <0>forged: err"},
		{"\r\033[2Jred\177", "??[2Jred?"},
		{"\302\233"
	         "2J \302\240",
	         "??2J \302\240"},
		{"\302\200 \302\237 \302\241", "?? ?? \302\241"},
		{"\302~\302", "\302~\302"},
		{"\001\037 ~", "?? ~"},
		{"a\342\200\256z", "a???z"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char out[200], *end;

		logged(rows[i].text, out, sizeof(out));
		end = strstr(out, "a ");
		ck_assert_ptr_nonnull(end);
		ck_assert_uint_eq(strlen(end), strlen(rows[i].seen) + 3);
		ck_assert_int_eq(
			strncmp(end + 2, rows[i].seen, strlen(rows[i].seen)),
			0);
		ck_assert_ptr_eq(strchr(out, '\n'), strrchr(out, '\n'));
	}
}
END

SUITE("log");
