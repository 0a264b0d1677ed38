# SPDX-License-Identifier: MIT
#
#   make            build/thaw
#   make demo       record the bundled stalling server and say what is wrong with it
#   make test       everything that can be checked on this machine
#   make bench      thaw beside its peers; writes docs/overhead.md
#   make lab        stock kernels under QEMU; LAB=freeze: both famous freezes; KERNELS="6.1 6.12"
#   make fuzz       the parsers under libFuzzer, FUZZ_SECONDS each
#   make install    PREFIX=/usr/local DESTDIR=
#
# Each folder of src/ becomes an archive; LAYERS says which archives a unit test links. A variant
# (V=asan, V=tsan) is the same tree with other flags in a folder of its own.

B ?= build
V ?= release
PREFIX ?= /usr/local
CC ?= gcc
CLANG ?= clang-16
BPFTOOL ?= bpftool
FUZZ_SECONDS ?= 60
LAB ?= matrix
KERNELS ?=
O := $(B)/$(V)

CFLAGS_release := -O2 -g
# Where the time of a report goes.
HOT := base store model
HOT_release := -O3
CFLAGS_asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
CFLAGS_tsan := -O1 -g -fsanitize=thread
CFLAGS_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
CFLAGS += -std=gnu11 -Wall -Wextra -Werror -Wmissing-prototypes -Wno-unused-parameter \
	-D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Isrc -I$(B)/gen -fPIE $(CFLAGS_$(V))
LDFLAGS += $(filter -fsanitize=%,$(CFLAGS_$(V)))
LIBS := -lbpf -lelf -liberty -ldeflate -llzma -lzstd -lz -lsqlite3 -lpthread -lm

VERSION := $(shell sed -n 's/^version //p' VERSION 2>/dev/null || echo 0)
Q := @
say = @printf '  %-8s%s\n' '$(1)' '$(patsubst $(B)/%,%,$(2))'

