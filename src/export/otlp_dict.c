// SPDX-License-Identifier: MIT
#include "export/otlp_dict.h"

#include "base/pb.h"
#include "store/types.h"

/* Field numbers of opentelemetry/proto/profiles/v1development/profiles.proto, by message. */
enum {
	DICT_MAPPING = 1,
	DICT_LOCATION = 2,
	DICT_FUNCTION = 3,
	DICT_LINK = 4,
	DICT_STRING = 5,
	DICT_ATTRIBUTE = 6,
	DICT_STACK = 7,
};
enum { MAPPING_START = 1, MAPPING_LIMIT = 2, MAPPING_FILE = 4, MAPPING_ATTRIBUTES = 5 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS = 2, LOCATION_LINE = 3, LOCATION_ATTRIBUTES = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_NAME = 1, FUNCTION_FILE = 3 };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2 };
enum { ANY_STRING = 1, ANY_INT = 3 };
enum { STACK_LOCATIONS = 1 };

void otlp_dict_init(struct otlp_dict *d, struct names *names)
{
	*d = (struct otlp_dict){.names = names};
	strings_init(&d->strings);
	mappings_init(&d->mappings, names);
}

void otlp_dict_done(struct otlp_dict *d)
{
	strings_done(&d->strings);
	mappings_done(&d->mappings);
	numbers_done(&d->locations);
	vec_done(&d->attributes);
	vec_done(&d->functions);
	vec_done(&d->frames);
	vec_done(&d->stacks);
	map_done(&d->by_attribute);
	map_done(&d->by_function);
	map_done(&d->by_frames);
	map_done(&d->by_stack[0]);
	map_done(&d->by_stack[1]);
}

static uint32_t attribute(struct otlp_dict *d, struct otlp_attribute a)
{
	uint64_t key = map_mix(a.value + map_mix((uint64_t)a.key << 1 | a.number)), *slot;
	bool fresh;

	for (;; key++) {
		const struct otlp_attribute *had;

		slot = map_put(&d->by_attribute, key, &fresh);
		if (fresh)
			break;
		had = &d->attributes.v[*slot - 1];
		if (had->key == a.key && had->number == a.number && had->value == a.value)
			return (uint32_t)*slot;
	}
	vec_push(&d->attributes, a);
	*slot = d->attributes.n;
	return (uint32_t)*slot;
}

uint32_t otlp_text(struct otlp_dict *d, const char *key, const char *text)
{
	struct otlp_attribute a = {.key = strings_of(&d->strings, key)};

	a.value = strings_of(&d->strings, text);
	return attribute(d, a);
}

uint32_t otlp_number(struct otlp_dict *d, const char *key, uint64_t number)
{
	struct otlp_attribute a = {.number = true, .value = number};

	a.key = strings_of(&d->strings, key);
	return attribute(d, a);
}

/* Functions are one if name and file agree: locations tell their modules apart. */
static uint32_t function(struct otlp_dict *d, const struct function *f)
{
	struct otlp_function fn = {strings_of(&d->strings, f->name),
				   strings_of(&d->strings, f->file)};
	bool fresh;
	uint64_t *slot = map_put(&d->by_function, (uint64_t)fn.name << 32 | fn.file, &fresh);

	if (fresh) {
		vec_push(&d->functions, fn);
		*slot = d->functions.n;
	}
	return (uint32_t)*slot;
}

static size_t stack_end(const struct otlp_dict *d, size_t number)
{
	return number < d->stacks.n ? d->stacks.v[number] : d->frames.n;
}

static bool same_frames(const struct otlp_dict *d, size_t number, const uint32_t *ids, size_t n)
{
	size_t begin = d->stacks.v[number - 1];

	return stack_end(d, number) - begin == n &&
	       !memcmp(d->frames.v + begin, ids, n * sizeof(*ids));
}

/* The stack's locations are in d->frames, from `begin` on. */
static uint32_t stack_number(struct otlp_dict *d, size_t begin)
{
	const uint32_t *ids = d->frames.v + begin;
	size_t n = d->frames.n - begin;
	uint64_t key = map_hash_bytes(ids, n * sizeof(*ids)), *slot;
	bool fresh;

	d->frames.n = begin;
	for (;; key++) {
		slot = map_put(&d->by_frames, key, &fresh);
		if (fresh)
			break;
		if (same_frames(d, *slot, ids, n))
			return (uint32_t)*slot;
	}
	vec_push(&d->stacks, begin);
	d->frames.n = begin + n;
	*slot = d->stacks.n;
	return (uint32_t)*slot;
}

uint32_t otlp_stack(struct otlp_dict *d, uint32_t kstack, uint32_t ustack, bool probed)
{
	bool fresh;
	uint64_t *slot = map_put(&d->by_stack[probed], (uint64_t)kstack << 32 | ustack, &fresh);
	size_t begin = d->frames.n, n;
	const uint32_t *known;

	if (!fresh)
		return (uint32_t)*slot;
	n = names_addresses(d->names, kstack, ustack, probed, &known);
	for (size_t i = 0; i < n; i++)
		vec_push(&d->frames, numbers_of(&d->locations, known[i]));
	*slot = n ? stack_number(d, begin) : 0;
	return (uint32_t)*slot;
}

