/*
 * A store in a directory of its own, with the service "svc" of tenant "t",
 * gone after the test.
 */
#pragma once

#include "lib/test.h"
#include "store/continuous.h"
#include "store/job.h"
#include "store/service.h"
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
/* True when stores are on the server that STOKER_TEST_DB names. */
bool test_on_server(void);
/* Runs SQL on a store's database as an administrator would; out, unless it is
 * NULL, gets the first value. */
void
test_sql(const struct test_store *t, const char *sql, char *out, size_t size);
/* The configuration of a store in dir: in SQLite, or in a schema of the
 * PostgreSQL server that STOKER_TEST_DB names. */
struct conf test_conf(const char *dir);
/* [store] database of that. */
const char *test_database(const char *dir);
/* A store with that service in a directory that is there. */
void test_store_in(const char *dir, struct store *out);
/* Removes a file or directory, with all that is in it. */
void test_remove(const char *path);
/* Another connection to it: store_close() it. */
struct store test_store_again(const struct test_store *t, bool worker);

/* Adds a service like svc of that tenant and name; as service_add(). */
int test_service(struct store *s, const char *tenant, const char *name);
/* Adds one of svc's name to a tenant that has none. */
void test_tenant(struct store *s, const char *tenant);
/* Reports a worker that is alive. */
void test_heartbeat(struct store *s, const char *host, int64_t pid);
/* A capture of svc; a test changes what it is about. */
struct session_ask test_ask(void);
/* Continuous profiling of that tenant's svc; a test changes its days and more.
 */
struct continuous test_continuous(const char *tenant);
struct session_result test_result(void);
/* Enqueues test_ask() of another type for each call: "type0", "type1", ... */
void test_enqueue(struct store *s, int i, char id[static ID_MAX]);
void test_claim(struct store *s, struct job *out);
/* Stores bytes that say whose they are. */
void test_blob(struct store *s, const char *text, struct blob *out);
