/*
 * A language whose functions an interpreter runs: how the program is
 * recognised, where its threads keep their frames, and how a frame is named.
 * The room of PHP is the smallest: capture/php is the example to read beside
 * this.
 *
 * An interpreter's frames are a list or an array in its memory, and calls
 * between its functions leave no trace on the C stack. The list changes with
 * every call, so it can't be read later: the programs in the kernel that take
 * samples walk it while the thread is interrupted (interp_layout.h). Names
 * don't change so fast: the worker reads the code objects to which frames
 * refer afterwards, once each.
 *
 *	image     a program or library that was recognised; one for all
 *	          processes that run it
 *	thread    an address from which a thread's frames are found
 *	frame     a code object, and the instruction in it
 *	entry     a frame for which C called the interpreter. The frames up to
 *	          and with an entry are one run: they take the place of one C
 *	          frame of the function eval_start to eval_end in the stack, and
 *	          of a core that this function calls where calls_core is set
 *	place     a function and a position in it: what samples are counted by
 *
 * To add a language, say NAME, write the room capture/NAME and a row in
 * languages.def, from which all code follows; include/README lists the rows
 * that name it elsewhere. The room has:
 *
 * NAME_walk.h, with NAME_step(m, slot, w, to), which looks at one of a thread's
 *     frames, the innermost first, sets *to, and moves w->at to the next. It is
 *     compiled for the kernel's verifier, too: walk.h says what it may use, and
 *     what it returns. A frame's mark is INTERP_ENTRY where its run ends.
 *     Frames that C code stands for, such as those of methods written in C, are
 *     marked INTERP_NO_CODE: they are not shown, since their native frames are.
 *     After a thread's frames it may add those that await a task:
 *     interp_arrange(). slot->layout chooses among layouts of versions;
 *     slot->hop leads over one more pointer. It also has NAME_find(m, list,
 *     native, w), which looks at one thread in the list of its process: the
 *     kernel runs it for threads that have no slot yet. If the interpreter
 *     keeps a thread's frames in the thread's own storage, it begins at
 *     w->self.
 *
 * NAME_language, a struct language. In the order in which they are called:
 *
 *     recognise  is asked for each ELF file that is mapped to be run, by
 *                whatever name. It looks for the dynamic symbols of the
 *                interpreter, and refuses versions whose layout it does not
 *                know. It finds what can be known without a process: the
 *                function that interprets, and addresses of roots, which are
 *                its own to number.
 *     list       describes where a process keeps the list of its threads.
 *     attach     reads that list: the threads, by their number in the
 *                process's own pid namespace. It is called again when a sample
 *                of a thread that was not found arrives, at most twenty times
 *                a second.
 *     find, step are NAME_find(), and NAME_step() for threads that stand still.
 *     several    is asked once a second if a process has several interpreters:
 *                a thread's place then changes while it lives.
 *     waiting    lists what waits in a process without a thread of its own, as
 *                tasks of asyncio do, for a snapshot.
 *     read       reads the code objects of a stack that are new, or older than
 *                INTERP_CODE_AGE_NS, since another object may have taken their
 *                place: in batches (memory.h), one for all code objects.
 *                interp_codes.h keeps them.
 *     place      turns a frame into a place.
 *     line       finds the line of a position in the table that read kept.
 *
 * The memory of a target may hold anything, and changes while it is read: lists
 * that lead back, lengths of gigabytes, pointers to nowhere. Every loop has a
 * limit, every length a maximum, and what does not look like the object that
 * is expected ends in -ESTALE: then the stack shows the interpreter instead,
 * and the capture's quality says how often that happened.
 *
 * The test of a language is a recorded process: tests/tools/interp_image
 * writes what was read of a live one, and tests/unit/capture/interp.c replays
 * it through these functions.
 *
 * A language that compiles to machine code has its frames among the native
 * ones, so it has no row here: capture/jit/jit.h is its interface. Others
 * describe their code in files (capture/symbols: perfmap.h, jitdump.h,
 * jit_names.h).
 */
