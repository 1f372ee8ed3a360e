/*
 * A program with a file on a file system that does not answer. In a new user
 * namespace it mounts its own FUSE server below an overlay, and maps a copy of
 * the C library from there, but runs the host's.
 *
 * 	slowfs late DIR		the page of malloc comes after 1 s, each time it
 * 				is read, since it is dropped soon after
 * 	slowfs never DIR	no page but the first comes
 * 	slowfs lock DIR SECONDS	keeps its memory locked for as long, again and again:
 * 				whoever reads its command line then waits. Not all
 * 				that are started do: reads may come in another order
 * 	slowfs share DIR SECONDS	the same, and others read its memory meanwhile
 * 	slowfs exec DIR		calls execve(2), which waits for the server, and so
 * 				do others that look at this process: not for hosts
 * 				of which anyone else is a user
 * 	slowfs forks SECONDS	prints the longest time of a fork(2), and the longest
 * 				time that one waited, but not for a CPU, in ms
 *
 * Prints "ready", or why the kernel refuses; then allocates until it is killed.
 * DIR is an empty directory.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fuse.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME    "lib.so"
#define NODE    2 /* of NAME; the root is FUSE_ROOT_ID */
#define PAGE    UINT64_C(4096)
#define LATE_MS 1000
#define USED_MS 100 /* by then the reader has used the page */

struct served {
	const uint8_t *bytes;
	uint64_t size, slow; /* slow: offset of malloc's page */
	bool never;
	long lock_ms;        /* 0: no memory is locked */
	volatile int *holds; /* shared; 0: all pages come at once */
};

static void
sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* --- the server ----------------------------------------------------------- */

static void
reply(int fuse, uint64_t unique, int error, const void *body, size_t n)
{
	struct fuse_out_header h = {
		.len = (uint32_t)(sizeof(h) + n),
		.error = error,
		.unique = unique,
	};
	struct iovec out[] = {{&h, sizeof(h)}, {(void *)(uintptr_t)body, n}};

	(void)!writev(fuse, out, 2);
}

/* Makes the kernel drop the pages of the file that it has read. */
static void
drop_pages(int fuse)
{
	const struct fuse_notify_inval_inode_out inode = {.ino = NODE};

	reply(fuse, 0, FUSE_NOTIFY_INVAL_INODE, &inode, sizeof(inode));
}

static struct fuse_attr
attr_of(const struct served *s, uint64_t node)
{
	if (node == FUSE_ROOT_ID)
		return (struct fuse_attr){
			.ino = node, .mode = S_IFDIR | 0755, .nlink = 2};
	return (struct fuse_attr){.ino = node,
	                          .size = s->size,
	                          .mode = S_IFREG | 0755,
	                          .nlink = 1};
}

/*
 * Fails every other read of a page: the kernel asks for it with the memory
 * unlocked, and then again with the memory locked.
 *   Source   Linux mm/filemap.c, filemap_fault() and maybe_unlock_mmap_for_io()
 */
static void
serve_locked(int fuse, const struct served *s, uint64_t unique)
{
	static int reads;

	if (++reads % 2 == 0)
		sleep_ms(s->lock_ms);
	reply(fuse, unique, -EIO, NULL, 0);
}

static void
serve_read(int fuse, const struct served *s, uint64_t unique,
           const struct fuse_read_in *in)
{
	if (s->lock_ms) {
		serve_locked(fuse, s, unique);
		return;
	}
	uint64_t n = in->offset < s->size ? s->size - in->offset : 0;
	bool slow = in->offset / PAGE <= s->slow / PAGE &&
	            in->offset + in->size > s->slow;

	if (*s->holds && s->never && in->offset)
		return;
	if (*s->holds && !s->never && slow)
		sleep_ms(LATE_MS);
	reply(fuse, unique, 0, s->bytes + in->offset,
	      n < in->size ? n : in->size);
	if (*s->holds && !s->never && slow) {
		sleep_ms(USED_MS);
		drop_pages(fuse);
	}
}

