// SPDX-License-Identifier: MIT
/*
 * The chunks that were asked for, in order, and a ring of batches: parts of their events, in the
 * same order. The other thread fills a batch and hands it over; the reader's thread gives it back
 * when it asks for the next. All batches together fit a CPU's cache, and take the same memory
 * however large a chunk is. Only the reader uses the index: an entry is copied when its chunk is
 * asked for.
 *
 * When the ring is full, the thread that fills it sleeps until half of it is free, so that it is
 * not woken for every batch.
 */
#include "store/ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/expand.h"
#include "store/pool.h"
#include "store/reader_private.h"

enum { BATCHES = 16, BATCH_EVENTS = 1024 };
/* The one whose events are being used, and what comes next. */
enum { ASKED = 3 };

struct ahead_asked {
	size_t at; /* of the index */
	struct index_entry entry;
};

struct ahead_slot {
	struct batch batch;
	struct event *events;
	struct pool strings; /* of these events */
};

struct ahead {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wanted, made;
	bool stop;
	bool drop;    /* the reader goes elsewhere: drop all that was asked for */
	bool busy;    /* the thread has a chunk in hand */
	bool waiting; /* and no room for its events */
	struct ahead_asked asked[ASKED];
	unsigned n_asked, n_begun;   /* by the thread: n_begun of n_asked */
	uint64_t n_made, n_released; /* batches, ever: they lie in slots[n % BATCHES] */
	struct ahead_slot slots[BATCHES];
	/* The reader's own: of the first chunk asked for. */
	const struct batch *held;
	uint64_t n_taken; /* batches */
	/* The thread's own. */
	struct byte_source source;
	struct decoder decoder;
	struct buf raw;
};

/* Strings are the decoder's until its next event. */
static void keep_strings(struct ahead_slot *s, struct event *ev)
{
	for (unsigned i = kinds[ev->kind].first; i < kinds[ev->kind].end; i++) {
		const char *text;
		char *at = (char *)ev + columns[i].offset;

		if (columns[i].codec != CODEC_STRING)
			continue;
		memcpy(&text, at, sizeof(text));
		text = pool_str(&s->strings, text, strlen(text));
		memcpy(at, &text, sizeof(text));
	}
}

/* A slot to fill; NULL: the reader does not want it any more. */
static struct ahead_slot *ahead_make_room(struct ahead *a)
{
	struct ahead_slot *s = NULL;

	pthread_mutex_lock(&a->lock);
	a->waiting = a->n_made - a->n_released == BATCHES;
	while (a->waiting && !a->stop && !a->drop)
		pthread_cond_wait(&a->wanted, &a->lock);
	a->waiting = false;
	if (!a->stop && !a->drop)
		s = &a->slots[a->n_made % BATCHES];
	pthread_mutex_unlock(&a->lock);
	return s;
}

static void hand_over(struct ahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->n_made++;
	pthread_cond_signal(&a->made);
	pthread_mutex_unlock(&a->lock);
}

/* Decodes up to the chunk's end, or to its first error. */
static void ahead_fill(struct ahead *a, struct ahead_slot *s)
{
	size_t n = 0, more;
	int rc = 1;

	if (!s->events)
		s->events = mem_alloc(BATCH_EVENTS * sizeof(*s->events));
	pool_done(&s->strings);
	while (n < BATCH_EVENTS && rc > 0) {
		rc = decoder_next_many(&a->decoder, &s->events[n], BATCH_EVENTS - n, &more);
		n += more;
		if (a->decoder.text.len && more)
			keep_strings(s, &s->events[n - 1]);
	}
	s->batch = (struct batch){s->events, n, .end = rc <= 0, .failed = rc < 0};
}

static void ahead_decode(struct ahead *a, const struct index_entry *e)
{
	int rc = byte_source_load(&a->source, e, &a->raw);
	struct ahead_slot *s;

	if (!rc)
		rc = decoder_start(&a->decoder, a->raw.p, a->raw.len, e->ts_min);
	do {
		s = ahead_make_room(a);
		if (!s)
			return;
		if (rc)
			s->batch = (struct batch){.end = true, .failed = true};
		else
			ahead_fill(a, s);
		rc = s->batch.end;
		hand_over(a);
	} while (!rc);
}

