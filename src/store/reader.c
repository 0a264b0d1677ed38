// SPDX-License-Identifier: MIT
/*
 * Opening a capture: finds its chunks, reads all tables (facts, modules, stacks, names) and says
 * what is missing. Events stay in the file until somebody asks for them (stream.c).
 */
#include "store/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/plain.h"
#include "store/reader_private.h"
#include "store/scan.h"
#include "wire/meta.h"

static __attribute__((format(printf, 2, 3))) void say(struct reader *r, const char *fmt, ...)
{
	va_list ap;

	r->info.complete = false;
	r->intact = false;
	if (r->info.damage[0])
		return;
	va_start(ap, fmt);
	vsnprintf(r->info.damage, sizeof(r->info.damage), fmt, ap);
	va_end(ap);
}

void reader_note_bad(struct reader *r, struct index_entry *e)
{
	if (e->state == INDEX_BAD)
		return;
	e->state = INDEX_BAD;
	r->info.chunks--;
	r->info.chunks_damaged++;
	r->info.bytes_lost += e->bytes;
	say(r, "%s", err_msg());
}

void reader_note_malformed(struct reader *r, struct index_entry *e)
{
	if (e->malformed)
		return;
	e->malformed = true;
	r->info.chunks--;
	r->info.chunks_damaged++;
	say(r, "chunk %u at byte %llu (%s): %s", e->seq, (unsigned long long)e->offset,
	    chunk_name(e->type), err_msg());
}

static int reader_parse(struct reader *r, const struct index_entry *e, struct cursor c)
{
	switch (e->type) {
	case CHUNK_META:
		return facts_read(&r->facts, c);
	case CHUNK_MODULES:
		return modules_read(&r->modules, c, r->max_index);
	case CHUNK_STACKS:
		return stacks_read(&r->stacks, c, r->max_index);
	case CHUNK_SYMBOLS:
		return symbols_read(r->symtab, c);
	case CHUNK_DATA:
		return symdata_read(symtab_data(r->symtab), c);
	case CHUNK_END:
		return totals_read(&r->totals, c);
	}
	return 0;
}

static int load_table(struct reader *r, struct index_entry *e)
{
	int rc = byte_source_load(&r->source, e, &r->raw);

	if (rc == -EBADMSG) {
		reader_note_bad(r, e);
		return 0;
	}
	if (!rc && reader_parse(r, e, cur_init(r->raw.p, r->raw.len)))
		reader_note_malformed(r, e);
	return rc;
}

static bool is_table(const struct index_entry *e)
{
	return e->state == INDEX_CHUNK && e->type != CHUNK_EVENTS && e->type > 0 &&
	       e->type < CHUNK_TYPES;
}

static void note_missing(struct reader *r, const struct index_entry *e)
{
	bool last = e->offset + e->bytes == r->source.size && e->bytes;

	r->info.chunks_damaged++;
	r->info.bytes_lost += e->bytes;
	if (last && !r->info.sealed)
		say(r, "torn at byte %llu: the last %llu bytes are an incomplete chunk",
		    (unsigned long long)e->offset, (unsigned long long)e->bytes);
	else if (last)
		say(r, "%llu bytes that are not ours follow the end", (unsigned long long)e->bytes);
	else if (e->bytes)
		say(r, "damaged at byte %llu: %llu bytes belong to no valid chunk",
		    (unsigned long long)e->offset, (unsigned long long)e->bytes);
	else
		say(r, "chunks are missing before byte %llu", (unsigned long long)e->offset);
}

static void count_chunk(struct reader_info *info, const struct index_entry *e)
{
	info->chunks++;
	info->chunks_unknown += e->type == 0 || e->type >= CHUNK_TYPES;
	if (e->type != CHUNK_EVENTS || !e->items)
		return;
	if (!info->first_ts || e->ts_min < info->first_ts)
		info->first_ts = e->ts_min;
	if (e->ts_max > info->last_ts)
		info->last_ts = e->ts_max;
}

/* Looks for the end first: it decides how damage after the last chunk is described. */
static void take_stock(struct reader *r)
{
	struct reader_info *info = &r->info;

	for (size_t i = 0; i < r->index.list.n; i++)
		if (r->index.list.v[i].type == CHUNK_END && r->index.list.v[i].state == INDEX_CHUNK)
			info->sealed = true;
	for (size_t i = 0; i < r->index.list.n; i++) {
		const struct index_entry *e = &r->index.list.v[i];

		if (e->state == INDEX_CHUNK)
			count_chunk(info, e);
		else
			note_missing(r, e);
	}
}

