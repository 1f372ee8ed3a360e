#include "elf.h"

#include <elf.h>
#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_STRTAB  ((size_t)1 << 20)   /* bytes of section names */
#define MAX_SYMBOLS ((size_t)256 << 20) /* bytes of a table, or its names */
/* Limits of the dynamic symbols, which are read from each mapped file while
 * samples wait. Those of Node.js, a large program, are 2 and 5 MB. */
#define MAX_DYNAMIC ((size_t)4 << 20)
#define MAX_DYNSTR  ((size_t)16 << 20)
#define MAX_NOTES   ((size_t)64 << 10) /* bytes of one block of notes */
#define MAX_BLOCKS  64                 /* of notes; programs have up to ten */
#define MAX_DYNSYMS (1u << 22)
#define CHAIN_STEP  1024 /* hash words read at once */
#define MAX_CHAIN   1024 /* symbols of one bucket of a hash table */
#define CRC_CHUNK   ((size_t)64 << 10)

int
elf_read(const struct elf_image *e, uint64_t offset, void *dst, size_t n)
{
	size_t done = 0;
	ssize_t r;

	if (offset > e->size || n > e->size - offset)
		return -EIO;
	if (e->mem) {
		memcpy(dst, e->mem + offset, n);
		return 0;
	}
	while (done < n) {
		r = pread(e->fd, (char *)dst + done, n - done,
		          (off_t)(offset + done));
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return -EIO;
		done += (size_t)r;
	}
	return 0;
}

int
elf_copy(const struct elf_image *e, uint64_t offset, uint64_t n, size_t max,
         void **out)
{
	CLEANUP_FREE char *p = NULL;
	int r;

	if (n > max)
		return -E2BIG;
	if (offset > e->size || n > e->size - offset)
		return -EIO;
	p = malloc(n + 1);
	if (!p)
		return -ENOMEM;
	r = elf_read(e, offset, p, n);
	if (r)
		return r;
	p[n] = '\0';
	*out = TAKE(p);
	return 0;
}

/* --- segments and sections ------------------------------------------------ */

const struct elf_segment *
elf_segment(const struct elf_image *e, uint32_t type, uint32_t skip)
{
	for (uint32_t i = 0; i < e->nsegments; i++)
		if (e->segments[i].type == type && skip-- == 0)
			return &e->segments[i];
	return NULL;
}

void
elf_dynamic(const struct elf_image *e, struct elf_dynamic *out)
{
	const struct elf_segment *s = elf_segment(e, PT_DYNAMIC, 0);
	size_t n = s ? s->filesz / sizeof(*out->rows) : 0;

	*out = (struct elf_dynamic){.n = 0};
	if (n > ELF_MAX_DYNAMIC)
		n = ELF_MAX_DYNAMIC;
	if (!n || elf_read(e, s->offset, out->rows, n * sizeof(*out->rows)))
		return;
	while (out->n < n && out->rows[out->n].d_tag != DT_NULL)
		out->n++;
}

uint64_t
elf_dynamic_value(const struct elf_dynamic *d, int64_t tag)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->rows[i].d_tag == tag)
			return d->rows[i].d_un.d_val;
	return 0;
}

static bool
read_is_program(const struct elf_image *e)
{
	struct elf_dynamic d;

	if (e->type != ET_DYN)
		return e->type == ET_EXEC;
	elf_dynamic(e, &d);
	return elf_dynamic_value(&d, DT_FLAGS_1) & DF_1_PIE;
}

static bool
is_named(const struct elf_image *e, uint32_t i, const char *name)
{
	uint32_t at = e->section_names[i];

	return at < e->strtab_size && strcmp(e->strtab + at, name) == 0;
}

const struct elf_section *
elf_section(const struct elf_image *e, const char *name)
{
	for (uint32_t i = 0; i < e->nsections; i++)
		if (e->sections[i].type != SHT_NOBITS && is_named(e, i, name))
			return &e->sections[i];
	return NULL;
}

