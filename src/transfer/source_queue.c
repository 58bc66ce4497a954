/* SPDX-License-Identifier: Apache-2.0 */
/* Queues. No request of the queue service lists all messages: Peek Messages returns the first 32
 * visible ones. This program has its own listing, which is used if the server identifies itself as
 * this program. From the queue of another server only the first 32 messages are taken. */
#include "core/clock.h"
#include "core/text/xml.h"
#include "core/time.h"
#include "transfer/part.h"

/* The expiry of messages that never expire: the end of the year 9999. */
#define NEVER_FROM (253370764800LL * TICKS_PER_SECOND)

static struct err take_message(struct part *p, const struct xml_node *node)
{
    struct str expires = xml_child_text(node, STR("ExpirationTime"));
    struct str visible = xml_child_text(node, STR("TimeNextVisible"));
    int64_t ticks;
    json_open(&p->w, '{');
    item_put_text(&p->w, "text", xml_child_text(node, STR("MessageText")));
    if (time_parse_http(expires, &ticks) && ticks < NEVER_FROM)
        item_put_text(&p->w, "expires", expires);
    if (visible.n > 0)
        item_put_text(&p->w, "visible", visible);
    json_close(&p->w, '}');
    return part_added(p);
}

static struct err list_page(struct part *p, struct arena *a, struct str *marker)
{
    struct session *s = p->walk->session;
    struct xml_node *root;
    struct remote_call c = remote_call_of(REMOTE_QUEUE, "GET", p->container, STR("messages"));
    if (s->lazuli) {
        remote_query(&c, "comp", STR("list"));
        if (marker->n > 0)
            remote_query(&c, "marker", *marker);
    } else {
        remote_query(&c, "peekonly", STR("true"));
        remote_query(&c, "numofmessages", STR("32"));
    }
    TRY(source_walk_list(s, a, &c, &root));
    for (const struct xml_node *n = root->first_child; n != NULL; n = n->next)
        if (str_eq(n->name, STR("QueueMessage")))
            TRY(take_message(p, n));
    *marker = xml_child_text(root, STR("NextMarker"));
    return OK;
}

static struct err walk_messages(struct walk *w, struct str queue)
{
    struct part p = {.walk = w, .kind = ITEM_MESSAGES, .name = "messages", .container = queue};
    struct arena a;
    struct str marker = STR_NONE;
    char kept[64];
    struct err error;
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    part_begin(&p);
    do {
        arena_reset(&a);
        error = list_page(&p, &a, &marker);
        if (!err_is(error) && marker.n >= sizeof kept)
            error = err_detail(ERR_INVALID_INPUT, "the server's listing of messages has no end");
        if (!err_is(error) && marker.n > 0) {
            memcpy(kept, marker.p, marker.n);
            marker.p = kept;
        }
    } while (!err_is(error) && marker.n > 0);
    error = part_end(&p, error);
    arena_release(&a);
    return error;
}

static struct err take_queue(struct walk *w, struct str name)
{
    struct entry e = {.position = {.kind = ITEM_QUEUE, .container = name}};
    if (!selection_has(w->selection, "queue", name))
        return OK;
    TRY(source_walk_give(w, &e));
    if (w->skipping && !str_eq(w->after->container, name))
        return OK;
    return walk_messages(w, name);
}

struct err source_walk_queues(struct walk *w)
{
    TRY(source_walk_service(w, REMOTE_QUEUE));
    return source_walk_groups(w, REMOTE_QUEUE, "Queues", take_queue);
}
