/* SPDX-License-Identifier: Apache-2.0 */
/* The commands beside serving: check, backup, import, migrate, account, cert, config. Transfers are
 * in transfer_command.c. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin_command.h"
#include "cluster_command.h"
#include "complain.h"
#include "control.h"
#include "engine/local/local.h"
#include "jobs.h"
#include "migrate_command.h"
#include "net/cert.h"
#include "progress.h"
#include "serve.h"
#include "service/common/saved.h"
#include "transfer_command.h"

static struct err open_store(const char *folder, bool read_only, struct clock *clock,
                             struct engine **out)
{
    clock_init_system(clock);
    struct engine_local_options options = {
        .folder = folder, .clock = clock, .read_only = read_only, .existing = true};
    return engine_local_open(&options, out);
}

/* The data folder that a command is for: from --data, or the word after the first `before` words.
 * NULL if both are given, or there are more words. */
static const char *store_folder(const struct config *config, unsigned before)
{
    if (config->operand_count <= before)
        return config->data;
    return config->operand_count == before + 1 && !config->data_given ? config->operands[before]
                                                                      : NULL;
}

/* ---- check ---- */

static void print_problem(void *arg, const char *line)
{
    progress_clear(arg);
    puts(line);
}

/* The exit status is 0 only for a store without a problem. */
static int check_command(const struct config *config)
{
    struct clock clock;
    struct engine *engine = NULL;
    struct progress progress;
    const char *folder = store_folder(config, 0);
    if (folder == NULL)
        return complain("check", "takes one folder, as a word or by --data");
    progress_begin(&progress);
    struct err error = open_store(folder, true, &clock, &engine);
    if (err_is(error))
        return complain_err(folder, error);
    struct engine_check check = {.refs = jobs_row_extents,
                                 .owners = jobs_row_owners,
                                 .problem = print_problem,
                                 .progress = progress_show,
                                 .arg = &progress};
    error = engine_local_check(engine, &check);
    engine_close(engine);
    progress_clear(&progress);
    if (err_is(error))
        return complain_err(folder, error);
    printf("%llu rows, %llu extents, %llu bytes checked in %.1f s: %llu problems\n",
           (unsigned long long)check.rows, (unsigned long long)check.extents,
           (unsigned long long)check.bytes, (double)progress_ms(&progress) / 1000,
           (unsigned long long)check.problems);
    return check.problems == 0 ? 0 : 1;
}

/* ---- backup ---- */

/* The server may have another working folder than this command. */
static bool make_absolute(const char *path, char out[PATH_MAX])
{
    char here[PATH_MAX];
    if (path[0] == '/')
        return snprintf(out, PATH_MAX, "%s", path) < PATH_MAX;
    return getcwd(here, sizeof here) != NULL &&
           snprintf(out, PATH_MAX, "%s/%s", here, path) < PATH_MAX;
}

static int back_up(struct engine *engine, const char *to)
{
    struct progress progress;
    progress_begin(&progress);
    struct engine_backup backup = {.folder = to, .progress = progress_show, .arg = &progress};
    struct err error = engine_local_backup(engine, &backup);
    progress_clear(&progress);
    if (err_is(error))
        return complain_err(to, error);
    struct buf line = buf_heap();
    progress_put_backup(&line, &backup, progress_ms(&progress));
    printf("%.*s\n", STR_ARG(buf_str(&line)));
    buf_release(&line);
    return 0;
}

static int backup_command(const struct config *config)
{
    char to[PATH_MAX];
    struct clock clock;
    struct engine *engine = NULL;
    const char *folder = store_folder(config, 1);
    if (config->operand_count == 0 || folder == NULL || !make_absolute(config->operands[0], to))
        return complain("backup", "takes the folder to make, and one to copy: backup TO [DIR]");
    if (control_reaches(folder))
        return control_backup(folder, to);
    struct err error = open_store(folder, false, &clock, &engine);
    if (err_is(error))
        return complain_err(folder, error);
    int status = back_up(engine, to);
    engine_close(engine);
    return status;
}

