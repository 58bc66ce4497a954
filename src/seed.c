/* SPDX-License-Identifier: Apache-2.0 */
#include "seed.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "ask.h"
#include "core/text/base64.h"
#include "core/text/json.h"
#include "core/text/uri.h"
#include "core/text/xml.h"

enum { FILE_BYTES_MAX = 256 << 20, DEPTH_MAX = 32, MANIFEST_BYTES_MAX = 64 << 20 };

struct seed {
    const struct seed_target *target;
    struct arena *arena;
    struct str account, key;
};

static struct err wrong(struct seed *s, const char *what, struct str name, const char *why)
{
    return err_detail(
        ERR_INVALID_INPUT,
        arena_printf(s->arena, "Reason\t%s %.*s: %s", what, STR_ARG(str_head(name, 200)), why).p);
}

/* ---- requests ---- */

struct request {
    const char *method;
    enum service_kind service;
    struct str path; /* behind the account, encoded */
    struct str body;
    const struct ask_header *headers;
    size_t header_count;
};

/* *made: it did not exist before. A conflict is no error: the object exists already. */
static struct err send(struct seed *s, const struct request *r, bool *made)
{
    uint16_t port = s->target->ports[r->service];
    struct answered answer = {0};
    if (port == 0)
        return wrong(s, "the service", r->path, "is turned off");
    struct ask what = {
        .method = r->method,
        .url = arena_printf(s->arena, "http://%s:%u", s->target->host, port),
        .path = arena_printf(s->arena, "/%.*s%.*s", STR_ARG(s->account), STR_ARG(r->path)),
        .body = str_given(r->body) ? r->body : STR(""),
        .headers = r->headers,
        .header_count = r->header_count,
        .account = s->account,
        .key = s->key,
        .table = r->service == SERVICE_TABLE,
    };
    TRY(ask(s->arena, &what, &answer));
    if (made != NULL)
        *made = answer.status == 201;
    if (answer.status / 100 == 2 || answer.status == 409)
        return OK;
    return wrong(s, r->method, r->path, arena_cstr(s->arena, str_head(answer.body, 300)));
}

static struct str encoded(struct seed *s, const char *format, struct str a, struct str b)
{
    struct buf first = buf_in(s->arena), second = buf_in(s->arena);
    uri_encode(&first, a, URI_KEEP_NONE);
    uri_encode(&second, b, URI_KEEP_PATH);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    return arena_printf(s->arena, format, STR_ARG(buf_str(&first)), STR_ARG(buf_str(&second)));
#pragma GCC diagnostic pop
}

static struct err make_container(struct seed *s, struct str name)
{
    struct request r = {.method = "PUT",
                        .service = SERVICE_BLOB,
                        .path = encoded(s, "/%.*s?restype=container%.*s", name, STR(""))};
    return send(s, &r, NULL);
}

static struct err put_blob(struct seed *s, struct str container, struct str name, struct str bytes,
                           struct str type)
{
    struct ask_header headers[] = {{STR("x-ms-blob-type"), STR("BlockBlob")},
                                   {STR("Content-Type"), type}};
    struct request r = {.method = "PUT",
                        .service = SERVICE_BLOB,
                        .path = encoded(s, "/%.*s/%.*s", container, name),
                        .body = bytes,
                        .headers = headers,
                        .header_count = str_given(type) ? 2 : 1};
    return send(s, &r, NULL);
}

static struct err put_file(struct seed *s, struct str share, struct str path, struct str bytes)
{
    struct str size = arena_printf(s->arena, "%zu", bytes.n);
    struct ask_header create[] = {{STR("x-ms-type"), STR("file")},
                                  {STR("x-ms-content-length"), size}};
    struct request r = {.method = "PUT",
                        .service = SERVICE_FILE,
                        .path = encoded(s, "/%.*s/%.*s", share, path),
                        .headers = create,
                        .header_count = 2};
    TRY(send(s, &r, NULL));
    if (bytes.n == 0)
        return OK;
    struct ask_header write[] = {
        {STR("x-ms-write"), STR("update")},
        {STR("x-ms-range"), arena_printf(s->arena, "bytes=0-%zu", bytes.n - 1)}};
    r = (struct request){.method = "PUT",
                         .service = SERVICE_FILE,
                         .path = encoded(s, "/%.*s/%.*s?comp=range", share, path),
                         .body = bytes,
                         .headers = write,
                         .header_count = 2};
    return send(s, &r, NULL);
}

