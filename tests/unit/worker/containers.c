/*
 * Containers by the files of their runtimes. tests/data/fuzz/container has one
 * file of each form, after a digit: storage is what podman 4.3.1 of Debian 12
 * wrote; the others have the members and the order of moby 26.1
 * (container/container.go), containerd 1.7 (pkg/cri/annotations), cri-o 1.29
 * (server/container_create.go) and Kubernetes 1.29 (legacyLogSymlink()).
 */
#include "worker/containers/containers.h"

#include "base/file.h"
#include "lib/store.h"
#include "worker/containers/container_json.h"
#include "worker/opener/opener.h"
#include "worker/opener/opener_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ID   "4f66ad9b1c0e4f2f8a1d3c5b7e9f00112233445566778899aabbccddeeff0011"
#define POD  "pod2f1c7e36_7a54_4b6e_8a4e_1d8a3a7d5b10"
#define USER "/user.slice/user-1000.slice/user@1000.service"
#define DATA "tests/data/fuzz/container/"

/* --- names of control groups ---------------------------------------------- */

static const struct {
	const char *text, *id, *space, *hierarchy, *folder; /* id "": none */
} groups[] = {
	{"0::/system.slice/docker-" ID ".scope\n", ID, "k8s.io", "",
         "/system.slice/"},
	{"0::/docker/" ID "\n", ID, "", "", "/docker/"},
	{"5:cpu,cpuacct:/docker/" ID "\n0::/\n", ID, "", "cpu,cpuacct",
         "/docker/"},
	{"1:name=systemd:/docker/" ID "/nested\n", ID, "", "systemd",
         "/docker/"},
	{"0::/machine.slice/libpod-" ID ".scope/container\n", ID, "k8s.io", "",
         "/machine.slice/"},
	{"0::/libpod_parent/libpod-" ID "\n", ID, "k8s.io", "",
         "/libpod_parent/"},
	{"0::/system.slice/web.service/libpod-payload-" ID "\n", ID, "k8s.io",
         "", "/system.slice/web.service/"},
	{"0::" USER "/user.slice/libpod-" ID ".scope/container\n", ID, "k8s.io",
         "", USER "/user.slice/"},
	{"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" POD
         ".slice/cri-containerd-" ID ".scope\n",
         ID, "k8s.io", "",
         "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" POD
         ".slice/"},
	{"0::/kubepods.slice/kubepods-" POD ".slice/crio-" ID ".scope\n", ID,
         "k8s.io", "", "/kubepods.slice/kubepods-" POD ".slice/"},
	{"3:memory:/kubepods/besteffort/pod2f1c7e36-7a54/" ID "\n", ID,
         "k8s.io", "memory", "/kubepods/besteffort/pod2f1c7e36-7a54/"},
	{"0::/system.slice/containerd.service/kubepods-burstable-" POD
         ".slice:cri-containerd:" ID "\n",
         ID, "k8s.io", "", "/system.slice/containerd.service/"},
	{"0::/default/" ID "\n", ID, "default", "", "/default/"},
	{"0::/system.slice/nerdctl-" ID ".scope\n", ID, "default", "",
         "/system.slice/"},
	/* as a worker in a pod sees groups of other pods, below the same group
	 * and below another one */
	{"0::/../../kubepods-besteffort-pod2f1c.slice/cri-containerd-" ID
         ".scope\n",
         ID, "k8s.io", "", "/../../kubepods-besteffort-pod2f1c.slice/"},
	{"0::/../../../burstable/pod2f1c7e36-7a54/" ID "\n", ID, "k8s.io", "",
         "/../../../burstable/pod2f1c7e36-7a54/"},
	{"0::/lxc.payload.web/init.scope\n", "web", "", "", "/"},
	{"0::/machine.slice/systemd-nspawn@web.service/payload\n", "web", "",
         "", "/machine.slice/"},
	{"0::/machine.slice/machine-web\\x2d1.scope\n", "web-1", "", "",
         "/machine.slice/"},
	/* the outermost container counts */
	{"0::/docker/" ID "/lxc.payload.web\n", ID, "", "", "/docker/"},
	{"0::/system.slice/nginx.service\n", "", "", "", ""},
	{"0::/machine.slice/libpod-conmon-" ID ".scope\n", "", "", "", ""},
	{"0::/a/b/" ID "\n", "", "", "", ""},
	{"0::/docker/" ID "0\n", "", "", "", ""},
	{"0::/\n", "", "", "", ""},
	{"", "", "", "", ""},
};

