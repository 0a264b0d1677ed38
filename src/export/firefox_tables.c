// SPDX-License-Identifier: MIT
/*
 * A thread's own tables: stacks are a tree of frames, a frame is an address (with its line, its
 * depth among what was inlined there, and a category), belonging to a function, which belongs to a
 * resource: a library.
 *
 * The category of a sample is that of its leaf frame. So the leaf of a wait has the category of its
 * reason, and is another frame than the same address on a CPU.
 */
#include "export/firefox.h"
#include "store/reader.h"

struct spot {
	uint32_t function; /* FIRE_NONE: there is no stack */
	uint32_t line;
	uint32_t module; /* 0: none */
	uint32_t depth;	 /* 0: not inlined */
	uint64_t offset;
	uint32_t category;
	uint32_t func; /* of the table */
};

struct func {
	uint32_t function, resource;
};

struct firefox_node {
	uint32_t prefix, frame;
};

struct firefox_tables {
	struct fire *x;
	VEC(struct spot) stack; /* at hand, leaf first */
	VEC(struct spot) frames;
	VEC(struct func) funcs;
	VEC(struct firefox_node) nodes;
	VEC(uint32_t) resources; /* modules */
	struct map by_frame, by_func, by_node, by_resource;
};

static uint32_t resource_of(struct firefox_tables *t, uint32_t module)
{
	uint64_t *slot;
	bool fresh;

	if (!module)
		return FIRE_NONE;
	slot = map_put(&t->by_resource, module, &fresh);
	if (fresh) {
		*slot = t->resources.n;
		vec_push(&t->resources, module);
	}
	return (uint32_t)*slot;
}

static uint32_t func_of(struct firefox_tables *t, const struct spot *p)
{
	bool fresh;
	uint64_t *slot = map_put(&t->by_func, p->function, &fresh);

	if (fresh) {
		*slot = t->funcs.n;
		vec_push(&t->funcs, (struct func){p->function, resource_of(t, p->module)});
	}
	return (uint32_t)*slot;
}

static bool same_spot(const struct spot *a, const struct spot *b)
{
	return a->function == b->function && a->line == b->line && a->module == b->module &&
	       a->depth == b->depth && a->offset == b->offset && a->category == b->category;
}

static uint32_t frame_of(struct firefox_tables *t, const struct spot *p)
{
	uint64_t key = map_mix(p->offset + map_mix(p->function + map_mix(p->module)) +
			       ((uint64_t)p->category << 32 ^ p->line ^ p->depth << 24));
	uint64_t *slot;
	bool fresh;

	for (;; key++) {
		slot = map_put(&t->by_frame, key, &fresh);
		if (fresh)
			break;
		if (same_spot(&t->frames.v[*slot], p))
			return (uint32_t)*slot;
	}
	*slot = t->frames.n;
	vec_push(&t->frames, *p);
	t->frames.v[*slot].func = func_of(t, p);
	return (uint32_t)*slot;
}

static uint32_t node_of(struct firefox_tables *t, uint32_t prefix, uint32_t frame)
{
	bool fresh;
	uint64_t *slot = map_put(&t->by_node, (uint64_t)prefix << 32 | frame, &fresh);

	if (fresh) {
		*slot = t->nodes.n;
		vec_push(&t->nodes, (struct firefox_node){prefix, frame});
	}
	return (uint32_t)*slot;
}

static void add_frames(struct firefox_tables *t, const struct known_frame *k)
{
	for (uint32_t j = 0; j < k->n; j++)
		vec_push(&t->stack, (struct spot){.function = k->frames[j].function,
						  .line = k->frames[j].line,
						  .module = k->module,
						  .depth = k->n - 1 - j,
						  .offset = k->offset});
}

/* reason: of a wait, else FIRE_NONE. */
static uint32_t stack_of(struct firefox_tables *t, uint32_t kstack, uint32_t ustack,
			 uint32_t reason)
{
	struct names *names = &t->x->m->names;
	uint32_t node = FIRE_NONE;
	const uint32_t *at;
	size_t n = names_addresses(names, kstack, ustack, reason != FIRE_NONE, &at);

	t->stack.n = 0;
	for (size_t i = 0; i < n; i++)
		add_frames(t, &names->known.v[at[i]]);
	if (!n)
		vec_push(&t->stack, (struct spot){.function = FIRE_NONE});
	for (size_t i = t->stack.n; i-- > 0;) {
		struct spot *p = &t->stack.v[i];

		p->category = !n					   ? CATEGORY_OTHER
			      : names_function(names, p->function)->kernel ? CATEGORY_KERNEL
									   : CATEGORY_USER;
		if (!i && reason != FIRE_NONE)
			p->category = t->x->category_of[reason];
		node = node_of(t, node, frame_of(t, p));
	}
	return node;
}

static void add_rows(struct firefox_tables *t, const struct thread *th)
{
	struct fire *x = t->x;

	for (uint32_t i = x->samples_of[th->index]; i; i = x->next_sample[i - 1]) {
		const struct sample_row *r = &x->m->tally.samples.v[i - 1];

		x->sample_stack[i - 1] = stack_of(t, r->kstack, r->ustack, FIRE_NONE);
	}
	for (uint32_t i = x->waits_of[th->index]; i; i = x->next_wait[i - 1]) {
		const struct wait_row *r = &x->m->tally.waits.v[i - 1];

		x->wait_stack[i - 1] = stack_of(t, r->kstack, r->ustack, r->verdict.reason);
	}
}

#define COLUMN(j, key, vec, put)                                                                   \
	do {                                                                                       \
		json_arr(j, key);                                                                  \
		for (size_t i = 0; i < (vec)->n; i++)                                              \
			put;                                                                       \
		json_arr_end(j);                                                                   \
	} while (0)

