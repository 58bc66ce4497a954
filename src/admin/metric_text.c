/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/metric_text.h"

#include <assert.h>
#include <math.h>

static const char *const TYPE_NAMES[] = {"counter", "gauge", "histogram"};

struct metric_text metric_text_begin(struct buf *out, enum metric_form form)
{
    struct metric_text m = {.out = out, .form = form, .json = json_writer_of(out)};
    if (form == METRIC_JSON)
        json_open(&m.json, '[');
    return m;
}

static void end_family(struct metric_text *m)
{
    if (m->form != METRIC_JSON || m->name == NULL)
        return;
    json_close(&m->json, ']');
    json_close(&m->json, '}');
}

void metric_text_end(struct metric_text *m)
{
    end_family(m);
    if (m->form == METRIC_JSON)
        json_close(&m->json, ']');
    if (m->form == METRIC_OPENMETRICS)
        buf_put(m->out, STR("# EOF\n"));
}

struct str metric_text_type(enum metric_form form)
{
    switch (form) {
    case METRIC_OPENMETRICS:
        return STR("application/openmetrics-text; version=1.0.0; charset=utf-8");
    case METRIC_JSON:
        return STR("application/json");
    case METRIC_PROMETHEUS:
        break;
    }
    return STR("text/plain; version=0.0.4; charset=utf-8");
}

/* The family name of a counter includes its suffix in Prometheus' format, not in OpenMetrics. */
static void put_family_name(struct metric_text *m)
{
    buf_put(m->out, str_of(m->name));
    if (m->type == METRIC_COUNTER && m->form == METRIC_PROMETHEUS)
        buf_put(m->out, STR("_total"));
}

void metric_family(struct metric_text *m, const char *name, enum metric_type type, const char *help)
{
    end_family(m);
    m->name = name;
    m->type = type;
    if (m->form == METRIC_JSON) {
        json_open(&m->json, '{');
        json_name(&m->json, STR("name"));
        json_string(&m->json, str_of(name));
        json_name(&m->json, STR("type"));
        json_string(&m->json, str_of(TYPE_NAMES[type]));
        json_name(&m->json, STR("samples"));
        json_open(&m->json, '[');
        return;
    }
    buf_put(m->out, STR("# HELP "));
    put_family_name(m);
    buf_printf(m->out, " %s\n# TYPE ", help);
    put_family_name(m);
    buf_printf(m->out, " %s\n", TYPE_NAMES[type]);
}

/* ---- samples ---- */

static void put_escaped(struct buf *out, struct str value)
{
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '\\' || value.p[i] == '"')
            buf_putc(out, '\\');
        if (value.p[i] == '\n')
            buf_put(out, STR("\\n"));
        else
            buf_putc(out, value.p[i]);
    }
}

/* `le`: a histogram's bound, or absent. */
static void put_labels(struct metric_text *m, const struct metric_label *labels, size_t count,
                       struct str le)
{
    if (count == 0 && !str_given(le))
        return;
    buf_putc(m->out, '{');
    for (size_t i = 0; i < count; i++) {
        buf_printf(m->out, "%s%s=\"", i == 0 ? "" : ",", labels[i].name);
        put_escaped(m->out, labels[i].value);
        buf_putc(m->out, '"');
    }
    if (str_given(le))
        buf_printf(m->out, "%sle=\"%.*s\"", count == 0 ? "" : ",", STR_ARG(le));
    buf_putc(m->out, '}');
}

static void put_number(struct buf *out, double value)
{
    if (value == floor(value) && fabs(value) < 1e15)
        buf_put_i64(out, (int64_t)value);
    else
        buf_printf(out, "%.15g", value);
}

static void put_value(struct metric_text *m, double value)
{
    buf_putc(m->out, ' ');
    put_number(m->out, value);
    buf_putc(m->out, '\n');
}

static void open_json_sample(struct metric_text *m, const struct metric_label *labels, size_t count)
{
    json_open(&m->json, '{');
    json_name(&m->json, STR("labels"));
    json_open(&m->json, '{');
    for (size_t i = 0; i < count; i++) {
        json_name(&m->json, str_of(labels[i].name));
        json_string(&m->json, labels[i].value);
    }
    json_close(&m->json, '}');
}

static void put_json_number(struct metric_text *m, double value)
{
    if (value == floor(value) && fabs(value) < 1e15)
        json_i64(&m->json, (int64_t)value);
    else
        json_double(&m->json, value);
}

void metric_sample(struct metric_text *m, const struct metric_label *labels, size_t count,
                   double value)
{
    assert(m->type != METRIC_HISTOGRAM);
    if (m->form == METRIC_JSON) {
        open_json_sample(m, labels, count);
        json_name(&m->json, STR("value"));
        put_json_number(m, value);
        json_close(&m->json, '}');
        return;
    }
    buf_put(m->out, str_of(m->name));
    if (m->type == METRIC_COUNTER)
        buf_put(m->out, STR("_total"));
    put_labels(m, labels, count, STR_NONE);
    put_value(m, value);
}

static void put_json_histogram(struct metric_text *m, const struct histogram *h,
                               struct metric_scale scale)
{
    json_name(&m->json, STR("bounds"));
    json_open(&m->json, '[');
    for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++)
        put_json_number(m, (double)scale.bounds[i] * scale.unit);
    json_close(&m->json, ']');
    json_name(&m->json, STR("buckets"));
    json_open(&m->json, '[');
    for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++)
        json_i64(&m->json, (int64_t)tally_read(&h->buckets[i]));
    json_close(&m->json, ']');
    json_name(&m->json, STR("sum"));
    put_json_number(m, (double)tally_read(&h->sum) * scale.unit);
    json_close(&m->json, '}');
}

void metric_histogram(struct metric_text *m, const struct metric_label *labels, size_t count,
                      const struct histogram *h, struct metric_scale scale)
{
    uint64_t sum = 0;
    assert(m->type == METRIC_HISTOGRAM);
    if (m->form == METRIC_JSON) {
        open_json_sample(m, labels, count);
        put_json_histogram(m, h, scale);
        return;
    }
    for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++) {
        char digits[32];
        struct buf bound = {.p = digits, .capacity = sizeof digits};
        sum += tally_read(&h->buckets[i]);
        if (i < HISTOGRAM_BOUNDS)
            put_number(&bound, (double)scale.bounds[i] * scale.unit);
        else
            buf_put(&bound, STR("+Inf"));
        buf_printf(m->out, "%s_bucket", m->name);
        put_labels(m, labels, count, buf_str(&bound));
        put_value(m, (double)sum);
    }
    buf_printf(m->out, "%s_sum", m->name);
    put_labels(m, labels, count, STR_NONE);
    put_value(m, (double)tally_read(&h->sum) * scale.unit);
    buf_printf(m->out, "%s_count", m->name);
    put_labels(m, labels, count, STR_NONE);
    put_value(m, (double)sum);
}

void metric_single(struct metric_text *m, const char *name, enum metric_type type, const char *help,
                   double value)
{
    metric_family(m, name, type, help);
    metric_sample(m, NULL, 0, value);
}
