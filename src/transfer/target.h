/* SPDX-License-Identifier: Apache-2.0 */
/* A server as the target of items. Existing objects of the same name are replaced, so that an
 * interrupted item can be created again; objects that the source does not have stay. */
#ifndef TRANSFER_TARGET_H
#define TRANSFER_TARGET_H

#include "import/document.h"
#include "transfer/item.h"
#include "transfer/remote.h"

struct target {
    struct session *session;
    struct arena arena; /* of one item */
    char *piece;        /* ITEM_PIECE_BYTES */
    uint64_t bytes;     /* of contents that were written */
    uint64_t versions_left_out;
    char text[REMOTE_TEXT_BYTES];
};

void target_init(struct target *t, struct session *session);
void target_release(struct target *t);

/* Creates the item. ERR_INVALID_INPUT with a detail if its JSON is invalid or the server refuses
 * it, ERR_IO, and the errors of reading the item's contents. */
struct err target_put(struct target *t, const struct item *item);

/* ---- inside ---- */

struct target_work {
    struct target *target;
    struct session *session;
    struct arena *arena;
    const struct item *item;
    const struct node *json;
};

struct err target_put_blob(struct target_work *w);
struct err target_put_share(struct target_work *w);
struct err target_put_file(struct target_work *w);
struct err target_put_directory(struct target_work *w);

/* x-ms-meta-… of the "metadata" member. */
void target_put_metadata(struct remote_call *c, struct arena *a, const struct node *owner);
/* Sets the stored access policies, also when there are none. */
struct err target_put_policies(struct target_work *w, struct remote_call *c);
/* Sends the request; accepts the status `also` besides success. */
struct err target_expect_or(struct target_work *w, struct remote_call *c, int also);
/* Sets the request's body: bytes of a content, compared with the checksum that the server
 * reports. */
struct err target_put_content(struct target_work *w, struct remote_call *c, size_t content,
                              uint64_t offset, uint64_t length);

#endif
