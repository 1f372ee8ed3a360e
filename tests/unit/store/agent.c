/* Jobs and services of a centre in the store of a host. */
#include "store/agent.h"

#include "lib/store.h"
#include "store/blob.h"
#include "store/db/db_test.h"

#include <errno.h>
#include <string.h>

#define HOST "host1"

static struct agent_job
job_of(const char *session)
{
	return (struct agent_job){
		.session = (char *)session,
		.tenant = (char *)TEST_TENANT,
		.service = (char *)TEST_SERVICE,
		.type = (char *)"cpu",
		.origin = (char *)SESSION_CAPTURE,
		.labels = (char *)"{}",
		.created_by = (char *)"tok-x",
		.attempt = 3,
		.ordinal = SESSION_ALL_ORDINALS,
		.asked_seconds = 5,
		.asked_rate = 100,
	};
}

static size_t
held_of(struct store *s)
{
	CLEANUP_HELD struct agent_held_list l = {0};

	ck_assert_int_eq(agent_held(s, &l), 0);
	return l.n;
}

TEST(a_job_that_is_taken_is_run_here_under_its_own_id)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const struct agent_job j = job_of("sess-centre");
	CLEANUP_JOB struct job got = {0};

	ck_assert_int_eq(agent_take(&t.s, HOST, &j), 0);
	ck_assert_int_eq(job_claim(&t.s, HOST, TEST_LEASE_MS, 8, &got), 0);
	ck_assert_str_eq(got.session, "sess-centre");
	ck_assert_int_eq(got.attempt, 1); /* counted by this store */
	ck_assert_int_eq(got.asked_seconds, 5);
}
END

TEST(a_job_that_is_given_again_is_taken_once_and_has_the_last_attempt)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct agent_job j = job_of("sess-centre");
	CLEANUP_HELD struct agent_held_list l = {0};

	ck_assert_int_eq(agent_take(&t.s, HOST, &j), 0);
	j.attempt = 4;
	ck_assert_int_eq(agent_take(&t.s, HOST, &j), 0);
	ck_assert_int_eq(agent_held(&t.s, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_int_eq(l.items[0].attempt, 4);
	ck_assert_str_eq(l.items[0].status, SESSION_RUNNING);
}
END

TEST(a_job_waits_for_another_capture_of_its_service_and_type)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const struct agent_job first = job_of("sess-one"),
			       second = job_of("sess-two");

	ck_assert_int_eq(agent_take(&t.s, HOST, &first), 0);
	ck_assert_int_eq(agent_take(&t.s, HOST, &second), -EEXIST);
	ck_assert_uint_eq(held_of(&t.s), 1);
}
END

TEST(a_job_without_its_service_is_not_taken)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct agent_job j = job_of("sess-centre");

	j.service = (char *)"none";
	ck_assert_int_eq(agent_take(&t.s, HOST, &j), -ENOENT);
	ck_assert_uint_eq(held_of(&t.s), 0);
}
END

TEST(a_result_stays_until_it_is_forgotten)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const struct agent_job j = job_of("sess-centre");
	const struct session_result result = test_result();
	CLEANUP_HELD struct agent_held_list l = {0};
	CLEANUP_SESSION struct session s = {0};
	CLEANUP_JOB struct job got = {0};
	struct blob blob, found;

	ck_assert_int_eq(agent_take(&t.s, HOST, &j), 0);
	ck_assert_int_eq(job_claim(&t.s, HOST, TEST_LEASE_MS, 8, &got), 0);
	test_blob(&t.s, "profile", &blob);
	test_finish(&t.s, &got, &result, &blob);
	ck_assert_int_eq(agent_held(&t.s, &l), 0);
	ck_assert_str_eq(l.items[0].status, SESSION_COMPLETED);
	ck_assert_str_eq(l.items[0].state, "done");
	ck_assert_int_eq(agent_forget(&t.s, &l.items[0], false), 0);
	ck_assert_uint_eq(held_of(&t.s), 0);
	ck_assert_int_eq(session_get(&t.s, TEST_TENANT, "sess-centre", &s),
	                 -ENOENT);
	ck_assert_int_eq(
		blob_of_session(&t.s, "sess-centre", BLOB_PPROF, &found),
		-ENOENT);
}
END

