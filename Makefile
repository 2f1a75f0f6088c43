# weir: build, show, test, measure, install.
#
#   make demo      build a release binary and show what it does; needs no root
#   make test      run every test
#   make test-cluster   run those that a real cluster can answer, in the one of KUBECONFIG
#   make fuzz      throw bytes at what weir parses (FUZZ_SECONDS for each target)
#   make bench     measure against the reference plugins and the floor
#   make lint      formatting, clippy, and dependencies
#   make install   install the binary and its plugin links (BIN_DIR)
#   make image     build the image that installs weir on the nodes of a cluster (IMAGE, BUILDER)
#   make profile   measure again what an ADD runs, by which the binary is optimised

SHELL   := /bin/bash
ARCH    := $(shell uname -m)
TARGET  := $(ARCH)-unknown-linux-musl
CARGO   := cargo
RELEASE := --locked --release --target $(TARGET)
OUT     := target/$(TARGET)/release
BIN_DIR ?= /opt/cni/bin
IMAGE   ?= weir:0.1.0
BUILDER ?= docker

# The binary is optimised by a profile of its own runs. One that is out of date makes it slower, not
# wrong: for functions that have changed since, the compiler does without.
PROFILE  := runtime/$(ARCH).profdata
PROFILED := -C profile-use=$(CURDIR)/$(PROFILE) -C llvm-args=-no-pgo-warn-mismatch
export CARGO_TARGET_$(shell echo $(TARGET) | tr a-z- A-Z_)_RUSTFLAGS := $(if $(wildcard $(PROFILE)),$(PROFILED))

# The toolchain's own linker puts functions that call each other side by side.
LLD   := $(wildcard $(shell rustc --print sysroot)/lib/rustlib/$(ARCH)-unknown-linux-gnu/bin/gcc-ld)
WHOLE := -C lto=fat $(if $(LLD),-C link-arg=-B$(LLD) -C link-arg=-fuse-ld=lld)

# The standard plugins do without WASI altogether; all others are built as a plugin's author builds.
BARE    := wasm32-unknown-unknown
WASI    := wasm32-wasip2

