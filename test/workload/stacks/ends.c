// SPDX-License-Identifier: MIT
/* What else can be at the end of a stack. */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include "lib/base.h"
#include "stacks/stacks.h"

#define BIG_BYTES (8u << 20)

KEEP uint64_t leaf_cpu(struct job *j)
{
	while (go_on(j))
		burn();
	return sink;
}

KEEP uint64_t leaf_plt(struct job *j)
{
	volatile double x = 0.5;

	while (go_on(j))
		for (int i = 0; i < 211; i++)
			x = cos(x) + sin(x) / 3;
	sink += (uint64_t)(x * 1000);
	return sink;
}

KEEP uint64_t leaf_vdso(struct job *j)
{
	while (go_on(j)) {
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC, &t);
		sink += (uint64_t)t.tv_nsec;
	}
	return sink;
}

KEEP uint64_t leaf_pagefault(struct job *j)
{
	FILE *f = tmpfile();
	int fd = f ? fileno(f) : -1;

	if (fd < 0 || ftruncate(fd, BIG_BYTES))
		die("tmpfile: %s", strerror(errno));
	while (go_on(j)) {
		volatile char *p =
			mmap(NULL, BIG_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

		if (p == MAP_FAILED)
			die("mmap: %s", strerror(errno));
		for (size_t i = 0; i < BIG_BYTES; i += 4096)
			p[i]++;
		munmap((void *)p, BIG_BYTES);
	}
	fclose(f);
	return sink;
}

typedef unsigned long crc32_fn(unsigned long crc, const unsigned char *buf, unsigned int len);

KEEP uint64_t leaf_dlopen(struct job *j)
{
	static unsigned char bytes[1 << 20];

	while (go_on(j)) {
		void *lib = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
		crc32_fn *crc = lib ? (crc32_fn *)dlsym(lib, "crc32") : NULL;

		if (!crc)
			die("%s", dlerror());
		for (int i = 0; i < 50; i++)
			sink += crc(0, bytes, sizeof(bytes));
		dlclose(lib);
	}
	return sink;
}

KEEP static uint64_t deeper(struct job *j, int left)
{
	uint64_t got = left > 1 ? deeper(j, left - 1) : leaf_cpu(j);

	sink += got;
	return got + 1;
}

KEEP uint64_t leaf_deep(struct job *j)
{
	return deeper(j, j->depth) + 1;
}

static jmp_buf jump;

KEEP static void jump_1(struct job *j)
{
	burn();
	if (j->until)
		longjmp(jump, 1);
	sink++;
}

KEEP static void jump_2(struct job *j)
{
	jump_1(j);
	sink++;
}

KEEP uint64_t leaf_longjmp(struct job *j)
{
	while (go_on(j)) {
		if (!setjmp(jump))
			jump_2(j);
		burn();
	}
	return sink;
}
