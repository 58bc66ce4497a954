/* SPDX-License-Identifier: Apache-2.0 */
/* Azurite's containers and blobs. The heads of one blob (snapshots, then the blob) are imported one
 * after the other, in the order of their creation: see azurite_content.c for their bytes. */
#include "core/hash/md5.h"
#include "core/time.h"
#include "import/azurite_content.h"
#include "import/azurite_internal.h"
#include "service/blob/blob.h"
#include "service/blob/tags/tags.h"
#include "service/common/metadata.h"
#include "service/common/name.h"

/* ---- containers ---- */

static enum blob_public public_access(const struct node *properties)
{
    struct str text = document_text(properties, "publicAccess");
    return str_eq(text, STR("container")) ? BLOB_PUBLIC_CONTAINER
           : str_eq(text, STR("blob"))    ? BLOB_PUBLIC_BLOB
                                          : BLOB_PUBLIC_NONE;
}

static struct err check_container(struct str account, struct str container)
{
    return account_name_ok(account)
               ? name_check_container(container)
               : err_detail(ERR_INVALID_INPUT, "its account has no valid name");
}

static struct err make_container(struct import *im, const struct node *node, struct str account,
                                 struct str name)
{
    struct container_args args = {.request = {.arena = &im->arena}};
    struct str partition;
    TRY(check_container(account, name));
    TRY(import_metadata(im, node, &args.metadata));
    args.public_access = public_access(document_member(node, "properties"));
    partition = blob_partition(&im->arena, account, name);
    TRY(import_update(im, partition, blob_create_container, &args));
    struct container_args acl = {.request = {.arena = &im->arena},
                                 .public_access = args.public_access,
                                 .acl = import_policies(im, document_member(node, "containerAcl"))};
    return str_given(acl.acl) ? import_update(im, partition, blob_set_container_acl, &acl) : OK;
}

static void import_container(struct import *im, struct loki_span span)
{
    const struct node *node = import_document(im, span, IMPORT_CONTAINERS);
    if (node == NULL)
        return;
    struct str account = document_text(node, "accountName");
    struct str name = document_text(node, "name");
    struct err error = make_container(im, node, account, name);
    if (!err_is(error))
        report_count(im->report, IMPORT_CONTAINERS, FATE_TAKEN);
    else if (error.code == ERR_CONTAINER_ALREADY_EXISTS)
        report_count(im->report, IMPORT_CONTAINERS, FATE_THERE);
    else
        report_error(im->report, IMPORT_CONTAINERS, import_name(im, account, name, STR_NONE),
                     error);
}

/* ---- blobs ---- */

static void index_blob(struct import *im, struct loki_span span)
{
    const struct node *node = import_document(im, span, IMPORT_BLOBS);
    struct str snapshot = document_text(node, "snapshot");
    int64_t order = INT64_MAX;
    if (node == NULL)
        return;
    if (snapshot.n > 0 && !time_parse_iso(snapshot, &order)) {
        report_line(im->report, IMPORT_SNAPSHOTS, FATE_DAMAGED, document_text(node, "name"),
                    "its time cannot be read");
        return;
    }
    import_index_add(&im->index,
                     import_name(im, document_text(node, "accountName"),
                                 document_text(node, "containerName"), document_text(node, "name")),
                     order, span);
}

static void import_block(struct import *im, struct loki_span span)
{
    const struct node *node = import_document(im, span, IMPORT_BLOCKS);
    if (node == NULL || document_true(node, "isCommitted"))
        return;
    struct str account = document_text(node, "accountName");
    struct str container = document_text(node, "containerName");
    struct import_target to = {.name = document_text(node, "blobName")};
    struct err error = check_container(account, container);
    if (!err_is(error))
        error = name_check_blob(to.name);
    if (!err_is(error)) {
        to.partition = blob_partition(&im->arena, account, container);
        error = import_content_put_block(im, &to, node);
    }
    if (err_is(error))
        report_error(im->report, IMPORT_BLOCKS, import_name(im, account, container, to.name),
                     error);
    else
        report_count(im->report, IMPORT_BLOCKS, FATE_TAKEN);
}

bool import_blob_document(void *import, struct str collection, struct loki_span span)
{
    struct import *im = import;
    arena_reset(&im->arena);
    if (str_eq(collection, STR("$CONTAINERS_COLLECTION$")))
        import_container(im, span);
    else if (str_eq(collection, STR("$BLOBS_COLLECTION$")))
        index_blob(im, span);
    else if (str_eq(collection, STR("$BLOCKS_COLLECTION$")))
        import_block(im, span);
    else if (str_eq(collection, STR("$SERVICES_COLLECTION$")))
        report_count(im->report, IMPORT_PROPERTIES, FATE_LEFT_OUT);
    return import_goes_on(im, "blobs", span.offset, 2 * im->db_bytes);
}

