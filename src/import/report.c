/* SPDX-License-Identifier: Apache-2.0 */
#include "import/report.h"

#include <inttypes.h>

static const char *const ONE[IMPORT_KIND_COUNT] = {
    "container", "blob",  "snapshot", "uncommitted block",  "queue",
    "message",   "table", "entity",   "service properties", "file",
};
static const char *const MANY[IMPORT_KIND_COUNT] = {
    "containers", "blobs",  "snapshots", "uncommitted blocks", "queues",
    "messages",   "tables", "entities",  "service properties", "files",
};
static const char *const FATES[FATE_COUNT] = {"taken", "already there", "left out", "damaged"};

void report_init(struct report *report)
{
    *report = (struct report){.lines = buf_heap()};
}

void report_release(struct report *report)
{
    buf_release(&report->lines);
}

void report_count(struct report *report, enum import_kind kind, enum import_fate fate)
{
    report->counts[kind][fate]++;
}

/* Names come from a file that may be garbage, and go to a terminal. */
static void put_name(struct buf *out, struct str name)
{
    struct str shown = str_head(name, REPORT_NAME_BYTES_MAX);
    for (size_t i = 0; i < shown.n; i++)
        buf_putc(out, (unsigned char)shown.p[i] < 0x20 || shown.p[i] == 0x7F ? '?' : shown.p[i]);
    if (shown.n < name.n)
        buf_put(out, STR("..."));
}

void report_line(struct report *report, enum import_kind kind, enum import_fate fate,
                 struct str name, const char *why)
{
    report_count(report, kind, fate);
    if (report->line_count++ >= REPORT_LINES_MAX)
        return;
    buf_printf(&report->lines, "%s: %s ", FATES[fate], ONE[kind]);
    put_name(&report->lines, name);
    buf_printf(&report->lines, ": %s\n", why);
}

void report_error(struct report *report, enum import_kind kind, struct str name, struct err error)
{
    bool damage = error.code == ERR_CORRUPT || error.code == ERR_IO;
    report_line(report, kind, damage ? FATE_DAMAGED : FATE_LEFT_OUT, name,
                error.detail != NULL ? error.detail : err_message(error.code));
}

static bool has_any(const struct report *report, unsigned kind)
{
    for (unsigned fate = 0; fate < FATE_COUNT; fate++)
        if (report->counts[kind][fate] > 0)
            return true;
    return false;
}

void report_put(const struct report *report, struct buf *out)
{
    buf_put(out, buf_str(&report->lines));
    if (report->line_count > REPORT_LINES_MAX)
        buf_printf(out, "and %" PRIu64 " more\n", report->line_count - REPORT_LINES_MAX);
    buf_printf(out, "%-20s", "");
    for (unsigned fate = 0; fate < FATE_COUNT; fate++)
        buf_printf(out, " %13s", FATES[fate]);
    buf_putc(out, '\n');
    for (unsigned kind = 0; kind < IMPORT_KIND_COUNT; kind++) {
        if (!has_any(report, kind))
            continue;
        buf_printf(out, "%-20s", MANY[kind]);
        for (unsigned fate = 0; fate < FATE_COUNT; fate++)
            buf_printf(out, " %13" PRIu64, report->counts[kind][fate]);
        buf_putc(out, '\n');
    }
    buf_printf(out, "%" PRIu64 " bytes of content\n", report->bytes);
}
