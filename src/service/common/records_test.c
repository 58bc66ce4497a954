/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as written by the version before the field tables, each with every field: they can still be
 * read, and are written with the same bytes. Do not add later fields here. */
#include "core/test.h"
#include "service/blob/block/block.h"
#include "service/blob/copy/copy_job.h"
#include "service/blob/copy/copy_state.h"
#include "service/common/policy.h"
#include "service/common/records.h"
#include "service/common/service_properties.h"
#include "service/file/node.h"
#include "service/file/share.h"
#include "service/queue/state.h"
#include "service/table/table.h"

#define LEASE_EXAMPLE                                                              \
    {                                                                              \
        .state = LEASE_LEASED, .id = {.bytes = "lease-id-16bytes"}, .seconds = 42, \
        .ends = 638000000000000077                                                 \
    }
#define S(text) STR_INIT(text)

static const struct blob_head HEAD = {
    .type = BLOB_APPEND,
    .committed = false,
    .etag = 638000000000000001,
    .last_modified = 638000000000000002,
    .created = 638000000000000003,
    .size = 1000004,
    .content = 1000005,
    .content_rows = 1006,
    .content_inline = true,
    .content_beside = true,
    .content_shared = true,
    .block_count = 1007,
    .blocks = 1008,
    .blocks_appended = true,
    .tier = BLOB_TIER_P80,
    .tier_changed = 638000000000000009,
    .rehydrate = BLOB_TIER_COLD,
    .rehydrate_at = 638000000000000010,
    .rehydrate_high = true,
    .http = {.content_type = S("type"),
             .content_encoding = S("encoding"),
             .content_language = S("language"),
             .content_disposition = S("disposition"),
             .cache_control = S("cache"),
             .content_md5 = S("sixteen bytes...")},
    .sequence = 1011,
    .page_rows = BLOB_PAGE_HAS_BLOCKS,
    .page_voids = S("voids"),
    .page_clears = S("clears"),
    .pages_at = 638000000000000012,
    .sealed = true,
    .metadata = S("metadata"),
    .tags = S(""),
    .copy = S("copy"),
    .lease = LEASE_EXAMPLE,
    .version = 638000000000000013,
    .deleted = 638000000000000014,
    .purge_at = 638000000000000015,
    .protection = {.until = 638000000000000016, .locked = true, .hold = true},
    .expires = 638000000000000017,
    .accessed = 638000000000000018,
    .encryption_scope = S("scope"),
    .path = {.directory = true,
             .id = 1019,
             .mode = 01755,
             .owner = S("owner"),
             .group = S("group"),
             .acl = S("acl"),
             .encryption_context = S("context"),
             .deleted_path = S("a/b"),
             .deletion_id = 638000000000000020},
};

static const struct container CONTAINER = {
    .incarnation = 1001,
    .etag = 638000000000000002,
    .last_modified = 638000000000000003,
    .public_access = BLOB_PUBLIC_BLOB,
    .metadata = S("metadata"),
    .acl = S("acl"),
    .lease = LEASE_EXAMPLE,
    .encryption_scope = S("scope"),
    .deny_scope_override = true,
    .hierarchical = true,
    .deleted_until = 638000000000000004,
    .deleted_count = 5,
    .deleted = 638000000000000006,
    .purge_at = 638000000000000007,
};

static const struct block_set BLOCK_SET = {
    .name = S("blob"),
    .count = 1001,
    .id_bytes = 64,
    .touched = 638000000000000002,
    .small = S("small"),
    .version = 1003,
};

static const struct copy_job COPY_JOB = {
    .name = S("to"),
    .type = BLOB_PAGE,
    .size = 1001,
    .started = 638000000000000002,
    .partition = S("partition"),
    .source_name = S("from"),
    .source_at = {.item = BLOB_SNAPSHOT, .time = 638000000000000003},
    .source_incarnation = 1004,
    .source_content = 1005,
    .source_blocks = 1006,
    .source_etag = 638000000000000007,
    .url = S("http://host/blob"),
    .url_etag = S("\"1\""),
    .content = 1008,
    .done = 1009,
    .rows = 1010,
    .extents = true,
};

static const struct blob_copy_state BLOB_COPY = {
    .status = BLOB_COPY_FAILED,
    .id = {.bytes = "copy-id-16-bytes"},
    .source = S("http://host/source"),
    .done = 1001,
    .total = 1002,
    .completed = 638000000000000003,
    .description = S("description"),
    .job = 1004,
    .incremental = true,
    .snapshot = 638000000000000005,
    .source_snapshot = 638000000000000006,
};

