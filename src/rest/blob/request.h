/* SPDX-License-Identifier: Apache-2.0 */
/* The headers that blob operations share: parsing them in requests, writing them in responses. */
#ifndef REST_BLOB_REQUEST_H
#define REST_BLOB_REQUEST_H

#include "rest/call.h"
#include "service/blob/blob.h"

/* ---- reading ---- */

/* The four HTTP conditions and x-ms-if-tags. */
struct err rest_blob_read_conditions(struct rest_call *call, struct conditions *out);
/* The names of the four HTTP conditions: the standard ones, and those that refer to the blob where
 * the request is about something else. */
struct blob_condition_names {
    struct str match, none_match, modified_since, unmodified_since;
};
extern const struct blob_condition_names BLOB_CONDITIONS_OF_BLOB;
/* Parses only these four headers; does not change the rest of *out. */
struct err rest_blob_read_http_conditions(struct rest_call *call,
                                          const struct blob_condition_names *names,
                                          struct conditions *out);
/* A date of a condition; at most once. */
struct err rest_blob_read_date(struct rest_call *call, struct str name, bool *given,
                               int64_t *ticks);
/* x-ms-lease-id. */
struct err rest_blob_read_lease_id(struct rest_call *call, struct lease_id *out);
/* The same for another header; an empty one counts as absent. */
struct err rest_blob_read_lease_id_of(struct rest_call *call, struct str name,
                                      struct lease_id *out);
/* x-ms-proposed-lease-id and x-ms-lease-duration, for operations that also acquire a lease. */
struct err rest_blob_read_lease_acquire(struct rest_call *call, struct lease_request *out);
/* The name, `snapshot`, conditions and the lease id of an operation on a blob; sets the call's
 * partition too. */
struct err rest_blob_read_request(struct rest_call *call, struct blob_request *out);
/* The same for the root directory of a hierarchical container, which has no name. */
struct err rest_blob_read_root_request(struct rest_call *call, struct blob_request *out);
/* The identity for the access control lists of paths, where they apply: see call->by_lists. */
const struct acl_caller *rest_blob_caller(struct rest_call *call, const struct auth_result *who);
/* A caller whose role allows reading, but not this, needs no list to traverse to the path. */
bool rest_blob_passes(const struct rest_call *call, const struct auth_result *who,
                      const struct auth_resource *what);
/* The same for an operation on the base blob only: refuses a snapshot. */
struct err rest_blob_read_base_request(struct rest_call *call, struct blob_request *out);
/* The scope that the header or the SAS names; absent if neither does. */
struct err rest_blob_read_encryption_scope(struct rest_call *call, struct str name,
                                           struct str *out);
/* The same for a container. */
struct err rest_blob_read_container_request(struct rest_call *call, struct container_request *out);
/* The x-ms-lease-* headers of a lease operation. */
struct err rest_blob_read_lease_request(struct rest_call *call, struct lease_request *out);
/* x-ms-blob-content-type and the like; with `standard`, Content-Type and the like are the fallback.
 */
struct err rest_blob_read_http(struct rest_call *call, bool standard, struct blob_http *out);
/* The properties sent with a blob's content: the above, metadata, tags. The tier is read
 * separately, since each type of blob has its own. */
struct err rest_blob_read_properties(struct rest_call *call, bool standard,
                                     struct blob_properties *out);
/* x-ms-access-tier: BLOB_TIER_NONE if not sent. ERR_INVALID_HEADER_VALUE unless it is one of page
 * blobs, or of block blobs. */
struct err rest_blob_read_tier(struct rest_call *call, bool for_pages, enum blob_tier *out);
/* Parses a tier's name, of those in the request's version. */
bool rest_blob_parse_tier(const struct rest_call *call, struct str text, enum blob_tier *out);
/* x-ms-rehydrate-priority. ERR_INVALID_HEADER_VALUE. */
struct err rest_blob_read_rehydrate_priority(struct rest_call *call, bool *high);
/* Parses a base64 header of exactly n bytes; *given is set if it was sent. */
struct err rest_blob_read_checksum(struct rest_call *call, struct str name, enum err_code code,
                                   void *out, size_t n, bool *given);
/* An MD5 to store as given, unless it is compared with a content: Azure accepts any length. Absent
 * if the header is missing or empty. */
struct err rest_blob_read_kept_md5(struct rest_call *call, struct str name, struct str *out);

/* ---- writing ---- */

/* "<Name>…", percent-encoded and marked so if XML cannot contain the name. */
void rest_blob_put_name_xml(struct rest_call *call, struct str name);
void rest_blob_put_etag(struct rest_call *call, int64_t etag, int64_t last_modified);
/* x-ms-request-server-encrypted, and the scope if there is one. */
void rest_blob_put_encrypted(struct rest_call *call, struct str scope);
/* x-ms-lease-status, -state and -duration. */
void rest_blob_put_lease(struct rest_call *call, const struct lease *lease);
/* x-ms-lease-id or x-ms-lease-time, and the status, after a lease operation. */
void rest_blob_put_lease_outcome(struct rest_call *call, const struct lease_request *request,
                                 const struct lease *lease, int left_seconds);
/* The first x-ms-version with blob versions. */
enum { VERSION_BLOB_VERSIONS = 20191212 };
/* x-ms-version-id; nothing if the blob has none, or the client's version has no blob versions. */
void rest_blob_put_version_id(struct rest_call *call, int64_t version);
/* ERR_MD5_MISMATCH, with both in the answer, unless they are equal. */
struct err rest_blob_compare_md5(struct arena *a, const unsigned char *sent,
                                 const unsigned char *found);
/* A base64 header. */
void rest_blob_put_base64(struct rest_call *call, struct str name, struct str bytes);
void rest_blob_put_crc64(struct rest_call *call, uint64_t crc64);

#endif
