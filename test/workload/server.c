// SPDX-License-Identifier: MIT
/*
 * The server of `make demo`: fast nearly always, and twice a second it stands still.
 *
 * A generator puts requests into a queue at an even pace; workers take them, compute a little, and
 * append a line to a log under commit_lock. Every half second the checkpointer takes the same lock
 * and keeps it while it writes the log to the disk: for tens of milliseconds no request can finish.
 * Its CPU use is low throughout, so a sampling profiler sees nothing wrong. That is the point: the
 * answer is "the workers wait for commit_lock, held by checkpointer, which waits for the disk in
 * flush_log()".
 *
 * At the end the server says what happened by its own clocks (--json: as one line of JSON). Waits
 * for the lock are timed where an attempt without waiting has failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/prctl.h>

#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define QUEUE_ROOM 8192
#define WORKERS_MAX 64
#define LOG_CHUNK (1024 * 1024)
#define LOG_CHUNKS 8
#define FLUSH_AT_LEAST (40 * NSEC_PER_MSEC)
#define FLUSH_BYTES_MAX (512ull * 1024 * 1024)

/* A function that must be found in stacks under exactly its own name. */
#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noipa))
#endif

struct request {
	uint64_t id, at_ns;
};

struct worker {
	pthread_t thread;
	unsigned index;
	uint32_t *latency_us;
	size_t n, room;
	uint64_t waits, wait_ns, wait_max_ns;
};

/* A name that a profiler must find: the lock behind which everybody waits. */
extern pthread_mutex_t commit_lock;
pthread_mutex_t commit_lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ready;
	struct request ring[QUEUE_ROOM];
	size_t head, n;
	bool closed;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .ready = PTHREAD_COND_INITIALIZER};

static struct {
	char *bytes; /* LOG_CHUNK of them, under commit_lock */
	size_t at;
	int fd;
} wal;

static struct {
	uint64_t end_ns, rate, every_ns;
	uint64_t requests, dropped;		    /* the generator's */
	uint64_t checkpoints, held_ns, held_max_ns; /* the checkpointer's */
} run;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec t = {.tv_sec = (time_t)(at_ns / NSEC_PER_SEC),
			     .tv_nsec = (long)(at_ns % NSEC_PER_SEC)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void die(const char *what)
{
	fprintf(stderr, "server: %s: %s\n", what, strerror(errno));
	_exit(1);
}

/* ---- the work of a request ---- */

KEEP static uint64_t hash_bytes(const char *p, size_t n, uint64_t h)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)p[i]) * 1099511628211ull;
	return h;
}

KEEP static uint64_t parse_request(const struct request *r, char *text, size_t room)
{
	int n = snprintf(text, room, "UPDATE accounts SET balance = %llu WHERE id = %llu",
			 (unsigned long long)(r->id * 37), (unsigned long long)r->id);
	uint64_t h = 14695981039346656037ull;

	for (int pass = 0; pass < 211; pass++)
		h = hash_bytes(text, (size_t)n, h);
	return h;
}

KEEP static uint64_t lookup(uint64_t key)
{
	for (int i = 0; i < 20011; i++)
		key = key * 6364136223846793005ull + 1442695040888963407ull;
	return key;
}

KEEP static uint64_t execute(uint64_t key)
{
	uint64_t row = lookup(key);

	return lookup(row) ^ key;
}

/* ---- the log ---- */

KEEP static void append_log(const char *text, uint64_t row)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "%016llx %s\n", (unsigned long long)row, text);

	if (wal.at + (size_t)n > LOG_CHUNK)
		wal.at = 0;
	memcpy(wal.bytes + wal.at, line, (size_t)n);
	wal.at += (size_t)n;
}

KEEP static void commit(struct worker *w, const char *text, uint64_t row)
{
	if (pthread_mutex_trylock(&commit_lock)) {
		uint64_t t0 = now_ns(), ns;

		pthread_mutex_lock(&commit_lock);
		ns = now_ns() - t0;
		w->waits++;
		w->wait_ns += ns;
		w->wait_max_ns = ns > w->wait_max_ns ? ns : w->wait_max_ns;
	}
	append_log(text, row);
	pthread_mutex_unlock(&commit_lock);
}

