// SPDX-License-Identifier: MIT
/*
 * tables FILE...: builds the unwind table of each file, as a recording does when it meets one, and
 * prints what it came to: a JSON array with an object a file. `ms` is the least CPU time of ROUNDS,
 * from the open descriptor to the table; the file is in the page cache by then.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/units.h"
#include "elf/elf.h"
#include "unwind/table.h"

#define ROUNDS 5

struct result {
	size_t rows, rules, leaves, bytes;
	uint64_t text, eh_frame;
	uint64_t best_ns;
};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static void describe(const struct elf *e, const struct unwind_table *t, struct result *r)
{
	const struct elf_section *s = elf_section(e, ".eh_frame");
	uint64_t begin, end;

	r->rows = t->n_rows;
	r->rules = t->n_rules;
	r->leaves = t->n_leaves;
	r->bytes = 4 * unwind_table_size(t);
	r->eh_frame = s ? s->size : 0;
	r->text = elf_text_range(e, &begin, &end) ? end - begin : 0;
}

static int build(int fd, struct result *r)
{
	struct unwind_table *t = NULL;
	uint64_t begin = cpu_ns(), ns;
	struct elf *e;
	int rc = elf_open_fd(fd, &e);

	if (rc)
		return rc;
	rc = unwind_table_build(e, &t);
	if (!rc) {
		ns = cpu_ns() - begin;
		if (!r->best_ns || ns < r->best_ns)
			r->best_ns = ns;
		describe(e, t, r);
		unwind_table_free(t);
	}
	elf_free(e);
	return rc;
}

static int measure(const char *path, struct result *r)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;

	if (fd < 0)
		return err_set(-errno, "%s: %s", path, strerror(errno));
	for (int i = 0; i < ROUNDS && !rc; i++)
		rc = build(fd, r);
	close(fd);
	return rc;
}

int main(int argc, char **argv)
{
	struct json j;

	json_init(&j, stdout);
	json_arr(&j, NULL);
	for (int i = 1; i < argc; i++) {
		struct result r = {0};
		int rc = measure(argv[i], &r);

		json_obj(&j, NULL);
		json_str(&j, "path", argv[i]);
		json_str(&j, "error", rc ? err_msg() : NULL);
		json_u64(&j, "text", r.text);
		json_u64(&j, "eh_frame", r.eh_frame);
		json_u64(&j, "rows", r.rows);
		json_u64(&j, "rules", r.rules);
		json_u64(&j, "leaves", r.leaves);
		json_u64(&j, "bytes", r.bytes);
		json_f64(&j, "ms", (double)r.best_ns / 1e6);
		json_obj_end(&j);
	}
	json_arr_end(&j);
	return fflush(stdout) || ferror(stdout);
}
