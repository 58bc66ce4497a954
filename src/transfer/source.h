/* SPDX-License-Identifier: Apache-2.0 */
/* A server as the source of items. A walk lists the account in the server's order and names each
 * object as an entry. Describing an entry, which takes further requests, makes an item of it. So
 * one thread walks and many describe. */
#ifndef TRANSFER_SOURCE_H
#define TRANSFER_SOURCE_H

#include "core/text/xml.h"
#include "transfer/item.h"
#include "transfer/remote.h"

enum {
    FILE_DEPTH_MAX = 250,
    SELECTION_MAX = 64,
};

/* A state of a blob: itself, a snapshot, or a previous version. */
struct entry_head {
    struct str snapshot; /* absent: none */
    struct str version;  /* absent: none */
    bool current;
};

struct entry {
    struct position position;
    struct entry_head *heads; /* of a blob, oldest first */
    size_t head_count;
    struct str json; /* of the listing itself: messages, entities */
    uint64_t before; /* messages in the parts before this one */
    bool hierarchical;
    const struct label_heads *labels; /* of the blob's name */
};

/* The selected parts of an account: "blob", "blob/pictures", "table", …; empty: everything. */
struct selection {
    struct str parts[SELECTION_MAX];
    size_t count;
};
/* `container` absent: anything of the service. */
bool selection_has(const struct selection *s, const char *service, struct str container);

struct walk {
    struct session *session;
    const struct selection *selection;
    const struct position *after; /* NULL, or the last item of an earlier walk */
    /* False in `out` ends the walk. The entry lives until the call returns. */
    struct err (*visit)(void *arg, const struct entry *entry);
    void *arg;
    bool hierarchical;
    /* While the walk looks for `after`: */
    bool skipping;
    uint64_t listed; /* entries seen so far */
};

/* Walks the selected parts of the account. Returns the first error, of the visitor or of the
 * server. */
struct err source_walk(struct walk *w);

/* ERR_BLOB_NOT_FOUND if it was deleted meanwhile, ERR_CONDITION_NOT_MET if it changed. */
struct err source_describe(struct session *s, struct arena *a, const struct entry *entry,
                           struct item *out);

/* ---- inside ---- */

struct err source_walk_give(struct walk *w, const struct entry *entry);
/* Returns true if an earlier walk has completed this name at this level of its last place. */
bool source_walk_is_done(struct walk *w, enum item_kind kind, struct str container,
                         struct str name);
struct err source_walk_blobs(struct walk *w);
struct err source_walk_queues(struct walk *w);
struct err source_walk_tables(struct walk *w);
struct err source_walk_files(struct walk *w);
/* A page of a listing: the XML that a GET with these parameters answers. */
struct err source_walk_list(struct session *s, struct arena *a, struct remote_call *call,
                            struct xml_node **root);
/* The containers, queues or shares of the account, each handed to `take`. */
struct err source_walk_groups(struct walk *w, enum remote_service service, const char *element,
                              struct err (*take)(struct walk *w, struct str name));
struct err source_walk_service(struct walk *w, enum remote_service service);

struct err source_describe_service(struct session *s, struct arena *a, const struct entry *e,
                                   struct item *out);
struct err source_describe_blob(struct session *s, struct arena *a, const struct entry *e,
                                struct item *out);
struct err source_describe_file(struct session *s, struct arena *a, const struct entry *e,
                                struct item *out);
struct err source_describe_directory(struct session *s, struct arena *a, const struct entry *e,
                                     struct item *out);
struct err source_describe_share(struct session *s, struct arena *a, const struct entry *e,
                                 struct item *out);

/* Writes "{"kind": …, "account": …" and leaves the object open for the caller. */
void item_begin(struct json_writer *w, struct session *s, enum item_kind kind);
void item_end(struct json_writer *w, enum item_kind kind, struct str label, struct item *out);
/* x-ms-meta-… of the answer. */
void item_put_metadata(struct json_writer *w, const struct remote_call *c);
void item_put_metadata_but(struct json_writer *w, const struct remote_call *c, struct str but);
/* Stored access policies, from the answer to Get ACL, which `c` requests. That needs the account's
 * key: with a SAS they are unknown. */
struct err item_ask_policies(struct json_writer *w, struct session *s, struct arena *a,
                             struct remote_call *c);
/* Reads a range of the object that `call` names, completely, and checks its MD5. */
struct err source_read_range(struct session *s, struct arena *a, struct remote_call *call,
                             uint64_t offset, size_t n, char *into);
/* Parses the existing ranges from the XML of a list of ranges. */
struct err source_read_spans(struct session *s, struct arena *a, struct remote_call *call,
                             struct item_content *out);
/* Maps 404 to ERR_BLOB_NOT_FOUND and 412 to ERR_CONDITION_NOT_MET; others are refusals. */
struct err source_ask(struct session *s, struct arena *a, struct remote_call *c);

#endif
