// SPDX-License-Identifier: MIT
/*
 * Any requests to any capture: lines of requests, an empty line, and the bytes of a capture, whose
 * checksums nobody looks at. Each is asked for before it is loaded, too.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "query/query.h"
#include "store/inspect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A few bytes can stand for a million equal events: enough of them is enough. */
enum { EVENTS_MAX = 20000, REQUESTS_MAX = 64 };

static void ask_all(struct query *q, const char *requests)
{
	char *text = mem_strdup(requests), *at = text, *line;
	struct buf answer = {0};

	for (unsigned i = 0; i < REQUESTS_MAX && (line = strsep(&at, "\n")); i++) {
		int rc = query_ask(q, line, &answer);

		if (rc > 0 || (rc && memcmp(answer.p, "{\"error\":", 9)))
			abort();
		(void)query_is_binary(line);
	}
	buf_done(&answer);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memmem(data, size, "\n\n", 2) : NULL;
	struct reader *r = NULL;
	struct query *q;
	char *requests;
	int rc;

	if (!end)
		return 0;
	requests = mem_strndup((const char *)data, (size_t)(end - data));
	end += 2;
	if (!reader_open_memory(end, size - (size_t)(end - data), READER_NO_CHECKSUMS, &r)) {
		q = query_new(r, "fuzz");
		ask_all(q, "open\nat?thread=0&ts=0");
		rc = query_step(q, EVENTS_MAX);
		if (rc > 0)
			rc = query_step(q, EVENTS_MAX);
		ask_all(q, requests);
		query_close(q);
	}
	free(requests);
	return 0;
}
