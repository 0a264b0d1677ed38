/* SPDX-License-Identifier: MIT */
/*
 * Recordings that other tools made become captures, so that every view works on them. An importer
 * is one file, one const struct, one row of import.c's table.
 *
 * What the source does not hold is not made up: the capture's facts say what was not recorded
 * (wire/unseen.def), and views leave it out. Nobody vouches for the bytes: each importer is bounded
 * in memory, and ends with a clear error where they make no sense.
 */
#ifndef THAW_IMPORT_IMPORT_H
#define THAW_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_opts {
	const char *path, *output;
	const char *format; /* NULL: by its first bytes */
	const char *event;  /* perf.data: whose samples are taken; NULL: the first that has some */
	uint64_t divide;    /* collapsed: so many counts are one sample; 0: each is one */
	uint64_t freq_hz;   /* collapsed: the rate at which it was sampled; 0: not known */
	bool no_names;	    /* functions are not looked up (tests) */
	/* Now and then: how much is done, 0 to 1. */
	void (*progress)(void *arg, double done);
	void *progress_arg;
};

struct import_result {
	const char *format;
	uint64_t events, samples, threads, bytes;
	uint64_t span_ns; /* from the first to the last event; 0: without times */
	uint64_t lost;	  /* records that the source says are missing, or that could not be read */
	char saved_as[4200]; /* where a capture of the same name went, or "" */
	char notes[768];     /* what the user should know; "" if nothing */
};

struct importer {
	const char *name, *words;
	/* By the first bytes of a file, up to IMPORT_HEAD. */
	bool (*knows)(const uint8_t *head, size_t n);
	/* fd is at the start of a regular file. Makes the capture, or leaves none. */
	int (*run)(const struct import_opts *o, int fd, struct import_result *ret);
};

#define IMPORT_HEAD 4096

extern const struct importer import_perfdata, import_collapsed;

/* Those that there are; NULL at the end. */
const struct importer *import_at(size_t i);
/* On failure no capture is left behind. */
int import_file(const struct import_opts *o, struct import_result *ret);

/* Appends words to the notes. */
void import_note(struct import_result *res, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
