// SPDX-License-Identifier: MIT
/*
 * The kernel's functions from /proc/kallsyms: "ffffffff81000000 T name" or, in a module,
 * "ffffffffc0000000 t name\t[module]". The text becomes the table's names as it is: each line is
 * terminated in place, and "name [module]" is the name of a module's function.
 *
 * kallsyms has no sizes. A function reaches to the next symbol; the limit only matters behind the
 * last function of the kernel and of each module.
 */
#include "symbol/symbol.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "symbol/table.h"

#define KALLSYMS_BYTES_MAX (128u << 20)
#define FUNCTION_MAX (128u << 10)

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

static void parse_line(struct symbols *s, const char *line, const char *end, uint64_t *nonzero)
{
	const char *p = line;
	uint64_t address;
	char type;

	if (!parse_address(&p, end, &address) || end - p < 3 || p[1] != ' ')
		return;
	type = *p;
	*nonzero |= address;
	if (type != 't' && type != 'T' && type != 'w' && type != 'W')
		return;
	table_add(s, &(struct table_sym){
			     .begin = address,
			     .end = address,
			     .name = (uint32_t)(p + 2 - (const char *)s->names.p),
			     .is_func = true,
			     .exported = type != 't',
		     });
}

int kallsyms_parse(struct buf *text, struct symbols **ret)
{
	uint64_t nonzero = 0;
	struct symbols *s;
	char *p, *end;

	for (size_t i = 0; i < text->len; i++)
		if (text->p[i] == '\n')
			text->p[i] = '\0';
		else if (text->p[i] == '\t')
			text->p[i] = ' ';
	s = table_new(text);
	p = (char *)s->names.p;
	end = p + s->names.len;
	while (p < end) {
		char *stop = p + strlen(p);

		parse_line(s, p, stop, &nonzero);
		p = stop + 1;
	}
	if (!nonzero) {
		symbols_free(s);
		return err_set(-EPERM, "the kernel hides its addresses (kernel.kptr_restrict): run "
				       "as root, or set it to 0, to see kernel functions by name");
	}
	table_build(s, FUNCTION_MAX);
	*ret = s;
	return 0;
}

static int read_all(int fd, struct buf *b)
{
	for (;;) {
		ssize_t n;

		buf_reserve(b, 1 << 20);
		n = read(fd, b->p + b->len, b->room - b->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(-errno, "/proc/kallsyms: %s", strerror(errno));
		if (n == 0)
			return 0;
		b->len += (size_t)n;
		if (b->len > KALLSYMS_BYTES_MAX)
			return err_set(-EFBIG, "/proc/kallsyms is too large");
	}
}

int symbols_load_kernel(struct symbols **ret)
{
	struct buf text = {0};
	int rc, fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(-errno, "/proc/kallsyms: %s", strerror(errno));
	rc = read_all(fd, &text);
	close(fd);
	rc = rc ? rc : kallsyms_parse(&text, ret);
	buf_done(&text);
	return rc;
}
