// SPDX-License-Identifier: MIT
/*
 * Does to captures what life does to them, and checks that what is left is the truth: every event
 * that comes out was put in, in order; where one is missing, the stream says so at that place.
 *
 *   crash_store make FILE             a small capture of many chunks
 *   crash_store truncate FILE         every length of it, 0 to all
 *   crash_store flip FILE COUNT SEED  random bits
 *   crash_store kill FILE ROUNDS SEED a writer is killed at random moments
 *   crash_store slow FILE ROUNDS SEED the same on a disk that takes seconds to sync
 *   crash_store full DIR              DIR is on a small file system: it is filled
 *   crash_store corpus DIR            seeds for the fuzzer
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "store/columns.h"
#include "store/inspect.h"
#include "store/source.h"
#include "store/writer.h"
#include "wire/loss.h"

#define TS0 1000000000ull
#define STEP 1000ull

static __attribute__((format(printf, 1, 2), noreturn)) void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	exit(1);
}

/* The i-th event, made from nothing but i; its time says which one it is. */
static struct event truth(uint64_t i)
{
	static const char *const names[] = {"main", "worker", "", "kworker/0:1"};
	static const uint16_t some[] = {EV_SWITCH, EV_WAKING, EV_SWITCH, EV_WAKING, EV_SAMPLE,
					EV_WAIT,   EV_THREAD, EV_RENAME, EV_MAP,    EV_FORK};
	uint64_t h = map_mix(i + 12345);
	struct event ev;

	memset(&ev, 0, sizeof(ev));
	ev.ts = TS0 + STEP * i;
	ev.kind = some[h % ARRAY_LEN(some)];
	ev.cpu = (uint16_t)(h >> 8 & 3);
	for (unsigned c = kinds[ev.kind].first; c < kinds[ev.kind].end; c++) {
		void *at = (char *)&ev + columns[c].offset;
		const char *name = names[h >> 16 & 3];

		h = map_mix(h + c);
		if (columns[c].codec == CODEC_STRING)
			memcpy(at, &name, sizeof(name));
		else
			memcpy(at, &(uint64_t){h % 50}, columns[c].size);
	}
	return ev;
}

static bool same(const struct event *a, const struct event *b)
{
	if (a->kind != b->kind || a->cpu != b->cpu || a->ts != b->ts)
		return false;
	for (unsigned c = kinds[a->kind].first; c < kinds[a->kind].end; c++) {
		const char *x = (const char *)a + columns[c].offset;
		const char *y = (const char *)b + columns[c].offset;
		const char *s, *t;

		memcpy(&s, x, columns[c].codec == CODEC_STRING ? sizeof(s) : 0);
		memcpy(&t, y, columns[c].codec == CODEC_STRING ? sizeof(t) : 0);
		if (columns[c].codec == CODEC_STRING ? strcmp(s, t) : memcmp(x, y, columns[c].size))
			return false;
	}
	return true;
}

/* Reads all; returns how many of the first n events there are before the first that is missing. */
static uint64_t check_stream(struct reader *r, uint64_t n, bool holes_allowed)
{
	uint64_t next = 0, prefix = UINT64_MAX;
	bool lost = false;
	struct event ev;
	int rc;

	while ((rc = reader_next(r, &ev)) == 1) {
		uint64_t i = (ev.ts - TS0) / STEP;
		struct event want;

		if (ev.kind == EV_LOST) {
			if (ev.lost.cause == LOSS_DAMAGED)
				lost = true;
			continue;
		}
		want = truth(i);
		if (ev.ts < TS0 || i >= n || !same(&ev, &want))
			die("event %llu is not what was written", (unsigned long long)i);
		if (i < next)
			die("event %llu comes twice or too late", (unsigned long long)i);
		if (i > next && (!lost || !holes_allowed))
			die("events %llu to %llu are missing and nothing says so",
			    (unsigned long long)next, (unsigned long long)i - 1);
		if (i > next && prefix == UINT64_MAX)
			prefix = next;
		lost = false;
		next = i + 1;
	}
	if (rc < 0)
		die("reading failed: %s", err_msg());
	if (next < n && !lost && reader_info(r)->complete)
		die("%llu events of %llu, and the file claims to be complete",
		    (unsigned long long)next, (unsigned long long)n);
	return prefix == UINT64_MAX ? next : prefix;
}

enum { SMALL = 300 };

