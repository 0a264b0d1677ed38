// SPDX-License-Identifier: MIT
#include "record/watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "guard/budget.h"
#include "guard/distress.h"

#define LOOK_NS (250 * NSEC_PER_MSEC)
/* A slow interrupt shows both in the log and in the setting, but is only one alarm. */
#define SAME_ALARM_NS NSEC_PER_SEC
enum { RECORDS_A_LOOK = 256, NOTES_MAX = 16, RECORD_MAX = 8192 };

struct watch {
	struct engine *e;
	struct budget budget;
	struct ladder ladder;
	int log_fd;
	int default_level; /* of lines of the log */
	uint64_t max_rate; /* the setting, as it was last seen; 0: cannot be read */
	uint64_t next_ns, sampling_ns;
	bool looking; /* the caller has not yet had all that this look found */
	unsigned records, notes;
	char note[200];
};

static uint64_t read_max_rate(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned long long rate = 0;

	if (f) {
		if (fscanf(f, "%llu", &rate) != 1)
			rate = 0;
		fclose(f);
	}
	return rate;
}

/* The second number: the level of what the kernel prints without one. */
static int read_default_level(void)
{
	FILE *f = fopen("/proc/sys/kernel/printk", "re");
	int level = DISTRESS_DEFAULT_LEVEL;

	if (f) {
		if (fscanf(f, "%*d %d", &level) != 1)
			level = DISTRESS_DEFAULT_LEVEL;
		fclose(f);
	}
	return level;
}

struct watch *watch_new(const struct plan *plan, struct engine *e, uint64_t now)
{
	struct watch *w = mem_zalloc(sizeof(*w));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	w->e = e;
	budget_init(&w->budget, plan->max_overhead, cpus > 0 ? (uint64_t)cpus : 1, now);
	ladder_init(&w->ladder, plan->freq_hz > STEP_RATE_HZ, true, plan->freq_hz > 0);
	w->max_rate = read_max_rate();
	w->default_level = read_default_level();
	w->log_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	/* Older lines are not about this recording. */
	if (w->log_fd >= 0 && lseek(w->log_fd, 0, SEEK_END) < 0) {
		close(w->log_fd);
		w->log_fd = -1;
	}
	return w;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	if (w->log_fd >= 0)
		close(w->log_fd);
	free(w);
}

bool watch_sees_log(const struct watch *w)
{
	return w->log_fd >= 0;
}

static enum step take_step(struct watch *w, enum alarm alarm)
{
	enum step step;

	do
		step = ladder_next(&w->ladder, alarm);
	while (step != STEP_NOTED && step != STEP_DETACH &&
	       !(w->e->ops->ease && w->e->ops->ease(w->e, step)));
	return step;
}

/* A burst is one alarm: the step taken for the first must have time to help. */
static enum step take_sampling_step(struct watch *w, uint64_t now)
{
	bool again = w->sampling_ns && now - w->sampling_ns < SAME_ALARM_NS;

	w->sampling_ns = now;
	return again ? STEP_NOTED : take_step(w, ALARM_SAMPLING);
}

/* The next record of the log; false: there is none. Skips overwritten records (EPIPE). */
static bool next_record(struct watch *w, char *record, size_t *ret_len)
{
	while (w->log_fd >= 0 && w->records < RECORDS_A_LOOK) {
		ssize_t n = read(w->log_fd, record, RECORD_MAX);

		w->records++;
		if (n > 0) {
			*ret_len = (size_t)n;
			return true;
		}
		if (n == 0 || (errno != EPIPE && errno != EINTR))
			return false;
	}
	return false;
}

static bool log_news(struct watch *w, uint64_t now, struct watch_news *ret)
{
	char record[RECORD_MAX];
	enum alarm alarm;
	size_t len;

	while (next_record(w, record, &len)) {
		enum step step;

		if (!distress_find(record, len, w->default_level, &alarm, w->note, sizeof(w->note)))
			continue;
		step = alarm == ALARM_SAMPLING ? take_sampling_step(w, now) : take_step(w, alarm);
		if (step == STEP_NOTED && w->notes++ >= NOTES_MAX)
			continue;
		*ret = (struct watch_news){
			.step = step, .cause = STEP_CAUSE_DISTRESS, .note = w->note};
		return true;
	}
	return false;
}

static bool rate_news(struct watch *w, uint64_t now, struct watch_news *ret)
{
	uint64_t before = w->max_rate;

	w->max_rate = read_max_rate();
	if (!w->max_rate || w->max_rate >= before)
		return false;
	*ret = (struct watch_news){.step = take_sampling_step(w, now),
				   .cause = STEP_CAUSE_SAMPLE_RATE,
				   .value = w->max_rate,
				   .limit = before,
				   .note = ""};
	return true;
}

static bool budget_news(struct watch *w, uint64_t now, uint64_t used_ns, struct watch_news *ret)
{
	uint64_t share;

	if (!budget_over(&w->budget, now, used_ns, &share))
		return false;
	*ret = (struct watch_news){.step = take_step(w, ALARM_LOAD),
				   .cause = STEP_CAUSE_OVERHEAD,
				   .value = share,
				   .limit = w->budget.limit,
				   .note = ""};
	return true;
}

static uint64_t all_used(const struct watch *w, uint64_t used_ns)
{
	return used_ns + (w->e->ops->own_ns ? w->e->ops->own_ns(w->e) : 0);
}

bool watch_look(struct watch *w, uint64_t now, uint64_t used_ns, struct watch_news *ret)
{
	uint64_t used = all_used(w, used_ns);

	if (now < w->next_ns && !w->looking)
		return false;
	if (!w->looking)
		w->records = 0;
	w->looking = true;
	w->next_ns = now + LOOK_NS;
	if (log_news(w, now, ret) || rate_news(w, now, ret) || budget_news(w, now, used, ret)) {
		/* Judge the step by a new window, without the load from before it. */
		if (ret->step != STEP_NOTED)
			budget_restart(&w->budget, now, used);
		return true;
	}
	w->looking = false;
	return false;
}

void watch_resume(struct watch *w, uint64_t now, uint64_t used_ns)
{
	budget_restart(&w->budget, now, all_used(w, used_ns));
}