# The folders with C of their own, the ones further right first: the order in which they are linked.
FOLDERS := cmd sql diff import serve query page export view model capture guard trial symbol unwind store ring elf base
SRCS := $(foreach d,preload $(FOLDERS),$(filter-out %.bpf.c,$(wildcard src/$(d)/*.c)))
BPF_SRCS := $(wildcard src/probe/*.bpf.c)
ARCHIVES := $(foreach d,$(FOLDERS),$(if $(wildcard src/$(d)/*.c),$(O)/lib$(d).a))
SKELS := $(B)/gen/thaw.skel.h

.PHONY: all setup demo test bench fuzz install clean lint format unit crash live workloads fuzzers lab lab-programs
.DELETE_ON_ERROR:
.SECONDARY:
all: $(B)/thaw preload

$(B)/thaw: $(O)/thaw
	$(Q)cp $< $@

# The library that records programs from inside, for each name that a loader may have for the
# machine ($$PLATFORM), and an empty one for 32-bit programs, whose loader would complain otherwise.
PRELOAD_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror -Wmissing-prototypes -Wno-unused-parameter \
	-D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Isrc -fPIC -fvisibility=hidden -fno-stack-protector
PRELOAD := libthaw-preload.so
PRELOAD_64 := x86_64 haswell xeon_phi
PRELOAD_32 := i386 i486 i586 i686
$(B)/preload/%.o: src/preload/%.c | packages
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(PRELOAD_CFLAGS) -MMD -MP -c $< -o $@
-include $(patsubst src/preload/%.c,$(B)/preload/%.d,$(wildcard src/preload/*.c))
$(B)/preload/64.so: $(patsubst src/preload/%.c,$(B)/preload/%.o,$(wildcard src/preload/*.c))
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -Wl,-z,now -Wl,-z,defs -Wl,-soname,$(PRELOAD) -o $@ $^
$(B)/preload/32.so: | packages
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
$(O)/lib$(1).a: $(patsubst src/%.c,$(O)/obj/%.o,$(filter-out %.bpf.c,$(wildcard src/$(1)/*.c))) src/$(1)
	$(call say,AR,$$@)
	$(Q)rm -f $$@ && ar rcs $$@ $$(filter %.o,$$^)
endef
$(foreach d,preload $(FOLDERS),$(eval $(call archive,$(d))))

$(foreach d,$(HOT),$(O)/obj/$(d)/%.o): CFLAGS += $(HOT_$(V))
$(O)/obj/%.o: src/%.c | packages
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -DTHAW_VERSION='"$(VERSION)"' -MMD -MP -c $< -o $@
-include $(patsubst src/%.c,$(O)/obj/%.d,$(SRCS))

# Only what loads the probes waits for the skeleton.
$(O)/obj/capture/engine_bpf.o $(O)/obj/capture/bpf_load.o $(O)/obj/capture/bpf_events.o: $(SKELS)

# BPF: one object per .bpf.c, linked into one skeleton. The object with the shared definitions comes
# first: the linker of libbpf 1.1 loses the offsets of maps that it meets as externs first.
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 -Wall -Wextra -Werror \
	-Wno-unused-parameter -Isrc -I/usr/include/$(shell uname -m)-linux-gnu
$(B)/bpf/%.bpf.o: src/probe/%.bpf.c | packages
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@
-include $(patsubst src/probe/%.bpf.c,$(B)/bpf/%.bpf.d,$(BPF_SRCS))
$(B)/bpf/thaw.o: $(B)/bpf/state.bpf.o $(filter-out %/state.bpf.o,$(patsubst src/probe/%.bpf.c,$(B)/bpf/%.bpf.o,$(BPF_SRCS)))
	$(Q)$(BPFTOOL) gen object $@ $^
$(B)/gen/thaw.skel.h: $(B)/bpf/thaw.o
	$(call say,SKEL,$@)
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen skeleton $< name thaw_bpf > $@.tmp && mv $@.tmp $@

# The experiments of `thaw doctor --probe`: never loaded when recording.
$(B)/bpf/trial/%.bpf.o: src/trial/%.bpf.c | packages
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@
-include $(wildcard $(B)/bpf/trial/*.d)
$(B)/gen/nested.skel.h: $(B)/bpf/state.bpf.o $(B)/bpf/trial/nested.bpf.o
$(B)/gen/kernel_ring.skel.h: $(B)/bpf/trial/kernel_ring.bpf.o
$(B)/gen/nested.skel.h $(B)/gen/kernel_ring.skel.h: $(B)/gen/%.skel.h:
	$(call say,SKEL,$@)
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen object $(B)/bpf/trial/$*.o $^
	$(Q)$(BPFTOOL) gen skeleton $(B)/bpf/trial/$*.o name $*_bpf > $@.tmp && mv $@.tmp $@
$(O)/obj/trial/own.o: $(B)/gen/nested.skel.h
$(O)/obj/trial/kernel.o: $(B)/gen/kernel_ring.skel.h

# The engine inside of exported pages: the folders that answer, as WebAssembly, with what they have of
# a system in viewer/host. It imports nothing, so that a page has nothing to give it.
WASM := $(B)/viewer/thaw.wasm
WASM_LEFT_OUT := $(addprefix src/,base/mem.c base/options.c base/parallel.c store/ahead.c store/append.c store/disk.c store/encode.c \
	store/expand.c store/pack.c store/plain.c store/source_file.c store/writer.c \
	view/locks%.c view/page%.c view/report_text.c)
WASM_SRCS := $(filter-out $(WASM_LEFT_OUT),$(foreach d,base store model view query,$(wildcard src/$(d)/*.c))) \
	$(wildcard viewer/host/*.c)
WASM_OBJS := $(patsubst %.c,$(B)/viewer/obj/%.o,$(WASM_SRCS))
WASM_CFLAGS := --target=wasm32-wasi -std=gnu11 -O2 -Wall -Wextra -Werror -Wno-unused-parameter \
	-D_GNU_SOURCE -Isrc -Iviewer/host -include host.h -ffunction-sections -fdata-sections \
	-fvisibility=hidden -DTHAW_VERSION='"$(VERSION)"'
$(B)/viewer/obj/%.o: %.c | packages
	$(call say,WASM,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(WASM_CFLAGS) -MMD -MP -c $< -o $@
-include $(WASM_OBJS:.o=.d)
$(WASM): $(WASM_OBJS) $(sort $(dir $(WASM_SRCS)))
	$(call say,LINK,$@)
	$(Q)$(CLANG) --target=wasm32-wasi -nostartfiles -fuse-ld=/usr/bin/wasm-ld-16 -Wl,--no-entry \
		-Wl,--export-dynamic -Wl,--gc-sections -Wl,--strip-all -Wl,-z,stack-size=1048576 -o $@ $(WASM_OBJS)
wasm: $(WASM)
.PHONY: wasm

# The page: its code and styles bundled, put into one document, and that into thaw, with the
# engine of exported pages.
$(B)/page/page.js: viewer $(wildcard viewer/*.ts) src/view/frames.def src/model/lock.def \
		src/wire/unseen.def | packages
	$(call say,PAGE,$@)
	$(Q)mkdir -p $(@D) && esbuild viewer/main.ts --bundle --minify --format=iife --target=es2020 \
		--loader:.def=text --log-level=warning --outfile=$@
$(B)/page/page.css: viewer viewer/style.css $(wildcard viewer/*.css) | packages
	$(call say,PAGE,$@)
	$(Q)mkdir -p $(@D) && cat viewer/style.css $(filter-out viewer/style.css,$(wildcard viewer/*.css)) | \
		esbuild --loader=css --minify --log-level=warning > $@
$(B)/page/page.html: tools/page viewer/page.html $(B)/page/page.css $(B)/page/page.js
	$(call say,PAGE,$@)
	$(Q)$^ > $@
$(B)/page/thaw.wasm.gz: $(WASM)
	$(Q)mkdir -p $(@D) && gzip -9nc $< > $@
$(O)/obj/page/embed.o: src/page/embed.S $(B)/page/page.html $(B)/page/thaw.wasm.gz
	$(call say,AS,$@)
	$(Q)mkdir -p $(@D) && $(CC) -c -Wa,-I,$(B)/page $< -o $@
$(O)/libpage.a: $(O)/obj/page/embed.o

# Unit tests: test/unit/FOLDER/test_x.c links lib<FOLDER> and all that LAYERS puts behind it.
layers_of = $(shell awk -v want=$(1) 'BEGIN { FS = ": *" } /^[a-z]+:/ { may[$$1] = $$2 } \
	END { todo = want; while (split(todo, f, " ")) { d = f[1]; sub(/^ *[a-z]+ */, "", todo); \
	if (!seen[d]++) { print d; todo = todo " " may[d] } } }' LAYERS)
