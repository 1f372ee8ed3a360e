/* The profile types for which a file has values, and the units of values. */
#include "import_build.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#define T(name) (1u << TYPE_##name)
static const struct value {
	const char *name, *unit;
	bool end;
	uint32_t types;
} values[] = {
#define VALUE(name, unit, end, types) {name, unit, end, types},
#include "values.def"
#undef VALUE
};

/* --- units ---------------------------------------------------------------- */

/* Names without their plural. Source: google/pprof, internal/measurement, for
 * which a kB is 1024 bytes, too. */
static const struct {
	const char *name, *ours;
	int64_t scale;
} units[] = {
	{"ns", "nanoseconds", 1},
	{"nanosecond", "nanoseconds", 1},
	{"us", "nanoseconds", 1000},
	{"\xc2\xb5s", "nanoseconds", 1000}, /* micro sign */
	{"\xce\xbcs", "nanoseconds", 1000}, /* mu */
	{"microsecond", "nanoseconds", 1000},
	{"ms", "nanoseconds", 1000000},
	{"millisecond", "nanoseconds", 1000000},
	{"s", "nanoseconds", 1000000000},
	{"sec", "nanoseconds", 1000000000},
	{"second", "nanoseconds", 1000000000},
	{"min", "nanoseconds", INT64_C(60000000000)},
	{"minute", "nanoseconds", INT64_C(60000000000)},
	{"hour", "nanoseconds", INT64_C(3600000000000)},
	{"b", "bytes", 1},
	{"byte", "bytes", 1},
	{"kb", "bytes", INT64_C(1) << 10},
	{"kib", "bytes", INT64_C(1) << 10},
	{"kbyte", "bytes", INT64_C(1) << 10},
	{"kilobyte", "bytes", INT64_C(1) << 10},
	{"mb", "bytes", INT64_C(1) << 20},
	{"mib", "bytes", INT64_C(1) << 20},
	{"mbyte", "bytes", INT64_C(1) << 20},
	{"megabyte", "bytes", INT64_C(1) << 20},
	{"gb", "bytes", INT64_C(1) << 30},
	{"gib", "bytes", INT64_C(1) << 30},
	{"gbyte", "bytes", INT64_C(1) << 30},
	{"gigabyte", "bytes", INT64_C(1) << 30},
	{"count", "count", 1},
};

const char *
import_unit_find(const char *unit, int64_t *scale)
{
	size_t n = strlen(unit);

	if (n > 2 && tolower((unsigned char)unit[n - 1]) == 's' &&
	    isalpha((unsigned char)unit[n - 2]))
		n--;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (strlen(units[i].name) != n ||
		    strncasecmp(units[i].name, unit, n) != 0)
			continue;
		*scale = units[i].scale;
		return units[i].ours;
	}
	return NULL;
}

/* Converts n values, stride apart. */
static int
convert(struct profile *p, uint32_t *unit, int64_t *v, size_t n, size_t stride,
        struct buf *why)
{
	int64_t scale;
	const char *ours = import_unit_find(profile_text(p, *unit), &scale);

	for (size_t i = 0; ours && i < n; i++)
		if (__builtin_mul_overflow(v[i * stride], scale,
		                           &v[i * stride])) {
			buf_puts(why, "a value is out of range");
			return -EBADMSG;
		}
	return ours ? profile_cstring(p, ours, unit) : 0;
}

static bool
is_ours(const struct profile *p, uint32_t unit)
{
	int64_t scale;
	const char *ours = import_unit_find(profile_text(p, unit), &scale);

	return !ours || (scale == 1 && !strcmp(ours, profile_text(p, unit)));
}

bool
import_units_are_ours(const struct profile *p)
{
	bool ours = is_ours(p, p->period_type.unit);

	for (uint32_t i = 0; i < p->ntypes && ours; i++)
		ours = is_ours(p, p->types[i].unit);
	return ours;
}