/* ---- what a blob's document says ---- */

/* A header's value is sent in responses, so characters that would end the header are refused. */
static struct str header(const struct node *properties, const char *name)
{
    struct str text = document_text(properties, name);
    return str_has_control(text) || text.n == 0 ? STR_NONE : text;
}

/* {"0":12,"1":…} or {"type":"Buffer","data":[12,…]}. */
static struct str read_md5(struct import *im, const struct node *properties)
{
    const struct node *node = document_member(properties, "contentMD5");
    const struct node *data = document_member(node, "data");
    char *bytes = arena_bytes(&im->arena, MD5_BYTES);
    size_t n = 0;
    uint64_t value;
    for (const struct node *b = document_first(data != NULL ? data : node); b != NULL;
         b = b->next) {
        if (b->value.kind != JSON_INTEGER || n == MD5_BYTES || !str_to_u64(b->value.text, &value) ||
            value > UINT8_MAX)
            return STR_NONE;
        bytes[n++] = (char)value;
    }
    return n == MD5_BYTES ? (struct str){bytes, n} : STR_NONE;
}

static struct err read_tags(struct import *im, const struct node *node, struct str *out)
{
    const struct node *list = document_member(document_member(node, "blobTags"), "blobTagSet");
    struct pair items[BLOB_TAGS_MAX];
    struct pairs tags = {items, 0};
    *out = STR_NONE;
    for (const struct node *n = document_first(list); n != NULL; n = n->next) {
        if (tags.count == BLOB_TAGS_MAX)
            return err_new(ERR_TAGS_TOO_LARGE);
        items[tags.count++] = (struct pair){document_text(n, "key"), document_text(n, "value")};
    }
    if (tags.count == 0)
        return OK;
    TRY(blob_tags_check(&tags));
    *out = pairs_encode(&im->arena, &tags);
    return OK;
}

static struct err read_properties(struct import *im, const struct node *node, bool snapshot,
                                  struct blob_properties *out)
{
    const struct node *p = document_member(node, "properties");
    *out = (struct blob_properties){.http = {.content_type = header(p, "contentType"),
                                             .content_encoding = header(p, "contentEncoding"),
                                             .content_language = header(p, "contentLanguage"),
                                             .content_disposition = header(p, "contentDisposition"),
                                             .cache_control = header(p, "cacheControl"),
                                             .content_md5 = read_md5(im, p)}};
    TRY(import_metadata(im, node, &out->metadata));
    TRY(read_tags(im, node, &out->tags));
    /* An archived blob cannot be written again, so the tier of a snapshot is not imported. */
    if (!snapshot && !document_true(p, "accessTierInferred"))
        (void)blob_tier_parse(document_text(p, "accessTier"), &out->tier);
    return OK;
}

static struct err read_type(const struct node *node, enum blob_type *out)
{
    struct str text = document_text(document_member(node, "properties"), "blobType");
    for (unsigned type = BLOB_BLOCK; type <= BLOB_APPEND; type++)
        if (str_eq(text, blob_type_text((enum blob_type)type))) {
            *out = (enum blob_type)type;
            return OK;
        }
    return err_detail(ERR_CORRUPT, "it has no type");
}

/* ---- one blob with its snapshots ---- */

struct chain {
    struct import *im;
    char name[IMPORT_TEXT_BYTES_MAX]; /* "account/container/name"; empty: none */
    size_t name_n;
    bool there; /* it was in the store before */
    bool begun; /* this import creates it, and removes it if some of its bytes are missing */
    bool steps; /* the note about work in progress was written */
    uint64_t snapshots; /* that were taken */
};

static struct str chain_name(const struct chain *c)
{
    return (struct str){c->name, c->name_n};
}

static struct err blob_state(struct import *im, const struct import_target *to, bool *exists)
{
    struct blob_get_args get = {.request = {.arena = &im->arena, .name = to->name},
                                .store = im->store};
    struct err error = store_read(im->store, to->partition, ENGINE_WAIT, blob_get_blob, &get);
    *exists = !err_is(error);
    return error.code == ERR_BLOB_NOT_FOUND ? OK : error;
}

static struct err remove_blob(struct import *im, const struct import_target *to)
{
    struct blob_delete_args args = {.request = {.arena = &im->arena, .name = to->name},
                                    .snapshots = BLOB_SNAPSHOTS_INCLUDE};
    return import_update(im, to->partition, blob_delete_blob, &args);
}

/* A container whose document is lost is created without its properties. */
static struct err see_container(struct import *im, const struct node *node,
                                const struct import_target *to, bool *exists)
{
    struct str account = document_text(node, "accountName");
    struct str container = document_text(node, "containerName");
    struct err error = blob_state(im, to, exists);
    if (error.code != ERR_CONTAINER_NOT_FOUND)
        return error;
    TRY(make_container(im, NULL, account, container));
    report_count(im->report, IMPORT_CONTAINERS, FATE_TAKEN);
    return OK;
}

