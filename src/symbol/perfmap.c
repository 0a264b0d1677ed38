// SPDX-License-Identifier: MIT
/*
 * /tmp/perf-PID.map: lines of "HEXADDR HEXSIZE name". The JIT compiler appends a line whenever it
 * has made code, also where other code was before: of the lines that cover an address, the last one
 * is right. So lines are read from the last to the first, and each takes the addresses that are
 * still free. Taken ones are skipped at once, so that the work is proportional to the lines and
 * addresses, however often they overlap.
 *
 * Anybody may put a file of that name into /tmp. Thaw believes it only if it is a regular file, not
 * a link, belongs to the process's user or to root, and nobody else can write to it.
 */
#include "symbol/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/search.h"
#include "base/vec.h"
#include "symbol/answer.h"
#include "symbol/demangle.h"
#include "symbol/opener.h"
#include "symbol/sandbox.h"

#define MAP_BYTES_MAX (512u << 20)
#define LINES_MAX (8u << 20)

struct line {
	uint64_t begin, end;
	uint32_t name;
};

/* A number and the space after it. */
static uint64_t take_hex(struct cursor *c)
{
	uint64_t v = 0;
	size_t digits = 0;

	if (cur_left(c) > 2 && c->base[c->pos] == '0' && (c->base[c->pos + 1] | 0x20) == 'x')
		cur_skip(c, 2);
	for (;; digits++) {
		uint8_t ch = cur_u8(c), low = ch | 0x20;

		if (ch == ' ' && digits)
			return v;
		if (digits == 16 || !cur_ok(c))
			break;
		if (ch >= '0' && ch <= '9')
			v = v << 4 | (uint64_t)(ch - '0');
		else if (low >= 'a' && low <= 'f')
			v = v << 4 | (uint64_t)(low - 'a' + 10);
		else
			break;
	}
	c->bad = true;
	return 0;
}

static bool take_line(struct cursor *all, size_t len, struct line *ret)
{
	size_t start = all->pos;
	struct cursor c = cur_take(all, len);
	uint64_t begin = take_hex(&c), size = take_hex(&c);

	if (!cur_ok(&c) || cur_end(&c) || !c.base[c.pos] || !size || size > UINT64_MAX - begin)
		return false;
	*ret = (struct line){begin, begin + size, (uint32_t)(start + c.pos)};
	return true;
}

static size_t first_at_or_above(const uint64_t *v, size_t n, uint64_t x)
{
	return SEARCH(0, n, mid, v[mid] < x);
}

/* The first one from i on that is still free; next[i] == i means free, next[n] == n. */
static size_t next_free(uint32_t *next, size_t i)
{
	while (next[i] != i) {
		next[i] = next[next[i]];
		i = next[i];
	}
	return i;
}

void perfmap_find(char *text, size_t len, const uint64_t *addresses, size_t n, const char **names)
{
	struct cursor c = cur_init(text, len);
	VEC(struct line) lines = {0};
	uint32_t *next = mem_alloc((n + 1) * sizeof(*next));

	for (size_t i = 0; i <= n; i++)
		next[i] = (uint32_t)i;
	memset(names, 0, n * sizeof(*names));
	while (!cur_end(&c) && lines.n < LINES_MAX) {
		char *nl = memchr(text + c.pos, '\n', cur_left(&c));
		struct line l;

		/* A last line without its end is still being written. */
		if (!nl)
			break;
		if (take_line(&c, (size_t)(nl - text) - c.pos, &l)) {
			vec_push(&lines, l);
			*nl = '\0';
		}
		cur_skip(&c, 1);
	}
	for (size_t k = lines.n; k-- > 0;) {
		const struct line *l = &lines.v[k];
		size_t i = next_free(next, first_at_or_above(addresses, n, l->begin));

		for (; i < n && addresses[i] < l->end; i = next_free(next, i)) {
			names[i] = text + l->name;
			next[i] = (uint32_t)i + 1;
		}
	}
	vec_done(&lines);
	free(next);
}

/* ---- the file ---- */

static uint32_t pid_inside(uint32_t pid)
{
	char path[64], line[256];
	uint32_t inner = pid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *last = strrchr(line, '\t');

		if (!strncmp(line, "NSpid:", 6) && last)
			inner = (uint32_t)strtoul(last + 1, NULL, 10);
	}
	if (f)
		fclose(f);
	return inner;
}

/*
 * The process's user; if the process has ended, thaw's user, who usually started the program too.
 */
static uid_t user_of(uint32_t pid, bool *ret_alive)
{
	const char *caller = getenv("SUDO_UID");
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	*ret_alive = !stat(path, &st);
	if (*ret_alive)
		return st.st_uid;
	return geteuid() == 0 && caller ? (uid_t)strtoul(caller, NULL, 10) : geteuid();
}

static int check_owner(int fd, uid_t user)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_set(-errno, "cannot stat: %s", strerror(errno));
	if (st.st_uid != user && st.st_uid != 0)
		return err_set(-EPERM, "it belongs to user %u, the process to user %u", st.st_uid,
			       user);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(-EPERM, "others can write it");
	return 0;
}

int perfmap_open(uint32_t pid, int *ret_fd)
{
	char path[64];
	bool alive;
	uid_t user = user_of(pid, &alive);
	int fd, rc;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", alive ? pid_inside(pid) : pid);
	rc = opener_open_nofollow(alive ? pid : 0, path, &fd);
	if (rc)
		return rc;
	rc = check_owner(fd, user);
	if (rc) {
		close(fd);
		return err_add(rc, "%s is not believed", path);
	}
	*ret_fd = fd;
	return 0;
}

/* ---- the work ---- */

static void read_map(int fd, struct buf *b)
{
	ssize_t n;

	do {
		buf_reserve(b, 1 << 20);
		n = read(fd, b->p + b->len, b->room - b->len);
		b->len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && b->len < MAP_BYTES_MAX);
}

int perfmap_work(void *ctx)
{
	const struct perfmap_job *job = ctx;
	const char **names = mem_zalloc((job->n + 1) * sizeof(*names));
	struct answer a;
	struct buf text = {0};

	read_map(SANDBOX_FILES, &text);
	perfmap_find((char *)text.p, text.len, job->addresses, job->n, names);
	answer_init(&a, SANDBOX_ANSWER);
	for (size_t i = 0, next; i < job->n; i = next) {
		char *name = names[i] ? demangle(names[i]) : NULL;
		struct answer_frame frame = {.name = answer_string(&a, name)};

		for (next = i + 1; next < job->n && names[next] == names[i]; next++)
			;
		if (frame.name)
			answer_run(&a, i, next - i, &frame, 1);
		free(name);
	}
	return answer_end(&a);
}
