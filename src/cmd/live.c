// SPDX-License-Identifier: MIT
/*
 * Three processes: the recorder; the display, which follows the file (only what is new is read and
 * named) and owns the terminal; and for each refresh a short-lived copy of the display, which
 * finishes its copy of the model (a model can be finished only once) and sends back the text. The
 * cost of a refresh grows with what has happened since the last one. One is due every second, or
 * later if it takes long: the display never uses more than a quarter of a CPU.
 */
#include "cmd/live.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "cmd/screen.h"
#include "model/load.h"
#include "record/symbolize.h"
#include "report/lead.h"
#include "report/words.h"
#include "store/reader.h"

#define REFRESH_NS NSEC_PER_SEC
#define FIRST_NS (100 * NSEC_PER_MSEC) /* until there is something to read */
#define NAMING_NS (2 * NSEC_PER_SEC)   /* in one refresh, at most */
#define UNREAD_NS NSEC_PER_SEC	       /* what is not in the file yet is younger */
enum { PAUSES = 3 };		       /* times as long as the work */

struct live {
	pid_t pid;
	int end_fd; /* closed: end */
};

struct display {
	const struct live_opts *opts;
	pid_t recorder;
	int end_fd;
	struct screen screen;
	struct reader *reader;
	struct reader *events; /* the same file again, for the names of data */
	struct symtab *symtab; /* the reader's */
	struct namer *namer;
	struct model *model;
};

static volatile sig_atomic_t resized, stopped;

static void on_signal(int sig)
{
	*(sig == SIGWINCH ? &resized : &stopped) = 1;
}

bool live_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") &&
	       tcgetpgrp(STDOUT_FILENO) == getpgrp();
}

/* ---- what there is to show ---- */

static bool live_follow(struct display *d)
{
	const struct cmd_choice *c = d->opts->choice;
	struct model_opts opts = {
		.from = c->from.ns, .to = c->to.ns, .min_lock_wait = c->min_lock_wait};

	if (!d->reader) {
		if (reader_open(d->opts->path, &d->reader))
			return false;
		if (reader_open(d->opts->path, &d->events)) {
			reader_close(d->reader);
			d->reader = NULL;
			return false;
		}
		d->symtab = symtab_new();
		reader_set_symtab(d->reader, d->symtab);
		d->model = model_follow(d->reader, &opts);
	}
	if (reader_follow(d->reader) || reader_follow(d->events))
		return false;
	namer_more(d->namer, d->reader, d->events, clock_mono_ns() + NAMING_NS, d->symtab);
	return !model_follow_more(d->model, d->reader);
}

/* Threads that hang make no events, and time passes all the same. */
static void pass_silence(struct model *m)
{
	uint64_t now = clock_mono_ns() - UNREAD_NS;
	struct event end = {.ts = now, .kind = EV_MARK, .mark = {.what = MARK_END}};

	if (m->timeline.now && now > m->timeline.now)
		model_event(m, &end);
}

static void heading(const struct display *d, const struct summary *s, FILE *out)
{
	char time[16];

	fprintf(out, "thaw locks: %s, %zu thread%s; %s ends",
		units_duration(time, sizeof(time), model_window_ns(s->model)), s->threads.n,
		s->threads.n == 1 ? "" : "s", d->screen.keys ? "q" : "Ctrl-C");
}

/* Threads that let go of their locks just now may look like a circle for a moment. */
static bool is_deadlocked(const struct summary *s)
{
	for (size_t i = 0; i < s->stalls.list.n; i++)
		if (s->stalls.list.v[i].circle == 1)
			return s->stalls.list.v[i].ns >= REFRESH_NS;
	return false;
}

/* What comes before the table: a deadlock, and what was lost. Returns how many lines it took. */
static size_t live_lead(const struct display *d, const struct summary *s, FILE *out)
{
	uint32_t cause = words_main_loss(&s->model->losses);
	struct buf b = {0};
	size_t lines = 0, n = 0;
	char *text = NULL;
	FILE *mem = open_memstream(&text, &n);

	if (!mem)
		return 0;
	if (is_deadlocked(s) && lead_deadlock(s, &b))
		words_wrap(mem, buf_cstr(&b), 0, 0, d->screen.cols);
	buf_clear(&b);
	if (cause < LOSS_CAUSES) {
		words_loss(&b, cause, s->model->losses.by_cause[cause]);
		words_wrap(mem, buf_cstr(&b), 0, 0, d->screen.cols);
	}
	buf_done(&b);
	fclose(mem);
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	/* The next line begins with its own line break. */
	if (n)
		fprintf(out, "\n%.*s", (int)n - 1, text);
	free(text);
	return lines;
}

