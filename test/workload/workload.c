// SPDX-License-Identifier: MIT
/*
 * Programs with a known truth: `workload CASE [args]` does one exactly known thing and then prints
 * what it did, by its own clocks, as one line of JSON. Tests hold a recording against that line.
 *
 * The truth has an entry for every thread that the case made, and for the main thread first:
 *
 *   wall_ns  CLOCK_MONOTONIC from the thread's first to its last statement
 *   cpu_ns   CLOCK_THREAD_CPUTIME_ID over the same time
 *   run_ns, runq_ns, slices   /proc/thread-self/schedstat over the same time: time on a CPU, time
 *            runnable but not running, and how often it was put on a CPU
 *   vol, invol   context switches, by getrusage()
 *
 * and what the case adds (sleeps, round_trips, ...). The entries live in shared memory, so that a
 * case made of processes fills in the same table as one made of threads.
 *
 * The clock reads at both ends of a thread are themselves work: expect some ten microseconds of a
 * thread's life outside its truth. Counts are exact: a case that cannot do what it was asked to do
 * says so on stderr and fails. Nothing here needs privileges.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_USEC 1000ull
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* A function that must be found in stacks under exactly its own name. */
#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noipa))
#endif

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *fmt, ...)
{
	va_list ap;

	fputs("workload: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	_exit(1);
}

/* ---- clocks ---- */

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Until an absolute time, so that a signal does not make it longer. */
static void sleep_until(uint64_t at_ns)
{
	struct timespec t = {.tv_sec = (time_t)(at_ns / NSEC_PER_SEC),
			     .tv_nsec = (long)(at_ns % NSEC_PER_SEC)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* Returns how long it really took. */
static uint64_t sleep_ns(uint64_t ns)
{
	uint64_t t0 = now_ns();

	sleep_until(t0 + ns);
	return now_ns() - t0;
}

/* A thread's own: a shared one would make the threads fight over its cache line. */
static _Thread_local volatile uint64_t sink;

/* Some ten microseconds of pure computation. */
KEEP static void burn(void)
{
	uint64_t x = sink | 1;

	for (int i = 0; i < 5003; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	sink = x;
}

/* Returns the number of burns: a measure of the work done. */
KEEP static uint64_t spin_until(uint64_t at_ns)
{
	uint64_t burns = 0;

	while (now_ns() < at_ns) {
		burn();
		burns++;
	}
	return burns;
}

static uint64_t random_below(uint64_t *state, uint64_t n)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (*state >> 33) % n;
}

/* ---- the truth ---- */

#define FACTS_MAX 8

struct fact {
	const char *key;
	double val;
};

struct facts {
	struct fact v[FACTS_MAX];
	size_t n;
};

struct reading {
	uint64_t wall, cpu, run, runq, slices, vol, invol;
};

struct truth {
	pid_t pid, tid;
	char name[16];
	uint64_t start_ns;
	struct reading begin, total;
	struct facts facts;
};

/* One run; the only global state besides `sink`. */
static struct {
	struct truth *threads; /* [0] is the main thread */
	size_t n;
	struct facts facts;
} run;

static void fact(struct facts *f, const char *key, double val)
{
	if (f->n == FACTS_MAX)
		die("too many facts: %s", key);
	f->v[f->n++] = (struct fact){key, val};
}

static void read_schedstat(struct reading *r)
{
	unsigned long long run_ns = 0, runq_ns = 0, slices = 0;
	FILE *f;

	/* The kernel brings a running thread's figure up to date at the tick, or when it yields. */
	sched_yield();
	f = fopen("/proc/thread-self/schedstat", "re");
	if (f) {
		if (fscanf(f, "%llu %llu %llu", &run_ns, &runq_ns, &slices) != 3)
			run_ns = runq_ns = slices = 0;
		fclose(f);
	}
	r->run = run_ns;
	r->runq = runq_ns;
	r->slices = slices;
}

static struct reading reading_take(void)
{
	struct reading r;
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	r.vol = (uint64_t)u.ru_nvcsw;
	r.invol = (uint64_t)u.ru_nivcsw;
	read_schedstat(&r);
	r.cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	r.wall = now_ns();
	return r;
}

static void truth_begin(struct truth *t, const char *name)
{
	t->pid = getpid();
	t->tid = gettid();
	if (name) {
		snprintf(t->name, sizeof(t->name), "%s", name);
		prctl(PR_SET_NAME, t->name);
	} else {
		prctl(PR_GET_NAME, t->name);
	}
	t->begin = reading_take();
	t->start_ns = t->begin.wall;
}

static void truth_end(struct truth *t)
{
	struct reading r = reading_take();

	t->total = (struct reading){
		.wall = r.wall - t->begin.wall,
		.cpu = r.cpu - t->begin.cpu,
		.run = r.run - t->begin.run,
		.runq = r.runq - t->begin.runq,
		.slices = r.slices - t->begin.slices,
		.vol = r.vol - t->begin.vol,
		.invol = r.invol - t->begin.invol,
	};
}

/* Makes room for n threads beside main; before any of them exists. */
static struct truth *truth_room(size_t n)
{
	size_t size = (n + 1) * sizeof(struct truth);
	struct truth *p =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("no memory for the truth of %zu threads: %s", n, strerror(errno));
	p[0] = run.threads[0];
	run.threads = p;
	run.n = n + 1;
	return p + 1;
}

static void facts_print(const struct facts *f)
{
	for (size_t i = 0; i < f->n; i++)
		printf(",\"%s\":%.15g", f->v[i].key, f->v[i].val);
}

static void truth_print(const struct truth *t)
{
	const struct reading *r = &t->total;

	printf("{\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"start_ns\":%llu", t->pid, t->tid, t->name,
	       (unsigned long long)t->start_ns);
	printf(",\"wall_ns\":%llu,\"cpu_ns\":%llu,\"run_ns\":%llu,\"runq_ns\":%llu",
	       (unsigned long long)r->wall, (unsigned long long)r->cpu, (unsigned long long)r->run,
	       (unsigned long long)r->runq);
	printf(",\"slices\":%llu,\"vol\":%llu,\"invol\":%llu", (unsigned long long)r->slices,
	       (unsigned long long)r->vol, (unsigned long long)r->invol);
	facts_print(&t->facts);
	putchar('}');
}

static void run_print(const char *name)
{
	struct rusage self, kids;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &kids);
	printf("{\"case\":\"%s\",\"pid\":%d,\"wall_ns\":%llu", name, getpid(),
	       (unsigned long long)run.threads[0].total.wall);
	printf(",\"switches\":%ld",
	       self.ru_nvcsw + self.ru_nivcsw + kids.ru_nvcsw + kids.ru_nivcsw);
	facts_print(&run.facts);
	printf(",\"threads\":[");
	for (size_t i = 0; i < run.n; i++) {
		if (i)
			putchar(',');
		truth_print(&run.threads[i]);
	}
	printf("]}\n");
	if (fflush(stdout) || ferror(stdout))
		die("cannot write the truth: %s", strerror(errno));
}

/* ---- arguments: each case has a row of them, given by place or as --name value ---- */

#define ARGS_MAX 5

struct arg {
	const char *name, *val;
};

struct args {
	struct arg v[ARGS_MAX];
};

static const char *arg_str(const struct args *a, const char *name)
{
	for (size_t i = 0; i < ARGS_MAX && a->v[i].name; i++) {
		if (!strcmp(a->v[i].name, name))
			return a->v[i].val;
	}
	die("no argument called %s", name);
}

static double arg_num(const struct args *a, const char *name)
{
	const char *s = arg_str(a, name);
	char *end;
	double v = strtod(s, &end);

	if (end == s || *end || !(v >= -1 && v <= 1e12))
		die("%s: '%s' is not a number that makes sense here", name, s);
	return v;
}

static size_t arg_count(const struct args *a, const char *name)
{
	double v = arg_num(a, name);

	if (v < 0 || v != (double)(size_t)v)
		die("%s: must be a whole number, not '%s'", name, arg_str(a, name));
	return (size_t)v;
}

static uint64_t arg_seconds(const struct args *a)
{
	double v = arg_num(a, "seconds");

	if (v < 0)
		die("seconds: must not be negative");
	return (uint64_t)(v * 1e9);
}

/* ---- parties: threads, or processes where a case can do both ---- */

struct party {
	bool process;
	pthread_t thread;
	pid_t pid;
};

static void thread_start(pthread_t *ret, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	rc = pthread_create(ret, &attr, fn, arg);
	if (rc)
		die("cannot make a thread: %s", strerror(rc));
	pthread_attr_destroy(&attr);
}

static void wait_child(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			die("waiting for process %d: %s", pid, strerror(errno));
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		die("process %d ended badly: status 0x%x", pid, status);
}

static pid_t fork_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("cannot fork: %s", strerror(errno));
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void party_start(struct party *p, bool process, void *(*fn)(void *), void *arg)
{
	p->process = process;
	if (!process) {
		thread_start(&p->thread, fn, arg);
		return;
	}
	p->pid = fork_child();
	if (!p->pid) {
		fn(arg);
		_exit(0);
	}
}

static void party_join(struct party *p)
{
	if (p->process)
		wait_child(p->pid);
	else
		pthread_join(p->thread, NULL);
}

static void pin(size_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("cannot pin to CPU %zu: %s", cpu, strerror(errno));
}

/* The CPUs this process may use, lowest first. */
static size_t cpus_allowed(size_t *cpus, size_t room)
{
	cpu_set_t set;
	size_t n = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		die("cannot read the CPU affinity: %s", strerror(errno));
	for (size_t i = 0; i < CPU_SETSIZE && n < room; i++) {
		if (CPU_ISSET(i, &set))
			cpus[n++] = i;
	}
	return n;
}

/* ---- spin, preempt: threads that never wait ---- */

struct spinner {
	struct truth *truth;
	char name[24];
	pthread_barrier_t *start;
	uint64_t length_ns;
	ssize_t cpu; /* -1: any */
};

static void *spinner_main(void *arg)
{
	struct spinner *s = arg;
	uint64_t burns;

	if (s->cpu >= 0)
		pin((size_t)s->cpu);
	pthread_barrier_wait(s->start);
	truth_begin(s->truth, s->name);
	burns = spin_until(now_ns() + s->length_ns);
	fact(&s->truth->facts, "burns", (double)burns);
	truth_end(s->truth);
	return NULL;
}

static void spinners_run(size_t n, uint64_t length_ns, ssize_t cpu)
{
	struct truth *truths = truth_room(n);
	struct spinner *s = calloc(n, sizeof(*s));
	pthread_t *threads = calloc(n, sizeof(*threads));
	pthread_barrier_t start;

	if (!n || !s || !threads)
		die("cannot run %zu spinners", n);
	pthread_barrier_init(&start, NULL, (unsigned)n);
	for (size_t i = 0; i < n; i++) {
		s[i] = (struct spinner){&truths[i], "", &start, length_ns, cpu};
		snprintf(s[i].name, sizeof(s[i].name), "spin-%zu", i);
		thread_start(&threads[i], spinner_main, &s[i]);
	}
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&start);
	free(threads);
	free(s);
}

static void case_spin(const struct args *a)
{
	spinners_run(arg_count(a, "threads"), arg_seconds(a), -1);
}

/* n spinners on one CPU: each runs for 1/n of the time and is runnable for the rest. */
static void case_preempt(const struct args *a)
{
	double cpu = arg_num(a, "cpu");
	size_t cpus[CPU_SETSIZE], n = cpus_allowed(cpus, ARRAY_LEN(cpus));

	spinners_run(arg_count(a, "threads"), arg_seconds(a),
		     cpu < 0 ? (ssize_t)cpus[n - 1] : (ssize_t)cpu);
	fact(&run.facts, "cpu", cpu < 0 ? (double)cpus[n - 1] : cpu);
}

/* ---- sleep ---- */

struct sleeper {
	struct truth *truth;
	size_t sleeps;
	uint64_t length_ns;
};

static void *sleeper_main(void *arg)
{
	struct sleeper *s = arg;
	uint64_t total = 0, longest = 0;

	truth_begin(s->truth, "sleeper");
	for (size_t i = 0; i < s->sleeps; i++) {
		uint64_t ns = sleep_ns(s->length_ns);

		total += ns;
		longest = ns > longest ? ns : longest;
	}
	fact(&s->truth->facts, "sleeps", (double)s->sleeps);
	fact(&s->truth->facts, "asked_ns", (double)s->length_ns);
	fact(&s->truth->facts, "slept_ns", (double)total);
	fact(&s->truth->facts, "slept_max_ns", (double)longest);
	truth_end(s->truth);
	return NULL;
}

static void case_sleep(const struct args *a)
{
	struct sleeper s = {truth_room(1), arg_count(a, "count"),
			    (uint64_t)(arg_num(a, "ms") * 1e6)};
	pthread_t thread;

	thread_start(&thread, sleeper_main, &s);
	pthread_join(thread, NULL);
}

/* ---- chain: a call chain whose every frame must be found ---- */

typedef int leaf_fn(void *arg);

KEEP static int chain_1(leaf_fn *leaf, void *arg)
{
	int rc = leaf(arg);

	sink++;
	return rc;
}

/* The store after the call is what keeps the compiler from turning it into a jump. */
#define CHAIN(n, below)                                                                            \
	KEEP static int chain_##n(leaf_fn *leaf, void *arg)                                        \
	{                                                                                          \
		int rc = chain_##below(leaf, arg);                                                 \
                                                                                                   \
		sink++;                                                                            \
		return rc;                                                                         \
	}
CHAIN(2, 1)
CHAIN(3, 2)
CHAIN(4, 3)
CHAIN(5, 4)
CHAIN(6, 5)
CHAIN(7, 6)
CHAIN(8, 7)
CHAIN(9, 8)
CHAIN(10, 9)
CHAIN(11, 10)
CHAIN(12, 11)

struct chain {
	struct truth *truth;
	leaf_fn *leaf;
	uint64_t length_ns;
};

KEEP static int chain_spin(void *arg)
{
	struct chain *c = arg;

	fact(&c->truth->facts, "burns", (double)spin_until(now_ns() + c->length_ns));
	return 0;
}

KEEP static int chain_sleep(void *arg)
{
	struct chain *c = arg;
	uint64_t step = 10 * NSEC_PER_MSEC, sleeps = c->length_ns / step, slept = 0;

	for (uint64_t i = 0; i < sleeps; i++)
		slept += sleep_ns(step);
	fact(&c->truth->facts, "sleeps", (double)sleeps);
	fact(&c->truth->facts, "slept_ns", (double)slept);
	return 0;
}

static void *chain_main(void *arg)
{
	struct chain *c = arg;

	truth_begin(c->truth, "chain");
	chain_12(c->leaf, c);
	truth_end(c->truth);
	return NULL;
}

static void case_chain(const struct args *a)
{
	const char *how = arg_str(a, "how");
	size_t n = arg_count(a, "threads");
	struct truth *truths = truth_room(n);
	struct chain *c = calloc(n + 1, sizeof(*c));
	pthread_t *threads = calloc(n + 1, sizeof(*threads));
	leaf_fn *leaf = strcmp(how, "spin") ? chain_sleep : chain_spin;

	if (leaf == chain_sleep && strcmp(how, "sleep"))
		die("how: spin or sleep, not '%s'", how);
	if (!n || !c || !threads)
		die("cannot run %zu chains", n);
	for (size_t i = 0; i < n; i++) {
		c[i] = (struct chain){&truths[i], leaf, arg_seconds(a)};
		thread_start(&threads[i], chain_main, &c[i]);
	}
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	fact(&run.facts, "depth", 12);
	free(threads);
	free(c);
}

/* ---- pingpong: two parties that hand one byte to and fro; every hand-over is a switch ---- */

/*
 * The time of a switch is the fastest of many chunks: on a machine with other work the mean says
 * how busy the machine was, the floor what a switch costs. Two parties on one CPU make exactly two
 * switches a round trip.
 */
#define CHUNK_TRIPS 1009

struct pair {
	int to_right[2], to_left[2]; /* pipes */
	bool process;
	ssize_t cpu; /* -1: any */
	uint64_t trips, length_ns;
	struct truth *left, *right;
	struct party parties[2];
};

struct ping {
	int in, out;
	char byte;
};

static void byte_send(int fd, char byte)
{
	while (write(fd, &byte, 1) != 1) {
		if (errno != EINTR)
			die("writing to a pipe: %s", strerror(errno));
	}
}

static char byte_receive(int fd)
{
	char byte;
	ssize_t n;

	while ((n = read(fd, &byte, 1)) != 1) {
		if (n == 0 || errno != EINTR)
			die("the other side of a pipe has gone");
	}
	return byte;
}

KEEP static int ping(void *arg)
{
	struct ping *p = arg;

	byte_send(p->out, 'x');
	p->byte = byte_receive(p->in);
	return 0;
}

KEEP static int pong(void *arg)
{
	struct ping *p = arg;

	p->byte = byte_receive(p->in);
	if (p->byte == 'x')
		byte_send(p->out, 'x');
	return 0;
}

/* The calls stand eight deep so that tools which walk stacks have stacks to walk. */
static uint64_t chunk_run(struct ping *p, uint64_t trips)
{
	uint64_t t0 = now_ns();

	for (uint64_t i = 0; i < trips; i++)
		chain_8(ping, p);
	return now_ns() - t0;
}

static bool pair_more(const struct pair *p, uint64_t trips, uint64_t end_ns)
{
	return p->length_ns ? now_ns() < end_ns : trips < p->trips;
}

static void *left_main(void *arg)
{
	struct pair *p = arg;
	struct ping ping = {p->to_left[0], p->to_right[1], 0};
	struct facts *f = &p->left->facts;
	uint64_t trips = 0, total = 0, end_ns;
	double best = 0;

	if (p->cpu >= 0)
		pin((size_t)p->cpu);
	truth_begin(p->left, "left");
	end_ns = now_ns() + p->length_ns;
	while (pair_more(p, trips, end_ns)) {
		uint64_t n = CHUNK_TRIPS, ns;

		if (!p->length_ns && p->trips - trips < n)
			n = p->trips - trips;
		ns = chunk_run(&ping, n);
		if (n == CHUNK_TRIPS && (!best || (double)ns < best))
			best = (double)ns;
		total += ns;
		trips += n;
	}
	byte_send(ping.out, 'q');
	fact(f, "round_trips", (double)trips);
	fact(f, "trips_ns", (double)total);
	fact(f, "switch_ns", trips ? (double)total / (2.0 * (double)trips) : 0);
	fact(f, "best_switch_ns", best / (2.0 * CHUNK_TRIPS));
	truth_end(p->left);
	return NULL;
}

static void *right_main(void *arg)
{
	struct pair *p = arg;
	struct ping ping = {p->to_right[0], p->to_left[1], 'x'};
	uint64_t trips = 0;

	if (p->cpu >= 0)
		pin((size_t)p->cpu);
	truth_begin(p->right, "right");
	for (;;) {
		chain_8(pong, &ping);
		if (ping.byte != 'x')
			break;
		trips++;
	}
	fact(&p->right->facts, "round_trips", (double)trips);
	truth_end(p->right);
	return NULL;
}

static void pair_start(struct pair *p)
{
	if (pipe2(p->to_right, O_CLOEXEC) || pipe2(p->to_left, O_CLOEXEC))
		die("cannot make a pipe: %s", strerror(errno));
	party_start(&p->parties[0], p->process, right_main, p);
	party_start(&p->parties[1], p->process, left_main, p);
}

static void pair_join(struct pair *p)
{
	party_join(&p->parties[1]);
	party_join(&p->parties[0]);
	for (int i = 0; i < 2; i++) {
		close(p->to_left[i]);
		close(p->to_right[i]);
	}
}

static double fact_get(const struct truth *t, const char *key)
{
	for (size_t i = 0; i < t->facts.n; i++) {
		if (!strcmp(t->facts.v[i].key, key))
			return t->facts.v[i].val;
	}
	return 0;
}

static void pairs_run(const struct args *a, size_t n, const ssize_t *cpus)
{
	const char *mode = arg_str(a, "mode");
	struct truth *truths = truth_room(2 * n);
	struct pair *pairs = calloc(n, sizeof(*pairs));
	double trips = 0, best = 0;

	if (!pairs || (strcmp(mode, "p") && strcmp(mode, "t")))
		die("mode: p (processes) or t (threads), not '%s'", mode);
	for (size_t i = 0; i < n; i++) {
		pairs[i] = (struct pair){
			.process = *mode == 'p',
			.cpu = cpus[i],
			.trips = arg_count(a, "trips"),
			.length_ns = arg_seconds(a),
			.left = &truths[2 * i],
			.right = &truths[2 * i + 1],
		};
		pair_start(&pairs[i]);
	}
	for (size_t i = 0; i < n; i++) {
		double floor_ns;

		pair_join(&pairs[i]);
		trips += fact_get(pairs[i].left, "round_trips");
		floor_ns = fact_get(pairs[i].left, "best_switch_ns");
		best = !best || floor_ns < best ? floor_ns : best;
	}
	fact(&run.facts, "pairs", (double)n);
	fact(&run.facts, "round_trips", trips);
	fact(&run.facts, "best_switch_ns", best);
	free(pairs);
}

static void case_pingpong(const struct args *a)
{
	ssize_t cpu = (ssize_t)arg_num(a, "cpu");

	pairs_run(a, 1, &cpu);
}

static void case_pingpong2(const struct args *a)
{
	size_t cpus[CPU_SETSIZE], n = cpus_allowed(cpus, ARRAY_LEN(cpus));
	ssize_t each[CPU_SETSIZE];

	for (size_t i = 0; i < n; i++)
		each[i] = (ssize_t)cpus[i];
	pairs_run(a, n, each);
}

/* ---- forks, execs, exits ---- */

static void children_run(size_t n, const char *path)
{
	uint64_t t0 = now_ns();

	for (size_t i = 0; i < n; i++) {
		pid_t pid = fork_child();

		if (!pid) {
			if (path)
				execl(path, path, (char *)NULL);
			_exit(path ? 127 : 0);
		}
		wait_child(pid);
	}
	fact(&run.facts, "children", (double)n);
	fact(&run.facts, "children_ns", (double)(now_ns() - t0));
}

static void case_forks(const struct args *a)
{
	children_run(arg_count(a, "count"), NULL);
}

static void case_execs(const struct args *a)
{
	children_run(arg_count(a, "count"),
		     access("/bin/true", X_OK) ? "/usr/bin/true" : "/bin/true");
}

static void case_exits(const struct args *a)
{
	fact(&run.facts, "slept_ns", (double)sleep_ns((uint64_t)(arg_num(a, "ms") * 1e6)));
}

/* ---- threads, manythreads ---- */

struct stormer {
	struct truth *truth;
	size_t index;
	uint64_t end_ns; /* manythreads only */
};

/* Odd ones spin for up to 200 us, even ones sleep for up to 2 ms: the same in every run. */
static void *stormer_main(void *arg)
{
	struct stormer *s = arg;
	uint64_t seed = s->index * 7919 + 1, ns;
	char name[24];

	snprintf(name, sizeof(name), "storm-%zu", s->index);
	truth_begin(s->truth, name);
	random_below(&seed, 2);
	if (s->index % 2) {
		ns = random_below(&seed, 200 * NSEC_PER_USEC);
		spin_until(now_ns() + ns);
		fact(&s->truth->facts, "spun_ns", (double)ns);
	} else {
		ns = sleep_ns(random_below(&seed, 2 * NSEC_PER_MSEC));
		fact(&s->truth->facts, "slept_ns", (double)ns);
	}
	truth_end(s->truth);
	return NULL;
}

static void case_threads(const struct args *a)
{
	size_t n = arg_count(a, "count"), alive = arg_count(a, "alive");
	struct truth *truths = truth_room(n);
	struct stormer *s = calloc(n + 1, sizeof(*s));
	pthread_t *threads = calloc(n + 1, sizeof(*threads));

	if (!s || !threads || !alive)
		die("cannot run %zu threads, %zu alive at a time", n, alive);
	for (size_t i = 0; i < n; i++) {
		if (i >= alive)
			pthread_join(threads[i - alive], NULL);
		s[i] = (struct stormer){&truths[i], i, 0};
		thread_start(&threads[i], stormer_main, &s[i]);
	}
	for (size_t i = n > alive ? n - alive : 0; i < n; i++)
		pthread_join(threads[i], NULL);
	fact(&run.facts, "created", (double)n);
	free(threads);
	free(s);
}

static void *crowd_main(void *arg)
{
	struct stormer *s = arg;
	uint64_t seed = s->index * 7919 + 1, slept = 0, sleeps = 0;
	char name[24];

	snprintf(name, sizeof(name), "crowd-%zu", s->index);
	truth_begin(s->truth, name);
	while (now_ns() < s->end_ns) {
		uint64_t left = s->end_ns - now_ns();
		uint64_t ns = 50 * NSEC_PER_MSEC + random_below(&seed, 100 * NSEC_PER_MSEC);

		slept += sleep_ns(ns < left ? ns : left);
		sleeps++;
	}
	fact(&s->truth->facts, "sleeps", (double)sleeps);
	fact(&s->truth->facts, "slept_ns", (double)slept);
	truth_end(s->truth);
	return NULL;
}

static void case_manythreads(const struct args *a)
{
	size_t n = arg_count(a, "count");
	uint64_t end_ns = now_ns() + arg_seconds(a);
	struct truth *truths = truth_room(n);
	struct stormer *s = calloc(n + 1, sizeof(*s));
	pthread_t *threads = calloc(n + 1, sizeof(*threads));

	if (!s || !threads)
		die("no memory for %zu threads", n);
	for (size_t i = 0; i < n; i++) {
		s[i] = (struct stormer){&truths[i], i, end_ns};
		thread_start(&threads[i], crowd_main, &s[i]);
	}
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	fact(&run.facts, "created", (double)n);
	free(threads);
	free(s);
}

/* ---- disk ---- */

#define BLOCK (64 * 1024)
#define FILE_BLOCKS 101

struct disk {
	struct truth *truth;
	int fd;
	size_t count;
	bool direct;
	uint64_t end_ns; /* mixed: until then, whatever the count */
};

static void *block_alloc(void)
{
	void *p;

	if (posix_memalign(&p, 4096, BLOCK))
		die("no memory for a block");
	memset(p, 0x5a, BLOCK);
	return p;
}

static void block_write(int fd, const void *block, size_t index)
{
	ssize_t n;

	while ((n = pwrite(fd, block, BLOCK, (off_t)(index * BLOCK))) != BLOCK) {
		if (n >= 0 || errno != EINTR)
			die("writing the temporary file: %s",
			    n < 0 ? strerror(errno) : "disk full");
	}
}

/* A file that is gone when the program is, however it ends. *ret_read reads past the page cache. */
static int temp_file(int *ret_read, bool *ret_direct)
{
	const char *dir = getenv("TMPDIR");
	void *block = block_alloc();
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/workload.XXXXXX", dir && *dir ? dir : ".");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		die("cannot make %s: %s", path, strerror(errno));
	*ret_read = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	*ret_direct = *ret_read >= 0;
	if (*ret_read < 0)
		*ret_read = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	if (*ret_read < 0)
		die("cannot open %s: %s", path, strerror(errno));
	for (size_t i = 0; i < FILE_BLOCKS; i++)
		block_write(fd, block, i);
	if (fdatasync(fd))
		die("fdatasync: %s", strerror(errno));
	free(block);
	return fd;
}

static void *reader_main(void *arg)
{
	struct disk *d = arg;
	void *block = block_alloc();
	uint64_t seed = 31, total = 0;
	size_t i = 0;

	truth_begin(d->truth, "reader");
	for (; d->end_ns ? now_ns() < d->end_ns : i < d->count; i++) {
		off_t at = (off_t)(random_below(&seed, FILE_BLOCKS) * BLOCK);
		uint64_t t0 = now_ns();
		ssize_t n;

		if (!d->direct)
			posix_fadvise(d->fd, at, BLOCK, POSIX_FADV_DONTNEED);
		while ((n = pread(d->fd, block, BLOCK, at)) != BLOCK) {
			if (n >= 0 || errno != EINTR)
				die("reading the temporary file: %s", strerror(errno));
		}
		total += now_ns() - t0;
		if (d->end_ns)
			sleep_ns(2 * NSEC_PER_MSEC);
	}
	fact(&d->truth->facts, "reads", (double)i);
	fact(&d->truth->facts, "read_ns", (double)total);
	truth_end(d->truth);
	free(block);
	return NULL;
}

static void *writer_main(void *arg)
{
	struct disk *d = arg;
	void *block = block_alloc();
	uint64_t total = 0;

	truth_begin(d->truth, "writer");
	for (size_t i = 0; i < d->count; i++) {
		uint64_t t0 = now_ns();

		block_write(d->fd, block, i % FILE_BLOCKS);
		if (fdatasync(d->fd))
			die("fdatasync: %s", strerror(errno));
		total += now_ns() - t0;
	}
	fact(&d->truth->facts, "writes", (double)d->count);
	fact(&d->truth->facts, "write_ns", (double)total);
	truth_end(d->truth);
	free(block);
	return NULL;
}

static void case_disk(const struct args *a)
{
	struct truth *truths = truth_room(2);
	struct disk reader = {.truth = &truths[0], .count = arg_count(a, "reads")};
	struct disk writer = {.truth = &truths[1], .count = arg_count(a, "writes")};
	pthread_t threads[2];
	int write_unread, read_unwritten;
	bool direct;

	/* Two files: a direct read of what is being written would wait for the writer. */
	read_unwritten = temp_file(&reader.fd, &reader.direct);
	writer.fd = temp_file(&write_unread, &direct);
	thread_start(&threads[0], reader_main, &reader);
	thread_start(&threads[1], writer_main, &writer);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	fact(&run.facts, "block", BLOCK);
	fact(&run.facts, "direct", reader.direct);
	close(read_unwritten);
	close(write_unread);
	close(reader.fd);
	close(writer.fd);
}

/* ---- waker ---- */

/*
 * The waiter arms itself and waits; the waker gives it its turn after the delay, and never before
 * it is armed: each wake ends exactly one wait.
 */
struct waking {
	struct truth *waiter, *waker;
	size_t wakes;
	uint64_t delay_ns;
	bool cond;
	pthread_mutex_t lock;
	pthread_cond_t turn;
	size_t given; /* under the lock */
	atomic_size_t armed;
	int event;
};

KEEP static void wait_turn(struct waking *w, size_t i)
{
	uint64_t n;

	if (!w->cond) {
		atomic_store(&w->armed, i + 1);
		while (read(w->event, &n, sizeof(n)) != sizeof(n)) {
			if (errno != EINTR)
				die("reading the eventfd: %s", strerror(errno));
		}
		return;
	}
	pthread_mutex_lock(&w->lock);
	atomic_store(&w->armed, i + 1);
	while (w->given <= i)
		pthread_cond_wait(&w->turn, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

KEEP static void give_turn(struct waking *w)
{
	uint64_t one = 1;

	if (!w->cond) {
		if (write(w->event, &one, sizeof(one)) != sizeof(one))
			die("writing the eventfd: %s", strerror(errno));
		return;
	}
	pthread_mutex_lock(&w->lock);
	w->given++;
	pthread_mutex_unlock(&w->lock);
	pthread_cond_signal(&w->turn);
}

static void *waiter_main(void *arg)
{
	struct waking *w = arg;
	uint64_t waited = 0, longest = 0;

	truth_begin(w->waiter, "waiter");
	for (size_t i = 0; i < w->wakes; i++) {
		uint64_t t0 = now_ns(), ns;

		wait_turn(w, i);
		ns = now_ns() - t0;
		waited += ns;
		longest = ns > longest ? ns : longest;
	}
	fact(&w->waiter->facts, "waits", (double)w->wakes);
	fact(&w->waiter->facts, "waited_ns", (double)waited);
	fact(&w->waiter->facts, "waited_max_ns", (double)longest);
	truth_end(w->waiter);
	return NULL;
}

static void *waker_main(void *arg)
{
	struct waking *w = arg;

	truth_begin(w->waker, "waker");
	for (size_t i = 0; i < w->wakes; i++) {
		sleep_ns(w->delay_ns);
		while (atomic_load(&w->armed) <= i)
			sleep_ns(100 * NSEC_PER_USEC);
		give_turn(w);
	}
	fact(&w->waker->facts, "wakes", (double)w->wakes);
	fact(&w->waker->facts, "delay_ns", (double)w->delay_ns);
	truth_end(w->waker);
	return NULL;
}

static void case_waker(const struct args *a)
{
	struct truth *truths = truth_room(2);
	const char *how = arg_str(a, "how");
	struct waking w = {
		.waiter = &truths[0],
		.waker = &truths[1],
		.wakes = arg_count(a, "wakes"),
		.delay_ns = (uint64_t)(arg_num(a, "delay-us") * 1e3),
		.cond = !strcmp(how, "cond"),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.turn = PTHREAD_COND_INITIALIZER,
	};
	pthread_t threads[2];

	if (!w.cond && strcmp(how, "eventfd"))
		die("how: cond or eventfd, not '%s'", how);
	w.event = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	if (w.event < 0)
		die("cannot make an eventfd: %s", strerror(errno));
	thread_start(&threads[0], waiter_main, &w);
	thread_start(&threads[1], waker_main, &w);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	close(w.event);
}

/* ---- mixed: what a busy machine does, all at once ---- */

#define MIXED_SPINNERS 1
#define MIXED_SLEEPERS 5
#define MIXED_PIPES 3
#define MIXED_CONDS 3

struct mixer_box {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool full, over;
};

struct mixer {
	struct truth *truth;
	const char *kind;
	size_t index;
	uint64_t end_ns;
	int in, out; /* pipe pairs: a thread's own two ends */
	bool first;
	struct mixer_box *box; /* condition variable pairs */
};

static void mixer_begin(struct mixer *m)
{
	char name[24];

	snprintf(name, sizeof(name), "%s-%zu", m->kind, m->index);
	truth_begin(m->truth, name);
}

static void *mixed_spinner(void *arg)
{
	struct mixer *m = arg;

	mixer_begin(m);
	fact(&m->truth->facts, "burns", (double)spin_until(m->end_ns));
	truth_end(m->truth);
	return NULL;
}

static void *mixed_sleeper(void *arg)
{
	struct mixer *m = arg;
	uint64_t seed = m->index + 3, sleeps = 0, slept = 0;

	mixer_begin(m);
	for (; now_ns() < m->end_ns; sleeps++) {
		slept += sleep_ns(100 * NSEC_PER_USEC + random_below(&seed, 4900 * NSEC_PER_USEC));
		burn();
	}
	fact(&m->truth->facts, "sleeps", (double)sleeps);
	fact(&m->truth->facts, "slept_ns", (double)slept);
	truth_end(m->truth);
	return NULL;
}

/* Between two hand-overs there is a little work of changing length, as in a real pipeline. */
static void *mixed_pipe(void *arg)
{
	struct mixer *m = arg;
	uint64_t seed = m->index + 5, trips = 0;
	struct ping p = {m->in, m->out, 'x'};

	mixer_begin(m);
	while (m->first ? now_ns() < m->end_ns : p.byte == 'x') {
		chain_8(m->first ? ping : pong, &p);
		for (uint64_t i = random_below(&seed, 17); i; i--)
			burn();
		trips++;
	}
	if (m->first)
		byte_send(m->out, 'q');
	fact(&m->truth->facts, "round_trips", (double)(m->first ? trips : trips - 1));
	truth_end(m->truth);
	return NULL;
}

/* One fills the box, the other one empties it. */
static void *mixed_cond(void *arg)
{
	struct mixer *m = arg;
	uint64_t seed = m->index + 7, turns = 0;
	bool over = false;

	mixer_begin(m);
	while (!over) {
		pthread_mutex_lock(&m->box->lock);
		while (m->box->full == m->first && !m->box->over)
			pthread_cond_wait(&m->box->changed, &m->box->lock);
		m->box->full = m->first;
		m->box->over |= now_ns() >= m->end_ns;
		over = m->box->over;
		pthread_cond_signal(&m->box->changed);
		pthread_mutex_unlock(&m->box->lock);
		for (uint64_t i = random_below(&seed, 23); i; i--)
			burn();
		turns++;
	}
	fact(&m->truth->facts, "turns", (double)turns);
	truth_end(m->truth);
	return NULL;
}

struct mixed {
	struct truth *truths;
	uint64_t end_ns;
	struct mixer mixers[MIXED_SPINNERS + MIXED_SLEEPERS + 2 * MIXED_PIPES + 2 * MIXED_CONDS];
	pthread_t threads[MIXED_SPINNERS + MIXED_SLEEPERS + 2 * MIXED_PIPES + 2 * MIXED_CONDS];
	size_t n;
};

static void mixed_add(struct mixed *all, void *(*fn)(void *), struct mixer m)
{
	size_t i = all->n++;

	m.truth = &all->truths[i];
	m.end_ns = all->end_ns;
	all->mixers[i] = m;
	thread_start(&all->threads[i], fn, &all->mixers[i]);
}

static void mixed_add_pairs(struct mixed *all, struct mixer_box *boxes)
{
	for (size_t i = 0; i < MIXED_PIPES; i++) {
		int to[2], fro[2];

		if (pipe2(to, O_CLOEXEC) || pipe2(fro, O_CLOEXEC))
			die("cannot make a pipe: %s", strerror(errno));
		mixed_add(all, mixed_pipe,
			  (struct mixer){.kind = "pipe",
					 .index = 2 * i,
					 .first = true,
					 .in = fro[0],
					 .out = to[1]});
		mixed_add(all, mixed_pipe,
			  (struct mixer){
				  .kind = "pipe", .index = 2 * i + 1, .in = to[0], .out = fro[1]});
	}
	for (size_t i = 0; i < 2 * MIXED_CONDS; i++)
		mixed_add(all, mixed_cond,
			  (struct mixer){.kind = "cond",
					 .index = i,
					 .first = i % 2 == 0,
					 .box = &boxes[i / 2]});
}

static void case_mixed(const struct args *a)
{
	struct mixer_box boxes[MIXED_CONDS];
	struct mixed all = {.end_ns = 0};
	struct disk disk = {.count = 0};
	pthread_t reader;
	int fd = temp_file(&disk.fd, &disk.direct);
	double vol = 0, invol = 0;

	all.truths = truth_room(ARRAY_LEN(all.mixers) + 1);
	all.end_ns = now_ns() + arg_seconds(a);
	for (size_t i = 0; i < MIXED_CONDS; i++)
		boxes[i] = (struct mixer_box){.lock = PTHREAD_MUTEX_INITIALIZER,
					      .changed = PTHREAD_COND_INITIALIZER};
	for (size_t i = 0; i < MIXED_SPINNERS; i++)
		mixed_add(&all, mixed_spinner, (struct mixer){.kind = "spin", .index = i});
	for (size_t i = 0; i < MIXED_SLEEPERS; i++)
		mixed_add(&all, mixed_sleeper, (struct mixer){.kind = "sleep", .index = i});
	mixed_add_pairs(&all, boxes);
	disk.truth = &all.truths[all.n];
	disk.end_ns = all.end_ns;
	thread_start(&reader, reader_main, &disk);
	for (size_t i = 0; i < all.n; i++)
		pthread_join(all.threads[i], NULL);
	pthread_join(reader, NULL);
	for (size_t i = 0; i <= all.n; i++) {
		vol += (double)all.truths[i].total.vol;
		invol += (double)all.truths[i].total.invol;
	}
	fact(&run.facts, "vol", vol);
	fact(&run.facts, "invol", invol);
	close(disk.fd);
	close(fd);
}

/* ---- the table ---- */

struct workload_case {
	const char *name;
	void (*run)(const struct args *a);
	struct args defaults;
	const char *words;
};

static const struct workload_case cases[] = {
	{"spin", case_spin, {{{"threads", "2"}, {"seconds", "1"}}}, "threads that only compute"},
	{"sleep",
	 case_sleep,
	 {{{"count", "23"}, {"ms", "10"}}},
	 "a thread that sleeps count times"},
	{"pingpong",
	 case_pingpong,
	 {{{"trips", "10007"}, {"mode", "p"}, {"cpu", "-1"}, {"seconds", "0"}}},
	 "a byte to and fro; mode p: processes, t: threads; seconds overrides trips"},
	{"pingpong2",
	 case_pingpong2,
	 {{{"trips", "10007"}, {"mode", "p"}, {"seconds", "0"}}},
	 "a pair of them on every CPU at once"},
	{"forks", case_forks, {{{"count", "101"}}}, "children that exit at once"},
	{"execs", case_execs, {{{"count", "53"}}}, "children that execute true"},
	{"threads",
	 case_threads,
	 {{{"count", "503"}, {"alive", "7"}}},
	 "a storm of short threads, so many alive at a time"},
	{"manythreads",
	 case_manythreads,
	 {{{"count", "2003"}, {"seconds", "3"}}},
	 "a crowd of threads that mostly sleep"},
	{"chain",
	 case_chain,
	 {{{"how", "spin"}, {"seconds", "1"}, {"threads", "1"}}},
	 "spin or sleep below chain_12 ... chain_1"},
	{"disk",
	 case_disk,
	 {{{"reads", "211"}, {"writes", "53"}}},
	 "64 KiB direct reads; 64 KiB writes, each with fdatasync"},
	{"mixed", case_mixed, {{{"seconds", "3"}}}, "spinners, sleepers, pipes, locks and a disk"},
	{"waker",
	 case_waker,
	 {{{"wakes", "101"}, {"delay-us", "2000"}, {"how", "cond"}}},
	 "a waiter and its waker; how: cond or eventfd"},
	{"preempt",
	 case_preempt,
	 {{{"threads", "3"}, {"seconds", "2"}, {"cpu", "-1"}}},
	 "spinners that share one CPU (-1: the last)"},
	{"exits", case_exits, {{{"ms", "50"}}}, "a process that is gone after that time"},
};

static void list_print(FILE *out)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct arg *a = cases[i].defaults.v;
		char line[128] = "";
		size_t n = 0;

		for (size_t j = 0; j < ARGS_MAX && a[j].name; j++)
			n += (size_t)snprintf(line + n, sizeof(line) - n, " %s=%s", a[j].name,
					      a[j].val);
		fprintf(out, "%-12s%-42s %s\n", cases[i].name, line, cases[i].words);
	}
}

static void args_set(struct args *a, size_t i, const char *name, const char *val)
{
	if (name) {
		for (i = 0; i < ARGS_MAX && a->v[i].name; i++) {
			if (!strcmp(a->v[i].name, name))
				break;
		}
	}
	if (i >= ARGS_MAX || !a->v[i].name)
		die("what is '%s'? See workload --list", name ? name : val);
	if (!val)
		die("--%s needs a value", name);
	a->v[i].val = val;
}

static void args_parse(struct args *a, char **argv)
{
	size_t place = 0;

	for (; *argv; argv++) {
		if (strncmp(*argv, "--", 2)) {
			args_set(a, place++, NULL, *argv);
			continue;
		}
		args_set(a, 0, argv[0] + 2, argv[1]);
		argv++;
	}
}

int main(int argc, char **argv)
{
	struct truth first = {0};

	if (argc < 2 || !strcmp(argv[1], "--list") || !strcmp(argv[1], "--help")) {
		fprintf(argc < 2 ? stderr : stdout,
			"usage: workload CASE [args, by place or --name value]\n");
		list_print(argc < 2 ? stderr : stdout);
		return argc < 2 ? 2 : 0;
	}
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct args a = cases[i].defaults;

		if (strcmp(cases[i].name, argv[1]))
			continue;
		args_parse(&a, argv + 2);
		truth_begin(&first, NULL);
		run.threads = &first;
		run.n = 1;
		cases[i].run(&a);
		truth_end(&run.threads[0]);
		run_print(cases[i].name);
		return 0;
	}
	fprintf(stderr, "workload: no case called '%s'; see workload --list\n", argv[1]);
	return 2;
}