static const struct node NODE = {
    .kind = NODE_SYMLINK,
    .attributes = NODE_HIDDEN | NODE_ARCHIVE,
    .created = 638000000000000001,
    .last_write = 638000000000000002,
    .changed = 638000000000000003,
    .accessed = 638000000000000004,
    .etag = 638000000000000005,
    .last_modified = 638000000000000006,
    .permission = {.bytes = "permission-hash."},
    .metadata = S("metadata"),
    .eas = S("eas"),
    .lease = LEASE_EXAMPLE,
    .size = 1007,
    .content = 1008,
    .has_blocks = true,
    .voids = S("voids"),
    .http = {.content_type = S(""),
             .content_encoding = S("encoding"),
             .content_language = S("language"),
             .cache_control = S("cache"),
             .content_disposition = S("disposition"),
             .content_md5 = S("sixteen bytes...")},
    .copy = {.status = COPY_ABORTED,
             .id = {.bytes = "copy-id-16-bytes"},
             .source = S("http://host/source"),
             .done = 1009,
             .total = 1010,
             .completed = 638000000000000011,
             .description = S("description")},
    .mode = 0755,
    .owner = 1012,
    .group = 1013,
    .links = 14,
    .target = S("target"),
};

#define SETTINGS_EXAMPLE                                                           \
    {                                                                              \
        .quota_gib = 1001, .tier = SHARE_TIER_PREMIUM, .squash = SHARE_SQUASH_ALL, \
        .snapshot_directory = true, .directory_lease = true, .bursting = true,     \
        .bursting_mibps = 1002, .bursting_iops = 1003, .provisioned_mibps = 1004,  \
        .provisioned_iops = 1005                                                   \
    }
static const struct share SHARE = {
    .incarnation = 1006,
    .etag = 638000000000000007,
    .last_modified = 638000000000000008,
    .created = 638000000000000009,
    .protocol = SHARE_NFS,
    .settings = SETTINGS_EXAMPLE,
    .tier_changed = 638000000000000010,
    .quota_raised = 638000000000000011,
    .iops_raised = 638000000000000012,
    .mibps_raised = 638000000000000013,
    .metadata = S("metadata"),
    .acl = S("acl"),
    .lease = LEASE_EXAMPLE,
    .usage = 1014,
    .snapshot_count = 3,
    .snapshots = {638000000000000015, 638000000000000016, 638000000000900017},
    .deleted = 638000000000000018,
    .purge_at = 638000000000000019,
    .deleted_count = 20,
    .blocked_until = 638000000000000021,
};
static const struct share_snapshot SHARE_SNAPSHOT = {
    .etag = 638000000000000001,
    .last_modified = 638000000000000002,
    .metadata = S("metadata"),
    .lease = LEASE_EXAMPLE,
    .settings = SETTINGS_EXAMPLE,
    .usage = 1003,
};

static const struct service_properties PROPERTIES = {
    .given = 0x1FE,
    .logging = {.version = S("1.0"),
                .delete_calls = true,
                .read_calls = true,
                .write_calls = true,
                .retention = {.enabled = true, .days = 1}},
    .hour_metrics = {.version = S("1.1"),
                     .enabled = true,
                     .include_apis = true,
                     .retention = {.enabled = true, .days = 2}},
    .minute_metrics = {.version = S("1.2"), .enabled = true, .retention = {.days = 3}},
    .cors = {.count = 2,
             .rules = {{.allowed_origins = S("origins"),
                        .allowed_methods = S("methods"),
                        .allowed_headers = S("allowed"),
                        .exposed_headers = S("exposed"),
                        .max_age_seconds = 1003},
                       {.allowed_origins = S("*"), .allowed_headers = S("")}}},
    .default_version = S("2020-02-10"),
    .delete_retention = {.enabled = true, .days = 365, .permanent_delete = true},
    .website = {.enabled = true,
                .index_document = S("index"),
                .error_document = S("error"),
                .default_index_path = S("default")},
    .protocol = {.smb_multichannel = true,
                 .smb_encryption = ENCRYPTION_OPTIONAL,
                 .nfs_encryption = ENCRYPTION_REQUIRED},
};

static const struct table TABLE = {.id = 1001, .name = S("Name"), .acl = S("acl")};
static const struct policy POLICY = {
    .id = S("id"), .start = S("start"), .expiry = S("expiry"), .permission = S("permission")};
