// SPDX-License-Identifier: MIT
/* See builder.h. A job belongs to one thread at a time; the threads share only the two lists. */
#include "unwind_tables/builder.h"

#include <elf.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "elf/elf.h"
#include "symbol/haste.h"
#include "unwind_tables/fetcher.h"
#include "unwind_tables/kept.h"
#include "unwind_tables/mutex.h"

/* Finished ones included: a hostile file may make its table a hundred megabytes. */
enum { JOBS_MAX = 16 };

/* Enough to yield to others, and too little to delay a program's first stacks on a busy machine. */
#define BUILDER_NICE 5

struct jobs {
	struct build_job *head, **tail;
};

struct builder {
	struct builder_opts o;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t asked;	 /* for the thread: there is something in `todo`, or `stop` */
	pthread_cond_t answered; /* for the others: there is something in `done` */
	struct jobs todo, done;
	struct build_job *now; /* between the lists; its question does not change */
	size_t n;	       /* in both lists, and between them */
	bool stop;
	bool rests;
	pid_t tid; /* of the thread; 0: it does not run yet */
	/* The thread's own. */
	struct fetcher *fetcher;
	uint64_t began, spent;
};

struct build_job *build_job_new(const struct opener_want *w)
{
	struct build_job *job = mem_zalloc(sizeof(*job));

	if (!w)
		return job;
	job->want = *w;
	job->want.path = mem_strdup(w->path);
	if (w->build_id_len)
		memcpy(job->build_id, w->build_id, w->build_id_len);
	job->want.build_id = job->build_id;
	return job;
}

void build_job_free(struct build_job *job)
{
	if (!job)
		return;
	free((char *)job->want.path);
	free(job->table.loads);
	vec_done(&job->parts.list);
	free(job);
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static bool same_build(const struct unwind_table *t, const struct build_job *job)
{
	size_t len = job->want.build_id_len;

	return !len || (t->build_id_len == len && !memcmp(t->build_id, job->build_id, len));
}

/* The vDSO comes from the kernel and is small: neither fetched nor kept. */
static struct unwind_table *build_vdso(void)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct unwind_table *t = NULL;
	struct elf *e;

	if (!eh || elf_open_bytes(eh, eh->e_shoff + (size_t)eh->e_shnum * eh->e_shentsize, &e))
		return NULL;
	if (unwind_table_build(e, &t))
		t = NULL;
	elf_free(e);
	return t;
}

static void builder_push(struct jobs *list, struct build_job *job)
{
	job->next = NULL;
	*list->tail = job;
	list->tail = &job->next;
}

static struct build_job *builder_pop(struct jobs *list)
{
	struct build_job *job = list->head;

	if (job) {
		list->head = job->next;
		if (!list->head)
			list->tail = &list->head;
	}
	return job;
}

static void builder_place(struct builder *b, struct build_job *job, const struct unwind_table *t)
{
	size_t loads = t->n_loads * sizeof(*t->loads);

	job->has_table = true;
	job->size = unwind_table_size(t);
	job->rc = shelves_place(b->o.shelves, t, &job->parts);
	if (job->rc)
		return;
	job->table = shelves_view(b->o.shelves, t, &job->parts);
	job->table.n_loads = t->n_loads;
	job->table.loads = mem_alloc(loads + 1);
	memcpy(job->table.loads, t->loads, loads);
}

/* Returns the table in one piece, for kept_put(). */
static struct unwind_table *job_run(struct builder *b, struct build_job *job, struct fetched *ret)
{
	uint64_t began = clock_mono_ns(), cpu = thread_cpu_ns(), child = fetcher_cpu_ns(b->fetcher);
	struct unwind_table *t =
		job->want.path ? fetcher_get(b->fetcher, &job->want, ret) : build_vdso();

	job->silent = ret->silent;
	job->read = ret->kept;
	job->built = t && job->want.path && !ret->kept;

	if (t && same_build(t, job))
		builder_place(b, job, t);
	job->took_ns = clock_mono_ns() - began;
	job->child_ns = fetcher_cpu_ns(b->fetcher) - child;
	job->cpu_ns = thread_cpu_ns() - cpu + job->child_ns;
	b->spent += job->cpu_ns;
	return t;
}

/* Does a job: hands the table over as soon as it is built, then writes it to disk. */
static void serve(struct builder *b, struct build_job *job)
{
	struct fetched got = {0};
	struct unwind_table *t = job_run(b, job, &got);
	bool keep = job->built;

	pthread_mutex_lock(&b->lock);
	b->now = NULL;
	builder_push(&b->done, job);
	pthread_cond_signal(&b->answered);
	pthread_mutex_unlock(&b->lock);
	if (keep)
		kept_put(b->o.kept, &got.facts, t);
	unwind_table_free(t);
}

uint64_t builder_pace(uint64_t began, uint64_t spent_ns, uint64_t free_ns, uint64_t share)
{
	if (!share || spent_ns <= free_ns)
		return began;
	return began + (uint64_t)((double)(spent_ns - free_ns) * 1e6 / (double)share);
}

