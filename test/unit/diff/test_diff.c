// SPDX-License-Identifier: MIT
/* Whole comparisons of sides that are made here: matching, pace, and how often chance deceives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "diff/diff.h"
#include "diff/names.h"
#include "unit/diff/chance.h"
#include "wire/unseen.h"

#define SEC 1000000000ull
enum { BLOCKS = 32, FUNCTIONS = 12 };

struct maker {
	struct summary s;
	struct diff_side side;
};

static void begin(struct maker *m, uint64_t samples)
{
	*m = (struct maker){0};
	m->s.model = model_new(NULL);
	m->s.model->facts.freq_hz = 1000;
	m->s.model->facts.complete = true;
	m->s.samples = samples;
	m->side = (struct diff_side){.s = &m->s,
				     .path = "made",
				     .window = 10 * SEC,
				     .blocks = BLOCKS,
				     .period = 1000000,
				     .cpu_sum = (double)samples * 1000000};
	m->side.cpu = mem_zalloc(BLOCKS * sizeof(*m->side.cpu));
	m->side.samples = mem_zalloc(BLOCKS * sizeof(*m->side.samples));
}

static void end(struct maker *m)
{
	diff_side_done(&m->side);
	model_free(m->s.model);
}

static struct diff_item *item(struct maker *m, enum diff_kind kind, const char *name,
			      const char *where)
{
	uint64_t *slot = map_put(&m->side.by_name, diff_key(kind, name, where), NULL);
	struct diff_item *it;

	if (*slot)
		return &m->side.items.v[*slot - 1];
	it = vec_add(&m->side.items);
	*slot = m->side.items.n;
	it->kind = kind;
	it->name = mem_strdup(name);
	it->where = mem_strdup(where);
	it->blocks = mem_zalloc(BLOCKS * sizeof(*it->blocks));
	return it;
}

static void add(struct maker *m, enum diff_kind kind, const char *name, size_t block, uint64_t n)
{
	struct diff_item *it = item(m, kind, name, kind == DIFF_SELF ? "prog" : "mutex");

	it->blocks[block] += n;
	it->sum += n;
	it->count += kind == DIFF_SELF ? n : 1;
	if (kind == DIFF_SELF) {
		m->side.samples[block] += (double)n;
		m->side.cpu[block] += (double)n * m->side.period;
	}
}

static void fixed(struct maker *m, const char *name, uint64_t in_each)
{
	for (size_t i = 0; i < BLOCKS; i++)
		add(m, DIFF_SELF, name, i, in_each + i % 2);
}

static struct diff *compare(struct maker *a, struct maker *b, enum diff_per per)
{
	struct diff_opts opts = {.per = per, .alpha = 0.01};

	return diff_new(&a->side, &b->side, &opts);
}

static const struct diff_row *row(const struct diff *d, const char *name)
{
	for (size_t i = 0; i < d->rows.n; i++) {
		const struct diff_item *it = diff_item_of(&d->rows.v[i]);

		if (!strcmp(it->name, name))
			return &d->rows.v[i];
	}
	fail_msg("no row %s", name);
	return NULL;
}

/* Functions with weights 1, 2, ... that are drawn sample by sample; `burst` of them in a row. */
static void draw(struct maker *m, struct chance *c, size_t samples, size_t burst, double slow)
{
	uint64_t drawn[FUNCTIONS][BLOCKS] = {{0}};
	double weights[FUNCTIONS], all = 0;
	char name[8];

	for (size_t k = 0; k < FUNCTIONS; k++) {
		weights[k] = (double)(k + 1) * (k == 5 ? slow : 1);
		all += weights[k];
	}
	for (size_t i = 0; i < samples; i += burst) {
		double at = chance(c) * all;
		size_t k = 0;

		while (k + 1 < FUNCTIONS && at >= weights[k])
			at -= weights[k++];
		for (size_t j = i; j < i + burst && j < samples; j++)
			drawn[k][j * BLOCKS / samples]++;
	}
	for (size_t k = 0; k < FUNCTIONS; k++) {
		snprintf(name, sizeof(name), "f%zu", k);
		for (size_t i = 0; i < BLOCKS; i++)
			if (drawn[k][i])
				add(m, DIFF_SELF, name, i, drawn[k][i]);
	}
}

struct tried {
	size_t any, found, others;
};

static struct tried trials(size_t n, size_t samples, size_t burst, double slow, enum diff_per per)
{
	struct chance c = {.state = 0x853c49e6748fea9bull + burst};
	struct tried t = {0};

