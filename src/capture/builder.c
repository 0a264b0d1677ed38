// SPDX-License-Identifier: MIT
/* See builder.h. A job belongs to one thread at a time: all that both touch is the two lists. */
#include "capture/builder.h"

#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "elf/elf.h"

/* Finished ones included: a table may take hundreds of megabytes if somebody wants it to. */
enum { JOBS_MAX = 16 };

struct jobs {
	struct build_job *head, **tail;
};

struct builder {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t asked;	 /* for the thread: there is something in `todo`, or `stop` */
	pthread_cond_t answered; /* for the others: there is something in `done` */
	struct jobs todo, done;
	size_t n; /* in both lists, and the one between them */
	bool stop;
};

struct build_job *build_job_new(int fd)
{
	struct build_job *job = mem_zalloc(sizeof(*job));

	job->fd = fd;
	return job;
}

void build_job_free(struct build_job *job)
{
	if (!job)
		return;
	if (job->fd >= 0)
		close(job->fd);
	vec_done(&job->loads);
	unwind_table_free(job->table);
	free(job);
}

static bool same_build(const struct elf *e, const struct build_job *job)
{
	uint8_t id[BUILD_ID_MAX];
	int n = elf_build_id(e, id, sizeof(id));

	return !job->build_id_len ||
	       (n == (int)job->build_id_len && !memcmp(id, job->build_id, (size_t)n));
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

void build_job_run(struct build_job *job)
{
	uint64_t began = clock_mono_ns(), cpu = thread_cpu_ns();
	struct elf *e = NULL;

	if (job->fd >= 0) {
		(void)elf_open_fd(job->fd, &e);
	} else {
		const Elf64_Ehdr *eh = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);

		if (eh)
			(void)elf_open_bytes(
				eh, eh->e_shoff + (size_t)eh->e_shnum * eh->e_shentsize, &e);
	}
	if (e && same_build(e, job)) {
		for (size_t i = 0; i < e->n_segments; i++) {
			const struct elf_segment *s = &e->segments[i];

			if (s->type == PT_LOAD && (s->flags & PF_X))
				vec_push(&job->loads,
					 (struct load){s->offset, s->filesz, s->vaddr});
		}
		if (unwind_table_build(e, &job->table))
			job->table = NULL;
	}
	elf_free(e);
	job->took_ns = clock_mono_ns() - began;
	job->cpu_ns = thread_cpu_ns() - cpu;
}

/* ---- the thread ---- */

static void push(struct jobs *list, struct build_job *job)
{
	job->next = NULL;
	*list->tail = job;
	list->tail = &job->next;
}

static struct build_job *pop(struct jobs *list)
{
	struct build_job *job = list->head;

	if (job) {
		list->head = job->next;
		if (!list->head)
			list->tail = &list->head;
	}
	return job;
}

static void *run(void *arg)
{
	struct builder *b = arg;
	struct build_job *job;

	pthread_mutex_lock(&b->lock);
	while (!b->stop) {
		job = pop(&b->todo);
		if (!job) {
			pthread_cond_wait(&b->asked, &b->lock);
			continue;
		}
		pthread_mutex_unlock(&b->lock);
		build_job_run(job);
		pthread_mutex_lock(&b->lock);
		push(&b->done, job);
		pthread_cond_signal(&b->answered);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

static void free_all(struct builder *b)
{
	struct build_job *job;

	while ((job = pop(&b->todo)) || (job = pop(&b->done)))
		build_job_free(job);
	pthread_cond_destroy(&b->asked);
	pthread_cond_destroy(&b->answered);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

struct builder *builder_new(void)
{
	struct builder *b = mem_zalloc(sizeof(*b));
	pthread_condattr_t attr;
	sigset_t all, old;
	int rc;

	b->todo.tail = &b->todo.head;
	b->done.tail = &b->done.head;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->asked, &attr);
	pthread_cond_init(&b->answered, &attr);
	pthread_condattr_destroy(&attr);
	/* Signals are for the thread that records. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&b->thread, NULL, run, b);
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
		push(&b->todo, job);
		pthread_cond_signal(&b->asked);
	}
	pthread_mutex_unlock(&b->lock);
	return room;
}

struct build_job *builder_take(struct builder *b, uint64_t wait_ns)
{
	uint64_t until = clock_mono_ns() + wait_ns;
	struct timespec t = {(time_t)(until / NSEC_PER_SEC), (long)(until % NSEC_PER_SEC)};
	struct build_job *job;

	pthread_mutex_lock(&b->lock);
	while (!(job = pop(&b->done)) && wait_ns)
		if (pthread_cond_timedwait(&b->answered, &b->lock, &t))
			wait_ns = 0;
	b->n -= job != NULL;
	pthread_mutex_unlock(&b->lock);
	return job;
}
