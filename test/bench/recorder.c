// SPDX-License-Identifier: MIT
/*
 * What the recorder pays for an event: recorder CPUS SWITCHES FILE. A simulator plays the probes of
 * so many CPUs under a mixed load (pipes, sleepers, locks) and fills their rings; the real code
 * empties them: ring, order, collector, store, file. Prints an object of JSON: CPU time an event of
 * the thread that empties the rings and of the one that writes, bytes, and events lost: those that
 * did not get into a ring, or are not in the file.
 *
 * The clock is simulated, so that the same records come at the same times in every run. Between two
 * looks at the rings other memory is walked over: a recorder that wakes up finds its caches used.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "collect/collect.h"
#include "ring/order.h"
#include "store/reader.h"
#include "wire/ring.h"

enum {
	THREADS = 24, /* a CPU */
	KSTACKS = 3,  /* a thread */
	USTACKS = 4,
	FRAMES = 12,
	SALT = 0x7468,
	FIRST_TID = 3 << 20,
};
#define SWITCH_NS 66000		       /* from one switch of a CPU to the next, on average */
#define LOOK_NS (40 * NSEC_PER_MSEC)   /* as record/session.c does, at most */
#define LOOK_EVENTS 20000	       /* the same */
#define WINDOW_NS (20 * NSEC_PER_MSEC) /* the same */
#define SAMPLE_NS (NSEC_PER_SEC / 99)
#define OTHERS_BYTES (4u << 20)

/* What a thread does when it stops running. */
struct habit {
	uint32_t state, call;
	bool futex; /* it sleeps on one */
	bool irq;   /* an interrupt wakes it */
	bool brief; /* its waits are too short for stacks */
};
static const struct habit habits[] = {
	{.state = 1, .call = 1 | 1 << 10, .brief = true},	  /* read() of a pipe */
	{.state = 1, .call = 2 | 1 << 10},			  /* write() to a pipe */
	{.state = 1, .call = 203, .futex = true},		  /* futex() */
	{.state = 1, .call = 203, .futex = true},		  /* futex() */
	{.state = 1, .call = 231, .irq = true},			  /* clock_nanosleep() */
	{.state = 2 | 1 << 16, .call = 1 | 3 << 10, .irq = true}, /* read() of a file */
};

struct sim_thread {
	uint32_t tid;
	uint64_t kstack[KSTACKS], ustack[USTACKS];
	bool told[KSTACKS + USTACKS];
};

struct sim_cpu {
	struct ring_head *ring;
	uint64_t now, next_sample;
	unsigned running;
	struct sim_thread threads[THREADS];
};

struct sim {
	struct sim_cpu *cpus;
	unsigned n;
	uint64_t ring_bytes, random;
	uint32_t pid; /* of all threads */
	uint64_t made[EV_KINDS];
	uint32_t words[1024]; /* the futexes */
};

static uint64_t random_next(struct sim *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random;
}

static bool one_in(struct sim *s, unsigned of_1000)
{
	return random_next(s) % 1000 < of_1000;
}

/* Times of a real machine: most are short, some are long, and their last digits are noise. */
static uint64_t some_ns(struct sim *s, uint64_t mean)
{
	uint64_t a = random_next(s) % mean, b = random_next(s) % mean;

	return a / 2 + (b * b / mean) * 9 / 4;
}

/* Commits a record that is whole but for its header. */
static void emit(struct sim *s, struct sim_cpu *c, uint32_t kind, void *rec, uint32_t len)
{
	uint64_t pos = ring_reserve(c->ring, s->ring_bytes, len);
	uint8_t *to = (uint8_t *)c->ring + RING_HEAD + (pos & (s->ring_bytes - 8));

	if (pos == RING_FULL || pos == RING_CONTENDED)
		return;
	((struct pr_hdr *)rec)->ts = c->now;
	memcpy(to + 8, (uint8_t *)rec + 8, len - 8);
	ring_commit((__u64 *)to, ring_header(pos, SALT, kind, len));
}

static void emit_event(struct sim *s, struct sim_cpu *c, unsigned event, uint32_t kind, void *rec,
		       uint32_t len)
{
	emit(s, c, kind, rec, len);
	s->made[event]++;
	c->now += 200 + random_next(s) % 256;
}

static uint64_t sim_stack(struct sim *s, struct sim_cpu *c, struct sim_thread *t, bool user)
{
	unsigned skewed = (unsigned)(random_next(s) % 16 * (random_next(s) % 16) / 16);
	unsigned i = skewed * (user ? USTACKS : KSTACKS) / 16;
	uint64_t id = user ? t->ustack[i] : t->kstack[i];
	struct pr_stack rec = {.id = id, .n = FRAMES};
	uint64_t from = user ? (uintptr_t)sim_stack : 0xffffffff81000000ull;

	if (t->told[user ? KSTACKS + i : i])
		return id;
	t->told[user ? KSTACKS + i : i] = true;
	for (unsigned k = 0; k < FRAMES; k++)
		rec.ip[k] = from + (id >> (k + 8)) % 1024;
	emit(s, c, PR_STACK, &rec, PR_STACK_LEN(FRAMES));
	return id;
}

