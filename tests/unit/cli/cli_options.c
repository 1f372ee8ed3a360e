#include "base/ways.h"
#include "cli/cli.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>

#define ARGS_MAX 80

static struct options
parsed(int *rc, struct buf *why, const char *line)
{
	static char copy[1024];
	static char *argv[ARGS_MAX];
	struct options o = {0};
	int argc = 0;

	argv[argc++] = (char *)"stoker";
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok(copy, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	*rc = options_parse(argc, argv, &o, why);
	return o;
}

TEST(options_and_operands_mix)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc;
	struct options o = parsed(&rc, &why,
	                          "run --seconds 5 web --wait --type=alloc "
	                          "--label a=b --label c=d");

	ck_assert_int_eq(rc, 0);
	ck_assert_uint_eq(o.noperands, 2);
	ck_assert_str_eq(o.operands[1], "web");
	ck_assert_int_eq(o.seconds, 5);
	ck_assert(o.wait);
	ck_assert_str_eq(o.type, "alloc");
	ck_assert_uint_eq(o.label.n, 2);
	ck_assert_str_eq(o.label.p[1], "c=d");
	ck_assert_int_eq(o.rate, -1);
	ck_assert_ptr_null(o.server);
}
END

TEST(two_dashes_end_the_options)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc;
	struct options o = parsed(&rc, &why, "top -- --wait");

	ck_assert_int_eq(rc, 0);
	ck_assert(!o.wait);
	ck_assert_str_eq(o.operands[1], "--wait");
}
END

TEST(a_lone_dash_is_an_operand)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc;
	struct options o = parsed(&rc, &why, "service apply -");

	ck_assert_int_eq(rc, 0);
	ck_assert_str_eq(o.operands[2], "-");
}
END

static const struct {
	const char *line, *why;
} wrong[] = {
	{"run --frobnicate", "no such option: --frobnicate"},
	{"run --second 5",
         "no such option: --second\n  did you mean --seconds?"},
	{"run --seconds", "--seconds needs a value: SPAN"},
	{"run --seconds five",
         "--seconds takes a time such as 10s, 2m or 1h, not 'five'"},
	{"run --seconds 5x",
         "--seconds takes a time such as 10s, 2m or 1h, not '5x'"},
	{"run --seconds -5",
         "--seconds takes a time such as 10s, 2m or 1h, not '-5'"},
	{"run --rate 10s", "--rate takes a whole number, not '10s'"},
	{"run --rate 99999999999999999999",
         "--rate takes a whole number, not '99999999999999999999'"},
	{"continuous --retention-days 36h",
         "--retention-days takes a number of days such as 30, 30d or 12w, "
         "not '36h'"},
	{"run --wait=yes", "--wait takes no value"},
};

TEST(a_wrong_option_is_named)
{
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		int rc;

		parsed(&rc, &why, wrong[i].line);
		ck_assert_msg(rc == -EINVAL, "%s", wrong[i].line);
		ck_assert_str_eq(buf_str(&why), wrong[i].why);
	}
}
END

static const struct {
	const char *line;
	int64_t seconds, days;
} spans[] = {
	{"run --seconds 10", 10, -1},
	{"run --seconds 10s", 10, -1},
	{"run --seconds 2m", 120, -1},
	{"run --seconds 1h", 3600, -1},
	{"run --retention-days 90", -1, 90},
	{"run --retention-days 90d", -1, 90},
	{"run --retention-days 12w", -1, 84},
};

TEST(a_number_of_seconds_or_days_may_have_a_unit)
{
	for (size_t i = 0; i < ARRAY_LEN(spans); i++) {
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		int rc;
		struct options o = parsed(&rc, &why, spans[i].line);

		ck_assert_msg(!rc, "%s: %s", spans[i].line, buf_str(&why));
		ck_assert_int_eq(o.seconds, spans[i].seconds);
		ck_assert_int_eq(o.retention_days, spans[i].days);
	}
}
END

