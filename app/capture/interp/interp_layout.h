/*
 * What is read from a thread in the kernel with each sample: frames of its
 * interpreter (interp.h), and the context that it publishes (capture/contexts).
 *
 * The reader of the samples describes threads in slots.
 *
 * A thread without a slot is looked for where its process keeps the list of its
 * threads, so that even a thread that lives for less than a millisecond has its
 * frames; so is the thread of a child that has just been forked, in the list of
 * its parent. Only the newest threads of a long list are found in this way.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define INTERP_SLOTS      4096 /* threads; thread n is in slot n % this */
#define INTERP_LISTS      1024 /* processes; n's list is in n % this */
#define INTERP_OFFSETS    6
#define INTERP_MAX_FRAMES 160 /* innermost frames of a stack */
#define INTERP_CONTEXT    640 /* bytes that are read of a thread's context */
#define INTERP_HERE       UINT64_MAX /* as a hop: head is the frame itself */

enum language_id {
#define LANGUAGE(id, name) LANGUAGE_##id,
#include "languages.def"
#undef LANGUAGE
	LANGUAGES
};

struct interp_slot {
	uint32_t tid;      /* 0: unused; written last */
	uint16_t language; /* enum language_id */
	uint16_t layout; /* of frames in memory, as the language numbers them */
	uint64_t head;   /* address of the pointer to the innermost frame, */
	uint64_t hop;    /* or, when hop is not 0, of a pointer to the memory
	                    with that pointer, at hop - 1 */
	uint64_t key;    /* the process; returned with each stack */
	uint64_t own[2]; /* as the language uses them; own[0] is not 0 if it
	                    looks at registers */
};

/* The list of the threads of a process. */
struct interp_list {
	uint32_t pid;      /* 0: unused; written last */
	uint32_t space;    /* inode of its pid namespace; 0: the first */
	uint16_t language; /* as in a slot */
	uint16_t layout;
	uint32_t at[INTERP_OFFSETS]; /* offsets, as the language numbers them */
	uint64_t head;               /* address where the list begins */
	uint64_t hop;                /* as in a slot, and so is own */
	uint64_t own[2];
};

/* Where the threads of a process keep the address of their context: at an
 * offset from the thread pointer, or from the block of a module; or in a
 * variable that they share. */
struct context_at {
	uint32_t pid;    /* 0: unused; written last */
	uint32_t module; /* number of that module; 0: there is none */
	int64_t offset;
	/* A thread has a vector with the addresses of its blocks. vector: the
	 * offset of its address from the thread pointer; step: the bytes that
	 * it has for each module. */
	int32_t vector;
	uint32_t step;
	uint64_t pointer; /* address of that variable; 0: each has its own */
	/* This many bytes are read at the address, after skip others. 0: a
	 * context, which has its length in its head. */
	uint32_t bytes, skip;
};

/* The data of the programs in the kernel. */
struct interp_table {
	struct interp_slot slots[INTERP_SLOTS];
	struct interp_list lists[INTERP_LISTS];
	struct context_at contexts[INTERP_LISTS]; /* by process, like lists */
	uint64_t has_lists;                       /* not 0: a list is in use */
	uint64_t has_contexts; /* not 0: a context is in use */
};

struct interp_frame {
	uint64_t code;  /* address of the code object */
	uint64_t instr; /* address of the current instruction */
	uint64_t mark;  /* enum interp_mark; the upper half is the language's */
};

enum interp_mark {
	INTERP_ENTRY = 1,   /* C called the interpreter for this frame */
	INTERP_NO_CODE = 2, /* the frame belongs to no function of the
	                       language */
	INTERP_OUTSIDE = 4, /* the first frame outside of the task that runs */
	INTERP_TASK = 8,    /* the name of a task: see interp_arrange() */
};

enum interp_end {
	INTERP_ROOT,  /* all frames are there */
	INTERP_FAULT, /* some memory could not be read */
	INTERP_FULL,  /* there are more than INTERP_MAX_FRAMES */
	INTERP_NONE, /* no interpreter runs the thread: only a context is there */
};

struct interp_stack {
	uint64_t time_ns;
	uint64_t key;
	uint64_t head; /* of the thread, as in a slot */
	uint32_t tid, n;
	uint32_t end;     /* enum interp_end */
	uint32_t context; /* bytes of the thread's context; 0: there is none */
	struct interp_frame frames[INTERP_MAX_FRAMES]; /* innermost first */
	uint8_t room[INTERP_CONTEXT]; /* the context follows the last frame */
};

/* Returns the bytes of a stack without its head; it must be valid. */
static inline size_t
interp_stack_rest(const struct interp_stack *s)
{
	return s->n * sizeof(*s->frames) + s->context;
}
