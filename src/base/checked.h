/* SPDX-License-Identifier: Apache-2.0
 * base/checked.h: arithmetic on numbers that come from outside.
 * Each returns true when the result fits. */
#ifndef WBI_BASE_CHECKED_H
#define WBI_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define wbi_add(a, b, ret) (!__builtin_add_overflow((a), (b), (ret)))
#define wbi_sub(a, b, ret) (!__builtin_sub_overflow((a), (b), (ret)))
#define wbi_mul(a, b, ret) (!__builtin_mul_overflow((a), (b), (ret)))

#define WBI_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WBI_MIN(a, b) ((a) < (b) ? (a) : (b))
#define WBI_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
