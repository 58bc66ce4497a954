/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/test.h"
#include "engine/mem/mem.h"

static const struct control_calls NO_CALLS = {.arg = NULL};

#define KEY "b3RoZXIga2V5"

struct fixture {
    struct clock clock;
    struct store store;
    struct registry registry;
};

static void begin(struct fixture *f)
{
    clock_init_manual(&f->clock, TICKS_PER_DAY);
    f->store = (struct store){.engine = engine_mem_new(&f->clock), .clock = &f->clock};
    f->registry = (struct registry){.store = &f->store, .accounts = accounts_new()};
}

static void end(struct fixture *f)
{
    accounts_free(f->registry.accounts);
    engine_close(f->store.engine);
}

static void check_answer(struct fixture *f, const char *line, const char *answer)
{
    struct buf got = buf_heap();
    control_answer(&f->registry, str_of(line), &got);
    CHECK_STR(buf_str(&got), str_of(answer));
    buf_release(&got);
}

void test_control_answers(void)
{
    static const char USAGE[] = "error: account add NAME [KEY1 [KEY2]] [--hns] | account list | "
                                "account rotate-key NAME 1|2 | account delete NAME\n";
    struct fixture f;
    begin(&f);
    check_answer(&f, "account list", "ok\n");
    check_answer(&f, "account add first " KEY, "ok\nfirst key1 " KEY "\n");
    check_answer(&f, "account add second " KEY " " KEY,
                 "ok\nsecond key1 " KEY "\nsecond key2 " KEY "\n");
    check_answer(&f, "account  list ", "ok\nfirst\nsecond\n");
    check_answer(&f, "account add first " KEY, "error: The specified resource already exists.\n");
    check_answer(&f, "account add BAD",
                 "error: An account's name is 3 to 24 lower-case letters and digits.\n");
    check_answer(&f, "account rotate-key first 3", "error: The key is 1 or 2.\n");
    check_answer(&f, "account rotate-key nobody 1",
                 "error: The specified resource does not exist.\n");
    check_answer(&f, "account delete first", "ok\n");
    check_answer(&f, "account list", "ok\nsecond\n");
    static const char *const OTHERS[] = {"",
                                         " ",
                                         "account",
                                         "accounts list",
                                         "account list all",
                                         "account add",
                                         "account delete",
                                         "account rotate-key a"};
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++)
        check_answer(&f, OTHERS[i], USAGE);
    end(&f);
}

/* control_command, with its output kept out of the tests' output. */
static int command(const char *folder, const char *const *words, unsigned count)
{
    int saved[2] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    FILE *nowhere = fopen("/dev/null", "we");
    CHECK(nowhere != NULL && saved[0] >= 0 && saved[1] >= 0);
    CHECK(dup2(fileno(nowhere), STDOUT_FILENO) >= 0 && dup2(fileno(nowhere), STDERR_FILENO) >= 0);
    int status = control_command(folder, words, count);
    CHECK(fflush(stdout) == 0);
    CHECK(dup2(saved[0], STDOUT_FILENO) >= 0 && dup2(saved[1], STDERR_FILENO) >= 0);
    CHECK(fclose(nowhere) == 0 && close(saved[0]) == 0 && close(saved[1]) == 0);
    return status;
}

void test_control_command_reaches_the_server(void)
{
    static const char *const ADD[] = {"add", "first", KEY};
    static const char *const LIST[] = {"list"};
    static const char *const ODD[] = {"add", "a b"};
    struct fixture f;
    struct control *control = NULL;
    begin(&f);
    CHECK_INT(command(test_folder(), LIST, 1), 1);
    CHECK_OK(control_new(test_folder(), &f.registry, &NO_CALLS, &control));
    CHECK_INT(command(test_folder(), ADD, 3), 0);
    CHECK_INT(command(test_folder(), ADD, 3), 1);
    CHECK_INT(command(test_folder(), LIST, 1), 0);
    CHECK_INT(command(test_folder(), ODD, 2), 1);
    CHECK_INT(accounts_count(f.registry.accounts), 1);
    control_free(control);
    CHECK_INT(command(test_folder(), LIST, 1), 1);
    /* A dead server's socket does not stand in the way. */
    char path[256];
    snprintf(path, sizeof path, "%s/control.sock", test_folder());
    FILE *left = fopen(path, "we");
    CHECK(left != NULL && fclose(left) == 0);
    CHECK_OK(control_new(test_folder(), &f.registry, &NO_CALLS, &control));
    CHECK_INT(command(test_folder(), LIST, 1), 0);
    control_free(control);
    end(&f);
}

/* Connects as another user, with the folder and the socket open to all: only the peer credentials
 * from the kernel then keep them out. */
static int list_as_another_user(const char *folder)
{
    static const char *const LIST[] = {"list"};
    pid_t child = fork();
    if (child == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(7);
        _exit(command(folder, LIST, 1));
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

void test_control_socket_is_its_users_own(void)
{
    struct fixture f;
    struct control *control = NULL;
    struct stat about;
    char path[256];
    begin(&f);
    CHECK_OK(control_new(test_folder(), &f.registry, &NO_CALLS, &control));
    snprintf(path, sizeof path, "%s/control.sock", test_folder());
    CHECK(stat(path, &about) == 0);
    CHECK_INT(about.st_mode & 07777, 0600);
    control_free(control);
    end(&f);
}

void test_control_socket_refuses_another_user(void)
{
    struct fixture f;
    struct control *control = NULL;
    char path[256];
    if (geteuid() != 0)
        test_skip("only root can be another user");
    begin(&f);
    CHECK_OK(control_new(test_folder(), &f.registry, &NO_CALLS, &control));
    snprintf(path, sizeof path, "%s/control.sock", test_folder());
    CHECK(chmod(test_folder(), 0755) == 0);
    CHECK_INT(list_as_another_user(test_folder()), 1);
    CHECK(chmod(path, 0777) == 0);
    CHECK_INT(list_as_another_user(test_folder()), 1);
    control_free(control);
    end(&f);
}
