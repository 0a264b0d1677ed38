// SPDX-License-Identifier: MIT
/* The recorder's side: questions that are out, what they may cost, and how long to wait. */
#include "scout/scout.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "scout/scout_private.h"

#define IDLE_NS (2 * NSEC_PER_MSEC)
#define ANSWER_MAX (512u << 20)
#define PIPE_BYTES (1u << 20)
enum {
	ON_THEIR_WAY_MAX = 64, /* questions that are not due */
	DUE_MAX = 256,
	REST_FACTOR = 10, /* a process rests so many times as long as reading it took */
	RESTING_MAX = 1 << 16,
	SHARE = 10,	/* a CPU, divided by this */
	WAIT_SHARE = 5, /* a fifth of the time, in which the stream stands still */
};
#define BURST_NS (NSEC_PER_SEC / 2)
#define DUE_WAIT_NS (2 * NSEC_PER_SEC)

/* Grows with time, up to a limit; may be overdrawn. */
struct allowance {
	int64_t ns;
	uint64_t last;
};

struct scout {
	pid_t pid;
	int questions, answers;
	struct buf in;
	uint64_t next;
	struct map asked;   /* what -> number */
	struct map waiting; /* number -> what */
	struct map resting; /* kind and pid -> when it may be asked again */
	struct {
		scout_fn *fn;
		void *ctx;
	} on[SCOUT_KINDS];
	scout_idle_fn *idle;
	void *idle_ctx;
	struct allowance work, waits;
	uint64_t cpu_ns;
	bool gone;
};

/* ---- the child ---- */

static void __attribute__((noreturn)) child(int questions, int answers)
{
	int q, a, null = open("/dev/null", O_RDWR);

	/* A stuck scout must not keep files of the recording, its command or the terminal open. */
	q = fcntl(questions, F_DUPFD, 64);
	a = fcntl(answers, F_DUPFD, 64);
	for (int i = 0; i < 3; i++)
		(void)dup2(null, i);
	(void)dup2(q, 3);
	(void)dup2(a, 4);
	(void)syscall(SYS_close_range, 5, ~0u, 0);
	prctl(PR_SET_NAME, "thaw-scout");
	/*
	 * Ctrl-C is for the recorder. No session of its own: the kernel shares the CPUs out by
	 * session, and lets one that seldom runs wait for seconds beside one that has just begun to
	 * use them all, as a command that is recorded does.
	 */
	(void)setpgid(0, 0);
	(void)!chdir("/");
	scout_serve(3, 4);
	_exit(0);
}