static void *ahead_work(void *arg)
{
	struct ahead *a = arg;

	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		struct index_entry entry;

		if (a->n_begun == a->n_asked) {
			pthread_cond_wait(&a->wanted, &a->lock);
			continue;
		}
		entry = a->asked[a->n_begun++].entry;
		a->busy = true;
		pthread_mutex_unlock(&a->lock);
		ahead_decode(a, &entry);
		pthread_mutex_lock(&a->lock);
		a->busy = false;
		pthread_cond_signal(&a->made);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* Gives back what the reader has used up, and with its last batch the chunk. */
static void ahead_release(struct ahead *a)
{
	if (!a->held)
		return;
	if (a->held->end) {
		a->n_taken = 0;
		a->n_asked--;
		a->n_begun--;
		memmove(a->asked, a->asked + 1, a->n_asked * sizeof(a->asked[0]));
	}
	a->held = NULL;
	a->n_released++;
	if (a->waiting && a->n_made - a->n_released <= BATCHES / 2) {
		a->waiting = false;
		pthread_cond_signal(&a->wanted);
	}
}

/* The reader wants another chunk: drops all that was asked for. */
static void ahead_forget(struct ahead *a)
{
	a->drop = true;
	a->n_asked = a->n_begun = 0;
	pthread_cond_signal(&a->wanted);
	while (a->busy)
		pthread_cond_wait(&a->made, &a->lock);
	a->drop = false;
	a->n_released = a->n_made;
	a->n_taken = 0;
}

/* Asks for the chunks of events from there on, after those already asked for. */
static void ahead_ask(struct ahead *a, const struct reader *r, size_t from)
{
	if (a->n_asked)
		from = a->asked[a->n_asked - 1].at + 1;
	for (size_t i = from; i < r->index.list.n && a->n_asked < ASKED; i++) {
		const struct index_entry *e = &r->index.list.v[i];

		if (e->state != INDEX_CHUNK || e->type != CHUNK_EVENTS)
			continue;
		a->asked[a->n_asked++] = (struct ahead_asked){i, *e};
		pthread_cond_signal(&a->wanted);
	}
}

static const struct batch *ahead_take(struct ahead *a, const struct reader *r, size_t at,
				      bool first)
{
	pthread_mutex_lock(&a->lock);
	ahead_release(a);
	if (first && a->n_asked && (a->n_taken || a->asked[0].at != at))
		ahead_forget(a);
	ahead_ask(a, r, at);
	while (a->n_made == a->n_released)
		pthread_cond_wait(&a->made, &a->lock);
	a->held = &a->slots[a->n_released % BATCHES].batch;
	a->n_taken++;
	pthread_mutex_unlock(&a->lock);
	return a->held;
}

static void ahead_free(struct ahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_signal(&a->wanted);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	for (int i = 0; i < BATCHES; i++) {
		free(a->slots[i].events);
		pool_done(&a->slots[i].strings);
	}
	expander_free(a->source.expander);
	buf_done(&a->source.stored);
	decoder_done(&a->decoder);
	buf_done(&a->raw);
	pthread_cond_destroy(&a->made);
	pthread_cond_destroy(&a->wanted);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* Blocks signals in the new thread: they are for the caller's threads. */
static bool start_quietly(struct ahead *a)
{
	sigset_t all, before;
	bool started;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = !pthread_create(&a->thread, NULL, ahead_work, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

void reader_read_ahead(struct reader *r)
{
	static const struct ahead_ops ops = {ahead_take, ahead_free};
	struct ahead *a;

	if (r->ahead)
		return;
	a = mem_zalloc(sizeof(*a));
	/* The same file, with its own buffers, so that both threads can read. */
	a->source = r->source;
	a->source.stored = (struct buf){0};
	a->source.expander = expander_new();
	decoder_init(&a->decoder);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->wanted, NULL);
	pthread_cond_init(&a->made, NULL);
	if (!a->source.expander || !start_quietly(a)) {
		expander_free(a->source.expander);
		free(a);
		return;
	}
	r->ahead = a;
	r->ahead_ops = &ops;
}
