/* SPDX-License-Identifier: MIT */
/* What `thaw record` and the verbs that record for themselves share: options, plan, signals. */
#ifndef THAW_CMD_RECORDING_H
#define THAW_CMD_RECORDING_H

#include "base/options.h"
#include "base/vec.h"
#include "guard/verdict.h"
#include "record/session.h"

struct recording_opts {
	bool all, no_inherit, all_stacks;
	struct option_list pids, tids, accept;
	const char *cgroup, *engine, *max_overhead, *unwind_dir;
	uint64_t duration_ns, freq_hz, min_wait_ns, ring_bytes, unwind_bytes;
};

/* Unless something else is asked for. */
#define RECORDING_HZ 999
#define RECORDING_MIN_WAIT_NS 50000

/* Rows of an option table: `at` is the offset of a struct recording_opts. */
#define RECORDING_ROW_(letter, name, type, at, member, arg, help, min, max)                        \
	{                                                                                          \
		letter, name, type, (at) + offsetof(struct recording_opts, member), arg, help,     \
			min, max, 0                                                                \
	}
#define RECORDING_ALL_ROW(at)                                                                      \
	RECORDING_ROW_('a', "all", OPTION_FLAG, at, all, NULL, "the whole machine", 0, 0)
#define RECORDING_PID_ROW(at)                                                                      \
	RECORDING_ROW_('p', "pid", OPTION_STRV, at, pids, "PID|NAME",                              \
		       "a process, all its threads and its children", 0, 0)
#define RECORDING_TID_ROW(at)                                                                      \
	RECORDING_ROW_('t', "tid", OPTION_STRV, at, tids, "TID",                                   \
		       "a single thread, and what it starts", 0, 0)
#define RECORDING_CGROUP_ROW(at)                                                                   \
	RECORDING_ROW_(0, "cgroup", OPTION_STR, at, cgroup, "PATH",                                \
		       "a control group and those below it", 0, 0)
#define RECORDING_DURATION_ROW(at)                                                                 \
	RECORDING_ROW_('d', "duration", OPTION_DURATION, at, duration_ns, "TIME",                  \
		       "stop after that long: 500ms, 10s, 2m", 0, 0)
#define RECORDING_FREQ_ROW(at)                                                                     \
	RECORDING_ROW_('F', "freq", OPTION_U64, at, freq_hz, "HZ",                                 \
		       "samples a second on each CPU (999); 0: none", 0, 100000)
#define RECORDING_STACKS_ROW(at)                                                                   \
	RECORDING_ROW_(0, "all-stacks", OPTION_FLAG, at, all_stacks, NULL,                         \
		       "stacks for every wait, however short", 0, 0)
#define RECORDING_INHERIT_ROW(at)                                                                  \
	RECORDING_ROW_(0, "no-inherit", OPTION_FLAG, at, no_inherit, NULL,                         \
		       "without children, neither present nor future ones", 0, 0)
#define RECORDING_RING_ROW(at)                                                                     \
	RECORDING_ROW_(0, "ring-size", OPTION_SIZE, at, ring_bytes, "SIZE",                        \
		       "buffer per CPU, a power of two: 1M, 8M (by CPUs)", 4096, 64 << 20)
#define RECORDING_UNWIND_MEMORY_ROW(at)                                                            \
	RECORDING_ROW_(0, "unwind-memory", OPTION_SIZE, at, unwind_bytes, "SIZE",                  \
		       "for unwind tables: 64M, 1G (a 32nd of memory)", 8 << 20, 4ull << 30)
#define RECORDING_UNWIND_DIR_ROW(at)                                                               \
	RECORDING_ROW_(0, "unwind-cache", OPTION_STR, at, unwind_dir, "DIR",                       \
		       "where unwind tables and kernel names are kept; none: nowhere", 0, 0)
#define RECORDING_ENGINE_ROW(at)                                                                   \
	RECORDING_ROW_(0, "engine", OPTION_STR, at, engine, "NAME",                                \
		       "how to record: auto, bpf, perf or ctimer (auto)", 0, 0)

#define RECORDING_ACCEPT_ROW(at)                                                                   \
	RECORDING_ROW_(0, "accept", OPTION_STRV, at, accept, "ID",                                 \
		       "go on despite a finding of thaw doctor: H1", 0, 0)
#define RECORDING_OVERHEAD_ROW(at)                                                                 \
	RECORDING_ROW_(0, "max-overhead", OPTION_STR, at, max_overhead, "PERCENT",                 \
		       "of the machine's CPU time; above it, thaw steps back (3)", 0, 0)

/* The words of --engine: the i-th, NULL after the last. */
const char *recording_engine_word(size_t i);
/* For a form's list of words: those of the rows above. */
#define RECORDING_WORDS                                                                            \
	{"engine", recording_engine_word},                                                         \
	{                                                                                          \
		"accept", guard_accept_word                                                        \
	}

struct recording {
	struct plan plan;
	VEC(uint32_t) ids; /* the plan's */
};

/* How many of -a, -p, -t, --cgroup and a command (NULL or ending in NULL) were given. */
int recording_targets(const struct recording_opts *o, char *const *command);

/* -EINVAL with the message set. The plan points into the options and the command. */
int recording_plan(const struct recording_opts *o, char *const *command, const char *output,
		   struct recording *ret);
void recording_done(struct recording *rec);

/* Until the plan's end, or SIGINT, SIGTERM or SIGHUP; a second signal quits at once. */
int recording_run(const struct recording *rec, const struct session_hooks *hooks,
		  struct session_result *ret);

/* The hook of a session whose start takes long: prints to stderr what it waits for. */
void recording_tell_starting(void *ctx, const char *what, uint64_t elapsed_ns);

/* Prints to stderr the steps that the recording took to spare the machine. */
void recording_tell_steps(const struct session_result *res);

/*
 * What a shell would say of a recording that failed: 1; 126 or 127 for a command that cannot run.
 */
int recording_failed(const struct recording *rec, int rc, const struct session_result *res);

#endif