static struct err put_message(struct seed *s, struct str queue, struct str text)
{
    struct buf body = buf_in(s->arena);
    buf_put(&body, STR("<QueueMessage><MessageText>"));
    xml_put_text(&body, text);
    buf_put(&body, STR("</MessageText></QueueMessage>"));
    struct request r = {.method = "POST",
                        .service = SERVICE_QUEUE,
                        .path = encoded(s, "/%.*s/messages%.*s", queue, STR("")),
                        .body = buf_str(&body)};
    return send(s, &r, NULL);
}

static struct err post_json(struct seed *s, struct str path, struct str body)
{
    struct ask_header headers[] = {{STR("Content-Type"), STR("application/json")},
                                   {STR("Accept"), STR("application/json;odata=nometadata")}};
    struct request r = {.method = "POST",
                        .service = SERVICE_TABLE,
                        .path = path,
                        .body = body,
                        .headers = headers,
                        .header_count = 2};
    return send(s, &r, NULL);
}

/* ---- the manifest ---- */

/* An item with its content: {"name" or "path", "text" or "base64", "contentType"}. */
struct item {
    struct str name, bytes, type;
};

static struct err read_item(struct seed *s, struct json_reader *r, struct item *out)
{
    struct str name;
    *out = (struct item){.bytes = STR("")};
    if (json_value(r).kind != JSON_OBJECT)
        return wrong(s, "an item", STR(""), "is to be an object");
    while (json_member(r, &name)) {
        struct json_value v = json_value(r);
        if (v.kind != JSON_STRING)
            return wrong(s, "the member", name, "is to be a text");
        if (str_eq(name, STR("name")) || str_eq(name, STR("path")))
            out->name = v.text;
        else if (str_eq(name, STR("text")))
            out->bytes = v.text;
        else if (str_eq(name, STR("contentType")))
            out->type = v.text;
        else if (!str_eq(name, STR("base64")) || !base64_decode(s->arena, v.text, &out->bytes))
            return wrong(s, "the member", name, "is not known, or not base64");
    }
    return str_given(out->name) && out->name.n > 0 ? OK
                                                   : wrong(s, "an item", STR(""), "has no name");
}

/* Reads the list of an object's contents; `place` is the object's name. */
typedef struct err read_list(struct seed *s, struct json_reader *r, struct str container);

static struct err read_blobs(struct seed *s, struct json_reader *r, struct str container)
{
    struct item item;
    while (json_element(r)) {
        TRY(read_item(s, r, &item));
        TRY(put_blob(s, container, item.name, item.bytes, item.type));
    }
    return OK;
}

static struct err read_files(struct seed *s, struct json_reader *r, struct str container)
{
    struct item item;
    while (json_element(r)) {
        TRY(read_item(s, r, &item));
        TRY(put_file(s, container, item.name, item.bytes));
    }
    return OK;
}

static struct err read_messages(struct seed *s, struct json_reader *r, struct str container)
{
    while (json_element(r)) {
        struct json_value v = json_value(r);
        if (v.kind != JSON_STRING)
            return wrong(s, "a message of", container, "is to be a text");
        TRY(put_message(s, container, v.text));
    }
    return OK;
}

static struct err skip_messages(struct seed *s, struct json_reader *r, struct str container)
{
    (void)s;
    (void)container;
    while (json_element(r))
        json_skip(r, json_value(r));
    return OK;
}

