/*
 * Long-lived registers are 6 for the ring, 7 for the current stack (without the
 * ring's first PYTHON_STACK bytes), 8 for the thread's slot, and 9 for the
 * thread and later the number of frames. The program's stack holds the next
 * frame, a copy of a frame, and the CPU.
 */
#include "filter_python.h"

#include "python_layout.h"

#define NEXT (-8)
#define COPY (-88)
#define CPU  (-96)

#define SLOT(field)  ((int)offsetof(struct python_slot, field))
#define STACK(field) (PYTHON_STACK + (int)offsetof(struct python_stack, field))

#define MAX_EXITS 4

/* Jumps to the place where the program gives up. */
struct exits {
	size_t at[MAX_EXITS];
	size_t n;
};

static void
land_all(struct bpf_code *c, const struct exits *e)
{
	for (size_t i = 0; i < e->n; i++)
		code_land(c, e->at[i]);
}

/* Copies n bytes at the address in register 3 to the program's stack; the
 * returned jump is taken when copying fails. */
static size_t
copy_user(struct bpf_code *c, int to, int n)
{
	code_reg(c, BPF_MOV, 1, 10);
	code_imm(c, BPF_ADD, 1, to);
	code_imm(c, BPF_MOV, 2, n);
	code_call(c, BPF_FUNC_probe_read_user);
	return code_jump(c, BPF_JNE, 0, 0);
}

static void
find_slot(struct bpf_code *c, const struct python_maps *maps, struct exits *out)
{
	code_imm(c, BPF_LSH, 9, 32);
	code_imm(c, BPF_RSH, 9, 32);
	code_map(c, 8, BPF_PSEUDO_MAP_VALUE, maps->slots, maps->at);
	code_reg(c, BPF_MOV, 2, 9);
	code_imm(c, BPF_AND, 2, PYTHON_SLOTS - 1);
	code_imm(c, BPF_MUL, 2, sizeof(struct python_slot));
	code_reg(c, BPF_ADD, 8, 2);
	code_load(c, BPF_W, 2, 8, SLOT(tid));
	out->at[out->n++] = c->n;
	code_put(c, BPF_JMP | BPF_JNE | BPF_X, 2, 9, 0, 0);
}

static void
find_stack(struct bpf_code *c, const struct python_maps *maps,
           struct exits *out)
{
	code_call(c, BPF_FUNC_get_smp_processor_id);
	code_store(c, BPF_W, 10, CPU, 0);
	code_map(c, 1, BPF_PSEUDO_MAP_FD, maps->rings, 0);
	code_reg(c, BPF_MOV, 2, 10);
	code_imm(c, BPF_ADD, 2, CPU);
	code_call(c, BPF_FUNC_map_lookup_elem);
	out->at[out->n++] = code_jump(c, BPF_JEQ, 0, 0);
	code_reg(c, BPF_MOV, 6, 0);
	code_load(c, BPF_DW, 1, 6, 0);
	code_imm(c, BPF_AND, 1, (int32_t)maps->size - 1);
	code_imm(c, BPF_MUL, 1, PYTHON_STACK);
	code_reg(c, BPF_MOV, 7, 6);
	code_reg(c, BPF_ADD, 7, 1);
}

static void
begin_stack(struct bpf_code *c)
{
	code_imm(c, BPF_MOV, 1, 0);
	code_store(c, BPF_DW, 7, STACK(turn), 1);
	code_store(c, BPF_W, 7, STACK(tid), 9);
	code_load(c, BPF_DW, 1, 8, SLOT(key));
	code_store(c, BPF_DW, 7, STACK(key), 1);
	code_call(c, BPF_FUNC_ktime_get_ns);
	code_store(c, BPF_DW, 7, STACK(time_ns), 0);
	code_imm(c, BPF_MOV, 9, 0);
}

