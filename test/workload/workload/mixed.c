// SPDX-License-Identifier: MIT
/* mixed: what a busy machine does, all at once. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/base.h"
#include "lib/party.h"
#include "workload/workload.h"

#define MIXED_SPINNERS 1
#define MIXED_SLEEPERS 5
#define MIXED_PIPES 3
#define MIXED_CONDS 3

struct mixer_box {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool full, over;
};

struct mixer {
	struct truth *truth;
	const char *kind;
	size_t index;
	uint64_t end_ns;
	int in, out; /* pipe pairs: a thread's own two ends */
	bool first;
	struct mixer_box *box; /* condition variable pairs */
};

static void mixer_begin(struct mixer *m)
{
	char name[24];

	snprintf(name, sizeof(name), "%s-%zu", m->kind, m->index);
	truth_begin(m->truth, name);
}

static void *mixed_spinner(void *arg)
{
	struct mixer *m = arg;

	mixer_begin(m);
	fact(&m->truth->facts, "burns", (double)spin_until(m->end_ns));
	truth_end(m->truth);
	return NULL;
}

static void *mixed_sleeper(void *arg)
{
	struct mixer *m = arg;
	uint64_t seed = m->index + 3, sleeps = 0, slept = 0;

	mixer_begin(m);
	for (; now_ns() < m->end_ns; sleeps++) {
		slept += sleep_ns(100 * NSEC_PER_USEC + random_below(&seed, 4900 * NSEC_PER_USEC));
		burn();
	}
	fact(&m->truth->facts, "sleeps", (double)sleeps);
	fact(&m->truth->facts, "slept_ns", (double)slept);
	truth_end(m->truth);
	return NULL;
}

/* Between two hand-overs there is a little work of changing length, as in a real pipeline. */
static void *mixed_pipe(void *arg)
{
	struct mixer *m = arg;
	uint64_t seed = m->index + 5, trips = 0;
	struct ping p = {m->in, m->out, 'x'};

	mixer_begin(m);
	while (m->first ? now_ns() < m->end_ns : p.byte == 'x') {
		chain_8(m->first ? ping : pong, &p);
		for (uint64_t i = random_below(&seed, 17); i; i--)
			burn();
		trips++;
	}
	if (m->first)
		byte_send(m->out, 'q');
	fact(&m->truth->facts, "round_trips", (double)(m->first ? trips : trips - 1));
	truth_end(m->truth);
	return NULL;
}

/* One fills the box, the other one empties it. */
static void *mixed_cond(void *arg)
{
	struct mixer *m = arg;
	uint64_t seed = m->index + 7, turns = 0;
	bool over = false;

	mixer_begin(m);
	while (!over) {
		pthread_mutex_lock(&m->box->lock);
		while (m->box->full == m->first && !m->box->over)
			pthread_cond_wait(&m->box->changed, &m->box->lock);
		m->box->full = m->first;
		m->box->over |= now_ns() >= m->end_ns;
		over = m->box->over;
		pthread_cond_signal(&m->box->changed);
		pthread_mutex_unlock(&m->box->lock);
		for (uint64_t i = random_below(&seed, 23); i; i--)
			burn();
		turns++;
	}
	fact(&m->truth->facts, "turns", (double)turns);
	truth_end(m->truth);
	return NULL;
}

struct mixed {
	struct truth *truths;
	uint64_t end_ns;
	struct mixer mixers[MIXED_SPINNERS + MIXED_SLEEPERS + 2 * MIXED_PIPES + 2 * MIXED_CONDS];
	pthread_t threads[MIXED_SPINNERS + MIXED_SLEEPERS + 2 * MIXED_PIPES + 2 * MIXED_CONDS];
	size_t n;
};

static void mixed_add(struct mixed *all, void *(*fn)(void *), struct mixer m)
{
	size_t i = all->n++;

	m.truth = &all->truths[i];
	m.end_ns = all->end_ns;
	all->mixers[i] = m;
	thread_start(&all->threads[i], fn, &all->mixers[i]);
}

static void mixed_add_pairs(struct mixed *all, struct mixer_box *boxes)
{
	for (size_t i = 0; i < MIXED_PIPES; i++) {
		int to[2], fro[2];

		if (pipe2(to, O_CLOEXEC) || pipe2(fro, O_CLOEXEC))
			die("cannot make a pipe: %s", strerror(errno));
		mixed_add(all, mixed_pipe,
			  (struct mixer){.kind = "pipe",
					 .index = 2 * i,
					 .first = true,
					 .in = fro[0],
					 .out = to[1]});
		mixed_add(all, mixed_pipe,
			  (struct mixer){
				  .kind = "pipe", .index = 2 * i + 1, .in = to[0], .out = fro[1]});
	}
	for (size_t i = 0; i < 2 * MIXED_CONDS; i++)
		mixed_add(all, mixed_cond,
			  (struct mixer){.kind = "cond",
					 .index = i,
					 .first = i % 2 == 0,
					 .box = &boxes[i / 2]});
}

void case_mixed(const struct args *a)
{
	struct mixer_box boxes[MIXED_CONDS];
	struct mixed all = {.end_ns = 0};
	struct disk disk = {.count = 0};
	pthread_t reader;
	int fd = temp_file(&disk.fd, &disk.direct);
	double vol = 0, invol = 0;

	all.truths = truth_room(ARRAY_LEN(all.mixers) + 1);
	all.end_ns = now_ns() + arg_seconds(a);
	for (size_t i = 0; i < MIXED_CONDS; i++)
		boxes[i] = (struct mixer_box){.lock = PTHREAD_MUTEX_INITIALIZER,
					      .changed = PTHREAD_COND_INITIALIZER};
	for (size_t i = 0; i < MIXED_SPINNERS; i++)
		mixed_add(&all, mixed_spinner, (struct mixer){.kind = "spin", .index = i});
	for (size_t i = 0; i < MIXED_SLEEPERS; i++)
		mixed_add(&all, mixed_sleeper, (struct mixer){.kind = "sleep", .index = i});
	mixed_add_pairs(&all, boxes);
	disk.truth = &all.truths[all.n];
	disk.end_ns = all.end_ns;
	thread_start(&reader, reader_main, &disk);
	for (size_t i = 0; i < all.n; i++)
		pthread_join(all.threads[i], NULL);
	pthread_join(reader, NULL);
	for (size_t i = 0; i <= all.n; i++) {
		vol += (double)all.truths[i].total.vol;
		invol += (double)all.truths[i].total.invol;
	}
	fact(&run.facts, "vol", vol);
	fact(&run.facts, "invol", invol);
	close(disk.fd);
	close(fd);
}
