// SPDX-License-Identifier: MIT
/* What goes into a column comes out of it, and every chunk can be read without the others. */
#include "store_test.h"

#include "base/buf.h"
#include "store/decode.h"
#include "store/encode.h"
#include "store/pack.h"

static void pack_values(struct buf *out, const uint64_t *v, size_t n, bool times)
{
	struct values c = {0};

	/* Bit by bit, so that it has to become wider on the way. */
	for (size_t i = 0; i < n; i += 100)
		values_append(&c, v + i, sizeof(*v), n - i < 100 ? n - i : 100);
	assert_int_equal(c.n, n);
	pack_put(out, &c, times, NULL);
	values_done(&c);
}

static void pack_round_trip(const uint64_t *v, size_t n, bool times, size_t most)
{
	static const size_t rooms[] = {1, 7, 64, 100000};
	struct buf b = {0};
	struct unpack u;
	uint64_t *got = mem_alloc((n + 1) * sizeof(*got));

	pack_values(&b, v, n, times);
	assert_true(b.len <= most);
	for (size_t k = 0; k < sizeof(rooms) / sizeof(rooms[0]); k++) {
		size_t at = 0, more;

		assert_true(unpack_init(&u, cur_init(b.p, b.len), n));
		while ((more = unpack_block(&u, got + at, rooms[k])))
			at += more;
		assert_int_equal(at, n);
		if (n)
			assert_memory_equal(got, v, n * sizeof(*v));
	}
	free(got);
	/* Cut anywhere, it is refused rather than read beyond its end. */
	for (size_t cut = 0; cut < b.len && b.len < 4096; cut++)
		assert_false(unpack_init(&u, cur_init(b.p, cut), n));
	buf_done(&b);
}

static void test_pack(void **state)
{
	struct rng r = {1};
	static uint64_t v[5000];

	pack_round_trip(v, 0, false, 3);
	pack_round_trip(v, 0, true, 3);
	for (int round = 0; round < 300; round++) {
		size_t n = 1 + rng_below(&r, 300);
		unsigned shift = (unsigned)rng_below(&r, 64);

		for (size_t i = 0; i < n; i++)
			v[i] = round % 2 ? rng_value(&r) : rng_next(&r) >> shift;
		pack_round_trip(v, n, false, 20 + 8 * n + 20 * (n / 32));
		pack_round_trip(v, n, true, 20 + 9 * n + 20 * (n / 32));
	}
}

/* Every length, as the last byte may be filled in part; and an exception now and then. */
static void test_pack_narrow(void **state)
{
	static uint64_t v[600];
	struct rng r = {9};

	for (unsigned bits = 1; bits <= 4; bits *= 2)
		for (size_t n = 1; n < 600; n++) {
			for (size_t i = 0; i < n; i++)
				v[i] = 1000 + (rng_next(&r) >> (64 - bits));
			pack_round_trip(v, n, false, 8 + (n * bits + 7) / 8);
			v[rng_below(&r, n)] = rng_next(&r) >> 1 | 1ull << 40;
			if (n >= 32)
				pack_round_trip(v, n, false, 24 + (n * bits + 7) / 8);
		}
}

/* The edges of all classes; steps back in time, and such as no time is long enough for. */
static void test_pack_times(void **state)
{
	static uint64_t v[4000];
	struct rng r = {11};
	size_t n = 0;

	for (unsigned k = 0; k < 64; k++)
		for (int64_t d = -2; d <= 2; d++)
			v[n++] = (1ull << k) + (uint64_t)d;
	pack_round_trip(v, n, true, 9 * n + 20);
	for (n = 0; n < 4000; n++)
		v[n] = 200 + rng_below(&r, 60000);
	pack_round_trip(v, n, true, 4000 * 27 / 10 + 100);
	/* A few negative ones must not cost the others anything. */
	for (int i = 0; i < 10; i++)
		v[rng_below(&r, n)] = (uint64_t) - (int64_t)(1 + rng_below(&r, 1000));
	pack_round_trip(v, n, true, 4000 * 27 / 10 + 300);
}

