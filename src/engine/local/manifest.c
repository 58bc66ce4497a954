/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/manifest.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/crc/crc32c.h"
#include "core/log.h"
#include "core/mem.h"
#include "core/wire.h"
#include "engine/local/folder.h"

/* The format of RocksDB's logs: blocks of records. A record starts with a masked crc32c, the
 * length and the type. A record that would cross the end of a block is split into fragments. */
enum {
    BLOCK_BYTES = 32 << 10,
    HEAD_BYTES = 7,
    TYPE_FULL = 1,
    TYPE_LAST = 4,
    SECTOR_BYTES = 512,
    NAME_BYTES_MAX = 64,
    /* A flush covers no more than this; it also bounds the search for records. */
    TORN_BYTES_MAX = 1 << 20,
    MANIFEST_BYTES_MAX = 256 << 20,
};

static uint32_t masked_sum(struct str bytes)
{
    uint32_t sum = ~crc32c(~0U, bytes);
    return ((sum >> 15) | (sum << 17)) + 0xA282EAD8U;
}

/* Returns the length, including the header, of the complete record or fragment at the start of
 * these bytes, and its type. 0 if there is none. */
static size_t record_at(struct str bytes, uint8_t *type)
{
    struct reader r = reader_of(bytes);
    uint32_t sum = read_le32(&r);
    size_t length = read_le16(&r);
    *type = read_u8(&r);
    if (!reader_ok(&r) || length > r.n || *type < TYPE_FULL || *type > TYPE_LAST)
        return 0;
    struct str summed = {bytes.p + HEAD_BYTES - 1, 1 + length};
    return masked_sum(summed) == sum ? HEAD_BYTES + length : 0;
}

static struct str rest_of_block(struct str file, size_t at)
{
    return str_head(str_from(file, at), BLOCK_BYTES - at % BLOCK_BYTES);
}

/* Returns the end of the last complete record, including its last fragment. */
static size_t whole_end(struct str file)
{
    size_t end = 0;
    for (size_t at = 0; at < file.n;) {
        struct str rest = rest_of_block(file, at);
        uint8_t type;
        size_t n = record_at(rest, &type);
        if (n == 0 && rest.n >= HEAD_BYTES)
            break;
        at += n == 0 ? rest.n : n; /* the rest of a block is too short for a header */
        if (n > 0 && (type == TYPE_FULL || type == TYPE_LAST))
            end = at;
    }
    return end;
}

/* Returns where the next complete record or fragment begins, or the end of the file. */
static size_t next_whole(struct str file, size_t end)
{
    for (size_t at = end + 1; at < file.n; at++) {
        uint8_t type;
        if (record_at(rest_of_block(file, at), &type) > 0)
            return at;
    }
    return file.n;
}

static bool all_zeros(struct str bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        if (bytes.p[i] != 0)
            return false;
    }
    return true;
}

/* True if the range lacks at least one of its sectors (all zeros). */
static bool lacks_a_sector(struct str file, size_t from, size_t to)
{
    while (from < to) {
        size_t border = (from / SECTOR_BYTES + 1) * SECTOR_BYTES;
        size_t end = border < to ? border : to;
        if (all_zeros(str_head(str_from(file, from), end - from)))
            return true;
        from = end;
    }
    return false;
}

/* True if no flush covers the bytes at `end`: they are the last ones, or a power cut has removed
 * part of them. */
static bool is_torn(struct str file, size_t end)
{
    size_t next = next_whole(file, end);
    return file.n - end <= TORN_BYTES_MAX && (next == file.n || lacks_a_sector(file, end, next));
}

static bool read_all(int fd, char *to, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, to + done, n - done, (off_t)done);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static bool cut_off(int fd)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0 || stat.st_size <= 0 || stat.st_size > MANIFEST_BYTES_MAX)
        return false;
    struct str file = {mem_alloc((size_t)stat.st_size), (size_t)stat.st_size};
    bool cut = false;
    if (read_all(fd, (char *)(uintptr_t)file.p, file.n)) {
        size_t end = whole_end(file);
        cut = end > 0 && end < file.n && is_torn(file, end) && ftruncate(fd, (off_t)end) == 0 &&
              fsync(fd) == 0;
    }
    free((char *)(uintptr_t)file.p);
    return cut;
}

/* Reads the file name from CURRENT. */
static bool read_name(const char *folder, char name[NAME_BYTES_MAX])
{
    char *path = folder_path(folder, "CURRENT");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, name, NAME_BYTES_MAX - 1);
    (void)close(fd);
    if (n <= 1 || name[n - 1] != '\n')
        return false;
    name[n - 1] = '\0';
    return str_starts(str_of(name), STR("MANIFEST-"));
}

bool manifest_cut_torn_end(const char *folder)
{
    char name[NAME_BYTES_MAX];
    if (!read_name(folder, name))
        return false;
    char *path = folder_path(folder, name);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    free(path);
    if (fd < 0)
        return false;
    bool cut = cut_off(fd);
    (void)close(fd);
    if (cut)
        log_line(LOG_WARN, "rows: the torn end of %s was cut off", name);
    return cut;
}
