/*
 * /api/v1/debug-files: the bytes are stored as they came. Nothing here parses
 * them.
 */
#include "store/debug_file.h"

#include "endpoint/call.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

static void
put_file(struct buf *out, const struct debug_file *f)
{
	json_put_text(out, "id", f->id);
	json_put_text(out, "name", f->name);
	json_put_text(out, "buildId", f->build_id);
	json_put_text(out, "goBuildId", f->go_id);
	json_put_text(out, "htlhash", f->htlhash);
	json_put_text(out, "state", f->state);
	json_put_int(out, "bytes", f->bytes);
	json_put_text(out, "createdBy", f->created_by);
	json_put_time(out, "createdAt", f->created_ms);
	json_put_time(out, "lastUsedAt", f->used_ms);
}

static int
answer_file(struct call *c, const char *id)
{
	CLEANUP_DEBUG_FILE struct debug_file f = {0};
	int rc = debug_file_get(&c->env->store, c->caller.tenant, id, &f);

	if (rc)
		return fail_store(c, rc);
	put_file(answer_json(c), &f);
	return answer_end(c);
}

static int
add(struct call *c, const struct debug_file *f, const struct blob *b,
    char id[static ID_MAX])
{
	CLEANUP_BUF struct buf detail = BUF_INIT(BUF_MAX_SMALL);
	struct store *s = &c->env->store;

	json_open(&detail, NULL, '{');
	json_put_text(&detail, "buildId", f->build_id);
	json_put_text(&detail, "name", f->name);
	json_close(&detail, '}');
	return store_begin(s)
	               ?: audit_end(c, debug_file_add(s, f, b, id), id,
	                            buf_str(&detail));
}

/* Stores the bytes, which may take time, before the database is locked. */
static int
store_file(struct call *c, const struct debug_file *f, char id[static ID_MAX])
{
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;
	struct store *s = &c->env->store;
	struct blob b;
	int stored, rc = blob_put(s, BLOB_DEBUG, c->req->body, c->req->body_len,
	                          &w, &b);

	if (rc)
		return fail_store(c, rc);
	rc = call_go_on(c) ?: call_begin(c);
	if (!rc) {
		stored = add(c, f, &b, id);
		rc = stored ? fail_store(c, stored) : 0;
	}
	if (rc)
		blob_discard(s, &b);
	return rc;
}

int
debug_file_post(struct call *c)
{
	const struct debug_file f = {
		.tenant = (char *)c->caller.tenant,
		.name = (char *)param_text(c, P_PushDebugFile_name),
		.build_id = (char *)param_text(c, P_PushDebugFile_buildId),
		.go_id = (char *)param_text(c, P_PushDebugFile_goBuildId),
		.htlhash = (char *)param_text(c, P_PushDebugFile_htlhash),
		.created_by = (char *)c->caller.id,
	};
	char id[ID_MAX];

	if (c->req->body_len < sizeof(Elf64_Ehdr) ||
	    memcmp(c->req->body, ELFMAG, SELFMAG) != 0)
		return fail(c, InvalidDebugFile, "it is not an ELF file");
	return store_file(c, &f, id) ? -1 : answer_file(c, id);
}

int
debug_file_list_get(struct call *c)
{
	CLEANUP_DEBUG_FILES struct debug_file_list l = {0};
	struct page page = PAGE_OF(c, ListDebugFiles);
	struct buf *out;
	int rc = debug_file_list(&c->env->store, c->caller.tenant,
	                         param_text(c, P_ListDebugFiles_buildId), page,
	                         &l);

	if (rc)
		return page_fail(c, rc, page.cursor);
	out = page_begin(c);
	for (size_t i = 0; i < l.n; i++) {
		json_open(out, NULL, '{');
		put_file(out, &l.items[i]);
		json_close(out, '}');
	}
	return page_end(c, l.next);
}

int
debug_file_remove(struct call *c)
{
	const char *id = param_text(c, P_DeleteDebugFile_debugFileId);
	struct store *s = &c->env->store;
	const char *tenant = c->caller.tenant;
	int rc = store_begin(s)
	                 ?: audit_end(c, debug_file_delete(s, tenant, id), id,
	                              "{}");

	return rc ? fail_id(c, rc, P_DeleteDebugFile_debugFileId)
	          : answer_empty(c, c->route->status);
}
