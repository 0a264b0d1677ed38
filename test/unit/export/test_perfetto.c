// SPDX-License-Identifier: MIT
/*
 * Any events in any order, sane for the most part, as a capture of a busy or broken machine may
 * hold them: the switches of a CPU in a Perfetto trace still form a chain, every slice has an end
 * and every flow two. Before the waking of an interrupt there is a switch on its CPU, without which
 * its reader drops it. A thread is on a CPU exactly as long as the model says that it ran; and
 * never longer where events contradict each other so much that the model has two threads on one
 * CPU.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "export/export.h"
#include "model/load.h"
#include "store/reader.h"
#include "store/writer.h"
#include "wire/loss.h"

extern const struct exporter export_perfetto;

enum { CPUS = 3, TIDS = 7, ROUNDS = 400, EVENTS = 80 };
#define T0 5000000ull

static uint64_t seed;

static uint32_t rnd(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

/* Bytes of a message. */
struct bytes {
	const uint8_t *p, *end;
};

struct field {
	unsigned number;
	uint64_t val;	 /* a number */
	struct bytes in; /* or a message */
};

static uint64_t varint(struct bytes *s)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		assert_true(s->p < s->end && shift < 64);
		v |= (uint64_t)(*s->p & 0x7f) << shift;
		if (!(*s->p++ & 0x80))
			return v;
	}
}

static bool next(struct bytes *s, struct field *ret)
{
	uint64_t key, len;

	*ret = (struct field){0};
	if (s->p == s->end)
		return false;
	key = varint(s);
	ret->number = (unsigned)(key >> 3);
	if ((key & 7) == 0) {
		ret->val = varint(s);
		return true;
	}
	len = (key & 7) == 1 ? 8 : varint(s);
	assert_true((key & 7) == 1 || (key & 7) == 2);
	assert_true(len <= (uint64_t)(s->end - s->p));
	ret->in = (struct bytes){s->p, s->p + len};
	if ((key & 7) == 1)
		memcpy(&ret->val, s->p, 8);
	s->p += len;
	return true;
}

static uint64_t get(struct bytes s, unsigned number)
{
	struct field f;
	uint64_t v = 0;

	while (next(&s, &f))
		if (f.number == number)
			v = f.val;
	return v;
}

static struct bytes sub(struct bytes s, unsigned number)
{
	struct bytes found = {0};
	struct field f;

	while (next(&s, &f))
		if (f.number == number)
			found = f.in;
	return found;
}

/* A switch, and its place in the file: those of one moment stay in this order. */
struct change {
	uint64_t ts, cpu, prev, next;
	size_t place;
};

/* A waking in the compact form. */
struct woken {
	uint64_t ts, cpu, flags;
	size_t place;
};

struct trace {
	VEC(struct change) changes;
	VEC(struct woken) woken;
	uint64_t begins, ends, flows, flow_ends;
	size_t places;
};

/* All columns of it have as many rows. */
static void take_compact(struct trace *t, struct bytes compact, uint64_t cpu)
{
	struct bytes times = sub(compact, 7), flags = sub(compact, 12);
	struct bytes others[] = {sub(compact, 8), sub(compact, 9), sub(compact, 10),
				 sub(compact, 11)};
	uint64_t ts = 0;

	while (times.p < times.end) {
		ts += varint(&times);
		for (unsigned i = 0; i < 4; i++)
			varint(&others[i]);
		vec_push(&t->woken, (struct woken){ts, cpu, varint(&flags), t->places++});
	}
	for (unsigned i = 0; i < 4; i++)
		assert_true(others[i].p == others[i].end);
	assert_true(flags.p == flags.end);
}

/* Those in the compact form are read first. */
static void take_events(struct trace *t, struct bytes bundle)
{
	struct bytes compact = sub(bundle, 4);
	uint64_t cpu = get(bundle, 1);
	struct field f;

	if (compact.p)
		take_compact(t, compact, cpu);
	while (next(&bundle, &f)) {
		struct bytes sw = f.number == 2 ? sub(f.in, 4) : (struct bytes){0};

		if (sw.p)
			vec_push(&t->changes, (struct change){get(f.in, 1), cpu, get(sw, 2),
							      get(sw, 6), t->places++});
	}
}

