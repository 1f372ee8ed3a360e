/* stoker doctor on machines that are made of a few files. */
#include "base/file.h"
#include "cli/doctor.h"
#include "lib/test.h"
#include "store/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct machine {
	char dir[64];
	struct cli cli;
	struct doctor d;
};

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st, (void)type, (void)f;
	return remove(path);
}

static void
machine_done(struct machine *m)
{
	nftw(m->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	http_done(&m->cli.http);
	conf_done(&m->d.conf);
	buf_done(&m->d.found);
	buf_done(&m->d.fix);
	close(m->d.root);
}

static void
machine_init(struct machine *m)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	*m = (struct machine){
		.dir = "/tmp/stoker-doctor-XXXXXX",
		/* nobody listens on port 0 */
		.cli.http.server = "http://127.0.0.1:0",
	};
	ck_assert_ptr_nonnull(mkdtemp(m->dir));
	m->d = (struct doctor){
		.cli = &m->cli,
		.root = open(m->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.conf_file = "/etc/stoker/stoker.conf",
		.conf_read = true,
		.at = HOST | PART | ANYWHERE,
		.found = BUF_INIT(BUF_MAX_SMALL),
		.fix = BUF_INIT(BUF_MAX_SMALL),
	};
	ck_assert_int_ge(m->d.root, 0);
	ck_assert_int_eq(conf_load(NULL, &m->d.conf, &why), 0);
}
#define MACHINE(m)                              \
	CLEANUP(machine_done) struct machine m; \
	machine_init(&m)

static void
make_dirs(const struct machine *m, const char *path, mode_t mode)
{
	char copy[256];

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *p = copy; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdirat(m->d.root, copy, 0755);
		*p = '/';
	}
	mkdirat(m->d.root, copy, 0755);
	ck_assert_int_eq(fchmodat(m->d.root, copy, mode, 0), 0);
}

