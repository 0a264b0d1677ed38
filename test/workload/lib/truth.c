// SPDX-License-Identifier: MIT
/* The truth of a run: clocks, the scheduler's accounts, and one line of JSON. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include "lib/base.h"
#include "lib/truth.h"

struct run run;

void fact(struct facts *f, const char *key, double val)
{
	if (f->n == FACTS_MAX)
		die("too many facts: %s", key);
	f->v[f->n++] = (struct fact){.key = key, .val = val};
}

void fact_text(struct facts *f, const char *key, const char *text)
{
	fact(f, key, 0);
	f->v[f->n - 1].text = text;
}

double fact_get(const struct truth *t, const char *key)
{
	for (size_t i = 0; i < t->facts.n; i++) {
		if (!strcmp(t->facts.v[i].key, key))
			return t->facts.v[i].val;
	}
	return 0;
}

static void read_schedstat(struct reading *r)
{
	unsigned long long run_ns = 0, runq_ns = 0, slices = 0;
	FILE *f;

	/* The kernel brings a running thread's figure up to date at the tick, or when it yields. */
	sched_yield();
	f = fopen("/proc/thread-self/schedstat", "re");
	if (f) {
		if (fscanf(f, "%llu %llu %llu", &run_ns, &runq_ns, &slices) != 3)
			run_ns = runq_ns = slices = 0;
		fclose(f);
	}
	r->run = run_ns;
	r->runq = runq_ns;
	r->slices = slices;
}

static struct reading reading_take(void)
{
	struct reading r;
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	r.vol = (uint64_t)u.ru_nvcsw;
	r.invol = (uint64_t)u.ru_nivcsw;
	read_schedstat(&r);
	r.cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	r.wall = now_ns();
	return r;
}

void truth_begin(struct truth *t, const char *name)
{
	t->pid = getpid();
	t->tid = gettid();
	if (name) {
		snprintf(t->name, sizeof(t->name), "%s", name);
		prctl(PR_SET_NAME, t->name);
	} else {
		prctl(PR_GET_NAME, t->name);
	}
	t->begin = reading_take();
	t->start_ns = t->begin.wall;
}

void truth_end(struct truth *t)
{
	struct reading r = reading_take();

	t->total = (struct reading){
		.wall = r.wall - t->begin.wall,
		.cpu = r.cpu - t->begin.cpu,
		.run = r.run - t->begin.run,
		.runq = r.runq - t->begin.runq,
		.slices = r.slices - t->begin.slices,
		.vol = r.vol - t->begin.vol,
		.invol = r.invol - t->begin.invol,
	};
}

struct truth *truth_room(size_t n)
{
	size_t size = (n + 1) * sizeof(struct truth);
	struct truth *p =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("no memory for the truth of %zu threads: %s", n, strerror(errno));
	p[0] = run.threads[0];
	run.threads = p;
	run.n = n + 1;
	return p + 1;
}

static void facts_print(const struct facts *f)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->v[i].text)
			printf(",\"%s\":\"%s\"", f->v[i].key, f->v[i].text);
		else
			printf(",\"%s\":%.15g", f->v[i].key, f->v[i].val);
	}
}

static void truth_print(const struct truth *t)
{
	const struct reading *r = &t->total;

	printf("{\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"start_ns\":%llu", t->pid, t->tid, t->name,
	       (unsigned long long)t->start_ns);
	printf(",\"wall_ns\":%llu,\"cpu_ns\":%llu,\"run_ns\":%llu,\"runq_ns\":%llu",
	       (unsigned long long)r->wall, (unsigned long long)r->cpu, (unsigned long long)r->run,
	       (unsigned long long)r->runq);
	printf(",\"slices\":%llu,\"vol\":%llu,\"invol\":%llu", (unsigned long long)r->slices,
	       (unsigned long long)r->vol, (unsigned long long)r->invol);
	facts_print(&t->facts);
	putchar('}');
}

void run_print(const char *name)
{
	struct rusage self, kids;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &kids);
	printf("{\"case\":\"%s\",\"pid\":%d,\"wall_ns\":%llu", name, getpid(),
	       (unsigned long long)run.threads[0].total.wall);
	printf(",\"switches\":%ld",
	       self.ru_nvcsw + self.ru_nivcsw + kids.ru_nvcsw + kids.ru_nivcsw);
	facts_print(&run.facts);
	if (run.more)
		run.more();
	printf(",\"threads\":[");
	for (size_t i = 0; i < run.n; i++) {
		if (i)
			putchar(',');
		truth_print(&run.threads[i]);
	}
	printf("]}\n");
	if (fflush(stdout) || ferror(stdout))
		die("cannot write the truth: %s", strerror(errno));
}
