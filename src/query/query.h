/* SPDX-License-Identifier: MIT */
/*
 * A capture that answers questions: what the page asks, natively (`thaw view`) and as WebAssembly
 * (in an exported page). It is loaded once, in steps; then every answer is a lookup. Not for two
 * threads at once.
 *
 *   q = query_new(reader, path); while (query_step(q, 100000) > 0) ...; query_ask(q, "open",
 * &answer);
 */
#ifndef THAW_QUERY_QUERY_H
#define THAW_QUERY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct query;
struct reader;

/* The query owns the reader from then on; path is only shown. */
struct query *query_new(struct reader *r, const char *path);
void query_close(struct query *q);

/* Reads about so many events more. 1: there is more to do, 0: it is loaded, negative: it failed. */
int query_step(struct query *q, uint64_t events);
double query_progress(const struct query *q); /* 0 to 1 */

/*
 * The answer to `name?key=value&...`, in `ret` (emptied first). Negative if there is none; ret then
 * holds {"error": "words"}. While the capture loads, only `open` has an answer.
 */
int query_ask(struct query *q, const char *request, struct buf *ret);

/* Is the answer to this request binary (see query.def)? */
bool query_is_binary(const char *request);

/* ---- for tests ---- */

int query_open(const char *path, struct query **ret);

#endif
