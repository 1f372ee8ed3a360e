/* doctor: checks the store, the socket, and the server over HTTP. */
#include "doctor.h"

#include "base/clock.h"
#include "base/contained.h"
#include "base/file.h"
#include "become.h"
#include "own_server.h"
#include "store/lease.h"
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FREE_MIN_PCT 5
#define NO_API       "none here: this host is one of a fleet"
#define NETWORK_FIX                                             \
	"install -D /usr/share/stoker/worker-network.conf "     \
	"/etc/systemd/system/stoker-worker.service.d/"          \
	"network.conf && systemctl daemon-reload && systemctl " \
	"restart stoker-worker"

/* The store must not be readable by others: it holds tokens and symbol
 * names. */
enum verdict
probe_store(struct doctor *d)
{
	const char *dir = d->conf.store_dir;
	struct stat st;

	if (fstatat(d->root, below_root(dir), &st, 0) || !S_ISDIR(st.st_mode)) {
		found(d, "no directory %s", dir);
		fix(d, "systemd-tmpfiles --create stoker.conf");
		return BROKEN;
	}
	found(d, "%s, mode %04o", dir, st.st_mode & 07777);
	if (!(st.st_mode & 07))
		return FINE;
	found(d, ": open to every user");
	fix(d, "chmod o= %s", dir);
	return BROKEN;
}

static enum verdict
unreachable(struct doctor *d, const char *path, int err)
{
	found(d, "%s: %s", path, strerror(err));
	if (err != EACCES)
		return BROKEN;
	fix(d, "run doctor as root to look");
	return SKIPPED;
}

/* Reports problems with which the API and the worker refuse to start. The
 * database is opened only if d->root is this machine's root. */
static enum verdict
look_into_database(struct doctor *d, const char *path, const struct stat *seen)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct db *db = NULL;
	struct stat here;
	int rc;

	if (stat(path, &here) || here.st_ino != seen->st_ino ||
	    here.st_dev != seen->st_dev)
		return FINE;
	rc = store_look(&d->conf, &db, &why);
	db_close(db);
	if (!rc || rc == -EACCES)
		return FINE;
	if (rc == -EPROTONOSUPPORT) {
		found(d, ": changed by a newer release of Stoker");
		fix(d, "install the newer release again, or restore a backup "
		       "made before the upgrade (stoker restore)");
	} else {
		found(d, ": not readable as a database of Stoker");
		fix(d, "stoker verify reports what is damaged, and how to "
		       "repair it");
	}
	return BROKEN;
}

/* Reports whether a keeper runs. */
static enum verdict
look_for_keeper(struct doctor *d, struct db *db)
{
	struct store s = {.db = db};
	char host[CONF_HOST_MAX];
	int64_t left_ms;

	if (!lease_get(&s, LEASE_KEEPER, host, &left_ms) && left_ms > 0) {
		found(d, ", its keeper runs on %s", host);
		return FINE;
	}
	found(d, ", and no keeper runs: nothing is removed when it is old, and "
	         "nothing added up");
	fix(d, "systemctl enable --now stoker-keeper");
	return WARNING;
}

static enum verdict
look_at_server(struct doctor *d)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct db *db = NULL;
	struct db_schema schema = {0};
	int rc = store_look(&d->conf, &db, &why);

	if (!rc)
		rc = db_schema(db, &schema);
	if (!rc && schema.version >= SQL_VERSION) {
		enum verdict v;

		found(d, "PostgreSQL, schema %lld", (long long)schema.version);
		v = look_for_keeper(d, db);
		db_close(db);
		return v;
	}
	db_close(db);
	if (!rc || rc == -EMEDIUMTYPE) {
		found(d, "PostgreSQL: no schema of this release");
		fix(d, "stoker migrate");
	} else {
		found(d, "PostgreSQL: %s", buf_str(&why));
		fix(d, "psql shows with [store] database of stoker.conf what "
		       "is wrong");
	}
	return BROKEN;
}

/* The work of the child, which runs as the store's owner, as the API does.
 * Returns its exit status. */