TEST(a_parameter_of_the_api_has_the_option_that_was_given)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct option_given given = {.name = "untouched"};
	int rc;
	struct options o =
		parsed(&rc, &why, "run --seconds 2m --unit=web --label a=b");

	ck_assert(!option_of(&o, "sampleRate", &given));
	ck_assert(!option_of(&o, "", &given));
	ck_assert_str_eq(given.name, "untouched");
	ck_assert(option_of(&o, "durationSeconds", &given));
	ck_assert_str_eq(given.name, "--seconds");
	ck_assert_str_eq(given.value, "2m");
	ck_assert_str_eq(given.unit, "seconds");
	ck_assert(option_of(&o, "match", &given));
	ck_assert_str_eq(given.name, "--unit");
	ck_assert_str_eq(given.value, "web");
	ck_assert_ptr_null(given.count);
	ck_assert(option_of(&o, "labels", &given));
	ck_assert_ptr_null(given.value);
}
END

/* If an option says which command it is about, that command's help must show
 * it. */
TEST(every_meaning_is_of_an_option_that_its_command_takes)
{
	static const struct {
		const char *option, *command;
	} rows[] = {
#define MEANING(field, command, doc) {#field, command},
#include "cli/options.def"
#undef MEANING
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t k = 0;
		char name[40];

		while (k < command_count &&
		       strcmp(commands[k].name, rows[i].command) != 0)
			k++;
		snprintf(name, sizeof(name), "--%s", rows[i].option);
		ck_assert_msg(k < command_count &&
		                      usage_names(commands[k].usage, name),
		              "%s of %s", rows[i].option, rows[i].command);
	}
}
END

TEST(an_option_means_what_its_command_makes_of_it)
{
	size_t row = 0;

	while (strcmp(option_row(row).name, "--seconds") != 0)
		row++;
	ck_assert_str_eq(option_doc(row, "run"), option_row(row).doc);
	ck_assert_str_ne(option_doc(row, "upload"), option_row(row).doc);
}
END

TEST(lists_have_a_ceiling_and_operands_have_none)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	char *argv[1000] = {(char *)"stoker"};
	struct options o;
	int n = 1;

	for (int i = 0; i < LIST_MAX; i++) {
		argv[n++] = (char *)"--label";
		argv[n++] = (char *)"a=b";
	}
	while (n < 998)
		argv[n++] = (char *)"x";
	ck_assert_int_eq(options_parse(n, argv, &o, &why), 0);
	ck_assert_uint_eq(o.noperands, 997 - 2 * LIST_MAX);
	ck_assert_str_eq(o.operands[o.noperands - 1], "x");
	ck_assert_ptr_null(o.operands[o.noperands]);
	n = 1;
	for (int i = 0; i <= LIST_MAX; i++)
		argv[n++] = (char *)"--label=a=b";
	ck_assert_int_eq(options_parse(n, argv, &o, &why), -EINVAL);
}
END

TEST(a_command_takes_only_options_that_its_usage_names)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc;
	struct options o = parsed(&rc, &why, "top x --limit 3 --json");

	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(options_fit(&o, "ID [--limit N]", &why), 0);
	ck_assert_int_eq(options_fit(&o, "ID [--limits N]", &why), -EINVAL);
	ck_assert_str_eq(buf_str(&why),
	                 "--limit does not go with this command");
}
END

TEST(every_option_of_a_usage_is_a_row)
{
	for (size_t i = 0; i < command_count; i++) {
		const char *p = commands[i].usage;

		for (; (p = strstr(p, "--")); p++) {
			size_t n = strcspn(p, " ]"), row;

			if (n == 2) { /* what follows is a command */
				p++;
				continue;
			}
			for (row = 0; row < OPTION_COUNT; row++) {
				const char *name = option_row(row).name;

				if (strlen(name) == n && !strncmp(name, p, n))
					break;
			}
			ck_assert_msg(row < OPTION_COUNT, "%s: %.*s",
			              commands[i].name, (int)n, p);
			p += n - 1;
		}
	}
}
END

