/*
 * The profiles of a tenant as Grafana sees them: sets of labels.
 *
 * A subject has the labels service_name and host (unless a client pushed it),
 * those of its series, and those of its type: __profile_type__, __name__,
 * __type__, __unit__, __period_type__, __period_unit__. Other labels that begin
 * with "__" are not shown.
 */
#pragma once

#include "base/json.h"
#include "ids.h"
#include "selector.h"
#include "store/window.h"

struct subject {
	const char *service, *host; /* borrowed; host "": pushed */
	const struct type *type;
	json_t *labels;
};

struct subjects {
	struct series_list series;
	struct subject *items;
	size_t n;
};
#define CLEANUP_SUBJECTS CLEANUP(subjects_done)
void subjects_done(struct subjects *s);

/*
 * Finds the subjects of a tenant that any of n selectors lets pass; all if n
 * is 0. type NULL: of any type.
 *   Errors   those of series_list_taken()
 */
MUST_CHECK int
subjects_find(struct store *s, const char *tenant, const struct type *type,
              const struct selector *by, size_t n, struct subjects *out);
/* Makes the subject of a series or session. The caller frees its labels. */
struct subject subject_make(const char *service, const struct type *type,
                            const char *host, const char *labels);
/* Returns the value of a label, "" if there is none; part is memory for it. */
const char *subject_label(const struct subject *s, const char *name,
                          char part[static ID_PART_MAX]);
/* True if all matchers let the subject pass. */
bool subject_passes(const struct subject *s, const struct selector *by);
/* Calls each() with the name of every label of the subject. */
void subject_each_label(const struct subject *s,
                        void (*each)(void *to, const char *name), void *to);
/* True for the name of a label that decides to which host a profile belongs. */
bool subject_is_host(const char *label);