/* Loads the pointer to the innermost frame, by one hop or two. */
static void
find_frame(struct bpf_code *c, struct exits *faults)
{
	size_t direct;

	code_load(c, BPF_DW, 3, 8, SLOT(head));
	faults->at[faults->n++] = copy_user(c, NEXT, 8);
	code_load(c, BPF_DW, 1, 8, SLOT(hop));
	direct = code_jump(c, BPF_JEQ, 1, 0);
	code_load(c, BPF_DW, 3, 10, NEXT);
	code_reg(c, BPF_ADD, 3, 1);
	code_imm(c, BPF_SUB, 3, 1);
	faults->at[faults->n++] = copy_user(c, NEXT, 8);
	code_land(c, direct);
}

/* Loads register 3: code, 4: previous frame, 5: mark. */
static void
load_frame(struct bpf_code *c, const struct python_layout_of *l)
{
	code_load(c, BPF_DW, 3, 10, COPY + l->code);
	code_load(c, BPF_DW, 4, 10, COPY + l->previous);
	code_load(c, BPF_B, 5, 10, COPY + l->mark);
}

static void
keep_frame(struct bpf_code *c)
{
	const int at = STACK(frames);
	size_t older, done;

	code_load(c, BPF_W, 1, 8, SLOT(layout));
	older = code_jump(c, BPF_JEQ, 1, PYTHON_3_11);
	load_frame(c, &python_layouts[PYTHON_3_12]);
	done = code_jump(c, BPF_JA, 0, 0);
	code_land(c, older);
	load_frame(c, &python_layouts[PYTHON_3_11]);
	code_land(c, done);
	code_load(c, BPF_DW, 0, 10, COPY + python_layouts[PYTHON_3_12].instr);
	code_reg(c, BPF_MOV, 1, 9);
	code_imm(c, BPF_MUL, 1, sizeof(struct python_frame));
	code_reg(c, BPF_ADD, 1, 7);
	code_store(c, BPF_DW, 1, at, 3);
	code_store(c, BPF_DW, 1, at + 8, 0);
	code_store(c, BPF_DW, 1, at + 16, 5);
	code_store(c, BPF_DW, 10, NEXT, 4);
}

/* Ends the stack with the end (enum python_end) in register 2. */
static void
end_stack(struct bpf_code *c)
{
	code_store(c, BPF_W, 7, STACK(end), 2);
	code_store(c, BPF_W, 7, STACK(n), 9);
	code_load(c, BPF_DW, 1, 6, 0);
	code_imm(c, BPF_ADD, 1, 1);
	code_store(c, BPF_DW, 7, STACK(turn), 1);
	code_store(c, BPF_DW, 6, 0, 1);
}

void
bpf_python(struct bpf_code *c, const struct python_maps *maps)
{
	struct exits none = {.n = 0}, faults = {.n = 0};
	size_t loop, full, root, done[2];

	find_slot(c, maps, &none);
	find_stack(c, maps, &none);
	begin_stack(c);
	find_frame(c, &faults);
	loop = c->n;
	full = code_jump(c, BPF_JGE, 9, PYTHON_MAX_FRAMES);
	code_load(c, BPF_DW, 3, 10, NEXT);
	root = code_jump(c, BPF_JEQ, 3, 0);
	faults.at[faults.n++] = copy_user(c, COPY, PYTHON_FRAME_BYTES);
	keep_frame(c);
	code_imm(c, BPF_ADD, 9, 1);
	code_back(c, loop);
	land_all(c, &faults);
	code_imm(c, BPF_MOV, 2, PYTHON_FAULT);
	done[0] = code_jump(c, BPF_JA, 0, 0);
	code_land(c, full);
	code_imm(c, BPF_MOV, 2, PYTHON_FULL);
	done[1] = code_jump(c, BPF_JA, 0, 0);
	code_land(c, root);
	code_imm(c, BPF_MOV, 2, PYTHON_ROOT);
	code_land(c, done[0]);
	code_land(c, done[1]);
	end_stack(c);
	land_all(c, &none);
}