const struct elf_section *
elf_section_typed(const struct elf_image *e, uint32_t type)
{
	for (uint32_t i = 0; i < e->nsections; i++)
		if (e->sections[i].type == type)
			return &e->sections[i];
	return NULL;
}

int
elf_symbols(const struct elf_image *e, uint32_t table, elf_symbol_seen *seen,
            void *arg)
{
	const struct elf_section *s = elf_section_typed(e, table);
	const bool dynamic = table == SHT_DYNSYM;
	CLEANUP_FREE void *symbols = NULL;
	CLEANUP_FREE void *names = NULL;
	const struct elf_section *text;
	const Elf64_Sym *sym;
	int rc;

	if (!s || s->link >= e->nsections)
		return -ENOENT;
	text = &e->sections[s->link];
	rc = elf_copy(e, s->offset, s->size,
	              dynamic ? MAX_DYNAMIC : MAX_SYMBOLS, &symbols);
	if (!rc) /* ends with a NUL */
		rc = elf_copy(e, text->offset, text->size,
		              dynamic ? MAX_DYNSTR : MAX_SYMBOLS, &names);
	if (rc)
		return rc;
	sym = symbols;
	for (size_t i = 0; i < s->size / sizeof(*sym); i++)
		if (sym[i].st_name < text->size)
			seen(arg, &sym[i], (char *)names + sym[i].st_name);
	return 0;
}

struct search {
	struct elf_wanted *rows;
	size_t n;
};

static void
match(void *arg, const Elf64_Sym *sym, const char *name)
{
	const struct search *s = arg;

	for (size_t i = 0; i < s->n && sym->st_shndx != SHN_UNDEF; i++) {
		if (strcmp(name, s->rows[i].name) != 0)
			continue;
		s->rows[i].value = sym->st_value;
		s->rows[i].size = sym->st_size;
	}
}

bool
elf_offset_of(const struct elf_image *e, uint64_t vaddr, uint64_t *offset,
              uint64_t *left)
{
	const struct elf_segment *s;
	uint64_t delta, at, n;

	for (uint32_t i = 0; (s = elf_segment(e, PT_LOAD, i)); i++) {
		delta = vaddr - s->vaddr;
		if (vaddr < s->vaddr || delta >= s->filesz)
			continue;
		at = s->offset + delta;
		if (at < delta || at >= e->size)
			continue;
		n = s->filesz - delta;
		*offset = at;
		*left = n < e->size - at ? n : e->size - at;
		return true;
	}
	return false;
}

bool
elf_vaddr_of(const struct elf_image *e, uint64_t offset, uint64_t *vaddr)
{
	const struct elf_segment *s;

	for (uint32_t i = 0; (s = elf_segment(e, PT_LOAD, i)); i++)
		if (offset >= s->offset && offset - s->offset < s->filesz) {
			*vaddr = s->vaddr + (offset - s->offset);
			return true;
		}
	return false;
}

int
elf_bias(const struct elf_image *e, uint64_t start, uint64_t offset,
         uint32_t flags, uint64_t *bias)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	const struct elf_segment *s;
	int best = 0;

	for (uint32_t i = 0; (s = elf_segment(e, PT_LOAD, i)); i++) {
		uint64_t first = s->offset & ~page;
		uint64_t b = start - offset + s->offset - s->vaddr;
		int fit = 1 + (offset == first) +
		          2 * (e->type == ET_EXEC && !b);

		if ((s->flags & flags) != flags || offset < first ||
		    offset - first >= s->filesz + (s->offset - first) ||
		    fit <= best)
			continue;
		best = fit;
		*bias = b;
	}
	return best ? 0 : -ENOENT;
}

/* --- notes and links ------------------------------------------------------ */

static size_t
aligned4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