	for (size_t i = 0; i < n; i++) {
		struct maker a, b;
		struct diff *d;
		bool found;

		begin(&a, samples);
		begin(&b, samples);
		draw(&a, &c, samples, burst, 1);
		draw(&b, &c, samples, burst, slow);
		d = compare(&a, &b, per);
		found = row(d, "f5")->different;
		t.any += d->differ > 0;
		t.found += found;
		t.others += d->differ > found;
		diff_free(d);
		end(&a);
		end(&b);
	}
	return t;
}

/* Without any noise but that of samples: no more false alarms than was asked for. */
static void test_false_alarms(void **state)
{
	static const struct {
		size_t samples, burst;
		enum diff_per per;
	} rows[] = {
		{4000, 1, DIFF_PER_PACE}, {4000, 1, DIFF_PER_WALL},  {4000, 1, DIFF_PER_CPU},
		{4000, 1, DIFF_PER_NONE}, {4000, 20, DIFF_PER_PACE}, {4000, 20, DIFF_PER_NONE},
		{400, 1, DIFF_PER_PACE},
	};
	const size_t n = 600;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tried t = trials(n, rows[i].samples, rows[i].burst, 1, rows[i].per);

		if ((double)t.any > chance_most(0.01, (double)n))
			fail_msg("%zu samples, %zu in a row, per %s: %zu of %zu", rows[i].samples,
				 rows[i].burst, diff_per_name(rows[i].per), t.any, n);
	}
}

/* A function that takes half as long again is found, and the others are not blamed. */
static void test_power(void **state)
{
	const size_t n = 500;
	struct tried t = trials(n, 12000, 1, 1.5, DIFF_PER_PACE);

	if ((double)t.found < 0.95 * (double)n)
		fail_msg("found in %zu of %zu", t.found, n);
	if ((double)t.others > chance_most(0.01, (double)n))
		fail_msg("others in %zu of %zu", t.others, n);
}

static struct diff *one_slower(struct maker *a, struct maker *b, enum diff_per per)
{
	static const char *const names[] = {"a", "b", "c", "d", "e"};

	begin(a, 5 * BLOCKS * 1000);
	begin(b, 5 * BLOCKS * 1000);
	for (size_t k = 0; k < ARRAY_LEN(names); k++) {
		fixed(a, names[k], 1000);
		fixed(b, names[k], k == 1 ? 1500 : 1000);
	}
	return compare(a, b, per);
}

/* Where one takes more, the share of the others falls; their time at the machine's pace does not.
 */
static void test_pace_and_shares(void **state)
{
	struct maker a, b;
	struct diff *d = one_slower(&a, &b, DIFF_PER_PACE);

	assert_int_equal(d->differ, 1);
	assert_true(row(d, "b")->different);
	assert_true(fabs(d->pace.ratio - 1) < 1e-9);
	assert_int_equal(d->pace.functions, 5);
	diff_free(d);
	b.side.cpu_sum = 5.5 / 5 * a.side.cpu_sum;
	d = compare(&a, &b, DIFF_PER_CPU);
	assert_int_equal(d->differ, 5);
	diff_free(d);
	end(&a);
	end(&b);
}

/* A machine that is slower as a whole is no row's fault, and is said. */
static void test_slower_machine(void **state)
{
	struct maker a, b;
	struct buf text = {0};
	struct diff *d = one_slower(&a, &b, DIFF_PER_PACE);

	diff_free(d);
	b.side.period *= 1.1;
	d = compare(&a, &b, DIFF_PER_PACE);
	assert_true(fabs(d->pace.ratio - 1.1) < 1e-9 && d->pace.differs);
	assert_int_equal(d->differ, 1);
	assert_true(row(d, "b")->different);
	diff_lead(d, &text);
	assert_non_null(strstr(buf_cstr(&text), "b took 50% more CPU time"));
	assert_non_null(strstr(buf_cstr(&text), "Most functions took 10% more CPU time"));
	diff_free(d);
	d = compare(&a, &b, DIFF_PER_NONE);
	assert_int_equal(d->differ, 5);
	diff_free(d);
	buf_done(&text);
	end(&a);
	end(&b);
}