#pragma once

#include "base/cleanup.h"
#include "interp_layout.h"

#include <stdbool.h>

struct elf_image;
struct interp_code;
struct interp_codes;
struct language;
struct memory;
struct walk_at;

#define INTERP_MAX_THREADS 16384 /* threads of a process that are examined */
#define INTERP_ANY_THREAD  0     /* whichever thread asks */
#define INTERP_ROOTS       6

/* Offset of a thread's number in glibc's struct pthread, whose address is
 * pthread_self(). */
#ifdef __aarch64__
#define INTERP_LIBC_TID 208
#else
#define INTERP_LIBC_TID 720
#endif

/* Addresses in an image that is an interpreter. */
struct interp_image {
	const struct language *language;
	uint32_t version;              /* the language's: 11 is Python 3.11 */
	uint64_t eval_start, eval_end; /* the function that interprets, */
	uint64_t cold_start, cold_end; /* and a part of it that the compiler put
	                                  elsewhere, or 0 */
	/* That function calls another one, which runs the instructions: its
	 * frame is part of the run, too. */
	bool calls_core;
	/* That function may call itself for the rest of a run, through at most
	 * this many functions of its file: their frames are part of the run. */
	uint8_t goes_on;
	/* The innermost run may have its entry before that function is called,
	 * or between two calls; and the innermost call may have no run yet, or
	 * no longer have one. */
	bool uneven;
	uint64_t entry_start, entry_end; /* where C enters it, if that is not
	                                    at its start; or 0 */
	/* Return address in that function of calls that have no run; or 0. */
	uint64_t no_run;
	/* Code of C between two calls may hide the runs of the outer one: the
	 * innermost calls are those that have runs. */
	bool inner_only;
	/* Its functions also run on native stacks other than their thread's,
	 * so that there may be more runs than calls on the stack at hand. */
	bool many_stacks;
	uint64_t roots[INTERP_ROOTS]; /* as the language numbers them */
};

/* The threads of a process that an interpreter runs. */
struct interp_threads {
	struct interp_thread {
		uint64_t native; /* its number in its own pid namespace, or
		                    INTERP_ANY_THREAD */
		uint64_t head;   /* see struct interp_slot */
	} * rows;
	uint32_t n, cap;
	uint16_t language, layout;
	uint64_t hop, own[2];
	bool several; /* interpreters, in each of which a thread may have a row */
};

/* The process to which frames belong. */
struct interp_space {
	const struct memory *memory;
	const struct interp_image *image;
	uint64_t bias; /* where the image lies in the process */
	uint64_t now_ns;
};

/* A code object that has to be read, for the first time or again. */
struct interp_unread {
	uint32_t code;    /* for interp_code() */
	uint64_t address; /* as in a frame with this code object, */
	uint64_t instr;   /* and as in the first such frame */
	const struct interp_frame *caller; /* of that frame; NULL: none */
};

/* Receives the stack of something that waits: its innermost frame is the first,
 * marked INTERP_TASK where a task begins. Returns 0, or -errno to stop. */
typedef int interp_waiting_seen(void *arg, const struct interp_stack *s);

