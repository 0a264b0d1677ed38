// SPDX-License-Identifier: MIT
/* query FILE REQUEST...: what the page is told, from a shell. Fails if one of them has no answer.
 */
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "query/query.h"

int main(int argc, char **argv)
{
	struct query *q = NULL;
	struct buf answer = {0};
	int rc, failed = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: %s FILE REQUEST...\n", argv[0]);
		return 2;
	}
	rc = query_open(argv[1], &q);
	while (!rc && (rc = query_step(q, 1u << 20)) > 0)
		rc = 0;
	if (rc) {
		fprintf(stderr, "%s: %s\n", argv[1], err_msg());
		query_close(q);
		return 1;
	}
	for (int i = 2; i < argc; i++) {
		failed |= query_ask(q, argv[i], &answer) != 0;
		fwrite(answer.p, 1, answer.len, stdout);
	}
	buf_done(&answer);
	query_close(q);
	return failed;
}
