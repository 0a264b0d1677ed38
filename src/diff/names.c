// SPDX-License-Identifier: MIT
#include "diff/names.h"

#include <ctype.h>
#include <string.h>

#include "report/frames.h"

uint64_t diff_key(unsigned kind, const char *name, const char *where)
{
	return map_mix(map_hash_bytes(name, strlen(name)) +
		       3 * map_hash_bytes(where, strlen(where)) + kind);
}

const char *diff_function_name(struct buf *b, const struct function *f)
{
	buf_clear(b);
	buf_printf(b, "%s", f->named ? f->name : "[no symbol]");
	return buf_cstr(b);
}

/* The length of a name without an offset at its end: "server+0x40". */
static size_t without_offset(const char *name)
{
	size_t n = strlen(name), at = n;

	while (at && isxdigit((unsigned char)name[at - 1]))
		at--;
	return at < n && at > 3 && !strncmp(&name[at - 3], "+0x", 3) ? at - 3 : n;
}

const char *diff_place_name(struct buf *b, struct names *names, uint32_t kstack, uint32_t ustack)
{
	const char *picked[PATH_FRAMES];
	size_t n = frames_telling(names, kstack, ustack, picked);

	buf_clear(b);
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "%s%.*s", i ? " > " : "", (int)without_offset(picked[i]), picked[i]);
	return buf_cstr(b);
}

/* Numbers of this one recording: " (412)" of a process, "inode 77", "CPU 3". */
static void put_without_numbers(struct buf *b, const char *name)
{
	static const char *const before[] = {"inode ", "CPU "};

	while (*name) {
		bool number = false;

		if (name[0] == ' ' && name[1] == '(') {
			size_t digits = strspn(name + 2, "0123456789");

			if (digits && name[2 + digits] == ')' && !name[3 + digits])
				return;
		}
		for (size_t i = 0; i < ARRAY_LEN(before); i++) {
			size_t n = strlen(before[i]);

			if (strncmp(name, before[i], n) || !isdigit((unsigned char)name[n]))
				continue;
			buf_printf(b, "%.*s", (int)n - 1, name);
			name += n + strspn(name + n, "0123456789");
			number = true;
			break;
		}
		if (!number)
			buf_put_u8(b, (uint8_t)*name++);
	}
}

const char *diff_lock_name(struct buf *b, struct names *names, const struct lock_sum *l)
{
	const char *picked[PATH_FRAMES];
	size_t n;

	buf_clear(b);
	if (l->named) {
		put_without_numbers(b, l->name);
		return buf_cstr(b);
	}
	n = l->waiters.n
		    ? frames_telling(names, l->waiters.v[0].kstack, l->waiters.v[0].ustack, picked)
		    : 0;
	if (n)
		buf_printf(b, "one in %.*s", (int)without_offset(picked[n - 1]), picked[n - 1]);
	else
		buf_printf(b, "one without a name");
	return buf_cstr(b);
}
