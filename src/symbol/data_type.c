// SPDX-License-Identifier: MIT
/*
 * The way down: a struct to the member that holds the offset, an array to its element, a typedef to
 * what it stands for; a base class and a member without a name add nothing to the path. It ends at
 * a type without parts, in padding, and at a lock: nobody wants to read commit_lock.__data.__lock.
 * In a union it takes the first member that leads to a lock, or else the first.
 *
 * Types may refer to each other in circles, and a union may hold unions. So the depth is bounded,
 * and every DIE costs something (see elf/dwarf.h).
 */
#include "symbol/data_type.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "elf/dwarf_numbers.h"

#define DEPTH_MAX 32
#define DIMENSIONS_MAX 8
#define HOPS_MAX 32

/* As C, C++ and Rust call them; of a template, what stands before the "<". */
static const char *const locks[] = {
	"pthread_mutex_t",
	"pthread_rwlock_t",
	"pthread_cond_t",
	"pthread_spinlock_t",
	"pthread_barrier_t",
	"pthread_once_t",
	"sem_t",
	"mtx_t",
	"cnd_t",
	"_IO_lock_t",
	"mutex",
	"recursive_mutex",
	"timed_mutex",
	"recursive_timed_mutex",
	"shared_mutex",
	"shared_timed_mutex",
	"condition_variable",
	"condition_variable_any",
	"once_flag",
	"counting_semaphore",
	"barrier",
	"latch",
	"Mutex",
	"RwLock",
	"Condvar",
	"Once",
	"OnceLock",
	"ReentrantMutex",
	"ReentrantLock",
};

static bool is_lock(const struct dw_die *type)
{
	struct dw_attr a = dw_attr_of(type, DW_AT_name);
	const char *name = a.form ? dw_string(type->unit, &a) : NULL;
	size_t len = name ? strcspn(name, "<") : 0;

	for (size_t i = 0; name && i < ARRAY_LEN(locks); i++)
		if (strlen(locks[i]) == len && !strncmp(name, locks[i], len))
			return true;
	return false;
}

static bool type_of(const struct dw_die *die, struct dw_die *ret)
{
	struct dw_unit *u;
	struct dw_attr a = dw_attr_integrate(die, DW_AT_type, &u);

	return a.form && dw_follow(u, &a, ret);
}

static bool number_of(const struct dw_die *die, uint16_t name, uint64_t *ret)
{
	struct dw_attr a = dw_attr_of(die, name);

	return a.form && dw_number(&a, ret);
}

/* A type that is only declared here, but defined in a unit of its own. */
static bool definition_of(struct dw_die *type)
{
	struct dw_attr a = dw_attr_of(type, DW_AT_signature);
	struct dw_die next;

	if (!a.form || !dw_follow(type->unit, &a, &next))
		return false;
	*type = next;
	return true;
}

/* Past const, volatile and typedef, but not past the name of a lock. False: there is no type. */
static bool data_type_strip(struct dw_die *type, bool *ret_lock)
{
	for (int hops = 0; hops < HOPS_MAX; hops++) {
		struct dw_die next;

		*ret_lock = is_lock(type);
		if (*ret_lock)
			return true;
		switch (type->abbrev.tag) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_atomic_type:
			if (!type_of(type, &next))
				return false;
			*type = next;
			break;
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
			(void)definition_of(type);
			return true;
		default:
			return true;
		}
	}
	return false;
}

struct dimensions {
	uint64_t count[DIMENSIONS_MAX];
	size_t n;
};

/* False if it has too many, or one without an end. */
static bool dimensions_of(const struct dw_die *array, struct dimensions *ret)
{
	struct dw_walk w;
	struct dw_die die;
	uint64_t v;

	ret->n = 0;
	dw_children_init(&w, array);
	while (dw_children_next(&w, &die)) {
		if (die.abbrev.tag != DW_TAG_subrange_type)
			continue;
		if (ret->n == DIMENSIONS_MAX)
			return false;
		if (number_of(&die, DW_AT_count, &v))
			ret->count[ret->n++] = v;
		else if (number_of(&die, DW_AT_upper_bound, &v))
			ret->count[ret->n++] = v + 1;
		else
			return false;
	}
	return ret->n;
}

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t v;

	return __builtin_mul_overflow(a, b, &v) ? 0 : v;
}

/* 0: not known. */
static uint64_t type_size(struct dw_die type)
{
	uint64_t factor = 1, size;

	for (int hops = 0; hops < HOPS_MAX; hops++) {
		struct dimensions d;
		struct dw_die next;

		if (number_of(&type, DW_AT_byte_size, &size))
			return times(factor, size);
		if (type.abbrev.tag == DW_TAG_array_type) {
			if (!dimensions_of(&type, &d))
				return 0;
			for (size_t i = 0; i < d.n; i++)
				factor = times(factor, d.count[i]);
		} else if (definition_of(&type)) {
			continue;
		}
		if (!type_of(&type, &next))
			return 0;
		type = next;
	}
	return 0;
}

uint64_t data_size(const struct dw_die *die)
{
	struct dw_die type;

	return type_of(die, &type) ? type_size(type) : 0;
}

/* ---- the way down ---- */

static void data_type_put(struct data_path *p, const char *before, const char *text)
{
	int n = snprintf(p->text + p->len, sizeof(p->text) - p->len, "%s%s", before, text);

	p->len += (size_t)n < sizeof(p->text) - p->len ? (size_t)n : sizeof(p->text) - 1 - p->len;
}