TEST(a_container_is_known_by_the_name_of_its_control_group)
{
	for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
		struct container_group g;
		bool is = container_group_find(groups[i].text, &g);

		ck_assert_msg(is == !!*groups[i].id, "%s", groups[i].text);
		if (!is)
			continue;
		ck_assert_str_eq(g.id, groups[i].id);
		ck_assert_str_eq(g.space, groups[i].space);
		ck_assert_str_eq(g.hierarchy, groups[i].hierarchy);
		ck_assert_str_eq(g.folder, groups[i].folder);
	}
}
END

/* --- files ---------------------------------------------------------------- */

static const struct {
	const char *file;
	const char *facts[CONTAINER_FACTS]; /* as in container.def */
} files[] = {
	{"docker", {"shop-web-1", "nginx:1.25", "", "", "shop", "web"}},
	{"storage", {"web", "localhost/tiny:1", "", "", "", ""}},
	{"containerd",
         {"web", "docker.io/library/nginx:1.25.4", "shop",
          "web-7d9f8c6b5d-x2x9z", "", ""}},
	/* annotations that the pod's owner chose do not count */
	{"crio", {"web", "quay.io/crio/redis:alpine", "shop", "web-0", "", ""}},
	{"log", {"web", "", "shop", "web-0", "", ""}},
};

static void
read_recorded(const char *name, struct buf *out)
{
	char path[128];

	snprintf(path, sizeof(path), DATA "%s", name);
	ck_assert_int_eq(file_read(AT_FDCWD, path, out), 0);
}

TEST(the_files_of_each_runtime_have_the_facts)
{
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
		struct container_facts f;

		read_recorded(files[i].file, &text);
		ck_assert_int_eq(container_read((unsigned)text.p[0] - '0', ID,
		                                text.p + 1, text.len - 1, &f),
		                 0);
		for (int k = 0; k < CONTAINER_FACTS; k++)
			ck_assert_str_eq(container_fact(&f, k),
			                 files[i].facts[k] ?: "");
		container_facts_done(&f);
	}
}
END

static const struct {
	enum container_form form;
	const char *text;
} without[] = {
	{CONTAINER_FORM_DOCKER, ""},
	{CONTAINER_FORM_DOCKER, "[]"},
	{CONTAINER_FORM_DOCKER, "{\"Name\":\"/web\""},
	{CONTAINER_FORM_DOCKER, "{\"Name\":\"web\"}"},
	{CONTAINER_FORM_DOCKER, "{\"Name\":\"/a\\nb\"}"},
	{CONTAINER_FORM_DOCKER, "{\"Name\":\"/a\\u001b[2J\"}"},
	{CONTAINER_FORM_DOCKER, "{\"Name\":\"/a\\u009b2J\"}"},
	{CONTAINER_FORM_DOCKER, "{\"Name\":\"/a\\u0000b\"}"},
	{CONTAINER_FORM_DOCKER, "{\"Name\":[\"/web\"]}"},
	{CONTAINER_FORM_STORAGE, "[{\"id\":\"x\",\"names\":[\"web\"]}]"},
	{CONTAINER_FORM_STORAGE, "[{\"id\":\"" ID "\",\"names\":[]}]"},
	{CONTAINER_FORM_CONTAINERD, "{\"annotations\":{}}"},
	{CONTAINER_FORM_CONTAINERD,
         "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"web\","
         "\"io.kubernetes.cri.container-type\":\"sandbox\"}}"},
	{CONTAINER_FORM_CRIO,
         "{\"annotations\":{\"io.kubernetes.container.name\":\"web\"}}"},
	{CONTAINER_FORM_CRIO,
         "{\"annotations\":{\"io.kubernetes.cri-o.Labels\":\"{\"}}"},
	{CONTAINER_FORM_LOG, "web-0_shop"},
	{CONTAINER_FORM_LOG, "_shop_web-" ID ".log"},
};

