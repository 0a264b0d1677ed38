// SPDX-License-Identifier: MIT
/* Reads which threads sleep now from the iterator of probe/asleep.bpf.c. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/bpf_private.h"

#define READ_BYTES (256u << 10)

static void asleep_read_all(struct engine *e, int fd, engine_asleep_fn fn, void *arg)
{
	char *buf = mem_alloc(READ_BYTES);
	size_t have = 0;
	ssize_t n;

	while ((n = read(fd, buf + have, READ_BYTES - have)) > 0 ||
	       (n < 0 && (errno == EINTR || errno == EAGAIN))) {
		size_t at = 0;

		engine_beat(e);
		have += n > 0 ? (size_t)n : 0;
		for (; have - at >= sizeof(struct pr_asleep); at += sizeof(struct pr_asleep)) {
			struct pr_asleep r;

			memcpy(&r, buf + at, sizeof(r));
			fn(arg, &r);
		}
		have -= at;
		memmove(buf, buf + at, have);
	}
	free(buf);
}

/* Reports no thread if the kernel has no such iterator, or no memory. */
void bpf_asleep(struct engine *e, engine_asleep_fn fn, void *arg)
{
	struct bpf_program *prog = bpf(e)->skel->progs.thaw_asleep;
	struct bpf_link *link;
	int fd;

	if (!bpf_program__autoload(prog))
		return;
	link = bpf_program__attach_iter(prog, NULL);
	if (!link)
		return;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd >= 0) {
		asleep_read_all(e, fd, fn, arg);
		close(fd);
	}
	bpf_link__destroy(link);
}