static int
look_as_owner(struct doctor *d, int to)
{
	int rc = become_owner(d->conf.store_dir);
	enum verdict v;

	if (rc) {
		found(d, "%s: %s", d->conf.store_dir, strerror(-rc));
		v = BROKEN;
	} else {
		v = look_at_server(d);
	}
	if (fd_write_all(to, buf_str(&d->found), d->found.len + 1) ||
	    fd_write_all(to, buf_str(&d->fix), d->fix.len + 1))
		return BROKEN;
	return (int)v;
}

/* PostgreSQL may refuse root even if it accepts the API. */
static enum verdict
probe_server_database(struct doctor *d)
{
	CLEANUP_BUF struct buf said = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_FD int from = -1, to = -1;
	int ends[2], status, rc;
	const char *end;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return SKIPPED;
	from = ends[0];
	to = ends[1];
	child = fork();
	if (!child)
		_exit(look_as_owner(d, to));
	close_ptr(&to);
	rc = child < 0 ? -errno : fd_read_all(from, &said);
	if (child < 0 || waitpid(child, &status, 0) < 0 || rc ||
	    !WIFEXITED(status))
		return SKIPPED;
	end = memchr(buf_str(&said), 0, said.len);
	if (!end || end + 1 == said.p + said.len)
		return SKIPPED;
	found(d, "%s", said.p);
	fix(d, "%s", end + 1);
	return (enum verdict)WEXITSTATUS(status);
}

enum verdict
probe_database(struct doctor *d)
{
	char path[4096 + 16];
	struct stat st;

	if (db_is_remote(d->conf.store_database))
		return probe_server_database(d);
	snprintf(path, sizeof(path), "%s/stoker.db", d->conf.store_dir);
	if (fstatat(d->root, below_root(path), &st, 0)) {
		enum verdict v = unreachable(d, path, errno);

		if (v == BROKEN)
			fix(d, "stoker token create admin --role admin makes "
			       "it, and the first key");
		return v;
	}
	found(d, "%s, mode %04o", path, st.st_mode & 07777);
	if (st.st_mode & 07) {
		found(d, ": open to every user");
		fix(d, "chmod 0660 %s", path);
		return BROKEN;
	}
	if (st.st_uid)
		return look_into_database(d, path, &st);
	found(d, ": root's, closed to the API");
	fix(d, "chown --reference=%s %s*", d->conf.store_dir, path);
	return geteuid() ? BROKEN : WARNING;
}

enum verdict
probe_disk(struct doctor *d)
{
	CLEANUP_FD int fd = openat(d->root, below_root(d->conf.store_dir),
	                           O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statvfs v;
	double free_mb, pct;

	if (fd < 0 || fstatvfs(fd, &v) || !v.f_blocks)
		return SKIPPED;
	free_mb = (double)v.f_bavail * (double)v.f_frsize / (1 << 20);
	pct = 100.0 * (double)v.f_bavail / (double)v.f_blocks;
	found(d, "%.0f MiB free, %.0f %%", free_mb, pct);
	if (pct >= FREE_MIN_PCT)
		return FINE;
	fix(d, "make room below %s, or lower store.max_bytes",
	    d->conf.store_dir);
	return BROKEN;
}

enum verdict
probe_socket(struct doctor *d)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/api.sock", d->conf.api_run_dir);
	if (fstatat(d->root, below_root(path), &st, 0)) {
		enum verdict v;

		d->no_api = errno == ENOENT && *d->conf.agent_url;
		if (d->no_api) {
			found(d, NO_API);
			return FINE;
		}
		v = unreachable(d, path, errno);
		if (v == BROKEN)
			fix(d, "systemctl enable --now stoker-api");
		return v;
	}
	found(d, "%s, mode %04o", path, st.st_mode & 07777);
	if (!S_ISSOCK(st.st_mode)) {
		found(d, ": not a socket");
		fix(d, "rm %s && systemctl restart stoker-api", path);
		return BROKEN;
	}
	if (!(st.st_mode & 07))
		return FINE;
	/* Users who can connect can forge every header that nginx sets. */
	found(d, ": open to every user");
	fix(d, "chmod 0660 %s", path);
	return BROKEN;
}

