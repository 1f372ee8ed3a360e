#include "base/buf.h"
#include "elf.h"

#include <errno.h>
#include <lzma.h>

#define MAX_PACKED  ((size_t)16 << 20)
#define MAX_DECODER ((uint64_t)64 << 20) /* memory that xz may use */
#define CHUNK       ((size_t)256 << 10)

static int
errno_of(lzma_ret r)
{
	return r == LZMA_MEM_ERROR || r == LZMA_MEMLIMIT_ERROR ? -ENOMEM
	                                                       : -EINVAL;
}

static int
unpack(lzma_stream *xz, struct buf *out)
{
	lzma_ret r = LZMA_OK;

	while (r == LZMA_OK) {
		xz->next_out = (uint8_t *)buf_reserve(out, CHUNK);
		if (!xz->next_out)
			return buf_err(out);
		xz->avail_out = CHUNK;
		r = lzma_code(xz, LZMA_FINISH);
		out->len += CHUNK - xz->avail_out;
	}
	return r == LZMA_STREAM_END ? 0 : errno_of(r);
}

int
elf_open_debugdata(const struct elf_image *e, struct elf_image **out)
{
	const struct elf_section *s = elf_section(e, ".gnu_debugdata");
	CLEANUP_BUF struct buf bytes = BUF_INIT(ELF_MAX_DEBUGDATA);
	CLEANUP(lzma_end) lzma_stream xz = LZMA_STREAM_INIT;
	CLEANUP_FREE void *packed = NULL;
	int rc = s ? elf_copy(e, s->offset, s->size, MAX_PACKED, &packed)
	           : -ENOENT;

	if (rc)
		return rc;
	xz.next_in = packed;
	xz.avail_in = s->size;
	if (lzma_stream_decoder(&xz, MAX_DECODER, 0) != LZMA_OK)
		return -ENOMEM;
	rc = unpack(&xz, &bytes);
	return rc ? rc : elf_open_memory(bytes.p, bytes.len, out);
}
