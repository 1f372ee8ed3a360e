/*
 * stoker-worker: captures profiles on this host.
 */
#include "base/log.h"
#include "base/version.h"
#include "base/ways.h"
#include "capture/recorder/rate.h"
#include "once.h"
#include "profile/types.h"
#include "worker/analyser/analyser.h"
#include "worker/analyser/turn.h"
#include "worker/courier/courier.h"
#include "worker/fetcher/fetcher.h"
#include "worker/opener/opener.h"
#include "worker/scheduler/scheduler.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_CONF    "/etc/stoker/stoker.conf"
#define DEFAULT_SECONDS 10
#define DEFAULT_RATE    100
#define MAX_SECONDS     3600

struct worker_options {
	const char *config;
	const char *pids; /* for --once; NULL: serve the queue */
	const char *out;
	struct once once;
};

static const char usage[] =
	"usage: stoker-worker [--config FILE]\n"
	"       stoker-worker --once PID[,PID...] --out FILE [--seconds N]\n"
	"                     [--rate HZ] [--config FILE] [--type TYPE]\n"
	"       stoker-worker --version | --help\n"
	"TYPE is one of";

static void
print_usage(FILE *to)
{
	fputs(usage, to);
	for (size_t i = 0; i < profile_ntypes; i++)
		if (ways_exist(profile_types[i].name))
			fprintf(to, " %s", profile_types[i].name);
	fputc('\n', to);
}

static int
number(const char *text, unsigned long min, unsigned long max,
       unsigned long *out)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || end == text || *end || n < min || n > max)
		return -EINVAL;
	*out = n;
	return 0;
}

static int
parse_pids(const char *text, struct once *once)
{
	CLEANUP_FREE char *copy = strdup(text);
	char *word, *rest = copy;

	if (!copy)
		return -ENOMEM;
	while ((word = strsep(&rest, ","))) {
		unsigned long pid;

		if (once->npids == WORKER_MAX_PIDS ||
		    number(word, 1, INT32_MAX, &pid))
			return -EINVAL;
		once->pids[once->npids++] = (int32_t)pid;
	}
	return 0;
}

static int
parse_type(const char *text, struct once *once)
{
	once->ways = ways_outside("auto", text);
	return once->ways ? 0 : -EINVAL;
}

static int
take_option(struct worker_options *o, int c)
{
	unsigned long n;

	switch (c) {
	case 'c':
		o->config = optarg;
		return 0;
	case 'o':
		o->out = optarg;
		return 0;
	case '1':
		o->pids = optarg;
		return parse_pids(optarg, &o->once);
	case 's':
		if (number(optarg, 1, MAX_SECONDS, &n))
			return -EINVAL;
		o->once.duration_ms = n * 1000;
		return 0;
	case 'r':
		if (number(optarg, RATE_MIN, RATE_MAX, &n))
			return -EINVAL;
		o->once.rate = (uint32_t)n;
		return 0;
	case 't':
		return parse_type(optarg, &o->once);
	default:
		return -EINVAL;
	}
}

/* Returns 0 to go on, 1 if all is done, or -EINVAL. */
static int
parse_options(int argc, char **argv, struct worker_options *o)
{
	static const struct option longs[] = {
		{"config", required_argument, NULL, 'c'},
		{"once", required_argument, NULL, '1'},
		{"out", required_argument, NULL, 'o'},
		{"rate", required_argument, NULL, 'r'},
		{"seconds", required_argument, NULL, 's'},
		{"type", required_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'v'},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'h' || c == 'v') {
			if (c == 'h')
				print_usage(stdout);
			else
				printf("stoker-worker %s\n", stoker_version);
			return 1;
		}
		if (take_option(o, c)) {
			if (c != '?')
				fprintf(stderr, "stoker-worker: bad value %s\n",
				        optarg);
			return -EINVAL;
		}
	}
	return optind < argc || !o->pids != !o->out ? -EINVAL : 0;
}

static int
load_conf(const char *path, struct conf *conf)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	enum log_level level;
	int rc = conf_load(path, conf, &why);

	if (rc) {
		log_err("%s", buf_str(&why));
		return rc;
	}
	if (!log_level_parse(conf->log_level, &level))
		log_setup("stoker-worker", level);
	return 0;
}

static int
run_once(const struct conf *conf, struct worker_options *o)
{
	struct opener_children children = {once_run,     &o->once,    -1,
	                                   analyser_run, fetcher_run, NULL};
	CLEANUP_FD int fd =
		open(o->out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int status;

	if (fd < 0) {
		log_err("%s: %s", o->out, strerror(errno));
		return 1;
	}
	o->once.out_fd = children.keep_fd = fd;
	status = opener_run(conf, &children);
	if (status)
		unlink(o->out);
	return status;
}

static int
run_scheduler(void *arg, const struct conf *conf,
              const struct worker_sockets *sockets)
{
	(void)arg;
	return scheduler_run(conf, sockets);
}

static int
serve(const struct conf *conf)
{
	struct opener_children children = {
		run_scheduler, NULL,        -1,
		analyser_run,  fetcher_run, courier_run};

	return opener_run(conf, &children);
}

int
main(int argc, char **argv)
{
	struct worker_options o = {
		.config = DEFAULT_CONF,
		.once = {.ways = ways_outside("auto", "cpu"),
	                 .rate = DEFAULT_RATE,
	                 .duration_ms = DEFAULT_SECONDS * 1000},
	};
	CLEANUP(conf_done) struct conf conf = {0};
	int rc = parse_options(argc, argv, &o);

	if (rc) {
		if (rc < 0)
			print_usage(stderr);
		return rc < 0 ? 2 : 0;
	}
	log_setup("stoker-worker", LOG_INFO_);
	if (load_conf(o.config, &conf))
		return 1;
	return o.pids ? run_once(&conf, &o) : serve(&conf);
}

/* --- memory, for libraries too -------------------------------------------- */

/*
 * An allocation that fails in a child of the analyser is tried again in its
 * turn (turn.h).
 *   Source   glibc manual, "Replacing malloc"; free() and the others are libc's
 */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *
malloc(size_t n)
{
	void *p = __libc_malloc(n);

	return p || !turn_take() ? p : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	void *p = __libc_calloc(n, size);

	return p || !turn_take() ? p : __libc_calloc(n, size);
}

void *
realloc(void *old, size_t n)
{
	void *p = __libc_realloc(old, n);

	return p || !n || !turn_take() ? p : __libc_realloc(old, n);
}
#endif
