// SPDX-License-Identifier: MIT
/*
 * Collapsed stacks, as flamegraph.pl reads them, one line each:
 *
 *   name;root;...;leaf count
 *
 * The first name is the thread's, as stackcollapse-perf.pl, inferno and thaw itself write it. Some
 * tools write none: if one of the first names is longer than a thread's can be (15 letters), or
 * stands alone, all of them are functions, of one thread.
 *
 * _[k] after a name says that it is the kernel's, _[i] that it is inlined into the one before it.
 * Names are all that there is: each is an address of its own in a module without a file. There are
 * no times either: each count becomes a sample, one after another, and the capture says so.
 */
#include "import/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/units.h"
#include "import/sink.h"
#include "store/symtab.h"
#include "wire/meta.h"
#include "wire/unwind.h"

#define COMM_MAX 15
#define LINE_MAX_BYTES (1u << 20)
#define SAMPLES_MAX 50000000u
#define THREADS_MAX 65536u

struct collapsed {
	const struct import_opts *o;
	struct sink s;
	struct symtab *names;
	uint32_t user, kernel; /* modules */
	struct map places;     /* hash of a module and names -> address in it */
	struct map threads;    /* hash of a name -> tid */
	struct buf text;
	uint64_t next_place, sample_ns, ts;
	bool threads_named;
};

/* ---- lines ---- */

/* Cuts the count off; false if there is none. */
static bool take_count(char *line, double *ret)
{
	char *space = strrchr(line, ' '), *end;

	if (!space || space == line || !space[1] || space[1] < '0' || space[1] > '9')
		return false;
	*ret = strtod(space + 1, &end);
	if (*end || !(*ret >= 0) || *ret > 1e18)
		return false;
	while (space > line && (space[-1] == ' ' || space[-1] == '\t'))
		space--;
	*space = '\0';
	return space > line;
}

static bool is_text(const uint8_t *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] < 0x20 && s[i] != '\n' && s[i] != '\r' && s[i] != '\t')
			return false;
	return true;
}

/* Every line that is whole ends with a count. */
static bool collapsed_knows(const uint8_t *head, size_t n)
{
	char *copy, *line, *save = NULL;
	size_t lines = 0;
	bool ok = true;

	if (!is_text(head, n))
		return false;
	copy = mem_alloc(n + 1);
	memcpy(copy, head, n);
	copy[n] = '\0';
	/* The last one may be cut. */
	if (n == IMPORT_HEAD && strrchr(copy, '\n'))
		*strrchr(copy, '\n') = '\0';
	for (line = strtok_r(copy, "\r\n", &save); line && ok;
	     line = strtok_r(NULL, "\r\n", &save)) {
		double count;

		if (line[0] == '#')
			continue;
		ok = take_count(line, &count);
		lines++;
	}
	free(copy);
	return ok && lines;
}

typedef int line_fn(struct collapsed *c, char *stack, uint64_t count);

static int bad_line(const struct collapsed *c, uint64_t n, const char *why)
{
	return err_set(-EBADMSG, "%s, line %" PRIu64 ": %s", c->o->path, n, why);
}

static int each_line(struct collapsed *c, FILE *in, line_fn *fn)
{
	uint64_t divide = c->o->divide ? c->o->divide : 1, n = 0;
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int rc = 0;

	rewind(in);
	while (!rc && (len = getline(&line, &room, in)) >= 0) {
		double count;

		n++;
		while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
			line[--len] = '\0';
		if (!len || line[0] == '#')
			continue;
		if ((size_t)len > LINE_MAX_BYTES)
			rc = bad_line(c, n, "it is too long");
		else if (strlen(line) != (size_t)len || !is_text((uint8_t *)line, (size_t)len))
			rc = bad_line(c, n, "this is no text");
		else if (!take_count(line, &count))
			rc = bad_line(c, n, "there is no count at its end");
		else
			rc = fn(c, line, (uint64_t)(count / (double)divide + 0.5));
	}
	if (!rc && ferror(in))
		rc = err_set(-EIO, "%s: %s", c->o->path, strerror(errno));
	free(line);
	return rc;
}

