// SPDX-License-Identifier: MIT
/*
 * The scout from inside. One thread takes the questions and looks after the others; it does nothing
 * that could block. The others, the walkers, do a job in steps, each of which may take forever. A
 * walker that is stuck in a step is given up: another walker goes on with the job's next step.
 * Should the stuck step ever end, its walker sees that it was given up, and ends.
 *
 * A step works on a copy of what it needs. Only the walker that has the job puts the findings into
 * it, under the lock.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/task.h"
#include "base/units.h"
#include "scout/scout_private.h"
#include "scout/silent.h"
#include "symbol/opener.h"

enum {
	WALKERS = 3,
	WALKERS_MAX = 64, /* stuck ones included; beyond that none is given up */
	CALLS_A_STEP = 256,
	STACK_BYTES = 256 << 10,
};
#define LOOK_MS 25

static const struct silent_patience patience = {.disk_ns = 4 * NSEC_PER_SEC,
						.other_ns = NSEC_PER_SEC,
						.impatient_ns = NSEC_PER_SEC / 5,
						.stalls = 4};

enum stage { STAGE_PROCESS, STAGE_PARTS, STAGE_DONE };

struct job {
	struct job *next;
	struct scout_asked q;
	char *path;
	enum stage stage;
	size_t part; /* the next: a file, or a thread */
	int status;
	uint64_t at_ns, cost_ns;
	struct scout_findings found;
};

struct walker {
	struct server *server;
	bool used, lost;
	pid_t tid;
	struct job *job; /* that it works on; NULL: none */
	uint64_t since;	 /* the step began */
	bool at_it;	 /* in a step; set without the lock */
};

struct server {
	int answers;
	struct build_ids *ids;
	pthread_mutex_t lock, writing;
	pthread_cond_t more;
	struct job *head, **tail;
	struct walker walkers[WALKERS_MAX];
	unsigned n_lost, stalls;
	struct silent silent;
};

/* What a step needs and finds. Belongs to the walker. */
struct step {
	struct scout_asked q;
	uint32_t kind, pid;
	enum stage stage;
	size_t first;
	struct scout_mapped file;
	int rc;
	uint64_t at_ns;
	struct scout_file facts;
	struct scout_findings found;
};

static void scout_serve_push(struct server *s, struct job *job)
{
	job->next = NULL;
	*s->tail = job;
	s->tail = &job->next;
	pthread_cond_signal(&s->more);
}

static struct job *scout_serve_pop(struct server *s)
{
	struct job *job = s->head;

	if (job) {
		s->head = job->next;
		if (!s->head)
			s->tail = &s->head;
	}
	return job;
}

static void job_free(struct job *job)
{
	scout_findings_done(&job->found);
	free(job->path);
	free(job);
}

/* ---- answers ---- */

static bool scout_serve_write_all(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t done = write(fd, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		at += done;
		n -= (size_t)done;
	}
	return true;
}

/* Without the lock: the other side may be slow. */
static void scout_serve_answer(struct server *s, struct job *job)
{
	const struct scout_findings *f = &job->found;
	struct scout_head h = {.number = job->q.number,
			       .at_ns = job->at_ns,
			       .cost_ns = job->cost_ns,
			       .start = job->q.start,
			       .dev = job->q.dev,
			       .inode = job->q.inode,
			       .tid = job->q.tid,
			       .kind = job->q.kind,
			       .pid = job->q.pid,
			       .status = job->status,
			       .n_areas = (uint32_t)f->areas.n,
			       .n_files = (uint32_t)f->files.n,
			       .n_calls = (uint32_t)f->calls.n,
			       .n_text = (uint32_t)f->text.n};

	pthread_mutex_lock(&s->writing);
	if (!scout_serve_write_all(s->answers, &h, sizeof(h)) ||
	    !scout_serve_write_all(s->answers, f->areas.v, f->areas.n * sizeof(*f->areas.v)) ||
	    !scout_serve_write_all(s->answers, f->files.v, f->files.n * sizeof(*f->files.v)) ||
	    !scout_serve_write_all(s->answers, f->calls.v, f->calls.n * sizeof(*f->calls.v)) ||
	    !scout_serve_write_all(s->answers, f->text.v, f->text.n))
		_exit(0);
	pthread_mutex_unlock(&s->writing);
	job_free(job);
}

