/* SPDX-License-Identifier: Apache-2.0 */
#include "import/chunk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/mem.h"

bool import_chunk_of(const struct node *owner, struct chunk *out)
{
    assert(out != NULL);
    const struct node *node = document_member(owner, "persistency");
    *out = (struct chunk){.id = document_text(node, "id")};
    return str_given(out->id) && document_u64(node, "offset", &out->offset) &&
           document_u64(node, "count", &out->count) && out->count <= INT64_MAX &&
           out->offset <= INT64_MAX - out->count;
}

void import_extents_open(struct extents *extents, int parent, const char *folder)
{
    *extents = (struct extents){.file = -1, .buffer = mem_alloc(CHUNK_READ_BYTES)};
    /* A link could point to a folder outside, so it is refused. */
    extents->folder = openat(parent, folder, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

void import_extents_close(struct extents *extents)
{
    if (extents->file >= 0)
        (void)close(extents->file);
    if (extents->folder >= 0)
        (void)close(extents->folder);
    free(extents->buffer);
}

/* Ids are GUIDs. Anything else must not lead out of the folder. */
static bool is_file_name(struct str id)
{
    for (size_t i = 0; i < id.n; i++)
        if (!ascii_alpha(id.p[i]) && !ascii_digit(id.p[i]) && id.p[i] != '-')
            return false;
    return id.n > 0 && id.n < sizeof((struct extents *)0)->name;
}

static struct err open_extent(struct extents *extents, struct str id)
{
    if (extents->file >= 0 && str_eq(str_of(extents->name), id))
        return OK;
    if (extents->file >= 0)
        (void)close(extents->file);
    extents->file = -1;
    if (!is_file_name(id))
        return err_detail(ERR_CORRUPT, "names an extent whose id is no file name");
    memcpy(extents->name, id.p, id.n);
    extents->name[id.n] = '\0';
    if (extents->folder >= 0)
        extents->file =
            openat(extents->folder, extents->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return extents->file < 0 ? err_detail(ERR_CORRUPT, "the file of its extent is missing") : OK;
}

static struct err read_piece(struct extents *extents, uint64_t offset, size_t want, size_t *n)
{
    ssize_t got;
    do
        got = pread(extents->file, extents->buffer, want, (off_t)offset);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_cause(ERR_IO, errno);
    if (got == 0)
        return err_detail(ERR_CORRUPT, "the file of its extent is too short");
    *n = (size_t)got;
    return OK;
}

struct err import_chunk_read(struct extents *extents, const struct chunk *chunk, chunk_take *take,
                             void *arg)
{
    if (chunk->count == 0)
        return OK;
    TRY(open_extent(extents, chunk->id));
    for (uint64_t done = 0; done < chunk->count;) {
        uint64_t left = chunk->count - done;
        size_t n = left < CHUNK_READ_BYTES ? (size_t)left : CHUNK_READ_BYTES;
        TRY(read_piece(extents, chunk->offset + done, n, &n));
        TRY(take(arg, (struct str){extents->buffer, n}));
        done += n;
    }
    return OK;
}