libs_of = $(foreach d,preload $(FOLDERS),$(if $(filter $(d),$(call layers_of,$(1))),$(if $(wildcard src/$(d)/*.c),$(O)/lib$(d).a)))
UNIT_SRCS := $(wildcard test/unit/*/test_*.c)
UNIT_BINS := $(patsubst test/unit/%.c,$(O)/unit/%,$(UNIT_SRCS))
.SECONDEXPANSION:
$(O)/unit/%: test/unit/%.c $$(call libs_of,$$(firstword $$(subst /, ,$$*)))
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
fuzz: setup
	$(Q)$(MAKE) --no-print-directory V=fuzz CC=$(CLANG) fuzzers
	$(Q)test/fuzz/run $(B)/fuzz/fuzz $(FUZZ_SECONDS)

# Live tests in C: test/live/x.c
LIVE_BINS := $(patsubst test/live/%.c,$(O)/live/%,$(wildcard test/live/*.c))
$(O)/live/%: test/live/%.c $(SKELS) $$(call libs_of,trial)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(filter %.a,$^) $(LIBS)
$(O)/live/stackdump $(O)/live/eventdump $(O)/live/plain: $(O)/live/%: test/live/%.c $(O)/libstore.a $(O)/libbase.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)
$(O)/live/lockdump: test/live/lockdump.c $$(call libs_of,model)
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
WORKLOAD_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter -D_GNU_SOURCE -Itest/workload
$(B)/workload/%: test/workload/%.c $$(wildcard test/workload/$$*/*.[ch]) $(wildcard test/workload/lib/*.[ch]) | packages
	$(call say,WORK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(WORKLOAD_CFLAGS) -o $@ $(filter %.c,$^) -lpthread -lm
# The same locks in another libc, which keeps its owners elsewhere.
$(B)/workload/locks-musl: test/workload/locks.c $(wildcard test/workload/locks/*.[ch] test/workload/lib/*.[ch])
	$(call say,WORK,$@)
	$(Q)mkdir -p $(@D) && musl-gcc -static $(WORKLOAD_CFLAGS) -o $@ $(filter %.c,$^)
workloads: $(WORKLOADS) $(if $(wildcard /usr/bin/musl-gcc),$(B)/workload/locks-musl)

# What the bench measures inside of thaw: test/bench/x.c, with the archives that thaw is made of.
BENCH_BINS := $(B)/bench/tables $(B)/bench/queries
$(B)/bench/tables: test/bench/tables.c $$(call libs_of,unwind)
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(filter %.a,$^)
$(B)/bench/queries: test/bench/queries.c $$(call libs_of,query)
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(filter %.a,$^) $(LIBS)
-include $(BENCH_BINS:=.d)

# The lab: what runs in its guests beside thaw. The naive programs stall or freeze kernels on purpose.
LAB_BINS := $(patsubst lab/naive/%.c,$(B)/lab/programs/%,$(filter-out %.bpf.c,$(wildcard lab/naive/*.c)))
$(B)/bpf/naive/%.bpf.o: lab/naive/%.bpf.c | packages
	$(call say,BPF,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@
-include $(wildcard $(B)/bpf/naive/*.d)
$(B)/gen/naive_ring.skel.h: $(B)/bpf/naive/ring.bpf.o
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen skeleton $< name naive_ring > $@.tmp && mv $@.tmp $@
$(B)/lab/programs/%: lab/naive/%.c $(B)/gen/naive_ring.skel.h
	$(call say,LAB,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(LIBS)
lab-programs: $(LAB_BINS)

setup:
	$(Q)tools/setup build test
.PHONY: packages
packages:
	$(Q)tools/setup build

demo: packages all workloads
	$(Q)tools/demo $(B)

test: setup
	$(Q)test/run $(B)

bench: setup all workloads $(BENCH_BINS)
	$(Q)tools/setup bench
	$(Q)test/bench/run $(B)

lab: setup all live workloads lab-programs
	$(Q)tools/setup lab
	$(Q)lab/run $(B) $(LAB) --write docs/lab.md $(KERNELS)

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

clean:
	rm -rf $(B)
