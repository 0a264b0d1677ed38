// SPDX-License-Identifier: MIT
/*
 * A capture is read in steps, and a page asks in between how far it is: what it is told is ready,
 * is ready, wherever a step ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "query/query.h"
#include "store/writer.h"

/* So many that one less than all of them is all of them to six digits. */
enum { EVENTS = 2100000 };

static char path[] = "/tmp/thaw-open-XXXXXX";

static int write_capture(void **state)
{
	struct writer_opts opts = {.no_sync = true};
	struct event ev = {.ts = 1000, .kind = EV_MARK, .mark = {MARK_BEGIN}};
	struct writer *w;
	int fd = mkstemp(path);

	if (fd < 0 || close(fd) || unlink(path) || writer_open(path, &opts, &w))
		return -1;
	writer_event(w, &ev);
	ev = (struct event){.ts = 1000, .kind = EV_THREAD, .thread = {7, 7, 0, 0, "worker"}};
	writer_event(w, &ev);
	for (unsigned i = 2; i < EVENTS; i++) {
		ev = (struct event){.ts = 1000 + i,
				    .kind = EV_SWITCH,
				    .switch_ = {i % 2 ? 7 : 0, i % 2 ? 0 : 7}};
		ev.switch_.state = i % 2;
		writer_event(w, &ev);
	}
	return writer_close(w, END_DONE);
}

static int remove_capture(void **state)
{
	return unlink(path);
}

/* The answer after another step of so many events. */
static void check_step(struct query *q, uint64_t events, bool done)
{
	struct buf answer = {0};
	const char *progress;

	assert_int_equal(query_step(q, events), done ? 0 : 1);
	assert_int_equal(query_ask(q, "open", &answer), 0);
	progress = strstr(buf_cstr(&answer), "\"progress\":");
	assert_non_null(progress);
	assert_int_equal(strtod(progress + strlen("\"progress\":"), NULL) >= 1, done);
	assert_int_equal(strstr(buf_cstr(&answer), "\"threads\":") != NULL, done);
	buf_done(&answer);
}

static void test_ready_is_ready(void **state)
{
	struct query *q;

	assert_int_equal(query_open(path, &q), 0);
	check_step(q, EVENTS / 2, false);
	check_step(q, EVENTS - 1 - EVENTS / 2, false);
	check_step(q, 1, false); /* all are read, but nobody has seen that no more come */
	check_step(q, 1, true);
	query_close(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ready_is_ready),
	};

	return cmocka_run_group_tests(tests, write_capture, remove_capture);
}