TEST(a_file_without_a_name_that_could_be_one_is_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(without); i++) {
		struct container_facts f;

		ck_assert_msg(
			container_read(without[i].form, ID, without[i].text,
		                       strlen(without[i].text), &f) == -ENODATA,
			"%s", without[i].text);
	}
}
END

TEST(labels_past_a_limit_are_left_out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(CONTAINER_FILE_MAX + 1);
	struct container_facts f;

	buf_puts(&text, "{\"Name\":\"/web\",\"Config\":{\"Labels\":{\"long\":"
	                "\"");
	for (int i = 0; i < CONTAINER_TEXT; i++)
		buf_putc(&text, 'x');
	buf_puts(&text, "\"");
	for (int i = 0; i < 10000; i++)
		buf_addf(&text, ",\"k%d\":\"v\"", i);
	buf_puts(&text, "}}}");
	ck_assert_int_eq(
		container_read(CONTAINER_FORM_DOCKER, ID, text.p, text.len, &f),
		0);
	ck_assert_uint_eq(f.nlabels, CONTAINER_LABELS);
	ck_assert_str_eq(f.labels[0].key, "k0");
	container_facts_done(&f);
	ck_assert_int_eq(container_read(CONTAINER_FORM_DOCKER, ID, text.p,
	                                CONTAINER_FILE_MAX + 1, &f),
	                 -E2BIG);
}
END

/* --- what the opener opens ------------------------------------------------ */

/* Asks for the file of a row. Returns the number of descriptors, or -errno. */
static int
ask_for(uint32_t row, const char *path, uid_t owner)
{
	struct host_ask ask = {
		.op = HOST_CONTAINER_FILE,
		.count = row,
		.size = owner,
	};
	static struct conf conf;
	static struct opener o = {.conf = &conf};
	struct answer a;

	strcpy(ask.path, path);
	opener_answer(&o, &ask, o.ask, -1, NULL, &a);
	for (size_t i = 0; i < a.nfds; i++)
		close(a.fds[i]);
	return a.reply.error ? a.reply.error : (int)a.nfds;
}

static const struct {
	const char *path;
	uint32_t row;
	uid_t owner;
} foreign[] = {
	{"/etc/shadow", 0, 0},
	{"/var/lib/docker/containers/" ID "/hostconfig.json", 0, 0},
	{"/var/lib/docker/containers/a/b/config.v2.json", 0, 0},
	{"/var/lib/docker/containers/../config.v2.json", 0, 0},
	{"/tmp/.local/share/docker/containers/" ID "/config.v2.json", 1, 0},
	{"/var/lib/docker/containers/" ID "/config.v2.json", 0, 1000},
	{"/var/lib/docker/containers/" ID "/config.v2.json", 1000, 0},
	{"var/lib/docker/containers/" ID "/config.v2.json", 0, 0},
	{"/var/log/containers/web_default_web-" ID ".log", 7, 0},
	{"", 0, 0},
};

TEST(only_files_of_runtimes_are_opened)
{
	for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
		ck_assert_msg(ask_for(foreign[i].row, foreign[i].path,
		                      foreign[i].owner) == -EINVAL,
		              "%s", foreign[i].path);
}
END

#define ROOTLESS 1 /* row: docker of a user */
#define OWNER    4242

/* Makes a home with an empty folder for the container. */
static void
make_home(const char *home, char path[static 256])
{
	char folder[200];
	static const char *const folders[] = {
		"",
		"/.local",
		"/.local/share",
		"/.local/share/docker",
		"/.local/share/docker/containers",
		"/.local/share/docker/containers/" ID};

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		snprintf(folder, sizeof(folder), "%s/home%s", home, folders[i]);
		ck_assert_int_eq(mkdir(folder, 0755), 0);
	}
	snprintf(path, 256, "%s/config.v2.json", folder);
}

