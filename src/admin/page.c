/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/page.h"

#include "admin/internal.h"

static const struct page_file *find_file(struct str path)
{
    if (str_eq(path, STR("/")))
        path = STR("/index.html");
    for (size_t i = 0; i < PAGE_FILE_COUNT; i++)
        if (str_eq(path, str_of(PAGE_FILES[i].path)))
            return &PAGE_FILES[i];
    return NULL;
}

/* Returns true if a list of encodings accepts gzip. Without a list, any is accepted. */
static bool takes_gzip(struct str list)
{
    if (!str_given(list))
        return true;
    while (str_given(list)) {
        struct str parameters = str_cut(&list, ',');
        struct str name = str_trim(str_cut(&parameters, ';'));
        bool refused = str_given(parameters) && str_eq(str_trim(parameters), STR("q=0"));
        if ((str_ieq(name, STR("gzip")) || str_eq(name, STR("*"))) && !refused)
            return true;
    }
    return false;
}

static bool has_etag(struct str list, struct str etag)
{
    while (str_given(list)) {
        struct str one = str_trim(str_cut(&list, ','));
        if (str_starts(one, STR("W/")))
            one = str_from(one, 2);
        if (str_eq(one, etag) || str_eq(one, STR("*")))
            return true;
    }
    return false;
}

static void send_file(struct admin_call *call, const struct page_file *file)
{
    const struct http_request *request = &call->x->request;
    struct buf headers = buf_in(call->x->arena);
    struct str etag = str_of(file->etag);
    bool same = has_etag(http_header_get(request, STR("If-None-Match")), etag);
    http_put_own_header(&headers, STR("ETag"), etag);
    http_put_own_header(&headers, STR("Cache-Control"),
                        file->hashed ? STR("public, max-age=31536000, immutable")
                                     : STR("no-cache"));
    http_put_own_header(&headers, STR("Vary"), STR("Accept-Encoding"));
    if (!same) {
        http_put_own_header(&headers, STR("Content-Type"), str_of(file->type));
        http_put_own_header(&headers, STR("Content-Encoding"), STR("gzip"));
    }
    call->replied = true;
    http_reply(call->x, &(struct http_response){
                            .status = same ? 304 : 200,
                            .headers = buf_str(&headers),
                            .body = {(const char *)file->bytes, same ? 0 : file->length},
                            .content_length = -1,
                        });
}

bool admin_page(struct admin_call *call)
{
    const struct page_file *file = find_file(call->path);
    if (file == NULL && PAGE_FILE_COUNT == 0 && str_eq(call->path, STR("/"))) {
        admin_reply(call, 200, STR("text/plain; charset=utf-8"),
                    STR("This server was built without the console page: npm was not there when it "
                        "was made.\nHealth, metrics, the inspector and test control answer here; "
                        "see docs/admin-api.md.\n"));
        return true;
    }
    if (file == NULL)
        return false;
    if (takes_gzip(http_header_get(&call->x->request, STR("Accept-Encoding"))))
        send_file(call, file);
    else
        admin_fail(call, 406, "NotAcceptable", STR("The page is only to be had as gzip."));
    return true;
}
