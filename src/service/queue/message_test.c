/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: put, get, peek, update, delete, clear; visibility. */
#include "service/queue/page.h"
#include "service/queue/queue_fixture.h"

static const int64_t SECOND = TICKS_PER_SECOND;

void test_put_message(void)
{
    struct fixture f;
    fixture_init(&f);
    struct queue_message m = fixture_put(&f, "hello");
    CHECK_INT(m.inserted, FIXTURE_NOW);
    CHECK_INT(m.next_visible, FIXTURE_NOW);
    CHECK_INT(m.expires, FIXTURE_NOW + 7 * 86400 * SECOND);
    CHECK_INT(m.dequeue_count, 0);
    struct queue_message never = fixture_put_for(&f, "x", 10, QUEUE_TTL_NEVER);
    CHECK_INT(never.expires, QUEUE_EXPIRES_NEVER);
    CHECK_INT(never.next_visible, FIXTURE_NOW + 10 * SECOND);
    CHECK(!guid_eq(&never.id, &m.id));
    /* A time to live past the last date is one without end. */
    struct queue_message far = fixture_put_for(&f, "y", 0, INT64_MAX);
    CHECK_INT(far.expires, QUEUE_EXPIRES_NEVER);
    CHECK_STR(fixture_texts(&f, fixture_peek(&f, 32)), STR("hello y "));
    fixture_release(&f);
}

void test_get_messages(void)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(fixture_get(&f, 32, 30)->count, 0);
    char text[16];
    for (int i = 0; i < 40; i++) {
        (void)snprintf(text, sizeof text, "%d", i);
        (void)fixture_put(&f, text);
    }
    struct queue_get_messages *got = fixture_get(&f, 32, 30);
    CHECK_INT(got->count, 32);
    for (unsigned i = 0; i < got->count; i++) {
        (void)snprintf(text, sizeof text, "%u", i);
        CHECK_STR(got->messages[i].text, str_of(text));
        CHECK_INT(got->messages[i].dequeue_count, 1);
    }
    CHECK_INT(fixture_get(&f, 32, 30)->count, 8);
    CHECK_INT(fixture_get(&f, 32, 30)->count, 0);
    fixture_seconds(&f, 30);
    got = fixture_get(&f, 1, 30);
    CHECK_STR(fixture_texts(&f, got), STR("0 "));
    CHECK_INT(got->messages[0].dequeue_count, 2);
    fixture_release(&f);
}

void test_rule_Q1_got_message_is_invisible(void)
{
    struct fixture f;
    fixture_init(&f);
    (void)fixture_put(&f, "m");
    fixture_seconds(&f, 5);
    struct queue_get_messages *got = fixture_get(&f, 1, 20);
    CHECK_INT(got->count, 1);
    struct queue_message m = got->messages[0];
    CHECK_INT(m.next_visible, FIXTURE_NOW + 25 * SECOND);
    CHECK_INT(m.inserted, FIXTURE_NOW);
    /* Not deleted, but seen by nobody until the time is over. */
    CHECK_INT(fixture_count(&f), 1);
    clock_advance(&f.clock, 20 * SECOND - 1);
    CHECK_INT(fixture_get(&f, 32, 1)->count, 0);
    CHECK_INT(fixture_peek(&f, 32)->count, 0);
    clock_advance(&f.clock, 1);
    CHECK_INT(fixture_peek(&f, 32)->count, 1);
    /* The receipt holds until the message is handed out again. */
    struct queue_get_messages *again = fixture_get(&f, 1, 20);
    CHECK_INT(again->count, 1);
    CHECK_ERR(fixture_delete(&f, &m), ERR_POP_RECEIPT_MISMATCH);
    CHECK_INT(fixture_count(&f), 1);
    CHECK_OK(fixture_delete(&f, &again->messages[0]));
    CHECK_INT(fixture_count(&f), 0);
    fixture_seconds(&f, 100);
    CHECK_INT(fixture_get(&f, 32, 1)->count, 0);
    CHECK_INT(fixture_rows(&f), 2);
    fixture_release(&f);
}

void test_receipt_outlives_visibility(void)
{
    struct fixture f;
    fixture_init(&f);
    (void)fixture_put(&f, "m");
    struct queue_message m = fixture_get(&f, 1, 1)->messages[0];
    fixture_seconds(&f, 1000);
    CHECK_INT(fixture_peek(&f, 1)->count, 1);
    CHECK_OK(fixture_delete(&f, &m));
    CHECK_INT(fixture_count(&f), 0);
    fixture_release(&f);
}

