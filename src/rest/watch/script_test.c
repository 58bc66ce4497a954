/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/watch/script.h"

#include "core/test.h"
#include "rest/head/match.h"

void test_script_glob(void)
{
    static const struct {
        const char *pattern, *text;
        bool fits;
    } CASES[] = {
        {"", "", true},           {"*", "", true},          {"*", "anything", true},
        {"a", "a", true},         {"a", "b", false},        {"a?c", "abc", true},
        {"a?c", "ac", false},     {"a*c", "abbbc", true},   {"a*c", "abbb", false},
        {"*b*", "abc", true},     {"a*b*c", "a1b2c", true}, {"a*b*c", "acb", false},
        {"**x", "yyx", true},     {"ab", "abc", false},     {"abc", "ab", false},
        {"*aab", "aaaaab", true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        if (script_glob(CASES[i].pattern, str_of(CASES[i].text)) != CASES[i].fits)
            test_fail(__FILE__, __LINE__, "'%s' and '%s'", CASES[i].pattern, CASES[i].text);
}

static struct rest_call get_blob(struct http_exchange *x)
{
    const struct op_table *table = match_table(SERVICE_BLOB);
    return (struct rest_call){.x = x,
                              .service = SERVICE_BLOB,
                              .account = STR("account"),
                              .container = STR("box"),
                              .object = STR("thing"),
                              .op = &table->rows[0]};
}

void test_script_fault_skips_and_counts(void)
{
    struct http_exchange x = {0};
    struct rest_call call = get_blob(&x);
    struct script *s = script_new();
    struct script_fault fault = {.skip = 1,
                                 .times = 2,
                                 .probability = 1,
                                 .deed.act = SCRIPT_ERROR,
                                 .deed.error = ERR_SERVER_BUSY,
                                 .match = {.object = "th*"}};
    CHECK_OK(script_add_fault(s, &fault));
    CHECK(fault.id[0] != '\0');
    CHECK_ERR(script_add_fault(s, &fault), ERR_RESOURCE_ALREADY_EXISTS);
    static const enum script_act WANTED[] = {SCRIPT_NOTHING, SCRIPT_ERROR, SCRIPT_ERROR,
                                             SCRIPT_NOTHING};
    for (size_t i = 0; i < 4; i++)
        CHECK_INT(script_meets(s, &call, SCRIPT_BEFORE).act, WANTED[i]);
    CHECK_INT(script_meets(s, &call, SCRIPT_AFTER_COMMIT).act, SCRIPT_NOTHING);
    call.object = STR("other");
    CHECK_INT(script_meets(s, &call, SCRIPT_BEFORE).act, SCRIPT_NOTHING);
    CHECK_INT(script_struck(s), 2);
    CHECK(script_remove_fault(s, str_of(fault.id)));
    CHECK(!script_remove_fault(s, str_of(fault.id)));
    script_free(s);
}

void test_script_limits(void)
{
    struct script *s = script_new();
    struct script_fault fault = {.probability = 1, .deed.act = SCRIPT_RESET};
    struct script_hold hold = {.times = 1, .timeout_ms = 10};
    for (int i = 0; i < SCRIPT_FAULTS_MAX; i++) {
        fault.id[0] = '\0';
        CHECK_OK(script_add_fault(s, &fault));
    }
    fault.id[0] = '\0';
    CHECK_ERR(script_add_fault(s, &fault), ERR_INVALID_INPUT);
    for (int i = 0; i < SCRIPT_HOLDS_MAX; i++) {
        hold.id[0] = '\0';
        CHECK_OK(script_add_hold(s, &hold));
    }
    hold.id[0] = '\0';
    CHECK_ERR(script_add_hold(s, &hold), ERR_INVALID_INPUT);
    script_clear(s);
    hold.id[0] = '\0';
    CHECK_OK(script_add_hold(s, &hold));
    CHECK(script_release(s, str_of(hold.id), 0));
    CHECK(script_remove_hold(s, str_of(hold.id)));
    CHECK(!script_remove_hold(s, str_of(hold.id)));
    script_free(s);
}
