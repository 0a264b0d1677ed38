/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The system calls of futexes, by their numbers and arguments. */
#ifndef THAW_PROBE_FUTEX_CALL_H
#define THAW_PROBE_FUTEX_CALL_H

#include "probe/lib/call.bpf.h"

/* include/uapi/linux/futex.h */
#define CMD_WAIT 0u
#define CMD_WAKE 1u
#define CMD_REQUEUE 3u
#define CMD_CMP_REQUEUE 4u
#define CMD_WAKE_OP 5u
#define CMD_LOCK_PI 6u
#define CMD_UNLOCK_PI 7u
#define CMD_WAIT_BITSET 9u
#define CMD_WAKE_BITSET 10u
#define CMD_WAIT_REQUEUE_PI 11u
#define CMD_CMP_REQUEUE_PI 12u
#define CMD_LOCK_PI2 13u
#define CMD_BIT(cmd) (1u << (cmd))
#define CMDS_THAT_SLEEP                                                                            \
	(CMD_BIT(CMD_WAIT) | CMD_BIT(CMD_LOCK_PI) | CMD_BIT(CMD_WAIT_BITSET) |                     \
	 CMD_BIT(CMD_WAIT_REQUEUE_PI) | CMD_BIT(CMD_LOCK_PI2))
#define CMDS_THAT_WAKE                                                                             \
	(CMD_BIT(CMD_WAKE) | CMD_BIT(CMD_REQUEUE) | CMD_BIT(CMD_CMP_REQUEUE) |                     \
	 CMD_BIT(CMD_WAKE_OP) | CMD_BIT(CMD_UNLOCK_PI) | CMD_BIT(CMD_WAKE_BITSET) |                \
	 CMD_BIT(CMD_CMP_REQUEUE_PI))
#define OP_BITS 0x1ffu
#define OP_PRIVATE 128u /* FUTEX_PRIVATE_FLAG; of the newer calls: FUTEX2_PRIVATE */

static __always_inline bool cmd_among(__u32 op, __u32 set)
{
	__u32 cmd = op & FUTEX_OP_CMD;

	return cmd < 32 && (set >> cmd & 1);
}

/* The newer calls have flags in place of an operation. */
static __always_inline __u32 op_of_flags(__u32 flags)
{
	return flags & OP_PRIVATE ? OP_PRIVATE : FUTEX_OP_SHARED;
}

static __always_inline bool op_is_private(__u32 op)
{
	return op & OP_PRIVATE;
}

static __always_inline __u32 way_of(__u32 nr, __u32 op)
{
	if (nr == ARCH_CALL_futex_wait)
		return FUTEX_WAY_WAIT2;
	if (nr == ARCH_CALL_futex_wake)
		return FUTEX_WAY_WAKE2;
	if (nr != ARCH_CALL_futex)
		return FUTEX_WAY_NONE;
	switch (op & FUTEX_OP_CMD) {
	case CMD_WAIT:
		return FUTEX_WAY_WAIT;
	case CMD_WAIT_BITSET:
		return FUTEX_WAY_WAIT_BITSET;
	case CMD_WAKE:
		return FUTEX_WAY_WAKE;
	case CMD_WAKE_BITSET:
		return FUTEX_WAY_WAKE_BITSET;
	}
	return FUTEX_WAY_NONE;
}

#endif