static void take_track_event(struct trace *t, struct bytes ev)
{
	uint64_t type = get(ev, 9);

	t->begins += type == 1;
	t->ends += type == 2;
	t->flows += get(ev, 47) != 0;
	t->flow_ends += get(ev, 48) != 0;
}

static int by_time(const void *pa, const void *pb)
{
	const struct change *a = pa, *b = pb;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->ts != b->ts)
		return a->ts < b->ts ? -1 : 1;
	return a->place < b->place ? -1 : 1;
}

/* Sums of time on a CPU, by tid. */
static void check_chain(struct trace *t, uint64_t sums[TIDS + 1])
{
	const struct change *before = NULL;

	if (t->changes.n)
		qsort(t->changes.v, t->changes.n, sizeof(*t->changes.v), by_time);
	for (size_t i = 0; i < t->changes.n; i++) {
		const struct change *c = &t->changes.v[i];
		bool same = before && before->cpu == c->cpu;

		assert_int_equal(c->prev, same ? before->next : 0);
		assert_true(c->prev <= TIDS && c->next <= TIDS);
		if (same)
			sums[c->prev] += c->ts - before->ts;
		if (before && !same)
			assert_int_equal(before->next, 0);
		before = c;
	}
	if (before)
		assert_int_equal(before->next, 0);
}

/* The changes are in order. */
static void check_wakings(const struct trace *t)
{
	for (size_t i = 0; i < t->woken.n; i++) {
		const struct woken *w = &t->woken.v[i];
		const struct change *on = NULL;

		for (size_t k = 0; k < t->changes.n; k++) {
			const struct change *c = &t->changes.v[k];

			if (c->cpu == w->cpu &&
			    (c->ts < w->ts || (c->ts == w->ts && c->place < w->place)))
				on = c;
		}
		assert_non_null(on);
		assert_true(w->flags & 0x18);
	}
}

struct runs {
	uint64_t until[CPUS];
	bool clash; /* two on one CPU */
};

/* Those of one CPU come in the order of their ends. */
static int on_interval(void *arg, const struct interval *iv)
{
	struct runs *r = arg;

	if (iv->kind != INTERVAL_RUNNING)
		return 0;
	r->clash |= iv->start < r->until[iv->cpu];
	r->until[iv->cpu] = iv->end;
	return 0;
}

static bool clashes(const struct export_job *job)
{
	struct runs r = {0};
	struct walk walk = {.interval = on_interval, .arg = &r};

	assert_int_equal(model_walk(job->model, job->reader, &walk), 0);
	return r.clash;
}

/* Says whether the model was of one mind. */
static bool check(const struct export_job *job, const uint8_t *p, size_t len)
{
	const struct timeline *tl = &job->model->timeline;
	uint64_t sums[TIDS + 1] = {0}, want[TIDS + 1] = {0};
	struct bytes all = {p, p + len};
	struct trace t = {0};
	struct field packet, f;
	bool clash = clashes(job);

	while (next(&all, &packet)) {
		assert_int_equal(packet.number, 1);
		while (next(&packet.in, &f)) {
			if (f.number == 1)
				take_events(&t, f.in);
			else if (f.number == 11)
				take_track_event(&t, f.in);
		}
	}
	check_chain(&t, sums);
	check_wakings(&t);
	for (size_t i = 0; i < tl->threads.n; i++)
		if (export_wants(job, tl->threads.v[i]))
			want[tl->threads.v[i]->tid] += tl->threads.v[i]->total[INTERVAL_RUNNING];
	for (unsigned tid = 1; tid <= TIDS; tid++)
		assert_true(sums[tid] == want[tid] || (clash && sums[tid] < want[tid]));
	assert_int_equal(t.begins, t.ends);
	assert_int_equal(t.flows, t.flow_ends);
	vec_done(&t.changes);
	vec_done(&t.woken);
	return !clash;
}

