/* SPDX-License-Identifier: MIT */
/*
 * What the files of the perf.data importer share.
 *
 *   perfdata.c          the file: header, events, sections
 *   perfdata_features.c what it says about itself
 *   perfdata_read.c     its records one by one, decompressed
 *   perfdata_order.c    the same in the order of time
 *   perfdata_threads.c  the threads and processes that they are about
 *   perfdata_events.c   from there to the events of a capture
 *   perfdata_switch.c   ... those of the scheduler
 *   perfdata_offcpu.c   ... and waits that perf has measured itself
 *   perfdata_roles.c    which events are good for what
 *   perfdata_run.c      all of it together
 */
#ifndef THAW_IMPORT_PERFDATA_H
#define THAW_IMPORT_PERFDATA_H

#include <linux/perf_event.h>

#include "base/cursor.h"
#include "base/map.h"
#include "base/vec.h"
#include "import/sink.h"
#include "import/traceformat.h"
#include "ring/perf_record.h"

/* perf's own records, which the kernel does not know. */
enum pd_user_record {
	PD_HEADER_ATTR = 64,
	PD_TRACING_DATA = 66,
	PD_BUILD_ID = 67,
	PD_FINISHED_ROUND = 68,
	PD_AUXTRACE = 71,
	PD_EVENT_UPDATE = 78,
	PD_HEADER_FEATURE = 80,
	PD_COMPRESSED = 81,
	PD_COMPRESSED2 = 83,
};

/* What an event's samples mean for a capture. */
enum pd_role {
	PD_NOTHING,
	PD_SAMPLE, /* a thread was found running */
	PD_OFFCPU, /* a wait, measured by perf record --off-cpu */
	PD_SWITCH, /* sched:sched_switch, of a whole CPU */
	PD_WAKING,
	PD_FORK, /* sched:sched_process_fork */
};

struct pd_attr {
	struct perf_event_attr a;
	char name[64];
	enum pd_role role;
	const struct trace_event *format; /* of a tracepoint; NULL: not known */
	/* Places of numbers: in a sample from its start, in others from the end; 0: not there. */
	uint16_t id_at, time_at, id_back, time_back;
};

struct pd_file {
	int fd;
	const char *path;
	uint64_t size;
	uint64_t data_at, data_end;
	bool pipe;     /* its header is in its records */
	bool unsealed; /* perf did not get to write its size and features */
	VEC(struct pd_attr) attrs;
	struct map ids; /* of an event -> index of its attr */
	struct traceformats *formats;
	/* "" and 0: not known. */
	char host[256], release[256], arch[64], version[64];
	VEC(char *) command;
	uint64_t cpus;
	uint64_t last_sample; /* 0: not known */
	bool has_clock;
	struct writer_clock clock;
	struct map build_ids; /* of a path's hash -> index + 1 */
	VEC(struct pd_build_id {
		uint8_t len;
		uint8_t id[BUILD_ID_MAX];
	})
	ids_of;
};

/* fd is borrowed. */
int pd_open(const char *path, int fd, struct pd_file *f);
void pd_close(struct pd_file *f);
int pd_add_attr(struct pd_file *f, struct cursor bytes, struct pd_attr **ret);
void pd_add_id(struct pd_file *f, uint64_t id, size_t attr);
/* The attr that a record was made by; NULL: of none. */
const struct pd_attr *pd_attr_of(const struct pd_file *f, const uint8_t *rec, size_t len);
/* When it was made; 0: it has no time, or describes what was there before the recording. */
uint64_t pd_time_of(const struct pd_file *f, const uint8_t *rec, size_t len);

/* ---- perfdata_features.c ---- */

#define PD_FEATURES 256u
bool pd_wants_feature(unsigned feature);
bool pd_needs_feature(unsigned feature);
/* Fails only for damaged formats of tracepoints: thaw can do without the rest. */
int pd_take_feature(struct pd_file *f, unsigned feature, const uint8_t *data, size_t len);
int pd_take_formats(struct pd_file *f, const uint8_t *data, size_t len);
/* A record of the header, in a file of the pipe form. */
int pd_header_record(struct pd_file *f, const uint8_t *rec, size_t len);

