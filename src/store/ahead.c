// SPDX-License-Identifier: MIT
/*
 * A few slots, each for a chunk: wanted by the reader's thread, ready when the other has decoded
 * it. A slot belongs to the other thread while it is wanted, and to the reader's otherwise. The
 * index is the reader's alone: an entry is copied when its chunk is asked for.
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

/* A chunk being used, one that is ready, one being made: more would only be more memory. */
enum { SLOTS = 3 };
/* Of a size that thaw writes; what claims to hold more is taken event by event. */
enum { EVENTS_MAX = 1 << 17 };

enum slot_state { SLOT_FREE, SLOT_WANTED, SLOT_READY, SLOT_FAILED };

struct slot {
	enum slot_state state;
	size_t at; /* of the index */
	struct index_entry entry;
	struct event *events;
	size_t n, room;
	struct pool strings; /* of these events */
};

struct ahead {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wanted, made;
	bool stop;
	struct slot slots[SLOTS];
	struct slot *held; /* by the reader */
	/* The thread's own. */
	struct source source;
	struct decoder decoder;
	struct buf raw;
	bool has_strings[EV_KINDS];
};

/* Strings are the decoder's until its next event. */
static void keep_strings(struct slot *s, struct event *ev)
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

static bool decode(struct ahead *a, struct slot *s)
{
	int rc = source_load(&a->source, &s->entry, &a->raw);

	if (!rc)
		rc = decoder_start(&a->decoder, a->raw.p, a->raw.len, s->entry.ts_min);
	if (rc || a->decoder.n_events > EVENTS_MAX)
		return false;
	if (s->room < a->decoder.n_events) {
		s->room = (size_t)a->decoder.n_events;
		s->events = mem_grow(s->events, s->room, sizeof(*s->events));
	}
	pool_done(&s->strings);
	s->n = 0;
	while (s->n < s->room && (rc = decoder_next(&a->decoder, &s->events[s->n])) > 0) {
		if (a->has_strings[s->events[s->n].kind])
			keep_strings(s, &s->events[s->n]);
		s->n++;
	}
	/* With its room full it has had them all, but for kinds from the future. */
	return !rc || (rc > 0 && !a->decoder.bad && a->decoder.at == a->decoder.n_events);
}

static struct slot *first_wanted(struct ahead *a)
{
	struct slot *first = NULL;

	for (int i = 0; i < SLOTS; i++)
		if (a->slots[i].state == SLOT_WANTED && (!first || a->slots[i].at < first->at))
			first = &a->slots[i];
	return first;
}

static void *work(void *arg)
{
	struct ahead *a = arg;

	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		struct slot *s = first_wanted(a);
		bool good;

		if (!s) {
			pthread_cond_wait(&a->wanted, &a->lock);
			continue;
		}
		pthread_mutex_unlock(&a->lock);
		good = decode(a, s);
		pthread_mutex_lock(&a->lock);
		s->state = good ? SLOT_READY : SLOT_FAILED;
		pthread_cond_signal(&a->made);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

static struct slot *slot_of(struct ahead *a, size_t at)
{
	for (int i = 0; i < SLOTS; i++)
		if (a->slots[i].state != SLOT_FREE && a->slots[i].at == at)
			return &a->slots[i];
	return NULL;
}

static bool among(const size_t *list, size_t n, size_t at)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == at)
			return true;
	return false;
}

/* One in which there is nothing that is in use or on the list. */
static struct slot *slot_for(struct ahead *a, const size_t *list, size_t n)
{
	for (int i = 0; i < SLOTS; i++) {
		struct slot *s = &a->slots[i];

		if (s->state == SLOT_FREE ||
		    (s != a->held && s->state != SLOT_WANTED && !among(list, n, s->at)))
			return s;
	}
	return NULL;
}

/* Asks for the chunks of events from there on, as far as there are slots. */
static void want(struct ahead *a, const struct reader *r, size_t from)
{
	size_t list[SLOTS - 1], n = 0;

	for (size_t i = from; i < r->index.list.n && n < ARRAY_LEN(list); i++)
		if (r->index.list.v[i].state == INDEX_CHUNK &&
		    r->index.list.v[i].type == CHUNK_EVENTS)
			list[n++] = i;
	for (size_t i = 0; i < n; i++) {
		struct slot *s = slot_of(a, list[i]) ? NULL : slot_for(a, list, n);

		if (!s)
			continue;
		s->at = list[i];
		s->entry = r->index.list.v[list[i]];
		s->state = SLOT_WANTED;
		pthread_cond_signal(&a->wanted);
	}
}

static const struct event *take(struct ahead *a, struct reader *r, size_t at, size_t *ret_n)
{
	struct slot *s;

	pthread_mutex_lock(&a->lock);
	a->held = NULL;
	want(a, r, at);
	s = slot_of(a, at);
	while (s && s->state == SLOT_WANTED)
		pthread_cond_wait(&a->made, &a->lock);
	a->held = s;
	want(a, r, at + 1);
	pthread_mutex_unlock(&a->lock);
	if (!s || s->state != SLOT_READY)
		return NULL;
	*ret_n = s->n;
	return s->events;
}

static void ahead_free(struct ahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_signal(&a->wanted);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	for (int i = 0; i < SLOTS; i++) {
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

/* Signals are for the threads of who reads: how they are taken may be decided later than this. */
static bool start_quietly(struct ahead *a)
{
	sigset_t all, before;
	bool started;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = !pthread_create(&a->thread, NULL, work, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

void reader_read_ahead(struct reader *r)
{
	static const struct ahead_ops ops = {take, ahead_free};
	struct ahead *a;

	if (r->ahead)
		return;
	a = mem_zalloc(sizeof(*a));
	/* The same file, with what is needed to read it a second time at once. */
	a->source = r->source;
	a->source.stored = (struct buf){0};
	a->source.expander = expander_new();
	decoder_init(&a->decoder);
	for (unsigned i = 0; i < COLUMNS; i++)
		a->has_strings[columns[i].kind] |= columns[i].codec == CODEC_STRING;
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
