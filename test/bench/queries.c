// SPDX-License-Identifier: MIT
/*
 * How long queries take: queries FILE [REQUEST...]. Prints how long the capture took to load, and
 * of each request the median of nine answers, the first one apart (what it makes is kept), and how
 * large the answer is. Without requests: those that follow a selection, over the whole, a half, and
 * a hundredth of the recording.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "query/query.h"
#include "store/reader.h"

enum { TIMES = 9 };

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int ascending(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

static int measure(struct query *q, const char *request)
{
	struct buf answer = {0};
	double ms[TIMES], first = 0;
	int rc = 0;

	for (int i = -1; i < TIMES && !rc; i++) {
		double began = now_ms();

		rc = query_ask(q, request, &answer);
		*(i < 0 ? &first : &ms[i]) = now_ms() - began;
	}
	if (rc) {
		printf("%-60s %s\n", request, err_msg());
	} else {
		qsort(ms, TIMES, sizeof(*ms), ascending);
		printf("%-60s %9.2f %9.2f %10zu\n", request, ms[TIMES / 2], first, answer.len);
	}
	buf_done(&answer);
	return rc;
}

static int measure_all(struct query *q, uint64_t ns)
{
	static const char *const asked[] = {"flame?kind=cpu",
					    "flame?kind=wait",
					    "flame?kind=both",
					    "flame?kind=both&invert=1",
					    "flame?kind=both&by=thread",
					    "functions?kind=both",
					    "chart?thread=1",
					    "lockline?lock=0"};
	static const struct {
		double from, to;
	} ranges[] = {{0, 1}, {0.25, 0.75}, {0.3, 0.31}};
	char request[200];
	int rc = 0;

	for (size_t r = 0; r < sizeof(ranges) / sizeof(*ranges); r++) {
		for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
			snprintf(request, sizeof(request), "%s&from=%" PRIu64 "&to=%" PRIu64,
				 asked[i], (uint64_t)((double)ns * ranges[r].from),
				 (uint64_t)((double)ns * ranges[r].to));
			rc |= measure(q, request);
		}
	}
	rc |= measure(q, "heat?kind=wait");
	rc |= measure(q, "heat?kind=samples");
	rc |= measure(q, "find?text=lock");
	return rc;
}

static uint64_t duration(struct query *q)
{
	struct buf answer = {0};
	const char *at;
	uint64_t ns = 0;

	if (!query_ask(q, "open", &answer)) {
		at = strstr(buf_cstr(&answer), "\"duration_ns\":");
		ns = at ? strtoull(at + 14, NULL, 10) : 0;
	}
	buf_done(&answer);
	return ns;
}

int main(int argc, char **argv)
{
	struct query *q = NULL;
	double began = now_ms();
	struct reader *r = NULL;
	int rc = argc < 2 ? -1 : reader_open(argv[1], &r);

	if (!rc) {
		reader_read_ahead(r);
		q = query_new(r, argv[1]);
	}
	while (!rc && (rc = query_step(q, 1u << 20)) > 0)
		rc = 0;
	if (rc) {
		fprintf(stderr, "usage: %s FILE [REQUEST...]: %s\n", argv[0], err_msg());
		query_close(q);
		return 2;
	}
	printf("loaded in %.0f ms\n%-60s %9s %9s %10s\n", now_ms() - began, "request", "ms",
	       "first", "bytes");
	if (argc == 2)
		rc = measure_all(q, duration(q));
	for (int i = 2; i < argc; i++)
		rc |= measure(q, argv[i]);
	query_close(q);
	return rc != 0;
}
