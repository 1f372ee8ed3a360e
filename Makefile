# Stoker. What `make help` prints:
#
## make            build the programs and their manuals, in build/
## make pages      build the web application, in build/ui/; needs npm
## make run        build and start Stoker, with two programs to profile
##     PORT=8088         where it answers, on 127.0.0.1
##     STATE=build/run   the folder of its data and logs
##     DETACH=1          in the background
## make stop       end what runs in the background; STATE as above
## make deb        build the Debian package, in build/deb/
##     SUITE=trixie      for that release of Debian, in build/suites/
##     ARCH=arm64        with SUITE: for that machine
## make apt-repo   add it to a signed repository for apt, in build/apt/
##     SUITE=, ARCH=     as above
##     KEY=NAME          key of GnuPG that signs, instead of build/apt-key
## make source   make the source package, for dpkg-buildpackage, in build/source/
## make reproducible  have dpkg-buildpackage build it twice, and an image of each,
##                   and compare
##     SUITE=trixie      on that release of Debian, in build/suites/
## make tarball    pack programs and their libraries for other distributions
## make image      pack them as an image for containers, in build/image/
## make version    print the version that is built
## make install    install, below DESTDIR; conf/install has all variables
## make uninstall  remove what make install installed
## make check      install what tests need, and run all of them
## make check-quick  test in a minute what changed since make check passed
##     ROOM=store/db     what to test instead
##     SUITE=trixie      on that release of Debian, in build/suites/
## make check-vm   test the package on Debian's kernels, in virtual machines
## make check-debian  test the package on bare Debian 12 and 13: the first profile,
##                   an upgrade from the last release, a purge; and a checkout
##     SUITE=trixie      on that release alone
## make check-fleet  test ten hosts and their centre, with a fault of each kind,
##                   and an object store: Ceph, from Debian
## make check-peers  compare what is read of others' files with what pprof,
##                   speedscope, jfr, jeprof and callgrind_annotate show
## make unit       run the unit tests
## make dates      run them on other days: a leap day, the end of a year, ...
##     DATES="2027-02-03 2028-02-29" ROOM=store  which, of one room
## make asan       run them with AddressSanitizer; tsan: with ThreadSanitizer
## make fuzz       run the fuzzers, and print the executions of each
##     ONLY=formats      of each input format; or names of fuzzers
## make mutate     put mistakes into C and SQL, and name those no test notices
##     KIND=exhaustive   conditions on tenant, host, role, ...; or random
##     SEED=1 COUNT=300  the random ones; ROOM=store/db for those of a room
## make soak       load and kill for an hour: does any process grow?
##     MINUTES=60        for how long
## make tasks      answer eight questions on the pages of live programs, counted
##                 in clicks and checked by the API and pprof; five minutes
## make bench      measure beside perf and others; ONLY=name,... for a part
## make bench-hosts  measure what hosts of a fleet cost their centre
##     HOSTS=1000 MINUTES=10  how many, and for how long
##     SPREAD=60         seconds over which the blocks of a minute come
## make bench-peers  watch programs with Stoker and with others' tools, in turn
## make aarch64    build the worker for 64-bit ARM
## make tidy       run clang-tidy; format: clang-format
## make deps       install the packages that a build and make run need
## make clean      remove build/
#
# Variants (asan, tsan, fuzz) build in folders of their own: B names it.

# As many jobs as CPUs, unless the caller says.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

B      ?= build
# make's own default is cc, which may not be installed.
ifeq ($(origin CC),default)
CC     := gcc
endif
ifeq ($(origin CXX),default)
CXX    := g++
endif
PREFIX ?= /usr
PORT   ?= 8088
STATE  ?= $(B)/run

# In a checkout, with the time and the name of its commit.
VERSION  := $(shell sed -n '1s/.*(\(.*\)).*/\1/p' conf/debian/changelog)$(shell \
	    TZ=UTC GIT_CEILING_DIRECTORIES=$(abspath ..) git -c 'safe.directory=*' \
	    log -1 --abbrev=7 --date=format-local:%Y%m%d.%H%M --format=+%cd.g%h 2>/dev/null)