/* ---- a job, step by step ---- */

static size_t parts_of(const struct job *job)
{
	switch (job->q.kind) {
	case SCOUT_CODE:
	case SCOUT_BUILD_ID:
	case SCOUT_SEGMENTS:
		return job->found.files.n;
	case SCOUT_CALLS:
		return job->found.calls.n;
	default:
		return 0;
	}
}

static bool has_build_id(const struct job *job, const struct scout_file *f)
{
	return (f->inode || job->q.kind != SCOUT_CODE) && job->found.text.v[f->path] == '/';
}

static void prepare_file(const struct job *job, struct step *st)
{
	const struct scout_findings *f = &job->found;
	const struct scout_file *file = &f->files.v[job->part];

	st->facts = *file;
	st->file = (struct scout_mapped){.pid = job->q.pid,
					 .start = job->q.start,
					 .end = job->q.end,
					 .dev = file->dev,
					 .inode = file->inode};
	snprintf(st->file.path, sizeof(st->file.path), "%s", f->text.v + file->path);
	if (job->q.kind == SCOUT_CODE) {
		st->file.start = f->areas.v[file->area].start;
		st->file.end = f->areas.v[file->area].end;
	}
}

/* Treats a process's memory like a device: it is silent while one of its threads holds the lock. */
static uint64_t memory_of(uint32_t pid)
{
	return 1ull << 63 | pid;
}

static bool is_of_memory(const struct job *job)
{
	return job->q.kind == SCOUT_MEMORY || job->q.kind == SCOUT_COMMAND ||
	       (job->q.kind == SCOUT_FILE && job->q.start);
}

/* False: the job is done. Under the lock. */
static bool next_step(struct server *s, struct job *job, struct step *st)
{
	struct scout_file *file;

	*st = (struct step){
		.q = job->q, .kind = job->q.kind, .pid = job->q.pid, .stage = job->stage};
	if (is_of_memory(job) && job->stage == STAGE_PROCESS &&
	    (silent_is(&s->silent, memory_of(job->q.pid), clock_mono_ns()) ||
	     s->n_lost >= WALKERS_MAX / 2)) {
		job->status = -ETIMEDOUT;
		job->stage = STAGE_DONE;
		return false;
	}
	if (job->stage == STAGE_PROCESS)
		return true;
	for (; job->stage == STAGE_PARTS && job->part < parts_of(job); job->part++) {
		st->first = job->part;
		if (job->q.kind == SCOUT_CALLS) {
			size_t left = job->found.calls.n - job->part;

			left = left < CALLS_A_STEP ? left : CALLS_A_STEP;
			for (size_t i = 0; i < left; i++)
				vec_push(&st->found.calls, job->found.calls.v[job->part + i]);
			return true;
		}
		file = &job->found.files.v[job->part];
		if (!has_build_id(job, file))
			continue;
		if (silent_is(&s->silent, file->dev, clock_mono_ns()) ||
		    s->n_lost >= WALKERS_MAX / 2) {
			file->trouble = SCOUT_SPARED;
			continue;
		}
		prepare_file(job, st);
		return true;
	}
	job->stage = STAGE_DONE;
	return false;
}

