// SPDX-License-Identifier: MIT
#include "serve/answer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "query/query.h"

enum {
	WAITING_MAX = 256,
	STEP_EVENTS = 50000, /* some milliseconds: a person who waits sees how far it is */
};

struct answerer {
	struct query *query; /* the thread's own */
	pthread_t thread;
	int fd;

	pthread_mutex_t lock;
	pthread_cond_t more;
	struct question *first, **last;
	unsigned waiting;
	bool ending;
	int loaded;    /* what query_step() said last */
	char *message; /* if that was an error */
};

static struct question *answer_take(struct answerer *a)
{
	struct question *qn = a->first;

	if (!qn)
		return NULL;
	a->first = qn->next;
	if (!a->first)
		a->last = &a->first;
	a->waiting--;
	return qn;
}

/* The next question, or NULL if there is none (and something else to do), or no more will come. */
static struct question *next(struct answerer *a, bool wait, bool *ret_ending)
{
	struct question *qn;

	pthread_mutex_lock(&a->lock);
	while (wait && !a->first && !a->ending)
		pthread_cond_wait(&a->more, &a->lock);
	*ret_ending = a->ending;
	qn = answer_take(a);
	pthread_mutex_unlock(&a->lock);
	return qn;
}

static void note_loaded(struct answerer *a, int rc)
{
	uint64_t one = 1;

	pthread_mutex_lock(&a->lock);
	a->loaded = rc;
	a->message = rc ? mem_strdup(err_msg()) : NULL;
	pthread_mutex_unlock(&a->lock);
	if (write(a->fd, &one, sizeof(one)) < 0)
		return;
}

static void *answer_requests(void *arg)
{
	struct answerer *a = arg;
	bool ending = false;
	int rc = 1;

	while (!ending) {
		struct question *qn = next(a, rc <= 0, &ending);

		if (qn && !ending) {
			query_ask(a->query, qn->text, &qn->answer);
			qn->binary = query_is_binary(qn->text);
		}
		if (qn)
			qn->done(qn->arg);
		if (!ending && rc > 0) {
			rc = query_step(a->query, STEP_EVENTS);
			if (rc <= 0)
				note_loaded(a, rc);
		}
	}
	return NULL;
}

int answerer_start(struct query *q, struct answerer **ret)
{
	struct answerer *a = mem_zalloc(sizeof(*a));
	int rc;

	a->query = q;
	a->last = &a->first;
	a->loaded = 1;
	a->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->more, NULL);
	rc = a->fd < 0 ? errno : pthread_create(&a->thread, NULL, answer_requests, a);
	if (rc) {
		answerer_free(a);
		return err_set(-rc, "cannot start a thread: %s", strerror(rc));
	}
	*ret = a;
	return 0;
}

bool answerer_ask(struct answerer *a, struct question *qn)
{
	bool taken;

	pthread_mutex_lock(&a->lock);
	taken = !a->ending && a->waiting < WAITING_MAX;
	if (taken) {
		qn->next = NULL;
		*a->last = qn;
		a->last = &qn->next;
		a->waiting++;
		pthread_cond_signal(&a->more);
	}
	pthread_mutex_unlock(&a->lock);
	return taken;
}

int answerer_fd(const struct answerer *a)
{
	return a->fd;
}

int answerer_loaded(struct answerer *a)
{
	int rc;

	pthread_mutex_lock(&a->lock);
	rc = a->loaded < 0 ? a->loaded : 0;
	if (rc)
		err_put(a->message);
	pthread_mutex_unlock(&a->lock);
	return rc;
}

static void drop_waiting(struct answerer *a)
{
	struct question *qn;
	bool ending;

	while ((qn = next(a, false, &ending)))
		qn->done(qn->arg);
}

bool answerer_stop(struct answerer *a, unsigned ms)
{
	struct timespec until;

	pthread_mutex_lock(&a->lock);
	a->ending = true;
	pthread_cond_signal(&a->more);
	pthread_mutex_unlock(&a->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)(ms * NSEC_PER_MSEC);
	until.tv_sec += until.tv_nsec / (long)NSEC_PER_SEC;
	until.tv_nsec %= (long)NSEC_PER_SEC;
	if (pthread_timedjoin_np(a->thread, NULL, &until))
		return false;
	drop_waiting(a);
	return true;
}

void answerer_free(struct answerer *a)
{
	if (!a)
		return;
	if (a->fd >= 0)
		close(a->fd);
	query_close(a->query);
	pthread_cond_destroy(&a->more);
	pthread_mutex_destroy(&a->lock);
	free(a->message);
	free(a);
}
