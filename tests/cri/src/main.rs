//! `weir-cri SOCKET METHOD`: one call of a container runtime by the CRI, as a kubelet makes it. The
//! request is read from standard input and the response written to standard output, each as JSON.
//!
//! A program of its own for the sake of its dependencies: see the Makefile.

mod call;
mod messages;

use std::env;
use std::io;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use tokio::runtime::Builder;

use call::Call;
use messages::{
    Empty, ImageStatusRequest, ImageStatusResponse, OnePodSandbox, PodSandboxStatusRequest,
    PodSandboxStatusResponse, RunPodSandboxRequest, RunPodSandboxResponse, StatusRequest,
    StatusResponse,
};

/// The services of the CRI.
const IMAGES: &str = "runtime.v1.ImageService";
const RUNTIME: &str = "runtime.v1.RuntimeService";

fn main() -> ExitCode {
    match run() {
        Ok(response) => {
            println!("{response}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<String> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [socket, method] = &arguments[..] else {
        bail!("usage: weir-cri SOCKET METHOD");
    };
    let request = io::read_to_string(io::stdin()).context("read the request")?;
    let call = Call {
        socket,
        method,
        request: &request,
    };
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(dispatch(call))
}

/// Makes the call with the messages of its method.
async fn dispatch(call: Call<'_>) -> Result<String> {
    match call.method {
        "Status" => call.make::<StatusRequest, StatusResponse>(RUNTIME).await,
        "ImageStatus" => {
            call.make::<ImageStatusRequest, ImageStatusResponse>(IMAGES)
                .await
        }
        "RunPodSandbox" => {
            call.make::<RunPodSandboxRequest, RunPodSandboxResponse>(RUNTIME)
                .await
        }
        "PodSandboxStatus" => {
            call.make::<PodSandboxStatusRequest, PodSandboxStatusResponse>(RUNTIME)
                .await
        }
        "StopPodSandbox" | "RemovePodSandbox" => call.make::<OnePodSandbox, Empty>(RUNTIME).await,
        other => bail!("no method `{other}` is known here"),
    }
}