/* Makes one pass over a block of notes. Source: gABI 5, Note Section. */
static void
scan_notes(struct elf_image *e, const char *p, size_t n)
{
	Elf64_Nhdr h;
	size_t name, desc;

	while (n >= sizeof(h) && !e->build_id_size) {
		memcpy(&h, p, sizeof(h));
		p += sizeof(h);
		n -= sizeof(h);
		name = aligned4(h.n_namesz);
		desc = aligned4(h.n_descsz);
		if (name > n || h.n_descsz > n - name)
			return;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 &&
		    memcmp(p, ELF_NOTE_GNU, 4) == 0 &&
		    h.n_descsz <= ELF_MAX_BUILD_ID) {
			memcpy(e->build_id, p + name, h.n_descsz);
			e->build_id_size = h.n_descsz;
		}
		if (desc > n - name)
			return;
		p += name + desc;
		n -= name + desc;
	}
}

static int
scan_notes_at(struct elf_image *e, uint64_t offset, uint64_t size)
{
	CLEANUP_FREE void *p = NULL;
	int r = elf_copy(e, offset, size, MAX_NOTES, &p);

	if (!r)
		scan_notes(e, p, (size_t)size);
	return r == -ENOMEM ? r : 0;
}

/* Finds the build-id. Sections come first: segments of a separate debug file
 * describe bytes that only the stripped file has. */
static int
read_build_id(struct elf_image *e)
{
	const struct elf_segment *p;
	const struct elf_section *s;
	uint32_t blocks = 0;
	int r = 0;

	for (uint32_t i = 0;
	     i < e->nsections && blocks < MAX_BLOCKS && !e->build_id_size && !r;
	     i++) {
		s = &e->sections[i];
		if (s->type != SHT_NOTE)
			continue;
		r = scan_notes_at(e, s->offset, s->size);
		blocks++;
	}
	for (uint32_t i = 0;
	     !e->build_id_size && !r && (p = elf_segment(e, PT_NOTE, i)); i++)
		r = scan_notes_at(e, p->offset, p->filesz);
	return r;
}

int
elf_debuglink(const struct elf_image *e, char name[ELF_MAX_NAME], uint32_t *crc)
{
	const struct elf_section *s = elf_section(e, ".gnu_debuglink");
	char text[ELF_MAX_NAME + 4] = "";
	size_t len, n;

	if (!s)
		return -ENOENT;
	n = s->size < sizeof(text) ? (size_t)s->size : sizeof(text);
	if (elf_read(e, s->offset, text, n))
		return -EINVAL;
	len = strnlen(text, n);
	if (!len || len >= ELF_MAX_NAME || aligned4(len + 1) + 4 > n ||
	    memchr(text, '/', len) || !strcmp(text, ".") || !strcmp(text, ".."))
		return -EINVAL;
	memcpy(crc, text + aligned4(len + 1), 4);
	memcpy(name, text, len + 1);
	return 0;
}

int
elf_debugaltlink(const struct elf_image *e, struct elf_altlink *out)
{
	const struct elf_section *s = elf_section(e, ".gnu_debugaltlink");
	char text[ELF_MAX_PATH + ELF_MAX_BUILD_ID];
	size_t len;

	if (!s)
		return -ENOENT;
	if (s->size > sizeof(text) || elf_read(e, s->offset, text, s->size))
		return -EINVAL;
	len = strnlen(text, s->size);
	if (!len || len >= ELF_MAX_PATH || len + 1 >= s->size ||
	    s->size - len - 1 > ELF_MAX_BUILD_ID)
		return -EINVAL;
	memcpy(out->name, text, len + 1);
	out->build_id_size = (uint32_t)(s->size - len - 1);
	memcpy(out->build_id, text + len + 1, out->build_id_size);
	return 0;
}

static int
file_crc(const struct elf_image *e, uint32_t *out)
{
	CLEANUP_FREE char *p = malloc(CRC_CHUNK);
	uint32_t crc = 0;
	uint64_t at = 0;
	size_t n;
	int r;

	if (!p)
		return -ENOMEM;
	for (; at < e->size; at += n) {
		n = e->size - at < CRC_CHUNK ? (size_t)(e->size - at)
		                             : CRC_CHUNK;
		r = elf_read(e, at, p, n);
		if (r)
			return r;
		crc = libdeflate_crc32(crc, p, n);
	}
	*out = crc;
	return 0;
}

