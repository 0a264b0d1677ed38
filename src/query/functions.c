// SPDX-License-Identifier: MIT
/*
 * functions?from&to[&threads][&kind][&reasons][&max]   all functions, by their own time
 * function?name&module&from&to...                      one: its callers and callees
 *
 * Numbers are as in flame graphs: samples, or nanoseconds. A function's own value counts stacks
 * with it at the leaf, its total those with it anywhere, once however often it called itself. For
 * one function, `value` is its total, and `total` that of all; it is the root of both trees.
 */
#include <string.h>

#include "query/ask.h"
#include "query/grow.h"
#include "report/json_parts.h"

#define MOST_FUNCTIONS 5000
#define AROUND_DEPTH 40

static void functions_put_function(struct json *j, const struct model *m, uint32_t function)
{
	const struct function *f = names_function(&m->names, function);

	json_str(j, "name", f->name);
	json_str(j, "module", f->module);
	json_str(j, "file", f->file);
	json_u64(j, "line", f->line);
	json_bool(j, "kernel", f->kernel);
}

static void put_functions(struct query *q, const struct asked *a, uint64_t max, struct buf *ret)
{
	struct function_values f;
	struct weights w;
	struct json j;

	weights_take(&w, q->model, &q->columns, q->sums, &a->pick);
	grow_functions(&f, q->model, asked_calls(q, false), &w);
	json_init_buf(&j, ret);
	j.tight = true;
	json_obj(&j, NULL);
	json_str(&j, "unit", a->unit);
	json_u64(&j, "total", f.total);
	json_u64(&j, "functions_total", f.n);
	json_arr(&j, "functions");
	for (size_t i = 0; i < f.n && i < max; i++) {
		json_obj(&j, NULL);
		functions_put_function(&j, q->model, f.v[i].function);
		json_u64(&j, "self", f.v[i].self);
		json_u64(&j, "total", f.v[i].total);
		json_obj_end(&j);
	}
	json_arr_end(&j);
	json_obj_end(&j);
	weights_done(&w);
	vec_done(&f);
}

int answer_functions(struct query *q, const struct request *rq, struct buf *ret)
{
	struct asked a;
	uint64_t max = MOST_FUNCTIONS;
	int rc = asked_take(&a, q, rq);

	rc = rc ? rc : request_u64(rq, "max", MOST_FUNCTIONS, MOST_FUNCTIONS, &max);
	if (!rc)
		put_functions(q, &a, max, ret);
	asked_done(&a);
	return rc;
}

static int find_function(struct query *q, const struct request *rq, uint32_t *ret)
{
	const struct names *n = &q->model->names;
	const char *name = request_str(rq, "name"), *module = request_str(rq, "module");

	if (!name)
		return err_set(-EINVAL, "name is missing");
	(void)asked_calls(q, false); /* every function has its name then */
	for (uint32_t i = 0; i < n->functions.n; i++) {
		const struct function *f = names_function(n, i);

		if (strcmp(f->name, name) || (module && strcmp(f->module, module)))
			continue;
		*ret = i;
		return 0;
	}
	return err_set(-ENOENT, "there is no function of this name");
}

static void put_tree(struct json *j, const char *key, const struct query *q, const char *unit,
		     struct tree *t)
{
	const struct tree_opts opts = {TREE_MIN, TREE_NODES / 4, false};

	json_obj(j, key);
	json_str(j, "unit", unit);
	tree_put(t, j, q->model, &opts);
	json_obj_end(j);
}

static void put_around(struct query *q, const struct asked *a, uint32_t function, struct buf *ret)
{
	const struct calls *c = asked_calls(q, false);
	struct tree callers, callees;
	struct function_values f;
	uint64_t self = 0, value = 0;
	struct weights w;
	struct json j;

	weights_take(&w, q->model, &q->columns, q->sums, &a->pick);
	grow_functions(&f, q->model, c, &w);
	for (size_t i = 0; i < f.n; i++) {
		if (f.v[i].function != function)
			continue;
		self = f.v[i].self;
		value = f.v[i].total;
	}
	tree_init(&callers);
	tree_init(&callees);
	grow_around(&callers, &callees, q->model, c, &w, function, AROUND_DEPTH);
	json_init_buf(&j, ret);
	j.tight = true;
	json_obj(&j, NULL);
	json_str(&j, "unit", a->unit);
	functions_put_function(&j, q->model, function);
	json_u64(&j, "self", self);
	json_u64(&j, "value", value);
	json_u64(&j, "total", f.total);
	put_tree(&j, "callers", q, a->unit, &callers);
	put_tree(&j, "callees", q, a->unit, &callees);
	json_obj_end(&j);
	tree_done(&callers);
	tree_done(&callees);
	weights_done(&w);
	vec_done(&f);
}

int answer_function(struct query *q, const struct request *rq, struct buf *ret)
{
	struct asked a;
	uint32_t function = 0;
	int rc = asked_take(&a, q, rq);

	rc = rc ? rc : find_function(q, rq, &function);
	if (!rc)
		put_around(q, &a, function, ret);
	asked_done(&a);
	return rc;
}
