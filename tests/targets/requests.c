/*
 * Serves requests in threads, and publishes which one each thread serves, as
 * SDKs of OpenTelemetry do (OTEPs 4719 and 4947): half of its CPU time for the
 * route /cart, three tenths for /items, and two tenths for none.
 *
 *	requests [SECONDS [LIBRARY|lies]]
 *
 * With -DVARIABLE it is only the part that has the thread-local variable, with
 * -DSERVER only the rest. LIBRARY is loaded for the variable once the program
 * runs. Requests for /items wait 1 ms each. lies: what threads publish is
 * nowhere, or cut off by the end of memory. Prints "ready", and at the end for
 * each route its percent.
 */
#define _GNU_SOURCE
#include <stdint.h>

#if !defined(VARIABLE) && !defined(SERVER)
#define VARIABLE
#define SERVER
#endif

/* The variable is set in the file that defines it, as in an SDK. */
void requests_publish(const void *record) __attribute__((weak));

#ifdef VARIABLE
__attribute__((visibility("default"))) __thread const void *otel_thread_ctx_v1;

__attribute__((visibility("default"), noinline)) void
requests_publish(const void *record)
{
	__asm__ volatile("" ::: "memory");
	otel_thread_ctx_v1 = record;
}
#endif

#ifdef SERVER
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define THREADS  2
#define NOINLINE __attribute__((noinline, noclone))

static void (*publish)(const void *);
static double seconds;
static int lies;

static double
now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- what the process publishes ------------------------------------------- */

static char *
put(char *at, int number, const char *p, size_t n)
{
	*at++ = (char)(number << 3 | 2);
	if (n > 127)
		*at++ = (char)(n | 0x80);
	*at++ = (char)(n > 127 ? n >> 7 : n);
	memcpy(at, p, n);
	return at + n;
}

/* Appends a KeyValue, whose value is the field `of` of an AnyValue. */
static char *
put_pair(char *at, const char *key, int of, const char *value, size_t n)
{
	char any[256], pair[512], *end = put(any, of, value, n);
	char *pair_end = put(pair, 1, key, strlen(key));

	pair_end = put(pair_end, 2, any, (size_t)(end - any));
	return put(at, 2, pair, (size_t)(pair_end - pair));
}

static char *
put_keys(char *at)
{
	static const char *const keys[] = {"http.request.method", "http.route"};
	char list[256], *end = list;

	for (int i = 0; i < 2; i++) {
		char any[64], *any_end = put(any, 1, keys[i], strlen(keys[i]));

		end = put(end, 1, any, (size_t)(any_end - any));
	}
	return put_pair(at, "threadlocal.attribute_key_map", 5, list,
	                (size_t)(end - list));
}

static int
publish_process(void)
{
	const char schema[] = "tlsdesc_v1_dev";
	const int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	char *room, *at;

	if (fd < 0 || ftruncate(fd, 4096))
		return -1;
	room = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (room == MAP_FAILED)
		return -1;
	at = put_pair(room + 32, "threadlocal.schema_version", 1, schema,
	              strlen(schema));
	at = put_keys(at);
	*(uint32_t *)(void *)(room + 8) = 2;
	*(uint32_t *)(void *)(room + 12) = (uint32_t)(at - (room + 32));
	*(uint64_t *)(void *)(room + 16) =
		(uint64_t)(now(CLOCK_MONOTONIC) * 1e9);
	*(char **)(void *)(room + 24) = room + 32;
	memcpy(room, "OTEL_CTX", 8);
	return 0;
}

/* --- what threads publish ------------------------------------------------- */

struct __attribute__((packed, aligned(2))) record {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t size;
	uint8_t attributes[64];
};

static void
add(struct record *r, uint8_t key, const char *value)
{
	r->attributes[r->size++] = key;
	r->attributes[r->size++] = (uint8_t)strlen(value);
	memcpy(r->attributes + r->size, value, strlen(value));
	r->size += (uint16_t)strlen(value);
}

