// SPDX-License-Identifier: MIT
/*
 * What the page is told, from a shell. Fails if a request has no answer.
 *
 *   query FILE REQUEST...   the answers, one after the other
 *   query FILE              reads requests, one a line; a line with the length before each answer
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "query/query.h"

static int answer_lines(struct query *q, struct buf *answer)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0) {
		line[strcspn(line, "\n")] = '\0';
		(void)query_ask(q, line, answer);
		printf("%zu\n", answer->len);
		fwrite(answer->p, 1, answer->len, stdout);
		fflush(stdout);
	}
	free(line);
	return 0;
}

static int answer_words(struct query *q, char **requests, struct buf *answer)
{
	int failed = 0;

	for (; *requests; requests++) {
		failed |= query_ask(q, *requests, answer) != 0;
		fwrite(answer->p, 1, answer->len, stdout);
	}
	return failed;
}

int main(int argc, char **argv)
{
	struct query *q = NULL;
	struct buf answer = {0};
	int rc;

	if (argc < 2) {
		fprintf(stderr, "usage: %s FILE [REQUEST...]\n", argv[0]);
		return 2;
	}
	rc = query_open(argv[1], &q);
	while (!rc && (rc = query_step(q, 1u << 20)) > 0)
		rc = 0;
	if (rc)
		fprintf(stderr, "%s: %s\n", argv[1], err_msg());
	else
		rc = argc > 2 ? answer_words(q, argv + 2, &answer) : answer_lines(q, &answer);
	buf_done(&answer);
	query_close(q);
	return rc != 0;
}