int
elf_debug_matches(const struct elf_image *e, const struct elf_image *debug)
{
	char name[ELF_MAX_NAME];
	uint32_t want, have;
	int r;

	if (e->build_id_size)
		return e->build_id_size == debug->build_id_size &&
		                       !memcmp(e->build_id, debug->build_id,
		                               e->build_id_size)
		               ? 0
		               : -ESTALE;
	if (elf_debuglink(e, name, &want))
		return -ESTALE;
	r = file_crc(debug, &have);
	if (r)
		return r;
	return have == want ? 0 : -ESTALE;
}

/* --- reading the headers -------------------------------------------------- */

static int
check_header(const Elf64_Ehdr *h)
{
	if (memcmp(h->e_ident, ELFMAG, SELFMAG) ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	if (h->e_machine != EM_X86_64 && h->e_machine != EM_AARCH64)
		return -ENOEXEC;
	if (h->e_phnum && h->e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	return 0;
}

static int
read_segments(struct elf_image *e, const Elf64_Ehdr *h)
{
	Elf64_Phdr p[ELF_MAX_SEGMENTS];
	uint32_t n = h->e_phnum;
	int r;

	if (n > ELF_MAX_SEGMENTS)
		return -ENOEXEC;
	r = elf_read(e, h->e_phoff, p, n * sizeof(*p));
	if (r)
		return n ? r : 0;
	for (uint32_t i = 0; i < n; i++)
		e->segments[i] = (struct elf_segment){
			.type = p[i].p_type,
			.flags = p[i].p_flags,
			.offset = p[i].p_offset,
			.vaddr = p[i].p_vaddr,
			.filesz = p[i].p_filesz,
			.memsz = p[i].p_memsz,
			.align = p[i].p_align,
		};
	e->nsegments = n;
	return 0;
}

/* Reads counts that don't fit the header from section 0. Source: elf(5). */
static int
section_counts(const struct elf_image *e, const Elf64_Ehdr *h, uint64_t *n,
               uint32_t *names)
{
	Elf64_Shdr zero;
	int r = elf_read(e, h->e_shoff, &zero, sizeof(zero));

	if (r)
		return r;
	*n = h->e_shnum ? h->e_shnum : zero.sh_size;
	*names = h->e_shstrndx == SHN_XINDEX ? zero.sh_link : h->e_shstrndx;
	return *n > ELF_MAX_SECTIONS ? -ENOEXEC : 0;
}

static int
read_section_names(struct elf_image *e, uint32_t index)
{
	const struct elf_section *s = &e->sections[index];
	void *names;
	int r;

	if (index >= e->nsections || s->type != SHT_STRTAB)
		return -ENOEXEC;
	r = elf_copy(e, s->offset, s->size, MAX_STRTAB, &names);
	if (r)
		return r;
	e->strtab = names;
	e->strtab_size = (uint32_t)s->size;
	return 0;
}

static int
read_sections(struct elf_image *e, const Elf64_Ehdr *h)
{
	CLEANUP_FREE void *bytes = NULL;
	const Elf64_Shdr *s;
	uint64_t n = 0;
	uint32_t names = 0;
	int r = section_counts(e, h, &n, &names);

	if (r)
		return r;
	r = elf_copy(e, h->e_shoff, n * sizeof(*s),
	             ELF_MAX_SECTIONS * sizeof(*s), &bytes);
	if (r)
		return r;
	e->sections = calloc(n + 1, sizeof(*e->sections));
	e->section_names = calloc(n + 1, sizeof(*e->section_names));
	if (!e->sections || !e->section_names)
		return -ENOMEM;
	s = bytes;
	for (uint32_t i = 0; i < n; i++) {
		e->section_names[i] = s[i].sh_name;
		e->sections[i] = (struct elf_section){
			.type = s[i].sh_type,
			.link = s[i].sh_link,
			.info = s[i].sh_info,
			.flags = s[i].sh_flags,
			.vaddr = s[i].sh_addr,
			.offset = s[i].sh_offset,
			.size = s[i].sh_size,
			.entsize = s[i].sh_entsize,
		};
	}
	e->nsections = (uint32_t)n;
	return read_section_names(e, names);
}

static void
forget_sections(struct elf_image *e)
{
	free(e->sections);
	free(e->section_names);
	free(e->strtab);
	e->sections = NULL;
	e->section_names = NULL;
	e->strtab = NULL;
	e->nsections = e->strtab_size = 0;
}

/* --- symbols by their hashes ---------------------------------------------- */

/* A hash table of dynamic symbols. */
struct hashes {
	bool gnu;
	uint32_t nbuckets, first; /* first: first symbol in the table */
	uint32_t nblooms, shift;
	uint64_t blooms, buckets, chains; /* file offsets */
	const struct elf_section *symbols, *names;
};

static int
read_words(const struct elf_image *e, uint64_t offset, uint32_t *out, size_t n)
{
	return elf_read(e, offset, out, n * sizeof(*out));
}

static bool
is_power_of_2(uint32_t n)
{
	return n && !(n & (n - 1));
}

/* Reads the header of a table; false if it cannot be read. */
static bool
read_hashes(const struct elf_image *e, uint64_t vaddr, struct hashes *out)
{
	uint64_t at, left;
	uint32_t h[4] = {0};

	if (!elf_offset_of(e, vaddr, &at, &left) ||
	    read_words(e, at, h, out->gnu ? 4 : 2))
		return false;
	out->nbuckets = h[0];
	out->first = out->gnu ? h[1] : 1;
	out->nblooms = h[2];
	out->shift = h[3] % 32;
	out->blooms = at + 16;
	out->buckets = out->gnu ? out->blooms + (uint64_t)h[2] * 8 : at + 8;
	out->chains = out->buckets + (uint64_t)h[0] * 4;
	return true;
}

/* False for a file without a hash table of its symbols. */
static bool
find_hashes(const struct elf_image *e, struct hashes *out)
{
	struct elf_dynamic d;
	uint64_t gnu, sysv;

	*out = (struct hashes){.symbols = elf_section_typed(e, SHT_DYNSYM)};
	if (!out->symbols || out->symbols->link >= e->nsections)
		return false;
	out->names = &e->sections[out->symbols->link];
	elf_dynamic(e, &d);
	gnu = elf_dynamic_value(&d, DT_GNU_HASH);
	sysv = elf_dynamic_value(&d, DT_HASH);
	out->gnu = gnu;
	return (gnu || sysv) && read_hashes(e, gnu ?: sysv, out) &&
	       out->nbuckets && (!gnu || is_power_of_2(out->nblooms));
}

static uint32_t
hash_of(const struct hashes *t, const char *name)
{
	uint32_t h = t->gnu ? 5381 : 0;

	for (; *name; name++) {
		const uint8_t c = (uint8_t)*name;

		if (t->gnu) {
			h = h * 33 + c;
		} else {
			h = (h << 4) + c;
			h = (h ^ (h >> 28 << 4)) & 0x0fffffff;
		}
	}
	return h;
}

/* False if the Bloom filter, which GNU tables have, rules the hash out. */
static bool
may_have(const struct elf_image *e, const struct hashes *t, uint32_t hash)
{
	uint64_t word, bits = UINT64_C(1) << hash % 64 |
	                      UINT64_C(1) << (hash >> t->shift) % 64;

	return !t->gnu || (!elf_read(e, t->blooms + hash / 64 % t->nblooms * 8,
	                             &word, sizeof(word)) &&
	                   (word & bits) == bits);
}

/* Sets the row if this symbol has its name and is defined. */
static bool
take_symbol(const struct elf_image *e, const struct hashes *t, uint32_t i,
            struct elf_wanted *row)
{
	const size_t n = strlen(row->name) + 1;
	char name[ELF_MAX_NAME];
	Elf64_Sym sym;

	if ((uint64_t)i * sizeof(sym) >= t->symbols->size || n > sizeof(name) ||
	    elf_read(e, t->symbols->offset + (uint64_t)i * sizeof(sym), &sym,
	             sizeof(sym)) ||
	    sym.st_shndx == SHN_UNDEF || sym.st_name >= t->names->size ||
	    elf_read(e, t->names->offset + sym.st_name, name, n) ||
	    memcmp(name, row->name, n) != 0)
		return false;
	row->value = sym.st_value;
	row->size = sym.st_size;
	return true;
}

static void
find_hashed(const struct elf_image *e, const struct hashes *t,
            struct elf_wanted *row)
{
	const uint32_t hash = hash_of(t, row->name);
	uint32_t i, word;

	if (!may_have(e, t, hash) ||
	    read_words(e, t->buckets + (uint64_t)(hash % t->nbuckets) * 4, &i,
	               1))
		return;
	for (unsigned n = 0; n < MAX_CHAIN && i >= t->first; n++) {
		uint64_t at = t->gnu ? i - t->first : i;

		if (read_words(e, t->chains + at * 4, &word, 1) ||
		    ((!t->gnu || (word | 1) == (hash | 1)) &&
		     take_symbol(e, t, i, row)) ||
		    (t->gnu && word & 1))
			return;
		i = t->gnu ? i + 1 : word;
	}
}

int
elf_find_symbols(const struct elf_image *e, uint32_t table,
                 struct elf_wanted *rows, size_t n)
{
	struct search s = {rows, n};
	struct hashes t;

	if (table != SHT_DYNSYM || !find_hashes(e, &t))
		return elf_symbols(e, table, match, &s);
	for (size_t i = 0; i < n; i++)
		find_hashed(e, &t, &rows[i]);
	return 0;
}

/* --- dynamic symbols without section headers ------------------------------ */

/* Counts symbols: the chain of the last bucket ends at the last symbol. */
static int
chain_end(const struct elf_image *e, uint64_t chains, uint32_t first,
          uint32_t last, uint64_t *count)
{
	uint32_t words[CHAIN_STEP], n;

	for (; last < MAX_DYNSYMS; last += n) {
		uint64_t at = chains + (uint64_t)(last - first) * 4;

		n = CHAIN_STEP;
		while (n && read_words(e, at, words, n))
			n /= 2;
		if (!n)
			return -ENOENT;
		for (uint32_t i = 0; i < n; i++)
			if (words[i] & 1) {
				*count = (uint64_t)last + i + 1;
				return 0;
			}
	}
	return -ENOENT;
}

static int
count_gnu(const struct elf_image *e, uint64_t vaddr, uint64_t *count)
{
	struct hashes t = {.gnu = true};
	CLEANUP_FREE void *bytes = NULL;
	const uint32_t *buckets;
	uint32_t last = 0;

	if (!read_hashes(e, vaddr, &t) ||
	    elf_copy(e, t.buckets, (uint64_t)t.nbuckets * 4,
	             (size_t)MAX_DYNSYMS * 4, &bytes))
		return -ENOENT;
	buckets = bytes;
	for (uint32_t i = 0; i < t.nbuckets; i++)
		if (buckets[i] > last)
			last = buckets[i];
	if (last < t.first || !last)
		return -ENOENT;
	return chain_end(e, t.chains, t.first, last, count);
}

static int
count_sysv(const struct elf_image *e, uint64_t vaddr, uint64_t *count)
{
	uint32_t h[2]; /* nbucket, nchain */
	uint64_t at, left;

	if (!elf_offset_of(e, vaddr, &at, &left) || read_words(e, at, h, 2))
		return -ENOENT;
	*count = h[1];
	return 0;
}

/*
 * Describes the table of dynamic symbols and that of their names as their
 * section headers would.
 *   Errors   -ENOENT none, or their number is unknown
 *   Source   gABI 5, Dynamic Section, Hash Table; glibc's elf/dl-lookup.c
 *            for DT_GNU_HASH
 */
static int
find_dynamic(const struct elf_image *e, struct elf_section *symbols,
             struct elf_section *names)
{
	uint64_t left, symtab, strtab, count;
	uint64_t sysv, gnu, strsz, symbols_at, names_at;
	struct elf_dynamic d;

	elf_dynamic(e, &d);
	sysv = elf_dynamic_value(&d, DT_HASH);
	gnu = elf_dynamic_value(&d, DT_GNU_HASH);
	strsz = elf_dynamic_value(&d, DT_STRSZ);
	symbols_at = elf_dynamic_value(&d, DT_SYMTAB);
	names_at = elf_dynamic_value(&d, DT_STRTAB);
	if ((!sysv || count_sysv(e, sysv, &count)) &&
	    (!gnu || count_gnu(e, gnu, &count)))
		return -ENOENT;
	if (!symbols_at || !elf_offset_of(e, symbols_at, &symtab, &left) ||
	    !names_at || !elf_offset_of(e, names_at, &strtab, &left))
		return -ENOENT;
	*symbols = (struct elf_section){
		.type = SHT_DYNSYM,
		.flags = SHF_ALLOC,
		.vaddr = symbols_at,
		.offset = symtab,
		.size = count * sizeof(Elf64_Sym),
		.entsize = sizeof(Elf64_Sym),
	};
	*names = (struct elf_section){
		.type = SHT_STRTAB,
		.flags = SHF_ALLOC,
		.vaddr = names_at,
		.offset = strtab,
		.size = strsz < left ? strsz : left,
	};
	return 0;
}

/* Adds sections for the dynamic symbols, which PT_DYNAMIC describes too. */
static int
add_dynamic_sections(struct elf_image *e)
{
	static const char names[] = "\0.dynsym\0.dynstr";
	struct elf_section symbols, texts;

	if (find_dynamic(e, &symbols, &texts))
		return 0;
	e->sections = calloc(3, sizeof(*e->sections));
	e->section_names = calloc(3, sizeof(*e->section_names));
	e->strtab = malloc(sizeof(names));
	if (!e->sections || !e->section_names || !e->strtab) {
		forget_sections(e);
		return -ENOMEM;
	}
	symbols.link = 2;
	e->sections[1] = symbols;
	e->sections[2] = texts;
	e->section_names[1] = 1;
	e->section_names[2] = sizeof("\0.dynsym");
	e->strtab_size = sizeof(names);
	e->nsections = 3;
	memcpy(e->strtab, names, sizeof(names));
	return 0;
}

/* --- opening -------------------------------------------------------------- */

static int
read_headers(struct elf_image *e)
{
	Elf64_Ehdr h;
	int r = elf_read(e, 0, &h, sizeof(h));

	if (!r)
		r = check_header(&h);
	if (r)
		return -ENOEXEC;
	e->machine = h.e_machine;
	e->type = h.e_type;
	e->entry = h.e_entry;
	r = read_segments(e, &h);
	if (r)
		return r;
	e->is_program = read_is_program(e);
	/* Section headers are optional: segments are what is loaded. */
	if (h.e_shoff && h.e_shentsize == sizeof(Elf64_Shdr)) {
		r = read_sections(e, &h);
		if (r == -ENOMEM)
			return r;
		if (r)
			forget_sections(e);
	}
	e->no_headers = !e->nsections;
	r = e->no_headers ? add_dynamic_sections(e) : 0;
	return r ? r : read_build_id(e);
}

int
elf_open_fd(int fd, struct elf_image **out)
{
	CLEANUP_ELF struct elf_image *e = calloc(1, sizeof(*e));
	struct stat st;
	int r;

	if (!e)
		return -ENOMEM;
	e->fd = -1;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	e->size = (uint64_t)st.st_size;
	e->fd = fd;
	r = read_headers(e);
	if (r) {
		e->fd = -1;
		return r;
	}
	*out = TAKE(e);
	return 0;
}

int
elf_open_memory(const void *p, size_t n, struct elf_image **out)
{
	CLEANUP_ELF struct elf_image *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->fd = -1;
	e->size = n;
	e->mem = malloc(n + 1);
	if (!e->mem)
		return -ENOMEM;
	memcpy(e->mem, p, n);
	r = read_headers(e);
	if (r)
		return r;
	*out = TAKE(e);
	return 0;
}

void
elf_free(struct elf_image *e)
{
	if (!e)
		return;
	forget_sections(e);
	if (e->fd >= 0)
		close(e->fd);
	free(e->mem);
	free(e);
}