/* The examples of docs/format.md. */
static void test_pack_bytes(void **state)
{
	static const struct {
		const char *bytes;
		size_t len, n;
		uint64_t v[5];
	} cases[] = {
		{"\x0a\x00\x00", 3, 4, {5, 5, 5, 5}},
		{"\x0a\x01\x01\x02\xc0\x84\x3d\x00\x00\x00\x01", 11, 4, {5, 5, 1000000, 6}},
		{"\x0a\x0a\x00\xe4\x01", 5, 5, {5, 6, 7, 8, 6}},
		{"\x00\x0c\x00\x03\x08\x0a\x25\x70\x03", 9, 4, {3, 8, 12, 1500}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct unpack u;
		uint64_t got[5];

		assert_true(unpack_init(&u, cur_init(cases[i].bytes, cases[i].len), cases[i].n));
		assert_int_equal(unpack_block(&u, got, 5), cases[i].n);
		assert_memory_equal(got, cases[i].v, cases[i].n * sizeof(*got));
	}
}

static void test_constant_columns_are_free(void **state)
{
	static uint64_t v[5000];

	for (size_t i = 0; i < 5000; i++)
		v[i] = UINT64_MAX - 5;
	pack_round_trip(v, 5000, false, 12);
	/* A thread that was running before its chunk began must not spoil the column. */
	v[0] = 77777;
	v[4999] = 1ull << 40;
	pack_round_trip(v, 5000, false, 40);
	pack_round_trip(v, 5000, true, 40);
}

enum { MANY = 20000 };

static void round_trip(struct event *evs, size_t n, size_t per_chunk)
{
	struct encoder e;
	struct decoder d;
	struct event got;

	encoder_init(&e);
	decoder_init(&d);
	for (size_t i = 0; i < n;) {
		struct buf b = {0};
		size_t first = i, end = i + per_chunk < n ? i + per_chunk : n;
		uint64_t ts_min;

		for (; i < end; i++)
			encoder_add(&e, &evs[i]);
		ts_min = e.ts_min;
		encoder_finish(&e, &b, NULL);
		assert_int_equal(decoder_start(&d, b.p, b.len, ts_min), 0);
		for (size_t k = first; k < end; k++) {
			assert_int_equal(decoder_next(&d, &got), 1);
			assert_same_event(&got, &evs[k]);
		}
		assert_int_equal(decoder_next(&d, &got), 0);
		buf_done(&b);
	}
	encoder_done(&e);
	decoder_done(&d);
}

static void test_every_kind_with_any_values(void **state)
{
	struct event *evs = calloc(MANY, sizeof(*evs));

	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct rng r = {seed};
		uint64_t ts = seed == 1 ? 0 : rng_next(&r) >> 1;

		for (size_t i = 0; i < MANY; i++) {
			evs[i] = rng_event(&r, (unsigned)(i < EV_KINDS ? i : 0));
			ts = seed == 5 ? rng_value(&r) : ts + rng_below(&r, 100000) - 100;
			evs[i].ts = ts;
		}
		round_trip(evs, MANY, seed == 2 ? 1 : seed == 3 ? 257 : MANY);
	}
	free(evs);
}

/* Eight bytes a switch with its waking, even before compression: what makes long recordings
 * possible. */
static void test_switches_are_small(void **state)
{
	struct rng r = {7};
	struct encoder e;
	struct buf b = {0};
	uint32_t run[4] = {0};
	uint64_t ts = 1ull << 50;

	encoder_init(&e);
	for (int i = 0; i < 20000; i++) {
		struct event w = {.kind = EV_WAKING, .cpu = (uint16_t)rng_below(&r, 4)};
		struct event s = {.kind = EV_SWITCH, .cpu = (uint16_t)rng_below(&r, 4)};

		w.ts = ts += rng_below(&r, 20000);
		w.waking.wakee = (uint32_t)(4000 + rng_below(&r, 50));
		w.waking.waker = run[w.cpu];
		encoder_add(&e, &w);
		s.ts = ts += rng_below(&r, 20000);
		s.switch_.prev = run[s.cpu];
		s.switch_.next = run[s.cpu] = w.waking.wakee;
		s.switch_.state = 1;
		encoder_add(&e, &s);
	}
	encoder_finish(&e, &b, NULL);
	assert_true(b.len < 20000 * 8);
	encoder_done(&e);
	buf_done(&b);
}

