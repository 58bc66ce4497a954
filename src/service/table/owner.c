/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/owner.h"
#include "service/common/name.h"
#include "service/table/names.h"
#include "service/table/table.h"

/* The partition is account/table/PartitionKey, and a key the table's id and the RowKey. */
struct err table_row_owners(struct txn *t, void *arg)
{
    const struct owner_search *s = arg;
    struct arena *a = txn_arena(t);
    struct str pk = owner_container(s->partition);
    struct str account = str_cut(&pk, '/');
    struct str table = str_cut(&pk, '/');
    pk = name_from_key(a, pk);
    for (size_t i = 0; i < s->count; i++) {
        struct str rk = name_from_key(a, str_from(s->keys[i], TABLE_ID_BYTES));
        struct buf b = buf_heap();
        buf_printf(&b, "entity %.*s/%.*s(PartitionKey='%.*s',RowKey='%.*s')", STR_ARG(account),
                   STR_ARG(table), STR_ARG(pk), STR_ARG(rk));
        owner_tell(s, i, buf_str(&b));
        buf_release(&b);
    }
    return OK;
}