/* May take forever. Without the lock. */
static void take_step(struct build_ids *ids, struct step *st)
{
	st->at_ns = clock_mono_ns();
	if (st->stage == STAGE_PROCESS && st->kind == SCOUT_CALLS) {
		st->rc = scout_read_threads(st->pid, &st->found);
	} else if (st->stage == STAGE_PROCESS && st->kind == SCOUT_MEMORY) {
		st->rc = scout_read_memory(&st->q, &st->found);
	} else if (st->stage == STAGE_PROCESS && st->kind == SCOUT_COMMAND) {
		st->rc = scout_read_command(st->pid, &st->found);
	} else if (st->stage == STAGE_PROCESS && st->kind == SCOUT_FILE) {
		st->rc = scout_read_file(&st->q, &st->found);
	} else if (st->stage == STAGE_PROCESS) {
		st->rc = scout_read_maps(st->pid, st->kind == SCOUT_AREAS, &st->found);
	} else if (st->kind == SCOUT_CALLS) {
		for (size_t i = 0; i < st->found.calls.n; i++)
			st->found.calls.v[i].call =
				scout_read_call(st->pid, st->found.calls.v[i].tid);
	} else if (st->kind == SCOUT_SEGMENTS) {
		scout_read_segments(&st->file, &st->found);
	} else {
		scout_read_build_id(ids, &st->file, &st->facts);
	}
}

static void commit(struct job *job, struct step *st)
{
	if (st->stage == STAGE_PROCESS) {
		job->found = st->found;
		st->found = (struct scout_findings){0};
		job->status = st->rc;
		job->at_ns = st->at_ns;
		job->stage = st->rc ? STAGE_DONE : STAGE_PARTS;
	} else if (st->kind == SCOUT_CALLS) {
		memcpy(job->found.calls.v + st->first, st->found.calls.v,
		       st->found.calls.n * sizeof(*st->found.calls.v));
		job->part += st->found.calls.n;
	} else {
		job->found.files.v[job->part++] = st->facts;
		for (size_t i = 0; i < st->found.areas.n; i++)
			vec_push(&job->found.areas, st->found.areas.v[i]);
	}
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

/* ---- walkers ---- */

static void do_job(struct walker *w, struct step *st)
{
	struct server *s = w->server;
	struct job *job = w->job;

	while (!w->lost && next_step(s, job, st)) {
		uint64_t cpu = thread_cpu_ns();

		w->since = clock_mono_ns();
		__atomic_store_n(&w->at_it, true, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&s->lock);
		take_step(s->ids, st);
		/* A walker that waits only for the lock is not stuck. */
		__atomic_store_n(&w->at_it, false, __ATOMIC_RELAXED);
		pthread_mutex_lock(&s->lock);
		if (!w->lost) {
			commit(job, st);
			job->cost_ns += thread_cpu_ns() - cpu;
		} else if (st->stage == STAGE_PARTS && st->kind != SCOUT_CALLS) {
			/* The device was only slow: it need not be spared. */
			silent_excuse(&s->silent, st->file.dev);
		}
		scout_findings_done(&st->found);
	}
	if (w->lost)
		return;
	w->job = NULL;
	pthread_mutex_unlock(&s->lock);
	scout_serve_answer(s, job);
	pthread_mutex_lock(&s->lock);
}

static void *scout_serve_walk(void *arg)
{
	struct step *st = mem_alloc(sizeof(*st));
	struct walker *w = arg;
	struct server *s = w->server;

	pthread_mutex_lock(&s->lock);
	w->tid = (pid_t)syscall(SYS_gettid);
	while (!w->lost) {
		w->job = scout_serve_pop(s);
		if (w->job)
			do_job(w, st);
		else
			pthread_cond_wait(&s->more, &s->lock);
	}
	s->n_lost--;
	*w = (struct walker){.server = s};
	pthread_mutex_unlock(&s->lock);
	free(st);
	return NULL;
}

static bool add_walker(struct server *s)
{
	pthread_attr_t attr;
	pthread_t thread;
	size_t i = 0;
	int rc;

	while (i < WALKERS_MAX && s->walkers[i].used)
		i++;
	if (i == WALKERS_MAX)
		return false;
	s->walkers[i] = (struct walker){.server = s, .used = true};
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attr, scout_serve_walk, &s->walkers[i]);
	pthread_attr_destroy(&attr);
	s->walkers[i].used = !rc;
	return !rc;
}