static void
make_file(const struct machine *m, const char *dir, const char *name,
          mode_t mode, const char *text)
{
	CLEANUP_FD int fd = -1;

	make_dirs(m, dir, 0755);
	fd = openat(m->d.root, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(file_replace(fd, name, mode, text, strlen(text)), 0);
	ck_assert_int_eq(fchmodat(fd, name, mode, 0), 0);
}

static void
make_process(const struct machine *m, const char *pid, const char *comm)
{
	char dir[64];

	snprintf(dir, sizeof(dir), "proc/%s", pid);
	make_file(m, dir, "comm", 0644, comm);
}

#define expect(m, probe, verdict, word)                                       \
	do {                                                                  \
		buf_clear(&(m)->d.found);                                     \
		buf_clear(&(m)->d.fix);                                       \
		ck_assert_int_eq(probe_##probe(&(m)->d), verdict);            \
		ck_assert_msg(strstr(buf_str(&(m)->d.fix), word) ||           \
		                      strstr(buf_str(&(m)->d.found), word),   \
		              "found '%s', fix '%s'", buf_str(&(m)->d.found), \
		              buf_str(&(m)->d.fix));                          \
	} while (0)

TEST(any_process_of_the_worker_is_found_by_its_name)
{
	MACHINE(m);

	make_process(&m, "11", "stoker-worker\n");
	make_process(&m, "14", "bash\n");
	make_process(&m, "self", "stoker-worker\n");
	doctor_find_worker(&m.d);
	ck_assert_int_eq(m.d.worker, 11);
	expect(&m, process, FINE, "11");
}
END

TEST(a_worker_that_has_not_the_lock_of_this_store_is_another_installations)
{
	MACHINE(m);
	char lock[PATH_MAX];

	ck_assert_int_eq(worker_lock_path(&m.d.conf, lock), 0);
	make_process(&m, "11", "stoker-worker\n");
	make_file(&m, "proc/11/fd", "3", 0600, "");
	make_file(&m, m.d.conf.store_dir + 1, strrchr(lock, '/') + 1, 0640, "");
	doctor_find_worker(&m.d);
	expect(&m, process, BROKEN, "pid 11, is another installation's");

	ck_assert_int_eq(
		linkat(m.d.root, below_root(lock), m.d.root, "proc/11/fd/4", 0),
		0);
	doctor_find_worker(&m.d);
	expect(&m, process, FINE, "pid 11");
}
END

TEST(no_worker_is_broken)
{
	MACHINE(m);

	doctor_find_worker(&m.d);
	expect(&m, process, BROKEN, "systemctl enable --now stoker-worker");
}
END

TEST(a_server_elsewhere_is_not_judged_by_this_host)
{
	static const struct {
		const char *url;
		bool remote;
	} rows[] = {
		{"http://127.0.0.1:8088", false},
		{"http://localhost", false},
		{"https://[::1]:8443/", false},
		{"https://stoker.example.org", true},
		{"http://10.1.2.3:8088", true},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_msg(http_is_remote(rows[i].url) == rows[i].remote,
		              "%s", rows[i].url);
}
END

TEST(of_a_server_elsewhere_only_what_it_tells_is_shown)
{
	MACHINE(m);
	CLEANUP_JSON json_t *list = json_array();
	const json_t *row;
	size_t i;

	m.d.at = ANYWHERE;
	doctor_run(&m.d, list);
	json_array_foreach(list, i, row) {
		const char *name =
			json_string_value(json_object_get(row, "check"));

		ck_assert_str_ne(name, "worker process");
		ck_assert_str_ne(name, "store");
	}
	ck_assert_uint_gt(json_array_size(list), 3);
}
END

TEST(units_that_may_need_more_memory_than_they_have_are_a_warning)
{
	MACHINE(m);
	static const char *const units[] = {
		"sys/fs/cgroup/system.slice/stoker-api.service",
		"sys/fs/cgroup/memory/system.slice/stoker-api.service",
	};
	static const char worker[] =
		"sys/fs/cgroup/system.slice/stoker-worker.service";

	expect(&m, memory, FINE,
	       "at most 2176 MiB for the API, 5120 MiB for the worker: 7296 "
	       "MiB together");
	make_file(&m, units[1], "memory.limit_in_bytes", 0644, "2281701375\n");
	expect(&m, memory, WARNING, "stoker-api MemoryMax=2176M");
	make_file(&m, units[0], "memory.max", 0644, "2281701376\n");
	expect(&m, memory, FINE, "at most 2176 MiB");
	make_file(&m, units[0], "memory.max", 0644, "max\n");
	expect(&m, memory, FINE, "at most 2176 MiB");
	m.d.conf.api_request_memory = INT64_MAX;
	make_file(&m, units[0], "memory.max", 0644, "1342177280\n");
	expect(&m, memory, WARNING, "lower heavy");
	m.d.conf.api_request_memory = 1 << 20;
	make_file(&m, worker, "memory.max", 0644, "1342177280\n");
	expect(&m, memory, WARNING, "stoker-worker.service may take 1280 MiB");
	expect(&m, memory, WARNING, "stoker-worker MemoryMax=5120M");
	m.d.conf.worker_memory = 64 << 20;
	m.d.conf.worker_max_captures = 1;
	expect(&m, memory, WARNING, "stoker-worker MemoryMax=2752M");
}
END

TEST(certificates_that_cannot_be_read_are_a_warning)
{
	MACHINE(m);

	expect(&m, fetch, WARNING, "ca_file in [fetch]");
	make_file(&m, "etc/ssl/certs", "ca-certificates.crt", 0644, "-");
	expect(&m, fetch, FINE, "");
}
END

TEST(a_cache_directory_of_debug_files_that_is_missing_is_a_warning)
{
	MACHINE(m);
	static char servers[] = "https://debuginfod.example.org",
		    dir[] = "/srv/debug";
	char *none = m.d.conf.symbols_debuginfod;
	char *below_store = m.d.conf.symbols_cache_dir;

	m.d.conf.symbols_cache_dir = dir;
	expect(&m, debuginfod, FINE, "");
	m.d.conf.symbols_debuginfod = servers;
	expect(&m, debuginfod, WARNING,
	       "install -d -o stoker-worker -m 0750 "
	       "/srv/debug");
	make_file(&m, "srv/debug", "x", 0644, "-");
	expect(&m, debuginfod, FINE, "");
	m.d.conf.symbols_cache_dir = below_store;
	expect(&m, debuginfod, FINE, "");
	m.d.conf.symbols_debuginfod = none;
}
END

static void
make_network(const struct machine *m, const char *pid, const char *which)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%s/ns", pid);
	make_dirs(m, path, 0755);
	strcat(path, "/net");
	unlinkat(m->d.root, path, 0);
	ck_assert_int_eq(symlinkat(which, m->d.root, path), 0);
}

TEST(a_worker_without_network_fetches_nothing)
{
	MACHINE(m);
	static char servers[] = "https://debuginfod.example.org";
	static char hosts[] = "chat.example.org";
	char *none = m.d.conf.symbols_debuginfod;
	char *nowhere = m.d.conf.webhook_allow;

	expect(&m, fetcher, SKIPPED, "");
	make_process(&m, "12", "stoker-worker\n");
	doctor_find_worker(&m.d);
	make_network(&m, "self", "net:[1]");
	make_network(&m, "12", "net:[2]");
	expect(&m, fetcher, FINE, "nothing is fetched");
	m.d.conf.webhook_allow = hosts;
	expect(&m, fetcher, BROKEN, "worker-network.conf");
	m.d.conf.webhook_allow = nowhere;
	m.d.conf.symbols_debuginfod = servers;
	expect(&m, fetcher, BROKEN, "worker-network.conf");
	make_network(&m, "12", "net:[1]");
	expect(&m, fetcher, FINE, "next profile");
	make_process(&m, "13", "stoker-fetcher\n");
	doctor_find_worker(&m.d);
	expect(&m, fetcher, FINE, "pid 13");
	ck_assert_int_eq(m.d.worker, 12);
	m.d.conf.symbols_debuginfod = none;
}
END

TEST(a_missing_program_names_its_package)
{
	MACHINE(m);

	make_file(&m, "usr/sbin", "nginx", 0755, "");
	make_file(&m, "usr/bin", "spawn-fcgi", 0755, "");
	expect(&m, programs, BROKEN, "install multiwatch");
	ck_assert_ptr_null(strstr(buf_str(&m.d.fix), "apt-get"));
	make_file(&m, "usr/bin", "apt-get", 0755, "");
	expect(&m, programs, BROKEN, "apt-get install multiwatch");
	make_file(&m, "usr/bin", "multiwatch", 0755, "");
	expect(&m, programs, FINE, "");
}
END

TEST(the_store_is_closed_to_others)
{
	MACHINE(m);

	expect(&m, store, BROKEN, "systemd-tmpfiles --create stoker.conf");
	expect(&m, disk, SKIPPED, "");
	make_dirs(&m, "var/lib/stoker", 02770);
	expect(&m, store, FINE, "2770");
	expect(&m, disk, FINE, "free");
	make_dirs(&m, "var/lib/stoker", 0755);
	expect(&m, store, BROKEN, "chmod o= /var/lib/stoker");
}
END

TEST(so_is_the_database)
{
	MACHINE(m);

	expect(&m, database, BROKEN, "stoker token create");
	make_file(&m, "var/lib/stoker", "stoker.db", 0664, "");
	expect(&m, database, BROKEN, "chmod 0660 /var/lib/stoker/stoker.db");
	ck_assert(!m.d.conf_why[0]);
}
END

static void
make_socket(const struct machine *m, mode_t mode)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	CLEANUP_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	make_dirs(m, "run/stoker", 0755);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/run/stoker/api.sock",
	         m->dir);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(chmod(a.sun_path, mode), 0);
}