/* In the copy: everything that the model knows becomes text. */
static void snapshot(struct display *d, FILE *out)
{
	struct summary_opts sopts = {.thread = d->opts->choice->thread};
	struct locks_opts opts = *d->opts->view;
	lock_list picked = {0};
	struct summary *s;
	size_t room = screen_room(&d->screen, !d->opts->keys), taken;

	pass_silence(d->model);
	model_follow_finish(d->model, d->reader, d->opts->path);
	opts.width = d->screen.cols;
	if (summary_new(d->model, &sopts, &s) || locks_pick(s, &opts, &picked)) {
		fprintf(out, "thaw locks: so far %s\n", err_msg());
		return;
	}
	heading(d, s, out);
	taken = live_lead(d, s, out);
	if (picked.n)
		locks_table(s, &opts, &picked, room > taken ? room - taken : 0, out);
	else
		fputs("\nNobody has waited for a lock so far.\n", out);
}

static char *take_text(struct display *d)
{
	int fds[2];
	char part[4096];
	struct buf b = {0};
	ssize_t n;
	char *text;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return NULL;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		FILE *out = fdopen(fds[1], "w");

		if (out) {
			snapshot(d, out);
			fflush(out);
		}
		_exit(0);
	}
	close(fds[1]);
	while ((n = read(fds[0], part, sizeof(part))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			buf_put(&b, part, (size_t)n);
	close(fds[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	text = b.len ? mem_strdup(buf_cstr(&b)) : NULL;
	buf_done(&b);
	return text;
}

static bool live_refresh(struct display *d)
{
	char *text = live_follow(d) ? take_text(d) : NULL;

	if (text)
		screen_draw(&d->screen, text);
	free(text);
	return text;
}

/* ---- the display's life ---- */

static void take_key(struct display *d)
{
	char key;

	if (read(STDIN_FILENO, &key, 1) != 1) {
		d->screen.keys = false;
		return;
	}
	if ((key == 'q' || key == 'Q') && getppid() == d->recorder)
		kill(d->recorder, SIGINT);
}

/* Ctrl-Z: the terminal is given back first, and taken again afterwards. */
static void pause_display(struct display *d)
{
	bool keys = d->screen.keys;

	screen_close(&d->screen);
	raise(SIGSTOP);
	stopped = 0;
	screen_open(&d->screen, keys);
}

/* Waits until `at`, a signal, a key or the end; false at the end. */
static bool pass_time(struct display *d, uint64_t at, const sigset_t *open)
{
	struct pollfd fds[] = {{.fd = d->end_fd, .events = POLLIN},
			       {.fd = d->screen.keys ? STDIN_FILENO : -1, .events = POLLIN}};
	uint64_t now = clock_mono_ns(), ns = at > now ? at - now : 0;
	struct timespec left = {.tv_sec = (time_t)(ns / NSEC_PER_SEC),
				.tv_nsec = (long)(ns % NSEC_PER_SEC)};

	if (ppoll(fds, 2, &left, open) <= 0)
		return true;
	if (fds[1].revents)
		take_key(d);
	return !fds[0].revents;
}

static void live_show(struct display *d, const sigset_t *open)
{
	uint64_t due = 0, took;

	screen_open(&d->screen, d->opts->keys);
	d->namer = namer_new("");
	do {
		uint64_t now = clock_mono_ns();

		if (stopped)
			pause_display(d);
		if (resized)
			screen_resize(&d->screen);
		if (now < due && !resized)
			continue;
		resized = 0;
		due = now + (live_refresh(d) ? REFRESH_NS : FIRST_NS);
		took = clock_mono_ns() - now;
		if (due < now + (PAUSES + 1) * took)
			due = now + (PAUSES + 1) * took;
	} while (pass_time(d, due, open));
	screen_close(&d->screen);
}

/* Ctrl-C is for the recorder and the command; the recorder ends the display. */
static void set_signals(sigset_t *ret_open)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTTOU};
	struct sigaction sa = {.sa_handler = on_signal};
	sigset_t held;

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigaction(SIGWINCH, &sa, NULL);
	sigaction(SIGTSTP, &sa, NULL);
	sigemptyset(&held);
	sigaddset(&held, SIGWINCH);
	sigaddset(&held, SIGTSTP);
	sigprocmask(SIG_BLOCK, &held, ret_open);
}

struct live *live_start(const struct live_opts *opts)
{
	pid_t recorder = getpid(), pid;
	struct live *l;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return NULL;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct display d = {.opts = opts, .recorder = recorder, .end_fd = fds[0]};
		sigset_t open;

		close(fds[1]);
		set_signals(&open);
		live_show(&d, &open);
		_exit(0);
	}
	close(fds[0]);
	if (pid < 0) {
		close(fds[1]);
		return NULL;
	}
	l = mem_zalloc(sizeof(*l));
	*l = (struct live){.pid = pid, .end_fd = fds[1]};
	return l;
}

void live_stop(struct live *l)
{
	if (!l)
		return;
	close(l->end_fd);
	waitpid(l->pid, NULL, 0);
	free(l);
}
