/* The client of the object store, for its driver. */
#pragma once

#include "s3_cache.h"
#include "store/s3.h"

#include <curl/curl.h>
#include <pthread.h>

#define S3_IDLE_MAX 8 /* connections that are kept */
/* Larger pieces bypass the cache. */
#define S3_SMALL (S3_CHUNK / 2)

struct s3 {
	char *base;   /* "https://host/bucket/prefix" */
	char *host;   /* "host" or "host:port", as in the endpoint */
	char *path;   /* "/bucket/prefix" */
	char *bucket; /* "https://host/bucket" */
	char *prefix, *region;
	char *sign; /* CURLOPT_AWS_SIGV4 */
	char *key, *secret;
	char *ca_file;
	bool tls;
	int64_t timeout_ms;

	pthread_mutex_t lock; /* protects what follows */
	CURL *idle[S3_IDLE_MAX];
	size_t nidle;
	struct s3_cache cache;
};

/* A request, and the bounds of its answer. */
struct s3_call {
	const char *method;
	const char *name;  /* of the object, below the prefix; NULL: query */
	const char *query; /* for the bucket; sorted, and encoded */
	const void *body;  /* body of a PUT */
	size_t length;
	int64_t from, to; /* first and last byte requested; to < 0: all */
	struct buf *out;  /* NULL: the body is not wanted */
	size_t most;      /* bytes of the body accepted */
};
struct s3_answer {
	long status;
	int64_t from, whole; /* from Content-Range; -1: none */
	int64_t now_ms;      /* the object store's clock; 0: not sent */
	bool too_long;       /* the body has more than most bytes */
	char error[512];     /* beginning of the body of an error */
};
/*
 * Sends a request, and reads the answer.
 *   Errors   -ETIMEDOUT; -EHOSTUNREACH, also for the statuses 429 and 5xx;
 *            -EKEYREJECTED when the key is refused, or there is no such bucket;
 *            -EREMOTEIO for a malformed answer or another status, but 0 for 404
 *            and 416; -ENOMEM; -E2BIG past the ceiling of call->out
 */
MUST_CHECK int s3_ask(struct s3 *s3, const struct store *s,
                      const struct s3_call *call, struct s3_answer *out);

extern const struct bytes_driver bytes_s3;
