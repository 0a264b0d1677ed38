// SPDX-License-Identifier: MIT
/*
 * What lies at an address, asked about this very process: the dynamic linker and the memory calls
 * know the truth.
 */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "scout/places.h"
#include "store/writer.h"
#include "wire/state.h"

int in_data[1024] = {1};
int in_bss[8192]; /* more than the page that .bss shares with .data */

struct fixture {
	char path[64];
	struct writer *w;
	struct procs *procs;
	struct places *places;
	struct scout *scout;
};

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->path, "/tmp/thaw-places.XXXXXX");
	close(mkstemp(f->path));
	unlink(f->path);
	/* Before the writer has its thread: a lock that it held would be held in the scout for
	 * ever.
	 */
	f->scout = scout_new();
	assert_non_null(f->scout);
	assert_int_equal(writer_open(f->path, &(struct writer_opts){.no_sync = true}, &f->w), 0);
	f->procs = procs_new(f->w);
	procs_set_scout(f->procs, f->scout);
	f->places = places_new(f->procs, f->scout);
	*state = f;
	return 0;
}

static int end(void **state)
{
	struct fixture *f = *state;

	places_free(f->places);
	procs_free(f->procs);
	scout_free(f->scout);
	assert_int_equal(writer_close(f->w, END_DONE), 0);
	unlink(f->path);
	free(f);
	return 0;
}

/* What is refused now is answered later: how often a process is read depends on what that costs. */
static struct ev_place ask_of(struct fixture *f, uint32_t pid, uint64_t at)
{
	struct ev_place p;

	for (int i = 0; !places_ask(f->places, pid, at, &p); i++) {
		assert_true(i < 10000);
		usleep(1000);
	}
	return p;
}

static struct ev_place ask(struct fixture *f, const void *at)
{
	struct ev_place p = ask_of(f, (uint32_t)getpid(), (uintptr_t)at);

	assert_int_equal(p.pid, getpid());
	assert_int_equal(p.addr, (uintptr_t)at);
	return p;
}

static int take_bias(struct dl_phdr_info *info, size_t size, void *arg)
{
	*(uint64_t *)arg = info->dlpi_addr;
	return 1; /* the first is the program itself */
}

static void data_and_bss_by_their_address_in_the_file(void **state)
{
	struct fixture *f = *state;
	struct ev_place data = ask(f, in_data), bss = ask(f, &in_bss[8191]);
	uint64_t bias = 0;

	dl_iterate_phdr(take_bias, &bias);
	assert_int_equal(data.kind, PLACE_MODULE);
	assert_int_equal(data.offset, (uintptr_t)in_data - bias);
	assert_int_equal(bss.kind, PLACE_MODULE);
	assert_int_equal(bss.offset, (uintptr_t)&in_bss[8191] - bias);
	assert_int_equal(bss.module, data.module);
}

static void data_of_a_library(void **state)
{
	struct fixture *f = *state;
	struct ev_place place = ask(f, &stdin), out = ask(f, stdout);

	/* stdin may be copied into the program; what it points to is libc's own. */
	assert_int_equal(place.kind, PLACE_MODULE);
	assert_int_equal(out.kind, PLACE_MODULE);
}

static void stack_and_anonymous(void **state)
{
	struct fixture *f = *state;
	char *map = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int here = 0;
	struct ev_place place;

	assert_int_equal(ask(f, &here).kind, PLACE_STACK);
	place = ask(f, map + 4096);
	assert_int_equal(place.kind, PLACE_ANON);
	munmap(map, 1 << 20);
}

static void shared_memory_by_its_file(void **state)
{
	struct fixture *f = *state;
	int fd = memfd_create("shared", 0);
	char *a, *b;
	struct ev_place pa, pb;

	assert_int_equal(ftruncate(fd, 1 << 16), 0);
	a = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 8192);
	pa = ask(f, a + 8192 + 40);
	pb = ask(f, b + 40);
	assert_int_equal(pa.kind, PLACE_SHARED);
	assert_int_equal(pb.kind, PLACE_SHARED);
	/* Two addresses, one lock. */
	assert_true(pa.shared != 0);
	assert_int_equal(pa.shared, pb.shared);
	assert_int_equal(pa.offset, pb.offset);
	assert_int_equal(pa.offset, 8192 + 40);
	munmap(a, 1 << 16);
	munmap(b, 4096);
	close(fd);
}

static void asked_once_a_program(void **state)
{
	struct fixture *f = *state;
	struct ev_place p;
	uint32_t pid = (uint32_t)getpid();

	(void)ask(f, in_data);
	assert_false(places_ask(f->places, pid, (uintptr_t)in_data, &p));
	places_forget(f->places, pid);
	assert_int_equal(ask(f, in_data).kind, PLACE_MODULE);
}

static void nothing_there(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ask(f, (void *)16).kind, PLACE_UNKNOWN);
	/* No such process: no kernel gives out this pid. */
	assert_int_equal(ask_of(f, 0x7ffffff0, 0x1000).kind, PLACE_UNKNOWN);
}

/* Memory that is mapped later is found, however many addresses lie nowhere. */
static void mapped_later(void **state)
{
	struct fixture *f = *state;
	struct ev_place p;
	char *map;

	(void)ask(f, in_data);
	for (uintptr_t at = 8; at < 256; at += 8)
		(void)places_ask(f->places, (uint32_t)getpid(), at, &p);
	map = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(ask(f, map).kind, PLACE_SHARED);
	munmap(map, 1 << 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(data_and_bss_by_their_address_in_the_file, begin,
						end),
		cmocka_unit_test_setup_teardown(data_of_a_library, begin, end),
		cmocka_unit_test_setup_teardown(stack_and_anonymous, begin, end),
		cmocka_unit_test_setup_teardown(shared_memory_by_its_file, begin, end),
		cmocka_unit_test_setup_teardown(asked_once_a_program, begin, end),
		cmocka_unit_test_setup_teardown(nothing_there, begin, end),
		cmocka_unit_test_setup_teardown(mapped_later, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
