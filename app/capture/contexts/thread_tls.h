/*
 * Where the threads of a process keep the address of the context that they
 * publish: in a thread-local variable that a program or a library defines.
 *
 * If the program or a library that was loaded at its start defines the
 * variable, it lies at a fixed offset from the thread pointer. A library that
 * was loaded later has a block of memory in each thread, and the variable is in
 * that block. The dynamic linker writes words that say which case applies, for
 * the code that uses the variable; they are read here.
 *
 *   Source   opentelemetry-specification, oteps/profiles/4947-thread-ctx.md;
 *            ELF Handling For Thread-Local Storage, Drepper 2013, 3.4.2, 3.4.6;
 *            TLS Descriptors for x86, Oliva 2006; ELF for the Arm 64-bit
 *            Architecture 2023Q3, "Thread-local storage"; glibc 2.36,
 *            sysdeps/x86_64/nptl/tls.h, sysdeps/aarch64/nptl/tls.h,
 *            elf/dl-tlsdesc.h; musl 1.2.3, src/internal/pthread_impl.h
 */
#pragma once

#include "capture/elf/elf.h"
#include "capture/host/memory.h"
#include "capture/interp/interp_layout.h"

#define THREAD_TLS_SYMBOL     "otel_thread_ctx_v1"
#define THREAD_TLS_MAX_RELAS  (1u << 20)
#define THREAD_TLS_MAX_OFFSET ((int64_t)64 << 20) /* from the thread pointer */

/* How the variable of a file is found. */
struct thread_tls {
	enum {
		THREAD_TLS_FIXED,      /* at offset from the thread pointer */
		THREAD_TLS_OFFSET,     /* place holds this offset */
		THREAD_TLS_DESCRIPTOR, /* place holds a two-word descriptor */
		THREAD_TLS_MODULE,     /* place holds the module's number, and
		                          the offset in its block */
	} kind;
	uint16_t machine;
	int64_t offset;
	uint64_t place; /* vaddr */
};

/*
 * Looks for the variable in a file.
 *   Errors   -ENOENT the file does not define it, or nothing in it uses it;
 *            -EIO, -ENOMEM
 */
MUST_CHECK int
thread_tls_find(const struct elf_image *e, struct thread_tls *out);
/*
 * Finds where threads of a process keep the variable of a file that is mapped
 * with this bias.
 *
 *   Shape    sets all of *out but pid; musl: the process runs with that libc
 *   Errors   -EAGAIN the place has no such words yet; those of memory_copy()
 */
MUST_CHECK int
thread_tls_resolve(const struct memory *m, const struct thread_tls *tls,
                   uint64_t bias, bool musl, struct context_at *out);
