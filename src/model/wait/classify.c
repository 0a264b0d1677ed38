// SPDX-License-Identifier: MIT
/*
 * Evidence, the strongest first: states that leave no doubt; the kernel's record that the sleep was
 * on one of its locks; a page fault; what is known of the futex; the kernel stack; the call and its
 * file; and at last the state again.
 */
#include "model/wait/classify.h"

#include <string.h>

#include "model/lock/locks.h"
#include "wire/event.h"

enum where { WHERE_NONE, WHERE_SKIP, WHERE_INNER, WHERE_HOME, WHERE_LEAF, WHERE_ANYWHERE };

struct frame_rule {
	enum where where;
	enum reason reason;
	const char *const *names;
};

static const struct frame_rule frame_rules[] = {
#define FRAMES(where, reason, ...)                                                                 \
	{WHERE_##where, REASON_##reason, (const char *const[]){__VA_ARGS__, NULL}},
#include "timeline/wait.def"
};

static const struct {
	enum lock_kind kind;
	const char *const *names;
} user_rules[] = {
#define USERS(kind, ...) {LOCK_##kind, (const char *const[]){__VA_ARGS__, NULL}},
#include "timeline/wait.def"
};

enum { FILE_ANY = -1, HOW_ANY, HOW_D, HOW_HOME };

static const struct call_rule {
	int file, how;
	enum reason reason;
	const char *const *names;
} call_rules[] = {
#define CALLS(file, how, reason, ...)                                                              \
	{FILE_##file, HOW_##how, REASON_##reason, (const char *const[]){__VA_ARGS__, NULL}},
#include "timeline/wait.def"
};
_Static_assert(ARRAY_LEN(call_rules) <= 64, "classify.calls has a bit for each");

/* A name against a pattern; ".isra.0", ".constprop.0" and versions ("@@GLIBC_2.34") aside. */
static bool classify_matches(const char *name, const char *pattern)
{
	size_t n = strlen(pattern), have;

	if (n && pattern[n - 1] == '*')
		return !strncmp(name, pattern, n - 1);
	have = strcspn(name, ".@");
	return have == n && !memcmp(name, pattern, n);
}

static bool classify_any(const char *name, const char *const *patterns)
{
	for (; *patterns; patterns++)
		if (classify_matches(name, *patterns))
			return true;
	return false;
}

static const struct frame_rule *rule_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(frame_rules); i++)
		if (classify_any(name, frame_rules[i].names))
			return &frame_rules[i];
	return NULL;
}

bool classify_plumbing(const char *name)
{
	const struct frame_rule *r = rule_of(name);

	return r && (r->where == WHERE_SKIP || r->reason == REASON_KERNEL_LOCK);
}

void classify_init(struct classify *c, struct names *names)
{
	*c = (struct classify){.names = names};
}

void classify_done(struct classify *c)
{
	vec_done(&c->functions);
	vec_done(&c->kstacks);
	vec_done(&c->ustacks);
}

/* For functions of the kernel the rule that names them + 2, for others the kind + 2; 1: nothing. */
static unsigned function_says(struct classify *c, uint32_t i)
{
	const struct function *f = names_function(c->names, i);
	const struct frame_rule *rule;
	unsigned says = 1;

	while (c->functions.n <= i)
		vec_push(&c->functions, 0);
	if (c->functions.v[i])
		return c->functions.v[i];
	if (f->kernel) {
		rule = rule_of(f->name);
		says = rule ? 2 + (unsigned)(rule - frame_rules) : 1;
	} else {
		for (size_t k = 0; k < ARRAY_LEN(user_rules) && says == 1; k++)
			if (classify_any(f->name, user_rules[k].names))
				says = 2 + user_rules[k].kind;
	}
	c->functions.v[i] = (uint16_t)says;
	return says;
}

static uint64_t classify_place_of(const struct named_frame *f, size_t n)
{
	uint64_t place = n;

	for (size_t i = 0; i < n; i++)
		place = map_mix(place + f[i].function + 1);
	return place;
}

/* down(), down_interruptible() and what they call; not the rwsems' down_read() and down_write(). */
static bool is_semaphore(const char *name)
{
	name += strspn(name, "_");
	return !strncmp(name, "down", 4) && !strstr(name, "_read") && !strstr(name, "_write");
}

static struct kstack_says read_kstack(struct classify *c, const struct named_frame *f, size_t n)
{
	struct kstack_says s = {.known = true, .place = classify_place_of(f, n)};
	bool decided = false, anywhere = false;
	size_t telling = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned says = function_says(c, f[i].function);
		const struct frame_rule *r = says > 1 ? &frame_rules[says - 2] : NULL;
		const char *name = names_function(c->names, f[i].function)->name;