static void
serve(int fuse, const struct served *s, const struct fuse_in_header *in,
      const void *body)
{
	const struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = PAGE,
		.max_write = PAGE,
	};
	const struct fuse_entry_out entry = {.nodeid = NODE,
	                                     .entry_valid = 3600,
	                                     .attr_valid = 3600,
	                                     .attr = attr_of(s, NODE)};
	const struct fuse_attr_out attr = {.attr_valid = 3600,
	                                   .attr = attr_of(s, in->nodeid)};
	const struct fuse_open_out opened = {.open_flags = FOPEN_KEEP_CACHE};
	const struct fuse_statfs_out fs = {.st = {.bsize = PAGE}};

	switch (in->opcode) {
	case FUSE_INIT:
		reply(fuse, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		if (!strcmp(body, NAME))
			reply(fuse, in->unique, 0, &entry, sizeof(entry));
		else
			reply(fuse, in->unique, -ENOENT, NULL, 0);
		break;
	case FUSE_GETATTR:
		reply(fuse, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		reply(fuse, in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		serve_read(fuse, s, in->unique, body);
		break;
	case FUSE_STATFS:
		reply(fuse, in->unique, 0, &fs, sizeof(fs));
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
	case FUSE_FSYNC:
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		reply(fuse, in->unique, 0, NULL, 0);
		break;
	default:
		reply(fuse, in->unique, -ENOSYS, NULL, 0);
	}
}

static void
be_server(int fuse, const struct served *s)
{
	static _Alignas(8) char in[FUSE_MIN_READ_BUFFER + PAGE];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fuse, in, sizeof(in)) > 0)
		serve(fuse, s, (struct fuse_in_header *)in,
		      in + sizeof(struct fuse_in_header));
	_exit(0);
}

/* --- the target ----------------------------------------------------------- */

static const char *
refused(const char *what)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));
	return text;
}

static int
put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int rc = fd < 0 || write(fd, text, strlen(text)) < 0;

	close(fd);
	return rc;
}

static const char *
enter(const char *dir)
{
	char users[64], groups[64];

	snprintf(users, sizeof(users), "0 %d 1", (int)geteuid());
	snprintf(groups, sizeof(groups), "0 %d 1", (int)getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) ||
	    put("/proc/self/setgroups", "deny") ||
	    put("/proc/self/gid_map", groups) ||
	    put("/proc/self/uid_map", users))
		return refused("a user namespace");
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, NULL) || chdir(dir) ||
	    mkdir("lower", 0755) || mkdir("empty", 0755) ||
	    mkdir("merged", 0755))
		return refused("mounts");
	return NULL;
}

static const char *
mount_server(const struct served *s)
{
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128];

	snprintf(options, sizeof(options),
	         "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fuse);
	if (fuse < 0 ||
	    mount("slow", "lower", "fuse", MS_NOSUID | MS_NODEV, options))
		return refused("FUSE");
	if (!fork())
		be_server(fuse, s);
	close(fuse);
	if (mount("none", "merged", "overlay", 0,
	          "lowerdir=lower:empty,userxattr"))
		return refused("an overlay");
	return NULL;
}

/* Maps the code of an ELF file as a loader does, and reads its first page. */
static const char *
map_code(const struct served *s)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)s->bytes;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(s->bytes + e->e_phoff);
	int fd = open("merged/" NAME, O_RDONLY | O_CLOEXEC);
	char *at = mmap(NULL, s->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
	                -1, 0);

	if (fd < 0 || at == MAP_FAILED)
		return refused(NAME);
	for (int i = 0; i < e->e_phnum; i++) {
		uint64_t from = p[i].p_offset / PAGE * PAGE;

		if (p[i].p_type != PT_LOAD || p[i].p_flags & PF_W)
			continue;
		if (mmap(at + p[i].p_vaddr / PAGE * PAGE,
		         p[i].p_filesz + p[i].p_offset - from,
		         p[i].p_flags & PF_X ? PROT_READ | PROT_EXEC
		                             : PROT_READ,
		         MAP_PRIVATE | MAP_FIXED, fd,
		         (off_t)from) == MAP_FAILED)
			return refused("a mapping");
	}
	return *(volatile char *)at == '\177' ? NULL : "no ELF file";
}

/* Execs a program while the server owes an answer to a request of the memory's
 * own (io_submit(2)). Returns only if that fails. */
static const char *
exec_owed(void)
{
	struct iocb sync = {.aio_lio_opcode = IOCB_CMD_FSYNC}, *all = &sync;
	aio_context_t context = 0;
	int fd = open("lower/" NAME, O_RDONLY);

	sync.aio_fildes = (uint32_t)fd;
	if (fd < 0 || syscall(SYS_io_setup, 1, &context) ||
	    syscall(SYS_io_submit, context, 1, &all) != 1)
		return refused("a request");
	puts("ready");
	fflush(stdout);
	execl("/bin/sleep", "sleep", "1000", NULL);
	return refused("execve");
}