static void fill(struct writer *w, uint64_t n)
{
	struct frame f[3] = {{1, 0x1000}, {1, 0x2000}, {2, 0x3000}};
	struct symbol sym = {.name = "main", .file = "main.c", .line = 3};
	struct symtab *st = symtab_new();

	writer_meta(w, "host", "crash");
	writer_meta(w, "command", "true");
	writer_module(w, &(struct module){.kind = MODULE_FILE, .path = "/bin/true"});
	writer_module(w, &(struct module){.kind = MODULE_KERNEL, .path = "[kernel]"});
	for (uint64_t i = 0; i < n; i++) {
		struct event ev = truth(i);

		if (i % 20 == 0) {
			f[0].offset += i;
			writer_stack(w, f, 1 + i / 20 % 3, i % 11);
		}
		writer_event(w, &ev);
	}
	symtab_add(st, 1, 0x1000, &sym, 1);
	symtab_add(st, 1, 0x2000, &(struct symbol){.name = "exit"}, 1);
	writer_symbols(w, st);
	symtab_free(st);
}

static void make(const char *path, size_t chunk_bytes, uint64_t n)
{
	struct writer_opts opts = {.chunk_bytes = chunk_bytes, .no_sync = true};
	struct writer *w;

	if (writer_open(path, &opts, &w))
		die("%s", err_msg());
	fill(w, n);
	if (writer_close(w, END_DONE))
		die("%s", err_msg());
}

static uint8_t *slurp(const char *path, size_t *ret_n)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	uint8_t *p;

	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	p = mem_alloc((size_t)st.st_size);
	if (read(fd, p, (size_t)st.st_size) != st.st_size)
		die("%s: short read", path);
	close(fd);
	*ret_n = (size_t)st.st_size;
	return p;
}

/* The bytes as a file that needs no disk. */
static int in_memory(const uint8_t *p, size_t n, char *path)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	if (fd < 0 || write(fd, p, n) != (ssize_t)n)
		die("memfd: %s", strerror(errno));
	sprintf(path, "/proc/self/fd/%d", fd);
	return fd;
}

static int cmd_truncate(const char *path)
{
	uint64_t before = 0;
	size_t size;
	uint8_t *p = slurp(path, &size);

	for (size_t n = 0; n <= size; n++) {
		/* A copy of exactly that size, so that ASan sees a read beyond it. */
		char name[40];
		int fd = in_memory(p, n, name);
		struct reader *r;
		uint64_t got = 0;

		err_clear();
		if (reader_open(name, &r)) {
			if (n >= HEAD_BYTES)
				die("%zu bytes: refused: %s", n, err_msg());
			if (!strcmp(err_msg(), "unknown error"))
				die("%zu bytes: refused without a word", n);
		} else {
			got = check_stream(r, SMALL, false);
			if (n < size && (reader_info(r)->complete || !reader_info(r)->damage[0]))
				die("%zu of %zu bytes: claims to be complete", n, size);
			if ((reader_verify(r) == 0) != (n == size))
				die("%zu of %zu bytes: verify is wrong", n, size);
			reader_close(r);
		}
		if (got < before)
			die("%zu bytes: %llu events, but fewer bytes had %llu", n,
			    (unsigned long long)got, (unsigned long long)before);
		before = got;
		close(fd);
	}
	if (before != SMALL)
		die("the whole file has %llu events", (unsigned long long)before);
	printf("%zu lengths\n", size + 1);
	free(p);
	return 0;
}

static int cmd_flip(const char *path, unsigned count, uint64_t seed)
{
	unsigned refused = 0, whole = 0;
	size_t size;
	uint8_t *p = slurp(path, &size);

	for (unsigned i = 0; i < count; i++) {
		uint8_t *copy = mem_alloc(size);
		char name[40];
		struct reader *r;
		int fd;

		memcpy(copy, p, size);
		for (unsigned k = 0; k <= i % 4; k++) {
			seed = map_mix(seed + 1);
			copy[(seed >> 3) % size] ^= (uint8_t)(1u << (seed & 7));
		}
		fd = in_memory(copy, size, name);
		/* Two of four readings, as the index may hide what the scan sees. */
		if (reader_open_flags(name, i & 1 ? READER_NO_INDEX : 0, &r)) {
			refused++;
		} else {
			whole += check_stream(r, SMALL, true) == SMALL;
			if (!reader_verify(r) && memcmp(copy, p, size))
				die("flip %u: verify saw nothing", i);
			reader_close(r);
		}
		close(fd);
		free(copy);
	}
	printf("%u files: %u refused, %u with all events\n", count, refused, whole);
	free(p);
	return 0;
}

