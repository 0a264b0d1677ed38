/* SPDX-License-Identifier: MIT */
/*
 * One record of a perf buffer or a perf.data file, taken apart. What it holds depends on what its
 * event was asked for. Nothing in it is believed: a record that does not hold what its header
 * promises is refused as a whole.
 *
 * Every event of thaw has sample_id_all and PERF_SAMPLE_TID|TIME|CPU, so each record tells when,
 * where and in whose context it was made; with PERF_SAMPLE_IDENTIFIER also by which event.
 */
#ifndef THAW_RING_PERF_RECORD_H
#define THAW_RING_PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_event_attr;

/* What thaw's own samples may carry beside PERF_SAMPLE_IDENTIFIER|TID|TIME|CPU. */
#define PERF_RECORD_SAMPLES                                                                        \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |           \
	 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* The registers of user mode that an unwinder starts from. */
struct perf_regs {
	uint64_t bx, di, bp, sp, ip;
};

struct perf_sample {
	uint64_t ip, period;
	const uint8_t *chain; /* u64s, not aligned, with marks between them: see perf_chain() */
	uint64_t n_chain;
	const uint8_t *raw; /* of a tracepoint */
	uint32_t n_raw;
	bool user; /* it has registers: not a kernel thread */
	struct perf_regs regs;
	const uint8_t *stack; /* from sp upwards */
	uint64_t stack_len;
};

struct perf_switch {
	bool out;     /* of the CPU, else in */
	bool preempt; /* it was preempted */
	bool wide;    /* it names the other thread */
	uint32_t other_pid, other_tid;
};

struct perf_mmap {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint64_t dev, inode, generation; /* inode 0: no file, or MMAP, which does not tell */
	uint32_t prot;
	const char *path; /* terminated */
	/*
	 * In the place of device, inode and generation, if the event asked for build ids. The mark
	 * alone says nothing: the kernel leaves it on the records of other readers, too (see
	 * bpf_events.c).
	 */
	const uint8_t *build_id; /* NULL: no mark */
	size_t build_id_len;
};

struct perf_record {
	uint32_t type; /* PERF_RECORD_* */
	uint16_t misc; /* PERF_RECORD_MISC_* */
	uint32_t cpu;
	uint32_t pid, tid; /* of the thread that ran; -1: already reaped */
	uint64_t ts;
	uint64_t id; /* of the event, as PERF_EVENT_IOC_ID has it; 0: not known */
	union {
		struct perf_sample sample;
		struct perf_switch switched; /* SWITCH, SWITCH_CPU_WIDE */
		struct perf_mmap mmap;	     /* MMAP, MMAP2 */
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

/* What thaw's own events ask for: records of that sample_type, and their context on every one. */
struct perf_event_attr perf_record_attr(uint64_t sample_type);

/*
 * 0, or -EPROTO for a record that is damaged. Its pointers lead into `data`. Of unknown types only
 * the type and the context are set. What the event did not ask for is 0.
 */
int perf_record_parse(const struct perf_event_attr *a, const void *data, size_t len,
		      struct perf_record *ret);
/* Only its time, which is enough to put it in order; 0: damaged. */
uint64_t perf_record_time(const struct perf_event_attr *a, const void *data, size_t len);

/* The addresses of a sample's call chain in the kernel, or in user mode, leaf first. */
size_t perf_chain(const struct perf_record *r, bool kernel, uint64_t *ret, size_t max);

#endif