static struct err read_entities(struct seed *s, struct json_reader *r, struct str container)
{
    while (json_element(r)) {
        struct json_reader start = *r;
        struct json_value v = json_value(r);
        if (v.kind != JSON_OBJECT)
            return wrong(s, "an entity of", container, "is to be an object");
        json_skip(r, v);
        TRY(post_json(s, encoded(s, "/%.*s%.*s", container, STR("")),
                      (struct str){start.at, (size_t)(r->at - start.at)}));
    }
    return OK;
}

struct kind {
    const char *name, *inside;
    struct err (*make)(struct seed *s, struct str name, read_list **list);
};

static struct err make_box(struct seed *s, struct str name, read_list **list)
{
    *list = read_blobs;
    return make_container(s, name);
}

static struct err make_queue(struct seed *s, struct str name, read_list **list)
{
    bool made = false;
    struct request r = {
        .method = "PUT", .service = SERVICE_QUEUE, .path = encoded(s, "/%.*s%.*s", name, STR(""))};
    TRY(send(s, &r, &made));
    *list = made ? read_messages : skip_messages;
    return OK;
}

static struct err make_table(struct seed *s, struct str name, read_list **list)
{
    struct buf body = buf_in(s->arena);
    struct json_writer w = json_writer_of(&body);
    json_open(&w, '{');
    json_name(&w, STR("TableName"));
    json_string(&w, name);
    json_close(&w, '}');
    *list = read_entities;
    return post_json(s, STR("/Tables"), buf_str(&body));
}

static struct err make_share(struct seed *s, struct str name, read_list **list)
{
    struct request r = {.method = "PUT",
                        .service = SERVICE_FILE,
                        .path = encoded(s, "/%.*s?restype=share%.*s", name, STR(""))};
    *list = read_files;
    return send(s, &r, NULL);
}

static const struct kind KINDS[] = {{"containers", "blobs", make_box},
                                    {"queues", "messages", make_queue},
                                    {"tables", "entities", make_table},
                                    {"shares", "files", make_share}};

/* {"name": …, "blobs": […]}: the name must be the first member. */
static struct err read_container(struct seed *s, struct json_reader *r, const struct kind *kind)
{
    struct str name;
    read_list *list = NULL;
    struct str container = STR_NONE;
    if (json_value(r).kind != JSON_OBJECT)
        return wrong(s, kind->name, STR(""), "are to be objects");
    while (json_member(r, &name)) {
        struct json_value v = json_value(r);
        if (str_eq(name, STR("name")) && v.kind == JSON_STRING && !str_given(container)) {
            container = v.text;
            TRY(kind->make(s, container, &list));
        } else if (str_eq(name, str_of(kind->inside)) && v.kind == JSON_ARRAY && list != NULL) {
            TRY(list(s, r, container));
        } else {
            return wrong(s, "the member", name, "is not known here, or stands before the name");
        }
    }
    return str_given(container) ? OK : wrong(s, kind->name, STR(""), "have no name");
}

static struct err find_key(struct seed *s)
{
    struct account *account = accounts_get(s->target->accounts, s->account);
    if (account == NULL)
        return wrong(s, "the account", s->account, "is not served");
    s->key = arena_copy(s->arena, account->keys_base64[0]);
    account_put(account);
    return OK;
}

static struct err read_manifest(struct seed *s, struct json_reader *r)
{
    struct str name;
    if (json_value(r).kind != JSON_OBJECT)
        return wrong(s, "the manifest", STR(""), "is to be a JSON object");
    while (json_member(r, &name)) {
        struct json_value v = json_value(r);
        const struct kind *kind = NULL;
        for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++)
            if (str_eq(name, str_of(KINDS[i].name)))
                kind = &KINDS[i];
        if (str_eq(name, STR("account")) && v.kind == JSON_STRING) {
            s->account = v.text;
            TRY(find_key(s));
        } else if (kind != NULL && v.kind == JSON_ARRAY) {
            while (json_element(r))
                TRY(read_container(s, r, kind));
        } else {
            return wrong(s, "the member", name, "is not known, or of another type");
        }
    }
    return OK;
}

