/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of rows, with every table of the program: an accepted row is written so that it reads
 * back the same. The first byte selects the table. */
#include <assert.h>

#include "service/common/records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TABLE(name) &name,
static const struct record_type *const TABLES[] = {RECORDS(TABLE)};

static struct str written(struct arena *a, const struct record_type *type, const void *object)
{
    struct buf b = buf_in(a);
    record_write(&b, type, object);
    return buf_str(&b);
}

/* With the defaults that callers of the reader set. */
static char *new_object(struct arena *a, const struct record_type *type)
{
    char *object = arena_alloc(a, type->size);
    for (size_t i = 0; i < type->count; i++)
        if (type->members[i].kind == RECORD_NOT)
            object[type->members[i].at] = 1;
    return object;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const struct record_type *type = TABLES[data[0] % (sizeof TABLES / sizeof TABLES[0])];
    struct str row = {(const char *)data + 1, size - 1};
    struct arena a;
    arena_init(&a, 1 << 26);
    char *object = new_object(&a, type), *again = new_object(&a, type);
    if (record_read(row, type, object)) {
        struct str once = written(&a, type, object);
        assert(record_read(once, type, again));
        assert(str_eq(written(&a, type, again), once));
        record_own(&a, type, object);
        assert(str_eq(written(&a, type, object), once));
    }
    arena_release(&a);
    return 0;
}
