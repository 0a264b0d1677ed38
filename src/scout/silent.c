// SPDX-License-Identifier: MIT
#include "scout/silent.h"

#include <sys/sysmacros.h>

enum { DEVICES_MAX = 256, EXCUSES_MAX = 3 };

static struct silent_device *device_of(const struct silent *s, uint64_t dev)
{
	for (size_t i = 0; dev && i < s->devices.n; i++)
		if (s->devices.v[i].dev == dev)
			return &s->devices.v[i];
	return NULL;
}

bool silent_is_disk(uint64_t dev)
{
	return major(dev) != 0;
}

uint64_t silent_patience(const struct silent_patience *p, uint64_t dev, bool certain,
			 unsigned stalls)
{
	if (stalls >= p->stalls && !(certain && silent_is_disk(dev)))
		return p->impatient_ns;
	return silent_is_disk(dev) ? p->disk_ns : p->other_ns;
}

bool silent_is(const struct silent *s, uint64_t dev, uint64_t now)
{
	const struct silent_device *d = device_of(s, dev);

	return d && !d->alive && now - d->since < SILENT_SPARE_NS;
}

static struct silent_device *room_for(struct silent *s)
{
	struct silent_device *oldest = s->devices.v;

	if (s->devices.n < DEVICES_MAX)
		return vec_add(&s->devices);
	for (size_t i = 1; i < s->devices.n; i++)
		if (s->devices.v[i].since < oldest->since)
			oldest = &s->devices.v[i];
	return oldest;
}

void silent_note(struct silent *s, uint64_t dev, uint64_t now)
{
	struct silent_device *d = device_of(s, dev);

	if (!dev)
		return;
	if (!d) {
		d = room_for(s);
		*d = (struct silent_device){.dev = dev};
	}
	d->since = now;
	d->alive = false;
}

void silent_excuse(struct silent *s, uint64_t dev)
{
	struct silent_device *d = device_of(s, dev);

	if (d && !d->alive && d->excused < EXCUSES_MAX) {
		d->alive = true;
		d->excused++;
	}
}

void silent_done(struct silent *s)
{
	vec_done(&s->devices);
}