/* ---- the first look ---- */

static int collapsed_look(struct collapsed *c, char *stack, uint64_t count)
{
	size_t n = strcspn(stack, ";"), letters = 0;

	for (size_t i = 0; i < n; i++)
		letters += (stack[i] & 0xc0) != 0x80;
	if (letters > COMM_MAX || !stack[n])
		c->threads_named = false;
	c->s.res->samples += count;
	if (c->s.res->samples <= SAMPLES_MAX)
		return 0;
	return err_set(-E2BIG,
		       "%s: its counts make more than %u samples; if they are not samples but, "
		       "say, microseconds, --divide makes one sample of many",
		       c->o->path, SAMPLES_MAX);
}

/* ---- names ---- */

static bool ends_with(const char *s, size_t n, const char *end)
{
	return n > 4 && !memcmp(s + n - 4, end, 4);
}

/* A function, and those that are inlined into it: innermost first, NUL after each. */
static uint64_t collapsed_place_of(struct collapsed *c, uint32_t module, const struct buf *names,
				   size_t k)
{
	struct symbol syms[SYMBOLS_PER_FRAME_MAX];
	const char *at = (const char *)names->p;
	bool fresh;
	uint64_t *slot =
		map_put(&c->places, map_hash_bytes(names->p, names->len) ^ map_mix(module), &fresh);

	if (!fresh)
		return *slot;
	*slot = ++c->next_place;
	for (size_t i = 0; i < k; i++) {
		syms[i] = (struct symbol){.name = at, .inlined = i + 1 < k};
		at += strlen(at) + 1;
	}
	symtab_add(c->names, module, *slot, syms, k);
	return *slot;
}

struct frames {
	struct frame v[STACK_FRAMES_MAX];
	size_t n;
};

static void collapsed_push(struct collapsed *c, struct frames *to, uint32_t module,
			   struct buf *names, size_t *k)
{
	if (*k && to->n < STACK_FRAMES_MAX)
		to->v[to->n++] = (struct frame){module, collapsed_place_of(c, module, names, *k)};
	buf_clear(names);
	*k = 0;
}

/* From the leaf outwards. Frames of the kernel at the leaf are a stack of their own. */
static void take_stack(struct collapsed *c, char *stack, struct frames *k, struct frames *u)
{
	size_t names = 0;
	bool leaf = true;

	buf_clear(&c->text);
	for (size_t end = strlen(stack), begin;; end = begin - 1) {
		const char *name;
		bool kernel, inlined;
		size_t n;

		for (begin = end; begin && stack[begin - 1] != ';';)
			begin--;
		name = stack + begin;
		n = end - begin;
		kernel = ends_with(name, n, "_[k]");
		inlined = ends_with(name, n, "_[i]") && begin;
		n -= kernel || ends_with(name, n, "_[i]") ? 4 : 0;
		leaf &= kernel;
		buf_put(&c->text, n ? name : "?", n ? n : 1);
		buf_put_u8(&c->text, '\0');
		names++;
		if (!inlined || names == SYMBOLS_PER_FRAME_MAX)
			collapsed_push(c, leaf ? k : u, kernel ? c->kernel : c->user, &c->text,
				       &names);
		if (!begin)
			break;
	}
}

static uint32_t thread_of(struct collapsed *c, const char *name)
{
	bool fresh;
	uint64_t *slot = map_put(&c->threads, map_hash_bytes(name, strlen(name)), &fresh);
	struct event ev = {.ts = c->ts, .kind = EV_THREAD};

	if (!fresh)
		return (uint32_t)*slot;
	*slot = c->threads.n;
	c->s.res->threads++;
	ev.thread = (struct ev_thread){.tid = (uint32_t)*slot, .pid = 1, .name = name};
	sink_put(&c->s, &ev);
	return (uint32_t)*slot;
}

