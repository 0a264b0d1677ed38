/* SPDX-License-Identifier: MIT */
/*
 * Small perf.data files, made by hand: one thread that is sampled, and the scheduler's tracepoints
 * by formats of our own.
 */
#ifndef THAW_TEST_IMPORT_BUILD_H
#define THAW_TEST_IMPORT_BUILD_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

#define TYPE_CLOCK                                                                                 \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)
#define TYPE_SCHED                                                                                 \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW)

enum { ID_CLOCK = 11, ID_SWITCH = 12, ID_WAKING = 13 };
enum { TP_SWITCH = 100, TP_WAKING = 101 };

static const char format_switch[] =
	"name: sched_switch\nID: 100\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\n"
	"\tfield:char prev_comm[16];\toffset:4;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:20;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:24;\tsize:8;\tsigned:1;\n"
	"\tfield:char next_comm[16];\toffset:32;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t next_pid;\toffset:48;\tsize:4;\tsigned:1;\n"
	"\n"
	"print fmt: \"prev_state=%s%s\", (REC->prev_state & 0xff) ? "
	"__print_flags(REC->prev_state & 0xff, \"|\", { 0x00000001, \"S\" }, { 0x00000002, \"D\" "
	"}, "
	"{ 0x00000010, \"X\" }, { 0x00000080, \"I\" }) : \"R\", REC->prev_state & 0x100 ? \"+\" : "
	"\"\"\n";

static const char format_waking[] =
	"name: sched_waking\nID: 101\nformat:\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:char comm[16];\toffset:4;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t pid;\toffset:20;\tsize:4;\tsigned:1;\n";

static inline void b16(struct buf *b, uint16_t v)
{
	buf_put(b, &v, 2);
}

static inline void b32(struct buf *b, uint32_t v)
{
	buf_put(b, &v, 4);
}

static inline void b64(struct buf *b, uint64_t v)
{
	buf_put(b, &v, 8);
}

static inline void bzero_n(struct buf *b, size_t n)
{
	while (n--)
		buf_put_u8(b, 0);
}

static inline void btext(struct buf *b, const char *s, size_t room)
{
	char text[64] = "";

	strncpy(text, s, sizeof(text) - 1);
	buf_put(b, text, room);
}

static inline size_t rec_begin(struct buf *b, uint32_t type, uint16_t misc)
{
	size_t at = b->len;

	b32(b, type);
	b16(b, misc);
	b16(b, 0);
	return at;
}

static inline void rec_end(struct buf *b, size_t at)
{
	uint16_t size = (uint16_t)(b->len - at);

	memcpy(b->p + at + 6, &size, 2);
}

/* What follows a record that is no sample. */
static inline void rec_end_with(struct buf *b, size_t at, uint32_t pid, uint64_t ts)
{
	b32(b, pid);
	b32(b, pid);
	b64(b, ts);
	b64(b, 0); /* CPU */
	b64(b, ts ? ID_CLOCK : 0);
	rec_end(b, at);
}

static inline void rec_comm(struct buf *b, uint32_t pid, const char *name, uint64_t ts, bool exec)
{
	size_t at = rec_begin(b, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);

	b32(b, pid);
	b32(b, pid);
	btext(b, name, 16);
	rec_end_with(b, at, pid, ts);
}

static inline void rec_task(struct buf *b, uint32_t type, uint32_t pid, uint32_t ppid, uint64_t ts)
{
	size_t at = rec_begin(b, type, 0);

	b32(b, pid);
	b32(b, ppid);
	b32(b, pid);
	b32(b, ppid);
	b64(b, ts);
	rec_end_with(b, at, ppid, ts);
}

static inline void rec_mmap(struct buf *b, uint32_t pid, uint64_t addr, uint64_t len, uint64_t off,
			    const char *path, uint64_t ts)
{
	size_t at = rec_begin(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);

	b32(b, pid);
	b32(b, pid);
	b64(b, addr);
	b64(b, len);
	b64(b, off);
	bzero_n(b, 24);
	b32(b, 5);
	b32(b, 2);
	btext(b, path, 32);
	rec_end_with(b, at, pid, ts);
}

static inline void rec_sample(struct buf *b, uint64_t id, uint32_t tid, uint64_t ts, uint32_t cpu,
			      uint64_t ip)
{
	b64(b, id);
	b64(b, ip);
	b32(b, tid);
	b32(b, tid);
	b64(b, ts);
	b32(b, cpu);
	b32(b, 0);
	b64(b, 1000000);
}

