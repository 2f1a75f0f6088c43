//! What a component's imports are connected to.

use wasmtime::component::{Component, HasData, Linker, Resource, ResourceTable};
use wasmtime::{Engine, Error, Result};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::sync::io::poll;
use wasmtime_wasi::p2::bindings::{cli, clocks, random, sync};
use wasmtime_wasi::random::WasiRandom;
use weir_host::State;

/// A linker with what a component imports of the contract, and the small part of WASI. Errors: a name is defined twice, which is a mistake in this crate.
pub(crate) fn with_wasi(engine: &Engine, component: &Component) -> Result<Linker<State>> {
    let mut linker = weir_host::linker(engine, component)?;
    add_wasi(&mut linker)?;
    Ok(linker)
}

struct HasTable;

impl HasData for HasTable {
    type Data<'a> = &'a mut ResourceTable;
}

/// Connects several interfaces of a package to one view.
macro_rules! connect {
    ($linker:ident to $view:ty, $get:expr; $($package:ident: $($interface:ident)+;)+) => {
        $($($package::$interface::add_to_linker::<State, $view>($linker, $get)?;)+)+
    };
}

fn add_wasi(l: &mut Linker<State>) -> Result<()> {
    connect! {
        l to WasiCli, State::cli;
        cli: environment exit stdin stdout stderr;
        cli: terminal_input terminal_output terminal_stdin terminal_stdout terminal_stderr;
    }
    connect! { l to WasiClocks, State::clocks; clocks: wall_clock monotonic_clock; }
    connect! { l to WasiRandom, |h| h.ctx().ctx.random(); random: random insecure insecure_seed; }
    sync::io::error::add_to_linker::<State, HasTable>(l, |h| h.ctx().table)?;
    sync::io::poll::add_to_linker::<State, NoWaiting>(l, |h| Pollables(h.ctx().table))?;
    sync::io::streams::add_to_linker::<State, HasTable>(l, |h| h.ctx().table)
}

/// `wasi:io/poll` without waiting: the epoch would not interrupt a plugin that sleeps in WASI. The contract has bounded waits.
struct NoWaiting;

impl HasData for NoWaiting {
    type Data<'a> = Pollables<'a>;
}

struct Pollables<'a>(&'a mut ResourceTable);

fn refusal<T>() -> Result<T> {
    Err(Error::msg(
        "a plugin cannot wait through WASI; functions of the contract wait, such as `link.wait-up`",
    ))
}

impl poll::Host for Pollables<'_> {
    fn poll(&mut self, _: Vec<Resource<DynPollable>>) -> Result<Vec<u32>> {
        refusal()
    }
}

impl poll::HostPollable for Pollables<'_> {
    fn block(&mut self, _: Resource<DynPollable>) -> Result<()> {
        refusal()
    }

    fn ready(&mut self, _: Resource<DynPollable>) -> Result<bool> {
        refusal()
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> Result<()> {
        self.0.delete(pollable)?;
        Ok(())
    }
}
