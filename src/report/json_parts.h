/* SPDX-License-Identifier: MIT */
/* What the JSON documents share. Objects are written into the one that is open. */
#ifndef THAW_REPORT_JSON_PARTS_H
#define THAW_REPORT_JSON_PARTS_H

#include "base/json.h"
#include "model/summary/summary.h"

/* The keys of a frame; its function's is `name`. */
void json_put_frame(struct json *j, const char *name, const struct names *names,
		    const struct named_frame *f);

/* json_parts.c */
void json_put_capture(struct json *j, const struct model *m);
void json_put_guard(struct json *j, const struct model *m);
void json_put_losses(struct json *j, const struct summary *s);
void json_put_steps(struct json *j, const struct model *m);
/* "stack": frames, leaf first, those of a probe left out. */
void json_put_stack(struct json *j, const char *key, struct names *names, uint32_t kstack,
		    uint32_t ustack);
/* The same, all of them. */
void json_put_sample_stack(struct json *j, const char *key, struct names *names, uint32_t kstack,
			   uint32_t ustack);
/* Of a thread: running_ns to samples, into an object that is open. */
void json_put_times(struct json *j, const struct model *m, const uint64_t total[INTERVAL_KINDS],
		    const uint64_t waits[REASONS], uint64_t samples);
/* pid, tid, comm into an object that is open; nulls if the thread is not known. */
void json_put_who(struct json *j, const struct thread *t);
/* path, type and source of the file that is waited for; null if it is not known. */
void json_put_file(struct json *j, const char *key, const struct waited_file *f);
/* A moment, since the recording began; 0 if it has none. */
void json_put_offset(struct json *j, const char *key, const struct model *m, uint64_t ts);
/* "0x55d0c0de": numbers beyond 2^53 do not survive every reader. */
void json_put_address(struct json *j, const char *key, uint64_t address);

/* json_locks.c */
struct lock_sum;
void json_put_lock(struct json *j, const struct summary *s, const struct lock_sum *l);
void json_put_blame(struct json *j, const struct summary *s, size_t rows);
void json_put_stalls(struct json *j, const struct summary *s, size_t rows);
/* In a document that lists only some locks: the place of each of the summary's there, + 1; 0: it is
 * not there. NULL: all are there, in their order. */
typedef const size_t json_lock_places;
void json_put_deadlocks(struct json *j, const struct summary *s, json_lock_places *places);
/* Threads that were stuck, without those that waited for work or for something from outside. */
void json_put_stuck(struct json *j, const struct summary *s, size_t rows);
void json_put_finding(struct json *j, const struct summary *s, json_lock_places *places);
/* Did the kernel report its own locks? */
void json_put_kernel_locks(struct json *j, const struct summary *s);

#endif
