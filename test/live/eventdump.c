// SPDX-License-Identifier: MIT
/*
 * The events of a capture as they are in it: eventdump FILE [KIND...]. A line of JSON each, in the
 * order of the file: "event", "ts", "cpu" and the fields of event.def. With kinds, those only.
 */
#include <stdio.h>
#include <string.h>

#include "store/reader.h"

static const char *const kinds[EV_KINDS] = {
#define EVENT(id, UPPER, lower, text, words, group) [EV_##UPPER] = text,
#define FIELD(UPPER, lower, id, name, ctype, codec, role)
#define EVENT_END(UPPER, lower)
#include "wire/event.def"
};

static void print_number(const char *name, uint64_t v)
{
	printf(", \"%s\": %llu", name, (unsigned long long)v);
}

static void print_text(const char *name, const char *v)
{
	printf(", \"%s\": \"", name);
	for (; v && *v; v++)
		if (*v >= ' ' && *v < 127 && *v != '"' && *v != '\\')
			putchar(*v);
		else
			printf("\\u%04x", (unsigned char)*v);
	putchar('"');
}

#define print_field(name, v)                                                                       \
	_Generic((v), const char * : print_text, default : print_number)(name, v)

static void print_event(const struct event *ev)
{
	printf("{\"event\": \"%s\", \"ts\": %llu, \"cpu\": %u", kinds[ev->kind],
	       (unsigned long long)ev->ts, ev->cpu);
	switch (ev->kind) {
#define EVENT(id, UPPER, lower, text, words, group) case EV_##UPPER:
#define FIELD(UPPER, lower, id, name, ctype, codec, role) print_field(#name, ev->lower.name);
#define EVENT_END(UPPER, lower) break;
#include "wire/event.def"
	}
	puts("}");
}

static bool wanted(const struct event *ev, int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		if (!strcmp(kinds[ev->kind], argv[i]))
			return true;
	return argc <= 2;
}

int main(int argc, char **argv)
{
	struct reader *r;
	struct event ev;

	if (argc < 2 || reader_open(argv[1], &r)) {
		fprintf(stderr, "usage: eventdump FILE [KIND...]\n");
		return 2;
	}
	while (reader_next(r, &ev) > 0)
		if (ev.kind < EV_KINDS && kinds[ev.kind] && wanted(&ev, argc, argv))
			print_event(&ev);
	reader_close(r);
	return 0;
}
