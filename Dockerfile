# The image of both DaemonSets, built from source: one static binary and nothing else.
# docs/kubernetes.md says how, with docker, podman or buildah.
#
# BASE is the image that weir is built in: a Debian with rustup. Whatever else the build needs is installed.
ARG BASE=docker.io/library/rust:1.95.0-slim-bookworm

FROM ${BASE} AS build
WORKDIR /weir

# Before the sources, so that a change to those installs nothing again.
COPY rust-toolchain.toml ./
COPY tests/setup tests/
RUN tests/setup toolchain

COPY . .
# The crates are kept for the next build, what was compiled is not: Cargo compares the times of files, and would take
# the sources of another checkout, if they are older, for those that it compiled last.
RUN --mount=type=cache,id=weir-crates,target=/usr/local/cargo/registry,sharing=locked \
    make build && install -D "target/$(uname -m)-unknown-linux-musl/release/weir" /image/weir

FROM scratch
COPY --from=build /image/weir /weir
ENTRYPOINT ["/weir"]
