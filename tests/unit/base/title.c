#include "base/title.h"

#include "lib/test.h"

#include <string.h>

TEST(a_program_whose_name_only_begins_like_an_interpreters_is_none)
{
	static const struct {
		const char *exe, *language;
	} rows[] = {
		{"/usr/bin/python3.11", "python"},
		{"/usr/bin/node", "node"},
		{"/usr/bin/node_exporter", ""},
		{"/usr/bin/javac", ""},
		{"/usr/sbin/php-fpm8.2", "php"},
		{"/usr/bin/luajit", "lua"},
		{"/opt/rubocop", ""},
		{"/usr/bin/mono-sgen", "mono"},
		{"/usr/bin/ocamlrun", "ocaml"},
		{"/usr/bin/ocamlrunner", ""},
		{"/usr/bin/tclsh8.6", "tcl"},
		{"/usr/lib/R/bin/exec/R", "r"},
		{"/bin/sh", "shell"},
		{"/bin/shred", ""},
		{"", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_str_eq(title_language(rows[i].exe), rows[i].language);
}
END

TEST(a_process_is_called_by_its_unit_script_or_program)
{
	static const struct {
		struct title_facts facts;
		const char *title;
	} rows[] = {
		{{"web.service", "/usr/bin/python3.11", "python3 /srv/a.py"},
	         "web.service"},
		{{"user@7.service", "/usr/bin/python3.11", "python3 /srv/a.py"},
	         "/srv/a.py"},
		{{"", "/usr/bin/python3.11", "python3 -m web"},
	         "/usr/bin/python3.11"},
		{{"", "/opt/app (deleted)", "app"}, "/opt/app"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

		title_put(&rows[i].facts, &out);
		ck_assert_str_eq(buf_str(&out), rows[i].title);
	}
}
END

SUITE("title");