TEST(a_job_that_is_dropped_is_cancelled_and_told_as_such)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	const struct agent_job j = job_of("sess-centre");
	CLEANUP_HELD struct agent_held_list l = {0};

	ck_assert_int_eq(agent_take(&t.s, HOST, &j), 0);
	ck_assert_int_eq(agent_drop(&t.s, TEST_TENANT, "sess-centre"), 0);
	ck_assert_int_eq(agent_held(&t.s, &l), 0);
	ck_assert_int_eq(l.items[0].dropped, 1);
	ck_assert_str_eq(l.items[0].state, "cancelled");
}
END

static struct service
service_of(const char *name, const char *exe)
{
	return (struct service){
		.tenant = (char *)TEST_TENANT,
		.name = (char *)name,
		.kind = (char *)"auto",
		.host = (char *)"",
		.match_kind = (char *)"exe",
		.match_value = (char *)exe,
		.pprof_url = (char *)"",
		.source = (char *)"auto",
		.allow = (char *)"{}",
		.labels = (char *)"{}",
		.description = (char *)"",
	};
}

static void
put(struct store *s, struct service *items, size_t n)
{
	const struct service_list l = {.items = items, .n = n};
	const struct continuous none[8] = {{0}};

	ck_assert_uint_le(n, ARRAY_LEN(none));
	ck_assert_int_eq(agent_services_put(s, &l, none), 0);
}

static int
exe_of(struct store *s, const char *name, char out[static 64])
{
	CLEANUP_SERVICE struct service v = {0};
	int rc = service_get(s, TEST_TENANT, name, &v);

	if (!rc)
		snprintf(out, 64, "%s", v.match_value);
	return rc;
}

TEST(services_are_added_replaced_and_removed_as_the_centre_has_them)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct service both[] = {service_of("one", "/bin/one"),
	                         service_of("two", "/bin/two")};
	struct service later = service_of("one", "/bin/other");
	char exe[64];

	put(&t.s, both, 2);
	ck_assert_int_eq(exe_of(&t.s, "two", exe), 0);
	ck_assert_str_eq(exe, "/bin/two");
	put(&t.s, &later, 1);
	ck_assert_int_eq(exe_of(&t.s, "one", exe), 0);
	ck_assert_str_eq(exe, "/bin/other");
	ck_assert_int_eq(exe_of(&t.s, "two", exe), -ENOENT);
}
END

/* The host had this service before it joined the fleet. */
TEST(a_service_that_was_here_before_is_not_removed)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct service known = service_of(TEST_SERVICE, "/bin/known");
	char exe[64];

	put(&t.s, &known, 1);
	put(&t.s, NULL, 0);
	ck_assert_int_eq(exe_of(&t.s, TEST_SERVICE, exe), 0);
	ck_assert_str_eq(exe, "/bin/known");
}
END

/* --- whose jobs, services and processes these are ------------------------- */

#define OTHER_HOST   "host2"
#define OTHER_TENANT "u"

/* Enqueues and claims a capture on that host. */
static void
run_on(struct store *s, const char *host, const char *type, struct job *out)
{
	struct session_ask ask = test_ask();
	char id[ID_MAX];

	ask.type = type;
	ck_assert_int_eq(job_enqueue(s, &ask, host, id), 0);
	ck_assert_int_eq(job_claim(s, host, TEST_LEASE_MS, 8, out), 0);
	ck_assert_str_eq(out->session, id);
}

TEST(a_host_is_told_of_its_own_running_jobs)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_AGENT_JOBS struct agent_job_list l = {0};
	CLEANUP_JOB struct job mine = {0}, other = {0};
	CLEANUP_AGENT_JOB struct agent_job found = {0};

	run_on(&t.s, HOST, "cpu", &mine);
	run_on(&t.s, OTHER_HOST, "alloc", &other);
	ck_assert_int_eq(agent_running(&t.s, HOST, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_str_eq(l.items[0].session, mine.session);
	ck_assert_int_eq(agent_find(&t.s, HOST, other.session, &found),
	                 -ENOENT);
	ck_assert_int_eq(agent_find(&t.s, HOST, mine.session, &found), 0);
}
END

TEST(a_queued_job_goes_on_for_its_host_and_under_its_attempt)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_JOB struct job j = {0};
	struct job_ref ref, later;

	run_on(&t.s, HOST, "cpu", &j);
	ref = later = job_ref(&j);
	later.attempt++;
	ck_assert_int_eq(job_requeue(&t.s, &ref), 0);
	ck_assert_int_eq(agent_resume(&t.s, OTHER_HOST, &ref, TEST_LEASE_MS),
	                 0);
	ck_assert_int_eq(agent_resume(&t.s, HOST, &later, TEST_LEASE_MS), 0);
	ck_assert_int_eq(agent_resume(&t.s, HOST, &ref, TEST_LEASE_MS), 1);
}
END

