// SPDX-License-Identifier: MIT
/* What /proc says of threads that live, are exiting and have ended. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "scout/procfs.h"

static void test_lives(void **state)
{
	uint32_t me = (uint32_t)getpid();

	/* A name that looks like what is searched for. */
	prctl(PR_SET_NAME, "x\nState:\tZ");
	assert_int_equal(procfs_life(me, me), LIFE_LIVES);
}

static void test_ended(void **state)
{
	pid_t pid = fork();
	siginfo_t info;

	if (!pid)
		_exit(0);
	/* A zombie has ended, and so has one whom nobody remembers. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(procfs_life((uint32_t)pid, (uint32_t)pid), LIFE_ENDED);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(procfs_life((uint32_t)pid, (uint32_t)pid), LIFE_ENDED);
}

/* Who has given up its memory looks like a kernel thread, which never had any. */
static void test_without_memory(void **state)
{
	char name[64];

	if (!procfs_name(2, 2, name, sizeof(name)) || strcmp(name, "kthreadd") != 0)
		skip();
	assert_int_equal(procfs_life(2, 2), LIFE_EXITING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lives),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