/* The end chunk counts what was written; compare it with what the headers promise. */
static void check_totals(struct reader *r)
{
	uint64_t events = 0;

	for (size_t i = 0; i < r->index.list.n; i++)
		if (r->index.list.v[i].type == CHUNK_EVENTS)
			events += r->index.list.v[i].items;
	if (events != r->totals.events)
		say(r, "%llu events were written, %llu are there",
		    (unsigned long long)r->totals.events, (unsigned long long)events);
}

/* The file is whole, but the recording is not: it ended before its time. */
static void take_cause(struct reader *r, enum end_cause cause)
{
	r->info.cause = cause;
	if (cause != END_NO_SPACE && cause != END_ERROR && cause != END_STOPPED)
		return;
	r->info.complete = false;
	if (!r->info.damage[0])
		snprintf(r->info.damage, sizeof(r->info.damage), "%s: what followed is missing",
			 cause == END_NO_SPACE	? "the disk was full"
			 : cause == END_STOPPED ? "thaw stopped recording, to spare the machine"
						: "writing failed");
}

/* Takes over the damage of the capture that this is a copy of. */
static void take_copied(struct reader *r)
{
	const char *damage = reader_meta(r, META_COPY_DAMAGE, 0);

	if (!damage)
		return;
	r->info.complete = false;
	snprintf(r->info.damage, sizeof(r->info.damage), "%s", damage);
}

static int load_tables(struct reader *r)
{
	for (size_t i = 0; i < r->index.list.n; i++) {
		struct index_entry *e = &r->index.list.v[i];
		int rc = is_table(e) ? load_table(r, e) : 0;

		if (rc)
			return rc;
		if (e->type == CHUNK_END && e->state == INDEX_BAD)
			r->info.sealed = false;
	}
	r->info.has_symbols = symtab_count(r->symtab) > 0;
	if (r->info.sealed) {
		check_totals(r);
		take_cause(r, r->totals.cause);
	} else {
		say(r, "torn at byte %llu: the recording was not closed",
		    (unsigned long long)r->source.size);
	}
	take_copied(r);
	return 0;
}

/* The source is open. */
static int reader_load(struct reader *r, unsigned flags)
{
	int rc;

	r->max_index = r->source.size * INDEX_PER_BYTE;
	r->info.version = r->source.head.version;
	r->info.file_bytes = r->source.size;
	r->info.start_unix_ns = r->source.head.start_unix_ns;
	r->info.start_mono_ns = r->source.head.start_mono_ns;
	r->info.complete = true;
	r->intact = true;
	rc = flags & READER_NO_INDEX ? -ENOENT : scan_end(&r->source, &r->index);
	if (rc)
		rc = scan_all(&r->source, &r->index);
	if (rc)
		return rc;
	take_stock(r);
	return load_tables(r);
}

static struct reader *reader_new(void)
{
	struct reader *r = mem_zalloc(sizeof(*r));

	r->source.fd = -1;
	r->symtab = symtab_new();
	decoder_init(&r->decoder);
	return r;
}

int reader_open_flags(const char *path, unsigned flags, struct reader **ret)
{
	struct reader *r = reader_new();
	int rc = byte_source_open(&r->source, path, flags & READER_NO_CHECKSUMS);

	rc = rc ? rc : reader_load(r, flags);
	if (rc) {
		reader_close(r);
		return err_add(rc, "%s", path);
	}
	err_clear();
	*ret = r;
	return 0;
}

int reader_open_memory(const void *p, size_t n, unsigned flags, struct reader **ret)
{
	struct reader *r = reader_new();
	int rc = byte_source_open_memory(&r->source, p, n, flags & READER_NO_CHECKSUMS);

	rc = rc ? rc : reader_load(r, flags);
	if (rc) {
		reader_close(r);
		return rc;
	}
	err_clear();
	*ret = r;
	return 0;
}

int reader_open(const char *path, struct reader **ret)
{
	return reader_open_flags(path, 0, ret);
}