static struct service
of_tenant(const char *tenant)
{
	struct service v = service_of(TEST_SERVICE, "/bin/known");

	v.tenant = (char *)tenant;
	return v;
}

static void
process_at(struct store *s, const char *host, const char *tenant, int64_t pid)
{
	const struct worker_process p = test_process(host, tenant, pid);
	const struct process_tree tree = {.host = (char *)host,
	                                  .tenant = (char *)tenant,
	                                  .service = (char *)TEST_SERVICE,
	                                  .followed = pid};

	ck_assert_int_eq(process_put(s, &p), 0);
	ck_assert_int_eq(process_tree_put(s, &tree), 0);
}

static void
profile_continuously(struct store *s, const char *tenant, const char *name)
{
	struct continuous c = test_continuous(tenant);

	c.service = (char *)name;
	ck_assert_int_eq(continuous_put(s, &c), 0);
}

TEST(processes_of_this_host_and_of_the_centres_services_are_told)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_PROCESSES struct process_list l = {0};
	CLEANUP_TREES struct process_tree_list trees = {0};
	struct service known = of_tenant(TEST_TENANT),
		       other = of_tenant(OTHER_TENANT);

	ck_assert_int_eq(service_add(&t.s, &other), 0);
	put(&t.s, &known, 1);
	process_at(&t.s, HOST, TEST_TENANT, 11);
	process_at(&t.s, HOST, OTHER_TENANT, 12); /* this host's own service */
	process_at(&t.s, OTHER_HOST, TEST_TENANT, 13);
	ck_assert_int_eq(agent_processes(&t.s, HOST, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_int_eq(l.items[0].pid, 11);
	ck_assert_int_eq(agent_trees(&t.s, HOST, &trees), 0);
	ck_assert_uint_eq(trees.n, 1);
	ck_assert_int_eq(trees.items[0].followed, 11);
}
END

TEST(a_host_puts_no_processes_of_services_of_other_tenants)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_PROCESSES struct process_list l = {0};
	struct service other = of_tenant(OTHER_TENANT);
	struct worker_process p[] = {test_process(HOST, TEST_TENANT, 11),
	                             test_process(HOST, OTHER_TENANT, 12)};
	struct process_list now = {.items = p, .n = ARRAY_LEN(p)};

	ck_assert_int_eq(service_add(&t.s, &other), 0);
	ck_assert_int_eq(agent_processes_put(&t.s, HOST, TEST_TENANT, &now,
	                                     &(struct process_tree_list){0}),
	                 0);
	ck_assert_int_eq(process_list_host(&t.s, HOST, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_int_eq(l.items[0].pid, 11);
}
END

static void
put_again(struct test_store *t, struct process_list *now)
{
	ck_assert_int_eq(agent_processes_put(&t->s, HOST, TEST_TENANT, now,
	                                     &(struct process_tree_list){0}),
	                 0);
}

/* Hosts repeat all of their processes from time to time. */
TEST(a_process_that_is_told_again_keeps_the_time_at_which_it_was_seen)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_PROCESSES struct process_list l = {0};
	struct worker_process p[] = {test_process(HOST, TEST_TENANT, 11),
	                             test_process(HOST, TEST_TENANT, 12)};
	struct process_list now = {.items = p, .n = ARRAY_LEN(p)};

	p[1].ordinal = 1;
	put_again(&t, &now);
	db_skew_clock(t.s.db, 60000);
	p[1].start_time = 5; /* another process with this pid */
	put_again(&t, &now);
	put_again(&t, &now);
	ck_assert_int_eq(process_list_host(&t.s, HOST, &l), 0);
	ck_assert_uint_eq(l.n, 2);
	ck_assert_int_eq(l.items[1].start_time, 5);
	ck_assert_int_ge(l.items[1].seen_ms - l.items[0].seen_ms, 60000);
}
END

/* What may differ between two processes with one ordinal. */
static void
change(struct worker_process *p, int what)
{
	p->pid += what == 0;
	p->start_time += what == 1;
	p->boot_id = what == 2 ? (char *)"another boot" : p->boot_id;
	p->argv0 = what == 3 ? (char *)"/bin/other" : p->argv0;
	p->cmdline = what == 4 ? (char *)"/bin/other --port 80" : p->cmdline;
}

TEST(a_process_that_differs_in_anything_takes_the_place_of_the_one_before)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct worker_process p = test_process(HOST, TEST_TENANT, 11);
	struct process_list now = {.items = &p, .n = 1};
	int64_t seen_ms = 0;

	put_again(&t, &now);
	for (int what = 0; what < 5; what++) {
		CLEANUP_PROCESSES struct process_list l = {0};

		change(&p, what);
		db_skew_clock(t.s.db, 60000 * (what + 1));
		put_again(&t, &now);
		ck_assert_int_eq(process_list_host(&t.s, HOST, &l), 0);
		ck_assert_uint_eq(l.n, 1);
		ck_assert_int_eq(l.items[0].pid, p.pid);
		ck_assert_int_eq(l.items[0].start_time, p.start_time);
		ck_assert_str_eq(l.items[0].boot_id, p.boot_id);
		ck_assert_str_eq(l.items[0].argv0, p.argv0);
		ck_assert_str_eq(l.items[0].cmdline, p.cmdline);
		ck_assert_int_ge(l.items[0].seen_ms - seen_ms, 60000);
		seen_ms = l.items[0].seen_ms;
	}
}
END

