/* stoker quota: how much the tenant holds, and may hold. */
#include "cli.h"
#include "table.h"

int
cmd_quota(struct cli *c)
{
	static const struct column columns[] = {
		{"QUOTA", "quota", LEFT, PLAIN},
		{"HELD", "held", RIGHT, PLAIN},
		{"LIMIT", "limit", RIGHT, PLAIN},
		{"COUNTS", "counts", LEFT, PLAIN},
	};

	return whole_list_show(c, "/api/v1/quota", columns, ARRAY_LEN(columns));
}