		if (r && r->where == WHERE_SKIP)
			continue;
		if (!strcmp(name, "kthread") || !strcmp(name, "ret_from_fork")) {
			s.main_loop = telling <= 2;
			break;
		}
		if (r && !decided && (r->where != WHERE_LEAF || !telling)) {
			decided = true;
			s.reason = (uint8_t)r->reason;
			s.home = r->where == WHERE_HOME;
			s.semaphore = r->reason == REASON_KERNEL_LOCK && is_semaphore(name);
		}
		if (r && r->where == WHERE_ANYWHERE && s.reason != REASON_KERNEL_LOCK &&
		    !anywhere) {
			anywhere = true;
			s.reason = (uint8_t)r->reason;
			s.home = false;
		}
		/* The functions that lead to sleeping on a semaphore count as one. */
		telling += !(s.semaphore && is_semaphore(name)) || !telling;
	}
	return s;
}

struct kstack_says classify_kstack(struct classify *c, uint32_t kstack)
{
	const struct named_frame *f;
	size_t n;

	if (!kstack)
		return (struct kstack_says){0};
	if (c->kstacks.n <= kstack && !names_may_be_stack(c->names, kstack))
		return (struct kstack_says){0};
	while (c->kstacks.n <= kstack)
		vec_push(&c->kstacks, (struct kstack_says){0});
	if (!c->kstacks.v[kstack].known) {
		n = names_probed_stack(c->names, kstack, 0, &f);
		c->kstacks.v[kstack] = read_kstack(c, f, n);
	}
	return c->kstacks.v[kstack];
}