static unsigned sync_us;

/* libc's, made slow: writing must not wait for it. */
int fdatasync(int fd)
{
	usleep(sync_us);
	return (int)syscall(SYS_fdatasync, fd);
}

struct report {
	uint64_t ns;	  /* when */
	uint64_t given;	  /* events given to the writer by then */
	uint64_t durable; /* events that were written when writer_flush() had returned */
};

/* Writes until it is killed, and says what it did. */
static void child_writes(const char *path, uint64_t flush_ns, int pipe_fd, uint64_t seed)
{
	struct writer_opts opts = {.flush_ns = flush_ns};
	struct report rep = {0};
	struct writer *w;

	if (writer_open(path, &opts, &w))
		_exit(3);
	for (;;) {
		unsigned burst = (unsigned)((seed = map_mix(seed + 1)) % 400);

		while (burst--) {
			struct event ev = truth(rep.given++);

			writer_event(w, &ev);
		}
		if (seed >> 32 & 1 && seed % 31 == 0 && !writer_flush(w, true))
			rep.durable = rep.given;
		rep.ns = clock_mono_ns();
		writer_tick(w, rep.ns);
		if (write(pipe_fd, &rep, sizeof(rep)) != sizeof(rep))
			_exit(4);
		usleep((unsigned)(seed >> 40 & 1023));
	}
}

/* A second is what is promised; a disk that is made slow may hold up a write for longer. */
#define LATE_NS ((sync_us ? 3 : 1) * NSEC_PER_SEC)

static void check_killed(const char *path, int pipe_fd, uint64_t flush_ns, uint64_t killed_ns)
{
	struct report rep, last = {0};
	uint64_t must = 0, got;
	struct reader *r;
	struct stat st;

	while (read(pipe_fd, &rep, sizeof(rep)) == sizeof(rep)) {
		last = rep;
		must = rep.durable > must ? rep.durable : must;
		if (rep.ns + flush_ns + LATE_NS < killed_ns && rep.given > must)
			must = rep.given;
	}
	if (stat(path, &st) || st.st_size == 0) {
		if (must)
			die("nothing is there, %llu events should be", (unsigned long long)must);
		return;
	}
	if (reader_open(path, &r))
		die("cannot be opened: %s", err_msg());
	/* The writer may have given a burst more than it could report. */
	got = check_stream(r, last.given + 400, false);
	if (got < must)
		die("%llu events, at least %llu had been written (%s)", (unsigned long long)got,
		    (unsigned long long)must, reader_info(r)->damage);
	if (reader_info(r)->complete)
		die("claims to be complete");
	reader_close(r);
}

static int cmd_kill(const char *path, unsigned rounds, uint64_t seed)
{
	for (unsigned i = 0; i < rounds; i++) {
		/* Every tenth lives long enough that age alone must have brought it to the disk. */
		bool lasting = i % 10 == 9 || sync_us;
		uint64_t flush_ns = lasting ? NSEC_PER_SEC / 2 : 20 * NSEC_PER_MSEC;
		uint64_t killed_ns;
		int fds[2];
		pid_t pid;

		seed = map_mix(seed + 1);
		unlink(path);
		if (pipe(fds) || fcntl(fds[1], F_SETPIPE_SZ, 1 << 20) < 0)
			die("pipe: %s", strerror(errno));
		pid = fork();
		if (pid < 0)
			die("fork: %s", strerror(errno));
		if (!pid) {
			close(fds[0]);
			child_writes(path, flush_ns, fds[1], seed);
		}
		close(fds[1]);
		usleep((unsigned)((lasting ? 1700000 : 0) + (sync_us ? 2500000 : 0) +
				  seed % 150000));
		kill(pid, SIGKILL);
		killed_ns = clock_mono_ns();
		waitpid(pid, NULL, 0);
		check_killed(path, fds[0], flush_ns, killed_ns);
		close(fds[0]);
	}
	unlink(path);
	printf("%u kills\n", rounds);
	return 0;
}

/* Takes what is left on the file system. */
static void hog(const char *path)
{
	static char zeros[512];
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	close(fd);
}

