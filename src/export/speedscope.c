// SPDX-License-Identifier: MIT
/*
 * Speedscope's own format: one list of frames for all, and a profile for each thread and kind.
 *
 * On a CPU, the samples of a thread in the order of time; spool.h goes over them in bounded memory.
 * Waits are a profile of their own ("... waits", and "... lock waits" for those on locks that
 * somebody held), one sample for each distinct stack and reason, the longest first: there are far
 * fewer of these than waits. Their leaf is the reason and the lock. All weights are nanoseconds,
 * but a sample weighs one where the time that it stands for is not known.
 */
#include "export/speedscope.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/sort.h"
#include "base/units.h"
#include "export/number.h"
#include "export/spool.h"
#include "export/strings.h"
#include "model/summary/parts.h"

/* Text of a stack, as JSON. */
struct scope_text {
	size_t at, len; /* len 0: not made yet */
};

struct scope {
	const struct export_job *job;
	struct model *m;
	struct json j;
	uint64_t sample_ns;	    /* that a sample stands for; 0: not known */
	VEC(uint32_t) order;	    /* rows of waits, by thread, and the longest first */
	size_t *waits_of;	    /* by thread: the first of them */
	struct scope_text *texts;   /* by row of samples */
	struct buf text;	    /* of the thread at hand */
	struct strings frame_texts; /* frames that are no functions: reasons, "[no stack]" */
	struct numbers frames;	    /* of 2 * function, or of 2 * text + 1 */
};

static uint32_t frame_of_function(struct scope *x, uint32_t function)
{
	return numbers_of(&x->frames, 2 * function) - 1;
}

static uint32_t frame_of_text(struct scope *x, const char *text)
{
	return numbers_of(&x->frames, 2 * strings_of(&x->frame_texts, text) + 1) - 1;
}

/* Root first. */
static void add_frames(struct scope *x, const struct named_frame *f, size_t n)
{
	for (size_t i = n; i-- > 0;)
		buf_printf(&x->text, "%" PRIu32 ",", frame_of_function(x, f[i].function));
	if (!n)
		buf_printf(&x->text, "%" PRIu32 ",", frame_of_text(x, "[no stack]"));
}

static void close_list(struct scope *x)
{
	x->text.p[x->text.len - 1] = ']';
}

static const struct scope_text *text_of(struct scope *x, uint32_t row)
{
	const struct sample_row *r = &x->m->tally.samples.v[row];
	struct scope_text *t = &x->texts[row];
	const struct named_frame *f;
	size_t n;

	if (t->len)
		return t;
	n = names_stack(&x->m->names, r->kstack, r->ustack, &f);
	t->at = x->text.len;
	buf_put_u8(&x->text, '[');
	add_frames(x, f, n);
	close_list(x);
	t->len = x->text.len - t->at;
	return t;
}

static int speedscope_put_sample(void *arg, const struct spooled *rec)
{
	struct scope *x = arg;
	const struct scope_text *t;

	if (rec->kind != SPOOLED_SAMPLE)
		return 0;
	t = text_of(x, rec->row);
	json_raw(&x->j, NULL, x->text.p + t->at, t->len);
	return 0;
}

static void open_profile(struct scope *x, const struct thread *th, const char *kind,
			 const char *unit, uint64_t total)
{
	struct buf b = {0};

	buf_printf(&b, "%s (%" PRIu32 ")%s", th->name, th->tid, kind);
	json_obj(&x->j, NULL);
	json_str(&x->j, "type", "sampled");
	json_str(&x->j, "name", buf_cstr(&b));
	json_str(&x->j, "unit", unit);
	json_u64(&x->j, "startValue", 0);
	json_u64(&x->j, "endValue", total);
	buf_done(&b);
}

static int speedscope_put_samples(struct scope *x, const struct thread *th, struct spool_lane *lane)
{
	uint64_t weight = x->sample_ns ? x->sample_ns : 1;
	int rc;

	if (!th->samples)
		return 0;
	open_profile(x, th, "", x->sample_ns ? "nanoseconds" : "none", th->samples * weight);
	json_arr(&x->j, "samples");
	rc = spool_each(lane, speedscope_put_sample, x);
	json_arr_end(&x->j);
	json_arr(&x->j, "weights");
	for (uint64_t i = 0; i < th->samples; i++)
		json_u64(&x->j, NULL, weight);
	json_arr_end(&x->j);
	json_obj_end(&x->j);
	buf_clear(&x->text);
	return rc;
}

/* "[mutex: commit_lock]" */
static uint32_t frame_of_reason(struct scope *x, const struct wait_row *r)
{
	const struct summary *s = x->job->summary;
	size_t lock = r->lock ? summary_lock(s, r->lock - 1) : SIZE_MAX;
	const char *name = lock < s->locks.n ? s->locks.v[lock].name : NULL;
	struct buf b = {0};
	uint32_t frame;

	buf_printf(&b, "[%s%s%s]", reason_label(r->verdict.reason), name ? ": " : "",
		   name ? name : "");
	frame = frame_of_text(x, buf_cstr(&b));
	buf_done(&b);
	return frame;
}

static bool is_in(const struct wait_row *r, bool locks)
{
	return !locks || reason_has(r->verdict.reason, TRAIT_LOCK);
}

