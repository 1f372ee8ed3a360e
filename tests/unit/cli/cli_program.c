/* The program to which a process belongs, its name, and its profiles. */
#include "cli/program.h"
#include "lib/test.h"

#include <string.h>

static const struct {
	const char *process, *title, *match, *options, *language;
} rows[] = {
	{"{\"pid\":7,\"unit\":\"postgresql@15-main.service\","
         "\"executable\":\"/usr/lib/postgresql/15/bin/postgres\","
         "\"command\":\"postgres: writer\"}",
         "postgresql@15-main.service",
         "{\"unit\":\"postgresql@15-main.service\"}",
         "--unit postgresql@15-main.service", ""},
	{"{\"pid\":8,\"unit\":\"user@1000.service\","
         "\"executable\":\"/usr/bin/python3.11\","
         "\"command\":\"python3 /opt/shop.py --port 80\"}",
         "/opt/shop.py", "{\"cmdline\":\"^python3 /opt/shop\\\\.py( |$)\"}",
         "--pid 8", "python"},
	{"{\"pid\":9,\"unit\":\"session-3.scope\","
         "\"executable\":\"/opt/my app\",\"command\":\"/opt/my app x\"}",
         "/opt/my app", "{\"exe\":\"/opt/my app\"}", "--exe '/opt/my app'", ""},
	{"{\"pid\":10,\"unit\":\"\",\"executable\":\"/usr/bin/java\","
         "\"command\":\"java -jar a.jar\"}",
         "/usr/bin/java", "{\"exe\":\"/usr/bin/java\"}", "--exe /usr/bin/java",
         "java"},
	{"{\"pid\":11,\"unit\":\"a\\\\x2db.service\","
         "\"executable\":\"/usr/sbin/nginx\",\"command\":\"nginx\"}",
         "a\\x2db.service", "{\"unit\":\"a\\\\x2db.service\"}",
         "--unit 'a\\x2db.service'", ""},
	{"{\"pid\":12,\"unit\":\"docker-4f.scope\",\"container\":\"web\","
         "\"executable\":\"/usr/sbin/nginx\",\"command\":\"nginx\"}",
         "web", "{\"container\":\"web\"}", "--container web", ""},
	{"{\"pid\":13,\"container\":\"shop-web-1\",\"project\":\"shop\","
         "\"service\":\"web\"}",
         "shop/web", "{\"compose\":{\"project\":\"shop\",\"service\":\"web\"}}",
         "--compose shop/web", ""},
	{"{\"pid\":14,\"container\":\"app\",\"namespace\":\"shop\","
         "\"pod\":\"web-7d9f8c6b5d-x2x9z\"}",
         "shop/web-*/app",
         "{\"pod\":{\"namespace\":\"shop\",\"name\":\"web-*\","
         "\"container\":\"app\"}}",
         "--pod 'shop/web-*/app'", ""},
	{"{\"pid\":15,\"container\":\"db\",\"namespace\":\"shop\","
         "\"pod\":\"db-0\"}",
         "shop/db-0/db",
         "{\"pod\":{\"namespace\":\"shop\",\"name\":\"db-0\","
         "\"container\":\"db\"}}",
         "--pod shop/db-0/db", ""},
};

TEST(a_process_belongs_to_its_container_unit_script_or_program)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_JSON json_t *p = json_loads(rows[i].process, 0, NULL);
		CLEANUP_JSON json_t *want = json_loads(rows[i].match, 0, NULL);
		CLEANUP_JSON json_t *match = program_match(p);
		CLEANUP_BUF struct buf title = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_BUF struct buf options = BUF_INIT(BUF_MAX_SMALL);

		program_title(p, &title);
		program_options(p, &options);
		ck_assert_str_eq(buf_str(&title), rows[i].title);
		ck_assert_str_eq(buf_str(&options), rows[i].options);
		ck_assert_str_eq(program_language(p, ""), rows[i].language);
		ck_assert(want && json_equal(match, want));
	}
}
END

TEST(memory_that_is_executed_has_no_match)
{
	static const char *const none[] = {
		"{\"executable\":\"/memfd:x\",\"command\":\"x\"}",
		"{\"executable\":\"\",\"command\":\"x\"}",
		"{}",
	};

	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		CLEANUP_JSON json_t *p = json_loads(none[i], 0, NULL);

		ck_assert_ptr_null(program_match(p));
	}
}
END

TEST(a_service_is_named_after_its_unit_or_program)
{
	static const struct {
		const char *title, *name;
	} names[] = {
		{"nginx.service", "nginx"},
		{"postgresql@15-main.service", "postgresql-15-main"},
		{"postgresql@.service", "postgresql"},
		{"/usr/local/bin/web", "web"},
		{"/opt/shop.py", "shop.py"},
		{"/opt/_my app_", "my-app"},
		{"^python3 /opt/shop\\.py( |$)", "shop-.py"},
		{"///", ""},
		{"", ""},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	         "a-a"
	         "a.service",
	         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	         "aa"},
	};
	char name[SERVICE_NAME_MAX];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		program_name(names[i].title, name);
		ck_assert_str_eq(name, names[i].name);
	}
}
END

TEST(words_are_quoted_for_a_shell)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	shell_word("it's", &out);
	ck_assert_str_eq(buf_str(&out), "'it'\\''s'");
	buf_clear(&out);
	shell_word("", &out);
	ck_assert_str_eq(buf_str(&out), "''");
	buf_clear(&out);
	shell_word("a@b-1.service", &out);
	ck_assert_str_eq(buf_str(&out), "a@b-1.service");
}
END

TEST(a_program_of_go_has_a_note)
{
	char head[64] = "\177ELF";

	ck_assert(!program_is_go(head, sizeof(head)));
	memcpy(head + 30, "\x04\0\0\0\x53\0\0\0\x04\0\0\0Go\0\0", 16);
	ck_assert(program_is_go(head, sizeof(head)));
	ck_assert(!program_is_go(head, 45));
	ck_assert(!program_is_go(head, 3));
}
END

SUITE("cli_program");
