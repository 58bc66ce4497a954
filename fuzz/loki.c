/* SPDX-License-Identifier: Apache-2.0 */
/* A LokiJS database of any bytes: the walk ends, the documents it finds are consecutive in the
 * file, and each is read as a tree or refused. */
#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/document.h"
#include "import/loki.h"

struct found {
    int fd;
    uint64_t size;
    uint64_t after; /* where the last document ended */
    struct arena arena;
};

static bool take(void *arg, struct str collection, struct loki_span place)
{
    struct found *f = arg;
    struct str text;
    assert(collection.n <= LOKI_COLLECTION_BYTES_MAX);
    assert(place.offset >= f->after && place.length >= 2);
    assert(place.offset + place.length <= f->size);
    f->after = place.offset + place.length;
    arena_reset(&f->arena);
    struct err error = loki_read(f->fd, place, &f->arena, &text);
    assert(!err_is(error));
    const struct node *node = document_parse(&f->arena, text);
    assert(node == NULL || node->source.n <= text.n);
    return true;
}

static void damage(void *arg, uint64_t offset, const char *what)
{
    const struct found *f = arg;
    assert(offset <= f->size && what != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct found f = {.fd = memfd_create("loki", MFD_CLOEXEC), .size = size};
    struct loki_visit visit = {take, damage, &f};
    struct loki_outcome outcome;
    assert(f.fd >= 0 && write(f.fd, data, size) == (ssize_t)size);
    arena_init(&f.arena, 1 << 24);
    struct err error = loki_walk(f.fd, &visit, &outcome);
    assert(!err_is(error));
    arena_release(&f.arena);
    (void)close(f.fd);
    return 0;
}