/* ---- perfdata_read.c ---- */

/* Records lie in blocks; a block stays in memory as long as somebody holds it. */
struct pd_block {
	unsigned refs;
	unsigned queued; /* records of it that wait to be put in order */
	size_t len, room;
	uint8_t data[];
};

struct pd_reader;

struct pd_reader *pd_reader_new(struct pd_file *f);
void pd_reader_free(struct pd_reader *r);
/*
 * 1 and the next record, 0 at the end, or an error. It is valid until the next call, or as long as
 * its block is held.
 */
int pd_next(struct pd_reader *r, const uint8_t **ret, size_t *ret_len, struct pd_block **ret_block);
/* Bytes follow the file's last whole record. */
bool pd_reader_cut(const struct pd_reader *r);
double pd_reader_done(const struct pd_reader *r); /* 0 to 1 */
/* The bytes after a record that are not one (TRACING_DATA in the pipe form). */
int pd_reader_extra(struct pd_reader *r, size_t len, uint8_t **ret);
int pd_reader_skip(struct pd_reader *r, uint64_t len);
void pd_block_hold(struct pd_block *b);
void pd_block_put(struct pd_block *b);

/* ---- perfdata_order.c ---- */

typedef void pd_record_fn(void *ctx, const uint8_t *rec, size_t len, uint64_t ts);

struct pd_order;

struct pd_order *pd_order_new(pd_record_fn *fn, void *ctx);
void pd_order_free(struct pd_order *o);
void pd_order_put(struct pd_order *o, uint64_t ts, struct pd_block *b, const uint8_t *rec);
/* perf has emptied all its buffers: no later record is older than those before the last round. */
void pd_order_round(struct pd_order *o);
void pd_order_drain(struct pd_order *o);

/* ---- from records to events ---- */

struct pd_thread {
	uint32_t tid, pid;
	uint16_t cpu; /* its own number, where the file names no CPUs */
	char comm[17];
	bool told; /* the capture knows it, and its process */
	bool kernel;
	bool dying;   /* it goes off its CPU a last time */
	bool waiting; /* with these stacks */
	uint32_t kstack, ustack;
};

struct pd_cpu {
	uint32_t tid; /* PD_NOBODY: not known */
	uint64_t last_ts;
};

#define PD_NOBODY UINT32_MAX
#define PD_CPUS_MAX 8192u
#define PD_NO_TIME (~0ull << 32) /* from here on: made up by perf */

struct pd_import {
	struct pd_file *f;
	struct sink s;
	struct unwind_arrays arrays;
	struct unwind_tables *tables;
	struct map by_tid;     /* -> struct pd_thread * */
	uint32_t buried[1024]; /* tids that have ended, until later ones take their places */
	size_t n_buried;
	VEC(struct pd_cpu) cpus;
	struct pd_order *order;
	bool begun;	   /* the capture has all that was there before */
	bool scheduler;	   /* the scheduler's tracepoints tell of switches */
	bool fork_records; /* the kernel's own records tell of new threads */
	bool switch_records;
	bool no_cpus;	   /* the file does not say where threads ran: each has a CPU of its own */
	bool wide;	   /* the events are of CPUs, whichever thread runs there */
	bool has_switches; /* of one kind or another */
	bool lost_told;
	uint64_t kernel_at;	/* where the kernel's _text was; 0: not known */
	uint64_t damaged, idle; /* records that make no sense; samples of nobody */
	struct pr_copy *copy;
	struct pd_waits *waits; /* NULL: perf has measured none */
};

static inline bool pd_is_sample(const uint8_t *rec)
{
	struct perf_event_header h;

	memcpy(&h, rec, sizeof(h));
	return h.type == PERF_RECORD_SAMPLE;
}

