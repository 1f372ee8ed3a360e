#include "elf_id.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#define ENDS       4096 /* bytes at each end of a file */
#define HASHED     16   /* bytes of the digest */
#define GO_SECTION ".note.go.buildid"
#define GO_HEADER  16 /* bytes before the text: note header and "Go" */

/* --- SHA-256, FIPS 180-4 -------------------------------------------------- */

/* OpenSSL reads files when it starts, which the sandbox forbids. */
#define BLOCK 64

static const uint32_t rounds[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
	0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
	0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
	0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t
turn(uint32_t v, unsigned n)
{
	return v >> n | v << (32 - n);
}

static void
sha256_block(uint32_t h[static 8], const uint8_t *p)
{
	uint32_t w[64], v[8];

	memcpy(w, p, BLOCK);
	for (unsigned i = 0; i < 16; i++)
		w[i] = be32toh(w[i]);
	for (unsigned i = 16; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^
		        w[i - 15] >> 3) +
		       (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^
		        w[i - 2] >> 10);
	memcpy(v, h, sizeof(v));
	for (unsigned i = 0; i < 64; i++) {
		uint32_t a = v[0], e = v[4];
		uint32_t one = v[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
		               ((e & v[5]) ^ (~e & v[6])) + rounds[i] + w[i];
		uint32_t two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) +
		               ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += one;
		v[0] = one + two;
	}
	for (unsigned i = 0; i < 8; i++)
		h[i] += v[i];
}

/* p has room for two more blocks after its n bytes. */
static void
sha256(uint8_t *p, size_t n, uint8_t out[static HASHED])
{
	uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	size_t all = (n + 9 + BLOCK - 1) / BLOCK * BLOCK;
	uint64_t bits = htobe64(n * 8);

	memset(p + n, 0, all - n);
	p[n] = 0x80;
	memcpy(p + all - sizeof(bits), &bits, sizeof(bits));
	for (size_t i = 0; i < all; i += BLOCK)
		sha256_block(h, p + i);
	for (unsigned i = 0; i < HASHED / 4; i++) {
		uint32_t word = htobe32(h[i]);

		memcpy(out + 4 * i, &word, sizeof(word));
	}
}

/* --- identifiers ---------------------------------------------------------- */

static void
to_hex(const uint8_t *id, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++)
		sprintf(out + 2 * i, "%02x", id[i]);
	out[2 * n] = '\0';
}

void
elf_gnu_id(const struct elf_image *e, char out[static ELF_ID_MAX])
{
	to_hex(e->build_id, e->build_id_size, out);
}

static bool
is_htlhash(const char *id)
{
	return strlen(id) == 2 * HASHED;
}

static bool
is_go_id(const char *id)
{
	return strchr(id, '/') && strlen(id) < ELF_ID_MAX;
}

bool
elf_id_is_other(const char *id)
{
	return is_go_id(id) || is_htlhash(id);
}

int
elf_htlhash(const struct elf_image *e, char out[static ELF_ID_MAX])
{
	uint8_t bytes[2 * ENDS + 3 * BLOCK], id[HASHED];
	size_t ends = e->size < ENDS ? (size_t)e->size : ENDS;
	uint64_t length = htobe64(e->size);
	int rc = elf_read(e, 0, bytes, ends)
	                 ?: elf_read(e, e->size - ends, bytes + ends, ends);

	if (rc)
		return rc;
	memcpy(bytes + 2 * ends, &length, sizeof(length));
	sha256(bytes, 2 * ends + sizeof(length), id);
	to_hex(id, sizeof(id), out);
	return 0;
}

void
elf_go_id(const struct elf_image *e, char out[static ELF_ID_MAX])
{
	const struct elf_section *s = elf_section(e, GO_SECTION);
	char note[GO_HEADER + ELF_ID_MAX];
	size_t n = s && s->size < sizeof(note) ? s->size : 0;

	out[0] = '\0';
	if (n <= GO_HEADER || elf_read(e, s->offset, note, n))
		return;
	memcpy(out, note + GO_HEADER, n - GO_HEADER);
	out[n - GO_HEADER] = '\0';
}

bool
elf_has_id(const struct elf_image *e, const char *id)
{
	char own[ELF_ID_MAX];

	elf_gnu_id(e, own);
	if (*own && !strcmp(own, id))
		return true;
	elf_go_id(e, own);
	if (is_go_id(id) && !strcmp(own, id))
		return true;
	return is_htlhash(id) && !elf_htlhash(e, own) && !strcmp(own, id);
}
