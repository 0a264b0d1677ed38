/* SPDX-License-Identifier: MIT */
/*
 * One record of a perf buffer, taken apart. The bytes are the kernel's, and are bounded all the
 * same: a record that does not hold what its header promises is refused as a whole.
 *
 * Every event of thaw has sample_id_all and PERF_SAMPLE_TID|TIME|CPU, so each record tells when,
 * where and in whose context it was made; with PERF_SAMPLE_IDENTIFIER also by which event.
 */
#ifndef THAW_RING_PERF_RECORD_H
#define THAW_RING_PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor;

/* What a sample may carry beside PERF_SAMPLE_IDENTIFIER|TID|TIME|CPU. */
#define PERF_RECORD_SAMPLES                                                                        \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |           \
	 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* The registers of user mode that an unwinder starts from: bx, di, bp, sp, ip on x86-64. */
#define PERF_RECORD_REGS 0x1e2ull

#define PERF_RECORD_FRAMES 127

struct perf_sample {
	uint64_t kernel[PERF_RECORD_FRAMES]; /* addresses, leaf first */
	size_t n_kernel;
	bool user; /* the registers are there: not a thread of the kernel */
	uint64_t bx, di, bp, sp, ip;
	const uint8_t *stack; /* from sp upwards */
	uint64_t stack_len;
};

struct perf_switch {
	bool out;     /* of the CPU, else in */
	bool preempt; /* out against its will */
	bool wide;    /* the other one is told */
	uint32_t other_pid, other_tid;
};

struct perf_mmap2 {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	const uint8_t *build_id;
	size_t build_id_len;
	const char *path; /* terminated */
};

struct perf_record {
	uint32_t type; /* PERF_RECORD_* */
	uint32_t cpu;
	uint32_t pid, tid; /* of who was running; a thread that is being buried has none: -1 */
	uint64_t ts;
	uint64_t id; /* of the event, as PERF_EVENT_IOC_ID has it; 0: not told */
	union {
		struct perf_sample sample;
		struct perf_switch switched; /* SWITCH, SWITCH_CPU_WIDE */
		struct perf_mmap2 mmap;
		struct {
			uint32_t pid, ppid, tid, ptid;
		} task; /* FORK, EXIT */
		struct {
			uint32_t pid, tid;
			bool exec;
			char name[17];
		} comm;
		uint64_t lost; /* LOST, LOST_SAMPLES: how many */
	};
};

/*
 * 0, or -EPROTO for a record that is damaged. What is in it points into `data`. Types that thaw
 * does not know have their type and no more.
 */
int perf_record_parse(uint64_t sample_type, const void *data, size_t len, struct perf_record *ret);
/* Only when it was made, which is all that is needed to put it in order; 0: damaged. */
uint64_t perf_record_time(uint64_t sample_type, const void *data, size_t len);

/*
 * The copy of a stack, which ends a sample with PERF_SAMPLE_STACK_USER; NULL if there is none. The
 * cursor is bad if it does not hold what it promises.
 */
void perf_take_stack(struct cursor *c, const uint8_t **ret, uint64_t *ret_len);

#endif