/* Number 0. */
static void put_none(struct buf *b, unsigned table)
{
	pb_end(b, pb_begin(b, table));
}

static void put_mappings(struct otlp_dict *d, struct buf *b)
{
	struct buf text = {0};

	put_none(b, DICT_MAPPING);
	for (size_t i = 0; i < d->mappings.list.n; i++) {
		const struct profile_mapping *m = &d->mappings.list.v[i];
		size_t at = pb_begin(b, DICT_MAPPING);
		uint64_t id;

		pb_u64(b, MAPPING_START, m->start);
		pb_u64(b, MAPPING_LIMIT, m->limit);
		buf_clear(&text);
		mapping_name(m, &text);
		pb_u64(b, MAPPING_FILE, strings_of(&d->strings, buf_cstr(&text)));
		buf_clear(&text);
		if (mapping_build_id(m, &text)) {
			id = otlp_text(d, "process.executable.build_id.gnu", buf_cstr(&text));
			pb_packed(b, MAPPING_ATTRIBUTES, &id, 1);
		}
		pb_end(b, at);
	}
	buf_done(&text);
}

static void put_line(struct otlp_dict *d, struct buf *b, const struct named_frame *f)
{
	size_t at = pb_begin(b, LOCATION_LINE);

	pb_u64(b, LINE_FUNCTION, function(d, names_function(d->names, f->function)));
	pb_some(b, LINE_LINE, f->line);
	pb_end(b, at);
}

static void put_frame_type(struct otlp_dict *d, struct buf *b, uint32_t mapping)
{
	const struct module *m = mapping ? d->mappings.list.v[mapping - 1].module : NULL;
	uint64_t id;

	/* Generated code, and addresses outside of all modules, have no known file. */
	if (!m || m->kind == MODULE_ANON)
		return;
	id = otlp_text(d, "profile.frame.type", m->kind == MODULE_KERNEL ? "kernel" : "native");
	pb_packed(b, LOCATION_ATTRIBUTES, &id, 1);
}

static void put_locations(struct otlp_dict *d, struct buf *b)
{
	put_none(b, DICT_LOCATION);
	for (size_t i = 0; i < d->locations.order.n; i++) {
		const struct known_frame *k = &d->names->known.v[d->locations.order.v[i]];
		size_t at = pb_begin(b, DICT_LOCATION);
		uint32_t mapping;
		uint64_t address = mappings_address(&d->mappings, k, &mapping);

		pb_some(b, LOCATION_MAPPING, mapping);
		pb_u64(b, LOCATION_ADDRESS, address);
		for (uint32_t j = 0; j < k->n; j++)
			put_line(d, b, &k->frames[j]);
		put_frame_type(d, b, mapping);
		pb_end(b, at);
	}
}

static void put_functions(const struct otlp_dict *d, struct buf *b)
{
	put_none(b, DICT_FUNCTION);
	for (size_t i = 0; i < d->functions.n; i++) {
		size_t at = pb_begin(b, DICT_FUNCTION);

		pb_u64(b, FUNCTION_NAME, d->functions.v[i].name);
		pb_some(b, FUNCTION_FILE, d->functions.v[i].file);
		pb_end(b, at);
	}
}

static void put_stacks(const struct otlp_dict *d, struct buf *b)
{
	put_none(b, DICT_STACK);
	for (size_t i = 0; i < d->stacks.n; i++) {
		size_t at = pb_begin(b, DICT_STACK), list = pb_begin(b, STACK_LOCATIONS);

		for (size_t j = d->stacks.v[i]; j < stack_end(d, i + 1); j++)
			buf_put_varint(b, d->frames.v[j]);
		pb_end(b, list);
		pb_end(b, at);
	}
}

static void put_attributes(const struct otlp_dict *d, struct buf *b)
{
	put_none(b, DICT_ATTRIBUTE);
	for (size_t i = 0; i < d->attributes.n; i++) {
		const struct otlp_attribute *a = &d->attributes.v[i];
		size_t at = pb_begin(b, DICT_ATTRIBUTE), value;

		pb_u64(b, ATTRIBUTE_KEY, a->key);
		value = pb_begin(b, ATTRIBUTE_VALUE);
		if (a->number)
			pb_u64(b, ANY_INT, a->value);
		else
			pb_str(b, ANY_STRING, strings_at(&d->strings, (uint32_t)a->value));
		pb_end(b, value);
		pb_end(b, at);
	}
}

/* Writing a table may add to later ones; strings, which all use, come last. */
void otlp_dict_put(struct otlp_dict *d, struct buf *b)
{
	for (size_t i = 0; i < d->locations.order.n; i++)
		mappings_add(&d->mappings, &d->names->known.v[d->locations.order.v[i]]);
	mappings_place(&d->mappings);
	put_mappings(d, b);
	put_locations(d, b);
	put_functions(d, b);
	put_none(b, DICT_LINK);
	put_stacks(d, b);
	put_attributes(d, b);
	for (size_t i = 0; i < d->strings.at.n; i++)
		pb_str(b, DICT_STRING, strings_at(&d->strings, (uint32_t)i));
}