#define MANY 300

TEST(a_host_of_many_processes_lets_other_writers_in)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct worker_process *p = calloc(MANY, sizeof(*p));
	struct process_list now = {.items = p, .n = MANY};
	char rows[16];

	ck_assert_ptr_nonnull(p);
	for (int i = 0; i < MANY; i++) {
		p[i] = test_process(HOST, TEST_TENANT, i + 1);
		p[i].ordinal = i;
	}
	/* a statement of the second part fails: the first one stays */
	db_fail_after(t.s.db, 150);
	ck_assert_int_eq(agent_processes_put(&t.s, HOST, TEST_TENANT, &now,
	                                     &(struct process_tree_list){0}),
	                 -EIO);
	test_sql(&t, "SELECT COUNT(*) FROM process", rows, sizeof(rows));
	ck_assert_str_eq(rows, "100");
	put_again(&t, &now);
	test_sql(&t, "SELECT COUNT(*) FROM process", rows, sizeof(rows));
	ck_assert_str_eq(rows, "300");
	free(p);
}
END

TEST(a_host_removes_no_processes_of_other_tenants_or_hosts)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_PROCESSES struct process_list l = {0}, far = {0};
	struct service other = of_tenant(OTHER_TENANT);
	struct worker_process own = test_process(HOST, TEST_TENANT, 11),
			      theirs = test_process(HOST, OTHER_TENANT, 12);
	const struct process_tree tree = {.host = (char *)HOST,
	                                  .tenant = (char *)OTHER_TENANT,
	                                  .service = theirs.service};
	char trees[32];

	ck_assert_int_eq(service_add(&t.s, &other), 0);
	ck_assert_int_eq(process_put(&t.s, &own), 0);
	ck_assert_int_eq(process_put(&t.s, &theirs), 0);
	ck_assert_int_eq(process_tree_put(&t.s, &tree), 0);
	process_at(&t.s, OTHER_HOST, TEST_TENANT, 13);
	ck_assert_int_eq(agent_processes_put(&t.s, HOST, TEST_TENANT,
	                                     &(struct process_list){0},
	                                     &(struct process_tree_list){0}),
	                 0);
	ck_assert_int_eq(process_list_host(&t.s, HOST, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_int_eq(l.items[0].pid, 12);
	ck_assert_int_eq(process_list_host(&t.s, OTHER_HOST, &far), 0);
	ck_assert_uint_eq(far.n, 1);
	test_sql(&t, "SELECT COUNT(*) FROM process_tree", trees, sizeof(trees));
	ck_assert_str_eq(trees, "2");
}
END

TEST(a_key_takes_no_row_of_a_worker_that_shares_the_store)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_FREE char *tenants = NULL;
	const struct worker w = {.host = (char *)HOST,
	                         .boot_id = (char *)"",
	                         .version = (char *)"",
	                         .capabilities = (char *)"{}",
	                         .tenants = OTHER_TENANT};

	test_heartbeat(&t.s, HOST, 1);
	ck_assert_int_eq(worker_stop(&t.s, HOST), 0);
	ck_assert_int_eq(worker_heartbeat(&t.s, &w, TEST_LEASE_MS), -EEXIST);
	ck_assert_int_eq(worker_tenants(&t.s, HOST, &tenants, NULL), 0);
	ck_assert_str_eq(tenants, "*");
	ck_assert_int_eq(worker_forget(&t.s, HOST), 0);
	ck_assert_int_eq(worker_heartbeat(&t.s, &w, TEST_LEASE_MS), 0);
	ck_assert_int_eq(worker_forget(&t.s, HOST), -ENOENT); /* it is alive */
}
END