void test_peek_messages(void)
{
    struct fixture f;
    fixture_init(&f);
    (void)fixture_put(&f, "a");
    (void)fixture_put_for(&f, "later", 10, 100);
    (void)fixture_put(&f, "b");
    (void)fixture_put(&f, "c");
    CHECK_STR(fixture_texts(&f, fixture_peek(&f, 2)), STR("a b "));
    (void)fixture_get(&f, 1, 5);
    CHECK_STR(fixture_texts(&f, fixture_peek(&f, 32)), STR("b c "));
    fixture_seconds(&f, 5);
    struct queue_get_messages *peek = fixture_peek(&f, 32);
    CHECK_STR(fixture_texts(&f, peek), STR("b c a "));
    CHECK_INT(peek->messages[0].dequeue_count, 0);
    CHECK_INT(peek->messages[2].dequeue_count, 1);
    fixture_seconds(&f, 5);
    CHECK_STR(fixture_texts(&f, fixture_peek(&f, 32)), STR("b c a later "));
    fixture_release(&f);
}

/* Messages are ordered by the time when they became visible, for whatever reason. */
void test_queue_order(void)
{
    struct fixture f;
    fixture_init(&f);
    (void)fixture_put(&f, "got");
    (void)fixture_put_for(&f, "delayed", 3, 100);
    (void)fixture_get(&f, 1, 2);
    fixture_seconds(&f, 1);
    (void)fixture_put(&f, "at1");
    fixture_seconds(&f, 4);
    (void)fixture_put(&f, "at5");
    CHECK_STR(fixture_texts(&f, fixture_peek(&f, 32)), STR("at1 got delayed at5 "));
    CHECK_STR(fixture_texts(&f, fixture_get(&f, 3, 9)), STR("at1 got delayed "));
    CHECK_STR(fixture_texts(&f, fixture_get(&f, 3, 9)), STR("at5 "));
    fixture_release(&f);
}

/* Also if the times differ by less than the resolution of the v rows, and the messages are in
 * different pages. */
void test_queue_order_within_a_grain(void)
{
    static const int ORDER[] = {3, 1, 4, 0, 2};
    struct fixture f;
    struct queue_message m[5];
    fixture_init(&f);
    for (int i = 0; i < 5; i++) {
        m[i] = fixture_put(&f, (const char[]){(char)('a' + i), '\0'});
        fixture_seconds(&f, 1);
    }
    for (int i = 0; i < 5; i++) {
        const struct queue_message *next = &m[ORDER[i]];
        struct queue_change_message u = {.id = next->id, .receipt = next->receipt};
        CHECK_OK(fixture_update(&f, queue_update_message, &u));
        clock_advance(&f.clock, 10);
    }
    CHECK_STR(fixture_texts(&f, fixture_peek(&f, 32)), STR("d b e a c "));
    CHECK_STR(fixture_texts(&f, fixture_get(&f, 1, 9)), STR("d "));
    clock_advance(&f.clock, 10);
    CHECK_STR(fixture_texts(&f, fixture_get(&f, 2, 9)), STR("b e "));
    CHECK_STR(fixture_texts(&f, fixture_get(&f, 32, 8)), STR("a c "));
    fixture_seconds(&f, 9);
    CHECK_STR(fixture_texts(&f, fixture_get(&f, 32, 9)), STR("a c d b e "));
    fixture_release(&f);
}

void test_update_message(void)
{
    struct fixture f;
    fixture_init(&f);
    (void)fixture_put(&f, "text");
    struct queue_message m = fixture_get(&f, 1, 30)->messages[0];
    struct queue_change_message u = {.id = m.id, .receipt = m.receipt, .visibility_s = 100};
    CHECK_OK(fixture_update(&f, queue_update_message, &u));
    CHECK_INT(u.next_visible, FIXTURE_NOW + 100 * SECOND);
    /* The receipt before it is over; the text is as it was. */
    CHECK_ERR(fixture_update(&f, queue_update_message, &u), ERR_POP_RECEIPT_MISMATCH);
    fixture_seconds(&f, 99);
    CHECK_INT(fixture_get(&f, 1, 1)->count, 0);
    u.receipt = u.new_receipt;
    u.text = STR("other");
    u.visibility_s = 0;
    CHECK_OK(fixture_update(&f, queue_update_message, &u));
    struct queue_get_messages *got = fixture_get(&f, 32, 1);
    CHECK_STR(fixture_texts(&f, got), STR("other "));
    CHECK_INT(got->messages[0].dequeue_count, 2);
    CHECK_OK(fixture_delete(&f, &got->messages[0]));
    CHECK_ERR(fixture_update(&f, queue_update_message, &u), ERR_MESSAGE_NOT_FOUND);
    CHECK_INT(fixture_rows(&f), 2);
    fixture_release(&f);
}

