/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/policy_xml.h"

#include "core/text/xml.h"
#include "core/time.h"

/* ---- reading ---- */

/* A missing or empty element is a part that the policy leaves open. */
static struct err read_time(struct arena *a, const struct xml_node *access, struct str name,
                            struct str *out)
{
    struct str text = xml_child_text(access, name);
    int64_t ticks;
    if (text.n == 0)
        return OK;
    if (!time_parse_iso(text, &ticks))
        return err_detail(
            ERR_INVALID_XML_NODE_VALUE,
            arena_printf(a, "XmlNodeName\t%.*s\nXmlNodeValue\t%.*s", STR_ARG(name), STR_ARG(text))
                .p);
    struct buf iso = buf_in(a);
    time_put_iso(&iso, ticks);
    *out = buf_str(&iso);
    return OK;
}

static bool letters_known(struct str permission, struct str letters)
{
    for (size_t i = 0; i < permission.n; i++)
        if (str_find(letters, permission.p[i], 0) == letters.n)
            return false;
    return true;
}

static struct err read_policy(struct arena *a, const struct xml_node *node, struct str letters,
                              struct policy *p)
{
    const struct xml_node *access = xml_child(node, STR("AccessPolicy"));
    p->id = xml_child_text(node, STR("Id"));
    if (!str_eq(node->name, STR("SignedIdentifier")) || p->id.n == 0 ||
        str_utf16_units(p->id) > POLICY_ID_CHARACTERS_MAX)
        return err_new(ERR_INVALID_XML_DOCUMENT);
    TRY(read_time(a, access, STR("Start"), &p->start));
    TRY(read_time(a, access, STR("Expiry"), &p->expiry));
    struct str permission = xml_child_text(access, STR("Permission"));
    if (!letters_known(permission, letters))
        return err_new(ERR_INVALID_XML_DOCUMENT);
    if (permission.n > 0)
        p->permission = permission;
    return OK;
}

static bool id_repeats(const struct policies *all)
{
    for (size_t i = 0; i + 1 < all->count; i++)
        if (str_eq(all->items[i].id, all->items[all->count - 1].id))
            return true;
    return false;
}

struct err policies_from_xml(struct rest_call *call, struct str letters, struct str *encoded)
{
    struct policies all = {.count = 0};
    struct xml_node *root;
    *encoded = STR_NONE;
    if (call->body.n == 0)
        return OK;
    TRY(xml_parse(call->arena, call->body, &root));
    if (!str_eq(root->name, STR("SignedIdentifiers")))
        return err_new(ERR_INVALID_XML_DOCUMENT);
    for (const struct xml_node *n = root->first_child; n != NULL; n = n->next) {
        if (all.count == POLICIES_MAX)
            return err_new(ERR_INVALID_XML_DOCUMENT);
        TRY(read_policy(call->arena, n, letters, &all.items[all.count++]));
        if (id_repeats(&all))
            return err_new(ERR_INVALID_XML_DOCUMENT);
    }
    *encoded = policies_encode(call->arena, &all);
    return OK;
}

/* ---- writing ---- */

static void put_if(struct buf *out, struct str name, struct str text)
{
    if (str_given(text))
        xml_element(out, name, text);
}

/* A policy without content has only its name. */
static void put_policy(struct buf *out, const struct policy *p)
{
    xml_open(out, STR("SignedIdentifier"));
    xml_element(out, STR("Id"), p->id);
    if (str_given(p->start) || str_given(p->expiry) || str_given(p->permission)) {
        xml_open(out, STR("AccessPolicy"));
        put_if(out, STR("Start"), p->start);
        put_if(out, STR("Expiry"), p->expiry);
        put_if(out, STR("Permission"), p->permission);
        xml_close(out, STR("AccessPolicy"));
    }
    xml_close(out, STR("SignedIdentifier"));
}

void policies_put_xml(struct buf *out, struct str encoded)
{
    struct policies all;
    if (!policies_decode(encoded, &all) || all.count == 0) {
        buf_put(out, STR("<SignedIdentifiers />"));
        return;
    }
    xml_open(out, STR("SignedIdentifiers"));
    for (size_t i = 0; i < all.count; i++)
        put_policy(out, &all.items[i]);
    xml_close(out, STR("SignedIdentifiers"));
}
