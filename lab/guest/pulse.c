// SPDX-License-Identifier: MIT
/*
 * pulse COMMAND...: while the command runs, a thread on every CPU, before all others in the eyes of
 * the scheduler, wants to run every two milliseconds; how late it came is how long its CPU stood
 * still. Prints the worst of it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BEAT_NS 2000000
#define CPUS_MAX 64

static bool running = true;

struct pulse {
	pthread_t thread;
	int cpu;
	uint64_t beats, sum_ns, worst_ns;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *beat(void *arg)
{
	struct sched_param first = {.sched_priority = 90};
	struct pulse *p = arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(p->cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	while (__atomic_load_n(&running, __ATOMIC_RELAXED)) {
		uint64_t due = now_ns() + BEAT_NS, late;
		struct timespec t = {(time_t)(due / 1000000000), (long)(due % 1000000000)};

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		late = now_ns() - due;
		p->beats++;
		p->sum_ns += late;
		if (late > p->worst_ns)
			p->worst_ns = late;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	static struct pulse pulses[CPUS_MAX];
	uint64_t beats = 0, sum = 0, worst = 0;
	int status = 0;
	pid_t child;

	for (int i = 0; i < cpus && i < CPUS_MAX; i++) {
		pulses[i].cpu = i;
		pthread_create(&pulses[i].thread, NULL, beat, &pulses[i]);
	}
	child = fork();
	if (!child) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	waitpid(child, &status, 0);
	__atomic_store_n(&running, false, __ATOMIC_RELAXED);
	for (int i = 0; i < cpus && i < CPUS_MAX; i++) {
		pthread_join(pulses[i].thread, NULL);
		beats += pulses[i].beats;
		sum += pulses[i].sum_ns;
		if (pulses[i].worst_ns > worst)
			worst = pulses[i].worst_ns;
	}
	printf("pulse: beats %llu mean_ns %llu worst_ns %llu\n", (unsigned long long)beats,
	       (unsigned long long)(beats ? sum / beats : 0), (unsigned long long)worst);
	return argc < 2 || !WIFEXITED(status) ? 1 : WEXITSTATUS(status);
}
