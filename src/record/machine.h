/* SPDX-License-Identifier: MIT */
/* Facts about this machine and this process that go into a capture. */
#ifndef THAW_RECORD_MACHINE_H
#define THAW_RECORD_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/plan.h"
#include "store/writer.h"

/* Changes with every boot; "" if unknown. */
void machine_boot_id(char *out, size_t room);
uint64_t machine_own_cpu_ns(void);
void machine_describe(struct writer *w, const struct plan *plan, const char *engine);

/* Where the kernel's code begins (_text); 0 if this user may not know. */
uint64_t machine_kernel_text(void);

#endif