static void sim_waking(struct sim *s, struct sim_cpu *c, struct sim_thread *wakee, bool irq,
		       bool release)
{
	struct sim_thread *cur = &c->threads[c->running];
	struct pr_waking r = {.wakee = wakee->tid,
			      .waker = cur->tid,
			      .ctx = irq ? WAKE_HARDIRQ : WAKE_TASK | (release ? WAKE_RELEASE : 0),
			      .waker_pid = s->pid};
	bool stacks = !irq && one_in(s, 600);

	if (stacks) {
		r.kstack = sim_stack(s, c, cur, false);
		r.ustack = sim_stack(s, c, cur, true);
	}
	emit_event(s, c, EV_WAKING, stacks ? PR_WAKING_LONG : PR_WAKING, &r,
		   stacks ? sizeof(r) : PR_WAKING_SHORT);
}

static void sim_futex(struct sim *s, struct sim_cpu *c, struct sim_thread *t)
{
	uint32_t at = (t->tid / 4 * 8 + 512 * one_in(s, 200)) % 1024;
	struct pr_futex r = {.tid = t->tid,
			     .pid = s->pid,
			     .addr = (uintptr_t)&s->words[at],
			     .op = 128,
			     .val = 2,
			     .word = {2, 0, t->tid ^ 1, 1, 0}};

	emit_event(s, c, EV_FUTEX, PR_FUTEX, &r, sizeof(r));
}

static void sim_sample(struct sim *s, struct sim_cpu *c, struct sim_thread *t, unsigned event)
{
	struct pr_sample r = {.tid = t->tid,
			      .pid = s->pid,
			      .kstack = sim_stack(s, c, t, false),
			      .ustack = sim_stack(s, c, t, true)};

	emit_event(s, c, event, event == EV_WAIT ? PR_WAIT : PR_SAMPLE, &r, sizeof(r));
}

/* The thread that runs wakes another, mostly the one that it always wakes, and makes room for it.
 */
static void sim_switch(struct sim *s, struct sim_cpu *c)
{
	unsigned i = one_in(s, 850) ? c->running ^ 1 : (unsigned)(random_next(s) % THREADS);
	struct sim_thread *prev = &c->threads[c->running], *next = &c->threads[i];
	const struct habit *h = &habits[c->running / 2 % ARRAY_LEN(habits)];
	const struct habit *of_next = &habits[i / 2 % ARRAY_LEN(habits)];
	struct pr_switch r = {.prev = prev->tid, .next = next->tid};

	c->now += some_ns(s, SWITCH_NS);
	if (c->now >= c->next_sample) {
		sim_sample(s, c, prev, EV_SAMPLE);
		c->next_sample += SAMPLE_NS;
	}
	if (one_in(s, 820))
		sim_waking(s, c, next, of_next->irq, of_next->futex);
	if (one_in(s, 950)) { /* otherwise it is preempted */
		r.state = h->state;
		r.call = h->call;
		if (h->futex)
			sim_futex(s, c, prev);
	}
	emit_event(s, c, EV_SWITCH, PR_SWITCH, &r, sizeof(r));
	c->running = i;
	if (!of_next->brief && one_in(s, 680))
		sim_sample(s, c, next, EV_WAIT);
}