/* Drops the priority inherited from the thread that drains the rings. */
static void be_modest(struct builder *b)
{
	struct sched_param param = {0};

	(void)sched_setscheduler(0, SCHED_OTHER, &param);
	(void)setpriority(PRIO_PROCESS, 0, BUILDER_NICE);
	__atomic_store_n(&b->tid, gettid(), __ATOMIC_RELEASE);
}

void builder_hurry(struct builder *b)
{
	pid_t tid = __atomic_load_n(&b->tid, __ATOMIC_ACQUIRE);

	if (tid)
		(void)setpriority(PRIO_PROCESS, (id_t)tid, HASTE_NICE);
	fetcher_hurry(b->fetcher);
}

/* The next job, when there is one and its time has come; NULL: stop. */
static struct build_job *next_job(struct builder *b)
{
	struct build_job *job = NULL;

	while (!b->stop && !job) {
		uint64_t at = builder_pace(b->began, b->spent, b->o.free_ns, b->o.share);
		struct timespec t = {(time_t)(at / NSEC_PER_SEC), (long)(at % NSEC_PER_SEC)};

		b->rests = clock_mono_ns() < at;
		if (!b->todo.head)
			pthread_cond_wait(&b->asked, &b->lock);
		else if (b->rests)
			pthread_cond_timedwait(&b->asked, &b->lock, &t);
		else
			job = builder_pop(&b->todo);
	}
	return job;
}

static void *builder_run(void *arg)
{
	struct builder *b = arg;
	struct build_job *job;

	be_modest(b);
	pthread_mutex_lock(&b->lock);
	while ((job = next_job(b))) {
		b->now = job;
		pthread_mutex_unlock(&b->lock);
		serve(b, job);
		pthread_mutex_lock(&b->lock);
	}
	pthread_mutex_unlock(&b->lock);
	fetcher_stop(b->fetcher);
	return NULL;
}

static void free_all(struct builder *b)
{
	struct build_job *job;

	while ((job = builder_pop(&b->todo)) || (job = builder_pop(&b->done)))
		build_job_free(job);
	pthread_cond_destroy(&b->asked);
	pthread_cond_destroy(&b->answered);
	pthread_mutex_destroy(&b->lock);
	fetcher_free(b->fetcher);
	free(b);
}

struct builder *builder_new(const struct builder_opts *o)
{
	struct builder *b = mem_zalloc(sizeof(*b));
	pthread_condattr_t attr;
	sigset_t all, old;
	int rc;

	b->o = *o;
	b->began = clock_mono_ns();
	b->fetcher = fetcher_new(o->kept, BUILDER_NICE);
	b->todo.tail = &b->todo.head;
	b->done.tail = &b->done.head;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	mutex_init_inheriting(&b->lock);
	pthread_cond_init(&b->asked, &attr);
	pthread_cond_init(&b->answered, &attr);
	pthread_condattr_destroy(&attr);
	/* Signals are for the thread that records. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&b->thread, NULL, builder_run, b);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc) {
		free_all(b);
		return NULL;
	}
	return b;
}

void builder_free(struct builder *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	fetcher_cancel(b->fetcher);
	pthread_cond_signal(&b->asked);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->thread, NULL);
	free_all(b);
}

bool builder_put(struct builder *b, struct build_job *job)
{
	bool room;

	pthread_mutex_lock(&b->lock);
	room = b->n < JOBS_MAX;
	if (room) {
		b->n++;
		builder_push(&b->todo, job);
		pthread_cond_signal(&b->asked);
	}
	pthread_mutex_unlock(&b->lock);
	return room;
}

bool builder_rests(struct builder *b)
{
	bool rests;

	pthread_mutex_lock(&b->lock);
	rests = b->rests || fetcher_stands_still(b->fetcher);
	pthread_mutex_unlock(&b->lock);
	return rests;
}

bool builder_waits(struct builder *b, uint32_t *ret_module, uint32_t *ret_pid)
{
	bool waits;

	pthread_mutex_lock(&b->lock);
	waits = b->now && fetcher_stands_still(b->fetcher);
	if (waits) {
		*ret_module = b->now->module;
		*ret_pid = b->now->want.pid;
	}
	pthread_mutex_unlock(&b->lock);
	return waits;
}

struct build_job *builder_take(struct builder *b, uint64_t wait_ns)
{
	uint64_t until = clock_mono_ns() + wait_ns;
	struct timespec t = {(time_t)(until / NSEC_PER_SEC), (long)(until % NSEC_PER_SEC)};
	struct build_job *job;

	pthread_mutex_lock(&b->lock);
	while (!(job = builder_pop(&b->done)) && wait_ns)
		if (pthread_cond_timedwait(&b->answered, &b->lock, &t))
			wait_ns = 0;
	b->n -= job != NULL;
	pthread_mutex_unlock(&b->lock);
	return job;
}
