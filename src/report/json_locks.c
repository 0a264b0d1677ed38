// SPDX-License-Identifier: MIT
/*
 * Locks, blame, stalls and the finding as JSON. A lock is referred to by its place in "locks". What
 * was not recorded is null, never zero.
 */
#include "report/json_parts.h"

#include "base/buf.h"
#include "report/lead.h"
#include "report/words.h"

enum { MOST_THREADS = 100 }; /* of a lock or a row of blame; the rest is in the sums */

static const char *held_by_name(enum held_by by)
{
	switch (by) {
	case HELD_BY_SAMPLE:
		return "sample";
	case HELD_BY_WAIT:
		return "wait";
	case HELD_BY_RELEASE:
		return "release";
	case HELD_BY_NOTHING:
		break;
	}
	return NULL;
}

static const char *doing_name(enum interval_kind k)
{
	switch (k) {
	case INTERVAL_RUNNING:
		return "running";
	case INTERVAL_RUNNABLE:
		return "runnable";
	case INTERVAL_WAITING:
		return "waiting";
	default:
		return NULL;
	}
}

/* "doing" and, unless it ran, "reason". */
static void put_doing(struct json *j, enum interval_kind doing, enum reason reason)
{
	bool why = doing == INTERVAL_WAITING || doing == INTERVAL_RUNNABLE;

	json_str(j, "doing", doing_name(doing));
	json_str(j, "reason", why ? reason_name(reason) : NULL);
}