static void put_dict_column(struct buf *heads, struct buf *body, unsigned kind, unsigned field,
			    unsigned codec, const uint64_t *dict, size_t n_dict, const uint64_t *v,
			    size_t n)
{
	size_t start = body->len;

	if (dict)
		buf_put_varint(body, n_dict);
	for (size_t i = 0; i < n_dict; i++)
		buf_put_varint(body, dict[i]);
	pack_values(body, v, n, false);
	buf_put_varint(heads, kind);
	buf_put_varint(heads, field);
	buf_put_u8(heads, (uint8_t)codec);
	buf_put_varint(heads, body->len - start);
}

static void put_column(struct buf *heads, struct buf *body, unsigned kind, unsigned field,
		       unsigned codec, const uint64_t *v, size_t n)
{
	put_dict_column(heads, body, kind, field, codec, NULL, 0, v, n);
}

static void put_payload(struct buf *b, struct buf *heads, struct buf *body, size_t n,
			size_t columns)
{
	buf_put_varint(b, n);
	buf_put_varint(b, columns);
	buf_put(b, heads->p, heads->len);
	buf_put(b, body->p, body->len);
	buf_done(heads);
	buf_done(body);
}

/* Two guesses for each thread, and for each thread and kernel stack; worked out by hand. */
static void test_guesses(void **state)
{
	const uint64_t kind[] = {EV_WAIT, EV_WAIT, EV_WAIT, EV_WAIT, EV_WAIT}, step[5] = {0};
	const uint64_t tid[] = {7 * 2, 7 * 2, 9 * 2, 7 * 2, 9 * 2};
	const uint64_t stacks[] = {100, 200}, k[] = {0, 3, 3, 1, 0}, u[] = {0, 3, 0, 0, 3};
	const uint32_t want_k[] = {100, 200, 200, 100, 200}, want_u[] = {100, 200, 100, 100, 200};
	struct buf heads = {0}, body = {0}, b = {0};
	struct decoder d;
	struct event ev;

	put_column(&heads, &body, 0, COMMON_KIND, CODEC_VARINT, kind, 5);
	put_column(&heads, &body, EV_WAIT, FIELD_TIME, CODEC_STEP, step, 5);
	put_column(&heads, &body, EV_WAIT, 1, CODEC_RUNNING, tid, 5);
	put_dict_column(&heads, &body, EV_WAIT, 2, CODEC_AGAIN, stacks, 2, k, 5);
	put_dict_column(&heads, &body, EV_WAIT, 3, CODEC_AGAIN_BOTH, stacks, 2, u, 5);
	put_payload(&b, &heads, &body, 5, 5);
	decoder_init(&d);
	assert_int_equal(decoder_start(&d, b.p, b.len, 0), 0);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(decoder_next(&d, &ev), 1);
		assert_int_equal(ev.wait.tid, tid[i] / 2);
		assert_int_equal(ev.wait.kstack, want_k[i]);
		assert_int_equal(ev.wait.ustack, want_u[i]);
	}
	assert_int_equal(decoder_next(&d, &ev), 0);
	decoder_done(&d);
	buf_done(&b);
}