static uint32_t any_state(void)
{
	static const uint32_t states[] = {0,
					  STATE_INTERRUPTIBLE,
					  STATE_UNINTERRUPTIBLE | STATE_IOWAIT,
					  STATE_PREEMPTED,
					  STATE_GONE,
					  STATE_ZOMBIE,
					  STATE_PARKED,
					  STATE_UNINTERRUPTIBLE | STATE_NOLOAD};
	uint32_t s = states[rnd(8)];

	return s | (rnd(40) ? 0 : STATE_PREV_OUT) | (rnd(40) ? 0 : STATE_NEXT_OUT);
}

/* Who was switched to last. */
static uint32_t on[CPUS];

/* Mostly from who is there to who is nowhere. */
static struct event any_switch(uint16_t cpu)
{
	uint32_t prev = rnd(20) ? on[cpu] : rnd(TIDS + 1), next = rnd(TIDS + 1);

	for (unsigned i = 0; i < CPUS; i++)
		if (on[i] == next && rnd(30))
			next = 0;
	on[cpu] = next;
	return (struct event){.kind = EV_SWITCH, .switch_ = {prev, next, any_state()}};
}

static struct event any_event(uint16_t cpu)
{
	uint32_t a = rnd(8) && on[cpu] ? on[cpu] : 1 + rnd(TIDS), b = rnd(TIDS + 1);

	switch (rnd(40)) {
	case 0:
		return (struct event){.kind = EV_FORK, .fork = {a, 1, b, "born"}};
	case 1:
		return (struct event){.kind = EV_THREAD, .thread = {a, 1, rnd(3), 0, "old"}};
	case 2:
		return (struct event){.kind = EV_EXIT, .exit = {a, 0}};
	case 3:
		return (struct event){.kind = EV_EXEC, .exec = {a, 1 + rnd(TIDS), "other"}};
	case 4:
		return (struct event){.kind = EV_LEAVE, .leave = {a}};
	case 5:
		return (struct event){.kind = EV_LOST,
				      .lost = {LOSS_RING_FULL, 0, 1, rnd(3) * 1000}};
	case 6:
		return (struct event){.kind = EV_FUTEX,
				      .futex = {a, 0x1000 + 64 * rnd(2), 0x80, 2, 2, 0, b, 1, 0}};
	case 7:
		return (struct event){.kind = EV_KLOCKED,
				      .klocked = {a, 0x2000, KLOCK_MUTEX, b, 0, 0, rnd(3000)}};
	case 8:
		return (struct event){.kind = EV_KLOCK, .klock = {a, 0x2000, KLOCK_MUTEX, b}};
	case 9:
		return (struct event){.kind = EV_SAMPLE, .sample = {a, 0, 0}};
	case 10 ... 19:
		return (struct event){
			.kind = EV_WAKING,
			.waking = {a, b, (uint8_t)(rnd(5) | (rnd(2) ? WAKE_RELEASE : 0)), 0, 0}};
	default:
		return any_switch(cpu);
	}
}

static void make(const char *path)
{
	struct writer *w;
	uint64_t ts = T0;

	memset(on, 0, sizeof(on));
	assert_int_equal(writer_open(path, &(struct writer_opts){.no_sync = true}, &w), 0);
	writer_meta(w, "engine", "bpf");
	if (rnd(2))
		writer_meta(w, "kernel", "6.1.0");
	if (rnd(2))
		writer_event(w, &(struct event){.ts = ts, .kind = EV_MARK, .mark = {MARK_BEGIN}});
	for (unsigned i = 0; i < EVENTS; i++) {
		uint16_t cpu = (uint16_t)rnd(CPUS);
		struct event ev = any_event(cpu);

		ts += rnd(4) ? rnd(1000) : 0;
		ev.ts = rnd(80) ? ts : ts - rnd(500);
		ev.cpu = ev.kind == EV_LOST && rnd(2) ? EVENT_ALL_CPUS : cpu;
		writer_event(w, &ev);
		if (!rnd(200))
			writer_event(
				w, &(struct event){.ts = ts, .kind = EV_MARK, .mark = {MARK_END}});
	}
	assert_int_equal(writer_close(w, END_DONE), 0);
}