/* The client that put a message may update and delete it with the receipt of the put. */
void test_update_message_not_yet_got(void)
{
    struct fixture f;
    fixture_init(&f);
    struct queue_message first = fixture_put(&f, "first");
    (void)fixture_put(&f, "second");
    struct queue_change_message u = {
        .id = first.id, .receipt = first.receipt, .text = STR("hidden"), .visibility_s = 10};
    CHECK_OK(fixture_update(&f, queue_update_message, &u));
    CHECK_STR(fixture_texts(&f, fixture_peek(&f, 32)), STR("second "));
    CHECK_STR(fixture_texts(&f, fixture_get(&f, 32, 60)), STR("second "));
    fixture_seconds(&f, 10);
    CHECK_STR(fixture_texts(&f, fixture_get(&f, 32, 60)), STR("hidden "));
    fixture_release(&f);
}

void test_delete_message(void)
{
    struct fixture f;
    fixture_init(&f);
    struct queue_message a = fixture_put(&f, "a");
    struct queue_message b = fixture_put(&f, "b");
    struct queue_message mixed = a;
    mixed.receipt = b.receipt;
    CHECK_ERR(fixture_delete(&f, &mixed), ERR_POP_RECEIPT_MISMATCH);
    mixed.id = guid_random();
    CHECK_ERR(fixture_delete(&f, &mixed), ERR_MESSAGE_NOT_FOUND);
    CHECK_OK(fixture_delete(&f, &b));
    CHECK_ERR(fixture_delete(&f, &b), ERR_MESSAGE_NOT_FOUND);
    struct queue_get_messages *got = fixture_get(&f, 32, 5);
    CHECK_STR(fixture_texts(&f, got), STR("a "));
    CHECK_ERR(fixture_delete(&f, &a), ERR_POP_RECEIPT_MISMATCH);
    CHECK_OK(fixture_delete(&f, &got->messages[0]));
    CHECK_INT(fixture_count(&f), 0);
    CHECK_INT(fixture_rows(&f), 2);
    fixture_release(&f);
}

/* Two messages of one get have separate receipts. */
void test_delete_message_with_a_neighbours_receipt(void)
{
    struct fixture f;
    fixture_init(&f);
    (void)fixture_put(&f, "a");
    (void)fixture_put(&f, "b");
    struct queue_get_messages *got = fixture_get(&f, 2, 5);
    struct queue_message mixed = got->messages[0];
    mixed.receipt = got->messages[1].receipt;
    CHECK_ERR(fixture_delete(&f, &mixed), ERR_POP_RECEIPT_MISMATCH);
    CHECK_INT(fixture_count(&f), 2);
    fixture_release(&f);
}

void test_clear_messages(void)
{
    struct fixture f;
    fixture_init(&f);
    (void)fixture_put(&f, "a");
    (void)fixture_put_for(&f, "b", 10, QUEUE_TTL_NEVER);
    struct queue_message got = fixture_get(&f, 1, 5)->messages[0];
    CHECK_OK(fixture_update(&f, queue_clear_messages, NULL));
    CHECK_INT(fixture_count(&f), 0);
    CHECK_ERR(fixture_delete(&f, &got), ERR_MESSAGE_NOT_FOUND);
    fixture_seconds(&f, 20);
    CHECK_INT(fixture_get(&f, 32, 1)->count, 0);
    (void)fixture_put(&f, "c");
    CHECK_STR(fixture_texts(&f, fixture_get(&f, 32, 1)), STR("c "));
    fixture_release(&f);
}

/* Long texts are stored separately; they are kept, changed to and from short ones, and deleted like
 * others. */
void test_queue_long_text(void)
{
    struct fixture f;
    fixture_init(&f);
    char *big = arena_bytes(&f.arena, QUEUE_TEXT_BYTES_MAX + 1);
    memset(big, 'x', QUEUE_TEXT_BYTES_MAX);
    big[QUEUE_TEXT_BYTES_MAX] = '\0';
    (void)fixture_put(&f, big);
    struct queue_message m = fixture_get(&f, 1, 30)->messages[0];
    CHECK_STR(m.text, str_of(big));
    struct queue_change_message u = {.id = m.id, .receipt = m.receipt, .text = STR("small")};
    CHECK_OK(fixture_update(&f, queue_update_message, &u));
    CHECK_STR(fixture_texts(&f, fixture_peek(&f, 1)), STR("small "));
    u.receipt = u.new_receipt;
    u.text = str_of(big);
    CHECK_OK(fixture_update(&f, queue_update_message, &u));
    u.receipt = u.new_receipt;
    u.text = STR_NONE;
    CHECK_OK(fixture_update(&f, queue_update_message, &u));
    CHECK_STR(fixture_peek(&f, 1)->messages[0].text, str_of(big));
    u.receipt = u.new_receipt;
    CHECK_OK(fixture_update(&f, queue_delete_message, &u));
    CHECK_INT(fixture_rows(&f), 2);
    fixture_release(&f);
}

