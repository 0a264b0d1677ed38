// SPDX-License-Identifier: MIT
/* plain FILE > COPY: a capture without compression, as exported pages hold it. */
#include <stdio.h>

#include "base/err.h"
#include "store/plain.h"

static int put(void *arg, const void *p, size_t n)
{
	return fwrite(p, 1, n, arg) == n ? 0 : err_set(-EIO, "cannot be written");
}

int main(int argc, char **argv)
{
	struct reader *r = NULL;
	int rc;

	if (argc != 2) {
		fprintf(stderr, "usage: %s FILE > COPY\n", argv[0]);
		return 2;
	}
	rc = reader_open(argv[1], &r);
	rc = rc ? rc : plain_copy(r, put, stdout);
	if (rc)
		fprintf(stderr, "%s: %s\n", argv[1], err_msg());
	reader_close(r);
	return rc != 0;
}
