# Lazuli. `make run` serves, `make test` tests; see README.md.
# Variants: V=release (default), quick, asan, tsan. Compiler: CC=gcc (default) or clang.
# The program is optimised across files (5 % less CPU per request); LTO=0 links it half a minute faster.
V ?= release
ifeq ($(origin CC),default)
CC := gcc
endif
# ARCH=arm64: the portable program for arm64, made with Debian's cross compiler and a folder with its libraries.
ARCH    ?= amd64
SYSROOT ?= $(if $(filter arm64,$(ARCH)),build/sysroot-arm64)
ifeq ($(ARCH),arm64)
CC  := aarch64-linux-gnu-gcc --sysroot=$(abspath $(SYSROOT))
LTO := 0
endif
B := build/$(V)$(if $(findstring clang,$(CC)),-clang)$(if $(filter arm64,$(ARCH)),-arm64)

WARN := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
        -Wcast-qual -Wwrite-strings -Wvla -Wundef -Wformat=2 -Wswitch-enum -Wimplicit-fallthrough
ifneq ($(findstring clang,$(CC)),)
WARN += -Wno-string-concatenation # tables of long texts
endif
BASE := -std=c17 -D_GNU_SOURCE -Isrc -include src/core/banned.h -MMD -MP -fno-common -fPIE -fno-strict-aliasing -pthread
# Sanitizer reports need lines but no variables: -g1 compiles an eighth faster. EXTRA_CFLAGS=-g adds the variables.
ifeq ($(V),release)
OPT := -g -O2 -fstack-protector-strong -D_FORTIFY_SOURCE=2
else ifeq ($(V),quick)
# For `make run` in a fresh clone: 5 % more CPU per request than the release, built in half the time.
OPT := -g1 -O2 -fstack-protector-strong -D_FORTIFY_SOURCE=2
else ifeq ($(V),asan)
OPT := -g1 -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all -DENGINE_CHECKS
else ifeq ($(V),tsan)
OPT := -g1 -O1 -fno-omit-frame-pointer -fsanitize=thread -DENGINE_CHECKS
else
$(error V is release, quick, asan or tsan)
endif
# Objects also hold machine code, so that unit tests and benchmarks link without LTO, and the program with LTO=0.
LTO_LINK := -fno-lto
ifeq ($(V)-$(findstring clang,$(CC)),release-)
LTO ?= 1
ifneq ($(ARCH),arm64)
LTO_COMPILE := -flto=auto -ffat-lto-objects
endif
ifeq ($(LTO),1)
LTO_LINK := -flto=auto -O2
endif
endif
CFLAGS   = $(BASE) $(WARN) $(OPT) $(LTO_COMPILE) $(EXTRA_CFLAGS)
LDFLAGS := -pie -Wl,-z,relro,-z,now -pthread $(filter -fsanitize=%,$(OPT))
LDLIBS  := -lrocksdb -lssl -lcrypto -lexpat -lisal -lm

# The version that the program prints. A build with uncommitted changes is marked.
VERSION := $(shell cat VERSION)
ifndef COMMIT
COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)$(shell git diff --quiet HEAD 2>/dev/null || echo +changes)
endif

