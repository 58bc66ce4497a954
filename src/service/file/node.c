/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/node.h"

#include "service/common/record.h"

enum field {
    FIELD_KIND = 1,
    FIELD_ATTRIBUTES,
    FIELD_CREATED,
    FIELD_LAST_WRITE,
    FIELD_CHANGED,
    FIELD_ACCESSED,
    FIELD_ETAG,
    FIELD_LAST_MODIFIED,
    FIELD_PERMISSION,
    FIELD_METADATA,
    FIELD_LEASE,
    FIELD_SIZE,
    FIELD_CONTENT,
    FIELD_HAS,
    FIELD_VOIDS,
    FIELD_CONTENT_TYPE,
    FIELD_CONTENT_ENCODING,
    FIELD_CONTENT_LANGUAGE,
    FIELD_CACHE_CONTROL,
    FIELD_CONTENT_DISPOSITION,
    FIELD_CONTENT_MD5,
    FIELD_COPY,
    FIELD_MODE,
    FIELD_OWNER,
    FIELD_GROUP,
    FIELD_LINKS,
    FIELD_TARGET,
    FIELD_EAS,
};

enum { HAS_CHUNKS = 1, HAS_BLOCKS = 2 };

enum copy_field {
    COPY_FIELD_STATUS = 1,
    COPY_FIELD_ID,
    COPY_FIELD_SOURCE,
    COPY_FIELD_DONE,
    COPY_FIELD_TOTAL,
    COPY_FIELD_COMPLETED,
    COPY_FIELD_DESCRIPTION,
};

/* ---- writing ---- */

static void put_copy(struct buf *b, const struct node_copy *c)
{
    if (c->status == COPY_NONE)
        return;
    struct buf r = buf_in(b->arena);
    record_put(&r, COPY_FIELD_STATUS, c->status);
    record_put_bytes(&r, COPY_FIELD_ID, (struct str){(const char *)c->id.bytes, GUID_BYTES});
    record_put_bytes(&r, COPY_FIELD_SOURCE, c->source);
    record_put(&r, COPY_FIELD_DONE, c->done);
    record_put(&r, COPY_FIELD_TOTAL, c->total);
    record_put(&r, COPY_FIELD_COMPLETED, (uint64_t)c->completed);
    record_put_bytes(&r, COPY_FIELD_DESCRIPTION, c->description);
    record_put_bytes(b, FIELD_COPY, buf_str(&r));
}

static void put_http(struct buf *b, const struct node_http *h)
{
    record_put_bytes(b, FIELD_CONTENT_TYPE, h->content_type);
    record_put_bytes(b, FIELD_CONTENT_ENCODING, h->content_encoding);
    record_put_bytes(b, FIELD_CONTENT_LANGUAGE, h->content_language);
    record_put_bytes(b, FIELD_CACHE_CONTROL, h->cache_control);
    record_put_bytes(b, FIELD_CONTENT_DISPOSITION, h->content_disposition);
    record_put_bytes(b, FIELD_CONTENT_MD5, h->content_md5);
}

/* Times are mostly the same or close together: the later ones are written as what they differ from
 * the first by. */
static void put_times(struct buf *b, const struct node *n)
{
    record_put(b, FIELD_CREATED, (uint64_t)n->created);
    record_put(b, FIELD_LAST_WRITE, (uint64_t)n->last_write ^ (uint64_t)n->created);
    record_put(b, FIELD_CHANGED, (uint64_t)n->changed ^ (uint64_t)n->created);
    record_put(b, FIELD_ACCESSED, (uint64_t)n->accessed ^ (uint64_t)n->created);
    record_put(b, FIELD_ETAG, (uint64_t)n->etag);
    record_put(b, FIELD_LAST_MODIFIED, (uint64_t)n->last_modified);
}

void node_encode(struct buf *b, const struct node *n)
{
    record_put(b, FIELD_KIND, n->kind);
    record_put(b, FIELD_ATTRIBUTES, n->attributes);
    put_times(b, n);
    record_put_bytes(b, FIELD_PERMISSION,
                     (struct str){(const char *)n->permission.bytes, PERMISSION_KEY_BYTES});
    record_put_bytes(b, FIELD_METADATA, n->metadata);
    record_put_bytes(b, FIELD_EAS, n->eas);
    if (n->lease.state != LEASE_AVAILABLE) {
        struct buf lease = buf_in(b->arena);
        lease_encode(&lease, &n->lease);
        record_put_bytes(b, FIELD_LEASE, buf_str(&lease));
    }
    record_put(b, FIELD_SIZE, n->size);
    record_put(b, FIELD_CONTENT, n->content);
    record_put(b, FIELD_HAS, (n->has_chunks ? HAS_CHUNKS : 0U) | (n->has_blocks ? HAS_BLOCKS : 0U));
    if (n->voids.n > 0)
        record_put_bytes(b, FIELD_VOIDS, n->voids);
    put_http(b, &n->http);
    put_copy(b, &n->copy);
    record_put(b, FIELD_MODE, n->mode);
    record_put(b, FIELD_OWNER, n->owner);
    record_put(b, FIELD_GROUP, n->group);
    record_put(b, FIELD_LINKS, n->links);
    record_put_bytes(b, FIELD_TARGET, n->target);
}