static unsigned one_round(const char *path, const char *thread)
{
	struct model_opts opts = {.from = rnd(2) ? rnd(20000) : 0};
	struct export_job job = {.title = "t", .kinds = EXPORT_ALL, .thread = thread};
	struct summary *summary;
	char *text = NULL;
	size_t len = 0;
	unsigned exact = 0;

	opts.to = rnd(2) ? opts.from + 1 + rnd(20000) : 0;
	assert_int_equal(reader_open(path, &job.reader), 0);
	assert_int_equal(model_load(job.reader, path, &opts, &job.model), 0);
	/* No thread of that tid: the verb ends there. */
	if (!summary_new(job.model, &(struct summary_opts){.thread = thread}, &summary)) {
		job.summary = summary;
		job.out = open_memstream(&text, &len);
		assert_int_equal(export_perfetto.run(&job), 0);
		fclose(job.out);
		exact = check(&job, (const uint8_t *)text, len);
		free(text);
		summary_free(summary);
	}
	model_free(job.model);
	reader_close(job.reader);
	return exact;
}

static void any_events(void **state)
{
	char path[] = "/tmp/thaw-test-XXXXXX";
	int fd = mkstemp(path);
	unsigned exact = 0;

	assert_true(fd >= 0);
	close(fd);
	for (unsigned round = 1; round <= ROUNDS; round++) {
		seed = round;
		make(path);
		exact += one_round(path, NULL);
		exact += one_round(path, NULL);
		exact += one_round(path, "3");
	}
	unlink(path);
	assert_true(exact > ROUNDS);
}

/* Events, with a fact; what comes of it. The caller frees it. */
static struct bytes export_these(const struct event *events, size_t n, const char *key,
				 const char *value, char **ret_text)
{
	struct export_job job = {.title = "t", .kinds = EXPORT_ALL};
	char path[] = "/tmp/thaw-test-XXXXXX";
	struct summary *summary;
	struct writer *w;
	size_t len;

	close(mkstemp(path));
	assert_int_equal(writer_open(path, &(struct writer_opts){.no_sync = true}, &w), 0);
	writer_meta(w, key, value);
	writer_event(w, &(struct event){.ts = T0, .kind = EV_MARK, .mark = {MARK_BEGIN}});
	for (size_t i = 0; i < n; i++)
		writer_event(w, &events[i]);
	assert_int_equal(writer_close(w, END_DONE), 0);
	assert_int_equal(reader_open(path, &job.reader), 0);
	assert_int_equal(model_load(job.reader, path, &(struct model_opts){0}, &job.model), 0);
	assert_int_equal(summary_new(job.model, &(struct summary_opts){0}, &summary), 0);
	job.summary = summary;
	job.out = open_memstream(ret_text, &len);
	assert_int_equal(export_perfetto.run(&job), 0);
	fclose(job.out);
	summary_free(summary);
	model_free(job.model);
	reader_close(job.reader);
	unlink(path);
	return (struct bytes){(const uint8_t *)*ret_text, (const uint8_t *)*ret_text + len};
}

/* The same of one switch to thread 1 and one from it. */
static struct bytes export_two(const char *key, const char *value, char **ret_text)
{
	static const struct event two[] = {
		{.ts = T0 + 5, .kind = EV_SWITCH, .switch_ = {0, 1, 0}},
		{.ts = T0 + 9, .kind = EV_SWITCH, .switch_ = {1, 0, 1}},
	};

	return export_these(two, ARRAY_LEN(two), key, value, ret_text);
}