TEST(only_regular_files_of_the_owner_are_opened)
{
	CLEANUP_TEST_STORE struct test_store s = test_store();
	char path[256];
	int fd;

	if (geteuid())
		return;
	make_home(s.dir, path);
	ck_assert_int_eq(ask_for(ROOTLESS, path, OWNER), -ENOENT);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ask_for(ROOTLESS, path, OWNER), -EPERM);
	ck_assert_int_eq(fchown(fd, OWNER, OWNER), 0);
	close(fd);
	ck_assert_int_eq(ask_for(ROOTLESS, path, OWNER), 1);
	ck_assert_int_eq(unlink(path), 0);
	/* opening a pipe would wait for a writer */
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(chown(path, OWNER, OWNER), 0);
	ck_assert_int_eq(ask_for(ROOTLESS, path, OWNER), -EINVAL);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("config.v2.json", path), 0);
	ck_assert_int_eq(ask_for(ROOTLESS, path, OWNER), -ELOOP);
	ck_assert_int_eq(lchown(path, OWNER, OWNER), 0);
	ck_assert_int_eq(ask_for(ROOTLESS, path, OWNER), -ELOOP);
}
END

#define LOGS    7 /* row: names of containers' logs */
#define ANY_LOG "/var/log/containers/*-" ID ".log"