TEST(the_socket_is_one_and_closed_to_others)
{
	MACHINE(m);

	expect(&m, socket, BROKEN, "systemctl enable --now stoker-api");
	make_socket(&m, 0666);
	expect(&m, socket, BROKEN, "chmod 0660 /run/stoker/api.sock");
}
END

TEST(a_socket_for_nginx_alone_is_fine)
{
	MACHINE(m);

	make_socket(&m, 0660);
	expect(&m, socket, FINE, "0660");
}
END

TEST(a_file_in_its_place_is_no_socket)
{
	MACHINE(m);

	make_file(&m, "run/stoker", "api.sock", 0660, "");
	expect(&m, socket, BROKEN, "not a socket");
}
END

TEST(a_mistake_in_the_configuration_is_shown)
{
	MACHINE(m);

	m.d.conf_read = false;
	strcpy(m.d.conf_why, "stoker.conf:3: unknown key");
	expect(&m, config, BROKEN, "stoker.conf:3: unknown key");
}
END

TEST(no_server_is_broken_and_what_hangs_on_it_skipped)
{
	MACHINE(m);

	expect(&m, server, BROKEN, "sites-enabled");
	expect(&m, ready, SKIPPED, "");
	expect(&m, token, SKIPPED, "stoker token create");
	expect(&m, workers, SKIPPED, "");
}
END

TEST(every_broken_check_names_a_repair)
{
	MACHINE(m);
	CLEANUP_JSON json_t *list = json_array();
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	const struct screen screen = {.width = 0};
	const json_t *row;
	size_t i;

	doctor_run(&m.d, list);
	ck_assert_uint_ge(json_array_size(list), doctor_nprobes);
	json_array_foreach(list, i, row) {
		const char *name, *verdict, *found, *repair;

		ck_assert_int_eq(json_unpack((json_t *)row, "{ss ss ss ss}",
		                             "check", &name, "verdict",
		                             &verdict, "found", &found, "fix",
		                             &repair),
		                 0);
		if (!strcmp(verdict, "broken"))
			ck_assert_msg(*repair, "%s: %s", name, found);
		if (!strcmp(verdict, "ok"))
			ck_assert_msg(!*repair, "%s: %s", name, repair);
	}
	ck_assert(!doctor_show(list, &screen, &out));
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "fix: "));
}
END

TEST(the_last_line_names_what_is_broken_and_what_is_warned_of)
{
	CLEANUP_JSON json_t *list = json_array();
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	const struct screen screen = {.width = 80};

	doctor_add(list, "store", "ok", "there", "");
	ck_assert(doctor_show(list, &screen, &out));
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "\nnothing is broken\n"));
	doctor_add(list, "clock", "warning", "late", "wind it");
	doctor_add(list, "token", "broken", "torn", "mend it");
	doctor_add(list, "disk space", "warning", "small", "make room");
	buf_clear(&out);
	ck_assert(!doctor_show(list, &screen, &out));
	ck_assert_ptr_nonnull(strstr(
		buf_str(&out),
		"\nbroken: token; warnings: clock, disk space\n"));
}
END

SUITE("cli_doctor");
