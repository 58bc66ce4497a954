/* SPDX-License-Identifier: Apache-2.0 */
/* Writes metrics in one of three forms: Prometheus' text, OpenMetrics, and JSON for the console. */
#ifndef ADMIN_METRIC_TEXT_H
#define ADMIN_METRIC_TEXT_H

#include "core/buf.h"
#include "core/tally.h"
#include "core/text/json.h"

enum metric_form { METRIC_PROMETHEUS, METRIC_OPENMETRICS, METRIC_JSON };
enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric_label {
    const char *name;
    struct str value;
};

struct metric_text {
    struct buf *out;
    enum metric_form form;
    struct json_writer json;
    const char *name; /* of the current family, without _total */
    enum metric_type type;
};

struct metric_text metric_text_begin(struct buf *out, enum metric_form form);
void metric_text_end(struct metric_text *m);
struct str metric_text_type(enum metric_form form); /* Content-Type */

/* Starts a family of samples. A counter's name is given without _total. */
void metric_family(struct metric_text *m, const char *name, enum metric_type type,
                   const char *help);
void metric_sample(struct metric_text *m, const struct metric_label *labels, size_t count,
                   double value);
/* A histogram whose values are counted in `unit` (a bound of 100 µs in seconds: 1e-6). */
struct metric_scale {
    const uint64_t *bounds;
    double unit;
};
void metric_histogram(struct metric_text *m, const struct metric_label *labels, size_t count,
                      const struct histogram *h, struct metric_scale scale);
/* A family with one sample and no labels. */
void metric_single(struct metric_text *m, const char *name, enum metric_type type, const char *help,
                   double value);

#endif
