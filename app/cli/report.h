/*
 * A check as a report for a pipeline: a comment in Markdown, a test in JUnit's
 * XML, or the server's JSON. Names from profiled programs are escaped: in a
 * comment, they mention nobody and form no links.
 */
#pragma once

#include "base/json.h"

/* True for a name of a format: "markdown", "junit" or "json". */
bool report_format_valid(const char *format);
/*
 * Appends the report on a reply to CheckBaseline.
 *   Source   GitHub Flavored Markdown 0.29, 6.3; the schema of JUnit reports
 *            that Jenkins' plugin xunit reads
 */
void report_write(const json_t *check, const char *format, struct buf *out);
