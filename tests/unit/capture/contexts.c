/*
 * Contexts of threads: names of attributes, records, and the variable that
 * leads to them.
 */
#include "capture/contexts/query.h"
#include "capture/contexts/thread_context.h"
#include "capture/contexts/thread_tls.h"
#include "capture/process/process_context.h"
#include "capture/recorder/context_rows.h"

#include "lib/memory_image.h"
#include "lib/test.h"
#include "profile/stored/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- names ---------------------------------------------------------------- */

static void
put_text(struct buf *out, const char *key, const char *value)
{
	size_t pair = wire_open(out, 2), any;

	wire_put_bytes(out, 1, key, strlen(key));
	any = wire_open(out, 2);
	wire_put_bytes(out, 1, value, strlen(value));
	wire_close(out, any);
	wire_close(out, pair);
}

/* Appends n names: the given ones, then copies of the last. */
static void
put_keys(struct buf *out, const char *const *names, size_t given, size_t n)
{
	const char *key = "threadlocal.attribute_key_map";
	size_t pair = wire_open(out, 2), any, array;

	wire_put_bytes(out, 1, key, strlen(key));
	any = wire_open(out, 2);
	array = wire_open(out, 5);
	for (size_t i = 0; i < n; i++) {
		const char *name = names[i < given ? i : given - 1];
		size_t item = wire_open(out, 1);

		wire_put_bytes(out, 1, name, strlen(name));
		wire_close(out, item);
	}
	wire_close(out, array);
	wire_close(out, any);
	wire_close(out, pair);
}

static const char *const names[] = {"http.route", "trace_id", "a\nb",
                                    "http.request.method"};

static void
put_process(struct buf *out, const char *schema, size_t n)
{
	put_text(out, "process.other", "x");
	put_text(out, "threadlocal.schema_version", schema);
	put_keys(out, names, ARRAY_LEN(names), n);
}

/* Reads the attribute names of a process that has this schema. */
static struct thread_keys
keys_of(const char *schema, size_t n)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	struct thread_keys keys;

	put_process(&text, schema, n);
	ck_assert_int_eq(buf_err(&text), 0);
	ck_assert_int_eq(thread_keys_parse(text.p, text.len, &keys), 0);
	return keys;
}

TEST(names_of_attributes_are_read)
{
	const struct thread_keys keys = keys_of("tlsdesc_v1_dev", 4);

	ck_assert(keys.used);
	ck_assert_uint_eq(keys.n, 4);
	ck_assert_str_eq(keys.names[0], "http.route");
	ck_assert_str_eq(keys.names[1], ""); /* a label of Stoker's own */
	ck_assert_str_eq(keys.names[2], ""); /* no text */
	ck_assert_str_eq(keys.names[3], "http.request.method");
}
END

TEST(a_name_up_to_the_limit_is_kept_and_a_longer_one_is_not_shown)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char fits[THREAD_KEY], longer[THREAD_KEY + 1];
	struct thread_keys keys;

	memset(longer, 'k', THREAD_KEY);
	longer[THREAD_KEY] = '\0';
	snprintf(fits, sizeof(fits), "%.*s", THREAD_KEY - 1, longer);
	put_keys(&text, (const char *[]){longer, fits}, 2, 2);
	ck_assert_int_eq(thread_keys_parse(text.p, text.len, &keys), 0);
	ck_assert_uint_eq(keys.n, 2);
	ck_assert_str_eq(keys.names[0], "");
	ck_assert_str_eq(keys.names[1], fits);
}
END

TEST(only_processes_with_the_variable_are_followed)
{
	ck_assert(keys_of("tls_v1", 4).used);
	ck_assert(!keys_of("go_pprof_labels_v1", 0).used);
	ck_assert(!keys_of("tl", 4).used);
	ck_assert(!keys_of("", 4).used);
}
END

