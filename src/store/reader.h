/* SPDX-License-Identifier: MIT */
/*
 * Reads a capture that may be torn, damaged or hostile. Opening succeeds as soon as the file header
 * is whole. Every valid chunk is served, and what is missing is reported: in reader_info, and in
 * the stream as LOST events of cause DAMAGED that span the missing time.
 */
#ifndef THAW_STORE_READER_H
#define THAW_STORE_READER_H

#include "store/symtab.h"
#include "store/types.h"
#include "store/writer.h"
#include "wire/event.h"

struct reader;

struct reader_info {
	uint16_t version;
	uint64_t file_bytes;
	bool complete;		 /* sealed, and nothing damaged */
	bool sealed;		 /* the end chunk is there */
	enum end_cause cause;	 /* when sealed */
	uint64_t chunks;	 /* valid ones */
	uint64_t chunks_unknown; /* of a type from the future, skipped */
	uint64_t chunks_damaged;
	uint64_t bytes_lost;	/* that belong to no valid chunk */
	uint64_t start_unix_ns; /* from the header: wall clock and monotonic clock at one moment */
	uint64_t start_mono_ns;
	uint64_t first_ts, last_ts; /* of the events; 0 if there are none */
	bool has_symbols;
	char damage[160]; /* in words, "" if none: "torn at byte 8192: ..." */
};

int reader_open(const char *path, struct reader **ret);
void reader_close(struct reader *r);
const struct reader_info *reader_info(const struct reader *r);

/* The i-th value of a key, or NULL. */
const char *reader_meta(const struct reader *r, const char *key, size_t i);
/* All facts in order: returns false at the end. */
bool reader_meta_at(const struct reader *r, size_t i, const char **ret_key, const char **ret_val);

/*
 * How many events of a kind were written, if the file says so: it is sealed, and no damage has been
 * met so far. (Damage inside a chunk of events is met when they are read.)
 */
bool reader_total(const struct reader *r, unsigned kind, uint64_t *ret_n);

/* 1 and an event (with strings valid until the next call), 0 at the end, negative on I/O errors. */
int reader_next(struct reader *r, struct event *ret_ev);
/* The same without a copy: it is valid until the next call. */
int reader_next_ref(struct reader *r, const struct event **ret_ev);
/* As many as are there already, at least one: 1 and an array that is valid until the next call. */
int reader_next_many(struct reader *r, const struct event **ret_evs, size_t *ret_n);
/*
 * From here on another thread decodes ahead of this one: less time, somewhat more work. Not for a
 * capture that grows. Where there can be no thread, nothing changes.
 */
void reader_read_ahead(struct reader *r);
void reader_rewind(struct reader *r);

/*
 * Takes up what has been written since to a capture that still grows: reader_next() goes on with
 * it. The tables grow, and pointers into them become invalid.
 */
int reader_follow(struct reader *r);

uint32_t reader_modules(const struct reader *r);			    /* indices are 1..n */
const struct module *reader_module(const struct reader *r, uint32_t index); /* NULL: unknown */
uint32_t reader_kernel_module(const struct reader *r); /* 0: the capture has none */
uint32_t reader_stacks(const struct reader *r);
/* The number of frames, 0 for index 0 and for a stack that is missing. */
size_t reader_stack(const struct reader *r, uint32_t index, const struct frame **ret_frames);

/* enum unwind_stop; 0 where it is not known. */
uint32_t reader_stack_stop(const struct reader *r, uint32_t index);
/* Was a caller in it guessed? */
bool reader_stack_guessed(const struct reader *r, uint32_t index);

size_t reader_symbol(const struct reader *r, uint32_t module, uint64_t offset,
		     const struct symbol **ret_syms);
/* The named piece of data that holds a virtual address of the module, or NULL: see types.h. */
const struct data_symbol *reader_data(const struct reader *r, uint32_t module, uint64_t address);
/* Names made after the fact, for a capture that was torn before it got its own. Takes it over. */
void reader_set_symtab(struct reader *r, struct symtab *st);

/* Reads and checks every byte of every chunk; 0, or -EBADMSG with the first finding as message. */
int reader_verify(struct reader *r);

#endif
