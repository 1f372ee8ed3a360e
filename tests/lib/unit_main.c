#include "lib/test.h"

#include <string.h>

/* The linker's names for the bounds of a section. */
extern struct test_row __start_test_rows[], __stop_test_rows[];

static int
by_line(const void *a, const void *b)
{
	const struct test_row *x = a, *y = b;

	return (*x->test)->line - (*y->test)->line;
}

/* Runs all claims, or the one that the variable CLAIM names. */
int
main(void)
{
	const char *claim = getenv("CLAIM");
	Suite *s = suite_create(suite.title);
	TCase *c = tcase_create(suite.title);
	SRunner *runner = srunner_create(s);
	int failed;

	suite_add_tcase(s, c);
	tcase_set_timeout(c, suite.seconds ?: 30);
	if (suite.before)
		tcase_add_unchecked_fixture(c, suite.before, NULL);
	qsort(__start_test_rows, (size_t)(__stop_test_rows - __start_test_rows),
	      sizeof(*__start_test_rows), by_line);
	for (struct test_row *r = __start_test_rows; r < __stop_test_rows; r++)
		if (!claim || !strcmp(claim, (*r->test)->name))
			tcase_add_loop_test(c, *r->test, 0, r->times);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner) || !srunner_ntests_run(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
