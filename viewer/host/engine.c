// SPDX-License-Identifier: MIT
/*
 * The engine inside of a page: what JavaScript calls of the WebAssembly module. It imports nothing.
 *
 *   p = thaw_alloc(n); the capture's bytes to memory[p]; thaw_open(p, n)
 *   while (thaw_step(events) > 0) show thaw_progress()
 *   p = thaw_alloc(length + 1); the request, ending with a zero, to memory[p]; thaw_ask(p)
 *   the answer: thaw_answer_bytes() bytes at thaw_answer(), until the next call
 *
 * What returns a negative number has left {"error": "words"} as its answer. The capture stays in
 * memory; requests are freed by thaw_ask(). A capture here is a plain one, as an exported page
 * holds it: its chunks are not compressed, and nobody checks their sums again. When memory runs out
 * the module traps, and a page must not call it again.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "query/query.h"
#include "store/inspect.h"

#define EXPORT __attribute__((visibility("default")))

static struct query *query;
static struct buf answer;

static int failed(int rc)
{
	struct json j;

	buf_clear(&answer);
	json_init_buf(&j, &answer);
	j.tight = true;
	json_obj(&j, NULL);
	json_str(&j, "error", err_msg());
	json_obj_end(&j);
	return rc;
}

EXPORT void *thaw_alloc(size_t n);
void *thaw_alloc(size_t n)
{
	return mem_alloc(n);
}

EXPORT int thaw_open(void *p, size_t n);
int thaw_open(void *p, size_t n)
{
	struct reader *r;
	int rc = reader_open_memory(p, n, READER_NO_CHECKSUMS, &r);

	if (rc)
		return failed(rc);
	query = query_new(r, "");
	return 0;
}

EXPORT int thaw_step(uint32_t events);
int thaw_step(uint32_t events)
{
	int rc = query ? query_step(query, events) : err_set(-EINVAL, "nothing is open");

	return rc < 0 ? failed(rc) : rc;
}

EXPORT double thaw_progress(void);
double thaw_progress(void)
{
	return query ? query_progress(query) : 0;
}

EXPORT int thaw_ask(char *request);
int thaw_ask(char *request)
{
	int rc = query ? query_ask(query, request, &answer)
		       : failed(err_set(-EINVAL, "nothing is open"));

	free(request);
	return rc;
}

EXPORT const void *thaw_answer(void);
const void *thaw_answer(void)
{
	return answer.p;
}

EXPORT size_t thaw_answer_bytes(void);
size_t thaw_answer_bytes(void)
{
	return answer.len;
}
