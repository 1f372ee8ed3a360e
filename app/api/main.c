/*
 * stoker-api: answers FastCGI requests on descriptor 0, a listening socket
 * (from spawn-fcgi, multiwatch, or systemd's StandardInput=socket).
 */
#include "base/clock.h"
#include "base/conf.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/version.h"
#include "importer/importer.h"
#include "keeper/keeper.h"
#include "loop.h"
#include "store/quota.h"
#include "store/s3.h"

#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONF_PATH   "/etc/stoker/stoker.conf"
#define LARGE_BYTES (256 << 10)

static const char usage[] =
	"usage: stoker-api [--config FILE] [--version] [--keeper | --upkeep]\n"
	"Answers FastCGI requests on descriptor 0, a listening socket:\n"
	"  spawn-fcgi -n -s /run/stoker/api.sock -- stoker-api\n"
	"With --keeper, does the work that one process does for all API hosts\n"
	"of a database; with --upkeep, does the part of it that is due, and\n"
	"exits.\n";

enum task { SERVE, KEEP, KEEP_ONCE };

/* Returns 0 to go on, 1 to exit with success, -1 to exit with failure. */
static int
parse_args(int argc, char **argv, const char **path, enum task *task)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"keeper", no_argument, NULL, 'k'},
		{"upkeep", no_argument, NULL, 'u'},
		{"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int o;

	while ((o = getopt_long(argc, argv, "c:hv", options, NULL)) != -1) {
		switch (o) {
		case 'c':
			*path = optarg;
			break;
		case 'k':
			*task = KEEP;
			break;
		case 'u':
			*task = KEEP_ONCE;
			break;
		case 'v':
			printf("stoker-api %s\n", stoker_version);
			return 1;
		case 'h':
			fputs(usage, stdout);
			return 1;
		default:
			fputs(usage, stderr);
			return -1;
		}
	}
	if (optind == argc)
		return 0;
	fputs(usage, stderr);
	return -1;
}

static bool
is_listening(int fd)
{
	int on = 0;
	socklen_t n = sizeof(on);

	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &n) && on;
}

/*
 * Shortens libfcgi's timeouts. By default, a peer that connects and sends
 * nothing, or does not close, occupies a process for two seconds. Source:
 * os_unix.c of libfcgi 2.4.2.
 */
static void
shorten_timeouts(void)
{
	setenv("LIBFCGI_IS_AF_UNIX_KEEPER_POLL_TIMEOUT", "100", 0);
	setenv("LIBFCGI_OS_CLOSE_POLL_TIMEOUT", "100", 0);
}

static int
failed(const char *what, int rc, const struct buf *why)
{
	if (why->len)
		log_err("%s", buf_str(why));
	else
		log_err("%s: %s", what, strerror(-rc));
	return EXIT_FAILURE;
}

static int
keep(const struct conf *conf, bool once, struct buf *why)
{
	struct store s = {.profiles_fd = -1};
	int rc = store_open(conf, false, &s, why);

	if (rc)
		return failed("store", rc, why);
	quota_enforce(&s, conf);
	rc = bytes_configure(&s, conf, why);
	if (!rc)
		rc = memory_bound(MEMORY_KEEPER);
	if (!rc)
		rc = once ? keeper_once(conf, &s) : keeper_run(conf, &s);
	if (rc == -EPROTONOSUPPORT)
		buf_puts(why, store_why(&s));
	s3_free(s.s3);
	store_close(&s);
	return rc ? failed("keeper", rc, why) : EXIT_SUCCESS;
}

static int
serve(const struct conf *conf, struct importer *importer, struct buf *why)
{
	struct env env = {
		.conf = conf, .pushes = PUSHES_INIT, .importer = importer};
	CLEANUP_FD int signals_fd = -1;
	struct jwt_keys *keys = NULL;
	int rc = loop_signals(&signals_fd);

	if (rc)
		return failed("signals", rc, why);
	rc = counters_open(conf->api_run_dir, (int)conf->api_pool,
	                   (int)conf->api_heavy, &env.counters);
	if (rc)
		return failed(conf->api_run_dir, rc, why);
	rc = store_open(conf, false, &env.store, why)
	             ?: link_key_make(&env.store);
	if (rc)
		return failed("store", rc, why);
	quota_enforce(&env.store, conf);
	rc = bytes_configure(&env.store, conf, why);
	if (rc)
		return failed("object store", rc, why);
	if (*conf->api_jwks)
		rc = jwt_keys_open(conf->api_jwks, &keys, why);
	if (rc)
		return failed(conf->api_jwks, rc, why);
	/* map allocations from LARGE_BYTES on, so that growing columns leave no
	 * holes in the heap, which would count against request_memory */
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	rc = memory_bound(conf->api_request_memory);
	if (rc)
		log_warn("[api] request_memory is not enforced: %s",
		         strerror(-rc));
	rc = conf->api_kept_bytes ? kept_open(conf->api_run_dir,
	                                      conf->api_kept_bytes, &env.kept)
	                          : 0;
	if (rc)
		log_warn("%s: results are not kept: %s", conf->api_run_dir,
		         strerror(-rc));
	rc = loop_run(&env, keys, signals_fd);
	if (rc == -EPROTONOSUPPORT)
		buf_puts(why, store_why(&env.store));
	jwt_keys_close(keys);
	pushes_done(&env.pushes);
	s3_free(env.store.s3);
	store_close(&env.store);
	kept_close(env.kept);
	counters_close(env.counters);
	return rc ? failed("accept", rc, why) : EXIT_SUCCESS;
}

/* Ends this process when its supervisor is killed. Otherwise the pool would go
 * on serving a socket that the next supervisor has replaced. */
static void
end_with_supervisor(void)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
}

int
main(int argc, char **argv)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	enum log_level level = LOG_INFO_;
	const char *path = CONF_PATH;
	struct importer *importer = NULL;
	struct conf conf;
	enum task task = SERVE;
	int rc = parse_args(argc, argv, &path, &task);

	if (rc)
		return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	log_setup(task == SERVE ? "stoker-api" : "stoker-keeper", level);
	if (task == SERVE) {
		/* before there is anything that importers must not see */
		rc = importer_start(&importer);
		if (rc)
			return failed("importers", rc, &why);
	}
	rc = conf_load(path, &conf, &why);
	if (rc)
		return failed(path, rc, &why);
	if (!log_level_parse(conf.log_level, &level))
		log_setup(task == SERVE ? "stoker-api" : "stoker-keeper",
		          level);
	if (task != SERVE) {
		rc = keep(&conf, task == KEEP_ONCE, &why);
		conf_done(&conf);
		return rc;
	}
	if (!is_listening(STDIN_FILENO)) {
		log_err("descriptor 0 is not a listening socket");
		fputs(usage, stderr);
		return EXIT_FAILURE;
	}
	shorten_timeouts();
	end_with_supervisor();
	rc = serve(&conf, importer, &why);
	importer_stop(importer);
	conf_done(&conf);
	return rc;
}