TEST(more_names_than_have_numbers_are_left_out)
{
	ck_assert_uint_eq(keys_of("tls_v1", 256).n, 256);
	ck_assert_uint_eq(keys_of("tls_v1", 257).n, 256);
}
END

TEST(each_byte_of_what_a_process_publishes_may_be_any)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	static struct thread_keys keys;

	put_process(&text, "tls_v1", 4);
	for (size_t i = 0; i < text.len; i++)
		for (unsigned v = 0; v < 256; v++) {
			char before = text.p[i];
			int rc;

			text.p[i] = (char)v;
			rc = thread_keys_parse(text.p, text.len, &keys);
			ck_assert(!rc || rc == -EBADMSG);
			text.p[i] = before;
		}
}
END

/* --- records -------------------------------------------------------------- */

struct written {
	uint8_t bytes[640];
	size_t n;
};

static struct written
record_of(uint8_t id)
{
	struct written r = {.n = 28};

	memset(r.bytes, id, 24);
	r.bytes[24] = 1;
	return r;
}

static void
put(struct written *r, uint8_t key, const char *value)
{
	r->bytes[r->n] = key;
	r->bytes[r->n + 1] = (uint8_t)strlen(value);
	memcpy(r->bytes + r->n + 2, value, strlen(value));
	r->n += 2 + strlen(value);
	r->bytes[26] = (uint8_t)(r->n - 28);
	r->bytes[27] = (uint8_t)((r->n - 28) >> 8);
}

TEST(a_record_has_trace_span_and_attributes)
{
	const struct thread_keys keys = keys_of("tls_v1", 4);
	struct written r = record_of(0xa7);
	struct thread_context c;

	put(&r, 3, "PUT");
	put(&r, 0, "/cart/{id}");
	put(&r, 3, "GET");
	ck_assert_int_eq(thread_context_parse(r.bytes, r.n, &keys, &c), 0);
	ck_assert_str_eq(c.span, "a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7"
	                         "a7a7a7a7a7a7a7a7");
	ck_assert_uint_eq(c.n, 2);
	ck_assert_str_eq(c.attributes[0].name, "http.request.method");
	ck_assert_mem_eq(c.attributes[0].value, "GET", 3);
	ck_assert_str_eq(c.attributes[1].name, "http.route");
	ck_assert_uint_eq(c.attributes[1].len, strlen("/cart/{id}"));
	ck_assert(!c.unknown);
}
END

TEST(attributes_that_are_not_to_be_shown_are_left_out)
{
	const struct thread_keys keys = keys_of("tls_v1", 4);
	struct written r = record_of(1);
	struct thread_context c;

	put(&r, 1, "no id");
	put(&r, 2, "no name");
	put(&r, 0, "/a\x1b[2J");
	put(&r, 0, "\xff");
	put(&r, 0, "");
	ck_assert_int_eq(thread_context_parse(r.bytes, r.n, &keys, &c), 0);
	ck_assert_uint_eq(c.n, 0);
	ck_assert(!c.unknown);
	put(&r, 4, "a number without a name");
	ck_assert_int_eq(thread_context_parse(r.bytes, r.n, &keys, &c), 0);
	ck_assert(c.unknown);
}
END

TEST(a_record_may_be_cut_anywhere)
{
	const struct thread_keys keys = keys_of("tls_v1", 4);
	struct written r = record_of(1);
	struct thread_context c;

	put(&r, 0, "/cart");
	put(&r, 3, "GET");
	for (size_t n = 0; n <= r.n; n++) {
		int rc = thread_context_parse(r.bytes, n, &keys, &c);

		ck_assert_int_eq(rc, n < 28 ? -ENOENT : 0);
		ck_assert_uint_eq(rc ? 0 : c.n, (n >= 35) + (n >= 40));
	}
	r.bytes[26] = 7; /* the second one is not counted */
	ck_assert_int_eq(thread_context_parse(r.bytes, r.n, &keys, &c), 0);
	ck_assert_uint_eq(c.n, 1);
}
END

