/* SPDX-License-Identifier: MIT */
/*
 * The file systems that did not answer, by device: each is left alone for a while. One that answers
 * after all, as a slow disk does, may be asked again at once. That happens only a few times,
 * because each silence costs a wait.
 */
#ifndef THAW_SCOUT_SILENT_H
#define THAW_SCOUT_SILENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "base/vec.h"

#define SILENT_SPARE_NS (10 * NSEC_PER_SEC)

struct silent_device {
	uint64_t dev, since;
	unsigned excused; /* how often it has answered after all */
	bool alive;
};

struct silent {
	VEC(struct silent_device) devices;
};

/*
 * Is it a block device? Those are slow at times, but hardly ever silent, and deserve more patience.
 * File systems that a network or a process serves have major number 0.
 */
bool silent_is_disk(uint64_t dev);

/* How long to wait for an answer, and after how many silences for less. */
struct silent_patience {
	uint64_t disk_ns, other_ns, impatient_ns;
	unsigned stalls;
};
/*
 * For a file on this device (0: not known), after so many stalls of any. A disk is always worth its
 * wait; but if it is not certain that the file is there, somebody may only have made it look so.
 */
uint64_t silent_patience(const struct silent_patience *p, uint64_t dev, bool certain,
			 unsigned stalls);
/* Is it to be left alone? An unknown device (0) never is. */
bool silent_is(const struct silent *s, uint64_t dev, uint64_t now);
/* It did not answer. */
void silent_note(struct silent *s, uint64_t dev, uint64_t now);
/* It has answered after all. */
void silent_excuse(struct silent *s, uint64_t dev);
void silent_done(struct silent *s);

#endif