/* A module that is called differently is matched by the function's name, if there is only one. */
static void test_renamed(void **state)
{
	struct maker a, b;
	struct diff *d;

	begin(&a, 6400);
	begin(&b, 6400);
	for (size_t i = 0; i < 4; i++) {
		item(&a, DIFF_SELF, "work", "prog-1")->blocks[i] = 100;
		item(&b, DIFF_SELF, "work", "prog-2")->blocks[i] = 100;
		item(&a, DIFF_SELF, "twice", "prog-1")->blocks[i] = 100;
		item(&b, DIFF_SELF, "twice", "prog-2")->blocks[i] = 100;
		item(&b, DIFF_SELF, "twice", "libc.so")->blocks[i] = 100;
		item(&a, DIFF_SELF, "[no symbol]", "prog-1")->blocks[i] = 100;
		item(&b, DIFF_SELF, "[no symbol]", "prog-2")->blocks[i] = 100;
	}
	d = compare(&a, &b, DIFF_PER_NONE);
	assert_int_equal(d->rows.n, 1 + 3 + 2);
	assert_true(row(d, "work")->a && row(d, "work")->b);
	assert_false(row(d, "twice")->a && row(d, "twice")->b);
	assert_false(row(d, "[no symbol]")->a && row(d, "[no symbol]")->b);
	diff_free(d);
	end(&a);
	end(&b);
}

/* Of one long wait nobody knows whether there would be another; of as much in many there will be.
 */
static void test_one_wait(void **state)
{
	struct maker a, b;
	struct diff *d;

	begin(&a, 0);
	begin(&b, 0);
	add(&b, DIFF_LOCK, "once", 7, 3 * SEC);
	for (size_t i = 0; i < BLOCKS; i++) {
		add(&a, DIFF_LOCK, "often", i, SEC / 100 + i % 3);
		add(&b, DIFF_LOCK, "often", i, SEC / 50 + i % 3);
		add(&b, DIFF_LOCK, "fresh", i, SEC / 50 + i % 3);
	}
	d = compare(&a, &b, DIFF_PER_WALL);
	assert_false(row(d, "once")->different);
	assert_true(row(d, "often")->different);
	assert_true(row(d, "fresh")->different);
	assert_true(fabs(row(d, "often")->r.after / row(d, "often")->r.before - 2) < 1e-3);
	diff_free(d);
	end(&a);
	end(&b);
}

/* What one side did not see is no row, and is said. */
static void test_unseen(void **state)
{
	struct maker a, b;
	struct diff *d;

	begin(&a, 3200);
	begin(&b, 3200);
	fixed(&a, "f", 100);
	fixed(&b, "f", 100);
	b.side.path = "other";
	for (size_t i = 0; i < BLOCKS; i++)
		add(&a, DIFF_LOCK, "lock", i, SEC / 100);
	b.s.model->facts.unseen = UNSEEN_SWITCHES | UNSEEN_LOCKS;
	d = compare(&a, &b, DIFF_PER_WALL);
	assert_true(d->functions && !d->waits && !d->locks);
	assert_int_equal(d->rows.n, 1);
	assert_int_equal(d->notes.n, 1);
	assert_non_null(strstr(d->notes.v[0], "does not see waits"));
	diff_free(d);
	end(&a);
	end(&b);
}

/* Names without what only one recording knows. */
static void test_names(void **state)
{
	static const struct {
		const char *name, *want;
	} rows[] = {
		{"mmap_lock of postgres (412)", "mmap_lock of postgres"},
		{"i_rwsem of inode 77", "i_rwsem of inode"},
		{"runqueue of CPU 3", "runqueue of CPU"},
		{"accounts[3].lock", "accounts[3].lock"},
		{"f (x)", "f (x)"},
		{"(1", "(1"},
		{"", ""},
	};
	struct names names;
	struct buf b = {0};
	struct function f = {.name = "prog+0x10", .module = "prog"};

	names_init(&names, NULL);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct lock_sum l = {.name = (char *)rows[i].name, .named = true};

		assert_string_equal(diff_lock_name(&b, &names, &l), rows[i].want);
	}
	assert_string_equal(diff_lock_name(&b, &names, &(struct lock_sum){.name = "heap 0x55d0"}),
			    "one without a name");
	assert_string_equal(diff_function_name(&b, &f), "[no symbol]");
	f.named = true;
	assert_string_equal(diff_function_name(&b, &f), "prog+0x10");
	buf_done(&b);
	names_done(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_false_alarms),	cmocka_unit_test(test_power),
		cmocka_unit_test(test_pace_and_shares), cmocka_unit_test(test_slower_machine),
		cmocka_unit_test(test_renamed),		cmocka_unit_test(test_one_wait),
		cmocka_unit_test(test_unseen),		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