void test_queue_expired_is_never_delivered(void)
{
    struct fixture f;
    fixture_init(&f);
    struct queue_message a = fixture_put_for(&f, "a", 0, 10);
    (void)fixture_put_for(&f, "got", 0, 10);
    (void)fixture_put_for(&f, "stays", 0, 20);
    fixture_seconds(&f, 9);
    struct queue_get_messages *got = fixture_get(&f, 2, 5);
    CHECK_INT(got->count, 2);
    fixture_seconds(&f, 1);
    CHECK_ERR(fixture_delete(&f, &a), ERR_MESSAGE_NOT_FOUND);
    CHECK_ERR(fixture_delete(&f, &got->messages[1]), ERR_MESSAGE_NOT_FOUND);
    CHECK_STR(fixture_texts(&f, fixture_peek(&f, 32)), STR("stays "));
    fixture_seconds(&f, 9);
    CHECK_INT(fixture_count(&f), 1);
    CHECK_STR(fixture_texts(&f, fixture_get(&f, 32, 5)), STR("stays "));
    /* What is left of the page that the three were put in: itself, its s, e and v rows. */
    CHECK_INT(fixture_rows(&f), 2 + 4);
    fixture_seconds(&f, 5);
    CHECK_INT(fixture_get(&f, 32, 5)->count, 0);
    CHECK_INT(fixture_rows(&f), 2);
    fixture_release(&f);
}

/* More expired messages at the head than one transaction may read. */
void test_queue_many_expired_at_the_head(void)
{
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 3000; i++)
        (void)fixture_put_for(&f, "old", 0, 5);
    (void)fixture_put(&f, "alive");
    fixture_seconds(&f, 5);
    CHECK_STR(fixture_texts(&f, fixture_peek(&f, 32)), STR("alive "));
    CHECK_STR(fixture_texts(&f, fixture_get(&f, 32, 60)), STR("alive "));
    CHECK_INT(fixture_count(&f), 1);
    fixture_release(&f);
}

/* A read detects an empty queue: no update is made for it. */
void test_poll_messages(void)
{
    struct fixture f;
    fixture_init(&f);
    struct queue_get_messages get = {.arena = &f.arena, .count_max = 1};
    CHECK_OK(fixture_view(&f, queue_poll_messages, &get));
    CHECK(get.nothing);
    (void)fixture_put_for(&f, "m", 2, 100);
    CHECK_OK(fixture_view(&f, queue_poll_messages, &get));
    CHECK(get.nothing);
    fixture_seconds(&f, 2);
    CHECK_OK(fixture_view(&f, queue_poll_messages, &get));
    CHECK(!get.nothing);
    struct queue_message m = fixture_get(&f, 1, 1)->messages[0];
    CHECK_OK(fixture_view(&f, queue_poll_messages, &get));
    CHECK(get.nothing);
    CHECK_OK(fixture_delete(&f, &m));
    fixture_seconds(&f, 100);
    CHECK_OK(fixture_view(&f, queue_poll_messages, &get));
    CHECK(get.nothing);
    fixture_release(&f);
}

/* The state of a message is in its page's s row, as before. */
static struct err see_slots_row(struct txn *t, void *arg)
{
    const uint64_t *receipt = arg;
    enum { HEAD_BYTES = 9, SLOT_BYTES = 33, TIMED = 2 };
    struct queue_state s;
    struct str row;
    TRY(queue_state_load(t, &s));
    struct queue_key key = queue_key_of(&s, KEY_SLOTS, 0);
    TRY(txn_get(t, queue_key_str(&key), &row));
    CHECK_INT(row.n, HEAD_BYTES + 2 * SLOT_BYTES);
    const char *slot = row.p + HEAD_BYTES + SLOT_BYTES;
    CHECK_INT(row.p[0], 1);
    CHECK_INT(row.p[HEAD_BYTES], TIMED);
    CHECK_INT(slot[0], 0);
    CHECK_INT(queue_word_at(slot + 1), FIXTURE_NOW + QUEUE_TTL_DEFAULT_S * TICKS_PER_SECOND);
    CHECK_INT(queue_word_at(slot + 9), 0);
    CHECK_INT(queue_word_at(slot + 17), *receipt);
    CHECK_INT(queue_word_at(row.p + HEAD_BYTES + 25), 1);
    return OK;
}

void test_queue_slots_as_stored(void)
{
    struct fixture f;
    fixture_init(&f);
    (void)fixture_put(&f, "got");
    struct queue_message waits = fixture_put(&f, "waits");
    uint64_t receipt;
    memcpy(&receipt, waits.receipt.bytes, sizeof receipt);
    receipt = be64toh(receipt);
    CHECK_INT(fixture_get(&f, 1, 30)->count, 1);
    CHECK_OK(fixture_view(&f, see_slots_row, &receipt));
    fixture_release(&f);
}