/* Sends a GET; reads the reply, or sets d->found to the error. A server that
 * does not answer is asked only once: each request would wait until nginx gives
 * up. */
static int
get(struct doctor *d, const char *path, struct http_reply *r)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	if (d->silent || d->strange) {
		found(d, "%s",
		      d->no_api    ? NO_API
		      : d->strange ? OWN_NO_FOUND
		                   : "the server does not answer");
		return -EHOSTDOWN;
	}
	rc = http_call(&d->cli->http, "GET", path, NULL, r, &why);
	if (rc)
		found(d, "%s", why.len ? buf_str(&why) : strerror(-rc));
	d->silent = rc || r->status == 502 || r->status == 504;
	return rc;
}

/* Appends the message of an error reply. */
static void
say_reply(struct doctor *d, const struct http_reply *r)
{
	const char *message =
		json_string_value(json_object_get(r->json, "message"));

	found(d, "HTTP %ld%s%s", r->status, message ? ": " : "",
	      message ? message : "");
}

int64_t
doctor_clock_ahead(const struct http_reply *r)
{
	return r->date_s ? (time(NULL) - r->date_s) * MS_PER_S : 0;
}

/* True if the server does not belong to this host's store. */
static bool
is_strange(struct doctor *d)
{
	return d->conf_read && own_server(&d->cli->http, &d->conf) == OWN_NO;
}

enum verdict
probe_server(struct doctor *d)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	char offset[CLOCK_OFFSET_LEN];
	int64_t ahead_ms;

	d->silent = d->no_api;
	if (get(d, "/healthz", &r)) {
		if (d->no_api)
			return FINE;
		fix(d, "%s, or --server URL for another address",
		    is_contained() ? "ask in the container of nginx"
		                   : "ln -sf ../sites-available/stoker "
		                     "/etc/nginx/sites-enabled/ && systemctl "
		                     "reload-or-restart nginx");
		return BROKEN;
	}
	if (r.status != 200) {
		say_reply(d, &r);
		fix(d, is_contained() ? "restart the container of the API, "
		                        "whose log shows why it stopped"
		                      : "systemctl restart stoker-api; "
		                        "journalctl -u stoker-api -n 20 shows "
		                        "why it stopped");
		return BROKEN;
	}
	found(d, "%s answers", d->cli->http.server);
	d->strange = is_strange(d);
	if (d->strange) {
		found(d, ", but its store is not %s: " OWN_NO_FOUND,
		      d->conf.store_dir);
		fix(d, OWN_NO_FIX);
		return BROKEN;
	}
	ahead_ms = doctor_clock_ahead(&r);
	if (clock_agrees(ahead_ms))
		return FINE;
	clock_format_offset(-ahead_ms, offset);
	found(d, ", but its clock is %s", offset);
	fix(d, "timedatectl set-ntp true, here and there");
	return BROKEN;
}

enum verdict
probe_ready(struct doctor *d)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	const char *importers;

	if (get(d, "/readyz", &r))
		return SKIPPED;
	if (r.status != 200) {
		say_reply(d, &r);
		fix(d, "see the lines about the store and the worker");
		return BROKEN;
	}
	importers = json_member(r.json, "importers");
	found(d, "store and worker are reachable");
	if (!*importers || !strcmp(importers, "ok"))
		return FINE;
	found(d, "; files of other tools cannot be read: %s", importers);
	fix(d, "see the line about the API's importers, which a key shows");
	return WARNING;
}

/* Appends how to make another key and, if the refused one is in the file,
 * where to put it. */
static void
fix_token(struct doctor *d)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_FREE char *kept = NULL;
	bool is_kept;

	token_home(&file);
	buf_puts(&file, "/" TOKEN_FILE);
	is_kept = !token_find(NULL, buf_str(&file), &kept, &why) &&
	          !strcmp(kept, d->cli->http.token);
	if (is_kept)
		fix(d,
		    "mv %s %s.old && stoker token create NAME --role admin "
		    ">%s",
		    buf_str(&file), buf_str(&file), buf_str(&file));
	else
		fix(d, "stoker token create NAME --role admin");
}