TEST(a_record_that_is_not_valid_or_empty_is_none)
{
	const struct thread_keys keys = keys_of("tls_v1", 4);
	struct written r = record_of(1);
	struct thread_context c;

	for (unsigned v = 0; v < 256; v++) {
		r.bytes[24] = (uint8_t)v;
		ck_assert_int_eq(thread_context_parse(r.bytes, r.n, &keys, &c),
		                 v == 1 ? 0 : -ENOENT);
	}
	r = record_of(0);
	ck_assert_int_eq(thread_context_parse(r.bytes, r.n, &keys, &c),
	                 -ENOENT);
	put(&r, 0, "/"); /* a request that is not traced */
	ck_assert_int_eq(thread_context_parse(r.bytes, r.n, &keys, &c), 0);
	ck_assert_str_eq(c.span, "");
}
END

TEST(attributes_past_the_limit_are_left_out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	static struct thread_keys keys;
	char texts[20][8];
	const char *many[20];
	struct written r = record_of(1);
	struct thread_context c;

	for (int i = 0; i < 20; i++) {
		snprintf(texts[i], sizeof(texts[i]), "k%02d", i);
		many[i] = texts[i];
	}
	put_text(&text, "threadlocal.schema_version", "tls_v1");
	put_keys(&text, many, 20, 20);
	ck_assert_int_eq(thread_keys_parse(text.p, text.len, &keys), 0);
	for (int i = 0; i < 20; i++)
		put(&r, (uint8_t)i, "v");
	ck_assert_int_eq(thread_context_parse(r.bytes, r.n, &keys, &c), 0);
	ck_assert_uint_eq(c.n, THREAD_MAX_ATTRIBUTES);
	ck_assert_str_eq(c.attributes[15].name, "k15");
}
END

/* --- the names of a process ----------------------------------------------- */

#define PUBLISHED 0x1000

/* A process that publishes names, and how often it is asked for them. */
struct publisher {
	struct memory_image image;
	struct host memory;
	unsigned asked;
};

static int
ask_publisher(void *arg, const struct host_ask *ask, struct host_reply *reply,
              int fds[HOST_MAX_FDS], size_t *nfds)
{
	static const char maps[] = "1000-2000 rw-s 00000000 00:01 5 "
				   "[anon_shmem:OTEL_CTX]\n";
	struct publisher *p = arg;

	if (ask->op != HOST_MAPS) {
		p->asked++;
		return p->memory.ask(p->memory.arg, ask, reply, fds, nfds);
	}
	*reply = (struct host_reply){0};
	fds[0] = memfd_create("maps", MFD_CLOEXEC);
	*nfds = 1;
	return write(fds[0], maps, strlen(maps)) < 0 ? -EIO : 0;
}

/* A thread may have an attribute whose name is not published yet. */
TEST(names_that_have_not_changed_are_kept)
{
	static const uint32_t version = 2;
	static const uint64_t time_ns = 1, payload = PUBLISHED + 32;
	static struct modules modules;
	struct thread_tls tls = {0};
	struct module module = {.path = (char *)"/srv/app", .tls = &tls};
	struct map map = {.module = 0};
	struct process proc = {
		.pid = 1, .maps = {.rows = &map, .n = 1}, .modules = &modules};
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf memory = BUF_INIT(BUF_MAX_SMALL);
	struct written w = record_of(1);
	struct record r = {.sample = {.context = w.bytes}};
	struct thread_context c;
	struct publisher p;
	struct host host = {.ask = ask_publisher, .arg = &p};
	uint32_t size;

	put_process(&text, "tls_v1", 4);
	size = (uint32_t)text.len;
	buf_puts(&memory, "OTEL_CTX");
	buf_add(&memory, &version, sizeof(version));
	buf_add(&memory, &size, sizeof(size));
	buf_add(&memory, &time_ns, sizeof(time_ns));
	buf_add(&memory, &payload, sizeof(payload));
	buf_add(&memory, text.p, text.len);
	p = (struct publisher){
		.image = {PUBLISHED, (const uint8_t *)memory.p, memory.len}};
	p.memory = memory_image_host(&p.image);
	modules.host = &host;
	modules.rows[0] = &module;
	put(&w, 0, "/cart");
	put(&w, 4, "a number without a name");
	r.sample.context_len = w.n;
	for (int look = 0; look < 2; look++) {
		unsigned before = p.asked;

		while (p.asked == before) /* the next look is a second later */
			ck_assert(process_context(&proc, &r, &c));
		ck_assert_uint_eq(c.n, 1);
		ck_assert_str_eq(c.attributes[0].name, "http.route");
	}
	process_forget_context(&proc);
}
END