int reader_follow(struct reader *r)
{
	size_t whole = r->index.list.n;
	int rc = byte_source_grow(&r->source);

	if (rc)
		return rc;
	r->max_index = r->source.size * INDEX_PER_BYTE;
	r->info.file_bytes = r->source.size;
	while (whole && r->index.list.v[whole - 1].state != INDEX_CHUNK)
		whole--;
	scan_more(&r->source, &r->index);
	if (r->at > whole)
		r->at = whole;
	for (size_t i = whole; i < r->index.list.n && !rc; i++) {
		struct index_entry *e = &r->index.list.v[i];

		count_chunk(&r->info, e);
		rc = is_table(e) ? load_table(r, e) : 0;
	}
	return rc;
}

void reader_close(struct reader *r)
{
	if (!r)
		return;
	if (r->ahead)
		r->ahead_ops->free(r->ahead);
	byte_source_close(&r->source);
	vec_done(&r->index.list);
	facts_done(&r->facts);
	modules_done(&r->modules);
	stacks_done(&r->stacks);
	symtab_free(r->symtab);
	decoder_done(&r->decoder);
	buf_done(&r->raw);
	free(r);
}

const struct reader_info *reader_info(const struct reader *r)
{
	return &r->info;
}

bool reader_meta_at(const struct reader *r, size_t i, const char **ret_key, const char **ret_val)
{
	if (i >= r->facts.list.n)
		return false;
	*ret_key = r->facts.list.v[i].key;
	*ret_val = r->facts.list.v[i].value;
	return true;
}

const char *reader_meta(const struct reader *r, const char *key, size_t i)
{
	for (size_t k = 0; k < r->facts.list.n; k++)
		if (!strcmp(r->facts.list.v[k].key, key) && !i--)
			return r->facts.list.v[k].value;
	return NULL;
}

uint32_t reader_modules(const struct reader *r)
{
	return r->modules.ranges.last;
}

const struct module *reader_module(const struct reader *r, uint32_t index)
{
	size_t place;

	return ranges_find(&r->modules.ranges, index, &place) ? &r->modules.list.v[place] : NULL;
}

uint32_t reader_kernel_module(const struct reader *r)
{
	for (uint32_t m = 1; m <= reader_modules(r); m++)
		if (reader_module(r, m) && reader_module(r, m)->kind == MODULE_KERNEL)
			return m;
	return 0;
}

uint32_t reader_stacks(const struct reader *r)
{
	return r->stacks.ranges.last;
}

size_t reader_stack(const struct reader *r, uint32_t index, const struct frame **ret_frames)
{
	return stacks_get(&r->stacks, index, ret_frames);
}

size_t reader_symbol(const struct reader *r, uint32_t module, uint64_t offset,
		     const struct symbol **ret_syms)
{
	return symtab_find(r->symtab, module, offset, ret_syms);
}

const struct data_symbol *reader_data(const struct reader *r, uint32_t module, uint64_t address)
{
	return symtab_find_data(r->symtab, module, address);
}

void reader_set_symtab(struct reader *r, struct symtab *st)
{
	symtab_free(r->symtab);
	r->symtab = st;
	r->info.has_symbols = symtab_count(st) > 0;
}

const struct index_entry *reader_chunk(const struct reader *r, size_t i)
{
	return i < r->index.list.n ? &r->index.list.v[i] : NULL;
}

uint64_t reader_events(const struct reader *r)
{
	const struct index_entry *e;
	uint64_t n = 0;

	for (size_t i = 0; (e = reader_chunk(r, i)); i++)
		if (e->state == INDEX_CHUNK && e->type == CHUNK_EVENTS)
			n += e->items;
	return n;
}

size_t reader_symbols(const struct reader *r)
{
	return symtab_count(r->symtab);
}

bool reader_total(const struct reader *r, unsigned kind, uint64_t *ret_n)
{
	if (!r->info.sealed || !r->intact || kind >= EV_KINDS)
		return false;
	*ret_n = r->totals.counts[kind];
	return true;
}

uint32_t reader_stack_stop(const struct reader *r, uint32_t index)
{
	return stacks_stop(&r->stacks, index);
}

/* Most captures have no MODULE_GUESS, and need no search. */
bool reader_stack_guessed(const struct reader *r, uint32_t index)
{
	const struct frame *f;
	size_t n = r->modules.guesses ? stacks_get(&r->stacks, index, &f) : 0;

	for (size_t i = 0; i < n; i++) {
		const struct module *m = reader_module(r, f[i].module);

		if (m && m->kind == MODULE_GUESS)
			return true;
	}
	return false;
}