/* Perfetto's clock goes on while the machine is suspended, the capture's does not. */
static void clocks(void **state)
{
	uint64_t asleep = 7000000000, seen[7] = {0}, packets = 0;
	char *text;
	struct bytes all = export_two("asleep_ns", "7000000000", &text);
	struct field packet, f;
	struct trace t = {0};

	while (next(&all, &packet)) {
		struct bytes snapshot = sub(packet.in, 6), events = sub(packet.in, 1);

		if (!packets++)
			assert_int_equal(get(packet.in, 8), T0 + asleep);
		while (snapshot.p && next(&snapshot, &f))
			if (f.number == 1)
				seen[get(f.in, 1)] = get(f.in, 2);
		if (events.p)
			take_events(&t, events);
	}
	assert_int_equal(seen[6], T0 + asleep); /* BOOTTIME */
	assert_int_equal(seen[3], T0);		/* MONOTONIC */
	assert_int_equal(t.changes.v[0].ts, T0 + asleep);
	assert_int_equal(t.changes.v[1].ts, T0 + 5 + asleep);
	assert_int_equal(t.changes.v[2].ts, T0 + 9 + asleep);
	vec_done(&t.changes);
	vec_done(&t.woken);
	free(text);
}

/* Of a capture that does not know on which CPUs its threads ran, there are none. */
static void no_cpus(void **state)
{
	char *text;
	struct bytes all = export_two("unseen", "cpus", &text);
	struct field packet;

	while (next(&all, &packet))
		assert_null(sub(packet.in, 1).p);
	free(text);
}

/*
 * A thread ends the others of its process and takes over the leader's tid, with a new program. To
 * Perfetto the leader goes on: with a second track, or a name after its end, it would be two.
 */
static void one_leader(void **state)
{
	static const struct event events[] = {
		{.ts = T0 + 1, .kind = EV_THREAD, .thread = {1, 1, STATE_INTERRUPTIBLE, 0, "old"}},
		{.ts = T0 + 1, .kind = EV_THREAD, .thread = {2, 1, STATE_INTERRUPTIBLE, 0, "any"}},
		{.ts = T0 + 20, .kind = EV_WAKING, .waking = {1, 2, WAKE_TASK, 0, 0}},
		{.ts = T0 + 20, .kind = EV_SWITCH, .switch_ = {0, 1, 0}},
		{.ts = T0 + 30, .kind = EV_EXIT, .exit = {1, 0}},
		{.ts = T0 + 31, .kind = EV_SWITCH, .switch_ = {1, 2, STATE_GONE}},
		{.ts = T0 + 40, .kind = EV_EXEC, .exec = {1, 2, "new"}},
		{.ts = T0 + 50, .kind = EV_SWITCH, .switch_ = {1, 0, STATE_INTERRUPTIBLE}},
		{.ts = T0 + 70, .kind = EV_SWITCH, .switch_ = {0, 1, 0}},
		{.ts = T0 + 80, .kind = EV_EXIT, .exit = {1, 0}},
		{.ts = T0 + 81, .kind = EV_SWITCH, .switch_ = {1, 0, STATE_GONE}},
		{.ts = T0 + 90, .kind = EV_MARK, .mark = {MARK_END}},
	};
	uint64_t tracks = 0, freed = 0;
	struct field packet, f;
	char *text;
	struct bytes all = export_these(events, ARRAY_LEN(events), "engine", "bpf", &text);

	while (next(&all, &packet)) {
		struct bytes thread = sub(sub(packet.in, 60), 4), bundle = sub(packet.in, 1);

		if (thread.p && get(thread, 2) == 1) {
			tracks++;
			assert_int_equal(get(packet.in, 8), T0);
		}
		while (bundle.p && next(&bundle, &f))
			if (f.number == 2 && get(sub(f.in, 240), 2) == 1) {
				freed++;
				assert_int_equal(get(f.in, 1), T0 + 82);
			}
	}
	assert_int_equal(tracks, 1);
	assert_int_equal(freed, 1);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_events),
		cmocka_unit_test(clocks),
		cmocka_unit_test(no_cpus),
		cmocka_unit_test(one_leader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
