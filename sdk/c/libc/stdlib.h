/* What the bindings, the SDK and a plugin need of the C library. */
#pragma once

#include <stddef.h>

void *malloc(size_t size);
void *realloc(void *old, size_t size);
void free(void *old);
_Noreturn void abort(void);