/* ---- reading ---- */

static bool take_copy(struct node_copy *c, struct str bytes)
{
    struct reader r = reader_of(bytes);
    struct record_field f;
    while (record_next(&r, &f)) {
        if (f.number == COPY_FIELD_STATUS)
            c->status = (enum copy_status)f.value;
        else if (f.number == COPY_FIELD_ID && f.bytes.n == GUID_BYTES)
            memcpy(c->id.bytes, f.bytes.p, GUID_BYTES);
        else if (f.number == COPY_FIELD_SOURCE)
            c->source = f.bytes;
        else if (f.number == COPY_FIELD_DONE)
            c->done = f.value;
        else if (f.number == COPY_FIELD_TOTAL)
            c->total = f.value;
        else if (f.number == COPY_FIELD_COMPLETED)
            c->completed = (int64_t)f.value;
        else if (f.number == COPY_FIELD_DESCRIPTION)
            c->description = f.bytes;
    }
    return reader_ok(&r);
}

static bool take_file_field(struct node *n, const struct record_field *f)
{
    switch (f->number) {
    case FIELD_SIZE:
        n->size = f->value;
        break;
    case FIELD_CONTENT:
        n->content = f->value;
        break;
    case FIELD_HAS:
        n->has_chunks = (f->value & HAS_CHUNKS) != 0;
        n->has_blocks = (f->value & HAS_BLOCKS) != 0;
        break;
    case FIELD_VOIDS:
        n->voids = f->bytes;
        break;
    case FIELD_CONTENT_TYPE:
        n->http.content_type = f->bytes;
        break;
    case FIELD_CONTENT_ENCODING:
        n->http.content_encoding = f->bytes;
        break;
    case FIELD_CONTENT_LANGUAGE:
        n->http.content_language = f->bytes;
        break;
    case FIELD_CACHE_CONTROL:
        n->http.cache_control = f->bytes;
        break;
    case FIELD_CONTENT_DISPOSITION:
        n->http.content_disposition = f->bytes;
        break;
    case FIELD_CONTENT_MD5:
        n->http.content_md5 = f->bytes;
        break;
    case FIELD_COPY:
        return take_copy(&n->copy, f->bytes);
    case FIELD_MODE:
        n->mode = (uint32_t)f->value;
        break;
    case FIELD_OWNER:
        n->owner = (uint32_t)f->value;
        break;
    case FIELD_GROUP:
        n->group = (uint32_t)f->value;
        break;
    case FIELD_LINKS:
        n->links = f->value;
        break;
    case FIELD_TARGET:
        n->target = f->bytes;
        break;
    default:
        break;
    }
    return true;
}

static bool take_field(struct node *n, const struct record_field *f)
{
    switch (f->number) {
    case FIELD_KIND:
        n->kind = (enum node_kind)f->value;
        return f->value <= NODE_SYMLINK;
    case FIELD_ATTRIBUTES:
        n->attributes = (uint32_t)f->value;
        return true;
    case FIELD_CREATED:
        n->created = (int64_t)f->value;
        return true;
    case FIELD_LAST_WRITE:
        n->last_write = (int64_t)f->value;
        return true;
    case FIELD_CHANGED:
        n->changed = (int64_t)f->value;
        return true;
    case FIELD_ACCESSED:
        n->accessed = (int64_t)f->value;
        return true;
    case FIELD_ETAG:
        n->etag = (int64_t)f->value;
        return true;
    case FIELD_LAST_MODIFIED:
        n->last_modified = (int64_t)f->value;
        return true;
    case FIELD_PERMISSION:
        if (f->bytes.n != PERMISSION_KEY_BYTES)
            return false;
        memcpy(n->permission.bytes, f->bytes.p, PERMISSION_KEY_BYTES);
        return true;
    case FIELD_METADATA:
        n->metadata = f->bytes;
        return true;
    case FIELD_EAS:
        n->eas = f->bytes;
        return true;
    case FIELD_LEASE:
        return lease_decode(f->bytes, &n->lease);
    default:
        return take_file_field(n, f);
    }
}

bool node_decode(struct str data, struct node *out)
{
    struct reader r = reader_of(data);
    struct record_field f;
    *out = (struct node){0};
    while (record_next(&r, &f))
        if (!take_field(out, &f))
            return false;
    out->last_write ^= out->created;
    out->changed ^= out->created;
    out->accessed ^= out->created;
    return reader_ok(&r);
}

struct node node_copy(struct arena *a, const struct node *n)
{
    struct node copy = *n;
    struct str *slices[] = {
        &copy.metadata,
        &copy.eas,
        &copy.voids,
        &copy.http.content_type,
        &copy.http.content_encoding,
        &copy.http.content_language,
        &copy.http.cache_control,
        &copy.http.content_disposition,
        &copy.http.content_md5,
        &copy.copy.source,
        &copy.copy.description,
        &copy.target,
    };
    for (size_t i = 0; i < sizeof slices / sizeof slices[0]; i++)
        *slices[i] = arena_copy(a, *slices[i]);
    return copy;
}