/* A file from the future: new fields, new codecs, new kinds of events; and old ones left out. */
static void test_unknown_and_missing_columns(void **state)
{
	const uint64_t kind[] = {EV_EXIT, 200, EV_EXIT, EV_RENAME};
	const uint64_t cpu[] = {1, 2, 3, 4}, step[] = {0, 10};
	const uint64_t code[] = {7, 9}, strange[] = {1, 2, 3};
	struct buf heads = {0}, body = {0}, b = {0};
	struct decoder d;
	struct event ev;

	put_column(&heads, &body, 0, COMMON_KIND, CODEC_VARINT, kind, 4);
	put_column(&heads, &body, 0, 9, CODEC_VARINT, kind, 4);
	put_column(&heads, &body, 0, COMMON_CPU, CODEC_VARINT, cpu, 4);
	put_column(&heads, &body, EV_EXIT, FIELD_TIME, CODEC_STEP, step, 2);
	put_column(&heads, &body, EV_RENAME, FIELD_TIME, CODEC_STEP, step + 1, 1);
	put_column(&heads, &body, 200, FIELD_TIME, CODEC_STEP, step + 1, 1);
	put_column(&heads, &body, 200, 1, CODEC_VARINT, strange, 1);
	put_column(&heads, &body, EV_EXIT, 99, CODEC_VARINT, strange, 2);
	put_column(&heads, &body, EV_EXIT, 2, CODEC_VARINT, code, 2);
	put_column(&heads, &body, EV_EXIT, 1, 99, strange, 3);
	put_payload(&b, &heads, &body, 4, 10);
	decoder_init(&d);
	assert_int_equal(decoder_start(&d, b.p, b.len, 1000), 0);
	assert_int_equal(decoder_next(&d, &ev), 1);
	assert_int_equal(ev.kind, EV_EXIT);
	assert_int_equal(ev.exit.code, 7);
	assert_int_equal(ev.exit.tid, 0);
	assert_int_equal(decoder_next(&d, &ev), 1);
	assert_int_equal(ev.ts, 1020);
	assert_int_equal(ev.cpu, 3);
	assert_int_equal(ev.exit.code, 9);
	assert_int_equal(decoder_next(&d, &ev), 1);
	assert_int_equal(ev.kind, EV_RENAME);
	assert_string_equal(ev.rename.name, "");
	assert_int_equal(decoder_next(&d, &ev), 0);
	assert_int_equal(d.unknown, 1);
	decoder_done(&d);
	buf_done(&b);
}

/* Without the times of one kind those of all others would be wrong too. */
static void test_times_cannot_be_missing(void **state)
{
	const uint64_t kind[] = {EV_EXIT, EV_RENAME}, step[] = {10};
	struct buf heads = {0}, body = {0}, b = {0};
	struct decoder d;

	put_column(&heads, &body, 0, COMMON_KIND, CODEC_VARINT, kind, 2);
	put_column(&heads, &body, EV_EXIT, FIELD_TIME, CODEC_STEP, step, 1);
	put_payload(&b, &heads, &body, 2, 2);
	decoder_init(&d);
	assert_int_equal(decoder_start(&d, b.p, b.len, 0), -EBADMSG);
	decoder_done(&d);
	buf_done(&b);
}

static void test_any_bytes(void **state)
{
	struct rng r = {3};
	struct encoder e;
	struct decoder d;
	struct buf b = {0};
	struct event ev;

	encoder_init(&e);
	decoder_init(&d);
	for (int i = 0; i < 200; i++) {
		ev = rng_event(&r, 0);
		encoder_add(&e, &ev);
	}
	encoder_finish(&e, &b, NULL);
	for (int i = 0; i < 20000; i++) {
		size_t at = rng_below(&r, b.len);
		uint8_t was = b.p[at];

		b.p[at] = (uint8_t)rng_next(&r);
		if (!decoder_start(&d, b.p, b.len, 0))
			for (int k = 0; k < 1000 && decoder_next(&d, &ev) == 1; k++)
				assert_true(kind_known(ev.kind));
		b.p[at] = was;
	}
	encoder_done(&e);
	decoder_done(&d);
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pack),
		cmocka_unit_test(test_pack_narrow),
		cmocka_unit_test(test_pack_times),
		cmocka_unit_test(test_pack_bytes),
		cmocka_unit_test(test_constant_columns_are_free),
		cmocka_unit_test(test_every_kind_with_any_values),
		cmocka_unit_test(test_switches_are_small),
		cmocka_unit_test(test_unknown_and_missing_columns),
		cmocka_unit_test(test_guesses),
		cmocka_unit_test(test_times_cannot_be_missing),
		cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
