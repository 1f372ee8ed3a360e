/*
 * A store in a new directory, with the service "svc" of tenant "t"; removed
 * after the test.
 */
#pragma once

#include "lib/test.h"
#include "store/baseline.h"
#include "store/continuous.h"
#include "store/job.h"
#include "store/service.h"
#include "store/trigger.h"
#include "store/worker.h"

struct test_store {
	char dir[64];
	struct store s;
};
#define CLEANUP_TEST_STORE CLEANUP(test_store_done)
#define TEST_TENANT        "t"
#define TEST_SERVICE       "svc"
#define TEST_HOST          "host1"
#define TEST_LEASE_MS      15000

struct test_store test_store(void);
void test_store_done(struct test_store *t);
/* True if stores are on the server that STOKER_TEST_DB names. */
bool test_on_server(void);
/* Runs SQL on a store's database as an administrator would; out, if not NULL,
 * gets the first value. */
void
test_sql(const struct test_store *t, const char *sql, char *out, size_t size);
/* Returns the configuration of a store in dir: in SQLite, or in a schema of the
 * PostgreSQL server that STOKER_TEST_DB names. */
struct conf test_conf(const char *dir);
/* Returns [store] database of that configuration. */
const char *test_database(const char *dir);
/* Opens a store with that service in an existing directory. */
void test_store_in(const char *dir, struct store *out);
/* Removes a file or directory with all its contents. */
void test_remove(const char *path);
/* Opens the store again, over another connection; store_close() it. */
struct store test_store_again(const struct test_store *t, bool worker);

/* Adds a service like svc for a tenant, under a name, like service_add(). */
int test_service(struct store *s, const char *tenant, const char *name);
/* Returns a native service that matches nothing, which tests may change. */
struct service test_no_match(const char *tenant, const char *name);
/* Adds a service of svc's name to a tenant without one. */
void test_tenant(struct store *s, const char *tenant);
/* Reports a live worker. */
void test_heartbeat(struct store *s, const char *host, int64_t pid);
/* Returns a process of the tenant's svc, which tests may change. */
struct worker_process
test_process(const char *host, const char *tenant, int64_t pid);
/* Returns a request for a capture of svc, which tests may change. */
struct session_ask test_ask(void);
/* Returns a trigger of svc, which tests may change: memory above 100 bytes. */
struct trigger test_trigger(const char *tenant, const char *name);
/* Makes a session the baseline v1, like baseline_add(). */
int test_baseline(struct store *s, const char *tenant, const char *session,
                  const char *tags, char id[static ID_MAX]);
/* Returns settings of continuous profiling for the tenant's svc, which tests
 * may change. */
struct continuous test_continuous(const char *tenant);
struct session_result test_result(void);
/* Enqueues test_ask() with another type for each i: "type0", "type1", ... */
void test_enqueue(struct store *s, int i, char id[static ID_MAX]);
void test_claim(struct store *s, struct job *out);
/* Ends a job that was claimed as done; blob may be NULL. */
void test_finish(struct store *s, const struct job *j,
                 const struct session_result *r, const struct blob *blob);
/* Stores a text as the bytes of a blob. */
void test_blob(struct store *s, const char *text, struct blob *out);