struct language {
	enum language_id id;
	/* A thread has its frames in its own storage, where find looks: the
	 * rows of attach are only for threads that stand still. */
	bool in_thread;
	/* Its functions are compiled, and have a stack of their own. The walk
	 * copies that stack instead of setting frames (beam_walk.h). The
	 * language is one of capture/jit, too; read and place are NULL. */
	bool copies_stack;
	/*
	 * Finds an interpreter's addresses.
	 *   Errors   -ENOENT no interpreter of this language, or an unknown
	 *            version; -EIO, -ENOMEM
	 */
	int (*recognise)(const struct elf_image *elf, struct interp_image *out);
	/*
	 * Describes where the process keeps the list of its threads.
	 *
	 *   Shape    sets all but pid and space
	 *   Errors   -EBADMSG the runtime has another layout, those of
	 *            memory_copy()
	 */
	int (*list)(const struct interp_space *space, struct interp_list *out);
	/*
	 * Lists the threads again. When the list changes meanwhile, those
	 * found so far are used.
	 *
	 *   Shape    out starts as {0}; sets all but language
	 *   Owns     interp_threads_done() it
	 *   Errors   -ENOENT none yet, -EBADMSG the runtime has another layout,
	 *            those of memory_copy()
	 */
	int (*attach)(const struct interp_space *space,
	              struct interp_threads *out);
	/* Steps of walk_find() and of walk_frames(). */
	enum walk_step (*find)(const struct memory *m,
	                       const struct interp_list *list, uint64_t native,
	                       struct walk_at *w);
	enum walk_step (*step)(const struct memory *m,
	                       const struct interp_slot *slot,
	                       struct walk_at *w, struct interp_frame *to);
	/* Prefix of a library's file name: once the library is loaded, list
	 * describes more, in own[1]. NULL: there is none. */
	const char *library;
	/* True if a process has several interpreters by now. NULL: never. */
	bool (*several)(const struct memory *m, const struct interp_list *list);
	/*
	 * Lists what waits without a thread. NULL: nothing does.
	 *   Errors   those of list, attach and seen
	 */
	int (*waiting)(const struct interp_space *space,
	               interp_waiting_seen *seen, void *arg);
	/*
	 * Reads code objects and keeps them with interp_code_keep(), and the
	 * functions of those that changed with interp_function_keep().
	 *
	 *   Shape    rows[n], n at most INTERP_MAX_FRAMES, each code object once
	 *   Errors   -ESTALE something other than code is there, those of
	 *            interp_function_keep() and memory_read()
	 */
	int (*read)(struct interp_codes *c, const struct interp_space *space,
	            const struct interp_unread *rows, uint32_t n);
	/*
	 * Finds the place of a frame whose code object was read.
	 *
	 *   Shape    INTERP_NO_PLACE for code without a name
	 *   Errors   -ESTALE the instruction is not in this code
	 */
	int (*place)(const struct interp_code *code,
	             const struct interp_frame *f, uint64_t *out);
	/* Returns the line of a position; 0 when there is none. */
	uint32_t (*line)(const uint8_t *table, size_t n, uint32_t first_line,
	                 uint32_t at);
};

/*
 * Finds the interpreter in an image.
 *   Errors   -ENOENT there is none; -EIO, -ENOMEM
 */
MUST_CHECK int
interp_recognise(const struct elf_image *elf, struct interp_image *out);

/*
 * Puts the tasks that await the running one where they belong in a stack:
 * between its frames and the first one outside, INTERP_OUTSIDE. A walk leaves
 * them at the stack's end. First comes the name of the running task, marked
 * INTERP_TASK. Each task that awaits the one before it follows: its frames, the
 * outermost one first, and its name.
 *
 *   Shape    returns s if there are none, or else room
 */
const struct interp_stack *
interp_arrange(const struct interp_stack *s, struct interp_stack *room);

/*
 * Does the same for a stack that has nothing but tasks: each with its frames,
 * the outermost one first, and its name.
 *   Shape    returns room
 */
const struct interp_stack *
interp_arrange_tasks(const struct interp_stack *s, struct interp_stack *room);

/* Adds a thread to a list: for attach. */
MUST_CHECK int
interp_threads_add(struct interp_threads *t, uint64_t native, uint64_t head);
/* Finds a thread; sets all of *out but tid and key. Returns false when there
 * is no such thread. */
bool interp_threads_find(const struct interp_threads *t, uint64_t native,
                         struct interp_slot *out);
void interp_threads_done(struct interp_threads *t);
