/* SPDX-License-Identifier: MIT */
/* The kernel's names of numbers, which headers shared with BPF programs use. */
#ifndef THAW_VIEWER_LINUX_TYPES_H
#define THAW_VIEWER_LINUX_TYPES_H

#include <stdint.h>

typedef uint8_t __u8;
typedef int8_t __s8;
typedef uint16_t __u16;
typedef int16_t __s16;
typedef uint32_t __u32;
typedef int32_t __s32;
typedef uint64_t __u64;
typedef int64_t __s64;

#endif