/* --- the contexts of a capture -------------------------------------------- */

/* A program may have another span, and another value, in each sample. */
TEST(contexts_past_the_limit_of_a_capture_are_not_kept)
{
	CLEANUP(context_rows_done) struct context_rows r = {0};
	struct thread_context c = {.n = 1};
	struct place first, again, last;
	char value[16];

	c.attributes[0] =
		(struct thread_attribute){.name = "k", .value = value};
	for (uint32_t i = 1; i <= CONTEXT_MAX_SPANS + 9; i++) {
		snprintf(c.span, sizeof(c.span), "%048u", i);
		c.attributes[0].len =
			(size_t)snprintf(value, sizeof(value), "%u", i);
		ck_assert(context_rows_place(&r, &c, &last) ==
		          (i <= CONTEXT_MAX_SPANS));
		if (i == 1)
			first = last;
	}
	ck_assert_uint_eq(context_rows_spans(&r), CONTEXT_MAX_SPANS);
	ck_assert_uint_eq(strings_count(r.sets) - 1, CONTEXT_MAX_SETS);
	snprintf(c.span, sizeof(c.span), "%048u", 1u);
	c.attributes[0].len = (size_t)snprintf(value, sizeof(value), "1");
	ck_assert(context_rows_place(&r, &c, &again));
	ck_assert_uint_eq(again.vaddr, first.vaddr);
}
END

/* --- the variable --------------------------------------------------------- */

#define TLS_SIZE 0x123 /* size of the file's TLS */
#define TLS_AT   0x48  /* the variable in it */
#define PLACE    0x3000

/* A file that defines the variable; a relocation leads to it. */
static struct file {
	Elf64_Ehdr head;
	Elf64_Phdr segments[3];
	Elf64_Shdr sections[3];
	Elf64_Dyn dynamic[4];
	Elf64_Sym symbols[4];
	Elf64_Rela relas[2];
	char names[96];
	uint8_t code[64];
} file;

#define AT(member) offsetof(struct file, member)

