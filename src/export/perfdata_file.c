// SPDX-License-Identifier: MIT
/*
 * The header, the two events, and the features that say what machine it was. Sizes are known before
 * the first byte is written: the file may be a pipe.
 */
#include <linux/perf_event.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "export/perfdata.h"
#include "store/reader.h"
#include "wire/meta.h"

#define HEAD_BYTES 104u
#define ATTR_BYTES 128u /* PERF_ATTR_SIZE_VER7 */
#define NAME_ALIGN 64u

enum perf_feature {
	HOSTNAME = 3,
	OSRELEASE = 4,
	ARCH = 6,
	NRCPUS = 7,
	CMDLINE = 11,
	EVENT_DESC = 12,
	CLOCKID = 23,
	CLOCK_DATA = 29,
};

static void put_u32(struct buf *b, uint32_t v)
{
	buf_put(b, &v, sizeof(v));
}

static void put_u64(struct buf *b, uint64_t v)
{
	buf_put(b, &v, sizeof(v));
}

static void put_zeros(struct buf *b, size_t n)
{
	while (n--)
		buf_put_u8(b, 0);
}

static void perfdata_file_put_text(struct buf *b, const char *s)
{
	size_t n = strlen(s) + 1, room = (n + NAME_ALIGN - 1) / NAME_ALIGN * NAME_ALIGN;

	put_u32(b, (uint32_t)room);
	buf_put(b, s, n);
	put_zeros(b, room - n);
}

/* ---- events ---- */

static size_t n_events(const struct export_job *job)
{
	return perfdata_cpu(job) + perfdata_waits(job);
}

static void put_attr(struct buf *b, const struct export_job *job, bool cpu)
{
	uint64_t hz = job->model->facts.freq_hz;
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.size = ATTR_BYTES,
		.config = cpu ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = perfdata_sample(job),
		.inherit = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.build_id = 1,
	};

	_Static_assert(sizeof(a) >= ATTR_BYTES, "an event is this long at least");
	a.freq = cpu && hz;
	if (a.freq)
		a.sample_freq = hz;
	else
		a.sample_period = 1;
	buf_put(b, &a, ATTR_BYTES);
}

struct put_event {
	bool cpu;
	uint64_t id;
	const char *name;
};

static size_t events(const struct export_job *job, struct put_event ret[2])
{
	size_t n = 0;

	if (perfdata_cpu(job))
		ret[n++] = (struct put_event){true, PERFDATA_CPU, "cpu-clock"};
	if (perfdata_waits(job))
		ret[n++] = (struct put_event){false, PERFDATA_WAIT, "offcpu-time"};
	return n;
}

static uint64_t data_at(const struct export_job *job)
{
	return HEAD_BYTES + n_events(job) * (ATTR_BYTES + 16 + 8);
}

/* ---- features ---- */

static void put_command(struct buf *b, const struct facts *f)
{
	put_u32(b, (uint32_t)f->command.n);
	for (size_t i = 0; i < f->command.n; i++)
		perfdata_file_put_text(b, f->command.v[i]);
}

static void put_event_desc(struct buf *b, const struct export_job *job)
{
	struct put_event e[2];
	size_t n = events(job, e);

	put_u32(b, (uint32_t)n);
	put_u32(b, ATTR_BYTES);
	for (size_t i = 0; i < n; i++) {
		put_attr(b, job, e[i].cpu);
		put_u32(b, 1);
		perfdata_file_put_text(b, e[i].name);
		put_u64(b, e[i].id);
	}
}

/* False: the capture does not tell. */
static bool put_feature(struct buf *b, const struct export_job *job, enum perf_feature feature)
{
	const struct facts *f = &job->model->facts;
	const char *machine = reader_meta(job->reader, META_MACHINE, 0);

	buf_clear(b);
	switch (feature) {
	case HOSTNAME:
		perfdata_file_put_text(b, f->host);
		return f->host[0];
	case OSRELEASE:
		perfdata_file_put_text(b, f->kernel);
		return f->kernel[0];
	case ARCH:
		perfdata_file_put_text(b, machine ? machine : "");
		return machine && machine[0];
	case NRCPUS:
		put_u32(b, (uint32_t)f->cpus);
		put_u32(b, (uint32_t)f->cpus);
		return f->cpus;
	case CMDLINE:
		put_command(b, f);
		return f->command.n;
	case EVENT_DESC:
		put_event_desc(b, job);
		return true;
	case CLOCKID:
		put_u64(b, 1); /* ns */
		return true;
	case CLOCK_DATA:
		put_u32(b, 1); /* version */
		put_u32(b, CLOCK_MONOTONIC);
		put_u64(b, f->unix_ns);
		put_u64(b, f->mono_ns);
		return f->unix_ns;
	}
	return false;
}

static const enum perf_feature features[] = {HOSTNAME, OSRELEASE,  ARCH,    NRCPUS,
					     CMDLINE,  EVENT_DESC, CLOCKID, CLOCK_DATA};

void perfdata_head(const struct export_job *job, uint64_t data_bytes)
{
	uint8_t mask[32] = {0};
	struct buf b = {0};
	struct put_event e[2];
	size_t n = events(job, e);

	for (size_t i = 0; i < ARRAY_LEN(features); i++)
		if (put_feature(&b, job, features[i]))
			mask[features[i] / 8] |= (uint8_t)(1u << features[i] % 8);
	buf_clear(&b);
	buf_put(&b, "PERFILE2", 8);
	put_u64(&b, HEAD_BYTES);
	put_u64(&b, ATTR_BYTES + 16);
	put_u64(&b, HEAD_BYTES + n * 8);
	put_u64(&b, n * (ATTR_BYTES + 16));
	put_u64(&b, data_at(job));
	put_u64(&b, data_bytes);
	put_zeros(&b, 16); /* a section of the past */
	buf_put(&b, mask, sizeof(mask));
	for (size_t i = 0; i < n; i++)
		put_u64(&b, e[i].id);
	for (size_t i = 0; i < n; i++) {
		put_attr(&b, job, e[i].cpu);
		put_u64(&b, HEAD_BYTES + i * 8);
		put_u64(&b, 8);
	}
	fwrite(b.p, 1, b.len, job->out);
	buf_done(&b);
}

void perfdata_tail(const struct export_job *job, uint64_t data_bytes)
{
	uint64_t at = data_at(job) + data_bytes;
	struct buf table = {0}, all = {0}, b = {0};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(features); i++)
		n += put_feature(&b, job, features[i]);
	at += n * 16;
	for (size_t i = 0; i < ARRAY_LEN(features); i++) {
		if (!put_feature(&b, job, features[i]))
			continue;
		put_u64(&table, at + all.len);
		put_u64(&table, b.len);
		buf_put(&all, b.p, b.len);
	}
	fwrite(table.p, 1, table.len, job->out);
	fwrite(all.p, 1, all.len, job->out);
	buf_done(&table);
	buf_done(&all);
	buf_done(&b);
}
