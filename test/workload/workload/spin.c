// SPDX-License-Identifier: MIT
/* spin, preempt: threads that never wait. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "lib/base.h"
#include "lib/party.h"
#include "workload/workload.h"

struct spinner {
	struct truth *truth;
	char name[24];
	pthread_barrier_t *start;
	uint64_t length_ns;
	ssize_t cpu; /* -1: any */
};

static void *spinner_main(void *arg)
{
	struct spinner *s = arg;
	uint64_t burns;

	if (s->cpu >= 0)
		pin((size_t)s->cpu);
	pthread_barrier_wait(s->start);
	truth_begin(s->truth, s->name);
	burns = spin_until(now_ns() + s->length_ns);
	fact(&s->truth->facts, "burns", (double)burns);
	truth_end(s->truth);
	return NULL;
}

static void spinners_run(size_t n, uint64_t length_ns, ssize_t cpu)
{
	struct truth *truths = truth_room(n);
	struct spinner *s = calloc(n, sizeof(*s));
	pthread_t *threads = calloc(n, sizeof(*threads));
	pthread_barrier_t start;

	if (!n || !s || !threads)
		die("cannot run %zu spinners", n);
	pthread_barrier_init(&start, NULL, (unsigned)n);
	for (size_t i = 0; i < n; i++) {
		s[i] = (struct spinner){&truths[i], "", &start, length_ns, cpu};
		snprintf(s[i].name, sizeof(s[i].name), "spin-%zu", i);
		thread_start(&threads[i], spinner_main, &s[i]);
	}
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&start);
	free(threads);
	free(s);
}

void case_spin(const struct args *a)
{
	spinners_run(arg_count(a, "threads"), arg_seconds(a), -1);
}

/* n spinners on one CPU: each runs for 1/n of the time and is runnable for the rest. */
void case_preempt(const struct args *a)
{
	double cpu = arg_num(a, "cpu");
	size_t cpus[CPU_SETSIZE], n = cpus_allowed(cpus, ARRAY_LEN(cpus));

	spinners_run(arg_count(a, "threads"), arg_seconds(a),
		     cpu < 0 ? (ssize_t)cpus[n - 1] : (ssize_t)cpu);
	fact(&run.facts, "cpu", cpu < 0 ? (double)cpus[n - 1] : cpu);
}
