// SPDX-License-Identifier: MIT
/*
 * Programs that do not go on: `hangs CASE`. When all threads are where they will stay, it prints a
 * line that says who they are, and stays so until it is killed. It is for those who come later: a
 * recorder that attaches sees nobody go to sleep and nobody wake. `hangs CASE exit` ends by itself
 * a while later.
 */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STAYS __attribute__((noinline, noclone))

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER, sessions = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t index_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t data_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_ready = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static volatile int went_on; /* and no call is the last thing that a function does */

static void nap(void)
{
	usleep(100000);
}

static pthread_t thread(const char *name, void *(*fn)(void *), void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, arg)) {
		perror("pthread_create");
		exit(1);
	}
	pthread_setname_np(t, name);
	return t;
}

static int exits;

static void *giver_up(void *arg)
{
	usleep(500000);
	exit(0);
}

/* All but the calling thread sleep where they will. */
static void ready(const char *name)
{
	nap();
	nap();
	printf("{\"case\":\"%s\",\"pid\":%d}\n", name, (int)getpid());
	fflush(stdout);
	if (exits)
		thread("giver_up", giver_up, NULL);
}

/* ---- two mutexes, the wrong way round; a third thread that wants one of them ---- */

static STAYS void charge(void)
{
	pthread_mutex_lock(&accounts);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&sessions);
	went_on = 1;
}

static STAYS void expire(void)
{
	pthread_mutex_lock(&sessions);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&accounts);
	went_on = 1;
}

static STAYS void list(void)
{
	nap();
	pthread_mutex_lock(&accounts);
	went_on = 1;
}

static void *charger(void *arg)
{
	charge();
	return arg;
}

static void *expirer(void *arg)
{
	expire();
	return arg;
}

static void *lister(void *arg)
{
	list();
	return arg;
}

static void hang_mutexes(void)
{
	pthread_t t = thread("charger", charger, NULL);

	thread("expirer", expirer, NULL);
	thread("lister", lister, NULL);
	ready("mutexes");
	pthread_join(t, NULL);
}

/* ---- the same, after a while in which all went well ---- */

static volatile int wrong_way;
static pthread_barrier_t all_three;

static STAYS void move(pthread_mutex_t *one, pthread_mutex_t *two)
{
	pthread_mutex_lock(one);
	pthread_mutex_lock(two);
	pthread_mutex_unlock(two);
	pthread_mutex_unlock(one);
	usleep(2000);
}

/* Until all three have let go of both: one that still wants the second would hang, too. */
static void go_well(void)
{
	while (!wrong_way)
		move(&accounts, &sessions);
	pthread_barrier_wait(&all_three);
}

static void *later_charger(void *arg)
{
	go_well();
	charge();
	return arg;
}

static void *later_expirer(void *arg)
{
	go_well();
	expire();
	return arg;
}

static void *later_lister(void *arg)
{
	go_well();
	list();
	return arg;
}

static void hang_later(void)
{
	pthread_t t;

	pthread_barrier_init(&all_three, NULL, 3);
	t = thread("charger", later_charger, NULL);

	thread("expirer", later_expirer, NULL);
	thread("lister", later_lister, NULL);
	usleep(1200000);
	wrong_way = 1;
	ready("later");
	pthread_join(t, NULL);
}

/* ---- the same with read-write locks ---- */

static STAYS void reindex(void)
{
	pthread_rwlock_wrlock(&index_lock);
	pthread_barrier_wait(&both);
	pthread_rwlock_wrlock(&data_lock);
	went_on = 1;
}

static STAYS void compact(void)
{
	pthread_rwlock_wrlock(&data_lock);
	pthread_barrier_wait(&both);
	pthread_rwlock_rdlock(&index_lock);
	went_on = 1;
}

static void *indexer(void *arg)
{
	reindex();
	return arg;
}

static void *compactor(void *arg)
{
	compact();
	return arg;
}

static void hang_rwlocks(void)
{
	pthread_t t = thread("indexer", indexer, NULL);

	thread("compactor", compactor, NULL);
	ready("rwlocks");
	pthread_join(t, NULL);
}

/* ---- one of the two only reads: nothing notes that it does ---- */

static STAYS void lookup(void)
{
	pthread_rwlock_rdlock(&index_lock);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&accounts);
	went_on = 1;
}

static STAYS void rebuild(void)
{
	pthread_mutex_lock(&accounts);
	pthread_barrier_wait(&both);
	pthread_rwlock_wrlock(&index_lock);
	went_on = 1;
}

static void *reader(void *arg)
{
	lookup();
	return arg;
}

static void *rebuilder(void *arg)
{
	rebuild();
	return arg;
}

static void hang_reader(void)
{
	pthread_t t = thread("reader", reader, NULL);

	thread("rebuilder", rebuilder, NULL);
	thread("lister", lister, NULL);
	ready("reader");
	pthread_join(t, NULL);
}

/* ---- a thread waits for the end of one that wants what it holds ---- */

static STAYS void finish_work(void)
{
	pthread_mutex_lock(&accounts);
	went_on = 1;
}

static void *worker(void *arg)
{
	finish_work();
	return arg;
}

static STAYS void shut_down(pthread_t t)
{
	pthread_join(t, NULL);
	went_on = 1;
}

static void hang_join(void)
{
	pthread_t t;

	pthread_mutex_lock(&accounts);
	t = thread("worker", worker, NULL);
	prctl(PR_SET_NAME, "closer");
	ready("join");
	shut_down(t);
}

/* ---- a signal that came before anybody waited for it ---- */

