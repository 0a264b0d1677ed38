// SPDX-License-Identifier: MIT
#include "collect/asleep_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/host.h"
#include "base/mem.h"
#include "wire/state.h"

enum how { HOW_NONE, HOW_FD, HOW_PATH, HOW_AT };

static enum how how_of(unsigned nr)
{
	static const struct {
		const char *name;
		enum how how;
	} calls[] = {
#define FILE_CALL(name, how) {#name, HOW_##how},
#include "collect/file_call.def"
	};
	const char *name = arch_call(arch_find(ARCH_NAME), nr);

	for (size_t i = 0; name && i < ARRAY_LEN(calls); i++)
		if (!strcmp(calls[i].name, name))
			return calls[i].how;
	return HOW_NONE;
}

/* Pipes and sockets are not in a file system. At a terminal only a thread in state D is stuck. */
static bool may_be_stuck(const struct pr_asleep *a)
{
	switch ((a->call & CALL_FILE) >> CALL_FILE_SHIFT) {
	case FILE_PIPE:
	case FILE_SOCKET:
	case FILE_ANON:
		return false;
	case FILE_CHAR:
		return a->state & STATE_UNINTERRUPTIBLE;
	default:
		return true;
	}
}

bool asleep_file_question(const struct pr_asleep *a, struct scout_question *ret)
{
	uint32_t nr = a->call & CALL_NR;

	if (!nr || !a->pc || a->call & (CALL_COMPAT | CALL_FAULT) ||
	    !(a->state & (STATE_INTERRUPTIBLE | STATE_UNINTERRUPTIBLE)))
		return false;
	*ret = (struct scout_question){.kind = SCOUT_FILE, .pid = a->pid, .tid = a->tid};
	switch (how_of(nr - 1)) {
	case HOW_FD:
		ret->fd = (int32_t)a->arg[0];
		return may_be_stuck(a);
	case HOW_PATH:
		ret->fd = AT_FDCWD;
		ret->start = a->arg[0];
		return ret->start;
	case HOW_AT:
		ret->fd = (int32_t)a->arg[0];
		ret->start = a->arg[1];
		return true;
	case HOW_NONE:
		break;
	}
	return false;
}

static size_t count_zeroes(const char *s, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += !s[i];
	return count;
}

/* If the second look gets no answer, the first one stands. */
void asleep_file_take(struct asleep_file *f, const struct scout_answer *a)
{
	if (a->status || count_zeroes(a->text, a->n_text) != 3)
		return;
	if (f->text) {
		f->changed |= f->len != a->n_text || memcmp(f->text, a->text, f->len) != 0;
		return;
	}
	f->text = mem_alloc(a->n_text);
	f->len = a->n_text;
	memcpy(f->text, a->text, f->len);
}

bool asleep_file_event(const struct asleep_file *f, uint32_t tid, struct ev_file *ret)
{
	const char *type, *source;

	if (!f->text)
		return false;
	type = f->text + strlen(f->text) + 1;
	source = type + strlen(type) + 1;
	*ret = (struct ev_file){.tid = tid, .path = f->text, .fstype = type, .source = source};
	if (f->changed)
		ret->path = ret->fstype = ret->source = "";
	return true;
}

void asleep_file_done(struct asleep_file *f)
{
	free(f->text);
	*f = (struct asleep_file){0};
}
