/*
 * Log lines to stderr, for programs: libraries return errors instead.
 *
 * One line per call, "<N>" priority prefix when stderr is a journal
 * (JOURNAL_STREAM is set), plain "name: level: text" otherwise.
 * Source: sd-daemon(3) for the prefixes.
 */
#pragma once

#include "base/cleanup.h"

enum log_level { LOG_ERR_ = 3, LOG_WARN_ = 4, LOG_INFO_ = 6, LOG_DEBUG_ = 7 };

/* Sets the program name that begins each line, and the least urgent level that
 * is logged. */
void log_setup(const char *program, enum log_level most);
/* Reads a level: err, warn, info or debug; returns -EINVAL for any other
 * text. */
MUST_CHECK int log_level_parse(const char *text, enum log_level *out);
void log_line(enum log_level level, const char *fmt, ...) PRINTF(2, 3);

#define log_err(...)   log_line(LOG_ERR_, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN_, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO_, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG_, __VA_ARGS__)