/* `several`: creating it takes more than one transaction. */
static struct err begin_chain(struct chain *c, const struct node *node,
                              const struct import_target *to, bool several)
{
    struct import *im = c->im;
    bool exists = false;
    TRY(see_container(im, node, to, &exists));
    bool again = import_was_cut_off(im, chain_name(c));
    c->there = exists && !again;
    if (c->there)
        return OK;
    if (exists)
        TRY(remove_blob(im, to));
    c->begun = true;
    if (several) {
        c->steps = true;
        TRY(import_begin_steps(im, chain_name(c)));
    }
    return OK;
}

static void end_chain(struct chain *c)
{
    if (c->steps && err_is(import_end_steps(c->im)))
        c->im->fatal = err_detail(ERR_IO, "the import's progress cannot be written");
    *c = (struct chain){.im = c->im};
}

/* Half a blob, or the content of its last snapshot, would be taken for the blob, so everything is
 * removed. */
static void give_up_chain(struct chain *c, const struct import_target *to)
{
    uint64_t *counts = c->im->report->counts[IMPORT_SNAPSHOTS];
    struct err error = remove_blob(c->im, to);
    if (err_is(error) && error.code != ERR_BLOB_NOT_FOUND)
        c->im->fatal = error;
    counts[FATE_TAKEN] -= c->snapshots;
    counts[FATE_LEFT_OUT] += c->snapshots;
}

static struct err take_snapshot(struct import *im, const struct import_target *to)
{
    struct blob_set_args args = {.request = {.arena = &im->arena, .name = to->name}};
    return import_update(im, to->partition, blob_snapshot_blob, &args);
}

static struct err put_head(struct import *im, const struct node *node, bool snapshot,
                           const struct import_target *to)
{
    struct blob_properties properties;
    enum blob_type type;
    TRY(read_properties(im, node, snapshot, &properties));
    TRY(read_type(node, &type));
    TRY(import_content_put(im, to, node, type, &properties));
    return snapshot ? take_snapshot(im, to) : OK;
}

static struct err import_head(struct chain *c, const struct node *node, bool snapshot,
                              bool last_of_chain)
{
    struct import *im = c->im;
    struct str account = document_text(node, "accountName");
    struct str container = document_text(node, "containerName");
    struct import_target to = {.name = document_text(node, "name")};
    struct str name = import_name(im, account, container, to.name);
    TRY(check_container(account, container));
    TRY(name_check_blob(to.name));
    to.partition = blob_partition(&im->arena, account, container);
    if (!str_eq(chain_name(c), name)) {
        end_chain(c);
        c->name_n = name.n < sizeof c->name ? name.n : sizeof c->name;
        memcpy(c->name, name.p, c->name_n);
        struct str type = document_text(document_member(node, "properties"), "blobType");
        TRY(begin_chain(c, node, &to, !last_of_chain || !str_eq(type, STR("BlockBlob"))));
    }
    if (c->there)
        return OK;
    struct err error = put_head(im, node, snapshot, &to);
    if (err_is(error) && last_of_chain && c->begun)
        give_up_chain(c, &to);
    c->snapshots += snapshot && !err_is(error);
    return error;
}

static void import_entry(struct chain *c, const struct index_entry *entry, bool last_of_chain)
{
    struct import *im = c->im;
    bool snapshot = entry->order != INT64_MAX;
    enum import_kind kind = snapshot ? IMPORT_SNAPSHOTS : IMPORT_BLOBS;
    const struct node *node = import_document(im, entry->span, kind);
    /* A blob that is only staged has no content yet: its blocks create it. */
    const struct node *committed = document_member(node, "isCommitted");
    if (node == NULL || (committed != NULL && !committed->value.boolean))
        return;
    struct err error = import_head(c, node, snapshot, last_of_chain);
    if (err_is(error))
        report_error(im->report, kind,
                     import_name(im, document_text(node, "accountName"),
                                 document_text(node, "containerName"), document_text(node, "name")),
                     error);
    else
        report_count(im->report, kind, c->there ? FATE_THERE : FATE_TAKEN);
}

void import_blobs_finish(struct import *im)
{
    struct chain chain = {.im = im};
    const struct index *index = &im->index;
    import_index_sort(&im->index);
    for (size_t i = 0; i < index->count; i++) {
        bool last = i + 1 == index->count || index->items[i + 1].group != index->items[i].group;
        arena_reset(&im->arena);
        import_entry(&chain, &index->items[i], last);
        if (last && !err_is(im->fatal))
            end_chain(&chain);
        if (!import_goes_on(im, "blobs", index->count + i, 2 * index->count))
            return;
    }
}
