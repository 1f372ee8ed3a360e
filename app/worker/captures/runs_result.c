#include "runs_private.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "profile/listing.h"
#include "store/delivery.h"

#include <errno.h>
#include <string.h>

#define FINISH_TRIES 3 /* each waits for the lock, see db.h */

void
runs_summary_done(struct run_summary *s)
{
	json_decref(s->read);
	buf_done(&s->top);
}

static int
list_unnamed(const json_t *list, struct run_summary *out)
{
	size_t i;
	json_t *id;

	if (!json_is_array(list))
		return -EBADMSG;
	json_array_foreach(list, i, id) {
		const char *text = json_string_value(id);

		if (!text || out->nunnamed == ARRAY_LEN(out->unnamed))
			return -EBADMSG;
		out->unnamed[out->nunnamed++] = text;
	}
	return 0;
}

int
runs_read_summary(int fd, struct run_summary *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(TOP_MAX);
	const json_t *top;
	int rc = fd < 0 || lseek(fd, 0, SEEK_SET) ? -EBADMSG
	                                          : fd_read_all(fd, &text);

	if (rc)
		return rc;
	out->read = json_loadb(buf_str(&text), text.len, 0, NULL);
	top = json_object_get(out->read, "top");
	if (!json_is_array(top))
		return -EBADMSG;
	return json_write(top, &out->top)
	               ?: list_unnamed(json_object_get(out->read, "unnamed"),
	                               out);
}

/* Returns the time since sampling began; 0 (unknown) if it makes no sense. */
static int64_t
age_of(const struct msg_done *done)
{
	int64_t now = clock_wall_ms();

	return done->start_ms > 0 && done->start_ms < now ? now - done->start_ms
	                                                  : 0;
}

int
runs_read_result(const struct msg_done *done, const struct finding *findings,
                 const char *service, int summary_fd,
                 struct run_summary *summary, struct buf *quality,
                 struct session_result *out)
{
	int rc = runs_read_summary(summary_fd, summary);

	quality_json(&done->quality, findings, service, quality);
	if (!rc)
		rc = buf_err(quality);
	if (rc)
		return rc;
	*out = (struct session_result){
		.duration_ms = done->quality.duration_ms,
		.age_ms = age_of(done),
		.sample_count = quality_samples(&done->quality),
		.rate = (double)done->quality.achieved_rate / 1000,
		.top_functions = buf_str(&summary->top),
		.quality = buf_str(quality),
		.unnamed = summary->unnamed,
		.nunnamed = summary->nunnamed,
	};
	return 0;
}

/* The blobs of a result; those without an id are missing. */
struct result_blobs {
	struct blob profile, timeline, listing;
};

static const struct blob *
if_there(const struct blob *b)
{
	return *b->id ? b : NULL;
}

/* Ends the job, and queues its profile for the service's collector, in one
 * transaction. */
static int
finish_job(struct runs *c, const struct run *v, const struct job_end *end)
{
	return store_begin(c->store)
	               ?: store_end(
				  c->store,
				  job_finish(c->store, &v->ref, end)
					  ?: delivery_add_session(
						     c->store, v->ref.session));
}

static int
finish(struct runs *c, const struct run *v, const struct session_result *result,
       const struct result_blobs *blobs)
{
	struct job_end end = {"done",
	                      "",
	                      "",
	                      result,
	                      &blobs->profile,
	                      if_there(&blobs->timeline),
	                      if_there(&blobs->listing)};
	int rc = -EBUSY;

	if (v->ending == JOB_CANCEL) {
		end.state = "cancelled";
		end.error_code = "Cancelled";
		end.error_message = "cancelled on request; what was sampled "
				    "until then is kept";
	}
	for (int i = 0; i < FINISH_TRIES && rc == -EBUSY; i++)
		rc = finish_job(c, v, &end);
	return rc;
}

/* Seals the timeline; if that fails, the profile is stored without it. */
static void
seal_timeline(struct run *v, bool written, struct blob *out)
{
	int rc;

	if (!written || v->timeline.fd < 0)
		return;
	rc = blob_seal(&v->timeline, out);
	if (rc)
		log_warn("%s: timeline: %s", v->ref.session, strerror(-rc));
}

