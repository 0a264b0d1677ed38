// SPDX-License-Identifier: MIT
/* Where the kernel has put the code of BPF programs: the probes', and everybody else's. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/bpf_private.h"
#include "thaw.skel.h"

#define PARTS_MAX 64 /* functions of one program */
#define OTHERS_MAX 1000

static void tell_program(const struct bpf_prog_info *info, const uint64_t *at,
			 const uint32_t *bytes, engine_code_fn fn, void *arg)
{
	char name[128], tag[2 * BPF_TAG_SIZE + 1];

	for (int i = 0; i < BPF_TAG_SIZE; i++)
		snprintf(tag + 2 * i, 3, "%02x", info->tag[i]);
	snprintf(name, sizeof(name), "bpf_prog_%s_%s [bpf]", tag, info->name);
	for (uint32_t i = 0; i < info->nr_jited_ksyms && i < PARTS_MAX; i++)
		fn(arg, at[i], at[i] + bytes[i], name);
}

static void tell_code(int fd, engine_code_fn fn, void *arg)
{
	uint64_t at[PARTS_MAX];
	uint32_t bytes[PARTS_MAX];
	struct bpf_prog_info info = {.jited_ksyms = (uintptr_t)at,
				     .nr_jited_ksyms = PARTS_MAX,
				     .jited_func_lens = (uintptr_t)bytes,
				     .nr_jited_func_lens = PARTS_MAX};
	__u32 len = sizeof(info);

	/* The kernel reports 0 functions where it hides them from us. */
	if (!bpf_obj_get_info_by_fd(fd, &info, &len) &&
	    info.nr_jited_ksyms == info.nr_jited_func_lens)
		tell_program(&info, at, bytes, fn, arg);
}

void bpf_own_code(struct engine *e, engine_code_fn fn, void *arg)
{
	struct bpf_program *prog;
	__u32 id = 0;

	bpf_object__for_each_program(prog, bpf(e)->skel->obj)
	{
		if (bpf_program__autoload(prog))
			tell_code(bpf_program__fd(prog), fn, arg);
	}
	/* Others' may stand in our stacks. Only root may ask for them. */
	for (int n = 0; n < OTHERS_MAX && !bpf_prog_get_next_id(id, &id); n++) {
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue;
		tell_code(fd, fn, arg);
		close(fd);
	}
}
