// SPDX-License-Identifier: MIT
/*
 * find?text[&max]   threads and functions whose name contains the text, whatever the case; threads
 * also by tid. The busiest come first.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "query/ask.h"
#include "query/grow.h"

#define FOUND_MAX 1000

static bool contains(const char *in, const char *text)
{
	for (; *in; in++) {
		size_t i = 0;

		while (text[i] && tolower((unsigned char)in[i]) == tolower((unsigned char)text[i]))
			i++;
		if (!text[i])
			return true;
	}
	return !*text;
}

static bool is_tid(const struct thread *th, const char *text)
{
	char tid[16];

	snprintf(tid, sizeof(tid), "%u", th->tid);
	return !strcmp(tid, text);
}

static void put_threads(struct json *j, const struct query *q, const char *text, uint64_t max)
{
	uint64_t found = 0;

	json_arr(j, "threads");
	for (size_t i = 0; i < q->summary->threads.n; i++) {
		const struct thread *th = q->summary->threads.v[i];

		if (!contains(th->name, text) && !is_tid(th, text))
			continue;
		if (found++ >= max)
			continue;
		json_obj(j, NULL);
		json_u64(j, "index", th->index);
		json_u64(j, "pid", th->pid);
		json_u64(j, "tid", th->tid);
		json_str(j, "comm", th->name);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_u64(j, "threads_total", found);
}

struct found {
	uint32_t function;
	uint64_t samples;
};

static int by_samples(const void *pa, const void *pb)
{
	const struct found *a = pa, *b = pb;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return (a->function > b->function) - (a->function < b->function);
}

static void put_functions(struct json *j, struct query *q, const char *text, uint64_t max)
{
	const struct calls *c = asked_calls(q, false);
	const struct names *names = &q->model->names;
	struct pick all = {.to = UINT64_MAX, .samples = true, .sample_ns = 1};
	uint64_t *samples = mem_zalloc((names->functions.n + 1) * sizeof(*samples));
	VEC(struct found) found = {0};
	struct function_values f;
	struct weights w;

	weights_take(&w, q->model, &q->columns, q->sums, &all);
	grow_functions(&f, q->model, c, &w);
	for (size_t i = 0; i < f.n; i++)
		samples[f.v[i].function] = f.v[i].total;
	for (uint32_t i = 0; i < names->functions.n; i++)
		if (contains(names_function(names, i)->name, text))
			vec_push(&found, (struct found){i, samples[i]});
	sort_by(found.v, found.n, sizeof(*found.v), by_samples);
	json_arr(j, "functions");
	for (size_t i = 0; i < found.n && i < max; i++) {
		const struct function *fn = names_function(names, found.v[i].function);

		json_obj(j, NULL);
		json_str(j, "name", fn->name);
		json_str(j, "module", fn->module);
		json_bool(j, "kernel", fn->kernel);
		json_u64(j, "samples", found.v[i].samples);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_u64(j, "functions_total", found.n);
	vec_done(&found);
	vec_done(&f);
	weights_done(&w);
	free(samples);
}

int answer_find(struct query *q, const struct request *rq, struct buf *ret)
{
	const char *text = request_str(rq, "text");
	uint64_t max;
	struct json j;
	int rc = request_u64(rq, "max", FOUND_MAX, 100, &max);

	if (rc)
		return rc;
	if (!text || !*text)
		return err_set(-EINVAL, "text is missing");
	json_init_buf(&j, ret);
	j.tight = true;
	json_obj(&j, NULL);
	put_threads(&j, q, text, max);
	put_functions(&j, q, text, max);
	json_obj_end(&j);
	return 0;
}
