/*
 * Recognises PHP: the command, php-fpm, and the library of Apache's module.
 *
 *   Source   PHP 7.4 to 8.5, Zend/zend_build.h: ZEND_BUILD_ID, main/php.h
 */
#include "php.h"

#include "capture/elf/elf.h"
#include "capture/unwind/unwind_cold.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_TEXTS ((size_t)8 << 20) /* bytes of a program's texts */

/* --- the image ------------------------------------------------------------ */

enum { EXECUTE, EXECUTOR, WANTED };

/* Returns the version of a build that its texts name, as "API20220829,NTS";
 * PHP_VERSIONS for one with threads, and for other versions. */
static enum php_version
version_in(const char *texts, size_t n)
{
	for (unsigned i = 0; i < PHP_VERSIONS; i++) {
		char id[32];
		int len = snprintf(id, sizeof(id), "API%u,NTS",
		                   (unsigned)php_versions[i].api);

		if (memmem(texts, n, id, (size_t)len))
			return i;
	}
	return PHP_VERSIONS;
}

static int
read_version(const struct elf_image *elf, enum php_version *out)
{
	const struct elf_section *s = elf_section(elf, ".rodata");
	CLEANUP_FREE void *texts = NULL;
	int rc = s ? elf_copy(elf, s->offset, s->size, MAX_TEXTS, &texts)
	           : -EIO;

	*out = rc ? PHP_VERSIONS : version_in(texts, s->size);
	return rc == -ENOMEM ? rc : 0;
}

static int
recognise(const struct elf_image *elf, struct interp_image *out)
{
	struct elf_wanted want[WANTED] = {
		[EXECUTE] = {.name = "execute_ex"},
		[EXECUTOR] = {.name = "executor_globals"},
	};
	enum php_version version;
	int rc = elf_find_symbols(elf, SHT_DYNSYM, want, WANTED);

	if (rc || !want[EXECUTE].value)
		return rc ? rc : -ENOENT;
	rc = read_version(elf, &version);
	if (rc)
		return rc;
	*out = (struct interp_image){
		.version = want[EXECUTOR].value ? version : PHP_VERSIONS,
		.eval_start = want[EXECUTE].value,
		.eval_end = want[EXECUTE].value + want[EXECUTE].size,
		.many_stacks = true,
		.roots = {[PHP_EXECUTOR] = want[EXECUTOR].value},
	};
	return unwind_cold(elf, out->eval_start, out->eval_end,
	                   &out->cold_start, &out->cold_end);
}

/* --- threads -------------------------------------------------------------- */

static int
list(const struct interp_space *space, struct interp_list *out)
{
	const struct interp_image *image = space->image;

	if (image->version >= PHP_VERSIONS)
		return -EBADMSG;
	*out = (struct interp_list){
		.language = LANGUAGE_PHP,
		.layout = php_versions[image->version].file,
		.head = image->roots[PHP_EXECUTOR] + space->bias +
	                php_versions[image->version].current,
	};
	return 0;
}

static int
attach(const struct interp_space *space, struct interp_threads *out)
{
	struct interp_list l;
	int rc = list(space, &l);

	if (rc)
		return rc;
	out->layout = l.layout;
	return interp_threads_add(out, INTERP_ANY_THREAD, l.head);
}

const struct language php_language = {
	.id = LANGUAGE_PHP,
	.recognise = recognise,
	.list = list,
	.attach = attach,
	.find = php_find,
	.step = php_step,
	.read = php_read,
	.place = php_place,
	.line = interp_line_is_position,
};