static void put_wait(struct scope *x, const struct wait_row *r)
{
	const struct named_frame *f;
	size_t n = names_probed_stack(&x->m->names, r->kstack, r->ustack, &f);

	buf_clear(&x->text);
	buf_put_u8(&x->text, '[');
	add_frames(x, f, n);
	buf_printf(&x->text, "%" PRIu32 ",", frame_of_reason(x, r));
	close_list(x);
	json_raw(&x->j, NULL, x->text.p, x->text.len);
	buf_clear(&x->text);
}

static void put_waits(struct scope *x, const struct thread *th, bool locks)
{
	size_t from = x->waits_of[th->index], to = x->waits_of[th->index + 1];
	const struct wait_row *rows = x->m->tally.waits.v;
	uint64_t total = 0;

	for (size_t i = from; i < to; i++)
		total += is_in(&rows[x->order.v[i]], locks) ? rows[x->order.v[i]].total : 0;
	if (!total)
		return;
	open_profile(x, th, locks ? " lock waits" : " waits", "nanoseconds", total);
	json_arr(&x->j, "samples");
	for (size_t i = from; i < to; i++)
		if (is_in(&rows[x->order.v[i]], locks))
			put_wait(x, &rows[x->order.v[i]]);
	json_arr_end(&x->j);
	json_arr(&x->j, "weights");
	for (size_t i = from; i < to; i++)
		if (is_in(&rows[x->order.v[i]], locks))
			json_u64(&x->j, NULL, rows[x->order.v[i]].total);
	json_arr_end(&x->j);
	json_obj_end(&x->j);
}

static int put_thread(void *arg, const struct thread *th, struct spool_lane *lane)
{
	struct scope *x = arg;
	int rc = 0;

	if (EXPORT_HAS(x->job->kinds, EXPORT_CPU))
		rc = speedscope_put_samples(x, th, lane);
	if (EXPORT_HAS(x->job->kinds, EXPORT_WAIT))
		put_waits(x, th, false);
	if (EXPORT_HAS(x->job->kinds, EXPORT_LOCK))
		put_waits(x, th, true);
	return rc ? rc : export_written(x->job);
}

static void put_frame(struct scope *x, uint32_t frame)
{
	const struct function *f;
	struct json *j = &x->j;

	json_obj(j, NULL);
	if (frame % 2) {
		json_str(j, "name", strings_at(&x->frame_texts, frame / 2));
	} else {
		f = names_function(&x->m->names, frame / 2);
		json_str(j, "name", f->name);
		if (f->file)
			json_str(j, "file", f->file);
		if (f->file && f->line)
			json_u64(j, "line", f->line);
	}
	json_obj_end(j);
}

static int by_thread(const void *pa, const void *pb, void *arg)
{
	const struct wait_row *rows = arg, *a = &rows[*(const uint32_t *)pa],
			      *b = &rows[*(const uint32_t *)pb];

	if (a->thread != b->thread)
		return a->thread->index < b->thread->index ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void sort_waits(struct scope *x)
{
	const struct tally *t = &x->m->tally;
	size_t threads = x->m->timeline.threads.n, at = 0;

	for (uint32_t i = 0; i < t->waits.n; i++)
		if (t->waits.v[i].total)
			vec_push(&x->order, i);
	sort_with(x->order.v, x->order.n, sizeof(*x->order.v), by_thread, t->waits.v);
	x->waits_of = mem_zalloc((threads + 1) * sizeof(*x->waits_of));
	for (size_t i = 0; i <= threads; i++) {
		while (at < x->order.n && t->waits.v[x->order.v[at]].thread->index < i)
			at++;
		x->waits_of[i] = at;
	}
}

static void scope_done(struct scope *x)
{
	free(x->waits_of);
	free(x->texts);
	vec_done(&x->order);
	buf_done(&x->text);
	strings_done(&x->frame_texts);
	numbers_done(&x->frames);
	buf_done(&x->j.kept);
}

int speedscope_run(const struct export_job *job, size_t room)
{
	uint64_t hz = job->model->facts.freq_hz;
	struct scope x = {.job = job, .m = job->model, .sample_ns = hz ? NSEC_PER_SEC / hz : 0};
	struct spool_opts opts = {.room = room};
	int rc;

	x.texts = mem_zalloc((x.m->tally.samples.n + 1) * sizeof(*x.texts));
	strings_init(&x.frame_texts);
	sort_waits(&x);
	json_init(&x.j, job->out);
	x.j.tight = true;
	json_obj(&x.j, NULL);
	json_str(&x.j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_str(&x.j, "exporter", "thaw");
	json_str(&x.j, "name", job->title);
	json_arr(&x.j, "profiles");
	rc = spool_run(job, &opts, put_thread, &x);
	json_arr_end(&x.j);
	json_obj(&x.j, "shared");
	json_arr(&x.j, "frames");
	for (size_t i = 0; i < x.frames.order.n && !rc; i++)
		put_frame(&x, x.frames.order.v[i]);
	json_arr_end(&x.j);
	json_obj_end(&x.j);
	json_obj_end(&x.j);
	rc = rc ? rc : export_written(job);
	scope_done(&x);
	return rc;
}

static int speedscope_export_run(const struct export_job *job)
{
	return speedscope_run(job, SPOOL_ROOM);
}

const struct exporter export_speedscope = {
	.name = "speedscope",
	.words = "profiles for speedscope.app, one a thread",
	.suffix = ".speedscope.json",
	.kinds = EXPORT_ALL,
	.run = speedscope_export_run,
};
