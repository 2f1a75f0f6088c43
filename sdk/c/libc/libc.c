/* The dozen lines of a C library that a plugin needs, which lives for one invocation: memory is taken
 * and never given back. A larger plugin takes wasi-libc. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 65536, ALIGNMENT = 16 };

/* The linker's: where the heap begins. */
extern unsigned char __heap_base;

/* Before each block. */
struct header {
    _Alignas(ALIGNMENT) size_t size;
};

static uintptr_t next;

void *malloc(size_t size)
{
    if (!next)
        next = ((uintptr_t)&__heap_base + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1);
    size_t whole = sizeof(struct header) + ((size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1));
    if (whole < size || whole > UINTPTR_MAX - next)
        return NULL;
    uintptr_t end = next + whole, there = (uintptr_t)__builtin_wasm_memory_size(0) * PAGE;
    if (end > there
        && __builtin_wasm_memory_grow(0, (end - there + PAGE - 1) / PAGE) == SIZE_MAX)
        return NULL;
    struct header *block = (struct header *)next;
    block->size = size;
    next = end;
    return block + 1;
}

void *realloc(void *old, size_t size)
{
    void *block = malloc(size);
    if (block && old) {
        size_t had = ((struct header *)old - 1)->size;
        memcpy(block, old, had < size ? had : size);
    }
    return block;
}

void free(void *old)
{
    (void)old;
}

_Noreturn void abort(void)
{
    __builtin_trap();
}

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    unsigned char *out = to;
    const unsigned char *in = from;
    while (size--)
        *out++ = *in++;
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    unsigned char *out = to;
    while (size--)
        *out++ = (unsigned char)byte;
    return to;
}

int memcmp(const void *one, const void *other, size_t size)
{
    const unsigned char *a = one, *b = other;
    for (; size; a++, b++, size--)
        if (*a != *b)
            return *a - *b;
    return 0;
}

size_t strlen(const char *text)
{
    size_t length = 0;
    while (text[length])
        length++;
    return length;
}