/* ---- import ---- */

static int import_into(struct store *store, const char *from, const char *data)
{
    struct progress progress;
    struct report report;
    struct buf text = buf_heap();
    progress_begin(&progress);
    report_init(&report);
    struct azurite_import import = {.folder = from,
                                    .data = data,
                                    .progress = progress_show,
                                    .arg = &progress,
                                    .report = &report};
    struct err error = azurite_import(store, &import);
    progress_clear(&progress);
    report_put(&report, &text);
    (void)fwrite(text.p, 1, text.n, stdout);
    buf_release(&text);
    report_release(&report);
    return err_is(error) ? complain_err(from, error) : 0;
}

static int import_command(const struct config *config)
{
    char from[PATH_MAX];
    struct clock clock;
    struct store store = {.clock = &clock};
    const char *folder = store_folder(config, 2);
    if (config->operand_count == 0 || strcmp(config->operands[0], "azurite") != 0)
        return transfer_import_command(config);
    if (config->operand_count < 2 || folder == NULL || !make_absolute(config->operands[1], from))
        return complain("import", "takes what to import and where to: import azurite FOLDER [DIR]");
    if (control_reaches(folder))
        return control_import_azurite(folder, from);
    clock_init_system(&clock);
    struct engine_local_options options = {.folder = folder, .clock = &clock};
    struct err error = engine_local_open(&options, &store.engine);
    if (err_is(error))
        return complain_err(folder, error);
    struct saved *saved;
    error = saved_open(&store, jobs_row_extents, false, &saved);
    int status = err_is(error) ? complain_err(folder, error) : import_into(&store, from, folder);
    engine_close(store.engine);
    saved_close(saved);
    return status;
}

/* ---- cert ---- */

static int cert_command(const struct config *config)
{
    bool named = config->operand_count == 2;
    if (config->operand_count != 0 && !named)
        return complain("cert", "takes the names of the certificate's and the key's file, or none");
    const char *certificate = named ? config->operands[0] : "lazuli-cert.pem";
    const char *key = named ? config->operands[1] : "lazuli-key.pem";
    struct err error = cert_make_self_signed(certificate, key);
    if (err_is(error))
        return complain_err(certificate, error);
    printf("Wrote %s and %s, for localhost and development.\n\n"
           "Serve with it:     lazuli --cert %s --key %s\n"
           "Trust it, Debian:  sudo cp %s /usr/local/share/ca-certificates/lazuli.crt && "
           "sudo update-ca-certificates\n"
           "Trust it, Node.js: NODE_EXTRA_CA_CERTS=%s\n"
           "Trust it, Python:  REQUESTS_CA_BUNDLE=%s\n"
           "Trust it, curl:    curl --cacert %s\n",
           certificate, key, certificate, key, certificate, certificate, certificate, certificate);
    return 0;
}

/* ---- config ---- */

static int config_command(const struct config *config)
{
    if (config->operand_count > 0)
        return complain("config", "takes flags only");
    config_print(config);
    return 0;
}

int serve_command(const struct config *config)
{
    struct str command = str_of(config->command);
    if (str_eq(command, STR("check")))
        return check_command(config);
    if (str_eq(command, STR("backup")))
        return backup_command(config);
    if (str_eq(command, STR("cluster")))
        return cluster_command(config);
    if (str_eq(command, STR("import")))
        return import_command(config);
    if (str_eq(command, STR("migrate")))
        return migrate_command(config);
    if (str_eq(command, STR("export")))
        return transfer_export_command(config);
    if (str_eq(command, STR("copy")))
        return transfer_copy_command(config);
    if (str_eq(command, STR("cert")))
        return cert_command(config);
    if (str_eq(command, STR("health")))
        return health_command(config);
    if (str_eq(command, STR("config")))
        return config_command(config);
    if (str_eq(command, STR("ctl")))
        return ctl_command(config);
    if (str_eq(command, STR("inspect")))
        return inspect_command(config);
    return control_command(config->data, config->operands, config->operand_count);
}