struct scout *scout_new(void)
{
	struct scout *s = mem_zalloc(sizeof(*s));
	int pair[2] = {-1, -1}, ends[2] = {-1, -1};
	pid_t parent = getpid();
	sigset_t all, before;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) || pipe2(ends, O_CLOEXEC)) {
		err_set(-errno, "cannot make a socket: %s", strerror(errno));
		goto fail;
	}
	(void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	s->pid = fork();
	if (!s->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		child(pair[1], ends[1]);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (s->pid < 0) {
		err_set(-errno, "cannot start a process: %s", strerror(errno));
		goto fail;
	}
	close(pair[1]);
	close(ends[1]);
	s->questions = pair[0];
	s->answers = ends[0];
	s->work = s->waits = (struct allowance){.ns = BURST_NS, .last = clock_mono_ns()};
	return s;
fail:
	for (int i = 0; i < 2; i++) {
		if (pair[i] >= 0)
			close(pair[i]);
		if (ends[i] >= 0)
			close(ends[i]);
	}
	free(s);
	return NULL;
}

void scout_free(struct scout *s)
{
	if (!s)
		return;
	close(s->questions);
	close(s->answers);
	kill(s->pid, SIGKILL);
	/* It may be stuck: then init collects it after us. */
	for (int i = 0; i < 20 && !waitpid(s->pid, NULL, WNOHANG); i++)
		usleep(1000);
	buf_done(&s->in);
	map_done(&s->asked);
	map_done(&s->waiting);
	map_done(&s->resting);
	free(s);
}

void scout_on(struct scout *s, enum scout_kind kind, scout_fn *fn, void *ctx)
{
	if (!s)
		return;
	s->on[kind].fn = fn;
	s->on[kind].ctx = ctx;
}

void scout_set_idle(struct scout *s, scout_idle_fn *fn, void *ctx)
{
	if (!s)
		return;
	s->idle = fn;
	s->idle_ctx = ctx;
}

/* ---- what it may cost ---- */

static bool allowed(struct allowance *a, uint64_t now, unsigned divisor)
{
	a->ns += (int64_t)((now - a->last) / divisor);
	a->last = now;
	if (a->ns > (int64_t)BURST_NS)
		a->ns = (int64_t)BURST_NS;
	return a->ns > 0;
}

static uint64_t rest_key(uint32_t kind, uint32_t pid)
{
	return (uint64_t)kind << 32 | pid;
}

static bool may_ask(struct scout *s, const struct scout_question *q, uint64_t now)
{
	uint64_t *until = map_get(&s->resting, rest_key(q->kind, q->pid));

	return allowed(&s->work, now, SHARE) && s->waiting.n < ON_THEIR_WAY_MAX &&
	       (q->path || !until || now >= *until);
}

/* ---- asking ---- */

static uint64_t scout_key_of(const struct scout_question *q)
{
	uint64_t key = map_mix(map_mix(rest_key(q->kind, q->pid)) ^ q->tid);

	return q->path ? map_mix(key ^ q->start) ^ map_hash_bytes(q->path, strlen(q->path)) : key;
}

static bool send_one(struct scout *s, const struct scout_question *q, uint64_t number)
{
	char message[sizeof(struct scout_asked) + SCOUT_PATH_MAX] = {0};
	struct scout_asked asked = {.number = number,
				    .kind = q->kind,
				    .pid = q->pid,
				    .start = q->start,
				    .end = q->end,
				    .dev = q->dev,
				    .inode = q->inode,
				    .futex = q->futex,
				    .tid = q->tid,
				    .fd = q->fd,
				    .vector = q->vector};
	size_t len = q->path ? strlen(q->path) : 0;

	if (len + 1 >= SCOUT_PATH_MAX)
		return false;
	memcpy(message, &asked, sizeof(asked));
	if (len)
		memcpy(message + sizeof(asked), q->path, len);
	return send(s->questions, message, sizeof(asked) + len + 1, MSG_DONTWAIT | MSG_NOSIGNAL) >
	       0;
}

/* ---- answers ---- */

static void charge(struct scout *s, const struct scout_head *h)
{
	uint64_t now = clock_mono_ns();

	s->cpu_ns += h->cost_ns;
	(void)allowed(&s->work, now, SHARE);
	/* Free, because every sleeping thread needs one; later questions need the allowance. */
	if (h->kind != SCOUT_MEMORY)
		s->work.ns -= (int64_t)h->cost_ns;
	if (s->resting.n > RESTING_MAX)
		map_clear(&s->resting);
	if (!h->start)
		*map_put(&s->resting, rest_key(h->kind, h->pid), NULL) =
			now + REST_FACTOR * h->cost_ns;
}

static void hand_out(struct scout *s, const struct scout_head *h, const uint8_t *body)
{
	struct scout_answer a = {.q = {.kind = h->kind,
				       .pid = h->pid,
				       .start = h->start,
				       .dev = h->dev,
				       .inode = h->inode,
				       .tid = h->tid},
				 .status = h->status,
				 .at_ns = h->at_ns,
				 .n_areas = h->n_areas,
				 .n_files = h->n_files,
				 .n_calls = h->n_calls,
				 .n_text = h->n_text};
	uint64_t *key = map_get(&s->waiting, h->number);

	charge(s, h);
	if (key) {
		map_del(&s->asked, *key);
		map_del(&s->waiting, h->number);
	}
	a.areas = (const struct scout_area *)body;
	a.files = (const struct scout_file *)(a.areas + a.n_areas);
	a.calls = (const struct scout_call *)(a.files + a.n_files);
	a.text = (const char *)(a.calls + a.n_calls);
	if (h->kind < SCOUT_KINDS && s->on[h->kind].fn)
		s->on[h->kind].fn(s->on[h->kind].ctx, &a);
}

static size_t body_bytes(const struct scout_head *h)
{
	return h->n_areas * sizeof(struct scout_area) + h->n_files * sizeof(struct scout_file) +
	       h->n_calls * sizeof(struct scout_call) + h->n_text;
}

/* Takes one answer. Its handler may wait for another, and so come here again. */
static bool take_one(struct scout *s)
{
	struct scout_head h;
	uint8_t *body;
	size_t n;

	if (s->in.len < sizeof(h))
		return false;
	memcpy(&h, s->in.p, sizeof(h));
	n = body_bytes(&h);
	if (s->in.len - sizeof(h) < n)
		return false;
	body = mem_alloc(n + 1);
	memcpy(body, s->in.p + sizeof(h), n);
	s->in.len -= sizeof(h) + n;
	memmove(s->in.p, s->in.p + sizeof(h) + n, s->in.len);
	hand_out(s, &h, body);
	free(body);
	return true;
}

void scout_pump(struct scout *s)
{
	ssize_t n;

	if (!s || s->gone)
		return;
	do {
		buf_reserve(&s->in, 1 << 16);
		n = read(s->answers, s->in.p + s->in.len, s->in.room - s->in.len);
		s->in.len += n > 0 ? (size_t)n : 0;
		if (!n || s->in.len > ANSWER_MAX)
			s->gone = true;
	} while (n > 0 || (n < 0 && errno == EINTR));
	while (take_one(s))
		;
}

/* Waits for that answer, or with number 0 until no more than `left` are on their way. */
static bool wait_for(struct scout *s, size_t left, uint64_t number, uint64_t max_ns, bool due)
{
	uint64_t began = clock_mono_ns(), now = began;

	while (!s->gone && (number ? map_get(&s->waiting, number) != NULL : s->waiting.n > left)) {
		struct pollfd p = {.fd = s->answers, .events = POLLIN};

		now = clock_mono_ns();
		if (now - began >= max_ns || (!due && s->waits.ns < (int64_t)(now - began)) ||
		    (s->idle && !s->idle(s->idle_ctx)))
			return false;
		(void)poll(&p, 1, (int)(IDLE_NS / NSEC_PER_MSEC));
		scout_pump(s);
	}
	return !s->gone;
}

uint64_t scout_ask(struct scout *s, const struct scout_question *q, bool due)
{
	uint64_t key = scout_key_of(q), *slot, number;

	if (!s || s->gone)
		return 0;
	slot = map_get(&s->asked, key);
	if (slot)
		return *slot;
	if (due && s->waiting.n >= DUE_MAX)
		(void)wait_for(s, DUE_MAX / 2, 0, DUE_WAIT_NS, true);
	number = s->next + 1;
	if ((!due && !may_ask(s, q, clock_mono_ns())) || !send_one(s, q, number))
		return 0;
	s->next = number;
	*map_put(&s->asked, key, NULL) = number;
	*map_put(&s->waiting, number, NULL) = key;
	return number;
}

bool scout_wait(struct scout *s, uint64_t number, uint64_t max_ns, bool due)
{
	uint64_t began = clock_mono_ns();
	bool ok;

	if (!s || !number)
		return false;
	(void)allowed(&s->waits, began, WAIT_SHARE);
	scout_pump(s); /* the answer may be there, even if we may not wait */
	ok = wait_for(s, 0, number, max_ns, due);
	if (!due)
		s->waits.ns -= (int64_t)(clock_mono_ns() - began);
	return ok;
}

bool scout_wait_all(struct scout *s, uint64_t max_ns)
{
	return s && wait_for(s, 0, 0, max_ns, true);
}

uint64_t scout_cpu_ns(const struct scout *s)
{
	return s ? s->cpu_ns : 0;
}
