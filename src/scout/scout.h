/* SPDX-License-Identifier: MIT */
/*
 * Reads files and memory of others in its own process, so that the recorder never waits for them.
 *
 * The owner of a file decides how long a look at it takes. The server of a FUSE mount may never
 * answer a request, and a hard NFS mount waits for its server forever. A thread that waits for
 * either holds the locks that /proc/PID/maps and /proc/PID/syscall need. A reader of those then
 * waits too, cannot be killed, and keeps its process from ending. Even without that, a process with
 * ten thousand mappings is read slowly.
 *
 * So questions go to a child, the scout, and answers come when they come: scout_pump() hands them
 * to the handler of their kind. A caller that cannot go on without an answer waits for a while, and
 * idles meanwhile (which drains the rings). A file that does not answer in time is SCOUT_SILENT,
 * and its file system is left alone for a time. At the end a stuck scout is left behind: it holds
 * no descriptor that anybody needs.
 *
 * All work has one allowance, a share of a CPU, and all waiting another; questions beyond that are
 * refused (0). After each reading, a process rests for ten times as long as the reading took.
 */
#ifndef THAW_SCOUT_SCOUT_H
#define THAW_SCOUT_SCOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/types.h"

struct scout;

enum scout_kind {
	SCOUT_CODE = 1, /* the executable mappings of a process, and the build ids of their files */
	SCOUT_AREAS,	/* all its mappings, without build ids */
	SCOUT_CALLS,	/* the system calls in which its threads sleep */
	SCOUT_BUILD_ID, /* of one mapped file */
	SCOUT_SEGMENTS, /* the executable ones of a mapped file */
	SCOUT_MEMORY,	/* the stack of a thread, and the words of the futex on which it sleeps */
	SCOUT_COMMAND,	/* the command line of a process: words, each with its zero */
	SCOUT_FILE,	/* the file that a call waits for: path, type, source, each with its zero */
	SCOUT_KINDS,
};

struct scout_question {
	uint32_t kind, pid;
	/* Of a mapped file. */
	uint64_t start, end;
	uint64_t dev,
		inode; /* as /proc/PID/maps or a record of perf has them; inode 0: not known */
	const char *path;
	/* SCOUT_MEMORY: from start to end, by pieces of SCOUT_PIECE; and five words at a futex. */
	uint32_t tid;
	uint64_t futex; /* 0: none */
	bool vector;	/* it is the address of a futex_waitv vector: read the first */
	/* SCOUT_FILE: a descriptor; or a path that lies at start, from the folder fd (AT_FDCWD). */
	int32_t fd;
};

#define SCOUT_PIECE 1024u
/* The text of an answer about memory begins with this; the pieces follow, read or not. */
struct scout_memory {
	uint64_t have;	/* bits: the pieces that could be read */
	uint64_t at_ns; /* when the words were so; 0: they change too fast to tell */
	uint32_t word[5];
	uint32_t words; /* how many of them could be read */
	uint64_t futex; /* of a vector: its first; 0: it could not be read */
	uint32_t val, flags;
};

#define SCOUT_NONE UINT32_MAX

struct scout_area {
	uint64_t start, end, pgoff; /* a segment: virtual addresses, and the offset in the file */
	uint32_t file;
	uint32_t code; /* SCOUT_AREAS: the area with the code of the same file, or SCOUT_NONE */
	bool exec, shared;
};

enum scout_trouble {
	SCOUT_FINE,
	SCOUT_SILENT, /* it does not answer */
	SCOUT_SPARED, /* not asked, because its file system did not answer before */
};

struct scout_file {
	uint64_t dev, inode;
	uint32_t path; /* into text; "" for anonymous memory, "[heap]" and the like */
	uint32_t area; /* the first that maps it */
	uint8_t trouble;
	uint8_t build_id_len;
	uint8_t build_id[BUILD_ID_MAX];
};

struct scout_call {
	uint32_t tid, call; /* see CALL_NR; 0: none */
};

/* Valid while the handler runs. */
struct scout_answer {
	struct scout_question q; /* without its path and end */
	int status;		 /* 0, -ESRCH, or -ETIMEDOUT: the process's own files are silent */
	uint64_t at_ns;		 /* true at this moment, or later */
	const struct scout_area *areas;
	const struct scout_file *files;
	const struct scout_call *calls;
	const char *text;
	size_t n_areas, n_files, n_calls, n_text;
};

typedef void scout_fn(void *ctx, const struct scout_answer *a);
/* Called again and again while scout_wait() waits; false: stop waiting. */
typedef bool scout_idle_fn(void *ctx);

/*
 * Call before the first thread is made: the child keeps a copy of the caller's memory, with any
 * lock in it that is held now. NULL with the message set.
 */
struct scout *scout_new(void);
/* Waits for nobody. */
void scout_free(struct scout *s);
void scout_on(struct scout *s, enum scout_kind kind, scout_fn *fn, void *ctx);
void scout_set_idle(struct scout *s, scout_idle_fn *fn, void *ctx);

/* Returns the question's number, also if it is out already; 0: refused. `due`: at any cost. */
uint64_t scout_ask(struct scout *s, const struct scout_question *q, bool due);
/* Hands out the answers that have come. */
void scout_pump(struct scout *s);
/* Waits for an answer, up to max_ns; false: it has not come. With number 0 false at once. */
bool scout_wait(struct scout *s, uint64_t number, uint64_t max_ns, bool due);
/* Waits for all answers. */
bool scout_wait_all(struct scout *s, uint64_t max_ns);

/* CPU time of the child, by the answers that have come. */
uint64_t scout_cpu_ns(const struct scout *s);

#endif
