/* SPDX-License-Identifier: Apache-2.0 */
#include "service/queue/page.h"

#include "service/common/rows.h"

#include <assert.h>

/* A page's row: its messages one after the other, each
 *     inserted 8, expires 8, receipt 8, length of the text 4, text
 * An s row: time of the e row 8, then for each message
 *     flags 1 (gone 1, timed 2, changed 4), expires 8, next visible 8, receipt 8, dequeues 8
 * Little-endian. Both begin with a byte that names the form. */
enum {
    FORM = 1,
    ENTRY_EXPIRES_AT = 8,
    ENTRY_RECEIPT_AT = 16,
    ENTRY_TEXT_AT = 24,
    ENTRY_HEAD_BYTES = 28,
    SLOTS_HEAD_BYTES = 9,
    SLOT_BYTES = sizeof(struct slot),
    SLOTS_BYTES_MAX = SLOTS_HEAD_BYTES + SLOT_BYTES * PAGE_SLOTS_MAX,
};

enum {
    /* Limit for a page before its last message is added. Appending rewrites the page, so a page
     * stays small enough to copy cheaply. */
    PAGE_BYTES_MAX = 8000,
};

/* A page takes the messages of one burst. Messages that arrive one by one get a page each:
 * rewriting eight of them to add a ninth would cost more than it saves. */
#define PAGE_BURST (50 * TICKS_PER_MS)

/* ---- reading ---- */

/* Every operation reads entries or slots, so they are read as words at fixed offsets instead of
 * field by field. */
static bool entry_next(struct reader *r, struct page_entry *e)
{
    if (r->n < ENTRY_HEAD_BYTES)
        return false;
    uint32_t text_n;
    memcpy(&text_n, r->p + ENTRY_TEXT_AT, sizeof text_n);
    e->inserted = (int64_t)queue_word_at(r->p);
    e->expires = (int64_t)queue_word_at(r->p + ENTRY_EXPIRES_AT);
    e->receipt = queue_word_at(r->p + ENTRY_RECEIPT_AT);
    (void)read_raw(r, ENTRY_HEAD_BYTES);
    e->text = read_raw(r, le32toh(text_n));
    return !r->bad && e->inserted >= 0 && e->expires >= 0;
}

/* Returns the next entry's header, or NULL if no complete entry is left. */
static const char *entry_head(struct reader *r)
{
    const char *head = r->p;
    uint32_t text_n;
    if (r->n < ENTRY_HEAD_BYTES)
        return NULL;
    memcpy(&text_n, head + ENTRY_TEXT_AT, sizeof text_n);
    size_t n = ENTRY_HEAD_BYTES + (size_t)le32toh(text_n);
    if (n > r->n)
        return NULL;
    r->p += n;
    r->n -= n;
    return head;
}

static bool entry_skip(struct reader *r)
{
    return entry_head(r) != NULL;
}

static bool form_begin(struct reader *r)
{
    return read_u8(r) == FORM;
}

/* Decodes a page from its own row alone: none of its messages has changed. */
static bool page_decode(struct str row, struct page *page)
{
    struct reader r = reader_of(row);
    struct page_entry e;
    page->stored = false;
    page->expires_at = QUEUE_EXPIRES_NEVER;
    page->count = 0;
    if (!form_begin(&r))
        return false;
    while (page->count < PAGE_SLOTS_MAX && entry_next(&r, &e)) {
        page->slots[page->count++] = (struct slot){.expires = e.expires, .receipt = e.receipt};
        if (e.expires < page->expires_at)
            page->expires_at = e.expires;
    }
    return reader_done(&r) && page->count > 0;
}