/* Stores the listing; if that fails, the profile is stored without it. */
static void
put_listing(struct runs *c, const struct run *v, int fd,
            struct blob_writer *writer, struct blob *out)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(LISTING_MAX_FILE);
	int rc;

	if (fd < 0 || !(v->may & WORKER_MAY_LIST))
		return;
	rc = lseek(fd, 0, SEEK_SET) ? -errno : fd_read_all(fd, &bytes);
	if (!rc)
		rc = blob_put(c->store, BLOB_LISTING, bytes.p, bytes.len,
		              writer, out);
	if (rc)
		log_warn("%s: listing: %s", v->ref.session, strerror(-rc));
}

static void
discard(struct runs *c, const struct result_blobs *blobs)
{
	const struct blob *all[] = {&blobs->profile, &blobs->timeline,
	                            &blobs->listing};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (if_there(all[i]))
			blob_discard(c->store, all[i]);
}

static void
take_profile(struct runs *c, struct run *v, const struct session_result *result,
             bool has_timeline, int listing_fd)
{
	CLEANUP(blob_close) struct blob_writer writer = BLOB_WRITER_INIT;
	struct result_blobs blobs = {0};
	int rc = blob_seal(&v->profile, &blobs.profile);

	if (rc) {
		runs_fail(c, v, CAPTURE_WRITE, rc);
		return;
	}
	seal_timeline(v, has_timeline, &blobs.timeline);
	put_listing(c, v, listing_fd, &writer, &blobs.listing);
	rc = finish(c, v, result, &blobs);
	if (rc) {
		discard(c, &blobs);
		log_warn("%s: %s", v->ref.session,
		         rc == -ESTALE ? "given up meanwhile" : strerror(-rc));
	} else {
		log_info("%s: %lld samples", v->ref.session,
		         (long long)result->sample_count);
	}
	runs_drop(c, v);
}

/* Stores a checkpoint; if that fails, the capture goes on. */
static void
take_checkpoint(struct runs *c, struct run *v,
                const struct session_result *result)
{
	struct blob blob;
	int rc;

	if (v->checkpoint.fd < 0)
		return;
	rc = blob_seal(&v->checkpoint, &blob);
	if (rc) {
		log_warn("%s: checkpoint: %s", v->ref.session, strerror(-rc));
		return;
	}
	rc = job_checkpoint(c->store, &v->ref, result, &blob);
	blob_close(&v->checkpoint);
	if (rc) {
		blob_discard(c->store, &blob);
		log_warn("%s: checkpoint: %s", v->ref.session, strerror(-rc));
	}
}

void
runs_take(struct runs *c, struct run *v, const struct msg_done *done,
          const int fds[static 2])
{
	CLEANUP_BUF struct buf quality = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_RUN_SUMMARY struct run_summary summary = RUN_SUMMARY_INIT;
	struct session_result result;
	struct msg_done noted = *done;
	int rc = 0;

	noted.quality.notes |= v->notes;
	if (c->findings && c->findings[CHECK_CLOCK].verdict != FINE)
		noted.quality.notes |= QUALITY_NOTE_OF(CLOCK);
	quality_left(&noted.quality, v->left.other_unit, v->left.out_of_scope,
	             v->left.too_many);
	quality_late(&noted.quality, v->late);
	if (!done->error)
		rc = runs_read_result(&noted, c->findings, v->job.service,
		                      fds[0], &summary, &quality, &result);
	if (done->checkpoint && (done->error || rc))
		blob_close(&v->checkpoint);
	else if (done->checkpoint)
		take_checkpoint(c, v, &result);
	else if (done->error || rc)
		runs_fail(c, v, rc ? CAPTURE_INTERNAL : done->error,
		          rc ? rc : done->sys_error);
	else
		take_profile(c, v, &result, done->timeline, fds[1]);
}

void
runs_checkpoint(struct runs *c, struct run *v, int64_t now_ns)
{
	int rc;

	if (v->pull || ways_of(v->ways, ENGINE_RECORDER) != v->ways ||
	    v->job.asked_seconds <= JOB_RERUN_SECONDS || v->stopping ||
	    now_ns < v->checkpoint_ns || v->checkpoint.fd >= 0)
		return;
	v->checkpoint_ns = now_ns + CHECKPOINT_NS;
	rc = blob_create(c->store, BLOB_PPROF, &v->checkpoint);
	if (!rc)
		rc = runs_send(c, v, MSG_CHECKPOINT, v->checkpoint.fd);
	if (rc) {
		blob_close(&v->checkpoint);
		log_warn("%s: checkpoint: %s", v->ref.session, strerror(-rc));
	}
}