/* On a fast disk several times over, so that it takes as long as a large log does on a slow one. */
KEEP static void flush_log(void)
{
	uint64_t t0 = now_ns(), bytes = 0;

	do {
		for (off_t i = 0; i < LOG_CHUNKS; i++) {
			ssize_t n = pwrite(wal.fd, wal.bytes, LOG_CHUNK, i * LOG_CHUNK);

			if (n < 0 && errno != EINTR)
				die("writing the log");
			bytes += n > 0 ? (uint64_t)n : 0;
		}
		if (fdatasync(wal.fd))
			die("flushing the log");
	} while (now_ns() - t0 < FLUSH_AT_LEAST && bytes < FLUSH_BYTES_MAX);
	wal.at = 0;
}

KEEP static void checkpoint(void)
{
	uint64_t t0, ns;

	pthread_mutex_lock(&commit_lock);
	t0 = now_ns();
	flush_log();
	ns = now_ns() - t0;
	pthread_mutex_unlock(&commit_lock);
	run.checkpoints++;
	run.held_ns += ns;
	run.held_max_ns = ns > run.held_max_ns ? ns : run.held_max_ns;
}

/* ---- the threads ---- */

static void *checkpointer_main(void *arg)
{
	uint64_t next = now_ns();

	prctl(PR_SET_NAME, "checkpointer");
	while ((next += run.every_ns) < run.end_ns) {
		sleep_until(next);
		checkpoint();
	}
	return NULL;
}

/* A full queue drops requests, as a listening socket would. */
static void queue_put(struct request r)
{
	pthread_mutex_lock(&queue.lock);
	if (queue.n < QUEUE_ROOM) {
		queue.ring[(queue.head + queue.n++) % QUEUE_ROOM] = r;
		run.requests++;
	} else {
		run.dropped++;
	}
	pthread_mutex_unlock(&queue.lock);
	pthread_cond_signal(&queue.ready);
}

/* False: there will be no more. */
KEEP static bool queue_take(struct request *ret)
{
	bool got;

	pthread_mutex_lock(&queue.lock);
	while (!queue.n && !queue.closed)
		pthread_cond_wait(&queue.ready, &queue.lock);
	got = queue.n > 0;
	if (got) {
		*ret = queue.ring[queue.head];
		queue.head = (queue.head + 1) % QUEUE_ROOM;
		queue.n--;
	}
	pthread_mutex_unlock(&queue.lock);
	return got;
}

static void *generator_main(void *arg)
{
	uint64_t step = NSEC_PER_SEC / run.rate, at = now_ns();

	prctl(PR_SET_NAME, "generator");
	for (uint64_t id = 1; at < run.end_ns; id++, at += step) {
		sleep_until(at);
		queue_put((struct request){id, now_ns()});
	}
	pthread_mutex_lock(&queue.lock);
	queue.closed = true;
	pthread_mutex_unlock(&queue.lock);
	pthread_cond_broadcast(&queue.ready);
	return NULL;
}

KEEP static void serve(struct worker *w, const struct request *r)
{
	char text[128];
	uint64_t key = parse_request(r, text, sizeof(text));

	commit(w, text, execute(key));
}

static void latency_note(struct worker *w, uint64_t ns)
{
	if (w->n == w->room) {
		w->room = w->room ? 2 * w->room : 4096;
		w->latency_us = realloc(w->latency_us, w->room * sizeof(*w->latency_us));
		if (!w->latency_us)
			die("latencies");
	}
	w->latency_us[w->n++] = (uint32_t)(ns / 1000);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct request r;
	char name[16];

	snprintf(name, sizeof(name), "worker-%u", w->index % WORKERS_MAX);
	prctl(PR_SET_NAME, name);
	while (queue_take(&r)) {
		serve(w, &r);
		latency_note(w, now_ns() - r.at_ns);
	}
	return NULL;
}

/* ---- the end ---- */

struct summary {
	uint64_t p50_us, p99_us, max_us, waits, wait_ns, wait_max_ns, served;
};

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static struct summary summarize(const struct worker *workers, unsigned n)
{
	struct summary s = {0};
	uint32_t *all;
	size_t at = 0;

	for (unsigned i = 0; i < n; i++)
		s.served += workers[i].n;
	all = calloc(s.served + 1, sizeof(*all));
	if (!all)
		die("latencies");
	for (unsigned i = 0; i < n; i++) {
		const struct worker *w = &workers[i];

		if (w->n)
			memcpy(all + at, w->latency_us, w->n * sizeof(*all));
		at += w->n;
		s.waits += w->waits;
		s.wait_ns += w->wait_ns;
		s.wait_max_ns = w->wait_max_ns > s.wait_max_ns ? w->wait_max_ns : s.wait_max_ns;
	}
	qsort(all, at, sizeof(*all), by_value);
	if (at) {
		s.p50_us = all[at / 2];
		s.p99_us = all[at - 1 - at / 100];
		s.max_us = all[at - 1];
	}
	free(all);
	return s;
}