static struct elf_image *
file_of(uint16_t machine, bool is_program, uint32_t relocation, bool by_value)
{
	struct elf_image *e;

	memset(&file, 0, sizeof(file));
	memcpy(file.head.e_ident, ELFMAG, SELFMAG);
	file.head.e_ident[EI_CLASS] = ELFCLASS64;
	file.head.e_ident[EI_DATA] = ELFDATA2LSB;
	file.head.e_ident[EI_VERSION] = EV_CURRENT;
	file.head.e_version = EV_CURRENT;
	file.head.e_type = is_program ? ET_EXEC : ET_DYN;
	file.head.e_machine = machine;
	file.head.e_ehsize = sizeof(file.head);
	file.head.e_phoff = AT(segments);
	file.head.e_phentsize = sizeof(*file.segments);
	file.head.e_phnum = 3;
	file.head.e_shoff = AT(sections);
	file.head.e_shentsize = sizeof(*file.sections);
	file.head.e_shnum = 3;
	file.head.e_shstrndx = 2;
	file.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
	                                .p_flags = PF_R | PF_X,
	                                .p_filesz = sizeof(file),
	                                .p_memsz = sizeof(file)};
	file.segments[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
	                                .p_offset = AT(dynamic),
	                                .p_vaddr = AT(dynamic),
	                                .p_filesz = sizeof(file.dynamic),
	                                .p_memsz = sizeof(file.dynamic)};
	file.segments[2] = (Elf64_Phdr){
		.p_type = PT_TLS, .p_memsz = TLS_SIZE, .p_align = 32};
	file.sections[1] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
	                                .sh_offset = AT(symbols),
	                                .sh_size = sizeof(file.symbols),
	                                .sh_link = 2};
	file.sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
	                                .sh_offset = AT(names),
	                                .sh_size = sizeof(file.names)};
	file.dynamic[0] = (Elf64_Dyn){DT_RELA, {AT(relas)}};
	file.dynamic[1] = (Elf64_Dyn){DT_RELASZ, {sizeof(file.relas)}};
	memcpy(file.names, "\0printf\0otel_thread_ctx_v1", 27);
	file.symbols[1].st_name = 1;
	file.symbols[2] =
		(Elf64_Sym){.st_name = 8,
	                    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS),
	                    .st_shndx = 5,
	                    .st_value = TLS_AT};
	file.relas[0] = (Elf64_Rela){.r_info = ELF64_R_INFO(1, relocation)};
	file.relas[1] = (Elf64_Rela){PLACE,
	                             ELF64_R_INFO(by_value ? 0 : 2, relocation),
	                             by_value ? TLS_AT : 0};
	ck_assert_int_eq(elf_open_memory(&file, sizeof(file), &e), 0);
	return e;
}

#define BIAS UINT64_C(0x7f0000000000)

/* The words at the variable's place in a process, and where its threads then
 * have the variable; rc is 0 or -EAGAIN. */
static const struct {
	uint16_t machine;
	uint32_t relocation;
	bool is_program, musl;
	uint64_t words[2];
	int rc;
	struct context_at at;
} forms[] = {
	/* 0x123 bytes aligned to 32 are 0x140, below the thread pointer */
	{EM_X86_64, 0, true, false, {0}, 0, {.offset = 0x48 - 0x140}},
	/* 16 bytes aligned to 32, above it */
	{EM_AARCH64, 0, true, false, {0}, 0, {.offset = 0x48 + 32}},
	{EM_X86_64,
         R_X86_64_TPOFF64,
         false,
         false,
         {(uint64_t)-64},
         0,
         {.offset = -64}},
	{EM_AARCH64,
         R_AARCH64_TLS_TPREL,
         false,
         false,
         {0x80},
         0,
         {.offset = 0x80}},
	{EM_X86_64,
         R_X86_64_TLSDESC,
         false,
         false,
         {0x1234, (uint64_t)-128},
         0,
         {.offset = -128}},
	{EM_AARCH64,
         R_AARCH64_TLSDESC,
         false,
         false,
         {0x1234, 0x40},
         0,
         {.offset = 0x40}},
	/* the descriptor of a module of which each thread has a block */
	{EM_X86_64,
         R_X86_64_TLSDESC,
         false,
         false,
         {0x1234, BIAS + PLACE + 16},
         0,
         {.module = 3, .offset = 0x20, .vector = 8, .step = 16}},
	{EM_AARCH64,
         R_AARCH64_TLSDESC,
         false,
         false,
         {0x1234, BIAS + PLACE + 16},
         0,
         {.module = 3, .offset = 0x20, .vector = 0, .step = 16}},
	{EM_AARCH64,
         R_AARCH64_TLSDESC,
         false,
         true,
         {0x1234, BIAS + PLACE + 16},
         0,
         {.module = 3, .offset = 0x20, .vector = -8, .step = 8}},
	{EM_X86_64,
         R_X86_64_DTPMOD64,
         false,
         false,
         {2, 0x48},
         0,
         {.module = 2, .offset = 0x48, .vector = 8, .step = 16}},
	{EM_X86_64,
         R_X86_64_DTPMOD64,
         false,
         true,
         {2, 0x48},
         0,
         {.module = 2, .offset = 0x48, .vector = 8, .step = 8}},
	{EM_AARCH64,
         R_AARCH64_TLS_DTPMOD,
         false,
         false,
         {2, 0x48},
         0,
         {.module = 2, .offset = 0x48, .vector = 0, .step = 16}},
	/* not written yet, or impossible */
	{EM_X86_64, R_X86_64_TPOFF64, false, false, {0}, -EAGAIN, {0}},
	{EM_X86_64, R_X86_64_TPOFF64, false, false, {1u << 31}, -EAGAIN, {0}},
	{EM_X86_64, R_X86_64_DTPMOD64, false, false, {0, 8}, -EAGAIN, {0}},
	{EM_X86_64, R_X86_64_DTPMOD64, false, false, {65536, 8}, -EAGAIN, {0}},
	{EM_X86_64,
         R_X86_64_DTPMOD64,
         false,
         false,
         {1, 1ull << 40},
         -EAGAIN,
         {0}},
	{EM_X86_64,
         R_X86_64_TLSDESC,
         false,
         false,
         {0, 1ull << 40},
         -EAGAIN,
         {0}},
};

