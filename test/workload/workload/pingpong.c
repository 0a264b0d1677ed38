// SPDX-License-Identifier: MIT
/*
 * pingpong, pingpong2: two parties that hand one byte to and fro; every hand-over is a switch.
 *
 * The time of a switch is the fastest of many chunks: on a machine with other work the mean says
 * how busy the machine was, the floor what a switch costs. Two parties on one CPU make exactly two
 * switches a round trip.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/base.h"
#include "lib/party.h"
#include "workload/workload.h"

#define CHUNK_TRIPS 1009

struct pair {
	int to_right[2], to_left[2]; /* pipes */
	bool process;
	ssize_t cpu; /* -1: any */
	uint64_t trips, length_ns;
	uint64_t every_ns; /* tell the floor so often; 0: at the end only */
	struct truth *left, *right;
	struct party parties[2];
};

void byte_send(int fd, char byte)
{
	while (write(fd, &byte, 1) != 1) {
		if (errno != EINTR)
			die("writing to a pipe: %s", strerror(errno));
	}
}

static char byte_receive(int fd)
{
	char byte;
	ssize_t n;

	while ((n = read(fd, &byte, 1)) != 1) {
		if (n == 0 || errno != EINTR)
			die("the other side of a pipe has gone");
	}
	return byte;
}

KEEP int ping(void *arg)
{
	struct ping *p = arg;

	byte_send(p->out, 'x');
	p->byte = byte_receive(p->in);
	return 0;
}

KEEP int pong(void *arg)
{
	struct ping *p = arg;

	p->byte = byte_receive(p->in);
	if (p->byte == 'x')
		byte_send(p->out, 'x');
	return 0;
}

/* The calls stand eight deep so that tools which walk stacks have stacks to walk. */
static uint64_t chunk_run(struct ping *p, uint64_t trips)
{
	uint64_t t0 = now_ns();

	for (uint64_t i = 0; i < trips; i++)
		chain_8(ping, p);
	return now_ns() - t0;
}

static bool pair_more(const struct pair *p, uint64_t trips, uint64_t end_ns)
{
	return p->length_ns ? now_ns() < end_ns : trips < p->trips;
}

/* "floor MOMENT NS": the fastest switch since the last line, by CLOCK_MONOTONIC. */
static void floor_tell(const struct pair *p, uint64_t *told_ns, double *floor_ns, double chunk_ns)
{
	uint64_t now = now_ns();

	if (!p->every_ns)
		return;
	if (!*floor_ns || chunk_ns < *floor_ns)
		*floor_ns = chunk_ns;
	if (now - *told_ns < p->every_ns)
		return;
	dprintf(STDOUT_FILENO, "floor %llu %.1f\n", (unsigned long long)now,
		*floor_ns / (2.0 * CHUNK_TRIPS));
	*told_ns = now;
	*floor_ns = 0;
}

static void *left_main(void *arg)
{
	struct pair *p = arg;
	struct ping ping = {p->to_left[0], p->to_right[1], 0};
	struct facts *f = &p->left->facts;
	uint64_t trips = 0, total = 0, end_ns;
	double best = 0, floor_ns = 0;
	uint64_t told_ns = now_ns();

	if (p->cpu >= 0)
		pin((size_t)p->cpu);
	truth_begin(p->left, "left");
	end_ns = now_ns() + p->length_ns;
	while (pair_more(p, trips, end_ns)) {
		uint64_t n = CHUNK_TRIPS, ns;

		if (!p->length_ns && p->trips - trips < n)
			n = p->trips - trips;
		ns = chunk_run(&ping, n);
		if (n == CHUNK_TRIPS && (!best || (double)ns < best))
			best = (double)ns;
		if (n == CHUNK_TRIPS)
			floor_tell(p, &told_ns, &floor_ns, (double)ns);
		total += ns;
		trips += n;
	}
	byte_send(ping.out, 'q');
	fact(f, "round_trips", (double)trips);
	fact(f, "trips_ns", (double)total);
	fact(f, "switch_ns", trips ? (double)total / (2.0 * (double)trips) : 0);
	fact(f, "best_switch_ns", best / (2.0 * CHUNK_TRIPS));
	truth_end(p->left);
	return NULL;
}

static void *right_main(void *arg)
{
	struct pair *p = arg;
	struct ping ping = {p->to_right[0], p->to_left[1], 'x'};
	uint64_t trips = 0;

	if (p->cpu >= 0)
		pin((size_t)p->cpu);
	truth_begin(p->right, "right");
	for (;;) {
		chain_8(pong, &ping);
		if (ping.byte != 'x')
			break;
		trips++;
	}
	fact(&p->right->facts, "round_trips", (double)trips);
	truth_end(p->right);
	return NULL;
}

static void pair_start(struct pair *p)
{
	if (pipe2(p->to_right, O_CLOEXEC) || pipe2(p->to_left, O_CLOEXEC))
		die("cannot make a pipe: %s", strerror(errno));
	party_start(&p->parties[0], p->process, right_main, p);
	party_start(&p->parties[1], p->process, left_main, p);
}

static void pair_join(struct pair *p)
{
	party_join(&p->parties[1]);
	party_join(&p->parties[0]);
	for (int i = 0; i < 2; i++) {
		close(p->to_left[i]);
		close(p->to_right[i]);
	}
}

static void pairs_run(const struct args *a, size_t n, const ssize_t *cpus, double every)
{
	const char *mode = arg_str(a, "mode");
	struct truth *truths = truth_room(2 * n);
	struct pair *pairs = calloc(n, sizeof(*pairs));
	double trips = 0, best = 0;

	if (!pairs || (strcmp(mode, "p") && strcmp(mode, "t")))
		die("mode: p (processes) or t (threads), not '%s'", mode);
	for (size_t i = 0; i < n; i++) {
		pairs[i] = (struct pair){
			.process = *mode == 'p',
			.cpu = cpus[i],
			.trips = arg_count(a, "trips"),
			.length_ns = arg_seconds(a),
			.every_ns = (uint64_t)(every * 1e9),
			.left = &truths[2 * i],
			.right = &truths[2 * i + 1],
		};
		pair_start(&pairs[i]);
	}
	for (size_t i = 0; i < n; i++) {
		double floor_ns;

		pair_join(&pairs[i]);
		trips += fact_get(pairs[i].left, "round_trips");
		floor_ns = fact_get(pairs[i].left, "best_switch_ns");
		best = !best || floor_ns < best ? floor_ns : best;
	}
	fact(&run.facts, "pairs", (double)n);
	fact(&run.facts, "round_trips", trips);
	fact(&run.facts, "best_switch_ns", best);
	free(pairs);
}

void case_pingpong(const struct args *a)
{
	ssize_t cpu = (ssize_t)arg_num(a, "cpu");

	pairs_run(a, 1, &cpu, arg_num(a, "every"));
}

void case_pingpong2(const struct args *a)
{
	size_t cpus[CPU_SETSIZE], n = cpus_allowed(cpus, ARRAY_LEN(cpus));
	ssize_t each[CPU_SETSIZE];

	for (size_t i = 0; i < n; i++)
		each[i] = (ssize_t)cpus[i];
	pairs_run(a, n, each, 0);
}