static STAYS void take_next(void)
{
	pthread_mutex_lock(&queue_lock);
	pthread_cond_wait(&queue_ready, &queue_lock);
	pthread_mutex_unlock(&queue_lock);
}

static void *consumer(void *arg)
{
	nap();
	take_next();
	return arg;
}

static void hang_lost_wakeup(void)
{
	pthread_t t = thread("consumer", consumer, NULL);

	prctl(PR_SET_NAME, "producer");
	pthread_cond_signal(&queue_ready);
	ready("lost_wakeup");
	pthread_join(t, NULL);
}

/* ---- the same after one that was heard ---- */

static STAYS void take_first(void)
{
	pthread_mutex_lock(&queue_lock);
	pthread_cond_wait(&queue_ready, &queue_lock);
	pthread_mutex_unlock(&queue_lock);
}

static void *second_consumer(void *arg)
{
	take_first();
	take_next();
	return arg;
}

static STAYS void announce(void)
{
	pthread_mutex_lock(&queue_lock);
	pthread_cond_signal(&queue_ready);
	pthread_mutex_unlock(&queue_lock);
}

static void hang_last_signal(void)
{
	pthread_t t = thread("consumer", second_consumer, NULL);

	prctl(PR_SET_NAME, "producer");
	nap();
	announce();
	ready("last_signal");
	pthread_join(t, NULL);
}

/* ---- in state D: a parent between vfork() and the end of its child ---- */

static STAYS void start_helper(void)
{
	if (!vfork()) {
		/* It has the parent's memory: nothing but system calls. */
		syscall(SYS_pause);
		_exit(0);
	}
}

static void *starter(void *arg)
{
	start_helper();
	return arg;
}

static void hang_uninterruptible(void)
{
	pthread_t t = thread("starter", starter, NULL);

	ready("uninterruptible");
	pthread_join(t, NULL);
}

/* ---- the same on several words at once, of which nobody will ever write one ---- */

static _Atomic uint32_t job_ready, quit_asked;

static STAYS void await_any(void)
{
	struct futex_waitv v[2] = {
		{0, (uintptr_t)&job_ready, FUTEX_32 | FUTEX_PRIVATE_FLAG, 0},
		{0, (uintptr_t)&quit_asked, FUTEX_32 | FUTEX_PRIVATE_FLAG, 0},
	};

	syscall(SYS_futex_waitv, v, 2, 0, NULL, 0);
	went_on = 1;
}

static void *selector(void *arg)
{
	await_any();
	return arg;
}

static void hang_waitv(void)
{
	pthread_t t = thread("selector", selector, NULL);

	ready("waitv");
	pthread_join(t, NULL);
}

/* ---- nothing wrong: it serves, and nobody asks ---- */

static int ends[2];

static STAYS void serve_loop(void)
{
	struct pollfd p = {.fd = ends[0], .events = POLLIN};

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
}

static STAYS void pool_loop(void)
{
	pthread_mutex_lock(&queue_lock);
	for (;;)
		pthread_cond_wait(&queue_ready, &queue_lock);
}

static void *pool(void *arg)
{
	pool_loop();
	return arg;
}

static void hang_idle(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	for (int i = 0; i < 3; i++)
		thread("pool", pool, NULL);
	ready("idle");
	serve_loop();
}

/* ---- a signal that is lost, beside many that have nothing to do ---- */

static void *poller(void *arg)
{
	serve_loop();
	return arg;
}

static void hang_among_many(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	pthread_cond_signal(&queue_ready);
	thread("consumer", consumer, NULL);
	for (int i = 0; i < 30; i++)
		thread("poller", poller, NULL);
	nap();
	ready("among_many");
	serve_loop();
}

/* ---- a question that the other side never answers ---- */

static STAYS void ask(void)
{
	char answer[16];
	int peer[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, peer) || send(peer[0], "?", 1, 0) != 1)
		exit(1);
	went_on = (int)recv(peer[0], answer, sizeof(answer), 0);
}

static void *client(void *arg)
{
	ask();
	return arg;
}

static void hang_silent_peer(void)
{
	pthread_t t = thread("client", client, NULL);

	ready("silent_peer");
	pthread_join(t, NULL);
}

static void hang_many(int n)
{
	pthread_attr_t small;
	pthread_t t;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_mutex_lock(&accounts);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t, &small, worker, NULL)) {
			perror("pthread_create");
			exit(1);
		}
	prctl(PR_SET_NAME, "keeper");
	ready("many");
	serve_loop();
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	static const struct {
		const char *name;
		void (*fn)(void);
	} cases[] = {{"mutexes", hang_mutexes},
		     {"later", hang_later},
		     {"rwlocks", hang_rwlocks},
		     {"reader", hang_reader},
		     {"join", hang_join},
		     {"lost_wakeup", hang_lost_wakeup},
		     {"last_signal", hang_last_signal},
		     {"uninterruptible", hang_uninterruptible},
		     {"waitv", hang_waitv},
		     {"idle", hang_idle},
		     {"among_many", hang_among_many},
		     {"silent_peer", hang_silent_peer}};

	exits = argc > 2 && !strcmp(argv[2], "exit");
	pthread_barrier_init(&both, NULL, 2);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(name, cases[i].name)) {
			cases[i].fn();
			return 0;
		}
	if (!strcmp(name, "many") && argc > 2 && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0) {
		hang_many(atoi(argv[2]));
		return 0;
	}
	fprintf(stderr,
		"usage: hangs "
		"mutexes|later|rwlocks|reader|join|lost_wakeup|last_signal|uninterruptible|waitv|"
		"idle|among_many|silent_peer [exit], or many N\n");
	return 2;
}
