#include "base/unit.h"
#include "lib/test.h"

#include "base/cleanup.h"

static const struct {
	const char *names, *unit;
	bool expected;
} rows[] = {
	{"nginx.service", "nginx.service", true},
	{"nginx", "nginx.service", true},
	{"ngin", "nginx.service", false},
	{"nginx", "nginx.socket", false},
	{"php8.2-fpm", "php8.2-fpm.service", true},
	{"app@1.2", "app@1.2.service", true},
	{"app.socket", "app.socket.service", false},
	{"app@1.service", "app@1.service", true},
	{"app@1.service", "app@12.service", false},
	{"app@1.service", "app@2.service", false},
	{"app@.service", "app@1.service", true},
	{"app@.service", "app@a@b.service", true},
	{"app@.service", "app@.service", true},
	{"app@.service", "app.service", false},
	{"app@.service", "app@1.scope", false},
	{"app@.service", "other@1.service", false},
	{"app@.service", "myapp@1.service", false},
	{"app@.service", "", false},
	{"a.service app@.service", "app@7.service", true},
	{"a.service  b.service", "b.service", true},
	{"a.service b.service", "a.service b.service", false},
	{"", "a.service", false},
	{"*", "a.service", true},
};

TEST(a_name_means_a_unit_and_a_template_its_instances)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_msg(unit_list_means(rows[i].names, rows[i].unit) ==
		                      rows[i].expected,
		              "%s, %s", rows[i].names, rows[i].unit);
}
END

SUITE("unit_name");
