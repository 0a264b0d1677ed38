# SPDX-License-Identifier: MIT
#
#   make            build/thaw, from what is installed
#   make setup      install what make and make test need; so do demo, test, bench and lab
#   make demo       record the bundled stalling server and say what is wrong with it
#   make test       everything that can be checked on this machine; TIERS="lint unit"
#   make soak       what tests do over and over, SOAK times as often
#   make bench      thaw beside its peers; writes docs/overhead.md
#   make lab        stock kernels under QEMU, and a fresh Debian; LAB=matrix KERNELS="6.1 6.12", LAB=freeze:
#                   both famous freezes, LAB=fresh: make demo and make test where nothing is installed
#   make fuzz       the parsers under libFuzzer, FUZZ_SECONDS each
#   make install    PREFIX=/usr/local DESTDIR=
#
# Each folder that LAYERS names becomes an archive; LAYERS says which archives a unit test links. A variant
# (V=asan, V=tsan) is the same tree with other flags in a folder of its own.

B ?= build
V ?= release
PREFIX ?= /usr/local
CC ?= gcc
CLANG ?= clang-16
WASM_LD ?= wasm-ld-16
ESBUILD ?= esbuild
# Debian keeps it where the PATH of plain users does not lead.
BPFTOOL ?= $(shell command -v bpftool 2>/dev/null || echo /usr/sbin/bpftool)
# make WERROR= for a compiler that warns of more than ours do.
WERROR ?= -Werror
FUZZ_SECONDS ?= 60
SOAK ?= 10
KERNELS ?=
LAB ?= matrix $(if $(KERNELS),,fresh)
TIERS ?=
O := $(B)/$(V)
# The machine that thaw is built for: a folder of src/arch.
ARCH ?= $(or $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null))),$(shell uname -m))
ifeq ($(wildcard src/arch/$(ARCH)/arch.mk),)
$(error thaw is not made for $(ARCH) yet, only for $(notdir $(patsubst %/,%,$(dir $(wildcard src/arch/*/arch.mk)))): \
	docs/architecture.md says what another architecture takes)
endif
include src/arch/$(ARCH)/arch.mk

CFLAGS_release := -O2 -g
# Where the time of a report goes.
HOT := base store timeline model
HOT_release := -O3
CFLAGS_asan := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
CFLAGS_tsan := -O1 -g1 -fsanitize=thread
CFLAGS_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
# What a packager adds stays, whether it comes from the environment or the command line.
override CFLAGS += -std=gnu11 -Wall -Wextra $(WERROR) -Wmissing-prototypes -Wno-unused-parameter \
	-D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Isrc -I$(B)/gen -fPIE $(CFLAGS_$(V))
override LDFLAGS += $(filter -fsanitize=%,$(CFLAGS_$(V)))
LIBS := -lbpf -lelf -lseccomp -liberty -ldeflate -llzma -lzstd -lz -lsqlite3 -lpthread -lm

VERSION := $(shell sed -n 's/^version //p' VERSION 2>/dev/null || echo 0)
Q := @
say = @printf '  %-8s%s\n' '$(1)' '$(patsubst $(B)/%,%,$(2))'

MODEL := model/summary model model/charge model/wait model/lock
# The folders with C of their own, the ones further right first: the order in which they are linked.
FOLDERS := cmd sql diff import serve query html export report $(MODEL) timeline record collect unwind_tables engine scout guard \
	selftest symbol kept unwind store ring elf arch base
SRCS := $(foreach d,preload $(FOLDERS),$(filter-out %.bpf.c,$(wildcard src/$(d)/*.c)))
BPF_SRCS := $(wildcard src/probe/*.bpf.c)
archive_of = $(O)/lib$(subst /,-,$(1)).a
ARCHIVES := $(foreach d,$(FOLDERS),$(call archive_of,$(d)))
SKELS := $(B)/gen/thaw.skel.h

.PHONY: all setup dist demo test soak bench fuzz install clean lint format unit crash live workloads fuzzers lab lab-programs
.DELETE_ON_ERROR:
.SECONDARY:
all: $(B)/thaw preload

$(B)/thaw: $(O)/thaw
	$(Q)cp $< $@

# The library that records programs from inside, for each name that a loader may have for the
# machine ($$PLATFORM), and an empty one for 32-bit programs, whose loader would complain otherwise.
override PRELOAD_CFLAGS += -std=gnu11 -O2 -g -Wall -Wextra $(WERROR) -Wmissing-prototypes -Wno-unused-parameter \
	-D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Isrc -fPIC -fvisibility=hidden -fno-stack-protector
PRELOAD := libthaw-preload.so
$(B)/preload/%.o: src/preload/%.c | $(B)/packages
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(PRELOAD_CFLAGS) -MMD -MP -c $< -o $@
-include $(patsubst src/preload/%.c,$(B)/preload/%.d,$(wildcard src/preload/*.c))
$(B)/preload/64.so: $(patsubst src/preload/%.c,$(B)/preload/%.o,$(wildcard src/preload/*.c))
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -Wl,-z,now -Wl,-z,defs -Wl,-soname,$(PRELOAD) -o $@ $^
$(B)/preload/32.so: | $(B)/packages
	$(Q)mkdir -p $(@D) && echo 'extern int nothing;' | $(CC) -m32 -fPIC -shared -nostdlib -x c -o $@ -
$(foreach p,$(PRELOAD_64),$(eval $(B)/$(p)/$(PRELOAD): $(B)/preload/64.so))
$(foreach p,$(PRELOAD_32),$(eval $(B)/$(p)/$(PRELOAD): $(B)/preload/32.so))
PRELOADS := $(foreach p,$(PRELOAD_64) $(PRELOAD_32),$(B)/$(p)/$(PRELOAD))
$(PRELOADS):
	$(Q)mkdir -p $(@D) && cp $< $@.tmp && mv $@.tmp $@
.PHONY: preload
preload: $(PRELOADS)

$(O)/thaw: $(ARCHIVES)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -pie -o $@ $(ARCHIVES) $(LIBS)

# An archive holds a folder's objects; one that has lost a file makes another archive.
define archive
$(call archive_of,$(1)): $(patsubst src/%.c,$(O)/obj/%.o,$(filter-out %.bpf.c,$(wildcard src/$(1)/*.c))) src/$(1)
	$(call say,AR,$$@)
	$(Q)rm -f $$@ && ar rcs $$@ $$(filter %.o,$$^)
endef
$(foreach d,preload $(FOLDERS),$(eval $(call archive,$(d))))

$(foreach d,$(HOT),$(O)/obj/$(d)/%.o): override CFLAGS += $(HOT_$(V))
$(O)/obj/%.o: src/%.c | $(B)/packages
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -DTHAW_VERSION='"$(VERSION)"' -MMD -MP -c $< -o $@
-include $(patsubst src/%.c,$(O)/obj/%.d,$(SRCS))

# Only what loads the probes waits for the skeleton.
$(O)/obj/engine/engine_bpf.o $(patsubst src/%.c,$(O)/obj/%.o,$(wildcard src/engine/bpf_*.c)): $(SKELS)

# BPF: one object per .bpf.c, linked into one skeleton. The object with the shared definitions comes
# first: the linker of libbpf 1.1 loses the offsets of maps that it meets as externs first.
override BPF_CFLAGS += -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_TARGET) -Wall -Wextra $(WERROR) \
	-Wno-unused-parameter -Isrc -I/usr/include/$(ARCH)-linux-gnu
$(B)/bpf/%.bpf.o: src/probe/%.bpf.c | $(B)/packages
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@
-include $(patsubst src/probe/%.bpf.c,$(B)/bpf/%.bpf.d,$(BPF_SRCS))
$(B)/bpf/thaw.o: $(B)/bpf/state.bpf.o $(filter-out %/state.bpf.o,$(patsubst src/probe/%.bpf.c,$(B)/bpf/%.bpf.o,$(BPF_SRCS)))
	$(Q)$(BPFTOOL) gen object $@ $^
$(B)/gen/thaw.skel.h: $(B)/bpf/thaw.o
	$(call say,SKEL,$@)
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen skeleton $< name thaw_bpf > $@.tmp && mv $@.tmp $@

# The experiments of `thaw doctor --probe`: never loaded when recording.
$(B)/bpf/selftest/%.bpf.o: src/selftest/%.bpf.c | $(B)/packages
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@
-include $(wildcard $(B)/bpf/selftest/*.d)
$(B)/gen/nested.skel.h: $(B)/bpf/state.bpf.o $(B)/bpf/selftest/nested.bpf.o
$(B)/gen/kernel_ring.skel.h: $(B)/bpf/selftest/kernel_ring.bpf.o
$(B)/gen/nested.skel.h $(B)/gen/kernel_ring.skel.h: $(B)/gen/%.skel.h:
	$(call say,SKEL,$@)
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen object $(B)/bpf/selftest/$*.o $^
	$(Q)$(BPFTOOL) gen skeleton $(B)/bpf/selftest/$*.o name $*_bpf > $@.tmp && mv $@.tmp $@
$(O)/obj/selftest/own.o: $(B)/gen/nested.skel.h
$(O)/obj/selftest/kernel.o: $(B)/gen/kernel_ring.skel.h

# The engine inside of exported pages: the folders that answer, as WebAssembly, with what they have of
# a system in viewer/host. It imports nothing, so that a page has nothing to give it.
WASM := $(B)/viewer/thaw.wasm
WASM_LEFT_OUT := $(addprefix src/,base/mem.c base/options.c base/parallel.c store/ahead.c store/append.c store/disk.c store/encode.c store/syncer.c \
	store/expand.c store/pack.c store/plain.c store/source_file.c store/writer.c \
	report/locks%.c report/text%.c report/report_text.c)
WASM_SRCS := $(filter-out $(WASM_LEFT_OUT),$(foreach d,base arch store timeline $(MODEL) report query,$(wildcard src/$(d)/*.c))) \
	$(wildcard viewer/host/*.c)
WASM_OBJS := $(patsubst %.c,$(B)/viewer/obj/%.o,$(WASM_SRCS))
override WASM_CFLAGS += --target=wasm32-wasi -std=gnu11 -O2 -Wall -Wextra $(WERROR) -Wno-unused-parameter \
	-D_GNU_SOURCE -Isrc -Iviewer/host -include host.h -ffunction-sections -fdata-sections \
	-fvisibility=hidden -DTHAW_VERSION='"$(VERSION)"'
$(B)/viewer/obj/%.o: %.c | $(B)/packages
	$(call say,WASM,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(WASM_CFLAGS) -MMD -MP -c $< -o $@
-include $(WASM_OBJS:.o=.d)
$(WASM): $(WASM_OBJS) $(sort $(dir $(WASM_SRCS)))
	$(call say,LINK,$@)
	$(Q)$(CLANG) --target=wasm32-wasi -nostartfiles -fuse-ld="$$(command -v $(WASM_LD))" -Wl,--no-entry \
		-Wl,--export-dynamic -Wl,--gc-sections -Wl,--strip-all -Wl,-z,stack-size=1048576 -o $@ $(WASM_OBJS)
wasm: $(WASM)
.PHONY: wasm

# The page: its code and styles bundled, put into one document, and that into thaw, with the
# engine of exported pages.
$(B)/page/page.js: viewer $(wildcard viewer/*.ts) src/report/frames.def src/timeline/reason.def src/query/class.def \
		src/model/lock/lock.def src/wire/loss.def src/wire/unseen.def | $(B)/packages
	$(call say,PAGE,$@)
	$(Q)mkdir -p $(@D) && $(ESBUILD) viewer/main.ts --bundle --minify --format=iife --target=es2020 \
		--loader:.def=text --log-level=warning --outfile=$@
$(B)/page/page.css: viewer viewer/style.css $(wildcard viewer/*.css) | $(B)/packages
	$(call say,PAGE,$@)
	$(Q)mkdir -p $(@D) && cat viewer/style.css $(filter-out viewer/style.css,$(wildcard viewer/*.css)) | \
		$(ESBUILD) --loader=css --minify --log-level=warning > $@
$(B)/page/page.html: tools/page viewer/page.html $(B)/page/page.css $(B)/page/page.js
	$(call say,PAGE,$@)
	$(Q)$^ > $@
$(B)/page/thaw.wasm.gz: $(WASM)
	$(Q)mkdir -p $(@D) && gzip -9nc $< > $@
$(O)/obj/html/embed.o: src/html/embed.S $(B)/page/page.html $(B)/page/thaw.wasm.gz
	$(call say,AS,$@)
	$(Q)mkdir -p $(@D) && $(CC) -c -Wa,-I,$(B)/page $< -o $@
$(O)/libhtml.a: $(O)/obj/html/embed.o

# Unit tests: test/unit/FOLDER/test_x.c links lib<FOLDER> and all that LAYERS puts behind it.
layers_of = $(shell awk -v want=$(1) 'BEGIN { FS = ": *" } /^[a-z0-9_\/]+:/ { may[$$1] = $$2 } \
	END { todo = want; while (split(todo, f, " ")) { d = f[1]; sub(/^ *[a-z0-9_\/]+ */, "", todo); \
	if (!seen[d]++) { print d; todo = todo " " may[d] } } }' LAYERS)
libs_of = $(foreach d,preload $(FOLDERS),$(if $(filter $(d),$(call layers_of,$(1))),$(call archive_of,$(d))))
folder_of = $(patsubst %/,%,$(dir $(1)))
UNIT_SRCS := $(wildcard test/unit/*/test_*.c test/unit/*/*/test_*.c)
UNIT_BINS := $(patsubst test/unit/%.c,$(O)/unit/%,$(UNIT_SRCS))
.SECONDEXPANSION:
$(O)/unit/%: test/unit/%.c $$(call libs_of,$$(call folder_of,$$*))
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -Itest -MMD -MP $(LDFLAGS) -o $@ $< $(filter %.a,$^) -lcmocka $(LIBS)
-include $(UNIT_BINS:=.d)
# The unwinder is compared with libdw's.
$(O)/unit/unwind/%: LIBS += -ldw
unit: $(UNIT_BINS)

# Fuzz targets: test/fuzz/FOLDER/fuzz_x.c, built with clang's libFuzzer (V=fuzz) or, as plain tests
# over their corpus, with a driver of our own.
FUZZ_SRCS := $(wildcard test/fuzz/*/fuzz_*.c)
$(O)/fuzz/%: test/fuzz/%.c test/fuzz/main.c $$(call libs_of,$$(firstword $$(subst /, ,$$*)))
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -o $@ $(if $(filter fuzz,$(V)),-fsanitize=fuzzer,test/fuzz/main.c) \
		$< $(LDFLAGS) $(filter %.a,$^) $(LIBS)
fuzzers: $(patsubst test/fuzz/%.c,$(O)/fuzz/%,$(FUZZ_SRCS))
fuzz:
	$(Q)tools/setup --check build test
	$(Q)$(MAKE) --no-print-directory V=fuzz CC=$(CLANG) fuzzers
	$(Q)test/fuzz/run $(B)/fuzz/fuzz $(FUZZ_SECONDS)

# Live tests in C: test/live/x.c
LIVE_BINS := $(patsubst test/live/%.c,$(O)/live/%,$(wildcard test/live/*.c))
$(O)/live/%: test/live/%.c $(SKELS) $$(call libs_of,selftest)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(filter %.a,$^) $(LIBS)
$(O)/live/stackdump $(O)/live/eventdump $(O)/live/plain: $(O)/live/%: test/live/%.c $(O)/libstore.a $(O)/libbase.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)
$(O)/live/returns: test/live/returns.c
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^
$(O)/live/lockdump: test/live/lockdump.c $$(call libs_of,model/summary)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)
# A query from a shell: build/query FILE REQUEST...
$(O)/live/query: test/live/query.c $$(call libs_of,query)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)
$(B)/query: $(O)/live/query
	$(Q)cp $< $@
live: $(LIVE_BINS) $(B)/query

# Programs with a known truth, and the demo's server: test/workload/x.c with what is in the folder x.
WORKLOADS := $(patsubst test/workload/%.c,$(B)/workload/%,$(wildcard test/workload/*.c))
WORKLOAD_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra $(WERROR) -Wno-unused-parameter -D_GNU_SOURCE -Itest/workload
$(B)/workload/%: test/workload/%.c $$(wildcard test/workload/$$*/*.[ch]) $(wildcard test/workload/lib/*.[ch]) | $(B)/packages
	$(call say,WORK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(WORKLOAD_CFLAGS) -o $@ $(filter %.c,$^) -lpthread -lm
# The same locks in another libc, which keeps its owners elsewhere.
$(B)/workload/locks-musl: test/workload/locks.c $(wildcard test/workload/locks/*.[ch] test/workload/lib/*.[ch])
	$(call say,WORK,$@)
	$(Q)mkdir -p $(@D) && musl-gcc -static $(WORKLOAD_CFLAGS) -o $@ $(filter %.c,$^)
# A Go program; and the same without symbols and what debuggers need.
GO := /usr/lib/go-1.19/bin/go
GOPHERS := $(B)/workload/gophers $(B)/workload/gophers-stripped
$(B)/workload/gophers: test/workload/gophers/main.go
	$(call say,WORK,$@)
	$(Q)mkdir -p $(@D) && GOCACHE=$(abspath $(B))/go CGO_ENABLED=0 $(GO) build -o $@ $<
$(B)/workload/gophers-stripped: $(B)/workload/gophers
	$(call say,WORK,$@)
	$(Q)strip -o $@ $<
workloads: $(WORKLOADS) $(if $(wildcard /usr/bin/musl-gcc),$(B)/workload/locks-musl) $(if $(wildcard $(GO)),$(GOPHERS))

# What the bench measures inside of thaw: test/bench/x.c, with the archives that thaw is made of.
BENCH_BINS := $(B)/bench/tables $(B)/bench/queries $(B)/bench/symbols $(B)/bench/recorder $(B)/bench/make_growth
$(B)/bench/tables: test/bench/tables.c $$(call libs_of,unwind)
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(filter %.a,$^)
$(B)/bench/queries: test/bench/queries.c $$(call libs_of,query)
$(B)/bench/symbols: test/bench/symbols.c $$(call libs_of,symbol)
$(B)/bench/recorder: test/bench/recorder.c $$(call libs_of,collect)
$(B)/bench/queries $(B)/bench/symbols $(B)/bench/recorder:
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(filter %.a,$^) $(LIBS)
$(B)/bench/make_growth: test/growth/make_growth.c $$(call libs_of,store)
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(filter %.a,$^) -lzstd -lz -lpthread -lm
-include $(BENCH_BINS:=.d)

# The lab: what runs in its guests beside thaw. The naive programs stall or freeze kernels on purpose.
LAB_BINS := $(patsubst lab/naive/%.c,$(B)/lab/programs/%,$(filter-out %.bpf.c,$(wildcard lab/naive/*.c)))
$(B)/bpf/naive/%.bpf.o: lab/naive/%.bpf.c | $(B)/packages
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@
-include $(wildcard $(B)/bpf/naive/*.d)
$(B)/gen/naive_ring.skel.h: $(B)/bpf/naive/ring.bpf.o
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen skeleton $< name naive_ring > $@.tmp && mv $@.tmp $@
$(B)/lab/programs/%: lab/naive/%.c $(B)/gen/naive_ring.skel.h
	$(call say,LAB,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(LIBS)
lab-programs: $(LAB_BINS)

# Asked once for a build folder, and again when the table changes: plain `make` says what is missing
# and installs nothing. What may install does so before it builds.
$(B)/packages: tools/setup
	$(Q)tools/setup --check build
	$(Q)mkdir -p $(@D) && touch $@
export CLANG BPFTOOL WASM_LD ESBUILD
$(B)/packages: export override CC := $(CC)
$(B)/packages: export override CFLAGS := $(CFLAGS)

setup:
	$(Q)tools/setup build test

demo:
	$(Q)tools/setup build
	$(Q)$(MAKE) --no-print-directory all workloads
	$(Q)tools/demo $(B)

test: setup
	$(Q)test/run $(B) $(TIERS)

# What is done over and over in a test, SOAK times as often.
soak:
	$(Q)tools/setup --check build test live
	$(Q)THAW_SOAK=$(SOAK) test/run $(B) --no-install crash live/robust live/stacks live/engines live/tables

bench:
	$(Q)tools/setup build test bench
	$(Q)$(MAKE) --no-print-directory all workloads $(BENCH_BINS)
	$(Q)test/bench/run $(B)

lab:
	$(Q)tools/setup build test lab
	$(Q)$(MAKE) --no-print-directory all live workloads lab-programs
	$(Q)failed=0; for l in $(LAB); do case $$l in \
		fresh) test/fresh $(B) $(TIERS) ;; \
		*) lab/run $(B) $$l --write docs/lab.md $(KERNELS) ;; \
		esac || failed=1; done; exit $$failed

lint:
	$(Q)for t in test/lint/*; do [ -x "$$t" ] && { "$$t" || exit 1; }; done

format:
	$(Q)clang-format -i $$(git ls-files 'src/*.[ch]' 'test/*.[ch]' 'lab/*.[ch]' 'viewer/*.[ch]')

install: all
	install -D -m 755 $(B)/thaw $(DESTDIR)$(PREFIX)/bin/thaw
	for p in $(PRELOAD_64) $(PRELOAD_32); do install -D -m 755 $(B)/$$p/$(PRELOAD) $(DESTDIR)$(PREFIX)/lib/thaw/$$p/$(PRELOAD); done
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions
	$(B)/thaw completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/thaw
	$(B)/thaw completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_thaw
	for m in docs/man/*.1; do install -D -m 644 $$m $(DESTDIR)$(PREFIX)/share/man/man1/$$(basename $$m); done

# What is committed, as a tarball: the same bytes wherever it is made, by the same git and gzip.
dist:
	$(Q)git rev-parse -q --verify HEAD >/dev/null || { echo "make dist packs what is committed: run it in a clone" >&2; exit 1; }
	$(Q)git archive --format=tar --prefix=thaw-$(VERSION)/ HEAD | gzip -9n > thaw-$(VERSION).tar.gz
	$(Q)sha256sum thaw-$(VERSION).tar.gz

clean:
	rm -rf $(B)
