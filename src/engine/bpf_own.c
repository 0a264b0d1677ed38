// SPDX-License-Identifier: MIT
/* Where the kernel has put the probes' code. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "engine/bpf_private.h"
#include "thaw.skel.h"

#define PARTS_MAX 64 /* functions of one program */

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

void bpf_own_code(struct engine *e, engine_code_fn fn, void *arg)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, bpf(e)->skel->obj)
	{
		uint64_t at[PARTS_MAX];
		uint32_t bytes[PARTS_MAX];
		struct bpf_prog_info info = {.jited_ksyms = (uintptr_t)at,
					     .nr_jited_ksyms = PARTS_MAX,
					     .jited_func_lens = (uintptr_t)bytes,
					     .nr_jited_func_lens = PARTS_MAX};
		__u32 len = sizeof(info);

		/* The kernel reports 0 functions where it hides them from us. */
		if (bpf_program__autoload(prog) &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len) &&
		    info.nr_jited_ksyms == info.nr_jited_func_lens)
			tell_program(&info, at, bytes, fn, arg);
	}
}