static inline void rec_clock(struct buf *b, uint32_t tid, uint64_t ts, const uint64_t *chain,
			     size_t n)
{
	size_t at = rec_begin(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);

	rec_sample(b, ID_CLOCK, tid, ts, 0, chain[1]);
	b64(b, n);
	buf_put(b, chain, n * 8);
	rec_end(b, at);
}

static inline void rec_switch(struct buf *b, uint64_t ts, uint32_t cpu, uint32_t prev,
			      uint64_t state, uint32_t next)
{
	size_t at = rec_begin(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);

	rec_sample(b, ID_SWITCH, prev, ts, cpu, 0);
	b32(b, 52);
	b32(b, TP_SWITCH);
	btext(b, "out", 16);
	b32(b, prev);
	b64(b, state);
	btext(b, "in", 16);
	b32(b, next);
	rec_end(b, at);
}

static inline void rec_waking(struct buf *b, uint64_t ts, uint32_t cpu, uint32_t waker,
			      uint32_t wakee, uint8_t flags)
{
	size_t at = rec_begin(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);

	rec_sample(b, ID_WAKING, waker, ts, cpu, 0);
	b32(b, 28);
	b16(b, TP_WAKING);
	buf_put_u8(b, flags);
	buf_put_u8(b, 0);
	btext(b, "in", 16);
	b32(b, wakee);
	b32(b, 0);
	rec_end(b, at);
}

static inline void rec_round(struct buf *b)
{
	rec_end(b, rec_begin(b, 68, 0));
}

static inline void put_attr(struct buf *b, uint32_t type, uint64_t config, uint64_t sample_type)
{
	struct perf_event_attr a = {.type = type,
				    .size = sizeof(a),
				    .config = config,
				    .sample_type = sample_type,
				    .freq = type == PERF_TYPE_SOFTWARE,
				    .sample_freq = type == PERF_TYPE_SOFTWARE ? 1000 : 1,
				    .task = 1,
				    .comm = 1,
				    .sample_id_all = 1};

	buf_put(b, &a, sizeof(a));
}

static inline void put_format(struct buf *b, const char *text)
{
	b64(b, strlen(text));
	buf_put(b, text, strlen(text));
}

static inline void put_formats(struct buf *b)
{
	buf_put(b, "\027\010\104tracing", 10);
	buf_put(b, "0.6", 4);
	buf_put_u8(b, 0);
	buf_put_u8(b, 8);
	b32(b, 4096);
	buf_put(b, "header_page", 12);
	b64(b, 0);
	buf_put(b, "header_event", 13);
	b64(b, 0);
	b32(b, 0);
	b32(b, 1);
	buf_put(b, "sched", 6);
	b32(b, 2);
	put_format(b, format_switch);
	put_format(b, format_waking);
	b32(b, 0);
	b32(b, 0);
	b64(b, 0);
}

static inline void put_section(struct buf *b, size_t where, uint64_t at, uint64_t size)
{
	memcpy(b->p + where, &at, 8);
	memcpy(b->p + where + 8, &size, 8);
}

/* The file around records: with the scheduler's events, or with the clock alone. */
static inline void put_file(struct buf *b, const struct buf *records, bool sched)
{
	size_t each = sizeof(struct perf_event_attr) + 16, n = sched ? 3 : 1, ids, attrs, data, at;
	const uint64_t id[3] = {ID_CLOCK, ID_SWITCH, ID_WAKING};
	struct buf f = {0};
	uint8_t mask[32] = {0};

	mask[0] = (uint8_t)(1u << 3 | (sched ? 1u << 1 : 0));
	buf_put(b, "PERFILE2", 8);
	b64(b, 104);
	b64(b, each);
	bzero_n(b, 48);
	buf_put(b, mask, sizeof(mask));
	ids = b->len;
	buf_put(b, id, n * 8);
	attrs = b->len;
	for (size_t i = 0; i < n; i++) {
		put_attr(b, i ? PERF_TYPE_TRACEPOINT : PERF_TYPE_SOFTWARE,
			 i ? TP_SWITCH + i - 1 : 0, i ? TYPE_SCHED : TYPE_CLOCK);
		b64(b, ids + 8 * i);
		b64(b, 8);
	}
	data = b->len;
	buf_put(b, records->p, records->len);
	put_section(b, 24, attrs, n * each);
	put_section(b, 40, data, records->len);
	at = b->len;
	bzero_n(b, sched ? 32 : 16);
	if (sched) {
		put_formats(&f);
		put_section(b, at, b->len, f.len);
		buf_put(b, f.p, f.len);
		at += 16;
	}
	put_section(b, at, b->len, 12);
	b32(b, 8);
	btext(b, "host", 8);
	buf_done(&f);
}

#endif