# What is built into the binary or its tests, by the suffix of its package's name.
PLUGINS  := bandwidth bridge firewall host-local loopback portmap ptp static tuning
EXAMPLES := hostile labels
IN_C     := pinned-gateway
GUESTS   := $(notdir $(wildcard tests/hostile/guests/*))

built = $(foreach name,$(2),target/$(1)/plugin/$(subst -,_,$(name)).wasm)

.PHONY: all build plugins examples-in-c tools demo test test-build test-cluster cluster fuzz bench lint install image profile clean

all: build

# What is missing on this machine: the Rust targets, and Debian packages when root.
tools:
	@tests/setup toolchain

plugins: tools
	$(CARGO) build --locked --profile plugin --target $(BARE) $(addprefix -p weir-plugin-,$(PLUGINS))
	$(CARGO) build --locked --profile plugin --target $(WASI) $(addprefix -p weir-example-,$(EXAMPLES)) \
		$(addprefix -p weir-hostile-,$(GUESTS))
	$(CARGO) build $(RELEASE) -p weir-compiler
	@tests/collect-plugins target/plugins $(OUT) \
		$(call built,$(BARE),$(PLUGINS)) $(call built,$(WASI),$(EXAMPLES) $(GUESTS))

# The examples in C, which only the tests need: with clang and lld.
examples-in-c: plugins
	@tests/setup c
	$(CARGO) build $(RELEASE) -p weir-c
	@for name in $(IN_C); do examples/$$name/build $(OUT)/weir-c wit target/c/$$name || exit 1; done
	@tests/collect-plugins target/plugins $(OUT) $(foreach name,$(IN_C),target/c/$(name)/$(name).wasm)

# The whole program at once: a tenth of an ADD. The tests' programs do without.
build: plugins
	$(CARGO) rustc $(RELEASE) -p weir --bin weir -- $(WHOLE)

demo: build
	@$(OUT)/weir demo

# Cargo gives a library the features that all packages of one build want of it. The compiler has some
# that the binary must not have. Those of the tests' gRPC client, and of the macros in the SDK, would have
# wasmtime built once more. So all these are built apart.
APART := --exclude weir-compiler --exclude weir-c --exclude weir-cri --exclude weir-apiserver \
	--exclude weir-cluster --exclude weir-wat --exclude weir-sdk --exclude 'weir-plugin-*' \
	--exclude 'weir-example-*' --exclude 'weir-hostile-*'
SANDBOXED := -p weir-sdk $(addprefix -p weir-plugin-,$(PLUGINS)) -p weir-example-labels

test-build: build examples-in-c
	$(CARGO) test $(RELEASE) -p weir-compiler --no-run
	$(CARGO) test $(RELEASE) $(SANDBOXED) --no-run
	$(CARGO) build $(RELEASE) -p weir-cri
	$(CARGO) build $(RELEASE) -p weir-apiserver
	$(CARGO) test $(RELEASE) -p weir-apiserver --no-run
	$(CARGO) build $(RELEASE) -p weir-cluster
	$(CARGO) build $(RELEASE) -p weir-wat
	$(CARGO) test $(RELEASE) --workspace $(APART) --no-run

# Without root all but the tests that need it run, in a user namespace.
WITHOUT_ROOT := $(filter-out 0,$(shell id -u))

test: test-build
	@tests/setup test
	@rm -rf target/tmp/grants-used
	@$(if $(WITHOUT_ROOT),echo "Not root: the tests with containerd and with /dev/net/tun (needs_root::) are left out")
	$(CARGO) test $(RELEASE) -p weir-compiler
	$(CARGO) test $(RELEASE) $(SANDBOXED)
	$(CARGO) test $(RELEASE) -p weir-apiserver
	@tests/run $(CARGO) test $(RELEASE) --workspace $(APART) $(if $(WITHOUT_ROOT),-- --skip needs_root::)
	@tests/run $(CARGO) test $(RELEASE) --workspace $(APART) --test exact_grants -- --ignored

# The same tests, but for those that need a stand-in's faults, with a real API server. They make
# namespaces of their own there and remove them.
CLUSTER_TESTS := kubernetes pods

test-cluster: cluster test-build
	@tests/setup test
	@WEIR_TEST_KUBECONFIG=$(abspath $(KUBECONFIG)) tests/run $(CARGO) test $(RELEASE) --workspace $(APART) \
		$(addprefix --test ,$(CLUSTER_TESTS)) -- --skip stand_in::

# Without root the tests would run in a network namespace that reaches no cluster.
cluster:
	@test -n "$(KUBECONFIG)" || { echo "make test-cluster needs KUBECONFIG: the kubeconfig of a cluster in which" \
		"you may make namespaces, roles and pods, with the CustomResourceDefinition of" \
		"NetworkAttachmentDefinitions installed" >&2; exit 1; }
	@test -f "$(KUBECONFIG)" || { echo "KUBECONFIG: there is no file $(KUBECONFIG)" >&2; exit 1; }
	@test -z "$(WITHOUT_ROOT)" || { echo "make test-cluster needs root: the tests' nodes are network" \
		"namespaces, from which the cluster is reached" >&2; exit 1; }

FUZZ_SECONDS ?= 20

fuzz:
	@tests/setup fuzz
	@fuzz/run $(FUZZ_SECONDS)

# The gate is measured in a program that is linked as the binary is.
bench: build
	@tests/setup bench
	$(CARGO) build $(RELEASE) -p weir-floor -p weir-bench
	$(CARGO) build $(RELEASE) -p weir-apiserver
	$(CARGO) rustc $(RELEASE) -p weir-bench --bin weir-bench-gate -- $(WHOLE)
	@tests/bench/run $(OUT)

lint: plugins
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(RELEASE) --workspace --all-targets -- -D warnings
	@tests/setup lint
	$(CARGO) deny check bans licenses sources
	@tests/advisories

install: build
	$(OUT)/weir install --bin-dir $(DESTDIR)$(BIN_DIR)

# The binary alone is what the builder gets to see.
image: build
	@rm -rf target/image && mkdir -p target/image && cp $(OUT)/weir target/image/
	$(BUILDER) build -f examples/kubernetes/Containerfile -t $(IMAGE) target/image

# Built in a directory of its own, which takes as long as the first build of all.
profile: plugins
	@tests/setup profile
	@tests/measure-profile target/profile $(TARGET) $(PROFILE)

clean:
	$(CARGO) clean