static const struct queue_state STATE = {
    .incarnation = 1001,
    .head = 1002,
    .tail = 1003,
    .tail_since = 1004,
    .delayed = 1005,
    .count = 1006,
    .visible_from = 1006,
    .expires_from = 1007,
    .dead_from = S("dead"),
    .untouched = 1009,
    .blocked_until = 1011,
};

/* The part of the times that the row stores: see node_encode. */
static struct node stored_node(void)
{
    struct node n = NODE;
    n.last_write ^= n.created;
    n.changed ^= n.created;
    n.accessed ^= n.created;
    return n;
}

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static struct str from_hex(struct arena *a, const char *hex)
{
    struct buf b = buf_in(a);
    for (; hex[0] != 0; hex += 2)
        buf_putc(&b, (char)(digit(hex[0]) << 4 | digit(hex[1])));
    return buf_str(&b);
}

/* The object encodes to the recorded bytes, and the bytes decode to an object that encodes to them
 * again. */
static void check(const struct record_type *type, const void *object, const char *hex)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    struct str recorded = from_hex(&a, hex);
    struct buf b = buf_in(&a);
    if (object != NULL) {
        record_write(&b, type, object);
        CHECK_STR(buf_str(&b), recorded);
    }
    void *back = arena_alloc(&a, type->size);
    CHECK(record_read(recorded, type, back));
    buf_clear(&b);
    record_write(&b, type, back);
    CHECK_STR(buf_str(&b), recorded);
    arena_release(&a);
}