static const struct route {
	const char *name; /* NULL: no request */
	double share;
} routes[] = {{"/cart", 0.5}, {"/items", 0.3}, {NULL, 0.2}};
#define ROUTES 3

static void
fill(struct record *r, const struct route *of, unsigned thread)
{
	memset(r, 0, sizeof(*r));
	memset(r->trace, of->name[1], sizeof(r->trace));
	memset(r->span, of->name[1], sizeof(r->span));
	r->span[7] = (uint8_t)thread;
	add(r, 0, "PUT"); /* replaced below */
	add(r, 1, of->name);
	add(r, 0, "GET");
	add(r, 9, "no such key");
	r->valid = 1;
}

/* Copies a record to the end of memory, and gives it more than fits there. */
static const void *
cut_off(const struct record *of)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
	                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct record *r;

	if (at == MAP_FAILED || munmap(at + page, page))
		return NULL;
	r = (void *)(at + page - sizeof(*r));
	*r = *of;
	r->size = UINT16_MAX;
	return r;
}

NOINLINE uint64_t
serve_cart(uint64_t x, int rounds)
{
	for (int i = 0; i < rounds; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

NOINLINE uint64_t
serve_items(uint64_t x, int rounds)
{
	for (int i = 0; i < rounds; i++)
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
	return x;
}

NOINLINE uint64_t
clean_up(uint64_t x, int rounds)
{
	for (int i = 0; i < rounds; i++)
		x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15u + (uint64_t)i;
	return x;
}

static uint64_t (*const work[ROUTES])(uint64_t, int) = {serve_cart, serve_items,
                                                        clean_up};

static void *
serve(void *arg)
{
	static unsigned threads;
	const unsigned thread = __sync_fetch_and_add(&threads, 1);
	double *spent = arg, end = now(CLOCK_MONOTONIC) + seconds;
	double before = now(CLOCK_THREAD_CPUTIME_ID), after;
	volatile uint64_t x = thread + 1;
	unsigned seed = thread;
	struct record records[2];
	const void *published[ROUTES] = {&records[0], &records[1], NULL};

	for (unsigned i = 0; i < 2; i++)
		fill(&records[i], &routes[i], thread);
	if (lies) {
		published[0] = (const void *)1;
		published[1] = cut_off(&records[1]);
	}
	while (now(CLOCK_MONOTONIC) < end) {
		int worst = 0;

		for (int i = 1; i < ROUTES; i++)
			if (spent[i] / routes[i].share <
			    spent[worst] / routes[worst].share)
				worst = i;
		publish(published[worst]);
		x = work[worst](x, 50000 + (int)(rand_r(&seed) % 250000));
		after = now(CLOCK_THREAD_CPUTIME_ID);
		if (after - before < 3e-3)
			spent[worst] += after - before;
		before = after;
		if (worst == 1)
			usleep(1000);
	}
	publish(NULL);
	return NULL;
}

static int
find_publish(const char *library)
{
	void *handle = library ? dlopen(library, RTLD_NOW) : NULL;

	publish = requests_publish;
	if (handle)
		*(void **)&publish = dlsym(handle, "requests_publish");
	return publish ? 0 : -1;
}

int
main(int argc, char **argv)
{
	static double spent[THREADS][ROUTES];
	double sum[ROUTES] = {0}, all = 0;
	pthread_t threads[THREADS];

	seconds = argc > 1 ? atof(argv[1]) : 5;
	lies = argc > 2 && !strcmp(argv[2], "lies");
	if (find_publish(argc > 2 && !lies ? argv[2] : NULL) ||
	    publish_process())
		return 1;
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, serve, spent[i]))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < ROUTES; k++)
			sum[k] += spent[i][k], all += spent[i][k];
	for (int k = 0; k < ROUTES; k++)
		printf("%s %.2f\n", routes[k].name ?: "-", 100 * sum[k] / all);
	return 0;
}
#endif
