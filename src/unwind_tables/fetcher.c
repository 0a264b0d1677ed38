// SPDX-License-Identifier: MIT
#include "unwind_tables/fetcher.h"

#include <errno.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"
#include "elf/elf.h"
#include "scout/silent.h"
#include "symbol/porter.h"
#include "symbol/standing.h"
#include "unwind/pack.h"
#include "unwind_tables/kept.h"

static const struct silent_patience patience = {.disk_ns = 5 * NSEC_PER_SEC,
						.other_ns = 2 * NSEC_PER_SEC,
						.impatient_ns = NSEC_PER_SEC / 2,
						.stalls = 2};
enum {
	/* Children that do not end. From half on, ask only devices that have answered. */
	LEFT_MAX = 32,
};

struct fetcher {
	struct kept *kept;
	struct standing_rules rules;
	struct porter porter;
	struct standing reader;
	struct left left;
	struct silent silent;
	struct map known; /* devices that have given a table */
	unsigned stalls;
};

/* ---- in the child ---- */

static int read_object(int fd, struct buf *answer)
{
	struct unwind_table *t;
	struct elf *e;
	int rc = elf_open_fd(fd, &e);

	if (rc)
		return rc;
	rc = unwind_table_build(e, &t);
	elf_free(e);
	if (rc)
		return rc;
	unwind_pack(t, answer);
	unwind_table_free(t);
	return 0;
}

static const struct standing_rules reader_rules = {
	.answer = read_object,
	.cpu_ns = 5 * NSEC_PER_SEC,
	.still_ns = 2 * NSEC_PER_SEC, /* of no file in particular */
	.answer_max = UNWIND_PACK_MAX,
	.memory = 1ull << 30,
};

/* ---- in the thread ---- */

struct fetcher *fetcher_new(struct kept *kept, int nice)
{
	struct fetcher *f = mem_zalloc(sizeof(*f));

	f->kept = kept;
	f->rules = reader_rules;
	f->rules.nice = nice;
	standing_init(&f->reader, &f->rules);
	porter_init(&f->porter, patience.other_ns);
	f->reader.left = f->porter.left = &f->left;
	/* Not from the builder's thread: a child would inherit malloc's locks as held by others. */
	(void)porter_start(&f->porter);
	(void)standing_start(&f->reader);
	return f;
}

void fetcher_free(struct fetcher *f)
{
	if (!f)
		return;
	left_done(&f->left);
	silent_done(&f->silent);
	map_done(&f->known);
	free(f);
}

void fetcher_stop(struct fetcher *f)
{
	standing_done(&f->reader);
	porter_done(&f->porter);
}

static int hand_over(void *porter, int socket)
{
	return porter_hand_over(porter, socket);
}

/* Asks for the table of the file that the porter holds. */
static int ask_reader(struct fetcher *f, struct unwind_table **ret)
{
	struct buf bytes = {0};
	int rc = standing_ask_by(&f->reader, hand_over, &f->porter, &bytes);

	if (!rc)
		rc = unwind_unpack(&bytes, ret);
	buf_done(&bytes);
	return rc;
}

/* An unknown device may be asked, unless too many children are stuck. */
static bool is_spared(struct fetcher *f, uint64_t dev)
{
	size_t left = left_count(&f->left);

	return silent_is(&f->silent, dev, clock_mono_ns()) || left >= LEFT_MAX ||
	       (left >= LEFT_MAX / 2 && !map_get(&f->known, dev));
}

static void note_stall(struct fetcher *f, uint64_t dev)
{
	f->stalls++;
	silent_note(&f->silent, dev, clock_mono_ns());
}

/*
 * By now the path may lead to a file system that some user serves. So silence here does not count
 * against a disk, and it is not certain that the file is on it.
 */
static int find_file(struct fetcher *f, const struct opener_want *w, struct opener_facts *ret)
{
	int rc;

	f->porter.still_ns = silent_patience(&patience, w->dev, false, f->stalls);
	rc = porter_fetch(&f->porter, w, ret);
	if (rc == -EHOSTDOWN)
		note_stall(f, silent_is_disk(w->dev) ? 0 : w->dev);
	return rc;
}

/* Now the file is open, and its device known for certain. */
static int read_file(struct fetcher *f, struct fetched *got, struct unwind_table **ret)
{
	int rc;

	f->porter.still_ns = silent_patience(&patience, got->facts.dev, true, f->stalls);
	f->reader.still_ns = f->porter.still_ns;
	*ret = kept_get(f->kept, &got->facts);
	got->kept = *ret;
	rc = *ret ? porter_drop(&f->porter) : ask_reader(f, ret);
	if (rc == -EHOSTDOWN)
		note_stall(f, got->facts.dev);
	return rc;
}

struct unwind_table *fetcher_get(struct fetcher *f, const struct opener_want *w,
				 struct fetched *ret)
{
	struct unwind_table *t = NULL;
	int rc;

	*ret = (struct fetched){.silent = is_spared(f, w->dev)};
	if (ret->silent)
		return NULL;
	rc = find_file(f, w, &ret->facts);
	if (!rc)
		rc = read_file(f, ret, &t);
	if (!rc && w->dev)
		map_put(&f->known, w->dev, NULL);
	ret->silent = rc == -EHOSTDOWN && !t;
	return t;
}

/* ---- for the others ---- */

void fetcher_cancel(struct fetcher *f)
{
	__atomic_store_n(&f->reader.cancelled, true, __ATOMIC_RELAXED);
	__atomic_store_n(&f->porter.cancelled, true, __ATOMIC_RELAXED);
}

void fetcher_hurry(struct fetcher *f)
{
	__atomic_store_n(&f->reader.haste.asked, true, __ATOMIC_RELAXED);
	__atomic_store_n(&f->porter.haste.asked, true, __ATOMIC_RELAXED);
}

bool fetcher_stands_still(const struct fetcher *f)
{
	return __atomic_load_n(&f->reader.still, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&f->porter.still, __ATOMIC_RELAXED);
}

uint64_t fetcher_cpu_ns(const struct fetcher *f)
{
	return f->reader.cpu_ns + f->porter.cpu_ns;
}