static void print_json(const struct summary *s)
{
	printf("{\"case\":\"server\",\"pid\":%d,\"requests\":%llu,\"served\":%llu,\"dropped\":%llu",
	       getpid(), (unsigned long long)run.requests, (unsigned long long)s->served,
	       (unsigned long long)run.dropped);
	printf(",\"p50_us\":%llu,\"p99_us\":%llu,\"max_us\":%llu", (unsigned long long)s->p50_us,
	       (unsigned long long)s->p99_us, (unsigned long long)s->max_us);
	printf(",\"checkpoints\":%llu,\"held_ns\":%llu,\"held_max_ns\":%llu",
	       (unsigned long long)run.checkpoints, (unsigned long long)run.held_ns,
	       (unsigned long long)run.held_max_ns);
	printf(",\"lock_waits\":%llu,\"lock_wait_ns\":%llu,\"lock_wait_max_ns\":%llu}\n",
	       (unsigned long long)s->waits, (unsigned long long)s->wait_ns,
	       (unsigned long long)s->wait_max_ns);
}

static void print_text(const struct summary *s)
{
	printf("server: %llu requests; latency p50 %.1f ms, p99 %.1f ms, worst %.1f ms\n",
	       (unsigned long long)s->served, (double)s->p50_us / 1e3, (double)s->p99_us / 1e3,
	       (double)s->max_us / 1e3);
}

static void log_open(void)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];

	snprintf(path, sizeof(path), "%s/server-log.XXXXXX", dir && *dir ? dir : ".");
	wal.fd = mkostemp(path, O_CLOEXEC);
	if (wal.fd < 0)
		die(path);
	unlink(path);
	wal.bytes = calloc(1, LOG_CHUNK);
	if (!wal.bytes)
		die("the log");
}

static double number(const char *name, const char *s, double min, double max)
{
	char *end;
	double v = s ? strtod(s, &end) : 0;

	if (!s || end == s || *end || !(v >= min && v <= max)) {
		fprintf(stderr, "server: %s needs a number from %g to %g\n", name, min, max);
		exit(2);
	}
	return v;
}

static void usage(FILE *out)
{
	fputs("usage: server [--seconds N] [--workers N] [--rate PER_SECOND] [--every MS] "
	      "[--json]\n",
	      out);
}

static void start(pthread_t *ret, void *(*fn)(void *), void *arg)
{
	errno = pthread_create(ret, NULL, fn, arg);
	if (errno)
		die("cannot make a thread");
}

static void serve_all(struct worker *workers, unsigned n)
{
	pthread_t generator, checkpointer;

	for (unsigned i = 0; i < n; i++) {
		workers[i].index = i;
		start(&workers[i].thread, worker_main, &workers[i]);
	}
	start(&checkpointer, checkpointer_main, NULL);
	start(&generator, generator_main, NULL);
	pthread_join(generator, NULL);
	pthread_join(checkpointer, NULL);
	for (unsigned i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
}

int main(int argc, char **argv)
{
	static struct worker workers[WORKERS_MAX];
	unsigned n = 4;
	double seconds = 5;
	bool json = false;
	struct summary s;

	run.rate = 2000;
	run.every_ns = 500 * NSEC_PER_MSEC;
	for (int i = 1; i < argc; i++) {
		const char *name = argv[i];

		if (!strcmp(name, "--json")) {
			json = true;
		} else if (!strcmp(name, "--seconds")) {
			seconds = number(name, argv[++i], 0.1, 86400);
		} else if (!strcmp(name, "--workers")) {
			n = (unsigned)number(name, argv[++i], 1, WORKERS_MAX);
		} else if (!strcmp(name, "--rate")) {
			run.rate = (uint64_t)number(name, argv[++i], 1, 1e6);
		} else if (!strcmp(name, "--every")) {
			run.every_ns = (uint64_t)(number(name, argv[++i], 1, 1e6) * 1e6);
		} else {
			usage(strcmp(name, "--help") ? stderr : stdout);
			return strcmp(name, "--help") ? 2 : 0;
		}
	}
	log_open();
	run.end_ns = now_ns() + (uint64_t)(seconds * 1e9);
	serve_all(workers, n);
	s = summarize(workers, n);
	if (json)
		print_json(&s);
	else
		print_text(&s);
	free(wal.bytes);
	for (unsigned i = 0; i < n; i++)
		free(workers[i].latency_us);
	return fflush(stdout) ? 1 : 0;
}