void test_rows_recorded_before_the_tables(void)
{
    const struct node node = stored_node();
    const struct {
        const struct record_type *type;
        const void *object; /* NULL: its struct is private; see the tests beside it */
        const char *hex;
    } rows[] = {
        {&BLOB_HEAD_RECORD, &HEAD,
         "a001fc0702030401068180ccb5eab3a8ed08088280ccb5eab3a8ed080a8380ccb5eab3a8ed080cc4843d"
         "0ec5843d10ee07120114ef0716f007180f1a8980ccb5eab3a8ed0838033a8a80ccb5eab3a8ed083c012e"
         "0132f30734023001840101508d80ccb5eab3a8ed08528e80ccb5eab3a8ed08548f80ccb5eab3a8ed0856"
         "8c80ccb5eab3a8ed08789080ccb5eab3a8ed087a017c017e9180ccb5eab3a8ed0880019280ccb5eab3a8"
         "ed08a201ed07ac0101b0019480ccb5eab3a8ed081d04747970651f08656e636f64696e6721086c616e67"
         "75616765230b646973706f736974696f6e2505636163686527107369787465656e2062797465732e2e2e"
         "29086d657461646174612b003705766f696473870106636c6561727383010573636f70653f04636f7079"
         "a501056f776e6572a7010567726f7570a9010361636caf0103612f62ab0107636f6e746578742d1a012b"
         "4d00b3a69ea1da086c656173652d69642d31366279746573"},
        {&CONTAINER_RECORD, &CONTAINER,
         "02e907048280ccb5eab3a8ed08068380ccb5eab3a8ed0808010b086d657461646174610d0361636c0f1a"
         "012b4d00b3a69ea1da086c656173652d69642d31366279746573108480ccb5eab3a8ed083d0573636f70"
         "653e01500128052a8680ccb5eab3a8ed082c8780ccb5eab3a8ed08"},
        {&BLOCK_SET_RECORD, &BLOCK_SET,
         "0304626c6f6204e9070640088280ccb5eab3a8ed080b05736d616c6c0ceb07"},
        {&COPY_JOB_RECORD, &COPY_JOB,
         "0302746f040206e907088280ccb5eab3a8ed080b09706172746974696f6e0d0466726f6d0e01108380cc"
         "b5eab3a8ed0812ec0714ed0716ee07188780ccb5eab3a8ed081b10687474703a2f2f686f73742f626c6f"
         "621d032231221ef00720f10722f2072401"},
        {&BLOB_COPY_RECORD, &BLOB_COPY,
         "02040510636f70792d69642d31362d62797465730712687474703a2f2f686f73742f736f7572636508e9"
         "070aea070c8380ccb5eab3a8ed080f0b6465736372697074696f6e10ec071201148580ccb5eab3a8ed08"
         "168680ccb5eab3a8ed08"},
        {&NODE_RECORD, &node,
         "02020422068180ccb5eab3a8ed0808030a020c050e8580ccb5eab3a8ed08108680ccb5eab3a8ed081310"
         "7065726d697373696f6e2d686173682e15086d657461646174613903656173171a012b4d00b3a69ea1da"
         "086c656173652d69642d3136627974657318ef071af0071c021f05766f69647321002308656e636f6469"
         "6e6725086c616e677561676527056361636865290b646973706f736974696f6e2b107369787465656e20"
         "62797465732e2e2e2d4502030510636f70792d69642d31362d62797465730712687474703a2f2f686f73"
         "742f736f7572636508f1070af2070c8b80ccb5eab3a8ed080f0b6465736372697074696f6e2eed0330f4"
         "0732f507340e3706746172676574"},
        {&SHARE_RECORD, &SHARE,
         "02ee07048780ccb5eab3a8ed08068880ccb5eab3a8ed08088980ccb5eab3a8ed080a010ce9070e031202"
         "1401160118011aea071ceb071eec0720ed07108a80ccb5eab3a8ed0823086d6574616461746125036163"
         "6c271a012b4d00b3a69ea1da086c656173652d69642d3136627974657328f6072b0d8f80ccb5eab3a8ed"
         "0801a1f7362c9280ccb5eab3a8ed082e9380ccb5eab3a8ed083014389580ccb5eab3a8ed08328b80ccb5"
         "eab3a8ed08348c80ccb5eab3a8ed08368d80ccb5eab3a8ed08"},
        {&SHARE_SNAPSHOT_RECORD, &SHARE_SNAPSHOT,
         "048180ccb5eab3a8ed08068280ccb5eab3a8ed0823086d657461646174610ce9070e0312021401160118"
         "011aea071ceb071eec0720ed07271a012b4d00b3a69ea1da086c656173652d69642d3136627974657328"
         "eb07"},
        {&SERVICE_PROPERTIES_RECORD, &PROPERTIES,
         "03110303312e300401060108010b0402010401050f0303312e3104010601090402010402070b0303312e"
         "32040109020403092e2703076f726967696e7305076d6574686f64730707616c6c6f7765640907657870"
         "6f7365640aeb070503012a07000b0a323032302d30322d31300d090307020104ed0206010f1902010505"
         "696e64657807056572726f72090764656661756c741106020104010602"},
        {&TABLE_RECORD, &TABLE, "02e90705044e616d65070361636c"},
        {&POLICY_RECORD, &POLICY, "03026964050573746172740706657870697279090a7065726d697373696f6e"},
        {&QUEUE_STATE_RECORD, &STATE,
         "02e90704ea0706eb0708ec070aed070cee070eef0710f00713046465616414f20716f307"},
        {&ACCOUNT_RECORD, NULL, "0308613256354d513d3d0508613256354d673d3d06010801"},
        {&TABLE_BLOCKED_RECORD, NULL, "028180ccb5eab3a8ed08"},
        {&QUEUE_RECORD, NULL, "030b046e616d650576616c75650508706f6c6963696573"},
        {&FILE_COPY_RECORD, NULL,
         "0309706172746974696f6e04e907068280ccb5eab3a8ed0808eb070aec070c8580ccb5eab3a8ed080f04"
         "6e657874"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(rows[i].type, rows[i].object, rows[i].hex);
}

/* The words of a state, which is no record. */
void test_queue_state_recorded_before_the_tables(void)
{
    struct arena a;
    struct queue_state s;
    arena_init(&a, 1 << 20);
    CHECK_OK(queue_state_decode(
        from_hex(
            &a,
            "00e903000000000000ea03000000000000eb03000000000000ec03000000000000ed03000000000000ee"
            "03000000000000ef03000000000000f003000000000000f10300000000000064656164"),
        &s));
    CHECK(s.exists && s.incarnation == 1001 && s.head == 1002 && s.tail == 1003);
    CHECK(s.tail_since == 1004 && s.untouched == 1005 && s.delayed == 1006 && s.count == 1007);
    CHECK(s.visible_from == 1008 && s.expires_from == 1009);
    CHECK_STR(s.dead_from, STR("dead"));
    CHECK_OK(queue_state_decode(from_hex(&a, "130464656164168180ccb5eab3a8ed08"), &s));
    CHECK(!s.exists && s.blocked_until == 638000000000000001 && s.visible_from == QUEUE_TIME_NEVER);
    CHECK_STR(s.dead_from, STR("dead"));
    arena_release(&a);
}
