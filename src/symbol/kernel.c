// SPDX-License-Identifier: MIT
/*
 * The kernel's functions from /proc/kallsyms: "ffffffff81000000 T name" or, in a module,
 * "ffffffffc0000000 t name\t[module]". The text becomes the table's names as it is: each line is
 * terminated in place, and "name [module]" is the name of a module's function.
 *
 * kallsyms has no sizes. A function reaches to the next symbol; the limit only matters after the
 * last function of the kernel and of each module.
 *
 * Data (a lock, a struct with one in it) is listed if the kernel was built with KALLSYMS_ALL.
 * Without that, only the borders of sections and a few others are listed. Then a name holds for its
 * first byte alone, because unknown data may lie between two names.
 */
#include "symbol/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "symbol/kernel_kept.h"
#include "symbol/table.h"

#define KALLSYMS_BYTES_MAX (128u << 20)
#define FUNCTION_MAX (128u << 10)
#define DATA_MAX (64u << 10)

/* The digits before a space; false if there are none, too many, or others. */
static bool parse_address(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at;
	uint64_t v = 0;

	for (; p < end && p - *at <= 16 && *p != ' '; p++) {
		char c = *p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else
			return false;
	}
	if (p == *at || p == end || p - *at > 16)
		return false;
	*at = p + 1;
	*ret = v;
	return true;
}

struct parsing {
	struct symbols *s;
	bool data;
	uint64_t nonzero;
	bool whole; /* unexported variables are listed, too */
};

static bool is_data(const char *name, char type)
{
	static const char *const borders[] = {"__start_", "__stop_", "__end_", "__begin_"};

	for (size_t i = 0; i < ARRAY_LEN(borders); i++)
		if (!strncmp(name, borders[i], strlen(borders[i])))
			return false;
	return strchr("bBdDrRvV", type);
}

static void parse_line(struct parsing *x, const char *line, const char *end)
{
	const char *p = line;
	uint64_t address;
	char type;

	if (!parse_address(&p, end, &address) || end - p < 3 || p[1] != ' ' || !*p)
		return;
	type = *p;
	x->nonzero |= address;
	x->whole |= type == 'd' || type == 'b';
	if (x->data ? !is_data(p + 2, type)
		    : type != 't' && type != 'T' && type != 'w' && type != 'W')
		return;
	table_add(x->s, &(struct table_sym){
				.begin = address,
				.end = address,
				.name = (uint32_t)(p + 2 - (const char *)x->s->names.p),
				.is_func = true,
				.exported = !strchr("tbdr", type),
			});
}

static int symbol_kernel_parse(struct buf *text, bool data, struct symbols **ret)
{
	struct parsing x = {.data = data};
	char *p, *end;

	for (size_t i = 0; i < text->len; i++)
		if (text->p[i] == '\n')
			text->p[i] = '\0';
		else if (text->p[i] == '\t')
			text->p[i] = ' ';
	x.s = table_new(text);
	p = (char *)x.s->names.p;
	end = p + x.s->names.len;
	while (p < end) {
		char *stop = p + strlen(p);

		parse_line(&x, p, stop);
		p = stop + 1;
	}
	if (!x.nonzero) {
		symbols_free(x.s);
		return err_set(-EPERM, "the kernel hides its addresses (kernel.kptr_restrict): run "
				       "as root, or set it to 0, to see kernel functions by name");
	}
	table_build(x.s, !data ? FUNCTION_MAX : x.whole ? DATA_MAX : 1);
	*ret = x.s;
	return 0;
}

int kallsyms_parse(struct buf *text, struct symbols **ret)
{
	return symbol_kernel_parse(text, false, ret);
}

int kallsyms_parse_data(struct buf *text, struct symbols **ret)
{
	return symbol_kernel_parse(text, true, ret);
}

static int kernel_read_all(int fd, struct buf *b)
{
	for (;;) {
		ssize_t n;

		buf_reserve(b, 1 << 20);
		n = read(fd, b->p + b->len, b->room - b->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(-errno, "what the kernel has: %s", strerror(errno));
		if (n == 0)
			return 0;
		b->len += (size_t)n;
		if (b->len > KALLSYMS_BYTES_MAX)
			return err_set(-EFBIG, "what the kernel has is too large");
	}
}

/* Where the line of a name is; 0 if there is none. */
static uint64_t address_of(const struct buf *text, const char *line_end)
{
	const char *p = memmem(text->p, text->len, line_end, strlen(line_end));
	const char *line = p ? memrchr(text->p, '\n', (size_t)(p - (char *)text->p)) : NULL;
	uint64_t address = 0;

	line = line ? line + 1 : (const char *)text->p;
	return p && parse_address(&line, p, &address) ? address : 0;
}

static int kernel_load(enum kernel_part part, struct symbols **ret, uint64_t *ret_end)
{
	struct buf text = {0};
	int rc, fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(-errno, "/proc/kallsyms: %s", strerror(errno));
	rc = kernel_read_all(fd, &text);
	close(fd);
	if (!rc && part == KERNEL_CODE)
		*ret_end = address_of(&text, " _etext\n");
	rc = rc ? rc : symbol_kernel_parse(&text, part == KERNEL_DATA, ret);
	buf_done(&text);
	return rc;
}

static struct symbols *kernel_get_kept(struct kept *k, const struct kernel_ref *ref,
				       enum kernel_part part, const uint64_t *at, size_t n,
				       bool *ret_kept)
{
	struct buf modules = {0};
	struct symbols *s = NULL;
	int fd = open("/proc/modules", O_RDONLY | O_CLOEXEC);

	/* A kernel without modules does not have the file. */
	if (fd < 0 ? errno == ENOENT : !kernel_read_all(fd, &modules))
		s = kernel_kept_get(k, ref, part, at, n, buf_cstr(&modules), ret_kept);
	if (fd >= 0)
		close(fd);
	buf_done(&modules);
	return s;
}

static int load_part(struct kept *k, enum kernel_part part, const uint64_t *at, size_t n,
		     struct symbols **ret, bool *ret_all)
{
	struct kernel_ref ref;
	bool known = k && kernel_ref_here(&ref), kept = false;
	uint64_t end = UINT64_MAX;
	int rc;

	*ret = known ? kernel_get_kept(k, &ref, part, at, n, &kept) : NULL;
	*ret_all = !*ret;
	if (*ret)
		return 0;
	rc = kernel_load(part, ret, &end);
	if (!rc && known && !kept)
		kernel_kept_put(k, &ref, part, *ret, end);
	return rc;
}

int symbols_load_kernel_at(struct kept *k, const uint64_t *at, size_t n, struct symbols **ret,
			   bool *ret_all)
{
	return load_part(k, KERNEL_CODE, at, n, ret, ret_all);
}

int symbols_load_kernel_data(struct kept *k, const uint64_t *at, size_t n, struct symbols **ret)
{
	bool all;

	return load_part(k, KERNEL_DATA, at, n, ret, &all);
}

bool symbols_data_at(const struct symbols *s, uint64_t address, struct symbols_data *ret)
{
	const struct table_sym *sym = table_find(s, address, NULL);

	if (!sym)
		return false;
	*ret = (struct symbols_data){
		.name = table_name(s, sym), .begin = sym->begin, .size = sym->end - sym->begin};
	return true;
}
