// SPDX-License-Identifier: MIT
/*
 * A queue that is always full: web threads hand mail to one mailer, which waits for a relay,
 * another process, with every piece. Nobody holds a lock for long, and nobody is idle: who waits
 * for room looks like a pool that waits for work.
 *
 *   queue [SECONDS [answers]]
 *
 * answers: web threads wait for what becomes of their mail, too, and mostly for that; and there are
 * threads that do nothing but sleep now and then.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WEB = 6, TICKERS = 12, ROOM = 8, ROOM_ANSWERS = 2, RELAY_US = 25000 };

struct mail {
	pthread_cond_t answered;
	bool done;
};

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_room = PTHREAD_COND_INITIALIZER;
static pthread_cond_t queue_mail = PTHREAD_COND_INITIALIZER;
static struct mail *queue[ROOM];
static unsigned queued, taken, room = ROOM;
static int relay[2];
static bool answers;

static __attribute__((noinline)) void enqueue_mail(struct mail *m)
{
	pthread_mutex_lock(&queue_lock);
	while (queued == room)
		pthread_cond_wait(&queue_room, &queue_lock);
	queue[(taken + queued++) % room] = m;
	pthread_cond_signal(&queue_mail);
	pthread_mutex_unlock(&queue_lock);
}

static __attribute__((noinline)) void await_answer(struct mail *m)
{
	pthread_mutex_lock(&queue_lock);
	while (!m->done)
		pthread_cond_wait(&m->answered, &queue_lock);
	m->done = false;
	pthread_mutex_unlock(&queue_lock);
}

static void answer(struct mail *m)
{
	pthread_mutex_lock(&queue_lock);
	m->done = true;
	pthread_cond_signal(&m->answered);
	pthread_mutex_unlock(&queue_lock);
}

static __attribute__((noinline)) void deliver(void)
{
	char mail[64] = {0};

	if (write(relay[0], mail, sizeof(mail)) != sizeof(mail) ||
	    read(relay[0], mail, sizeof(mail)) <= 0)
		_exit(1);
}

static void *web_main(void *arg)
{
	struct mail mail = {.answered = PTHREAD_COND_INITIALIZER};

	pthread_setname_np(pthread_self(), "web");
	for (;;) {
		enqueue_mail(&mail);
		if (answers)
			await_answer(&mail);
	}
	return NULL;
}

static void *ticker_main(void *arg)
{
	pthread_setname_np(pthread_self(), "ticker");
	for (;;)
		usleep(50000);
	return NULL;
}

static void *mailer_main(void *arg)
{
	struct mail *m;

	pthread_setname_np(pthread_self(), "mailer");
	for (;;) {
		pthread_mutex_lock(&queue_lock);
		while (!queued)
			pthread_cond_wait(&queue_mail, &queue_lock);
		m = queue[taken];
		taken = (taken + 1) % room;
		queued--;
		pthread_cond_signal(&queue_room);
		pthread_mutex_unlock(&queue_lock);
		deliver();
		if (answers)
			answer(m);
	}
	return NULL;
}

/* Until the other end is closed. */
static void relay_main(void)
{
	char mail[64];

	close(relay[0]);
	prctl(PR_SET_NAME, "relay");
	while (read(relay[1], mail, sizeof(mail)) > 0) {
		usleep(RELAY_US);
		if (write(relay[1], mail, sizeof(mail)) < 0)
			break;
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	answers = argc > 2;
	if (answers)
		room = ROOM_ANSWERS;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, relay))
		return 1;
	if (!fork())
		relay_main();
	close(relay[1]);
	for (int i = 0; i < WEB; i++)
		pthread_create(&thread, NULL, web_main, NULL);
	pthread_create(&thread, NULL, mailer_main, NULL);
	for (int i = 0; i < TICKERS && answers; i++)
		pthread_create(&thread, NULL, ticker_main, NULL);
	sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 2);
	_exit(0);
}