TEST(a_name_is_looked_for_in_the_owners_folder_only)
{
	static const char folder[] = "/var/log/containers";
	int fd;

	if (geteuid())
		SKIP("only root mounts what others may use");
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL),
	                 0);
	ck_assert_int_eq(mount("none", "/var/log", "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(ask_for(LOGS, ANY_LOG, 0), -ENOENT);
	ck_assert_int_eq(mkdir(folder, 0755), 0);
	ck_assert_int_eq(ask_for(LOGS, ANY_LOG, 0), -ENOENT);
	fd = open("/var/log/containers/web-0_shop_web-" ID ".log",
	          O_CREAT | O_CLOEXEC, 0644);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(ask_for(LOGS, ANY_LOG, 0), 0); /* a name, no file */
	ck_assert_int_eq(chown(folder, OWNER, 0), 0);
	ck_assert_int_eq(ask_for(LOGS, ANY_LOG, 0), -EPERM);
}
END

/* Goes to a root of its own, a file system if type is not NULL. */
static void
enter_root(const char *path, const char *type)
{
	char proc[512];

	snprintf(proc, sizeof(proc), "%s/proc", path);
	if (mkdir(path, 0755) || (type && mount("none", path, type, 0, NULL)) ||
	    mkdir(proc, 0755) ||
	    mount("/proc", proc, NULL, MS_BIND | MS_REC, NULL) ||
	    chroot(path) || chdir("/"))
		_exit(1);
}

/* Where a container's worker may be below the root of its runtime. Roots of
 * file systems of one type have the same number. */
static const struct {
	const char *label, *path, *type; /* path NULL: as the runtime */
} roots[] = {
	{"a file system of its own", "/own", "tmpfs"},
	{"a folder", "/own", NULL},
	{"the same", NULL, NULL},
};

/* Returns how many generations above a worker the opener finds the host's root:
 * its parent is the runtime, this process the host. 0: none. */
static int
host_found_from(const char *runtime, size_t row)
{
	int32_t found = 0;
	int out[2];
	pid_t pid;

	ck_assert_int_eq(pipe(out), 0);
	pid = fork();
	if (!pid) { /* the runtime */
		if (unshare(CLONE_NEWNS) ||
		    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
			_exit(1);
		enter_root(runtime, "tmpfs");
		pid = fork();
		if (!pid) {
			static struct opener o;

			if (roots[row].path)
				enter_root(roots[row].path, roots[row].type);
			_exit(opener_find_host(&o) ||
			      write(out[1], &o.host, sizeof(o.host)) < 0);
		}
		waitpid(pid, NULL, 0);
		_exit(0);
	}
	close(out[1]);
	(void)!read(out[0], &found, sizeof(found));
	close(out[0]);
	waitpid(pid, NULL, 0);
	return found == pid ? 1 : found == getpid() ? 2 : 0;
}

TEST(the_host_is_the_nearest_ancestor_with_another_root)
{
	if (geteuid())
		SKIP("only root mounts what others may use");
	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		CLEANUP_TEST_STORE struct test_store s = test_store();
		char runtime[256];
		int expected = roots[i].path ? 1 : 2, found;

		snprintf(runtime, sizeof(runtime), "%s/runtime", s.dir);
		found = host_found_from(runtime, i);
		ck_assert_msg(found == expected, "%s: %d", roots[i].label,
		              found);
	}
}
END

/* --- containers ----------------------------------------------------------- */

struct rig {
	struct test_store store; /* for its folder */
	struct containers c;
	const char *file; /* in DATA; NULL: no file can be read */
	char groups[128], path[256];
	unsigned asked;
};

static int
file(void *arg, uint32_t row, const char *path, uid_t owner, struct buf *out)
{
	struct rig *r = arg;
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

	(void)row;
	(void)owner;
	r->asked++;
	snprintf(r->path, sizeof(r->path), "%s", path);
	if (!r->file)
		return -ENOENT;
	read_recorded(r->file, &text);
	buf_add(out, text.p + 1, text.len - 1);
	return 0;
}

static void
rig_init(struct rig *r)
{
	char path[256];

	*r = (struct rig){.store = test_store()};
	snprintf(r->groups, sizeof(r->groups), "%s/group", r->store.dir);
	ck_assert_int_eq(mkdir(r->groups, 0755), 0);
	snprintf(path, sizeof(path), "%s/docker", r->groups);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	r->c.reader.file = file;
	r->c.reader.arg = r;
	r->c.groups = r->groups;
	r->c.users = "/etc/passwd";
}

static void
rig_done(struct rig *r)
{
	containers_done(&r->c);
	test_store_done(&r->store);
}
#define CLEANUP_RIG CLEANUP(rig_done)

static struct container *
find(struct rig *r, const char *text, int64_t now_ns)
{
	struct container *v = NULL;

	ck_assert_int_eq(containers_find(&r->c, text, now_ns, &v), 0);
	return v;
}

TEST(a_container_is_read_once_a_minute)
{
	CLEANUP_RIG struct rig r;
	struct container *v;

	rig_init(&r);
	if (geteuid())
		return;
	r.file = "docker";
	v = find(&r, "0::/docker/" ID "\n", 1);
	ck_assert_ptr_nonnull(v);
	ck_assert_str_eq(container_fact(&v->facts, CONTAINER_NAME),
	                 "shop-web-1");
	ck_assert_str_eq(r.path,
	                 "/var/lib/docker/containers/" ID "/config.v2.json");
	ck_assert_ptr_eq(
		find(&r, "0::/docker/" ID "/x\n", CONTAINER_RETRY_NS * 2), v);
	ck_assert_uint_eq(r.asked, 1);
	/* when the file can't be read, the container keeps its name */
	r.file = NULL;
	ck_assert_ptr_eq(
		find(&r, "0::/docker/" ID "\n", CONTAINER_FRESH_NS + 1), v);
	ck_assert_uint_gt(r.asked, 1);
	ck_assert_str_eq(container_fact(&v->facts, CONTAINER_NAME),
	                 "shop-web-1");
}
END

TEST(a_container_without_files_has_its_id_for_a_name_until_it_has_some)
{
	CLEANUP_RIG struct rig r;
	struct container *v;

	rig_init(&r);
	if (geteuid())
		return;
	v = find(&r, "0::/docker/" ID "\n", 1);
	ck_assert_ptr_nonnull(v);
	ck_assert_str_eq(container_fact(&v->facts, CONTAINER_NAME),
	                 "4f66ad9b1c0e");
	r.file = "docker";
	find(&r, "0::/docker/" ID "\n", CONTAINER_RETRY_NS + 1);
	ck_assert_str_eq(container_fact(&v->facts, CONTAINER_NAME),
	                 "shop-web-1");
	ck_assert_ptr_null(find(&r, "0::/elsewhere/docker-" ID ".scope\n", 1));
}
END

#define SIDECAR "cri-containerd-" ID ".scope"

TEST(a_worker_with_groups_of_its_own_finds_the_owners_of_others)
{
	static const struct {
		const char *first, *group; /* of process 1; of another one */
		const char *owner; /* folder that belongs to a user, or "" */
		uid_t expected;
		bool found;
	} rows[] = {
		{"/../..", "/../../docker/" ID, "", 0, true},
		{"/../..", "/../inner/docker/" ID, "", 0, true},
		{"/../..", "/../docker/" ID, "", 0, true},
		{"/../..", "/../docker/" ID, "shared/docker", OWNER, true},
		{"/../../..", "/../docker/" ID, "shared/docker", 0, true},
		{"/../../init.scope", "/../../else/docker/" ID, "", 0, false},
		{"/../..", "/../*/docker/" ID, "", 0, false},
		/* beside the worker, as in its pod */
		{"/../..", "/../" SIDECAR, "users", 0, true},
		{"/../..", "/../" SIDECAR, "shared", OWNER, true},
	};
	static const char *const folders[] = {"shared",
	                                      "shared/" SIDECAR,
	                                      "shared/inner",
	                                      "shared/docker",
	                                      "shared/docker/" ID,
	                                      "shared/inner/docker",
	                                      "shared/inner/docker/" ID,
	                                      "users",
	                                      "users/docker"};

	if (geteuid())
		return;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_RIG struct rig r;
		char path[256], text[512];
		struct container *v;

		rig_init(&r);
		snprintf(path, sizeof(path), "%s/docker", r.groups);
		if (i)
			rmdir(path);
		for (size_t k = 0; k < ARRAY_LEN(folders); k++) {
			snprintf(path, sizeof(path), "%s/%s", r.groups,
			         folders[k]);
			ck_assert_int_eq(mkdir(path, 0755), 0);
			if (!strcmp(folders[k], rows[i].owner))
				ck_assert_int_eq(chown(path, OWNER, 0), 0);
		}
		snprintf(text, sizeof(text), "0::%s\n", rows[i].first);
		ck_assert_ptr_null(find(&r, text, 1));
		snprintf(text, sizeof(text), "0::%s\n", rows[i].group);
		v = find(&r, text, 1);
		ck_assert_msg(!!v == rows[i].found, "%s", rows[i].group);
		if (v)
			ck_assert_uint_eq(v->owner, rows[i].expected);
	}
}
END