SRC   := $(filter-out %_test.c src/main.c,$(shell find src -name '*.c' | sort))
TESTS := $(shell find src test/engine -name '*_test.c' 2>/dev/null | sort)
OBJ   := $(SRC:%.c=$(B)/%.o) $(B)/page_files.o
TOBJ  := $(TESTS:%.c=$(B)/%.o)
BENCH := $(patsubst bench/%.c,$(B)/bench_%,$(wildcard bench/*.c))

.PHONY: FORCE all bench-objects run install dist dist-all dist-deps test test-full test-cluster soak test-http check check-all deps test-deps unit bench bench-peers fuzz format format-check tidy tidy-quick cppcheck docs docs-site clean
.DELETE_ON_ERROR:

all: build/lazuli

build/lazuli: $(B)/lazuli
	@mkdir -p build
	ln -sfn $(notdir $(B))/lazuli $@

$(B)/lazuli: $(B)/src/main.o $(OBJ)
	@echo "  LD $@"
	@$(CC) $(LDFLAGS) $(LTO_LINK) -o $@ $^ $(LDLIBS)

# Recompiled only if the version or commit has changed since the last build.
$(B)/version.stamp: FORCE
	@mkdir -p $(@D)
	@echo '$(VERSION) $(COMMIT)' | cmp -s - $@ || echo '$(VERSION) $(COMMIT)' > $@
FORCE:
$(B)/src/version.o: $(B)/version.stamp
$(B)/src/version.o: EXTRA_CFLAGS += -DLAZULI_VERSION='"$(VERSION)"' -DLAZULI_COMMIT='"$(COMMIT)"' \
    -DLAZULI_LIBRARIES='"rocksdb-$(shell pkg-config --modversion rocksdb) openssl-$(shell pkg-config --modversion openssl)"'

# The program for other machines: all libraries except the C library are linked in, from Debian's archives. ISA-L has
# no archive, so we replace its one function (core/crc/crc32c_portable.c).
STATIC_LIBS := -Wl,-Bstatic -lrocksdb -lssl -lcrypto -lexpat -lsnappy -lbz2 -llz4 -lzstd -lz -lgflags -lstdc++ \
               -Wl,-Bdynamic -static-libgcc -lm
$(B)/src/core/crc/crc32c_without_isal.o: src/core/crc/crc32c.c
	@mkdir -p $(@D)
	@echo "  CC $< without ISA-L"
	@$(CC) $(CFLAGS) -DWITHOUT_ISAL -c -o $@ $<

PORTABLE_OBJ := $(filter-out $(B)/src/core/crc/crc32c.o,$(OBJ)) $(B)/src/core/crc/crc32c_without_isal.o
# It runs with this C library and all later ones: oldlibc.py makes stubs to link against, compat.c has newer functions.
OLDEST_LIBC  := 2.31
OWN_START    := $(B)/portable/compat.o $(B)/portable/start.o
$(OWN_START): $(B)/portable/%.o: tools/dist/%.c
	@mkdir -p $(@D)
	@echo "  CC $<"
	@$(CC) $(filter-out -include src/core/banned.h,$(BASE)) -O2 -Wall -Wextra -Werror -Wno-attribute-alias -c -o $@ $<

$(B)/portable/libc/libc.so: tools/dist/oldlibc.py
	@mkdir -p $(@D)
	@echo "  GEN $(@D)"
	@python3 $< $(OLDEST_LIBC) $(abspath $(@D)) $(CC)

# Debian's packages for the cross compiler's target, unpacked.
build/sysroot-arm64: tools/dist/sysroot.sh
	sh $< arm64 $@

start_file = $(shell $(CC) -print-file-name=$(1))
$(B)/portable/lazuli: $(B)/src/main.o $(PORTABLE_OBJ) $(OWN_START) $(B)/portable/libc/libc.so
	@echo "  LD $@"
	@$(CC) $(LDFLAGS) $(LTO_LINK) -s -Wl,--build-id=none -nostartfiles -L$(B)/portable/libc -o $@ \
	    $(call start_file,crti.o) $(call start_file,crtbeginS.o) $(filter %.o,$^) $(STATIC_LIBS) \
	    -Wl,--push-state,--no-as-needed $(B)/portable/libc/libpthread.so.0 $(B)/portable/libc/libdl.so.2 -Wl,--pop-state \
	    $(call start_file,crtendS.o) $(call start_file,crtn.o)

# The console page: npm builds web/ into build/web, from where it is compiled into the program. Without npm, or if the
# packages cannot be downloaded, the program is built without the page, and both the build and the program report it.
WEB := $(shell find web -name node_modules -prune -o -type f -print 2>/dev/null)
# Two makes may run at the same time (test/run.sh): the second finds the page and does not empty the folder that the
# first is reading.
build/web.stamp: tools/web.sh $(WEB)
	@mkdir -p build
	@flock build/web.lock sh -c 'test -f $@ && test -z "$$(find $(WEB) tools/web.sh -newer $@)" || { sh tools/web.sh build/web && touch $@; }'

$(B)/page_files.c: tools/embed.sh build/web.stamp
	@mkdir -p $(@D)
	@sh tools/embed.sh build/web > $@

$(B)/page_files.o: $(B)/page_files.c
	@echo "  CC $<"
	@$(CC) $(CFLAGS) -c -o $@ $<

# Tests are found by name, not through headers.
$(B)/%_test.o: WARN += -Wno-missing-prototypes
# They are compiled with less optimisation, in half the time, because they run once; they are not linked with LTO.
$(B)/%_test.o: LTO_COMPILE :=
$(B)/%_test.o: OPT := $(OPT:-O2=-O1)

$(B)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC $<"
	@$(CC) $(CFLAGS) -c -o $@ $<

$(B)/unit_main.c: test/gen.sh $(TOBJ)
	sh test/gen.sh $(TOBJ) > $@

# unit_main.c is in the build folder but is compiled separately, like the rest: compiling and linking in one step would
# write a dependency file that names headers as prerequisites of the program.
$(B)/unit_main.o: $(B)/unit_main.c
	@echo "  CC $<"
	@$(CC) $(CFLAGS) -c -o $@ $<

$(B)/unit: $(B)/unit_main.o $(TOBJ) $(OBJ)
	@echo "  LD $@"
	@$(CC) $(LDFLAGS) -fno-lto -o $@ $^ $(LDLIBS)

$(B)/bench/%.o: bench/%.c
	@mkdir -p $(@D)
	@echo "  CC $<"
	@$(CC) $(CFLAGS) -Ibench -c -o $@ $<

# A benchmark of several files has the others in a folder with its name.
$(B)/bench_load: $(patsubst %.c,$(B)/%.o,$(wildcard bench/load/*.c))
$(B)/bench_queue_cycle: $(B)/bench/load/histogram.o

$(B)/bench_%: $(B)/bench/%.o $(OBJ)
	@echo "  LD $@"
	@$(CC) $(LDFLAGS) -fno-lto -o $@ $^ $(LDLIBS)

# The server that test/http drives.
$(B)/http_echo: $(B)/test/http/echo.o $(OBJ)
	@echo "  LD $@"
	@$(CC) $(LDFLAGS) -fno-lto -o $@ $^ $(LDLIBS)

# Power cuts. It defines open, write and so on, which would conflict with the fortified versions in the headers.
$(B)/test/crash/%.o: OPT += -U_FORTIFY_SOURCE
$(B)/power_cut: $(patsubst %.c,$(B)/%.o,$(wildcard test/crash/*.c)) $(OBJ)
	@echo "  LD $@"
	@$(CC) $(LDFLAGS) -fno-lto -o $@ $^ $(LDLIBS)

# Any number of power cuts, over stores with new seeds each time: make soak CUTS=20000 [SEED=1]
CUTS ?= 2000
soak: $(B)/power_cut
	sh tools/soak.sh $(B)/power_cut $(CUTS) $(SEED)

# The HTTP server alone, over raw sockets.
test-http: $(B)/http_echo
	HTTP_ECHO=$(B)/http_echo node --test test/http

# All unit tests, or those whose name contains T: make unit T=lease
unit: $(B)/unit
	TSAN_OPTIONS=suppressions=test/tsan.supp $(B)/unit $(T)

deps:
	sh tools/deps.sh build

test-deps:
	sh tools/deps.sh test

# ARGS: the program's flags.
run: deps
	$(MAKE) -j$$(nproc) V=quick build/quick/lazuli
	build/quick/lazuli $(ARGS)

# Installs into DESTDIR the program with its aliases, man pages, completions, systemd unit, licence. PROGRAM is the
# program to install.
prefix  ?= /usr/local
PROGRAM ?= build/lazuli
install: $(if $(filter build/lazuli,$(PROGRAM)),all)
	sh tools/dist/install.sh $(PROGRAM) '$(DESTDIR)' '$(prefix)'

dist-deps:
	sh tools/deps.sh dist

# Every package, in build/dist: tools/dist/README.md.
dist: dist-deps
	$(MAKE) -j$$(nproc) $(B)/portable/lazuli
	sh tools/dist/dist.sh $(B)/portable/lazuli build/dist

# The same, also for arm64: two programs, one image, one npm package that selects the right one.
dist-all: dist-deps
	sh tools/deps.sh cross
	$(MAKE) -j$$(nproc) $(B)/portable/lazuli
	$(MAKE) build/sysroot-arm64
	$(MAKE) -j$$(nproc) ARCH=arm64 build/release-arm64/portable/lazuli
	sh tools/dist/dist.sh $(B)/portable/lazuli build/dist build/release-arm64/portable/lazuli build/sysroot-arm64

# One libFuzzer program per parser, each run for FUZZ_SECONDS from the inputs found so far (build/fuzz/NAME.d).
FUZZ_SECONDS ?= 10
FUZZ       := $(patsubst fuzz/%.c,build/fuzz/%,$(wildcard fuzz/*.c))
FUZZ_FLAGS := -g1 -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
# Two thirds of the files: parsers are in the lower layers and use neither the local engine nor, except for these five,
# the REST front end.
FUZZ_SRC   := $(filter-out $(wildcard src/*.c) src/config/% src/serve/% src/engine/local/% src/rest/% src/admin/%,$(SRC)) \
              $(addprefix src/rest/,multipart.c body/structured.c table/json_read.c table/json_write.c dfs/properties.c) \
              src/smb/smb_user_test.c
$(foreach f,$(FUZZ_SRC),$(if $(wildcard $f),,$(error FUZZ_SRC names $f, which does not exist)))
FUZZ_OBJ   := $(FUZZ_SRC:%.c=build/fuzz/obj/%.o)

build/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC $<"
	@clang $(BASE) $(WARN) $(FUZZ_FLAGS) -c -o $@ $<

build/fuzz/libfuzzed.a: $(FUZZ_OBJ)
	@rm -f $@
	@ar rcs $@ $^

# Linked against an archive, so that a driver links only what it uses.
build/fuzz/%: fuzz/%.c build/fuzz/libfuzzed.a
	@echo "  LD $@"
	@clang $(filter-out -M%,$(BASE)) $(WARN) -Wno-missing-prototypes $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

fuzz: $(FUZZ)
	sh tools/fuzz.sh $(FUZZ_SECONDS) $(FUZZ)

# Documents generated from the code; a test fails if they are out of date.
docs: all
	build/lazuli --ops > docs/operations.md

# The documents as static pages with search, in build/site.
docs-site:
	sh tools/site/build.sh

# Quick checks after an edit: style, layers, unit tests. Under 30 s.
check: format-check
	sh tools/layers.sh
	sh tools/tidy.sh
	sh tools/names.sh
	$(MAKE) unit

test: test-deps
	sh test/run.sh

# The same with the long cases of the browser, cluster, packaging and soak suites.
test-full: test-deps
	FULL=1 sh test/run.sh

# The cluster engine alone: installs PostgreSQL and Ceph, starts them in a private folder, runs everything, stops them.
test-cluster:
	sh tools/deps.sh cluster
	FULL=1 sh test/run.sh cluster

# Compiled by `make test`, so that a change of the code cannot break a benchmark unnoticed.
bench-objects: $(patsubst bench/%.c,$(B)/bench/%.o,$(wildcard bench/*.c bench/load/*.c))

bench: all $(BENCH)
	sh bench/run.sh

# Comparison with Azurite, nginx, Samba and the bare disk, half an hour (QUICK=1: some minutes):
# build/bench/report.html.
bench-peers: all $(B)/bench_load $(B)/bench_disk $(B)/bench_queue_cycle
	sh tools/deps.sh bench
	cd bench/peers && npm ci --ignore-scripts --no-audit --no-fund
	node bench/peers.mjs

format:
	find src test $(wildcard bench fuzz) -name node_modules -prune -o -name '*.[ch]' -print | xargs -r clang-format -i

format-check:
	find src test $(wildcard bench fuzz) -name node_modules -prune -o -name '*.[ch]' -print | xargs -r clang-format --dry-run -Werror

# clang-tidy, only over files changed since it last passed (its stamp is as old as the object it was given for), and
# cppcheck over all. Tests are checked only by compilers and sanitizers. `make -j2 tidy` includes clang's analyzer,
# which takes ten times as long as the rest; `make tidy-quick` leaves it out and is part of `make test`.
TIDIED := $(SRC) src/main.c
tidy: $(TIDIED:%.c=$(B)/tidy/%.ok) cppcheck
tidy-quick: $(TIDIED:%.c=$(B)/tidy-quick/%.ok) cppcheck

$(B)/tidy/%.ok: $(B)/%.o .clang-tidy
	@mkdir -p $(@D)
	@clang-tidy --quiet $*.c -- $(filter-out -M%,$(BASE)) 2>/dev/null
	@touch $@

$(B)/tidy-quick/%.ok: $(B)/%.o .clang-tidy
	@mkdir -p $(@D)
	@clang-tidy --quiet --checks=-clang-analyzer-* $*.c -- $(filter-out -M%,$(BASE)) 2>/dev/null
	@touch $@

# Suppressed: returnDanglingLifetime mistakes every TRY for a pointer that escapes; uninitvar and the ctu* mistake an
# `_init(&x)` for a use of x; arrayIndexOutOfBoundsCond ignores asserts.
CPPCHECK_SUPPRESS := returnDanglingLifetime uninitvar ctuuninitvar ctunullpointer arrayIndexOutOfBoundsCond
cppcheck:
	cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	    $(patsubst %,--suppress='%',$(CPPCHECK_SUPPRESS)) -D_GNU_SOURCE -Isrc $(TIDIED)

clean:
	rm -rf build

-include $(shell find $(B) build/fuzz -type f -name '*.d' 2>/dev/null)
