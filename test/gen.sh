#!/bin/sh
# Prints a C main that runs every `void test_*(void)` in the given object files.
names=$(nm -g --defined-only "$@" | sed -n 's/.* T \(test_[A-Za-z0-9_]*\)$/\1/p' | sort)
echo '#include "../../src/core/test.h"'
for n in $names; do echo "void $n(void);"; done
echo 'static const struct test_case CASES[] = {'
for n in $names; do echo "    {\"$n\", $n},"; done
echo '};'
echo 'int main(int argc, char **argv)'
echo '{'
echo '    return test_main(CASES, sizeof CASES / sizeof CASES[0], argc > 1 ? argv[1] : "");'
echo '}'