static bool is_libc(const char *module)
{
	static const char *const starts[] = {"libc.so", "libc-", "libpthread", "ld-musl",
					     "libc.musl"};

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (!strncmp(module, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* How far from the leaf libc's own functions may be: what it calls in turn, and wrappers. */
#define USER_FRAMES 8

struct ustack_says classify_ustack(struct classify *c, uint32_t ustack)
{
	struct ustack_says s = {.known = true, .kind = LOCK_KINDS};
	const struct named_frame *f;
	size_t n;

	if (!ustack)
		return s;
	if (c->ustacks.n <= ustack && !names_may_be_stack(c->names, ustack))
		return s;
	while (c->ustacks.n <= ustack)
		vec_push(&c->ustacks, (struct ustack_says){0});
	if (c->ustacks.v[ustack].known)
		return c->ustacks.v[ustack];
	n = names_stack(c->names, 0, ustack, &f);
	s.place = classify_place_of(f, n);
	s.libc = n && is_libc(names_function(c->names, f[0].function)->module);
	s.direct = s.libc && !strcmp(names_function(c->names, f[0].function)->name, "syscall");
	for (size_t i = 0; i < n && i < USER_FRAMES && s.kind == LOCK_KINDS; i++) {
		unsigned says = function_says(c, f[i].function);

		if (says > 1 && !names_function(c->names, f[i].function)->kernel)
			s.kind = (uint8_t)(says - 2);
	}
	c->ustacks.v[ustack] = s;
	return s;
}

uint64_t classify_place(struct classify *c, uint32_t kstack, uint32_t ustack)
{
	uint64_t k = classify_kstack(c, kstack).place, u = classify_ustack(c, ustack).place;

	return k || u ? map_mix(k) + u : 0;
}

/* Each model asks for each call and each name: most differ in their first letter. */
static bool is_among(const char *call, const char *const *names)
{
	for (; *names; names++)
		if (call[0] == (*names)[0] && !strcmp(call, *names))
			return true;
	return false;
}

void classify_calls(struct classify *c, const struct arch *arch)
{
	for (unsigned nr = 0; arch && nr < arch->n_calls && nr < CALL_NR; nr++)
		for (size_t i = 0; arch->calls[nr] && i < ARRAY_LEN(call_rules); i++)
			if (is_among(arch->calls[nr], call_rules[i].names))
				c->calls[nr] |= 1ull << i;
}

static const struct call_rule *call_rule(const struct classify *c, uint32_t call, uint32_t state)
{
	int nr = (int)(call & CALL_NR) - 1, file = (call & CALL_FILE) >> CALL_FILE_SHIFT;

	if (nr < 0 || (call & CALL_COMPAT))
		return NULL;
	for (uint64_t rules = c->calls[nr]; rules; rules &= rules - 1) {
		const struct call_rule *r = &call_rules[__builtin_ctzll(rules)];

		if (r->file != FILE_ANY && r->file != file)
			continue;
		if (r->how == HOW_D && !(state & STATE_UNINTERRUPTIBLE))
			continue;
		return r;
	}
	return NULL;
}

static struct verdict because(enum reason reason, enum evidence evidence)
{
	return (struct verdict){(uint8_t)reason, (uint8_t)evidence};
}

/* Rare states first: the kernel sets them together with the ordinary ones. */
static enum reason plain_state(uint32_t state)
{
	static const struct {
		uint32_t bits;
		enum reason reason;
	} rules[] = {
		{STATE_DEAD | STATE_ZOMBIE | STATE_GONE, REASON_DEAD},
		{STATE_TRACED, REASON_TRACED},
		{STATE_STOPPED, REASON_STOPPED},
		{STATE_PARKED, REASON_PARKED},
		{STATE_FROZEN, REASON_FROZEN},
	};

	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (state & rules[i].bits)
			return rules[i].reason;
	return REASON_UNKNOWN;
}

/* A futex whose event is missing: the user stack may still tell. */
static struct verdict futex_without_words(struct classify *c, uint32_t ustack, enum evidence by)
{
	struct ustack_says u = classify_ustack(c, ustack);

	if (u.kind < LOCK_KINDS)
		return because(lock_kind_reason(u.kind), EVIDENCE_USTACK);
	return because(REASON_FUTEX, by);
}

static struct verdict kernel_thread(const struct classify *c, const struct wait_row *r,
				    const struct kstack_says *k)
{
	if (r->state & STATE_NOLOAD)
		return because(REASON_IDLE, EVIDENCE_STATE);
	if (k->main_loop && !(r->state & STATE_UNINTERRUPTIBLE))
		return because(REASON_IDLE, EVIDENCE_KSTACK);
	if (!k->known && (r->state & STATE_INTERRUPTIBLE) && !c->no_states)
		return because(REASON_IDLE, EVIDENCE_STATE);
	return because(REASON_UNKNOWN, EVIDENCE_NONE);
}

static struct verdict decide(struct classify *c, struct wait_row *r, const struct lock *lock)
{
	struct kstack_says k = classify_kstack(c, r->kstack);
	enum reason plain = plain_state(r->state);
	bool kernel = r->thread->flags & THREAD_KERNEL;
	const struct call_rule *call;

	r->home = k.home;
	if (plain)
		return because(plain, EVIDENCE_STATE);
	/* Drivers count their work with a semaphore: a thread without work sleeps on it. */
	if ((lock ? lock->kind == LOCK_KSEMAPHORE : k.semaphore) && kernel && k.main_loop &&
	    !(r->state & STATE_UNINTERRUPTIBLE))
		return because(REASON_IDLE, EVIDENCE_KSTACK);
	if (lock && lock->kernel)
		return because(REASON_KERNEL_LOCK, EVIDENCE_CONTENTION);
	if (r->state & STATE_RTLOCK)
		return because(REASON_KERNEL_LOCK, EVIDENCE_STATE);
	if (k.reason == REASON_PAGE_FAULT)
		return because(REASON_PAGE_FAULT, EVIDENCE_KSTACK);
	if (r->call & CALL_FAULT && r->state & (STATE_UNINTERRUPTIBLE | STATE_IOWAIT) &&
	    k.reason != REASON_KERNEL_LOCK)
		return because(REASON_PAGE_FAULT, EVIDENCE_CALL);
	if (lock)
		return because(lock_kind_reason(lock->kind), lock->evidence);
	if (k.reason == REASON_FUTEX)
		return futex_without_words(c, r->ustack, EVIDENCE_KSTACK);
	if (kernel && (r->state & STATE_NOLOAD))
		return because(REASON_IDLE, EVIDENCE_STATE);
	if (k.reason)
		return because(k.reason, EVIDENCE_KSTACK);
	call = call_rule(c, r->call, r->state);
	if (call) {
		r->home = call->how == HOW_HOME;
		if (call->reason == REASON_FUTEX)
			return futex_without_words(c, r->ustack, EVIDENCE_CALL);
		return because(call->reason,
			       call->file == FILE_ANY ? EVIDENCE_CALL : EVIDENCE_FILE);
	}
	if (r->state & STATE_IOWAIT)
		return because(REASON_DISK, EVIDENCE_STATE);
	return kernel ? kernel_thread(c, r, &k) : because(REASON_UNKNOWN, EVIDENCE_NONE);
}

/* Sleeps by choice, for work, and on futexes hold nothing of the kernel's; others may. */
static bool is_bare(const struct classify *c, const struct wait_row *r, const struct lock *lock)
{
	const struct call_rule *call = call_rule(c, r->call, r->state);

	if (lock)
		return !lock->kernel;
	return call && call->reason == r->verdict.reason &&
	       (call->how == HOW_HOME || call->reason == REASON_SLEEP);
}

void classify_row(struct classify *c, struct wait_row *r, const struct lock *lock)
{
	r->verdict = decide(c, r, lock);
	r->in = r->verdict.reason;
	r->bare = is_bare(c, r, lock);
}