static bool slots_decode(struct str row, struct page *page)
{
    size_t count = row.n < SLOTS_HEAD_BYTES ? 0 : (row.n - SLOTS_HEAD_BYTES) / SLOT_BYTES;
    if (count == 0 || count > PAGE_SLOTS_MAX || row.n != SLOTS_HEAD_BYTES + count * SLOT_BYTES ||
        row.p[0] != FORM)
        return false;
    page->stored = true;
    page->count = (unsigned)count;
    page->expires_at = (int64_t)queue_word_at(row.p + 1);
    memcpy(page->slots, row.p + SLOTS_HEAD_BYTES, count * SLOT_BYTES);
    int64_t times = page->expires_at; /* negative if any of the times is */
    for (size_t i = 0; i < count; i++)
        times |= page->slots[i].expires | page->slots[i].next_visible;
    return times >= 0;
}

/* A page of delayed messages has an s row from the start. */
static bool in_log(uint64_t page)
{
    return page < page_of(QUEUE_NUMBER_DELAYED);
}

static bool may_have_slots(const struct queue_state *s, uint64_t id)
{
    return !in_log(id) || id < s->untouched;
}

struct err queue_page_load(struct txn *t, const struct queue_state *s, uint64_t id,
                           struct page *page, bool *found)
{
    assert(found != NULL);
    struct queue_key key = queue_key_of(s, KEY_SLOTS, id);
    struct str row = STR_NONE;
    page->id = id;
    page->put = STR_NONE;
    if (may_have_slots(s, id))
        TRY(row_get_hot(t, queue_key_str(&key), &row));
    *found = true;
    if (str_given(row))
        return slots_decode(row, page) ? OK : err_new(ERR_CORRUPT);
    key = queue_key_of(s, KEY_PAGE, id);
    TRY(row_get_hot(t, queue_key_str(&key), &row));
    *found = str_given(row);
    page->put = row;
    return !*found || page_decode(row, page) ? OK : err_new(ERR_CORRUPT);
}

static struct err page_take(struct page *page, struct str slots, struct str put, bool *found)
{
    page->put = put;
    *found = str_given(slots) || str_given(put);
    if (str_given(slots))
        return slots_decode(slots, page) ? OK : err_new(ERR_CORRUPT);
    return !*found || page_decode(put, page) ? OK : err_new(ERR_CORRUPT);
}

struct err queue_page_load_many(struct txn *t, const struct queue_state *s,
                                struct page_wanted *wanted, size_t count)
{
    assert(wanted != NULL || count == 0);
    struct arena *a = txn_arena(t);
    struct queue_key *keys = ARENA_ARRAY(a, struct queue_key, 2 * count);
    struct engine_read *reads = ARENA_ARRAY(a, struct engine_read, 2 * count);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        static const enum queue_key_kind kinds[] = {KEY_PAGE, KEY_SLOTS};
        for (size_t k = 0; k < (may_have_slots(s, wanted[i].id) ? 2U : 1U); k++, n++) {
            keys[n] = queue_key_of(s, kinds[k], wanted[i].id);
            reads[n] = (struct engine_read){.key = queue_key_str(&keys[n]), .hints = HINT_SOON};
        }
    }
    TRY(txn_get_many(t, reads, n));
    n = 0;
    for (size_t i = 0; i < count; i++) {
        struct str put = reads[n++].value;
        struct str slots = may_have_slots(s, wanted[i].id) ? reads[n++].value : STR_NONE;
        wanted[i].page->id = wanted[i].id;
        TRY(page_take(wanted[i].page, slots, put, wanted[i].found));
    }
    return OK;
}

struct err queue_page_show(struct txn *t, const struct queue_state *s, struct page *page,
                           unsigned slot, int64_t *inserted, struct str *text)
{
    assert(slot < page->count);
    struct page_entry e = {.inserted = 0};
    struct queue_key key;
    if (!str_given(page->put)) {
        key = queue_key_of(s, KEY_PAGE, page->id);
        TRY(row_get_hot(t, queue_key_str(&key), &page->put));
    }
    struct reader r = reader_of(page->put);
    bool sound = form_begin(&r);
    for (unsigned i = 0; sound && i < slot; i++)
        sound = entry_skip(&r);
    sound = sound && entry_next(&r, &e);
    *inserted = e.inserted;
    *text = e.text;
    if (sound && page->slots[slot].changed) {
        key = queue_key_of(s, KEY_TEXT, number_of(page->id, slot));
        TRY(txn_get(t, queue_key_str(&key), text));
    }
    return sound && str_given(*text) ? OK : err_new(ERR_CORRUPT);
}

