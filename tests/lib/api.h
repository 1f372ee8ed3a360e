/*
 * A pool of real stoker-api processes with a new store that has the service
 * "svc" of tenant "t", a live worker, and one process of svc.
 */
#pragma once

#include "lib/fcgi_client.h"
#include "lib/store.h"
#include "profile/profile.h"
#include "store/token.h"

#include <stdbool.h>
#include <sys/types.h>

#define API_MAX_POOL 8
#define TEST_AGENT   "agent1" /* a host that has no worker yet */
#define API_PROFILES "/api/v1/observability/profiling"

enum api_key {
	KEY_NONE,
	KEY_VIEWER,
	KEY_OPERATOR,
	KEY_ADMIN,
	KEY_OTHER,
	KEY_WORKER
};

struct test_api {
	struct test_store store;
	char socket[96], conf[96];
	int listener;
	pid_t pids[API_MAX_POOL];
	int n;
	void (*enter)(void);         /* called first by each process, or NULL */
	char keys[6][TOKEN_KEY_MAX]; /* OTHER: an admin of tenant "other";
	                                WORKER: of TEST_AGENT */
};
#define CLEANUP_API CLEANUP(test_api_done)

/* A request; empty members are left out. */
struct ask {
	enum api_key key;
	const char *bearer;        /* instead of a key */
	const char *authorization; /* the whole header, instead of both */
	const char *org;           /* X-Scope-OrgID */
	const char *method;        /* NULL: GET */
	const char *path;
	const char *body; /* sent as application/json unless type is set */
	size_t body_len;  /* 0: body is a text */
	const char *type;
	const char *tenant, *accept, *if_none_match, *idempotency;
	const char *cookie, *origin, *fetch_site, *host, *mcp_version;
	const char *sso_user, *sso_groups; /* the user whom nginx vouches for */
	const char *remote; /* address of the client; 127.0.0.1 if NULL */
	bool scraper, https;
};

/* Starts n processes; extra is appended to [api]. */
struct test_api test_api(int n, const char *extra);
/* As test_api(), for processes that first call enter(), to make them lack
 * something. */
struct test_api test_api_in(int n, const char *extra, void (*enter)(void));
void test_api_done(struct test_api *a);
/* Returns the CPU time of all processes so far, in seconds. */
double test_api_cpu_s(const struct test_api *a);
/* Waits for process i to end; returns the status of waitpid(). */
int test_api_wait(struct test_api *a, int i);
/* Kills process i, and starts it again. */
void test_api_restart(struct test_api *a, int i);

/* Make a request in two steps. */
int ask_begin(struct test_api *a, struct ask q);
struct client_reply ask_end(int fd);
/* Makes a request and waits for the reply. Inline, since the command line has
 * a function of this name. */
static inline struct client_reply
ask(struct test_api *a, struct ask q)
{
	return ask_end(ask_begin(a, q));
}

/* Returns a member of the reply as text; "" if it is missing or not a text. */
const char *reply_text(const struct client_reply *r, const char *name);
const char *reply_detail(const struct client_reply *r, const char *name);
/* Fails unless the reply is this error. */
void assert_error(const struct client_reply *r, int status, const char *code);

/* Reports a worker that is alive for ten minutes. */
void
test_worker(struct test_api *a, const char *host, const char *capabilities);
/* From now on, the worker reports that it has just looked at processes, and
 * that the store has all of them. */
void test_looks(struct test_api *a);
/* Reports that the worker has looked, and has seen no process of svc. */
void test_sees_nothing(struct test_api *a);
/* Changes the kind and source of svc, which are "auto" at first. */
void test_kind(struct test_api *a, const char *kind, const char *source);
/* Makes a finished profile of svc; returns its id. */
void test_profile(struct test_api *a, char id[static ID_MAX]);
/* Uploads a session of svc, with the profile's time if it has one; returns its
 * id. */
void test_upload(struct test_api *a, const struct profile *p, const char *type,
                 char id[static ID_MAX]);
/* Makes a session that a worker is capturing. */
struct job_ref test_capture(struct test_api *a);
/* Ends such a session with a stored profile. */
void test_capture_end(struct test_api *a, const struct job_ref *ref);
