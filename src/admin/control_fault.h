/* SPDX-License-Identifier: Apache-2.0 */
/* A fault of test control as JSON, and the parts of it that holds and the journal share. */
#ifndef ADMIN_CONTROL_FAULT_H
#define ADMIN_CONTROL_FAULT_H

#include "core/text/json.h"
#include "rest/watch/script.h"

/* Readers of members (admin/fields.h); ERR_INVALID_INPUT with a sentence. `into` is a struct
 * script_match, an enum script_point. */
struct err control_read_match(struct json_reader *r, struct json_value v, void *into);
struct err control_read_point(struct json_reader *r, struct json_value v, void *into);
struct err control_read_fault(struct json_reader *r, struct script_fault *fault);
bool control_id_ok(const char *id);
/* False if no operation has that name; a rule for it would never match. */
bool control_operation_exists(const char *pattern);

/* False if no service has that name. */
bool control_service_of(struct str name, enum service_kind *out);

void control_put_text(struct json_writer *w, const char *name, const char *text);
void control_put_number(struct json_writer *w, const char *name, uint64_t value);
void control_put_service(struct json_writer *w, enum service_kind service);
/* Writes account, container and object, as far as they are set. */
void control_put_target(struct json_writer *w, const char *account, const char *container,
                        const char *object);
void control_put_match(struct json_writer *w, const struct script_match *m);
void control_put_fault(struct json_writer *w, const struct script_fault *fault);

#endif