static void put_index(struct data_path *p, uint64_t index)
{
	char text[32];

	snprintf(text, sizeof(text), "[%" PRIu64 "]", index);
	data_type_put(p, "", text);
}

/* Where in its struct; false if it has no place of its own (static, a bit field). */
static bool member_at(const struct dw_die *member, uint64_t *ret)
{
	struct dw_attrs attrs = dw_attrs(member);
	struct dw_attr a;

	*ret = 0;
	while (dw_attr_next(&attrs, &a)) {
		struct cursor c;

		switch (a.name) {
		case DW_AT_declaration:
		case DW_AT_bit_size:
		case DW_AT_data_bit_offset:
			return false;
		case DW_AT_data_member_location:
			if (dw_number(&a, ret))
				break;
			if (!dw_is_block(&a))
				return false;
			c = cur_init(a.p, a.len);
			if (cur_u8(&c) != DW_OP_plus_uconst)
				return false;
			*ret = cur_varint(&c);
			if (!cur_ok(&c) || !cur_end(&c))
				return false;
			break;
		}
	}
	return true;
}

static bool is_member(const struct dw_die *die)
{
	return die->abbrev.tag == DW_TAG_member || die->abbrev.tag == DW_TAG_inheritance;
}

struct member {
	struct dw_die die;
	uint64_t at, size; /* size 0: not known, a type that is only declared, an open array */
};

static bool next_member(struct dw_walk *w, struct member *ret)
{
	while (dw_children_next(w, &ret->die)) {
		if (!is_member(&ret->die) || !member_at(&ret->die, &ret->at))
			continue;
		ret->size = data_size(&ret->die);
		return true;
	}
	return false;
}

/* The member of a struct that holds the offset. One of unknown size reaches to the next. */
static bool member_with(const struct dw_die *type, uint64_t offset, struct member *ret)
{
	uint64_t next = type_size(*type), last = 0;
	struct dw_walk w;
	struct member m;
	bool found = false;

	dw_children_init(&w, type);
	while (next_member(&w, &m)) {
		if (m.at > offset) {
			next = m.at < next ? m.at : next;
			continue;
		}
		last = m.at > last ? m.at : last;
		if (m.size ? offset - m.at < m.size : !found || m.at > ret->at) {
			*ret = m;
			found = true;
		}
	}
	if (found && !ret->size)
		ret->size = next > offset && last == ret->at ? next - ret->at : 0;
	return found && ret->size;
}

static void put_member(struct data_path *p, const struct dw_die *member)
{
	struct dw_attr a = dw_attr_of(member, DW_AT_name);
	const char *name =
		a.form && member->abbrev.tag == DW_TAG_member ? dw_string(member->unit, &a) : NULL;

	if (name && *name)
		data_type_put(p, ".", name);
}

/* A step into an array: to the element. */
static bool element(struct data_path *p, struct dw_die *type, uint64_t *offset)
{
	struct dimensions d;
	struct dw_die of;
	uint64_t size, left = 1;

	if (!dimensions_of(type, &d) || !type_of(type, &of))
		return false;
	size = type_size(of);
	for (size_t i = 0; i < d.n; i++)
		left = times(left, d.count[i]);
	if (!size || !left || *offset / size >= left)
		return false;
	for (size_t i = 0; i < d.n; i++) {
		left /= d.count[i];
		put_index(p, *offset / size / left % d.count[i]);
	}
	p->begin += *offset - *offset % size;
	p->size = size;
	*offset %= size;
	*type = of;
	return true;
}

static void descend(struct data_path *p, struct dw_die type, uint64_t offset, unsigned depth);

/* To a member; false if it has no type. */
static bool data_type_enter(struct data_path *p, const struct member *m, struct dw_die *ret)
{
	p->begin += m->at;
	p->size = m->size;
	put_member(p, &m->die);
	return type_of(&m->die, ret);
}

/* Tries each member of a union, and stays with the first that leads to a lock. */
static void into_union(struct data_path *p, const struct dw_die *type, uint64_t offset,
		       unsigned depth)
{
	struct data_path *first = NULL, *tried = mem_alloc(sizeof(*tried));
	bool lock = false;
	struct dw_walk w;
	struct dw_die of;
	struct member m;

	dw_children_init(&w, type);
	while (!lock && next_member(&w, &m)) {
		if (m.at > offset || offset - m.at >= m.size)
			continue;
		*tried = *p;
		if (data_type_enter(tried, &m, &of))
			descend(tried, of, offset - m.at, depth);
		lock = tried->whole;
		if (!first) {
			first = mem_alloc(sizeof(*first));
			*first = *tried;
		}
	}
	if (lock || first)
		*p = lock ? *tried : *first;
	free(first);
	free(tried);
}

static void descend(struct data_path *p, struct dw_die type, uint64_t offset, unsigned depth)
{
	for (; depth < DEPTH_MAX; depth++) {
		struct member m;

		if (!data_type_strip(&type, &p->whole) || p->whole)
			return;
		switch (type.abbrev.tag) {
		case DW_TAG_array_type:
			if (!element(p, &type, &offset))
				return;
			break;
		case DW_TAG_union_type:
			into_union(p, &type, offset, depth + 1);
			return;
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
			if (!member_with(&type, offset, &m) || !data_type_enter(p, &m, &type))
				return;
			offset -= m.at;
			break;
		default:
			return;
		}
	}
}

void data_descend(const struct dw_die *variable, uint64_t offset, struct data_path *path)
{
	struct dw_die type;

	path->begin = 0;
	path->size = data_size(variable);
	path->whole = false;
	if (type_of(variable, &type))
		descend(path, type, offset, 0);
}
