/* SPDX-License-Identifier: Apache-2.0 */
/* A consumer that takes too long: its message goes to another one, and its delete is refused. */
#include "azure.h"

#include <stdio.h>
#include <unistd.h>

struct message {
    char id[64]; /* empty: the queue had none to give */
    char receipt[128];
};

static char queue[64];

static void put_message(void)
{
    char path[96];
    snprintf(path, sizeof path, "%s/messages", queue);
    azure("POST", path, NULL,
          "<QueueMessage><MessageText>send the letter</MessageText></QueueMessage>");
}

/* A message that nobody else gets for so many seconds. */
static struct message get_message(int seconds)
{
    struct message m;
    char path[128];
    snprintf(path, sizeof path, "%s/messages?visibilitytimeout=%d", queue, seconds);
    struct answer answer = azure("GET", path, NULL, NULL);
    find_between(answer.body, "<MessageId>", "</MessageId>", m.id, sizeof m.id);
    find_between(answer.body, "<PopReceipt>", "</PopReceipt>", m.receipt, sizeof m.receipt);
    return m;
}

static struct answer on_message(const char *method, const struct message *m, const char *more)
{
    char path[512], receipt[256];
    escape(m->receipt, receipt, sizeof receipt);
    snprintf(path, sizeof path, "%s/messages/%s?popreceipt=%s%s", queue, m->id, receipt, more);
    return azure(method, path, NULL, NULL);
}

static void expect_delete(const char *what, const struct message *m, const char *expected)
{
    struct answer answer = on_message("DELETE", m, "");
    expect_answer(what, &answer, expected);
}

/* Ann's work takes longer than her 5 seconds, and the letter is sent twice. */
static void work_twice(void)
{
    put_message();
    struct message ann = get_message(5);
    let_pass(6);
    struct message bob = get_message(30);
    expect_text("the message that Ann works on goes to Bob too", bob.id, ann.id);
    expect_delete("Ann's delete with her old receipt", &ann, "400 PopReceiptMismatch");
    expect_delete("Bob's delete", &bob, "204");
}

/* She asks for more time, and uses the newest receipt. */
static void work_once(void)
{
    put_message();
    struct message ann = get_message(5), newer = ann;
    struct answer longer = on_message("PUT", &ann, "&visibilitytimeout=30");
    expect_answer("Ann asks for 30 seconds more", &longer, "204");
    snprintf(newer.receipt, sizeof newer.receipt, "%s", longer.receipt);
    let_pass(12); /* longer than the 5 seconds that she had at first */
    expect_text("what another consumer finds", get_message(5).id, "");
    expect_delete("a delete with the receipt from before", &ann, "400 PopReceiptMismatch");
    expect_delete("a delete with the newest", &newer, "204");
}

int main(void)
{
    azure_init("Queue");
    snprintf(queue, sizeof queue, "/work-c-%ld", (long)getpid());
    azure("PUT", queue, NULL, NULL);
    work_twice();
    work_once();
    azure("DELETE", queue, NULL, NULL);
    azure_release();
    return 0;
}