/* How long the job's present step may take. */
static uint64_t patience_for(const struct server *s, const struct job *job)
{
	bool of_file = job->stage == STAGE_PARTS && job->q.kind != SCOUT_CALLS;

	return silent_patience(&patience, of_file ? job->found.files.v[job->part].dev : 0, true,
			       s->stalls);
}

/* The job goes on, or ends, without the step in which the walker is stuck. */
static struct job *give_up(struct server *s, struct walker *w)
{
	struct job *job = w->job;

	w->lost = true;
	w->job = NULL;
	s->n_lost++;
	s->stalls++;
	if (job->stage == STAGE_PARTS && job->q.kind != SCOUT_CALLS) {
		job->found.files.v[job->part].trouble = SCOUT_SILENT;
		silent_note(&s->silent, job->found.files.v[job->part].dev, clock_mono_ns());
		job->part++;
		scout_serve_push(s, job);
		return NULL;
	}
	if (is_of_memory(job))
		silent_note(&s->silent, memory_of(job->q.pid), clock_mono_ns());
	job->status = -ETIMEDOUT;
	return job;
}

/* Gives up stuck walkers. Returns whether there is work. */
static bool look_after(struct server *s)
{
	uint64_t now = clock_mono_ns();
	struct job *ended[WALKERS_MAX];
	bool busy = false;
	size_t n = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < WALKERS_MAX; i++) {
		struct walker *w = &s->walkers[i];

		if (!w->used || w->lost || !w->job)
			continue;
		busy = true;
		if (!__atomic_load_n(&w->at_it, __ATOMIC_RELAXED))
			continue;
		if (now > w->since && now - w->since > patience_for(s, w->job) &&
		    task_sleeps(w->tid) && add_walker(s)) {
			ended[n] = give_up(s, w);
			n += ended[n] != NULL;
		}
	}
	busy |= s->head != NULL;
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < n; i++)
		scout_serve_answer(s, ended[i]);
	return busy;
}

/* ---- questions ---- */

/* The file in question is the job's only one. */
static void add_file(struct job *job)
{
	struct scout_file file = {.dev = job->q.dev, .inode = job->q.inode};
	size_t len = strlen(job->path) + 1;

	vec_push(&job->found.files, file);
	vec_reserve(&job->found.text, len);
	memcpy(job->found.text.v, job->path, len);
	job->found.text.n = len;
	job->stage = STAGE_PARTS;
}

static bool is_of_file(uint32_t kind)
{
	return kind == SCOUT_BUILD_ID || kind == SCOUT_SEGMENTS;
}

static struct job *take_question(int fd, bool *ret_over)
{
	char message[sizeof(struct scout_asked) + SCOUT_PATH_MAX];
	ssize_t n = recv(fd, message, sizeof(message) - 1, MSG_DONTWAIT);
	struct job *job;

	*ret_over = !n || (n < 0 && errno != EAGAIN && errno != EINTR);
	if (n < (ssize_t)sizeof(job->q))
		return NULL;
	message[n] = '\0';
	job = mem_zalloc(sizeof(*job));
	memcpy(&job->q, message, sizeof(job->q));
	job->path = mem_strdup(message + sizeof(job->q));
	job->at_ns = clock_mono_ns();
	if (is_of_file(job->q.kind))
		add_file(job);
	return job;
}

void scout_serve(int questions, int answers)
{
	struct server *s = mem_zalloc(sizeof(*s));
	struct pollfd p = {.fd = questions, .events = POLLIN};
	bool over = false;

	s->answers = answers;
	s->ids = build_ids_new();
	s->tail = &s->head;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->writing, NULL);
	pthread_cond_init(&s->more, NULL);
	pthread_mutex_lock(&s->lock);
	for (int i = 0; i < WALKERS; i++)
		add_walker(s);
	pthread_mutex_unlock(&s->lock);
	while (!over) {
		struct job *job;

		(void)poll(&p, 1, look_after(s) ? LOOK_MS : -1);
		while (!over && (job = take_question(questions, &over))) {
			pthread_mutex_lock(&s->lock);
			scout_serve_push(s, job);
			pthread_mutex_unlock(&s->lock);
		}
	}
}