/* ---- putting ---- */

static struct err move_expiry(struct txn *t, struct queue_state *s, uint64_t page, int64_t from,
                              int64_t to)
{
    struct queue_key key;
    if (from != QUEUE_EXPIRES_NEVER) {
        key = queue_key_timed(s, KEY_EXPIRES, from, page);
        TRY(txn_del(t, queue_key_str(&key)));
    }
    if (to == QUEUE_EXPIRES_NEVER)
        return OK;
    if (to < s->expires_from)
        s->expires_from = to;
    key = queue_key_timed(s, KEY_EXPIRES, to, page);
    return txn_insert(t, &(struct engine_row){.key = queue_key_str(&key), .value = STR("")});
}

/* Returns the row of the log's last page if the message still fits into it, otherwise absent. */
static struct err open_page(struct txn *t, const struct queue_state *s, const struct page_entry *e,
                            struct str *row)
{
    *row = STR_NONE;
    if (slot_of(s->tail) == 0 || e->inserted < s->tail_since ||
        e->inserted - s->tail_since > PAGE_BURST)
        return OK;
    struct queue_key key = queue_key_of(s, KEY_PAGE, page_of(s->tail));
    TRY(row_get_hot(t, queue_key_str(&key), row));
    if (!str_given(*row))
        return err_new(ERR_CORRUPT);
    if (row->n + e->text.n > PAGE_BYTES_MAX)
        *row = STR_NONE;
    return OK;
}

static void put_entry(char *to, const struct page_entry *e)
{
    uint32_t text_n = htole32((uint32_t)e->text.n);
    queue_put_word_at(to, (uint64_t)e->inserted);
    queue_put_word_at(to + ENTRY_EXPIRES_AT, (uint64_t)e->expires);
    queue_put_word_at(to + ENTRY_RECEIPT_AT, e->receipt);
    memcpy(to + ENTRY_TEXT_AT, &text_n, sizeof text_n);
    if (e->text.n > 0)
        memcpy(to + ENTRY_HEAD_BYTES, e->text.p, e->text.n);
}

/* Computes the time of the e row of a page whose messages are all unchanged. */
static bool earliest_expiry(struct str row, int64_t *earliest)
{
    struct reader r = reader_of(row);
    const char *head;
    *earliest = QUEUE_EXPIRES_NEVER;
    if (!form_begin(&r))
        return false;
    while ((head = entry_head(&r)) != NULL) {
        int64_t expires = (int64_t)queue_word_at(head + ENTRY_EXPIRES_AT);
        *earliest = expires < *earliest ? expires : *earliest;
    }
    return reader_done(&r) && *earliest >= 0;
}

/* Appends the message to the page's row. An absent row starts a new page. */
static struct err put_page(struct txn *t, struct queue_state *s, uint64_t id, struct str row,
                           const struct page_entry *e)
{
    struct queue_key key = queue_key_of(s, KEY_PAGE, id);
    int64_t expires_at = QUEUE_EXPIRES_NEVER;
    size_t n = ENTRY_HEAD_BYTES + e->text.n;
    char *bytes = arena_bytes(txn_arena(t), 1 + n);
    bytes[0] = FORM;
    put_entry(bytes + 1, e);
    if (!str_given(row)) {
        TRY(txn_insert(t, &(struct engine_row){.key = queue_key_str(&key),
                                               .value = (struct str){bytes, 1 + n},
                                               .hints = HINT_SOON}));
    } else {
        if (!earliest_expiry(row, &expires_at))
            return err_new(ERR_CORRUPT);
        TRY(txn_append(t, queue_key_str(&key), (struct str){bytes + 1, n}, HINT_SOON));
    }
    return e->expires < expires_at ? move_expiry(t, s, id, expires_at, e->expires) : OK;
}