enum verdict
probe_token(struct doctor *d)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;

	if (!d->cli->http.token) {
		const char *why = d->cli->token_why;

		found(d, "%.*s", why ? (int)strcspn(why, "\n") : INT_MAX,
		      why ? why : "none given");
		fix(d, "stoker token create NAME --role admin >token-file, "
		       "then --token-file");
		return SKIPPED;
	}
	if (get(d, "/api/v1/services?limit=1", &r))
		return SKIPPED;
	say_reply(d, &r);
	if (r.status == 200) {
		buf_clear(&d->found);
		found(d, "accepted");
		return FINE;
	}
	fix_token(d);
	return BROKEN;
}

enum verdict
probe_workers(struct doctor *d)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	const json_t *w;
	size_t i, alive = 0;

	if (!d->cli->http.token || get(d, "/api/v1/workers", &r))
		return SKIPPED;
	if (r.status != 200) {
		say_reply(d, &r);
		return SKIPPED;
	}
	json_array_foreach(json_object_get(r.json, "items"), i, w) {
		if (!json_is_true(json_object_get(w, "alive")))
			continue;
		found(d, "%s", alive++ ? ", " : "");
		value_show(&d->found, json_object_get(w, "host"));
	}
	if (alive)
		return FINE;
	found(d, "no worker has reported lately");
	fix(d, "%s, on the host whose services are profiled",
	    is_contained() ? "restart the container of the worker"
	                   : "systemctl restart stoker-worker");
	return BROKEN;
}

/* Limits below which a host of the fleet is healthy. */
#define WAITS_S   600
#define LISTS_MAX 20

static void
say_span(struct doctor *d, double s)
{
	if (s >= 7200)
		found(d, "%.0f h", s / 3600);
	else if (s >= 120)
		found(d, "%.0f min", s / 60);
	else
		found(d, "%.0f s", s);
}

static double
age_of(const json_t *w, const char *key, int64_t now_s)
{
	int64_t ms;

	return clock_parse(json_member(w, key), &ms)
	               ? 0
	               : (double)now_s - (double)ms / MS_PER_S;
}

static double
number_of(const json_t *w, const char *key)
{
	return json_number_value(json_object_get(w, key));
}

/* Judges a host of the fleet. Returns false if it is healthy. */
static bool
judge_host(struct doctor *d, const json_t *w, int64_t now_s)
{
	double waits = age_of(w, "waitingSince", now_s);

	buf_clear(&d->found);
	buf_clear(&d->fix);
	value_show(&d->found, json_object_get(w, "host"));
	found(d, ": ");
	if (!json_is_true(json_object_get(w, "alive"))) {
		found(d, "silent for ");
		say_span(d, age_of(w, "heartbeatAt", now_s));
		fix(d, "there: systemctl restart stoker-worker; stoker doctor "
		       "shows why it cannot reach this server");
		return true;
	}
	if (waits > WAITS_S) {
		found(d, "%.0f windows wait there, the oldest for ",
		      number_of(w, "waitingWindows"));
		say_span(d, waits);
		fix(d, "there: journalctl -u stoker-worker -n 20 shows "
		       "the reason, if it does not catch up by itself");
		return true;
	}
	return false;
}

void
doctor_ask_hosts(struct doctor *d, json_t *out)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	size_t i, joined = 0, poor = 0;
	const json_t *w;

	buf_clear(&d->found);
	if (!d->cli->http.token || get(d, "/api/v1/workers", &r) ||
	    r.status != 200)
		return; /* other rows report why */
	json_array_foreach(json_object_get(r.json, "items"), i, w) {
		if (!json_is_true(json_object_get(w, "joined")))
			continue;
		joined++;
		if (judge_host(d, w, r.date_s ? r.date_s : time(NULL)) &&
		    poor++ < LISTS_MAX)
			doctor_add(out, "host", verdict_word(WARNING),
			           buf_str(&d->found), buf_str(&d->fix));
	}
	if (!joined)
		return;
	buf_clear(&d->found);
	found(d, "%zu joined, %zu in need of care", joined, poor);
	doctor_add(out, "hosts", verdict_word(poor ? WARNING : FINE),
	           buf_str(&d->found), poor ? "stoker hosts" : "");
}