TEST(the_variable_of_a_process_is_found)
{
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		for (int by_value = 0; by_value < 2; by_value++) {
			CLEANUP_ELF struct elf_image *e =
				file_of(forms[i].machine, forms[i].is_program,
			                forms[i].relocation, by_value);
			uint64_t words[4] = {forms[i].words[0],
			                     forms[i].words[1], 3, 0x20};
			struct memory_image image = {BIAS + PLACE,
			                             (const void *)words,
			                             sizeof(words)};
			const struct host host = memory_image_host(&image);
			const struct memory m = {.host = &host, .pid = 1};
			struct context_at at = {0};
			struct thread_tls tls;
			int rc;

			ck_assert_msg(!thread_tls_find(e, &tls), "row %zu", i);
			rc = thread_tls_resolve(&m, &tls, BIAS, forms[i].musl,
			                        &at);
			ck_assert_msg(rc == forms[i].rc, "row %zu: %d", i, rc);
			ck_assert_msg(
				rc || !memcmp(&at, &forms[i].at, sizeof(at)),
				"row %zu: %u %lld", i, at.module,
				(long long)at.offset);
		}
	}
}
END

TEST(a_file_that_does_not_use_the_variable_has_none)
{
	struct thread_tls tls;
	CLEANUP_ELF struct elf_image *other =
		file_of(EM_X86_64, false, R_X86_64_GLOB_DAT, false);
	CLEANUP_ELF struct elf_image *none;

	ck_assert_int_eq(thread_tls_find(other, &tls), -ENOENT);
	file.symbols[2].st_shndx = SHN_UNDEF;
	ck_assert_int_eq(elf_open_memory(&file, sizeof(file), &none), 0);
	ck_assert_int_eq(thread_tls_find(none, &tls), -ENOENT);
}
END

/* --- queries -------------------------------------------------------------- */

#define STATE_TO_ID 192

/* Writes the entry of a process in this state, with a query's identifier. */
static void
put_entry(uint32_t state, int64_t id, uint8_t out[static STATE_TO_ID + 8])
{
	memset(out, 0xa5, STATE_TO_ID);
	memcpy(out, &state, sizeof(state));
	memcpy(out + STATE_TO_ID, &id, sizeof(id));
}