struct err queue_page_append(struct txn *t, struct queue_state *s, const struct page_entry *e,
                             uint64_t *number)
{
    assert(s->exists);
    struct str row;
    TRY(open_page(t, s, e, &row));
    if (!str_given(row)) {
        s->tail = (s->tail + PAGE_SLOTS_MAX - 1) & ~(uint64_t)(PAGE_SLOTS_MAX - 1);
        s->tail_since = e->inserted;
    }
    *number = s->tail++;
    return put_page(t, s, page_of(*number), row, e);
}

struct err queue_page_put_delayed(struct txn *t, struct queue_state *s, const struct page_entry *e,
                                  int64_t visible, uint64_t *number)
{
    assert(s->exists);
    *number = QUEUE_NUMBER_DELAYED | s->delayed++ << PAGE_SHIFT;
    struct page page = {.id = page_of(*number), .count = 1, .expires_at = e->expires};
    page.slots[0] = (struct slot){.expires = e->expires, .receipt = e->receipt};
    TRY(put_page(t, s, page.id, STR_NONE, e));
    TRY(queue_page_show_at(t, s, &page, 0, visible));
    return queue_page_finish(t, s, &page);
}

/* ---- changing ---- */

static uint64_t grain_of(int64_t time)
{
    return (uint64_t)time >> VISIBLE_GRAIN_BITS;
}

static struct queue_key visible_key(const struct queue_state *s, int64_t time, uint64_t page)
{
    return queue_key_timed(s, KEY_VISIBLE, (int64_t)(grain_of(time) << VISIBLE_GRAIN_BITS), page);
}

/* True if another message of the page also needs the v row at that time. */
static bool others_need(const struct page *page, unsigned slot, int64_t time)
{
    for (unsigned i = 0; i < page->count; i++) {
        const struct slot *other = &page->slots[i];
        if (i != slot && other->timed && !other->gone &&
            grain_of(other->next_visible) == grain_of(time))
            return true;
    }
    return false;
}

/* Deletes the v row of a message unless another message of the page needs it. */
static struct err drop_visible(struct txn *t, const struct queue_state *s, const struct page *page,
                               unsigned slot)
{
    const struct slot *dropped = &page->slots[slot];
    if (!dropped->timed || others_need(page, slot, dropped->next_visible))
        return OK;
    struct queue_key key = visible_key(s, dropped->next_visible, page->id);
    return txn_del(t, queue_key_str(&key));
}

struct err queue_page_show_at(struct txn *t, struct queue_state *s, struct page *page,
                              unsigned slot, int64_t time)
{
    assert(slot < page->count);
    TRY(drop_visible(t, s, page, slot));
    page->slots[slot].timed = true;
    page->slots[slot].next_visible = time;
    if (time < s->visible_from)
        s->visible_from = time;
    if (others_need(page, slot, time))
        return OK;
    struct queue_key key = visible_key(s, time, page->id);
    return txn_insert(t, &(struct engine_row){.key = queue_key_str(&key), .value = STR("")});
}

struct err queue_page_set_text(struct txn *t, const struct queue_state *s, struct page *page,
                               unsigned slot, struct str text)
{
    assert(slot < page->count);
    struct queue_key key = queue_key_of(s, KEY_TEXT, number_of(page->id, slot));
    page->slots[slot].changed = true;
    return txn_put(t, queue_key_str(&key), text);
}

struct err queue_page_remove(struct txn *t, struct queue_state *s, struct page *page, unsigned slot)
{
    assert(!page->slots[slot].gone);
    if (s->count == 0)
        return err_new(ERR_CORRUPT);
    s->count--;
    page->slots[slot].gone = true;
    TRY(drop_visible(t, s, page, slot));
    if (!page->slots[slot].changed)
        return OK;
    struct queue_key key = queue_key_of(s, KEY_TEXT, number_of(page->id, slot));
    return txn_del(t, queue_key_str(&key));
}