/* Adds a finding as a row of doctor's, with the host if there are several. */
static void
add_finding(json_t *out, const json_t *row, bool several)
{
	CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf said = BUF_INIT(BUF_MAX_SMALL);
	const char *host = json_member(row, "host");

	buf_addf(&name, "%s %s", json_member(row, "part"),
	         json_member(row, "check"));
	if (several && *host)
		buf_addf(&said, "%s: ", host);
	buf_puts(&said, json_member(row, "found"));
	doctor_add(out, buf_str(&name), json_member(row, "verdict"),
	           buf_str(&said), json_member(row, "fix"));
}

static bool
has_several_hosts(const json_t *items)
{
	const char *first = "";
	const json_t *row;
	size_t i;

	json_array_foreach(items, i, row) {
		const char *host = json_member(row, "host");

		if (*first && *host && strcmp(first, host) != 0)
			return true;
		if (*host)
			first = host;
	}
	return false;
}

void
doctor_ask_server(struct doctor *d, json_t *out)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	const json_t *items, *row;
	size_t i;

	if (!d->cli->http.token) {
		doctor_add(out, "worker and API", verdict_word(SKIPPED),
		           "their findings are shown to callers with a token "
		           "only",
		           "stoker setup");
		return;
	}
	buf_clear(&d->found);
	if (get(d, "/api/v1/checks", &r) || r.status != 200)
		return; /* the rows about the server and the token report why */
	items = json_object_get(r.json, "items");
	json_array_foreach(items, i, row)
		add_finding(out, row, has_several_hosts(items));
}

/* True if this installation fetches anything, as far as is visible here. */
static bool
needs_fetcher(struct doctor *d)
{
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	const json_t *s;
	size_t i;

	if (*d->conf.symbols_debuginfod || *d->conf.webhook_allow ||
	    *d->conf.collector_allow)
		return true;
	if (!d->cli->http.token || get(d, "/api/v1/services?limit=500", &r))
		return false;
	json_array_foreach(json_object_get(r.json, "items"), i, s) {
		const char *url =
			json_string_value(json_object_get(s, "pprofUrl"));

		if (url && *url)
			return true;
	}
	return false;
}

/* Finds the network namespace of a process; "" if it cannot be read. */
static void
network_of(const struct doctor *d, const char *pid, char out[static 64])
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "proc/%s/ns/net", pid);
	n = readlinkat(d->root, path, out, 63);
	out[n > 0 ? n : 0] = '\0';
}

static bool
has_no_network(const struct doctor *d)
{
	char pid[16], ours[64], its[64];

	snprintf(pid, sizeof(pid), "%d", (int)d->worker);
	network_of(d, "self", ours);
	network_of(d, pid, its);
	return *ours && *its && strcmp(ours, its) != 0;
}

enum verdict
probe_fetcher(struct doctor *d)
{
	if (d->worker && *d->conf.agent_url && has_no_network(d)) {
		found(d, "the worker has no network, and does not reach its "
		         "centre");
		fix(d, NETWORK_FIX);
		return BROKEN;
	}
	if (!d->worker || !needs_fetcher(d)) {
		buf_clear(&d->found);
		found(d, "%s",
		      d->worker ? "nothing is fetched" : "no worker runs");
		return d->worker ? FINE : SKIPPED;
	}
	if (has_no_network(d)) {
		found(d, "the worker has no network: no pprofUrl, webhook, "
		         "collector or debuginfod server is reached");
		fix(d, NETWORK_FIX);
		return BROKEN;
	}
	if (d->fetcher)
		found(d, "pid %d", (int)d->fetcher);
	else
		found(d, "starts when the next profile is fetched or sent, "
		         "or webhook sent");
	return FINE;
}
