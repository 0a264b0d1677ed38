// SPDX-License-Identifier: MIT
/* Runs sleepers, sees each of them asleep before it is woken, and keeps count. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/party.h"
#include "lib/truth.h"
#include "sleeps/sleeps.h"

static struct sleeper *told;
static size_t n_told, count_told;

static uint64_t own_switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return (uint64_t)u.ru_nvcsw;
}

static void *sleeper_main(void *arg)
{
	struct sleeper *s = arg;
	uint64_t before;

	pthread_setname_np(pthread_self(), s->name);
	atomic_store(&s->tid, (int)syscall(SYS_gettid));
	/* Nothing but the sleeps themselves lies between the two readings. */
	before = own_switches();
	for (size_t i = 0; i < count_told; i++) {
		s->sleep(s);
		s->slept++;
	}
	s->switches = own_switches() - before;
	return NULL;
}

/* In the call itself, not on the way to it: /proc says in which one a thread sleeps. */
static bool asleep(const struct sleeper *s)
{
	char path[64], line[256] = "", state = 0;
	long nr = -2;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", atomic_load(&s->tid));
	f = fopen(path, "re");
	if (f && fgets(line, sizeof(line), f))
		sscanf(line, "%ld", &nr);
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", atomic_load(&s->tid));
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "State: %c", &state) == 1)
			break;
	if (f)
		fclose(f);
	return nr == s->nr && (state == 'S' || state == 'D');
}

static void wake_all(struct sleeper *s)
{
	while (!atomic_load(&s->tid))
		sleep_ns(100 * NSEC_PER_USEC);
	for (size_t i = 0; i < count_told; i++) {
		uint64_t until = now_ns() + 20 * NSEC_PER_SEC;

		while (*(volatile uint64_t *)&s->slept < i || !asleep(s)) {
			if (now_ns() > until)
				die("%s does not fall asleep for the %zuth time", s->name, i);
			sleep_ns(200 * NSEC_PER_USEC);
		}
		s->wake(s);
		while (*(volatile uint64_t *)&s->slept <= i)
			sleep_ns(100 * NSEC_PER_USEC);
	}
}

static void print_sleepers(void)
{
	printf(",\"sleepers\":[");
	for (size_t i = 0; i < n_told; i++) {
		const struct sleeper *s = &told[i];

		printf("%s{\"name\":\"%s\",\"tid\":%d,\"nr\":%d,\"count\":%zu,\"switches\":%llu,"
		       "\"compat\":%s,\"shared\":%s,\"woken\":%s",
		       i ? "," : "", s->name, s->tid, s->nr, count_told,
		       (unsigned long long)s->switches, s->compat ? "true" : "false",
		       s->shared ? "true" : "false", s->wake ? "true" : "false");
		if (s->file)
			printf(",\"file\":\"%s\"", s->file);
		if (s->addr)
			printf(",\"addr\":%llu,\"step\":%zu,\"op\":%u,\"words\":[",
			       (unsigned long long)(uintptr_t)s->addr, s->step, s->op);
		for (uint32_t k = 0; s->addr && k < s->words; k++)
			printf("%s%u", k ? "," : "", s->word[k]);
		printf("%s}", s->addr ? "]" : "");
	}
	printf("]");
}

void sleepers_run(struct sleeper *s, size_t n, size_t count)
{
	told = s;
	n_told = n;
	count_told = count;
	run.more = print_sleepers;
	for (size_t i = 0; i < n; i++) {
		pthread_t thread;

		if (s[i].open)
			s[i].open(&s[i]);
		thread_start(&thread, sleeper_main, &s[i]);
		if (s[i].wake)
			wake_all(&s[i]);
		pthread_join(thread, NULL);
	}
}
