/* SPDX-License-Identifier: Apache-2.0 */
/* The entry point of the portable program. Since 2.34 the C library itself runs the program's
 * constructors; before, the program's start file had to pass a function for it, which newer
 * versions still accept. */
void portable_start(void);

__asm__(".text\n.globl _start\n.type _start, %function\n_start:\n"
#if defined(__x86_64__)
        "xor %ebp, %ebp\n"
        "mov %rdx, %r9\n" /* the loader's own end */
        "pop %rsi\n"      /* argc */
        "mov %rsp, %rdx\n"
        "and $-16, %rsp\n"
        "push %rax\n"
        "push %rsp\n"
        "xor %r8d, %r8d\n"
        "lea portable_init(%rip), %rcx\n"
        "lea main(%rip), %rdi\n"
        "call *__libc_start_main@GOTPCREL(%rip)\n"
        "hlt\n"
#elif defined(__aarch64__)
        "mov x29, #0\n"
        "mov x30, #0\n"
        "mov x5, x0\n"
        "ldr x1, [sp]\n"
        "add x2, sp, #8\n"
        "mov x6, sp\n"
        "adrp x0, main\n"
        "add x0, x0, :lo12:main\n"
        "adrp x3, portable_init\n"
        "add x3, x3, :lo12:portable_init\n"
        "mov x4, #0\n"
        "bl __libc_start_main\n"
        "bl abort\n"
#else
#error "no start for this machine"
#endif
        ".size _start, .-_start\n");

extern void (*const __init_array_start[])(int, char **, char **)
    __attribute__((visibility("hidden")));
extern void (*const __init_array_end[])(int, char **, char **)
    __attribute__((visibility("hidden")));
void _init(void);
void portable_init(int argc, char **argv, char **environment);

__attribute__((used, visibility("hidden"))) void portable_init(int argc, char **argv,
                                                               char **environment)
{
    _init();
    for (void (*const *f)(int, char **, char **) = __init_array_start; f < __init_array_end; f++)
        (*f)(argc, argv, environment);
}