TEST(every_command_of_two_words_has_a_family)
{
	for (size_t i = 0; i < command_count; i++) {
		const char *blank = strchr(commands[i].name, ' ');
		char word[32];

		if (!blank)
			continue;
		snprintf(word, sizeof(word), "%.*s",
		         (int)(blank - commands[i].name), commands[i].name);
		ck_assert_msg(command_family(word) != NULL, "%s", word);
	}
}
END

TEST(every_example_is_of_its_command_and_fits_it)
{
	for (size_t i = 0; i < command_count; i++) {
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		char line[256];
		struct options o;
		size_t used;
		int rc;

		snprintf(line, sizeof(line), "%.*s",
		         (int)strcspn(commands[i].example, "#>|"),
		         commands[i].example);
		o = parsed(&rc, &why, line);
		ck_assert_msg(!rc, "%s: %s", line, buf_str(&why));
		ck_assert_ptr_eq(command_find(o.operands, o.noperands, &used),
		                 &commands[i]);
		ck_assert_msg(!options_fit(&o, commands[i].usage, &why),
		              "%s: %s", line, buf_str(&why));
		ck_assert_uint_ge(o.noperands - used, commands[i].least);
		ck_assert_uint_le(o.noperands - used, commands[i].most);
	}
}
END

TEST(every_own_option_goes_with_a_command)
{
	for (size_t row = 0; row < OPTION_COUNT; row++) {
		bool used = option_row(row).global;

		for (size_t i = 0; i < command_count; i++)
			used |= usage_names(commands[i].usage,
			                    option_row(row).name);
		ck_assert_msg(used, "%s", option_row(row).name);
	}
}
END

static const struct {
	const char *words[3];
	size_t n;
	const char *command;
	size_t used;
} spoken[] = {
	{{"run", "web"}, 2, "run", 1},
	{{"token", "list"}, 2, "token list", 2},
	{{"token", "list", "x"}, 3, "token list", 2},
	{{"token"}, 1, NULL, 0},
	{{"token", "frob"}, 2, NULL, 0},
	{{"ru"}, 1, NULL, 0},
	{{"runs"}, 1, NULL, 0},
	{{""}, 1, NULL, 0},
};

TEST(commands_are_found_by_all_their_words)
{
	for (size_t i = 0; i < ARRAY_LEN(spoken); i++) {
		size_t used;
		const struct command *c =
			command_find(spoken[i].words, spoken[i].n, &used);

		if (!spoken[i].command) {
			ck_assert_ptr_null(c);
			continue;
		}
		ck_assert_str_eq(c->name, spoken[i].command);
		ck_assert_uint_eq(used, spoken[i].used);
	}
}
END

/* Checks that a command's help for an option contains this name. */
static void
check_names(const char *option, const char *command, const char *name)
{
	const char *doc;
	size_t row = 0;

	while (row < OPTION_COUNT && strcmp(option_row(row).name, option))
		row++;
	ck_assert_uint_lt(row, OPTION_COUNT);
	doc = option_doc(row, command);
	ck_assert_msg(strstr(doc, name), "%s of %s: no %s in: %s", option,
	              command, name, doc);
}

/* Checks the help of --type without a command and, if each_too, that of each
 * command with a separate meaning. */
static void
check_type(const char *name, bool each_too)
{
	static const char *const whose[] = {
		"", /* without a command */
#define MEANING(field, command, doc) command,
#include "cli/options.def"
#undef MEANING
	};

	for (size_t i = 0; i < (each_too ? ARRAY_LEN(whose) : 1); i++)
		check_names("--type", whose[i], name);
}

TEST(help_names_every_type_and_format)
{
#define PROFILE_TYPE(name, ...) check_type(#name, ways_exist(#name));
#include "types.def"
#undef PROFILE_TYPE
#define FORMAT(name, ...)                   \
	check_names("--format", "", #name); \
	check_names("--format", "convert", #name);
#include "formats.def"
#undef FORMAT
#define INPUT(name, ...) check_names("--format", "upload", #name);
#include "inputs.def"
#undef INPUT
}
END

SUITE("cli_options");