int
import_units(struct profile *p, struct buf *why)
{
	int r = convert(p, &p->period_type.unit, &p->period, 1, 1, why);

	for (uint32_t i = 0; i < p->ntypes && !r; i++)
		r = convert(p, &p->types[i].unit, p->values + i, p->nsamples,
		            p->ntypes, why);
	return r;
}

/* --- types ---------------------------------------------------------------- */

static const struct value *
value_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		if (!strcmp(values[i].name, name))
			return &values[i];
	return NULL;
}

/* True for values that are usable without a known unit: numbers of samples are
 * costs of a type that is sampled. */
static bool
may_be_vague(const struct value *v, const char *unit)
{
	return !unit ||
	       (!strcmp(unit, "count") && v->types & (T(cpu) | T(wall)));
}

/* Finds the row of a value, by name if that is not NULL. Returns NULL if no row
 * has the name, or if the value has a unit of another kind. */
static const struct value *
value_at(const struct profile *p, uint32_t at, const char *name)
{
	int64_t scale;
	const char *unit =
		import_unit_find(profile_text(p, p->types[at].unit), &scale);
	const struct value *vague = NULL;

	if (!name)
		name = profile_text(p, p->types[at].type);
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		const struct value *v = &values[i];

		if (strcmp(v->name, name) != 0)
			continue;
		if (unit && !strcmp(v->unit, unit))
			return v;
		if (!vague && may_be_vague(v, unit))
			vague = v;
	}
	return vague;
}

static bool
ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), len = strlen(end);

	return n > len && !strcmp(text + n - len, end);
}

/* True for an event of perf, whose unit is its name. perf_data_converter counts
 * events beside samples. */
static bool
is_event(const struct profile *p, uint32_t at)
{
	const char *name = profile_text(p, p->types[at].type);
	const char *unit = profile_text(p, p->types[at].unit);
	int64_t scale;

	if (!strcmp(unit, "count"))
		return ends_with(name, "_event");
	return *unit && !strcmp(name, unit) && !import_unit_find(unit, &scale);
}

/* True for the number of samples or events beside a type's own value. */
static bool
is_count_beside(const struct value *v)
{
	return v->types && !(v->types & T(goroutine)) &&
	       !strcmp(v->unit, "count");
}

static bool
has_own_value(const struct profile *p)
{
	for (uint32_t i = 0; i < p->ntypes; i++) {
		const struct value *v = value_at(p, i, NULL);

		if (is_event(p, i) || (v && v->types && !is_count_beside(v)))
			return true;
	}
	return false;
}

uint32_t
import_value_types(const struct profile *p, uint32_t at, const char *name)
{
	const struct value *v = value_at(p, at, name), *period;
	uint32_t types = v ? v->types : 0;

	if (!v && is_event(p, at))
		return T(cpu) | T(wall) | T(block) | T(mutex) | T(io);
	if (types && is_count_beside(v)) {
		period = value_find(profile_text(p, p->period_type.type));
		if (has_own_value(p))
			return 0;
		return period && period->types & types ? period->types & types
		                                       : types;
	}
	if (types & T(io) && types != T(io))
		types &= profile_type_index(p, "operations") != PROFILE_NONE
		                 ? T(io)
		         : profile_type_index(p, "contentions") != PROFILE_NONE
		                 ? ~T(io)
		                 : ~0u;
	return types;
}

const struct type *
import_first_type(uint32_t types)
{
	return types ? &profile_types[__builtin_ctz(types)] : NULL;
}

bool
import_type_of_end(const char *name, const struct type **out)
{
	const struct value *v = value_find(name);

	if (!v || !v->end)
		return false;
	*out = import_first_type(v->types);
	return true;
}

/* Returns the last value with the unit of a type, in a file that has only
 * unknown values. */
static uint32_t
unknown_value(const struct profile *p, const struct type *t)
{
	uint32_t at = PROFILE_NONE;

	for (uint32_t i = 0; i < p->ntypes; i++) {
		if (value_at(p, i, NULL))
			return PROFILE_NONE;
		if (!strcmp(profile_text(p, p->types[i].unit), t->unit))
			at = i;
	}
	return at;
}

