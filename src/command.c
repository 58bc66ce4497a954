/* SPDX-License-Identifier: Apache-2.0 */
/* The commands beside serving: check, backup, account, cert. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin_command.h"
#include "complain.h"
#include "control.h"
#include "engine/local/local.h"
#include "jobs.h"
#include "net/cert.h"
#include "serve.h"

static struct err open_store(const struct config *config, bool read_only, struct clock *clock,
                             struct engine **out)
{
    clock_init_system(clock);
    struct engine_local_options options = {
        .folder = config->data, .clock = clock, .read_only = read_only};
    return engine_local_open(&options, out);
}

/* ---- check ---- */

static void print_problem(void *arg, const char *line)
{
    (void)arg;
    puts(line);
}

/* The exit status is 0 only for a store without a problem. */
static int check_command(const struct config *config)
{
    struct clock clock;
    struct engine *engine = NULL;
    struct err error = open_store(config, true, &clock, &engine);
    if (err_is(error))
        return complain_err(config->data, error);
    struct engine_check check = {.refs = jobs_row_extents, .problem = print_problem};
    error = engine_local_check(engine, &check);
    engine_close(engine);
    if (err_is(error))
        return complain_err(config->data, error);
    printf("%llu rows, %llu extents, %llu bytes checked: %llu problems\n",
           (unsigned long long)check.rows, (unsigned long long)check.extents,
           (unsigned long long)check.bytes, (unsigned long long)check.problems);
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

static int backup_command(const struct config *config)
{
    char to[PATH_MAX];
    struct clock clock;
    struct engine *engine = NULL;
    if (config->operand_count != 1 || !make_absolute(config->operands[0], to))
        return complain("backup", "takes the name of the folder to make");
    if (control_reaches(config->data))
        return control_backup(config->data, to);
    struct err error = open_store(config, false, &clock, &engine);
    if (err_is(error))
        return complain_err(config->data, error);
    error = engine_local_backup(engine, to);
    engine_close(engine);
    return err_is(error) ? complain_err(to, error) : 0;
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

int serve_command(const struct config *config)
{
    struct str command = str_of(config->command);
    if (str_eq(command, STR("check")))
        return check_command(config);
    if (str_eq(command, STR("backup")))
        return backup_command(config);
    if (str_eq(command, STR("cert")))
        return cert_command(config);
    if (str_eq(command, STR("health")))
        return health_command(config);
    return control_command(config->data, config->operands, config->operand_count);
}