/* The first account that is served, if the well-known one is not. */
static struct err begin(struct seed *s)
{
    struct account *known = accounts_get(s->target->accounts, STR(ACCOUNT_WELL_KNOWN_NAME));
    account_put(known);
    s->account = known != NULL ? STR(ACCOUNT_WELL_KNOWN_NAME)
                               : accounts_name(s->target->accounts, s->arena, 0);
    return find_key(s);
}

struct err seed_manifest(const struct seed_target *target, struct str text, struct arena *arena)
{
    struct seed s = {.target = target, .arena = arena};
    /* The whole manifest must be well-formed before anything is created. */
    struct json_reader check = json_reader_of(arena, text);
    json_skip(&check, json_value(&check));
    if (!json_done(&check))
        return wrong(&s, "the manifest", STR(""), "is not well-formed JSON");
    struct json_reader r = json_reader_of(arena, text);
    TRY(begin(&s));
    return read_manifest(&s, &r);
}

/* ---- folders ---- */

static struct err read_whole(struct seed *s, const char *path, size_t max, struct str *out)
{
    FILE *file = fopen(path, "re");
    struct buf b = buf_in(s->arena);
    size_t got = 1;
    if (file == NULL)
        return wrong(s, "the file", str_of(path), strerrordesc_np(errno));
    while (got > 0 && b.n <= max) {
        got = fread(buf_reserve(&b, 1 << 16), 1, 1 << 16, file);
        b.n += got;
    }
    (void)fclose(file);
    *out = buf_str(&b);
    return b.n <= max ? OK : wrong(s, "the file", str_of(path), "is too large");
}

static struct err walk(struct seed *s, const char *folder, struct str container, struct str before,
                       int depth);

/* A file becomes a blob; a folder becomes a part of the names. */
static struct err take_entry(struct seed *s, const char *path, struct str container,
                             struct str name, int depth)
{
    struct stat is;
    struct str bytes;
    if (stat(path, &is) != 0)
        return wrong(s, "the file", str_of(path), strerrordesc_np(errno));
    if (S_ISDIR(is.st_mode))
        return walk(s, path, container, arena_printf(s->arena, "%.*s/", STR_ARG(name)), depth + 1);
    if (!S_ISREG(is.st_mode))
        return OK;
    TRY(read_whole(s, path, FILE_BYTES_MAX, &bytes));
    return put_blob(s, container, name, bytes, STR_NONE);
}

static struct err take_named(struct seed *s, const char *folder, const char *entry,
                             struct str container, struct str before, int depth)
{
    const char *path = arena_printf(s->arena, "%s/%s", folder, entry).p;
    if (str_given(container))
        return take_entry(s, path, container,
                          arena_printf(s->arena, "%.*s%s", STR_ARG(before), entry), depth);
    struct stat is;
    if (stat(path, &is) != 0 || !S_ISDIR(is.st_mode))
        return wrong(s, "the file", str_of(path), "lies outside of a container's folder");
    struct str name = arena_copy(s->arena, str_of(entry));
    TRY(make_container(s, name));
    return walk(s, path, name, STR(""), depth + 1);
}

static struct err walk(struct seed *s, const char *folder, struct str container, struct str before,
                       int depth)
{
    struct err error = OK;
    const struct dirent *entry;
    DIR *dir = depth > DEPTH_MAX ? NULL : opendir(folder);
    if (dir == NULL)
        return wrong(s, "the folder", str_of(folder), "cannot be read, or is too deep");
    while (!err_is(error) && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            error = take_named(s, folder, entry->d_name, container, before, depth);
    (void)closedir(dir);
    return error;
}

struct err seed_path(const struct seed_target *target, const char *path, struct arena *arena)
{
    struct seed s = {.target = target, .arena = arena};
    struct stat is;
    struct str text;
    if (stat(path, &is) != 0)
        return wrong(&s, "the seed", str_of(path), strerrordesc_np(errno));
    if (S_ISDIR(is.st_mode)) {
        TRY(begin(&s));
        return walk(&s, path, STR_NONE, STR(""), 0);
    }
    TRY(read_whole(&s, path, MANIFEST_BYTES_MAX, &text));
    return seed_manifest(target, text, arena);
}