static bool all_gone(const struct page *page)
{
    for (unsigned i = 0; i < page->count; i++)
        if (!page->slots[i].gone)
            return false;
    return true;
}

static struct err slots_save(struct txn *t, struct queue_state *s, struct page *page)
{
    char bytes[SLOTS_BYTES_MAX];
    bytes[0] = FORM;
    queue_put_word_at(bytes + 1, (uint64_t)page->expires_at);
    memcpy(bytes + SLOTS_HEAD_BYTES, page->slots, page->count * sizeof(struct slot));
    struct queue_key key = queue_key_of(s, KEY_SLOTS, page->id);
    struct engine_row row = {.key = queue_key_str(&key),
                             .value = {bytes, SLOTS_HEAD_BYTES + (size_t)SLOT_BYTES * page->count}};
    bool was_stored = page->stored;
    page->stored = true;
    if (in_log(page->id)) {
        row.hints = HINT_SOON; /* the next get or the delete reads it */
        if (page->id >= s->untouched)
            s->untouched = page->id + 1;
    }
    return was_stored ? txn_put_row(t, &row) : txn_insert(t, &row);
}

static struct err page_drop(struct txn *t, struct queue_state *s, const struct page *page)
{
    struct queue_key key = queue_key_of(s, KEY_PAGE, page->id);
    TRY(txn_del(t, queue_key_str(&key)));
    if (page->stored) {
        key = queue_key_of(s, KEY_SLOTS, page->id);
        TRY(txn_del(t, queue_key_str(&key)));
    }
    TRY(move_expiry(t, s, page->id, page->expires_at, QUEUE_EXPIRES_NEVER));
    if (page_of(s->head) == page->id)
        s->head = number_of(page->id + 1, 0);
    if (s->count > 0)
        return OK;
    /* No message is left, so the next search can skip the whole log. */
    s->head = s->tail;
    s->visible_from = QUEUE_TIME_NEVER;
    s->expires_from = QUEUE_TIME_NEVER;
    return OK;
}

struct err queue_page_finish(struct txn *t, struct queue_state *s, struct page *page)
{
    assert(txn_writable(t));
    uint64_t end = number_of(page->id + 1, 0);
    /* The page is closed: its s row must describe all of its messages. */
    if (page->id == page_of(s->tail) && s->tail < end)
        s->tail = end;
    return all_gone(page) ? page_drop(t, s, page) : slots_save(t, s, page);
}

struct err queue_page_set_expiry(struct txn *t, struct queue_state *s, struct page *page)
{
    int64_t earliest = QUEUE_EXPIRES_NEVER;
    for (unsigned i = 0; i < page->count; i++)
        if (!page->slots[i].gone && page->slots[i].expires < earliest)
            earliest = page->slots[i].expires;
    int64_t before = page->expires_at;
    page->expires_at = earliest;
    return before == earliest ? OK : move_expiry(t, s, page->id, before, earliest);
}

/* ---- ids and receipts ---- */

struct guid queue_id_make(const struct queue_state *s, uint64_t number)
{
    struct guid id;
    queue_put_be64(id.bytes, s->incarnation);
    queue_put_be64(id.bytes + 8, number);
    return id;
}

bool queue_id_number(const struct queue_state *s, const struct guid *id, uint64_t *number)
{
    struct reader r = reader_of((struct str){(const char *)id->bytes, sizeof id->bytes});
    uint64_t incarnation = read_be64(&r);
    *number = read_be64(&r);
    return incarnation == s->incarnation;
}

struct queue_receipt queue_receipt_make(uint64_t number, uint64_t stamp)
{
    struct queue_receipt receipt;
    unsigned char bytes[8];
    queue_put_be64(bytes, number);
    queue_put_be64(receipt.bytes, stamp);
    memcpy(receipt.bytes + 8, bytes + 4, 4);
    return receipt;
}