/* --- matches -------------------------------------------------------------- */

static const struct {
	const char *kind, *value;
	bool expected;
} matches[] = {
	{"container", "shop-web-1", true},
	{"container", "shop-*", true},
	{"container", "*web*", true},
	{"container", "shop-web-?", true},
	{"container", "*", true},
	{"container", "web", false},
	{"container", "shop-web-?1", false},
	{"image", "nginx", true},
	{"image", "nginx:1.25", true},
	{"image", "nginx:1.2*", true},
	{"image", "ngin", false},
	{"image", "nginx:1.26", false},
	{"compose", "{\"project\":\"shop\"}", true},
	{"compose", "{\"project\":\"shop\",\"service\":\"w*\"}", true},
	{"compose", "{\"project\":\"shop\",\"service\":\"db\"}", false},
	{"pod", "{\"namespace\":\"*\"}", false},
	{"label", "{\"maintainer\":\"NGINX *\"}", true},
	{"label",
         "{\"maintainer\":\"*\",\"com.docker.compose.oneoff\":"
         "\"False\"}",
         true},
	{"label", "{\"none\":\"*\"}", false},
};

TEST(a_match_of_containers_means_what_it_says)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	struct container_facts f;

	read_recorded("docker", &text);
	ck_assert_int_eq(container_read(CONTAINER_FORM_DOCKER, ID, text.p + 1,
	                                text.len - 1, &f),
	                 0);
	for (size_t i = 0; i < ARRAY_LEN(matches); i++) {
		struct container_match m;

		ck_assert_int_eq(container_match_init(matches[i].kind,
		                                      matches[i].value, &m),
		                 0);
		ck_assert_msg(container_matches(&m, &f) == matches[i].expected,
		              "%s %s", matches[i].kind, matches[i].value);
		container_match_done(&m);
	}
	container_facts_done(&f);
}
END

static const struct {
	const char *kind, *value;
} senseless[] = {
	{"container", ""},
	{"container", "a\nb"},
	{"unit", "x"},
	{"pod", "web"},
	{"pod", "{}"},
	{"pod", "{\"project\":\"x\"}"},
	{"pod", "{\"name\":1}"},
	{"compose", "{\"project\":\"\"}"},
	{"label", "{\"\":\"x\"}"},
	{"label", "[\"x\"]"},
};

TEST(a_match_of_containers_that_makes_no_sense_is_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(senseless); i++) {
		struct container_match m;

		ck_assert_msg(container_match_init(senseless[i].kind,
		                                   senseless[i].value,
		                                   &m) == -EINVAL,
		              "%s", senseless[i].value);
	}
}
END

SUITE("containers");