static uint32_t
value_of_type(const struct profile *p, const struct type *t)
{
	const uint32_t first[] = {
		p->default_type ? profile_type_index(p, NULL) : PROFILE_NONE,
		profile_type_index(p, t->sample),
	};
	uint32_t at;

	for (size_t i = 0; i < ARRAY_LEN(first); i++)
		if (first[i] != PROFILE_NONE &&
		    import_value_types(p, first[i], NULL) & 1u << type_id(t))
			return first[i];
	for (at = 0; at < p->ntypes; at++)
		if (import_value_types(p, at, NULL) & 1u << type_id(t))
			return at;
	return unknown_value(p, t);
}

/* Returns the type of a file if the caller names none: that of its default
 * value; if that has no type, that of the next value, since bytes follow
 * objects; or else that of its first value with a type. A heap profile without
 * a default value shows memory in use, as in pprof. */
static const struct type *
own_type(const struct profile *p)
{
	uint32_t at = p->default_type ? profile_type_index(p, NULL)
	                              : PROFILE_NONE;
	uint32_t all = 0, types = at == PROFILE_NONE
	                                  ? 0
	                                  : import_value_types(p, at, NULL);

	if (!types && at < p->ntypes - 1)
		types = import_value_types(p, at + 1, NULL);
	for (uint32_t i = 0; i < p->ntypes && !types; i++)
		types = import_value_types(p, i, NULL);
	for (uint32_t i = 0; i < p->ntypes && !p->default_type; i++)
		all |= import_value_types(p, i, NULL);
	if (types == T(alloc) && all & T(memory))
		types = T(memory);
	return import_first_type(types);
}

/* Appends the types that have the unit of a value, unless that is a count,
 * which may count anything. */
static void
put_possible(const struct profile *p, struct buf *out)
{
	const char *between = "; with --type it is read as ";

	for (uint32_t i = 0; i < profile_ntypes; i++) {
		const struct type *t = &profile_types[i];

		if (!strcmp(t->unit, "count") ||
		    unknown_value(p, t) == PROFILE_NONE)
			continue;
		buf_addf(out, "%s%s", between, t->name);
		between = ", ";
	}
}

/* Appends the types for which a file has values; if there are none, the names
 * and units of its values. */
static void
put_types(const struct profile *p, struct buf *out)
{
	uint32_t all = 0;

	for (uint32_t i = 0; i < p->ntypes; i++)
		all |= import_value_types(p, i, NULL);
	if (!p->ntypes)
		buf_puts(out, "; it has no values");
	else
		buf_puts(out, all ? "; its types are " : "; its values are ");
	for (uint32_t i = 0, n = 0; all && i < profile_ntypes; i++)
		if (all & 1u << i)
			buf_addf(out, "%s%s", n++ ? ", " : "",
			         profile_types[i].name);
	for (uint32_t i = 0; !all && i < p->ntypes; i++)
		buf_addf(out, "%s%s/%s", i ? ", " : "",
		         profile_text(p, p->types[i].type),
		         profile_text(p, p->types[i].unit));
}

int
import_choose(struct profile *p, const char *asked, const struct type **out,
              struct buf *why)
{
	bool any = !asked || !*asked;
	const struct type *t = any ? own_type(p) : type_find(asked);
	uint32_t at = t ? value_of_type(p, t) : PROFILE_NONE;

	if (!asked && !t && p->ntypes) {
		*out = NULL;
		return 0;
	}
	if (at != PROFILE_NONE) {
		*out = t;
		return profile_show(p, at);
	}
	buf_clear(why);
	if (!any)
		buf_addf(why, "it has no values of a %s profile", asked);
	else
		buf_puts(why, "its type is not known");
	put_types(p, why);
	if (any)
		put_possible(p, why);
	return -EBADMSG;
}