static void fill_disk(const char *dir, bool leave_nothing)
{
	struct writer_opts opts = {.chunk_bytes = 16 << 10};
	char path[4096], other[4096];
	uint64_t n = 0, got;
	struct writer *w;
	struct reader *r;
	int rc = 0;

	snprintf(path, sizeof(path), "%s/full.thaw", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	if (writer_open(path, &opts, &w))
		die("%s", err_msg());
	for (; !rc && n < 100000000; n++) {
		struct event ev = truth(n);

		writer_event(w, &ev);
		if (n % 5000 == 0)
			rc = writer_flush(w, true);
	}
	if (rc != -ENOSPC || !strstr(err_msg(), path))
		die("a full disk was reported as %d: %s", rc, err_msg());
	if (leave_nothing)
		hog(other);
	if (writer_close(w, END_DONE) != -ENOSPC)
		die("closing on a full disk was reported as a success");
	if (reader_open(path, &r))
		die("%s", err_msg());
	got = check_stream(r, n, false);
	if (!got || reader_info(r)->bytes_lost || reader_info(r)->chunks_damaged)
		die("%llu events, %llu bytes lost: %s", (unsigned long long)got,
		    (unsigned long long)reader_info(r)->bytes_lost, reader_info(r)->damage);
	if (!leave_nothing && (!reader_info(r)->sealed || reader_info(r)->cause != END_NO_SPACE))
		die("not sealed: %s", reader_info(r)->damage);
	printf("%llu events of %llu%s\n", (unsigned long long)got, (unsigned long long)n,
	       reader_info(r)->sealed ? ", sealed" : "");
	reader_close(r);
	unlink(path);
	unlink(other);
}

/* The same capture with its payloads as they are: a fuzzer can change what it sees. */
static void store_raw(const char *from, const char *to)
{
	struct byte_source s;
	struct reader *r;
	const struct index_entry *e;
	struct buf raw = {0}, out = {0};
	FILE *f = fopen(to, "wb");

	if (!f || byte_source_open(&s, from, false) || reader_open(from, &r))
		die("%s: %s", to, err_msg());
	buf_put(&out, &s.head, sizeof(s.head));
	for (size_t i = 0; (e = reader_chunk(r, i)); i++) {
		struct chunk_head h;

		if (byte_source_load(&s, e, &raw) || !byte_source_head(&s, e->offset, &h))
			die("%s", err_msg());
		if (h.type == CHUNK_INDEX)
			continue;
		h.flags = 0;
		h.stored = h.raw;
		h.seq -= h.type == CHUNK_END;
		h.payload_crc = format_crc(raw.p, raw.len);
		chunk_head_seal(&h);
		buf_put(&out, &h, sizeof(h));
		buf_put(&out, raw.p, raw.len);
	}
	fwrite(out.p, 1, out.len, f);
	fclose(f);
	buf_done(&raw);
	buf_done(&out);
	reader_close(r);
	byte_source_close(&s);
}

static int cmd_corpus(const char *dir)
{
	static const struct {
		const char *name;
		size_t chunk_bytes;
		uint64_t events;
	} seeds[] = {{"tiny", 1 << 20, 5}, {"small", 1 << 20, 200}, {"chunks", 300, 150}};

	for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
		char path[4096], raw[4096];

		snprintf(path, sizeof(path), "%s/%s.capture", dir, seeds[i].name);
		snprintf(raw, sizeof(raw), "%s/%s-raw.capture", dir, seeds[i].name);
		make(path, seeds[i].chunk_bytes, seeds[i].events);
		store_raw(path, raw);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "make"))
		return make(argv[2], 400, SMALL), 0;
	if (!strcmp(what, "truncate"))
		return cmd_truncate(argv[2]);
	if (!strcmp(what, "flip") && argc == 5)
		return cmd_flip(argv[2], (unsigned)atoi(argv[3]), strtoull(argv[4], NULL, 10));
	if (!strcmp(what, "slow"))
		sync_us = 4000000;
	if ((!strcmp(what, "kill") || !strcmp(what, "slow")) && argc == 5)
		return cmd_kill(argv[2], (unsigned)atoi(argv[3]), strtoull(argv[4], NULL, 10));
	if (!strcmp(what, "full")) {
		fill_disk(argv[2], false);
		fill_disk(argv[2], true);
		return 0;
	}
	if (!strcmp(what, "corpus"))
		return cmd_corpus(argv[2]);
	fprintf(stderr, "usage: crash_store make|truncate|flip|kill|slow|full|corpus PATH ...\n");
	return 2;
}