static void put_or_null(struct json *j, uint32_t val, uint32_t null)
{
	if (val == null)
		json_null(j, NULL);
	else
		json_u64(j, NULL, val);
}

static void put_nodes(struct firefox_tables *t, struct json *j)
{
	json_obj(j, "stackTable");
	COLUMN(j, "frame", &t->nodes, json_u64(j, NULL, t->nodes.v[i].frame));
	COLUMN(j, "prefix", &t->nodes, put_or_null(j, t->nodes.v[i].prefix, FIRE_NONE));
	json_u64(j, "length", t->nodes.n);
	json_obj_end(j);
}

/* Relative to the library, as its file has it; addresses of the kernel and of JIT code are not. */
static void put_address(const struct firefox_tables *t, struct json *j, const struct spot *p)
{
	const struct module *m = p->module ? reader_module(t->x->job->reader, p->module) : NULL;

	if (m && (m->kind == MODULE_FILE || m->kind == MODULE_VDSO) && p->offset <= UINT32_MAX)
		json_u64(j, NULL, p->offset);
	else
		json_i64(j, NULL, -1);
}

static void put_frames(struct firefox_tables *t, struct json *j)
{
	json_obj(j, "frameTable");
	COLUMN(j, "address", &t->frames, put_address(t, j, &t->frames.v[i]));
	COLUMN(j, "inlineDepth", &t->frames, json_u64(j, NULL, t->frames.v[i].depth));
	COLUMN(j, "category", &t->frames, json_u64(j, NULL, t->frames.v[i].category));
	COLUMN(j, "subcategory", &t->frames, json_u64(j, NULL, 0));
	COLUMN(j, "func", &t->frames, json_u64(j, NULL, t->frames.v[i].func));
	COLUMN(j, "nativeSymbol", &t->frames, json_null(j, NULL));
	COLUMN(j, "innerWindowID", &t->frames, json_null(j, NULL));
	COLUMN(j, "line", &t->frames, put_or_null(j, t->frames.v[i].line, 0));
	COLUMN(j, "column", &t->frames, json_null(j, NULL));
	json_u64(j, "length", t->frames.n);
	json_obj_end(j);
}

static void put_func_name(struct firefox_tables *t, struct json *j, uint32_t function)
{
	struct fire *x = t->x;

	json_u64(j, NULL,
		 strings_of(&x->strings, function == FIRE_NONE
						 ? "[no stack]"
						 : names_function(&x->m->names, function)->name));
}

static void put_func_file(struct firefox_tables *t, struct json *j, uint32_t function)
{
	const char *file =
		function == FIRE_NONE ? NULL : names_function(&t->x->m->names, function)->file;

	if (file)
		json_u64(j, NULL, strings_of(&t->x->strings, file));
	else
		json_null(j, NULL);
}

static void put_resource_index(struct json *j, uint32_t resource)
{
	if (resource == FIRE_NONE)
		json_i64(j, NULL, -1);
	else
		json_u64(j, NULL, resource);
}

static void put_funcs(struct firefox_tables *t, struct json *j)
{
	json_obj(j, "funcTable");
	COLUMN(j, "name", &t->funcs, put_func_name(t, j, t->funcs.v[i].function));
	COLUMN(j, "isJS", &t->funcs, json_bool(j, NULL, false));
	COLUMN(j, "relevantForJS", &t->funcs, json_bool(j, NULL, false));
	COLUMN(j, "resource", &t->funcs, put_resource_index(j, t->funcs.v[i].resource));
	COLUMN(j, "fileName", &t->funcs, put_func_file(t, j, t->funcs.v[i].function));
	COLUMN(j, "lineNumber", &t->funcs, json_null(j, NULL));
	COLUMN(j, "columnNumber", &t->funcs, json_null(j, NULL));
	json_u64(j, "length", t->funcs.n);
	json_obj_end(j);
}

static const char *module_name(const struct fire *x, uint32_t module)
{
	return names_module(reader_module(x->job->reader, module));
}

enum { RESOURCE_LIBRARY = 1 };

static void put_resources(struct firefox_tables *t, struct json *j)
{
	struct fire *x = t->x;

	json_obj(j, "resourceTable");
	COLUMN(j, "lib", &t->resources,
	       json_u64(j, NULL, numbers_of(&x->libs, t->resources.v[i]) - 1));
	COLUMN(j, "name", &t->resources,
	       json_u64(j, NULL, strings_of(&x->strings, module_name(x, t->resources.v[i]))));
	COLUMN(j, "host", &t->resources, json_null(j, NULL));
	COLUMN(j, "type", &t->resources, json_u64(j, NULL, RESOURCE_LIBRARY));
	json_u64(j, "length", t->resources.n);
	json_obj_end(j);
	/* Where functions begin is not known. */
	json_obj(j, "nativeSymbols");
	json_arr(j, "libIndex");
	json_arr_end(j);
	json_arr(j, "address");
	json_arr_end(j);
	json_arr(j, "name");
	json_arr_end(j);
	json_arr(j, "functionSize");
	json_arr_end(j);
	json_u64(j, "length", 0);
	json_obj_end(j);
}

void fire_tables(struct fire *x, const struct thread *th)
{
	struct firefox_tables t = {.x = x};

	add_rows(&t, th);
	put_nodes(&t, &x->j);
	put_frames(&t, &x->j);
	put_funcs(&t, &x->j);
	put_resources(&t, &x->j);
	vec_done(&t.stack);
	vec_done(&t.frames);
	vec_done(&t.funcs);
	vec_done(&t.nodes);
	vec_done(&t.resources);
	map_done(&t.by_frame);
	map_done(&t.by_func);
	map_done(&t.by_node);
	map_done(&t.by_resource);
}
