// SPDX-License-Identifier: MIT
/*
 * STACKS chunks: first index, count, the byte lengths of the first two columns, then three columns
 * of varints: the depth of each stack plus 1024 times why it has no more frames, and for all frames
 * of all stacks the module, and the offset as zigzag difference from that of the frame before.
 * Varints, because what follows a frame is mostly what followed it the last time: zstd finds these
 * repetitions as long as they are whole bytes.
 */
#include "store/tables.h"

#include "base/err.h"

#define STOP_UNIT 1024u

void stacks_put(struct stacks_out *s, const struct frame *frames, size_t n, uint32_t stop)
{
	buf_put_varint(&s->depths, n + (uint64_t)stop * STOP_UNIT);
	for (size_t i = 0; i < n; i++) {
		buf_put_varint(&s->modules, frames[i].module);
		buf_put_varint(&s->offsets, zigzag((int64_t)(frames[i].offset - s->prev_offset)));
		s->prev_offset = frames[i].offset;
	}
	s->n++;
}

size_t stacks_out_bytes(const struct stacks_out *s)
{
	return s->depths.len + s->modules.len + s->offsets.len;
}

void stacks_finish(struct stacks_out *s, struct buf *out)
{
	buf_put_varint(out, s->first);
	buf_put_varint(out, s->n);
	buf_put_varint(out, s->depths.len);
	buf_put_varint(out, s->modules.len);
	buf_put(out, s->depths.p, s->depths.len);
	buf_put(out, s->modules.p, s->modules.len);
	buf_put(out, s->offsets.p, s->offsets.len);
	buf_clear(&s->depths);
	buf_clear(&s->modules);
	buf_clear(&s->offsets);
	s->first += s->n;
	s->n = 0;
	s->prev_offset = 0;
}

void stacks_out_done(struct stacks_out *s)
{
	buf_done(&s->depths);
	buf_done(&s->modules);
	buf_done(&s->offsets);
}

int stacks_read(struct stored_stacks *s, struct cursor c, uint64_t max)
{
	uint64_t first = cur_varint(&c), n = cur_varint(&c);
	uint64_t depth_bytes = cur_varint(&c), module_bytes = cur_varint(&c), offset = 0;
	struct cursor depths = cur_take(&c, (size_t)depth_bytes);
	struct cursor mods = cur_take(&c, (size_t)module_bytes);

	if (!cur_ok(&c) || n > cur_left(&depths) || !ranges_add(&s->ranges, first, n, max))
		return err_set(-EBADMSG, "its stack numbers are malformed");
	for (uint64_t i = 0; i < n; i++) {
		uint64_t packed = cur_varint(&depths), depth = packed % STOP_UNIT;

		if (depth > STACK_FRAMES_MAX)
			depths.bad = true;
		for (uint64_t k = 0; k < depth && cur_ok(&depths) && cur_ok(&mods) && cur_ok(&c);
		     k++) {
			uint64_t module = cur_varint(&mods);

			offset += (uint64_t)unzigzag(cur_varint(&c));
			if (!cur_ok(&mods) || !cur_ok(&c))
				break;
			vec_push(&s->frames, (struct frame){(uint32_t)module, offset});
		}
		/* Also after damage, because the numbers are used up. */
		vec_push(&s->ends, s->frames.n);
		vec_push(&s->stops, (uint8_t)(packed / STOP_UNIT));
	}
	if (!cur_ok(&depths) || !cur_ok(&mods) || !cur_ok(&c))
		return err_set(-EBADMSG, "its stacks are malformed");
	return 0;
}

size_t stacks_get(const struct stored_stacks *s, uint32_t index, const struct frame **ret_frames)
{
	size_t place, start;

	if (!ranges_find(&s->ranges, index, &place))
		return 0;
	start = place ? s->ends.v[place - 1] : 0;
	if (s->ends.v[place] == start)
		return 0;
	*ret_frames = s->frames.v + start;
	return s->ends.v[place] - start;
}

uint32_t stacks_stop(const struct stored_stacks *s, uint32_t index)
{
	size_t place;

	return ranges_find(&s->ranges, index, &place) ? s->stops.v[place] : 0;
}

void stacks_done(struct stored_stacks *s)
{
	vec_done(&s->stops);
	vec_done(&s->frames);
	vec_done(&s->ends);
	vec_done(&s->ranges.list);
}