/* What a holder did while others waited, the longest first; the parts sum up to that time. */
static void put_did(struct json *j, const struct doings *d)
{
	json_arr(j, "meanwhile");
	for (size_t i = 0; i < d->n; i++) {
		json_obj(j, NULL);
		put_doing(j, d->v[i].kind, d->v[i].reason);
		json_u64(j, "ns", d->v[i].ns);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void put_did_words(struct json *j, const struct doings *d)
{
	struct buf b = {0};

	put_did(j, d);
	words_did(&b, d, "");
	json_str(j, "meanwhile_words", b.len ? buf_cstr(&b) : "");
	buf_done(&b);
}

static void json_locks_put_function(struct json *j, const struct summary *s, uint32_t function)
{
	const struct names *n = &s->model->names;

	json_str(j, "function",
		 function < n->functions.n ? names_function(n, function)->name : NULL);
}

static void put_lock_ref(struct json *j, const char *key, const struct summary *s, size_t lock)
{
	if (lock < s->locks.n)
		json_u64(j, key, lock);
	else
		json_null(j, key);
}

static void put_lock_place(struct json *j, const struct summary *s, size_t lock,
			   json_lock_places *places)
{
	if (places && lock < s->locks.n)
		lock = places[lock] ? places[lock] - 1 : SIZE_MAX;
	put_lock_ref(j, "lock", s, lock);
}

static void put_waiter(struct json *j, const struct summary *s, const struct lock_waiter *w)
{
	json_obj(j, NULL);
	json_put_who(j, w->thread);
	json_u64(j, "wait_ns", w->total);
	json_u64(j, "waits", w->count);
	json_u64(j, "max_ns", w->max);
	json_put_stack(j, "stack", &s->model->names, w->kstack, w->ustack);
	json_obj_end(j);
}

static void put_holder(struct json *j, const struct summary *s, const struct lock_holder *h)
{
	json_obj(j, NULL);
	json_put_who(j, h->thread);
	json_u64(j, "blamed_ns", h->blamed);
	json_u64(j, "waits", h->count);
	json_u64(j, "running_ns", h->running);
	json_u64(j, "runnable_ns", h->runnable);
	json_u64(j, "waiting_ns", h->waiting);
	put_did_words(j, &h->did);
	json_str(j, "stack_from", held_by_name(h->by));
	json_put_stack(j, "stack", &s->model->names, h->kstack, h->ustack);
	json_put_stack(j, "release_stack", &s->model->names, h->release_kstack, h->release_ustack);
	json_obj_end(j);
}

static void put_histogram(struct json *j, const struct lock_sum *l)
{
	json_arr(j, "histogram");
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		if (!l->histogram[i])
			continue;
		json_obj(j, NULL);
		json_u64(j, "from_ns", hist_from(i));
		json_u64(j, "count", l->histogram[i]);
		json_obj_end(j);
	}
	json_arr_end(j);
}

void json_put_lock(struct json *j, const struct summary *s, const struct lock_sum *l)
{
	json_obj(j, NULL);
	if (l->inferred)
		json_null(j, "id");
	else
		json_u64(j, "id", l->index);
	json_str(j, "kind", lock_kind_name(l->kind));
	json_str(j, "name", l->name);
	if (l->inferred)
		json_null(j, "address");
	else
		json_put_address(j, "address", l->address);
	json_bool(j, "named", l->named);
	json_bool(j, "inferred", l->inferred);
	json_bool(j, "contended", l->contended);
	json_bool(j, "shared", l->shared);
	json_str(j, "evidence", evidence_name(l->evidence));
	json_u64(j, "pid", l->pid);
	json_u64(j, "life", l->life);
	json_u64(j, "waits", l->count);
	json_u64(j, "total_wait_ns", l->total);
	json_u64(j, "max_wait_ns", l->max);
	json_u64(j, "max_start_unix_ns", model_unix_ns(s->model, l->max_start));
	json_put_offset(j, "max_start_ns", s->model, l->max_start);
	json_u64(j, "max_tid", l->max_thread ? l->max_thread->tid : 0);
	json_u64(j, "p50_ns", l->p50);
	json_u64(j, "p99_ns", l->p99);
	json_u64(j, "not_ended", l->open);
	json_u64(j, "given_up", l->failed);
	json_u64(j, "holder_known_ns", l->known);
	put_histogram(j, l);
	json_u64(j, "waiters_total", l->waiters.n);
	json_arr(j, "waiters");
	for (size_t i = 0; i < l->waiters.n && i < MOST_THREADS; i++)
		put_waiter(j, s, &l->waiters.v[i]);
	json_arr_end(j);
	json_u64(j, "holders_total", l->holders.n);
	json_arr(j, "holders");
	for (size_t i = 0; i < l->holders.n && i < MOST_THREADS; i++)
		put_holder(j, s, &l->holders.v[i]);
	json_arr_end(j);
	json_obj_end(j);
}

void json_put_kernel_locks(struct json *j, const struct summary *s)
{
	json_bool(j, "kernel_locks_recorded", s->kernel_locks);
}

static void put_victim(struct json *j, const struct blame_victim *v)
{
	json_obj(j, NULL);
	json_put_who(j, v->thread);
	json_u64(j, "blamed_ns", v->total);
	json_u64(j, "waits", v->count);
	json_u64(j, "wall_ns", thread_wall(v->thread));
	json_obj_end(j);
}

static void put_blame_row(struct json *j, const struct summary *s, const struct blame_row *r)
{
	json_obj(j, NULL);
	json_put_who(j, r->culprit);
	put_doing(j, r->doing, r->reason);
	json_locks_put_function(j, s, r->function);
	put_lock_ref(j, "lock", s, r->lock);
	put_lock_ref(j, "first_lock", s, r->first);
	json_u64(j, "depth", r->depth);
	json_bool(j, "deadlock", r->deadlock);
	json_u64(j, "blamed_ns", r->total);
	json_u64(j, "waits", r->count);
	json_u64_if(j, "most_gained_ns", !r->crowd, r->max);
	json_str(j, "stack_from", held_by_name(r->by));
	json_put_stack(j, "stack", &s->model->names, r->kstack, r->ustack);
	json_u64_if(j, "victims_total", !r->crowd, r->victims.n);
	json_arr(j, "victims");
	for (size_t i = 0; i < r->victims.n && i < MOST_THREADS && !r->crowd; i++)
		put_victim(j, &r->victims.v[i]);
	json_arr_end(j);
	json_obj_end(j);
}

static void put_blame_sum(struct json *j, const struct summary *s, const struct blame_sum *r)
{
	struct buf b = {0};

	json_obj(j, NULL);
	json_put_who(j, r->culprit);
	json_locks_put_function(j, s, r->function);
	put_lock_ref(j, "lock", s, r->lock);
	put_lock_ref(j, "first_lock", s, r->first);
	json_bool(j, "deadlock", r->deadlock);
	json_u64(j, "blamed_ns", r->total);
	put_did_words(j, &r->did);
	lead_culprit(s, r, &b);
	json_str(j, "words", buf_cstr(&b));
	buf_done(&b);
	json_put_stack(j, "stack", &s->model->names, r->kstack, r->ustack);
	json_u64_if(j, "victims_total", !r->crowd, r->victims.n);
	json_arr(j, "victims");
	for (size_t i = 0; i < r->victims.n && i < MOST_THREADS && !r->crowd; i++)
		put_victim(j, &r->victims.v[i]);
	json_arr_end(j);
	json_obj_end(j);
}

void json_put_blame(struct json *j, const struct summary *s, size_t rows)
{
	bool seen = s->model->facts.has_switches;

	json_obj(j, "blamed");
	json_u64_if(j, "waited_ns", seen, s->blame.waited);
	json_u64_if(j, "charged_ns", seen, s->blame.charged);
	json_u64_if(j, "unknown_ns", seen, s->blame.unknown);
	json_obj_end(j);
	json_arr(j, "blame");
	for (size_t i = 0; i < rows; i++)
		put_blame_row(j, s, &s->blame.rows.v[i]);
	json_arr_end(j);
	json_arr(j, "culprits");
	for (size_t i = 0; i < s->blame.sums.n && (i < rows || rows == s->blame.rows.n); i++)
		put_blame_sum(j, s, &s->blame.sums.v[i]);
	json_arr_end(j);
}

static void put_stall(struct json *j, const struct summary *s, const struct stall *st)
{
	json_obj(j, NULL);
	json_u64(j, "start_unix_ns", model_unix_ns(s->model, st->start));
	json_u64(j, "start_ns", st->start - s->model->timeline.begin);
	json_u64(j, "ns", st->ns);
	json_u64(j, "threads", st->threads);
	json_u64(j, "of_threads", st->all);
	json_u64(j, "lost_ns", st->lost);
	put_lock_ref(j, "lock", s, st->lock);
	json_bool(j, "deadlock", st->circle);
	json_put_who(j, st->culprit);
	put_doing(j, st->doing, st->reason);
	put_did_words(j, &st->did);
	json_locks_put_function(j, s, st->function);
	json_put_stack(j, "stack", &s->model->names, st->kstack, st->ustack);
	json_obj_end(j);
}

void json_put_stalls(struct json *j, const struct summary *s, size_t rows)
{
	json_u64_if(j, "stalled_ns", s->model->facts.has_switches, s->stalls.total);
	json_u64(j, "stalls_total", s->stalls.count);
	json_arr(j, "stalls");
	for (size_t i = 0; i < rows; i++)
		put_stall(j, s, &s->stalls.list.v[i]);
	json_arr_end(j);
	json_arr(j, "blackouts");
	for (size_t i = 0; i < s->stalls.blackouts.n; i++) {
		const struct blackout *o = &s->stalls.blackouts.v[i];

		json_obj(j, NULL);
		json_u64(j, "start_unix_ns", model_unix_ns(s->model, o->start));
		json_u64(j, "start_ns", o->start - s->model->timeline.begin);
		json_u64(j, "ns", o->ns);
		json_u64(j, "cpus_running", o->running);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void put_party(struct json *j, const char *key, const struct thread *t)
{
	if (!t) {
		json_null(j, key);
		return;
	}
	json_obj(j, key);
	json_put_who(j, t);
	json_obj_end(j);
}

static void put_until(struct json *j, const struct summary *s, const struct stuck_wait *w)
{
	json_u64_if(j, "until_ns", w->with_life, w->end - s->model->timeline.begin);
	json_bool(j, "killed", thread_was_killed(w->thread));
}

/* Circles of threads, each of which waits for the next one, when the recording ended. */
void json_put_deadlocks(struct json *j, const struct summary *s, json_lock_places *places)
{
	const struct stuck *st = &s->stuck;

	json_arr(j, "deadlocks");
	for (size_t i = 0; i < st->waits.n && st->waits.v[i].circle;) {
		uint32_t circle = st->waits.v[i].circle;
		size_t behind = 0;

		for (size_t k = i; k < st->waits.n; k++)
			behind += st->waits.v[k].behind == circle;
		json_obj(j, NULL);
		json_arr(j, "threads");
		for (; i < st->waits.n && st->waits.v[i].circle == circle; i++) {
			const struct stuck_wait *w = &st->waits.v[i];

			json_obj(j, NULL);
			json_put_who(j, w->thread);
			put_lock_place(j, s, w->lock, places);
			put_party(j, "waits_for", w->for_);
			json_bool(j, "since_before", w->before);
			json_u64(j, "since_ns", w->start - s->model->timeline.begin);
			put_until(j, s, w);
			json_obj_end(j);
		}
		json_arr_end(j);
		json_u64(j, "behind", behind);
		json_obj_end(j);
	}
	json_arr_end(j);
}

void json_put_stuck(struct json *j, const struct summary *s, size_t rows)
{
	size_t n = 0;

	json_arr(j, "stuck");
	for (size_t i = 0; i < s->stuck.waits.n && n < rows; i++) {
		const struct stuck_wait *w = &s->stuck.waits.v[i];

		if (!thread_is_subject(w->thread) ||
		    (reason_has(w->reason, TRAIT_OUTSIDE) && !w->file))
			continue;
		n++;
		json_obj(j, NULL);
		json_put_who(j, w->thread);
		json_str(j, "reason", reason_name(w->reason));
		json_bool(j, "uninterruptible", w->state & STATE_UNINTERRUPTIBLE);
		json_str(j, "call", w->call);
		json_put_file(j, "file", w->file);
		put_lock_ref(j, "lock", s, w->lock);
		put_party(j, "waits_for", w->for_);
		put_party(j, "signaller", w->signaller);
		json_u64_if(j, "signalled_ns", w->signaller,
			    w->signalled - s->model->timeline.begin);
		json_bool(j, "since_before", w->before);
		json_u64(j, "since_ns", w->start - s->model->timeline.begin);
		put_until(j, s, w);
		json_put_stack(j, "stack", &s->model->names, w->kstack, w->ustack);
		json_obj_end(j);
	}
	json_arr_end(j);
}

/* With the report's first sentence, so that consumers need not write their own. */
void json_put_finding(struct json *j, const struct summary *s, json_lock_places *places)
{
	const struct finding *f = &s->finding;
	struct lead_about about;
	struct buf b = {0};

	lead_about(s, &about);
	json_obj(j, "finding");
	lead_sentence(s, &b);
	json_str(j, "sentence", b.len ? buf_cstr(&b) : "");
	buf_done(&b);
	json_str(j, "about", about.what);
	json_bool(j, "found", f->found);
	put_lock_place(j, s, f->found ? f->lock : SIZE_MAX, places);
	json_str(j, "group", f->found ? f->group : NULL);
	json_u64(j, "threads", f->threads);
	json_arr(j, "victims");
	for (size_t i = 0; i < f->victims.n && i < MOST_THREADS; i++)
		put_party(j, NULL, f->victims.v[i]);
	json_arr_end(j);
	json_u64_if(j, "waited_ns", f->found, f->waited);
	json_u64_if(j, "wall_ns", f->found, f->wall);
	put_party(j, "holder", f->holder);
	json_u64_if(j, "held_ns", f->found, f->held);
	json_locks_put_function(j, s, f->found ? f->function : UINT32_MAX);
	put_party(j, "root", f->root);
	put_doing(j, f->found ? f->doing : INTERVAL_LOST, f->reason);
	put_did_words(j, &f->did);
	json_obj_end(j);
}
