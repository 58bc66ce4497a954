/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a share on the wire: headers of requests, and headers or XML of answers. */
#ifndef REST_FILE_SHARE_SETTINGS_H
#define REST_FILE_SHARE_SETTINGS_H

#include "rest/call.h"
#include "service/file/share.h"

/* Quota, tier, squashing, bursting and provisioning, into args->settings and args->set. */
struct err rest_share_settings_read(struct rest_call *call, struct share_args *args);
struct err rest_share_protocol_read(struct rest_call *call, enum share_protocol *out);
/* One of a few words; *out is its index. */
struct err rest_share_word_read(struct rest_call *call, struct str name, const struct str *words,
                                size_t count, unsigned *out);

/* Called for each property with the name of its header and of its element. */
typedef void share_property(void *sink, struct str header, struct str element, struct str value);

/* The properties that Get Share Properties and List Shares return; settings are the share's or a
 * snapshot's. */
void rest_share_settings_tell(struct arena *a, const struct share *s,
                              const struct share_settings *settings, share_property *put,
                              void *sink);
/* The properties that Create, Restore and Set return. */
void rest_share_settings_put_provision(struct rest_call *call, const struct share *s,
                                       bool with_times);
void rest_share_settings_put(struct rest_call *call, const struct share *s,
                             const struct share_settings *settings);

#endif