static struct ring_head *ring_new(uint64_t size)
{
	void *p = mmap(NULL, RING_HEAD + size + RING_SLACK, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void sim_fork(struct sim *s, struct sim_cpu *c, const struct sim_thread *t)
{
	struct pr_task r = {
		.tid = t->tid, .pid = s->pid, .other = s->pid, .code = s->pid, .comm = "simulated"};

	emit(s, c, PR_FORK, &r, sizeof(r));
}

static bool sim_init(struct sim *s, unsigned n, uint64_t from)
{
	uint64_t size = 8u << 20;

	while (size > 256u << 10 && size * n > 64u << 20) /* as engine/bpf_load.c does */
		size /= 2;
	*s = (struct sim){.n = n,
			  .ring_bytes = size,
			  .random = 88172645463325252ull,
			  .pid = (uint32_t)getpid()};
	s->cpus = mem_zalloc(n * sizeof(*s->cpus));
	for (unsigned i = 0; i < n; i++) {
		struct sim_cpu *c = &s->cpus[i];

		*c = (struct sim_cpu){.ring = ring_new(size), .now = from};
		c->next_sample = from + SAMPLE_NS * (i + 1) / n;
		if (!c->ring)
			return false;
		for (unsigned k = 0; k < THREADS; k++) {
			struct sim_thread *t = &c->threads[k];

			t->tid = FIRST_TID + i * THREADS + k;
			/* Threads of one program wait at the same places. */
			for (unsigned j = 0; j < KSTACKS; j++)
				t->kstack[j] = map_mix(1 + k / 2 * KSTACKS + j);
			for (unsigned j = 0; j < USTACKS; j++)
				t->ustack[j] = map_mix(1001 + k / 2 * USTACKS + j);
			sim_fork(s, c, t);
		}
	}
	return true;
}

static void sim_run(struct sim *s, uint64_t until)
{
	for (unsigned i = 0; i < s->n; i++)
		while (s->cpus[i].now < until)
			sim_switch(s, &s->cpus[i]);
}

/* ---- the recorder ---- */

static struct sim sim;

static bool watched(struct engine *e, uint32_t tid)
{
	return true;
}

static void watch(struct engine *e, uint32_t tid, bool on)
{
}

static void losses(struct engine *e, struct engine_losses *ret)
{
	*ret = (struct engine_losses){0};
}

static uint64_t open_loss(struct engine *e, size_t source)
{
	return 0;
}

static const struct engine_ops ops = {.name = "simulated",
				      .watch = watch,
				      .watched = watched,
				      .losses = losses,
				      .open_loss = open_loss};

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static void walk_over(uint8_t *others)
{
	for (size_t i = 0; i < OTHERS_BYTES; i += 64)
		others[i]++;
}

struct result {
	uint64_t recorder_ns, disk_ns, events, bytes, in_file[EV_KINDS];
};

static int count_events(const char *path, struct result *res)
{
	const struct event *ev;
	struct reader *r;
	int rc = reader_open(path, &r);

	if (rc)
		return rc;
	while ((rc = reader_next_ref(r, &ev)) > 0)
		res->in_file[ev->kind]++;
	res->bytes = reader_info(r)->file_bytes;
	reader_close(r);
	return rc;
}

static int run(unsigned n, uint64_t switches, const char *path, struct scout *scout,
	       struct result *res)
{
	const uint32_t self = (uint32_t)getpid();
	struct plan plan = {.scope = SCOPE_PROCESS, .ids = &self, .n_ids = 1, .no_inherit = true};
	struct source **sources = mem_zalloc(n * sizeof(*sources));
	struct engine engine = {.ops = &ops, .sources = sources, .n_sources = n};
	uint64_t now = clock_mono_ns(), own = 0, before, all, step = LOOK_NS;
	uint8_t *others = mem_zalloc(OTHERS_BYTES);
	struct collector *collector;
	struct order *order;
	struct writer *w;
	int rc = writer_open(path, &(struct writer_opts){.no_sync = true}, &w);

	if (rc)
		return rc;
	if (!sim_init(&sim, n, now))
		return err_set(-ENOMEM, "no memory for the rings");
	for (unsigned i = 0; i < n; i++)
		sources[i] = source_bpf_new(sim.cpus[i].ring, sim.ring_bytes, SALT, (uint16_t)i);
	order = order_new(sources, n, WINDOW_NS);
	collector = collector_new(&plan, &engine, w, scout);
	collector_begin(collector, now);
	while (step > LOOK_EVENTS * (uint64_t)SWITCH_NS / n / 3)
		step /= 2;
	all = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	while (sim.made[EV_SWITCH] < switches) {
		now += step;
		sim_run(&sim, now);
		walk_over(others);
		before = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
		order_run(order, now, collector_record, collector);
		collector_settle(collector);
		collector_passed(collector, now - WINDOW_NS);
		writer_tick(w, now);
		own += cpu_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	}
	before = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	order_drain(order, collector_record, collector);
	rc = writer_flush(w, true);
	own += cpu_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	res->recorder_ns = own;
	res->disk_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns(CLOCK_THREAD_CPUTIME_ID) - all;
	collector_losses(collector, order_late(order));
	order_free(order);
	rc = writer_close(w, END_DONE);
	collector_free(collector);
	for (unsigned i = 0; i < n; i++) {
		source_close(sources[i]);
		munmap(sim.cpus[i].ring, RING_HEAD + sim.ring_bytes + RING_SLACK);
	}
	free(sources);
	free(sim.cpus);
	free(others);
	return rc ? rc : count_events(path, res);
}

static void print(unsigned n, const struct result *r)
{
	static const unsigned shown[] = {EV_SWITCH, EV_WAKING, EV_SAMPLE, EV_WAIT, EV_FUTEX};
	uint64_t made = 0, lost = 0;

	for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
		made += sim.made[shown[i]];
		lost += sim.made[shown[i]] - r->in_file[shown[i]];
	}
	printf("{\"cpus\": %u, \"events\": %" PRIu64 ", \"switches\": %" PRIu64
	       ", \"lost\": %" PRIu64 ", \"recorder_ns\": %" PRIu64 ", \"disk_ns\": %" PRIu64
	       ", \"bytes\": %" PRIu64 "}\n",
	       n, made, sim.made[EV_SWITCH], lost, r->recorder_ns, r->disk_ns, r->bytes);
}

int main(int argc, char **argv)
{
	unsigned n = argc == 4 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	struct result res = {0};
	struct scout *scout;
	int rc = -EINVAL;

	if (!n || n > 1024) {
		fprintf(stderr, "usage: %s CPUS SWITCHES FILE\n", argv[0]);
		return 2;
	}
	scout = scout_new();
	if (scout)
		rc = run(n, strtoull(argv[2], NULL, 10), argv[3], scout, &res);
	scout_free(scout);
	if (rc) {
		fprintf(stderr, "%s: %s\n", argv[0], err_msg());
		return 1;
	}
	print(n, &res);
	return 0;
}
