# weir: build, show, test, measure, install. `make help` lists the targets.

SHELL   := /bin/bash
HOST    := $(shell uname -m)
# Of what is built: `make build ARCH=aarch64` builds for another architecture.
ARCH    := $(HOST)
TARGET  := $(ARCH)-unknown-linux-musl
CARGO   := cargo
BIN_DIR ?= /opt/cni/bin
IMAGE   ?= weir:0.1.0
BUILDER ?= docker
BUILD_FLAGS ?=

# The demo and the tests run what is built quickly, the profile `dev`; what is installed and measured is the
# profile `release`.
DEV     := --locked --target $(TARGET)
RELEASE := --locked --release --target $(TARGET)
DEV_OUT := target/$(TARGET)/debug
OUT     := target/$(TARGET)/release
COMPILER := target/$(TARGET)/compiler

# The standard plugins do without WASI altogether; all others are built as a plugin's author builds.
BARE    := wasm32-unknown-unknown
WASI    := wasm32-wasip2

PLUGINS := bandwidth bridge dummy firewall host-device host-local ipvlan loopback macvlan portmap ptp sbr static tap tuning vlan vrf
EXAMPLES := labels point-to-point route-override stable-addresses
# Plugins in Go, with the toolchain of tests/setup and a cache of what it has built.
IN_GO := examples/route-override-go tests/plugins/go-probe
GO    := GOCACHE=$(abspath target/go/cache) GOTOOLCHAIN=local GOPROXY=off CGO_ENABLED=0 $(abspath target/tools/go/bin/go)
GUESTS  := $(notdir $(wildcard tests/hostile/guests/*))
# What is a plugin and nothing else: these have no tests of their own, and are built for no other target.
SANDBOXED_ONLY := $(addprefix weir-example-,hostile $(EXAMPLES)) $(addprefix weir-hostile-,$(GUESTS))

# Cargo gives a library the features that all packages of one build want of it. So what is built together is
# always the same, and no library is built twice.
ALL := --workspace $(addprefix --exclude ,$(SANDBOXED_ONLY))

# The toolchain's own linker, which is faster than the system's, and puts functions that a profile says are never called
# by an ADD into a section of their own.
LLD := $(wildcard $(shell command -v rustc >/dev/null && rustc --print sysroot)/lib/rustlib/$(HOST)-unknown-linux-gnu/bin/gcc-ld)
rustflags-of = CARGO_TARGET_$(shell echo $(1) | tr a-z- A-Z_)_RUSTFLAGS
RUSTFLAGS_OF_TARGET := $(call rustflags-of,$(TARGET))
# The binary has a fixed address: a start costs no relocations (docs/decisions/0017-fixed-address.md).
export $(RUSTFLAGS_OF_TARGET) := -C relocation-model=static $(if $(LLD),-C link-arg=-B$(LLD) \
	-C link-arg=-fuse-ld=lld -C link-arg=-zkeep-text-section-prefix)
# The examples in the documentation are linked with what was built so.
export $(RUSTFLAGS_OF_TARGET:FLAGS=DOCFLAGS) := $($(RUSTFLAGS_OF_TARGET))

# For another architecture, Debian's cross compiler builds what is in C and links, and an emulator runs what is built.
ifneq ($(ARCH),$(HOST))
export CC_$(subst -,_,$(TARGET)) := $(ARCH)-linux-gnu-gcc
export $(RUSTFLAGS_OF_TARGET:RUSTFLAGS=LINKER) := $(ARCH)-linux-gnu-gcc
export RUNNER := qemu-$(ARCH)-static
export $(RUSTFLAGS_OF_TARGET:RUSTFLAGS=RUNNER) := $(RUNNER)
endif

# What is installed does not name the directories of this machine, so that the same is built in any other.
ANYWHERE := --remap-path-prefix=$(CURDIR)=/weir --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo

# A profile of what an ADD runs, by which the installed binary is optimised. It is an input of a release, published
# beside it with its digest: with that file here the same binary is built again (docs/decisions/0016-speed.md).
PROFILE  ?= target/$(ARCH).profdata
# Cargo does not build a registry's crate again when a file changes that its flags name: the cfg, which nothing reads,
# is another one with every profile. What runs once in an ADD is not cold, as the two thresholds would have it.
PROFILED := $(if $(wildcard $(PROFILE)),-C profile-use=$(abspath $(PROFILE)) \
	--cfg profile_$(shell sha256sum $(PROFILE) | cut -c1-16) -C llvm-args=-no-pgo-warn-mismatch \
	-C llvm-args=-profile-summary-cold-count=0 \
	-C llvm-args=-enable-split-machine-functions -C llvm-args=-mfs-psi-cutoff=0)

# What a call runs and reads, side by side in the binary: a linker script that `make profile` writes, an input of a release
# as the profile is. The linker says where everything is in the map.
LAYOUT := $(PROFILE:.profdata=.ld)
LAID_OUT = WEIR_LINK_MAP=$(abspath target/$(ARCH).map) $(if $(wildcard $(LAYOUT)),WEIR_LINK_LAYOUT=$(abspath $(LAYOUT))) \
	$(if $(wildcard $(PROFILE)),WEIR_PROFILE=$(abspath $(PROFILE)))

# What is published for authors of plugins, in the order in which the registry must get it.
SDK := weir-cni weir-sdk-macros weir-sdk

# A plugin without optimisation is built no sooner, and takes three times as long to compile ahead of time.
SMALL := -C opt-level=s -C codegen-units=1 -C debug-assertions=off -C overflow-checks=off
# $(call build-dev,TARGET,PACKAGES): with the features that the workspace's build wants of what macros depend on.
build-dev = $(call rustflags-of,$(1))="$(SMALL)" $(CARGO) build --locked --target $(1) $(addprefix -p ,weir-features $(2))

# $(call build-go,DIRECTORY): a plugin in Go as its author builds it, but the same whatever else changes in this repository. A build
# of what has not changed takes no time.
in-go = target/go/$(notdir $(1))
build-go = GOOS=wasip1 GOARCH=wasm $(GO) -C $(1) build -buildmode=c-shared -trimpath -buildvcs=false -ldflags=-s \
	-o $(abspath $(in-go)).module . && $(DEV_OUT)/weir plugin component $(in-go).module $(in-go).wasm >/dev/null

# The components that cargo has built: $(call built,TARGET,PROFILE,NAMES).
built = $(foreach name,$(3),target/$(1)/$(2)/$(subst -,_,$(name)).wasm)

.PHONY: all help tools build profile release release-check demo plugins-dev dev test-build test test-some filter test-fast test-cluster cluster \
	test-image test-aarch64 emulated fuzz bench docs lint style install image sdk clean

all: build

help: ## this list
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

# What is missing on this machine: the Rust targets, and Debian packages when root.
tools:
	@tests/setup toolchain

## The binary to install.

build: tools ## the optimised binary, in target/TARGET/release
	$(call rustflags-of,$(BARE))="$(ANYWHERE)" \
		$(CARGO) build --locked --profile plugin --target $(BARE) $(addprefix -p weir-plugin-,$(PLUGINS))
	$(call rustflags-of,$(WASI))="$(ANYWHERE)" $(CARGO) build --locked --profile plugin --target $(WASI) -p weir-example-hostile
	$(RUSTFLAGS_OF_TARGET)="$$$(RUSTFLAGS_OF_TARGET) $(ANYWHERE)" \
		$(CARGO) build --locked --profile compiler --target $(TARGET) -p weir-compiler
	@tests/collect-plugins target/plugins/$(ARCH)/release $(COMPILER) \
		$(call built,$(WASI),plugin,hostile) $(call built,$(BARE),plugin,$(PLUGINS))
	@$(if $(PROFILED),sha256sum $(PROFILE) $(wildcard $(LAYOUT)) | sed 's/^/optimised by /',echo "optimised without a profile: see make profile")
	$(RUSTFLAGS_OF_TARGET)="$$$(RUSTFLAGS_OF_TARGET) $(ANYWHERE) $(PROFILED)" $(LAID_OUT) $(CARGO) build $(RELEASE) -p weir-program

profile: build ## measure what an ADD runs, by which the binary is optimised and laid out from then on
	@tests/setup profile
	@rm -f $(LAYOUT)
	@RUSTFLAGS="-C relocation-model=static $(ANYWHERE)" tests/measure-profile target/profile $(TARGET) $(PROFILE)
	@$(MAKE) --no-print-directory build
	$(CARGO) build $(DEV) -p weir-link-layout
	@tests/measure-layout target/profile $(OUT)/weir target/$(ARCH).map $(DEV_OUT) $(LAYOUT) target/vm
	@$(MAKE) --no-print-directory build

install: build ## the binary and a link for each plugin, into BIN_DIR
	$(OUT)/weir install --bin-dir $(DESTDIR)$(BIN_DIR)

# Built from source in the builder: this machine needs no Rust. Of `target` the builder gets the profile and the layout.
image: ## the image that installs weir on the nodes of a cluster (IMAGE, BUILDER, BUILD_FLAGS)
	@$(if $(filter-out target/$(ARCH).profdata,$(PROFILE)),$(error PROFILE: the builder can use \
		target/$(ARCH).profdata only: copy $(PROFILE) there))
	DOCKER_BUILDKIT=1 $(BUILDER) build $(BUILD_FLAGS) -t $(IMAGE) .

## What authors of plugins use.

# `packaging/publish-sdk` publishes them, in the release workflow.
sdk: tools ## the SDK's packages as the registry will get them, each built from its package alone
	$(CARGO) publish --dry-run --locked $(addprefix -p ,$(SDK))

## Releases.

DIST   := target/dist/$(ARCH)
# A released weir names this version of the SDK in a new project, and no directory of the machine that it was built on.
VERSION := $(shell sed -n 's/^version = "\(.*\)"$$/\1/p' Cargo.toml)
# None in an archive of the sources, and none if a file is changed.
COMMIT ?= $(shell git status --porcelain 2>&1 | grep -q . || git rev-parse HEAD)

release: ## what is published: archive, Debian package, bill of materials and digests, in target/dist
	@tests/setup release
	@WEIR_RELEASE=$(VERSION) WEIR_COMMIT=$(COMMIT) $(MAKE) --no-print-directory build
	@PROFILE=$(PROFILE) LAYOUT=$(LAYOUT) packaging/release $(OUT)/weir $(TARGET) $(DIST)

release-check: release ## build the release a second time, in another directory, and compare
	@COMMIT=$(COMMIT) packaging/reproduce $(ARCH) $(DIST)

## The binary to try.

plugins-dev: tools
	$(call build-dev,$(BARE),$(addprefix weir-plugin-,$(PLUGINS)))

collect-dev = @tests/collect-plugins target/plugins/$(ARCH)/debug $(DEV_OUT) \
	$(call built,$(WASI),debug,hostile) $(call built,$(BARE),debug,$(PLUGINS))

# The program is built with nothing inside while the compiler is, and then again with what that made.
dev: plugins-dev
	$(call build-dev,$(WASI),weir-example-hostile)
	$(CARGO) build $(DEV) $(ALL) --bin weir --bin weir-compiler --bin weir-aot
	$(collect-dev)
	$(CARGO) build $(DEV) $(ALL) --bin weir

demo: dev ## build weir and show what it does; needs no root
	@$(DEV_OUT)/weir demo

## Tests.

# Go compiles its standard library for this machine as well, which several tests would do at once.
test-build: plugins-dev
	$(call build-dev,$(WASI),$(SANDBOXED_ONLY))
	$(CARGO) build $(DEV) $(ALL) --bins --tests
	$(collect-dev)
	$(CARGO) build $(DEV) $(ALL) --bins --tests
	@tests/setup c
	@WEIR_C=$(DEV_OUT)/weir-c sdk/c/build target/c/pinned-gateway pinned-gateway \
		examples/pinned-gateway/pinned_gateway.c
	@tests/setup go
	@$(DEV_OUT)/weir-go sdk/go
	@$(GO) -C sdk/go build ./... & $(foreach directory,$(IN_GO),$(call build-go,$(directory)) &&) wait $$!
	@tests/collect-components target/components target/c/pinned-gateway/pinned-gateway.wasm \
		$(addprefix target/go/,$(addsuffix .wasm,$(notdir $(IN_GO)))) \
		$(call built,$(BARE),debug,$(PLUGINS)) \
		$(call built,$(WASI),debug,hostile $(EXAMPLES) $(GUESTS))

test: test-build ## every test, and links in the API documentation
	@tests/setup test
	@tests/run all $(DEV) $(ALL)

test-some: filter test-build ## the tests that FILTER selects, in nextest's words: FILTER='test(route)'
	@tests/setup test
	@FILTER="$(FILTER)" tests/run some $(DEV) $(ALL)

filter:
	@test -n "$(FILTER)" || { echo "make test-some needs FILTER, such as FILTER='test(route)'" >&2; exit 1; }

test-fast: tools ## the tests that need neither root nor VM nor containerd
	@tests/setup fast
	@tests/run fast $(DEV) $(ALL)

# The same tests, but for those that need a stand-in's faults, with a real API server. They make
# namespaces of their own there and remove them.
test-cluster: cluster test-build ## the tests that a real cluster can answer, in the one of KUBECONFIG
	@tests/setup test
	@WEIR_TEST_KUBECONFIG=$(abspath $(KUBECONFIG)) tests/run cluster $(DEV) $(ALL)

# Without root the tests would run in a network namespace that reaches no cluster.
cluster:
	@test -n "$(KUBECONFIG)" || { echo "make test-cluster needs KUBECONFIG: the kubeconfig of a cluster in which" \
		"you may make namespaces, roles and pods, with the CustomResourceDefinition of" \
		"NetworkAttachmentDefinitions installed" >&2; exit 1; }
	@test -f "$(KUBECONFIG)" || { echo "KUBECONFIG: there is no file $(KUBECONFIG)" >&2; exit 1; }
	@test "$$(id -u)" -eq 0 || { echo "make test-cluster needs root: the tests' nodes are network" \
		"namespaces, from which the cluster is reached" >&2; exit 1; }

# Takes as long as a build of the optimised binary, and 10 GB in TMPDIR.
test-image: tools ## build the image over a new Debian and install weir from it; needs root
	@tests/setup image
	@tests/image/run

# The crates whose tests need no network.
EMULATED := cni compiler distribution engine files gate grant host network pod sandbox sdk signature
# The emulator has no filters of system calls.
NOT_EMULATED := confine:: nothing_is_replaced_in_two_steps

test-aarch64: ## build for AArch64 on another machine, and run what an emulator can
	@tests/setup aarch64
	@$(MAKE) --no-print-directory ARCH=aarch64 dev emulated

emulated:
	$(CARGO) test $(DEV) $(addprefix -p weir-,$(EMULATED)) --lib --no-fail-fast -- $(addprefix --skip ,$(NOT_EMULATED))
	@tests/emulated $(DEV_OUT)/weir $(ARCH)

FUZZ_SECONDS ?= 20

fuzz: ## libFuzzer for what weir parses, FUZZ_SECONDS for each target
	@tests/setup fuzz
	@fuzz/run $(FUZZ_SECONDS)

## Figures.

bench: build ## measure against the reference plugins and the floor
	@tests/setup bench
	$(RUSTFLAGS_OF_TARGET)="$$$(RUSTFLAGS_OF_TARGET) $(ANYWHERE) $(PROFILED)" $(CARGO) build $(RELEASE) -p weir-bench
	$(CARGO) build $(RELEASE) -p weir-floor -p weir-apiserver
	@tests/bench/run $(OUT)

## Documentation.

docs: tools ## the API documentation, in target/TARGET/doc; a broken link is an error
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(DEV) --no-deps --workspace

## Style.

lint: style ## formatting, clippy, dependencies, prose, workflows, the length of the examples, and links in the API documentation
	$(CARGO) clippy $(DEV) --workspace --all-targets -- -D warnings
	@$(MAKE) --no-print-directory docs

# What of it compiles next to nothing.
style: tools
	@tests/setup lint
	@tests/prose
	@PATH="$$PATH:$(CURDIR)/target/tools" zizmor --quiet --offline --no-progress --pedantic .github/workflows
	$(CARGO) fmt --all --check
	$(CARGO) run --quiet $(DEV) -p weir-lines
	PATH="$$PATH:$(CURDIR)/target/tools" $(CARGO) deny check bans licenses sources
	@PATH="$$PATH:$(CURDIR)/target/tools" tests/advisories
	@$(CARGO) metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null

clean: ## remove what was built
	$(CARGO) clean