static int collapsed_add(struct collapsed *c, char *stack, uint64_t count)
{
	struct frames k = {.n = 0}, u = {.n = 0};
	struct event ev = {.kind = EV_SAMPLE};
	char *rest = stack;
	const char *slash = strrchr(c->o->path, '/');
	char name[4 * COMM_MAX + 1];

	if (!count)
		return 0;
	if (c->threads_named) {
		rest = strchr(stack, ';') + 1;
		snprintf(name, sizeof(name), "%.*s", (int)(rest - 1 - stack), stack);
	} else {
		snprintf(name, sizeof(name), "%.*s", COMM_MAX, slash ? slash + 1 : c->o->path);
	}
	if (c->threads.n >= THREADS_MAX)
		return err_set(-E2BIG, "%s has too many threads", c->o->path);
	take_stack(c, rest, &k, &u);
	ev.sample.tid = thread_of(c, name);
	if (k.n)
		ev.sample.kstack = writer_stack(c->s.w, k.v, k.n, UNWIND_STOP_NONE);
	if (u.n)
		ev.sample.ustack = writer_stack(c->s.w, u.v, u.n, UNWIND_STOP_NONE);
	while (count--) {
		ev.ts = c->ts;
		c->ts += c->sample_ns;
		sink_put(&c->s, &ev);
	}
	if (c->o->progress)
		c->o->progress(c->o->progress_arg,
			       (double)c->ts / (double)(c->sample_ns * c->s.res->samples));
	return writer_status(c->s.w);
}

/* ---- all of it ---- */

static int collapsed_write_all(struct collapsed *c, FILE *in)
{
	uint32_t unseen = UNSEEN_WAKERS | UNSEEN_LOCKS | UNSEEN_STATES | UNSEEN_RUN_QUEUE |
			  UNSEEN_WAIT_STACKS | UNSEEN_SWITCHES | UNSEEN_TIMES | UNSEEN_CPUS;
	struct module user = {.kind = MODULE_UNKNOWN, .path = "[collapsed]"};
	int rc = sink_open(&c->s, c->o, &(struct writer_clock){0}, c->s.res);

	if (rc)
		return rc;
	writer_meta_number(c->s.w, META_FREQ_HZ, c->o->freq_hz);
	writer_meta(c->s.w, META_SCOPE, "command");
	writer_unseen(c->s.w, unseen);
	c->user = writer_module(c->s.w, &user);
	c->kernel = procs_kernel_module(c->s.procs);
	sink_begin(&c->s, c->ts);
	rc = each_line(c, in, collapsed_add);
	if (!rc)
		writer_symbols(c->s.w, c->names);
	c->s.last_ts = c->ts; /* after the last sample, so that the recording includes it */
	rc = sink_close(&c->s, rc);
	c->s.res->span_ns = 0; /* there are no times in it */
	return rc;
}

static int collapsed_import_run(const struct import_opts *o, int fd, struct import_result *res)
{
	/* The names are in the file: there is nothing to look up. */
	struct import_opts own = *o;
	struct collapsed c = {.o = &own,
			      .s = {.res = res},
			      .names = symtab_new(),
			      .threads_named = true,
			      .sample_ns = NSEC_PER_SEC / (o->freq_hz ? o->freq_hz : NSEC_PER_SEC),
			      .ts = 1};
	int copy = dup(fd), rc;
	FILE *in = copy < 0 ? NULL : fdopen(copy, "r");

	own.no_names = true;
	rc = in ? each_line(&c, in, collapsed_look)
		: err_set(-errno, "%s: %s", o->path, strerror(errno));
	if (!rc && !res->samples)
		rc = err_set(-ENODATA, "%s holds no stacks", o->path);
	rc = rc ? rc : collapsed_write_all(&c, in);
	if (in)
		fclose(in);
	else if (copy >= 0)
		close(copy);
	symtab_free(c.names);
	map_done(&c.places);
	map_done(&c.threads);
	buf_done(&c.text);
	return rc;
}

const struct importer import_collapsed = {
	.name = "collapsed",
	.words = "collapsed stacks, as flamegraph.pl reads them",
	.knows = collapsed_knows,
	.run = collapsed_import_run,
};
