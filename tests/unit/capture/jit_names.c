#include "capture/symbols/jit_names.h"

#include "lib/test.h"

#include <string.h>

static void
is(const char *raw, const char *name, const char *file, uint32_t line)
{
	CLEANUP_FREE char *text = strdup(raw);
	struct jit_name n;

	jit_name_split(text, &n);
	ck_assert_str_eq(n.name, name);
	ck_assert_str_eq(n.file, file);
	ck_assert_uint_eq(n.line, line);
}

TEST(functions_of_scripts_have_file_and_line)
{
	is("JS:*hot /srv/n.js:3:13", "hot", "/srv/n.js", 3);
	is("LazyCompile:~hot /srv/n.js:3:13", "hot", "/srv/n.js", 3);
	is("JS:^hot file:///srv/n.mjs:3:13", "hot", "/srv/n.mjs", 3);
	is("Function:hot node:internal/timers:9:1", "hot",
	   "node:internal/timers", 9);
	is("JS:*hot other:12", "hot", "other", 12);
}
END

TEST(tiers_of_a_function_are_one_function)
{
	static const char *const tiers[] = {"", "~", "^", "+", "*", "*'", "o+"};

	for (size_t i = 0; i < ARRAY_LEN(tiers); i++) {
		char raw[64];

		snprintf(raw, sizeof(raw), "JS:%sf /a.js:1:2", tiers[i]);
		is(raw, "f", "/a.js", 1);
	}
}
END

TEST(names_and_files_may_hold_blanks_and_colons)
{
	is("JS:*get area /my dir/a:b.js:2:23", "get area", "/my dir/a:b.js", 2);
	is("JS:~of the loop", "of the", "loop", 0);
}
END

TEST(code_without_a_name_says_what_it_is)
{
	is("JS:~ /a.js:8:73", "(anonymous)", "/a.js", 8);
	is("Script:~ /a.js:1:1", "(script)", "/a.js", 1);
	is("Eval:~ node:internal/x:1:1", "(eval)", "node:internal/x", 1);
	is("JS:", "(anonymous)", "", 0);
}
END

TEST(functions_of_python_have_a_file)
{
	is("py::Shape.area:/srv/a.py", "Shape.area", "/srv/a.py", 0);
	is("py::<lambda>:<frozen x>", "<lambda>", "<frozen x>", 0);
	is("py::f", "f", "", 0);
	is("py::", "py::", "", 0);
	is("py:::x", ":x", "", 0);
}
END

TEST(other_names_stay_as_they_are)
{
	is("Builtin:ArrayForEach", "Builtin:ArrayForEach", "", 0);
	is("long J.hot(int)", "long J.hot(int)", "", 0);
	is("a:1:2", "a:1:2", "", 0);
}
END

SUITE("jit_names", functions_of_scripts_have_file_and_line,
      tiers_of_a_function_are_one_function,
      names_and_files_may_hold_blanks_and_colons,
      code_without_a_name_says_what_it_is, functions_of_python_have_a_file,
      other_names_stay_as_they_are)