Q        := $(if $(V),,@)
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	    -Wvla -Wformat=2 -Wundef $(if $(CI),-Werror)
CFLAGS   ?= -O2 -g
CPPFLAGS += -D_GNU_SOURCE -Iinclude -Iapp -I$(B)/gen
# Nothing in a program depends on the folders that it was built in.
NO_FOLDERS = $(if $(filter-out build,$(B)),-ffile-prefix-map=$(B)=build) \
	    -ffile-prefix-map=$(CURDIR)=.
ALL_CFLAGS = -std=gnu17 -fno-omit-frame-pointer -fstack-protector-strong \
	    $(NO_FOLDERS) $(WARN) $(CPPFLAGS) $(CFLAGS) $(EXTRA) -MMD -MP
ALL_LDFLAGS = -Wl,-z,relro,-z,now -Wl,--as-needed $(LDFLAGS) $(EXTRA)

# The place of <asm/types.h>, which clang does not look for with -target bpf.
KERNEL_INCLUDE = /usr/include/$(shell gcc -print-multiarch)

# Directories in link order: each may use those to its right.
API_DIRS    := api keeper upkeep endpoint importer compare range store profile sandbox base
WORKER_DIRS := worker upkeep capture store profile sandbox base
CLI_DIRS    := cli capture store profile base
TEST_DIRS   := api keeper endpoint importer compare range worker upkeep cli capture store profile sandbox base
# The machine that is compiled for: x86_64, aarch64.
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
LIBS := -lfcgi -ljansson -lsqlite3 -lpq -lrhonabwy -lcurl -lcrypto -ldw -lelf \
	-liberty -ldeflate -lzstd -llzma -linih -lcap -lseccomp \
	-lunwind-$(MACHINE) -lbpf -lcapstone \
	-lpthread -lm
PROGRAMS := $(B)/stoker $(B)/stoker-api $(B)/stoker-worker
# Programs load it: it needs nothing but libc and libm.
LIBRARY  := $(B)/libstoker-heap.so

# conf/man/stoker.1 becomes man/man1/stoker.1, with the rows of tables in it.
manual   = $(B)/man/man$(subst .,,$(suffix $1))/$(notdir $1)
MANUALS := $(foreach p,$(wildcard conf/man/*.[1578]),$(call manual,$p))

objects  = $(patsubst app/%.c,$(B)/app/%.o,$(filter-out %/main.c %.bpf.c,\
	   $(wildcard app/$1/*.c app/$1/*/*.c))) $(GEN_$1)
archives = $(foreach d,$1,$(B)/lib$d.a)

.PHONY: FORCE version all programs tools pages help run stop check check-built check-quick check-vm check-debian check-fleet check-peers toolchains unit tasks bench bench-hosts bench-peers dates asan tsan aarch64 \
	fuzz mutate soak tidy format install uninstall deb deb-built clean deps native-deps deps-and-pages deps-of-few
all: programs pages
programs: $(PROGRAMS) $(LIBRARY) $(MANUALS) $(B)/manual/index.html
.DELETE_ON_ERROR:
.SECONDARY:

# --- generated: SQL and files carried inside the programs -----------------
SQL := $(addprefix include/store/,bytes.h host_sum.h window.h) \
	$(sort $(wildcard sql/migrate/*.sql)) $(sort $(wildcard sql/query/*.sql))
GEN_store   := $(B)/gen/store/sql.o
# Pages that the programs carry: a saved flame graph, and a refused link.
FLAME_JS    := text model flame table lines diff merge trees sandwich sides about theme page saved
GEN_profile := $(patsubst %,$(B)/gen/web/flame/page.%.o,html css js)
GEN_endpoint := $(patsubst app/web/%,$(B)/gen/web/%.o,$(wildcard app/web/refused/*))

$(B)/gen/store/sql.h $(B)/gen/store/sql.c &: app/store/db/sql.awk $(SQL)
	@mkdir -p $(@D)
	$(Q)awk -v header=$(B)/gen/store/sql.h -v source=$(B)/gen/store/sql.c \
		-f $< $(SQL)
$(B)/gen/%.o: $(B)/gen/%.c
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<
$(B)/gen/web/flame/page.css: $(patsubst %,app/web/flame/%.css,theme profile page)
	@mkdir -p $(@D)
	$(Q)cat $^ >$@
$(B)/gen/web/flame/tables.js: app/web/flame/tables.js.in include/types.def \
		app/profile/model/kind.def
	@mkdir -p $(@D)
	$(Q)$(CC) -E -P -x c -Iinclude -Iapp -o $@ $<
$(B)/gen/web/flame/page.js: app/web/flame/join.awk \
		$(B)/gen/web/flame/tables.js $(FLAME_JS:%=app/web/flame/%.js)
	@mkdir -p $(@D)
	$(Q)awk -f $^ >$@
# app/web/flame/page.html becomes web_page_html[] and web_page_html_len
embed = $(Q)$(CC) -c -o $@ -DFILE='"$<"' \
	-DNAME=web_$(subst -,_,$(subst .,_,$(notdir $*))) app/web/embed.S
$(B)/gen/web/flame/page.css.o $(B)/gen/web/flame/page.js.o: \
		$(B)/gen/web/%.o: $(B)/gen/web/% app/web/embed.S
	$(embed)
$(B)/gen/web/%.o: app/web/% app/web/embed.S
	@mkdir -p $(@D)
	$(embed)

# --- the web application: app/web/ui/build ----------------------------------
# Without npm a page says so; the target has another name, so that the page is
# replaced as soon as there is npm. If npm fetches nothing, there is no target,
# and the next make tries again.
PAGES := $(B)/web/$(if $(shell command -v npm),with,without)-npm
pages: $(PAGES)
$(PAGES): $(wildcard app/web/ui/* app/web/flame/*) \
	  $(addprefix include/,schemas.def types.def ways.def) \
	  include/store/continuous_host.def app/base/interpreter.def \
	  app/profile/model/kind.def
	@mkdir -p $(@D)
	@rm -f $(@D)/with-npm $(@D)/without-npm
	$(Q)WORK=$(B)/web CC=$(CC) app/web/ui/build $(B)/ui && touch $@ || [ $$? -eq 3 ]

# Compilers that few files need: make run compiles the others meanwhile.
NO_TOOLS := $(if $(shell PATH=$$PATH:/usr/sbin; \
	    command -v clang && command -v bpftool && command -v mandoc),,deps-of-few)
deps-of-few:
	@conf/packages/install tools
# Programs in the kernel walk the frames of every language's interpreter.
WALKS := $(B)/gen/capture/walks.h
$(WALKS): app/capture/interp/languages.def
	@mkdir -p $(@D)
	$(Q)sed -n 's|^LANGUAGE(.*, *\(.*\))|#include "capture/\1/\1_walk.h"|p' \
		$< >$@
# app/capture/host/filter.bpf.c is compiled for the kernel; filter.skel.h
# carries the result, which is the same on all machines.
SKELETONS := $(patsubst app/%.bpf.c,$(B)/gen/%.skel.h,\
	     $(wildcard app/*/*/*.bpf.c))
$(B)/gen/%.bpf.o: app/%.bpf.c $(WALKS) | $(NO_TOOLS)
	@mkdir -p $(@D)
	$(Q)clang -target bpf -mcpu=v3 -ffreestanding -O2 -g -Wall -Wextra \
		$(NO_FOLDERS) -Iinclude -Iapp -I$(B)/gen $(if $(CI),-Werror) -idirafter $(KERNEL_INCLUDE) -MMD -MP \
		-c -o $@ $<
$(B)/gen/%.skel.h: $(B)/gen/%.bpf.o
	$(Q)PATH=$$PATH:/usr/sbin; bpftool gen object $(@:.h=.o) $< && \
		bpftool gen skeleton $(@:.h=.o) \
		name $(subst .skel.h,_bpf,$(@F)) >$@
$(SKELETONS:$(B)/gen/%.skel.h=$(B)/app/%.o): $(B)/app/%.o: $(B)/gen/%.skel.h

# --- programs ---------------------------------------------------------------
# Those that include sql.h say so in their .d; it must be there before.
$(B)/app/%.o: app/%.c | $(B)/gen/store/sql.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<
define archive
$(B)/lib$1.a: $(call objects,$1)
	@mkdir -p $$(@D) && rm -f $$@
	$$(Q)ar rcs $$@ $$^
endef
$(foreach d,$(TEST_DIRS),$(eval $(call archive,$d)))
$(B)/stoker: $(B)/app/cli/main.o $(B)/gen/version.o $(call archives,$(CLI_DIRS))
$(B)/stoker-api: $(B)/app/api/main.o $(B)/gen/version.o $(call archives,$(API_DIRS))
$(B)/stoker-worker: $(B)/app/worker/main.o $(B)/gen/version.o $(call archives,$(WORKER_DIRS))
# Only the programs depend on the commit, and only if it is another one.
$(B)/gen/version.c: FORCE
	@mkdir -p $(@D)
	@echo 'const char stoker_version[] = "$(VERSION)";' | \
		{ cmp -s - $@ || echo 'const char stoker_version[] = "$(VERSION)";' >$@; }
$(PROGRAMS):
	@echo "  $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(LIBRARY): $(wildcard app/preload/*.c) include/preload/heap_layout.h
	@echo "  $@"
	$(Q)$(CC) -std=gnu17 $(WARN) $(CPPFLAGS) $(CFLAGS) -fPIC \
		-g0 -fvisibility=hidden -shared -static-libgcc \
		-Wl,-z,relro,-z,now -Wl,-z,defs -o $@ $(filter %.c,$^) -lm

# Tables whose rows the manual has; and the manual for browsers.
MANUAL_ROWS := $(wildcard app/cli/*.def include/*.def) \
	app/capture/host/quality.def app/worker/ipc/capture_error.def \
	app/endpoint/assistant/tools.def \
	$(wildcard app/capture/*/*_versions.def)
$(B)/manual/index.html: conf/man/html $(MANUALS) | $(NO_TOOLS)
	$(Q)rm -rf $(@D) && conf/man/html $(@D)
define page
$(call manual,$1): $1 conf/man/rows.awk conf/man/fill.awk \
		$(MANUAL_ROWS)
	@mkdir -p $$(@D)
	$$(Q)awk -f conf/man/rows.awk -f conf/man/fill.awk $$< >$$@
endef
$(foreach p,$(wildcard conf/man/*.[1578]),$(eval $(call page,$p)))

# --- tests ------------------------------------------------------------------
UNITS   := $(patsubst tests/%.c,$(B)/tests/%,\
	   $(wildcard tests/unit/*/*.c tests/api/*.c))
FUZZERS := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/fuzz/*.c))
TARGETS := $(patsubst tests/targets/%.c,$(B)/targets/%,\
	   $(wildcard tests/targets/*.c)) \
	   $(patsubst tests/targets/%.cc,$(B)/targets/%,\
	   $(wildcard tests/targets/*.cc))
TESTLIB := $(patsubst tests/%.c,$(B)/tests/%.o,$(wildcard tests/lib/*.c))
UI      := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/ui/*.c))
TOOLS   := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/tools/*.c))
BENCHES := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/bench/*.c))

# Tests are compiled more often than they run: they are not optimised. A test
# that its suite does not name is an unused variable: it is refused.
TEST_CFLAGS := $(if $(EXTRA),,-O0)
$(B)/tests/bench/%.o $(B)/tests/tools/%.o $(B)/tests/fuzz/%.o: TEST_CFLAGS :=
$(B)/tests/%.o: tests/%.c | $(B)/gen/store/sql.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(TEST_CFLAGS) -Werror=unused-variable -Itests -c -o $@ $<
$(B)/libtest.a: $(filter-out %_main.o,$(TESTLIB))
	@rm -f $@
	$(Q)ar rcs $@ $^
# lld takes a third of the time of GNU ld, and a seventh less with one thread and
# strings as they are. Cross compilers do not find it.
LLD := -fuse-ld=lld -Wl,-O0,--threads=1
TEST_LDFLAGS := $(if $(filter $(MACHINE),$(shell uname -m)),$(if \
		$(shell command -v ld.lld),$(LLD)))
test_link = $(Q)$(CC) $(ALL_LDFLAGS) $(TEST_LDFLAGS) -o $@ $^ -lcheck -lsubunit -lrt $(LIBS)
TEST_ARCHIVES = $(B)/tests/lib/version.o $(B)/libtest.a $(call archives,$(TEST_DIRS))
$(B)/tests/unit/%: $(B)/tests/unit/%.o $(B)/tests/lib/unit_main.o $(TEST_ARCHIVES)
	$(test_link)
$(B)/tests/api/%: $(B)/tests/api/%.o $(B)/tests/lib/unit_main.o $(TEST_ARCHIVES)
	$(test_link)
$(B)/tests/tools/%: $(B)/tests/tools/%.o $(TEST_ARCHIVES)
	$(test_link)
$(B)/tests/bench/%: $(B)/tests/bench/%.o $(TEST_ARCHIVES)
	$(test_link)
# pprof's messages in protobuf-c, for comparison with ours.
$(B)/gen/bench/profile.pb-c.c: tests/bench/profile.proto
	@mkdir -p $(@D)
	$(Q)protoc-c --proto_path=$(<D) --c_out=$(@D) $(<F)
$(B)/tests/bench/pprof.o: $(B)/gen/bench/profile.pb-c.c
$(B)/tests/bench/pprof.o: CPPFLAGS += -I$(B)/gen/bench
$(B)/tests/bench/pprof: $(B)/gen/bench/profile.pb-c.o
$(B)/tests/bench/pprof: LIBS += -lprotobuf-c
# Measured with the harness of the API's tests.
$(B)/tests/bench/fleet $(B)/tests/bench/push: $(B)/tests/lib/unit_main.o
$(B)/tests/ui/%: $(B)/tests/ui/%.o $(B)/tests/lib/version.o $(B)/libtest.a $(call archives,profile base)
	$(test_link)
FUZZ_MAIN ?= $(B)/tests/lib/fuzz_main.o
$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(FUZZ_MAIN) $(TEST_ARCHIVES)
	$(test_link)
# Targets are what a distribution ships: optimised, without frame pointers.
$(B)/targets/%: tests/targets/%.c $(wildcard tests/targets/*.h)
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -fomit-frame-pointer -o $@ $< -lpthread -lm
$(B)/targets/%: tests/targets/%.cc
	@mkdir -p $(@D)
	$(Q)$(CXX) -O2 -g -fomit-frame-pointer -std=gnu++17 -o $@ $< -lpthread

# Other packages that tests need are installed while the programs compile.
check:
	@conf/packages/install build tools
	+@{ conf/packages/install run check deb && $(web-deps); } & \
		$(MAKE) --no-print-directory programs; built=$$?; wait $$! && exit $$built
	@$(MAKE) --no-print-directory check-built
# Benches, too, so that they still build when somebody measures; pprof needs a
# package that nothing else does.
check-built: toolchains all deb-built $(UNITS) $(UI) $(FUZZERS) $(TARGETS) \
		$(TOOLS) $(filter-out %/pprof,$(BENCHES))
	@B=$(B) tests/lib/rooted tests/run
tools: $(TOOLS)
check-quick: $(if $(SUITE),pages,$(TARGETS))
	+@$(if $(SUITE),conf/packages/install suite && GOAL=$@ )B=$(B) \
		ROOM="$(ROOM)" VERSION=$(VERSION) \
		$(if $(SUITE),conf/packages/in_suite $(SUITE),tests/quick)
# The package on Debian's own kernels, in virtual machines: tests/vm/run.
check-vm: deps
	@conf/packages/install check deb vm
	@$(MAKE) --no-print-directory all deb-built $(B)/tests/tools/windows \
		$(addprefix $(B)/targets/,shares threads waiting allocating keeping)
	@B=$(B) tests/vm/run $(KERNELS)
# The package on bare Debians, in containers with systemd: tests/debian/run.
check-debian: deps
	@conf/packages/install check deb suite
	@$(MAKE) --no-print-directory all deb-built tarball $(B)/targets/shares
	@B=$(B) VERSION=$(VERSION) tests/debian/run $(SUITE)
# A fleet, and profiles in a real object store: heavy packages, a quarter of an
# hour.
check-fleet: deps
	@conf/packages/install check objects fleet
	@$(MAKE) --no-print-directory all $(B)/targets/demo
	@B=$(B) tests/lib/rooted tests/fleet/object_store.sh
	@B=$(B) tests/lib/rooted tests/fleet/hosts.sh
check-peers: deps
	@conf/packages/install check peers
	@$(MAKE) --no-print-directory programs $(B)/tests/tools/folded
	@B=$(B) tests/peers/run
# Needs the network more than the CPU, so it runs while the rest is compiled.
toolchains:
	@B=$(B) tests/lib/go fetch || :
unit: $(TOOLS) $(UNITS) $(FUZZERS) $(TARGETS)
	@B=$(B) tests/run '$(or $(SUITES),unit)'
tasks: deps
	@conf/packages/install check
	@$(MAKE) --no-print-directory all $(B)/targets/demo $(B)/targets/shop
	@B=$(B) ONLY=$(ONLY) tests/lib/rooted tests/ui/tasks
bench: deps
	@conf/packages/install bench
	@$(MAKE) --no-print-directory all $(BENCHES) $(TARGETS) $(TOOLS)
	@B=$(B) ONLY=$(ONLY) tests/bench/run
bench-peers:
	@$(MAKE) --no-print-directory ONLY=peers ROUNDS=3 bench
bench-hosts: deps
	@conf/packages/install check
	@$(MAKE) --no-print-directory all $(B)/tests/bench/hosts
	@B=$(B) HOSTS=$(HOSTS) MINUTES=$(MINUTES) SPREAD=$(SPREAD) tests/bench/hosts.sh
dates: deps
	@conf/packages/install check dates
	@$(MAKE) --no-print-directory all $(UNITS)
	@B=$(B) DATES="$(DATES)" ROOM=$(ROOM) tests/tools/dates
# The programs alone: scripts build much else. What UBSan finds ends a program,
# as what the others find does.
SANITIZE_asan := address,undefined,float-cast-overflow -fno-sanitize-recover=all
SANITIZE_tsan := thread
asan tsan:
	@$(MAKE) --no-print-directory B=$(B)/$@ CFLAGS="-O1 -g" unit \
		SUITES='(unit|fuzz)/.*[.]c' EXTRA="-fsanitize=$(SANITIZE_$@)"
# The worker of another machine, and tests of it that run under qemu. Its
# libraries are unpacked: the cross compiler comes with libc alone.
ARM     := $(B)/aarch64
ARM_LIB := $(ARM)/root/usr/lib/aarch64-linux-gnu
ARM_INC := $(ARM)/root/usr/include
aarch64:
	@ARCH=arm64 B=$(ARM) conf/packages/unpack bookworm $(ARM)/root \
		$$(cat conf/packages/aarch64.txt)
	@$(MAKE) --no-print-directory B=$(ARM) CC=aarch64-linux-gnu-gcc \
		CFLAGS=$(ARM_CFLAGS) LIBS="$(subst $(MACHINE),aarch64,$(filter-out -lfcgi -lrhonabwy,$(LIBS)))" \
		EXTRA="-isystem $(ARM_INC) -isystem $(ARM_INC)/aarch64-linux-gnu" \
		LDFLAGS="-L$(ARM_LIB) -Wl,--allow-shlib-undefined" \
		TEST_DIRS="$(WORKER_DIRS)" \
		TESTLIB="$(ARM_TESTLIB:%=$(ARM)/tests/lib/%.o)" \
		$(ARM)/stoker-worker $(ARM_TESTS:%=$(ARM)/tests/%)
ARM_CFLAGS  ?= -O2
ARM_TESTS   := tools/walk unit/capture/unwind_frames unit/capture/ring
ARM_TESTLIB := test frames_image
fuzz:
	+@tests/fuzz/run $(B)/fuzz $(ONLY)
# Tests and programs share the rooms as one library there: a file that was
# changed is linked once, not once for each test.
mutate: deps
	@conf/packages/install check
	@B=$(B) KIND=$(KIND) SEED=$(SEED) COUNT=$(COUNT) ROOM=$(ROOM) \
		LIMIT=$(LIMIT) EACH=$(EACH) tests/tools/mutate
$(B)/libstoker.so: $(foreach d,$(TEST_DIRS),$(call objects,$d))
	$(Q)$(CC) -shared -Wl,-soname,$(@F) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
soak: deps
	@conf/packages/install check
	@$(MAKE) --no-print-directory all $(TARGETS)
	@B=$(B) MINUTES=$(MINUTES) tests/tools/soak
tidy:
	@tests/lib/tidy $(B)
format:
	clang-format -i $$(git ls-files '*.c' '*.h' '*.cc')

# --- use --------------------------------------------------------------------
deps: native-deps
	@$(web-deps)
web-deps = { conf/packages/install web || echo "without them there is no web application"; }
native-deps:
	@conf/packages/install build tools run $(if $(filter bench,$(MAKECMDGOALS)),check deb)
# All but the compiler and its libraries is installed while the programs compile.
run:
	@conf/packages/install build
	@$(MAKE) -s --no-print-directory -j$$(($$(nproc) + 1)) deps-and-pages programs $(B)/targets/demo
	@B=$(B) STATE=$(STATE) PORT=$(PORT) DETACH=$(DETACH) conf/run/up
deps-and-pages:
	@conf/packages/install tools
	@conf/packages/install run
	@$(web-deps)
	@$(MAKE) -s --no-print-directory pages
stop:
	@STATE=$(STATE) conf/run/down
install: all
	@B=$(B) DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) RUN="$(RUN)" conf/install
uninstall:
	@B=$(B) DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) conf/install remove
# conf/debian becomes debian/ of a tree below the build folder.
DEB_NAME = stoker_$(VERSION)_$(or $(if $(SUITE),$(ARCH)),$(DEB_HOST_ARCH),$(shell dpkg --print-architecture 2>/dev/null)).deb
DEB      = $(B)/deb/$(DEB_NAME)
deb: deps
	@conf/packages/install deb $(if $(SUITE),suite)
	@$(MAKE) --no-print-directory $(if $(SUITE),deb-suite,deb-built)
deb-suite: pages
	@B=$(B) VERSION=$(VERSION) conf/packages/in_suite $(SUITE) $(ARCH)
source: deps pages
	@conf/packages/install deb
	@B=$(B) VERSION=$(VERSION) conf/packages/source $(B)/source
	@echo "  $$(ls $(B)/source/*.dsc)"
reproducible: deps pages
	@conf/packages/install $(if $(SUITE),suite,deb image)
	@$(if $(SUITE),GOAL=$@-built B=$(B) VERSION=$(VERSION) \
		conf/packages/in_suite $(SUITE),$(MAKE) --no-print-directory $@-built)
reproducible-built:
	@B=$(B) VERSION=$(VERSION) conf/packages/twice $(B)/twice
deb-built: $(DEB)
PACKED := $(PROGRAMS) $(LIBRARY) $(PAGES) $(B)/manual/index.html \
	$(wildcard conf/* conf/*/* systemd/* app/web/docs/*)
$(DEB): $(PACKED)
	$(Q)rm -rf $(@D) && mkdir -p $(@D)/tree
	$(Q)cp -r conf/debian $(@D)/tree
	$(Q)cd $(@D)/tree && MAKEFLAGS= SOURCE=$(CURDIR) B=$(abspath $(B)) \
		VERSION=$(VERSION) PAGES=$(abspath $(PAGES)) CC="$(CC)" RUN="$(RUN)" \
		$(if $(CI),DEB_BUILD_OPTIONS=noautodbgsym) \
		debian/rules binary >../log 2>&1 || { cat ../log; exit 1; }
	@echo "  $@"
.PHONY: apt-repo deb-suite image image-built reproducible reproducible-built source tarball
apt-repo: deb
	@conf/packages/install repo
	@KEY="$(KEY)" conf/packages/repository $(B)/apt \
		$(if $(SUITE),$(B)/suites/deb/$(SUITE)/$(DEB_NAME),$(DEB))
	@echo "  $(B)/apt"
TARBALL = $(B)/tarball/stoker-$(VERSION)-$(MACHINE).tar.xz
tarball: deps
	@conf/packages/install tarball
	@$(MAKE) --no-print-directory $(TARBALL)
$(TARBALL): $(PACKED)
	$(Q)rm -rf $(@D)
	$(Q)B=$(B) DESTDIR=$(@D)/root PREFIX=/usr conf/install
	$(Q)conf/packages/tarball $(@D)/root $@
	@echo "  $@"
image: deb
	@conf/packages/install image
	@$(MAKE) --no-print-directory image-built
image-built: $(B)/image/stoker.tar
$(B)/image/stoker.tar: $(DEB) conf/packages/image $(wildcard conf/container/*)
	$(Q)conf/packages/image $(DEB) $@
	$(Q)conf/container/seccomp >$(@D)/seccomp.json
	$(Q)cp conf/container/*.yaml $(@D)
	@echo "  $@"
version:
	@echo $(VERSION)
clean:
	rm -rf $(B)

help:
	@sed -n 's/^## //p' Makefile

-include $(shell find $(B)/app $(B)/tests $(B)/gen -name '*.d' 2>/dev/null)
