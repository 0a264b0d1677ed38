// SPDX-License-Identifier: MIT
/*
 * The disk thread: see disk.h. Syncing a busy disk takes seconds, and a SIGKILL loses what has not
 * been written, so writing does not wait for a sync: a process beside it syncs (syncer.h).
 *
 * Everything that several threads touch is under the lock, but for two atomics: the error and the
 * bytes written so far make the caller's questions cheap.
 */
#include "store/disk.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "store/syncer.h"

enum { QUEUE_BYTES = 64 << 20 }; /* seconds of the worst load: a disk may stall for that long */
#define LAST_SYNC_NS (50 * NSEC_PER_MSEC) /* that the user waits for it */

struct disk {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;  /* for the thread: there is something in the queue, or `closing` */
	pthread_cond_t space; /* for the caller: the queue got shorter, or empty and `idle` */
	struct chunk *head, **tail;
	size_t queued; /* bytes */
	bool idle;     /* nothing is being written */
	bool closing;
	enum end_cause cause;
	char message[256];

	atomic_int error;
	atomic_uint_fast64_t bytes;

	struct syncer *syncer; /* NULL: nothing is synced */
	struct append append;  /* the disk thread's alone, until it is joined */
};

static void fail(struct disk *d, int rc)
{
	pthread_mutex_lock(&d->lock);
	if (!atomic_load(&d->error)) {
		snprintf(d->message, sizeof(d->message), "%s", err_msg());
		atomic_store(&d->error, rc);
	}
	pthread_mutex_unlock(&d->lock);
}

static void sync_failed(struct disk *d, int error)
{
	if (error)
		fail(d, err_set(-error, "syncing: %s", strerror(error)));
}

static void note_written(struct disk *d)
{
	if (!d->syncer)
		return;
	syncer_note(d->syncer);
	sync_failed(d, syncer_error(d->syncer));
}

static struct chunk *disk_take(struct disk *d)
{
	struct chunk *c;

	pthread_mutex_lock(&d->lock);
	while (!d->head && !d->closing) {
		d->idle = true;
		pthread_cond_broadcast(&d->space);
		pthread_cond_wait(&d->work, &d->lock);
	}
	c = d->head;
	if (c) {
		d->head = c->next;
		if (!d->head)
			d->tail = &d->head;
		d->queued -= c->raw.len;
		d->idle = false;
		pthread_cond_broadcast(&d->space);
	}
	pthread_mutex_unlock(&d->lock);
	return c;
}

static void write_chunk(struct disk *d, struct chunk *c)
{
	int rc;

	if (!atomic_load(&d->error)) {
		rc = append_chunk(&d->append, c);
		if (rc)
			fail(d, rc);
		else
			note_written(d);
		atomic_store(&d->bytes, d->append.offset);
	}
	chunk_free(c);
}

static bool out_of_space(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG;
}

static void disk_seal(struct disk *d)
{
	int error = atomic_load(&d->error), rc;

	if (!d->cause)
		return;
	if (error)
		d->cause = out_of_space(error) ? END_NO_SPACE : END_ERROR;
	rc = append_seal(&d->append, d->cause);
	if (rc)
		fail(d, rc);
	note_written(d);
	atomic_store(&d->bytes, d->append.offset);
}

static void *disk_run(void *arg)
{
	struct disk *d = arg;
	bool closing;

	do {
		struct chunk *c = disk_take(d);

		if (c)
			write_chunk(d, c);
		pthread_mutex_lock(&d->lock);
		closing = d->closing && !d->head;
		pthread_mutex_unlock(&d->lock);
	} while (!closing);
	disk_seal(d);
	return NULL;
}

static void free_all(struct disk *d)
{
	append_done(&d->append);
	pthread_cond_destroy(&d->work);
	pthread_cond_destroy(&d->space);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

static void close_queue(struct disk *d, enum end_cause cause)
{
	pthread_mutex_lock(&d->lock);
	d->closing = true;
	d->cause = cause;
	pthread_cond_signal(&d->work);
	pthread_mutex_unlock(&d->lock);
}

/* Signals are for the thread that records; this one has none to handle. SIGXFSZ becomes EFBIG. */
static int start_thread(struct disk *d)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&d->thread, NULL, disk_run, d);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc ? err_set(-rc, "starting a thread: %s", strerror(rc)) : 0;
}

static int start_syncing(struct disk *d, int fd, const struct writer_opts *o)
{
	if (o->no_sync)
		return 0;
	d->syncer = o->syncer ? o->syncer : syncer_new();
	return d->syncer ? syncer_watch(d->syncer, fd) : -EAGAIN;
}

/* After the end mark is written, so that it is synced, too. */
static void end_syncing(struct disk *d)
{
	int error;

	syncer_end(d->syncer, LAST_SYNC_NS, &error);
	sync_failed(d, error);
	d->syncer = NULL;
}

int disk_open(int fd, const struct writer_opts *o, struct disk **ret)
{
	struct disk *d = mem_zalloc(sizeof(*d));
	pthread_condattr_t attr;
	int rc;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->work, &attr);
	pthread_cond_init(&d->space, &attr);
	pthread_condattr_destroy(&attr);
	d->tail = &d->head;
	rc = append_init(&d->append, fd, o->clock);
	atomic_store(&d->bytes, d->append.offset);
	if (!rc)
		rc = start_syncing(d, fd, o);
	if (!rc)
		rc = start_thread(d);
	if (rc) {
		end_syncing(d);
		free_all(d);
		return rc;
	}
	*ret = d;
	return 0;
}

void disk_put(struct disk *d, struct chunk *c)
{
	c->next = NULL;
	pthread_mutex_lock(&d->lock);
	/* One chunk may always wait, however large it is. */
	while (d->queued && d->queued + c->raw.len > QUEUE_BYTES)
		pthread_cond_wait(&d->space, &d->lock);
	*d->tail = c;
	d->tail = &c->next;
	d->queued += c->raw.len;
	pthread_cond_signal(&d->work);
	pthread_mutex_unlock(&d->lock);
}

int disk_wait(struct disk *d)
{
	pthread_mutex_lock(&d->lock);
	while (d->head || !d->idle)
		pthread_cond_wait(&d->space, &d->lock);
	pthread_mutex_unlock(&d->lock);
	return disk_status(d);
}

int disk_status(struct disk *d)
{
	int rc = atomic_load(&d->error);

	if (rc) {
		pthread_mutex_lock(&d->lock);
		err_put(d->message);
		pthread_mutex_unlock(&d->lock);
	}
	return rc;
}

uint64_t disk_bytes(const struct disk *d)
{
	return atomic_load(&((struct disk *)d)->bytes);
}

int disk_close(struct disk *d, enum end_cause cause)
{
	int rc;

	close_queue(d, cause);
	pthread_join(d->thread, NULL);
	end_syncing(d);
	rc = disk_status(d);
	free_all(d);
	return rc;
}
