#include "finish_names.h"

#include "base/file.h"

#include <errno.h>
#include <string.h>

int
namer_init(struct namer *n, const struct modules *modules,
           const struct host *host, struct quality *quality)
{
	*n = (struct namer){
		.modules = modules,
		.host = host,
		.quality = quality,
		.symbolizer = symbolizer_new(),
		.of = calloc(modules->n, sizeof(*n->of)),
	};
	return n->symbolizer && n->of ? 0 : -ENOMEM;
}

void
namer_done(struct namer *n)
{
	symbolizer_free(n->symbolizer);
	kallsyms_free(n->kallsyms);
	for (uint32_t i = 0; n->of && i < n->modules->n; i++) {
		elf_free(n->of[i].debug);
		perfmap_free(n->of[i].perfmap);
	}
	free(n->of);
}

static size_t
one_name(const char *name, struct sym_frame *out)
{
	*out = (struct sym_frame){
		.name = name, .system_name = name, .file = ""};
	return 1;
}

/* --- kernel ----------------------------------------------------------------
 */

static void
open_kallsyms(struct namer *n)
{
	CLEANUP_BUF struct buf text = BUF_INIT(KALLSYMS_MAX_BYTES);
	struct host_ask ask = {.op = HOST_KALLSYMS};
	CLEANUP_FD int fd = -1;

	n->of[MODULE_KERNEL].known = true;
	if (host_fd(n->host, &ask, &fd) || fd_read_all(fd, &text) ||
	    kallsyms_new(&text, &n->kallsyms))
		n->quality->notes |= QUALITY_NOTE_OF(NO_KALLSYMS);
}

static size_t
kernel_name(struct namer *n, uint64_t addr, struct sym_frame *out)
{
	struct kallsym sym;

	if (!n->of[MODULE_KERNEL].known)
		open_kallsyms(n);
	if (!n->kallsyms || !kallsyms_lookup(n->kallsyms, addr, &sym))
		return 0;
	return one_name(sym.name, out);
}

/* --- programs and libraries ------------------------------------------------
 */

/* Its separate debug file, where the host has one. */
static struct elf_image *
open_debug(const struct host *host, const struct elf_image *elf)
{
	struct host_ask ask = {.op = HOST_DEBUG, .size = elf->build_id_size};
	CLEANUP_ELF struct elf_image *debug = NULL;
	CLEANUP_FD int fd = -1;

	if (!elf->build_id_size || elf->build_id_size > HOST_BUILD_ID)
		return NULL;
	memcpy(ask.build_id, elf->build_id, elf->build_id_size);
	if (host_fd(host, &ask, &fd) || elf_open_fd(fd, &debug))
		return NULL;
	TAKE_FD(fd);
	return elf_debug_matches(elf, debug) ? NULL : TAKE(debug);
}

/* What a JIT compiler wrote of its code; NULL: none, or the target is gone. */
static struct perfmap *
open_perfmap(const struct host *host, int32_t pid)
{
	CLEANUP_BUF struct buf text = BUF_INIT(PERFMAP_MAX_BYTES);
	struct host_ask ask = {.op = HOST_PERFMAP, .pid = pid};
	struct perfmap *map = NULL;
	CLEANUP_FD int fd = -1;

	if (host_fd(host, &ask, &fd) || fd_read_all(fd, &text) ||
	    perfmap_new(&text, &map))
		return NULL;
	return map;
}

static void
open_module(struct namer *n, uint32_t module)
{
	const struct module *m = n->modules->rows[module];
	struct namer_module *of = &n->of[module];
	bool read = false;

	of->known = true;
	if (m->elf) {
		of->debug = open_debug(n->host, m->elf);
		read = !symbolizer_add(n->symbolizer, module, m->elf,
		                       of->debug);
	} else if (m->pid) {
		of->perfmap = open_perfmap(n->host, m->pid);
		read = of->perfmap != NULL;
	}
	n->quality->modules++;
	n->quality->modules_unread += !read;
}

static size_t
module_names(struct namer *n, struct place at, struct sym_frame *out,
             size_t max)
{
	const struct namer_module *of = &n->of[at.module];
	const char *jit;

	if (!of->known)
		open_module(n, at.module);
	if (!of->perfmap)
		return symbolizer_lookup(n->symbolizer, at.module, at.vaddr,
		                         out, max);
	jit = perfmap_lookup(of->perfmap, at.vaddr);
	return jit ? one_name(jit, out) : 0;
}

size_t
namer_lookup(struct namer *n, struct place at, struct sym_frame *out,
             size_t max)
{
	switch (at.module) {
	case MODULE_KERNEL:
		return kernel_name(n, at.vaddr, out);
	case MODULE_UNKNOWN:
		return 0;
	case MODULE_TRUNCATED:
		return one_name("[truncated]", out);
	default:
		return module_names(n, at, out, max);
	}
}