/* The function that returns the identifier, as Debian's servers have it. */
static const struct {
	uint16_t machine;
	const char *third; /* symbol */
	uint8_t code[24];
	uint32_t id, running; /* id 0: none */
} servers[] = {
	{EM_X86_64, /* 15 */
         "",
         "\x48\x8b\x05\xb1\x43\x40\x00\x48\x85\xc0\x74\x0a"
         "\x48\x8b\x80\xa8\x01\x00\x00\xc3",
         0x1a8, 2},
	{EM_X86_64, /* 18, another register */
         "pgstat_get_my_plan_id",
         "\xf3\x0f\x1e\xfa\x48\x8b\x15\xad\xf2\x4e\x00\x31\xc0"
         "\x48\x8b\x82\xa8\x01\x00\x00\xc3",
         0x1a8, 3},
	{EM_AARCH64, /* 15 */
         "",
         "\x00\x22\x00\xb0\x00\x44\x41\xf9\x60\x00\x00\xb4"
         "\x00\xd4\x40\xf9\xc0\x03\x5f\xd6",
         0x1a8, 2},
	{EM_X86_64, "", "\x48\x8b\x80\xa9\x01\x00\x00\xc3", 0, 0},
	{EM_X86_64, "", "\x48\x8b\x80\xa8\x01\x01\x00\xc3", 0, 0},
	{EM_X86_64, "", "\x48\x8b\x80\xb8\x00\x00\x00\xc3", 0, 0},
	{EM_X86_64, "", "\x31\xc0\xc3", 0, 0},
};

TEST(where_a_server_keeps_the_identifier_is_read_from_its_code)
{
	static const char names_of[] = "\0MyBEEntry\0pgstat_get_my_query_id";

	for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
		CLEANUP_ELF struct elf_image *other = file_of(
			servers[i].machine, true, R_X86_64_GLOB_DAT, false);
		CLEANUP_ELF struct elf_image *server = NULL;
		struct query_at at;
		int rc;

		ck_assert_int_eq(query_find(other, &at), -ENOENT);
		memcpy(file.names, names_of, sizeof(names_of));
		strcpy(file.names + sizeof(names_of), servers[i].third);
		memcpy(file.code, servers[i].code, sizeof(servers[i].code));
		for (size_t k = 1; k < 4; k++)
			file.symbols[k] = (Elf64_Sym){
				.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				.st_shndx = 5,
				.st_value = k == 1 ? 0x88d6a8 : AT(code)};
		file.symbols[1].st_name = 1;
		file.symbols[2].st_name = 11;
		file.symbols[3].st_name = sizeof(names_of);
		ck_assert_int_eq(elf_open_memory(&file, sizeof(file), &server),
		                 0);
		rc = query_find(server, &at);
		ck_assert_int_eq(rc, servers[i].id ? 0 : -ENOENT);
		if (rc)
			continue;
		ck_assert_uint_eq(at.entry, 0x88d6a8);
		ck_assert_uint_eq(at.id, servers[i].id);
		ck_assert_uint_eq(at.running, servers[i].running);
	}
}
END

TEST(a_process_that_runs_a_query_has_its_identifier)
{
	static const struct {
		uint32_t state;
		int64_t id;
		const char *text; /* NULL: none */
	} rows[] = {
		{2, 7, "7"},  {2, INT64_MIN, "-9223372036854775808"},
		{2, 0, NULL}, {1, 7, NULL}, /* idle */
		{3, 7, NULL},               /* idle in a transaction */
	};
	const struct query_at query = {.entry = 64, .id = 424, .running = 2};
	uint8_t entry[STATE_TO_ID + 8];
	char text[QUERY_TEXT];
	struct context_at at;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put_entry(rows[i].state, rows[i].id, entry);
		ck_assert_int_eq(
			query_parse(&query, entry, sizeof(entry), text),
			rows[i].text != NULL);
		if (rows[i].text)
			ck_assert_str_eq(text, rows[i].text);
		ck_assert(!query_parse(&query, entry, sizeof(entry) - 1, text));
	}
	query_resolve(&query, 0x1000, &at);
	ck_assert_uint_eq(at.pointer, 0x1040);
	ck_assert_uint_eq(at.skip, 424 - STATE_TO_ID);
	ck_assert_uint_eq(at.bytes, sizeof(entry));
}
END

SUITE("contexts");
