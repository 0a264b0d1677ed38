/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef THAW_WIRE_LOSS_H
#define THAW_WIRE_LOSS_H

enum loss_cause {
#define LOSS(id, UPPER, name, class, words, advice) LOSS_##UPPER = id,
#include "wire/loss.def"
	LOSS_CAUSES,
};

enum loss_class { LOSS_CLASS_EVENT, LOSS_CLASS_SAMPLE, LOSS_CLASS_STACK };

#endif