static inline uint16_t pd_cpu_number(uint32_t cpu)
{
	return cpu < PD_CPUS_MAX ? (uint16_t)cpu : 0;
}

/* ---- perfdata_threads.c ---- */

/* Made if need be; pid 0: not known. */
struct pd_thread *pd_thread(struct pd_import *i, uint32_t tid, uint32_t pid);
struct pd_thread *pd_thread_known(const struct pd_import *i, uint32_t tid);
void pd_forget(struct pd_import *i, uint32_t tid);
void pd_process_known(struct pd_import *i, uint32_t pid);
void pd_introduce(struct pd_import *i, struct pd_thread *t, uint64_t ts);
/* Where only waits were measured, a thread that does not wait runs. */
void pd_runs(struct pd_import *i, struct pd_thread *t, uint64_t ts);
/* The recording begins: writes the threads and mappings that were there before. */
void pd_begin(struct pd_import *i, uint64_t ts);
/* The thread was current in a record, which also names its process. */
void pd_tell_thread(struct pd_import *i, uint32_t tid, uint32_t pid, uint64_t ts);
/* A name that a tracepoint tells, of a thread that has none yet. */
void pd_name_thread(struct pd_import *i, struct pd_thread *t, const char *name, uint64_t ts);
void pd_bury(struct pd_import *i, struct pd_thread *t);
struct pd_cpu *pd_cpu(struct pd_import *i, uint32_t cpu);
/* The number of the CPU that an event of this thread is on. */
uint16_t pd_cpu_of(struct pd_import *i, uint32_t cpu, uint32_t tid);
void pd_threads_free(struct pd_import *i);

/* ---- perfdata_events.c, perfdata_switch.c ---- */

void pd_stacks(struct pd_import *i, const struct perf_record *r, uint32_t *ret_k, uint32_t *ret_u);
/* A pd_record_fn. */
void pd_event(void *import, const uint8_t *rec, size_t len, uint64_t ts);
void pd_sched(struct pd_import *i, const struct pd_attr *a, const struct perf_record *r,
	      uint64_t ts);
void pd_switched(struct pd_import *i, const struct perf_record *r, uint64_t ts);
void pd_emit_switch(struct pd_import *i, uint64_t ts, uint32_t cpu, uint32_t prev, uint32_t next,
		    uint32_t state);

/* ---- perfdata_offcpu.c ---- */

/* A wait that perf has measured, as a sample. False: it is damaged. */
bool pd_wait_parse(const struct pd_attr *a, const uint8_t *rec, size_t len,
		   struct perf_record *ret);

/* Looks through the file for the starts of waits, whose samples come at their end. */
int pd_waits_scan(struct pd_import *i);
void pd_waits_free(struct pd_waits *w);
/* When the first began; UINT64_MAX: there is none. */
uint64_t pd_waits_first(const struct pd_waits *w);
/* The starts up to that moment become events. */
void pd_waits_until(struct pd_import *i, uint64_t ts);
void pd_wait_over(struct pd_import *i, const struct perf_record *r, uint64_t ts);
/* How many have no time, but are sums. */
uint64_t pd_waits_untimed(const struct pd_waits *w);
/* Skips bytes after a record that are no record. */
int pd_skip_extra(struct pd_reader *r, const uint8_t *rec, size_t len);

/* ---- perfdata_roles.c ---- */

/* event: the one whose samples are taken; NULL: the first that has some. */
int pd_choose(struct pd_import *i, const char *event);
/* The first with this role, or NULL. */
const struct pd_attr *pd_with_role(const struct pd_file *f, enum pd_role role);
/* Samples of such an event say nothing of where CPU time went. */
bool pd_is_aside(const struct pd_attr *a);
/* The rate at which an event was sampled; 0: it was not sampled by time. */
uint64_t pd_freq(const struct pd_attr *a);
/* What none of the events can show. */
uint32_t pd_unseen(const struct pd_import *i);

#endif