static bool
has_continuous(struct store *s, const char *tenant, const char *name)
{
	CLEANUP_CONTINUOUS struct continuous c = {0};
	int rc = continuous_get(s, tenant, name, &c);

	ck_assert(!rc || rc == -ENOENT);
	return !rc;
}

TEST(services_of_one_name_are_told_apart_by_their_tenants)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct service both[] = {service_of("two", "/bin/two"),
	                         service_of("two", "/bin/two")};
	char exe[64];

	/* one tenant's existed before, and is profiled here */
	both[1].tenant = (char *)OTHER_TENANT;
	ck_assert_int_eq(service_add(&t.s, &both[1]), 0);
	profile_continuously(&t.s, OTHER_TENANT, "two");
	for (int i = 0; i < 2; i++)
		put(&t.s, both, 2);
	ck_assert(has_continuous(&t.s, OTHER_TENANT, "two"));
	put(&t.s, &both[1], 1);
	ck_assert_int_eq(exe_of(&t.s, "two", exe), -ENOENT);
}
END

TEST(a_service_that_is_forgotten_leaves_that_of_another_tenant)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	CLEANUP_SERVICE struct service v = {0};
	struct service both[] = {of_tenant(TEST_TENANT), /* was here before */
	                         of_tenant(OTHER_TENANT)};

	put(&t.s, both, 2);
	put(&t.s, &both[1], 1);
	put(&t.s, NULL, 0);
	ck_assert_int_eq(service_get(&t.s, OTHER_TENANT, TEST_SERVICE, &v),
	                 -ENOENT);
	ck_assert_int_eq(service_get(&t.s, TEST_TENANT, TEST_SERVICE, &v), 0);
}
END

/* Returns the generation at a time when nothing has just changed. */
static void
generation_of(struct test_store *t, char out[static AGENT_GENERATION])
{
	test_sql(t, "UPDATE service SET updated_ms = 7", NULL, 0);
	test_sql(t, "UPDATE continuous SET updated_ms = 7", NULL, 0);
	ck_assert_int_eq(agent_generation(&t->s, TEST_TENANT, HOST, out), 0);
	ck_assert_str_ne(out, "");
}

TEST(what_a_host_does_not_see_changes_no_generation_of_it)
{
	CLEANUP_TEST_STORE struct test_store t = test_store();
	struct service tenants = of_tenant(OTHER_TENANT),
		       hosts = service_of("elsewhere", "/bin/elsewhere"),
		       seen = service_of("here", "/bin/here");
	char before[AGENT_GENERATION], now[AGENT_GENERATION];

	generation_of(&t, before);
	ck_assert_int_eq(service_add(&t.s, &tenants), 0);
	generation_of(&t, now);
	ck_assert_str_eq(now, before);
	profile_continuously(&t.s, OTHER_TENANT, TEST_SERVICE);
	generation_of(&t, now);
	ck_assert_str_eq(now, before);
	hosts.host = (char *)OTHER_HOST;
	ck_assert_int_eq(service_add(&t.s, &hosts), 0);
	generation_of(&t, now);
	ck_assert_str_eq(now, before);

	seen.host = (char *)HOST;
	ck_assert_int_eq(service_add(&t.s, &seen), 0);
	generation_of(&t, now);
	ck_assert_str_ne(now, before);
	profile_continuously(&t.s, TEST_TENANT, TEST_SERVICE);
	generation_of(&t, before);
	ck_assert_str_ne(now, before);
}
END

SUITE("agent");