/* Reads the C library that this program runs, and where its malloc is. */
static const char *
read_libc(struct served *s)
{
	Dl_info of;
	struct stat st;
	int fd = dladdr((void *)(uintptr_t)malloc, &of)
	                 ? open(of.dli_fname, O_RDONLY | O_CLOEXEC)
	                 : -1;

	if (fd < 0 || fstat(fd, &st))
		return refused("the C library");
	s->size = (uint64_t)st.st_size;
	s->bytes = mmap(NULL, s->size, PROT_READ, MAP_PRIVATE, fd, 0);
	s->slow = ((uintptr_t)malloc - (uintptr_t)of.dli_fbase) / PAGE * PAGE;
	return s->bytes == MAP_FAILED ? refused("the C library") : NULL;
}

static void
allocate(void)
{
	for (;;) {
		for (int i = 0; i < 1000; i++) {
			char *volatile p = malloc(1000);

			free(p);
		}
		sleep_ms(20);
	}
}

static sigjmp_buf failed;

static void
note_failure(int signal)
{
	(void)signal;
	siglongjmp(failed, 1);
}

static void *
touch(void *at)
{
	signal(SIGBUS, note_failure);
	for (;;)
		if (!sigsetjmp(failed, 1))
			(void)*(volatile char *)at;
	return NULL;
}

static void
read_for_ever(pid_t pid, char *at)
{
	char byte;
	struct iovec mine = {&byte, 1}, theirs = {at, 1};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		(void)!process_vm_readv(pid, &mine, 1, &theirs, 1, 0);
}

/* A thread reads a page. Meanwhile this one waits to change the memory or, if
 * the lock is shared, other processes read the memory in turn. */
static const char *
lock_memory(bool shared)
{
	int fd = open("lower/" NAME, O_RDONLY | O_CLOEXEC);
	char *at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	pthread_t t;

	if (fd < 0 || at == MAP_FAILED || madvise(at, PAGE, MADV_RANDOM))
		return refused(NAME);
	/* a fork would wait for the lock */
	for (int i = 0; i < 2 && shared; i++)
		if (!fork())
			read_for_ever(getppid(), (char *)&failed);
	if (pthread_create(&t, NULL, touch, at))
		return refused("a thread");
	/* a buffer of puts() might need memory, and wait for the lock */
	(void)!write(STDOUT_FILENO, "ready\n", 6);
	for (; shared;)
		pause();
	for (;;) {
		munmap(mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		            -1, 0),
		       PAGE);
		sleep_ms(10);
	}
}

/* How long this thread has had a CPU, or waited for one. */
static double
scheduled_ms(int stat)
{
	unsigned long long ran, waited;
	char text[64] = "";

	if (pread(stat, text, sizeof(text) - 1, 0) < 0 ||
	    sscanf(text, "%llu %llu", &ran, &waited) != 2)
		return 0;
	return (double)(ran + waited) / 1e6;
}

static int
time_forks(int seconds)
{
	double until = now_ms() + seconds * 1e3, most = 0, most_waited = 0;
	int stat = open("/proc/thread-self/schedstat", O_RDONLY);

	while (now_ms() < until) {
		double scheduled = scheduled_ms(stat), began = now_ms(), took,
		       waited;
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		took = now_ms() - began;
		waited = took - (scheduled_ms(stat) - scheduled);
		most = fmax(most, took);
		most_waited = fmax(most_waited, waited);
		waitpid(pid, NULL, 0);
		sleep_ms(20);
	}
	printf("%.0f %.0f\n", most, most_waited);
	return 0;
}

int
main(int argc, char **argv)
{
	struct served s = {
		.holds = mmap(NULL, sizeof(*s.holds), PROT_READ | PROT_WRITE,
	                      MAP_SHARED | MAP_ANONYMOUS, -1, 0),
	};
	const char *why;

	if (argc < 3 || s.holds == MAP_FAILED)
		return 2;
	if (!strcmp(argv[1], "forks"))
		return time_forks(atoi(argv[2]));
	s.never = !strcmp(argv[1], "never");
	s.lock_ms = argc > 3 ? (long)(atof(argv[3]) * 1000) : 0;
	why = read_libc(&s);
	if (!why)
		why = enter(argv[2]);
	if (!why)
		why = mount_server(&s);
	if (!why && s.lock_ms)
		why = lock_memory(!strcmp(argv[1], "share"));
	else if (!why)
		why = !strcmp(argv[1], "exec") ? exec_owed() : map_code(&s);
	*s.holds = 1;
	puts(why ? why : "ready");
	fflush(stdout);
	if (!why)
		allocate();
	return 1;
}
