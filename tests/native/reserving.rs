//! `weir-native-ipam`: a native IPAM plugin of whereabouts' manners. It reserves an address of each of its ranges in a
//! store that all nodes share, behind an API that is slow or fails: the directory `ipam.api` says which.
//!
//! | file in `api` | what |
//! |---|---|
//! | `reservations` | address and holder, as JSON |
//! | `delay` | how long each request takes, in milliseconds |
//! | `down` | whether requests fail: `before` they change anything, or `after` |

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use std::{env, thread};

use anyhow::{Context, Result, bail, ensure};
use nix::fcntl::{Flock, FlockArg};
use serde_json::{Value, json};
use weir_cni::IpNet;

type Reservations = BTreeMap<IpAddr, String>;

fn main() -> ExitCode {
    match answer() {
        Ok(answer) => {
            print!("{}", answer.unwrap_or_default());
            ExitCode::SUCCESS
        }
        Err(error) => {
            let error = json!({ "cniVersion": "1.0.0", "code": 11, "msg": format!("{error:#}") });
            print!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn answer() -> Result<Option<String>> {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    let config: Value = serde_json::from_str(&input)?;
    let api = Api {
        directory: PathBuf::from(config["ipam"]["api"].as_str().context("ipam.api")?),
    };
    match env::var("CNI_COMMAND")?.as_str() {
        "ADD" => add(&api, &config).map(Some),
        "DEL" => api.request(release).map(|()| None),
        "CHECK" => api.request(check).map(|()| None),
        "STATUS" => api.request(|_| Ok(())).map(|()| None),
        "GC" => api.request(|all| collect(all, &config)).map(|()| None),
        other => bail!("unknown CNI_COMMAND: {other}"),
    }
}

/// The attachment that reserves.
fn holder() -> Result<String> {
    let [id, ifname] = ["CNI_CONTAINERID", "CNI_IFNAME"].map(env::var);
    Ok(format!("{}/{}", id?, ifname?))
}

fn add(api: &Api, config: &Value) -> Result<String> {
    let ranges = config["ipam"]["ranges"].as_array().context("ipam.ranges")?;
    let ranges = ranges
        .iter()
        .map(|range| range.as_str().unwrap_or_default());
    let ranges: Vec<IpNet> = ranges.map(str::parse).collect::<Result<_, _>>()?;
    // A request for each range, as whereabouts makes.
    let mut ips = Vec::new();
    for range in ranges {
        let address = api.request(|all| reserve(all, range))?;
        let gateway = hosts(range).next();
        ips.push(
            json!({ "address": format!("{address}/{}", range.prefix_len()), "gateway": gateway }),
        );
    }
    let result = json!({
        "cniVersion": config["cniVersion"], "ips": ips, "routes": config["ipam"]["routes"],
        "dns": { "nameservers": ["192.0.2.53"] },
    });
    Ok(result.to_string())
}

/// Its addresses without the first, which names the network.
fn hosts(range: IpNet) -> impl Iterator<Item = IpAddr> {
    range.hosts().filter(move |host| *host != range.network())
}

/// The first address after the gateway's that nobody holds.
fn reserve(all: &mut Reservations, range: IpNet) -> Result<IpAddr> {
    let mut free = hosts(range).skip(1).filter(|a| !all.contains_key(a));
    let address = free
        .next()
        .with_context(|| format!("range {range} is full"))?;
    all.insert(address, holder()?);
    Ok(address)
}

fn release(all: &mut Reservations) -> Result<()> {
    let own = holder()?;
    all.retain(|_, holder| *holder != own);
    Ok(())
}

fn check(all: &mut Reservations) -> Result<()> {
    let own = holder()?;
    ensure!(
        all.values().any(|holder| *holder == own),
        "no address is reserved for {own}"
    );
    Ok(())
}

fn collect(all: &mut Reservations, config: &Value) -> Result<()> {
    let valid = config["cni.dev/valid-attachments"].as_array();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let valid = valid.context("cni.dev/valid-attachments")?.iter();
    let valid: Vec<String> = valid
        .map(|one| format!("{}/{}", text(&one["containerID"]), text(&one["ifname"])))
        .collect();
    all.retain(|_, holder| valid.contains(holder));
    Ok(())
}

struct Api {
    directory: PathBuf,
}

impl Api {
    /// One request, which changes the reservations alone.
    fn request<T>(&self, act: impl FnOnce(&mut Reservations) -> Result<T>) -> Result<T> {
        let delay = self.says("delay").parse().unwrap_or(0);
        thread::sleep(Duration::from_millis(delay));
        ensure!(self.says("down") != "before", "{REFUSED}");
        let directory = File::open(&self.directory)?;
        let _lock = Flock::lock(directory, FlockArg::LockExclusive).map_err(|(_, errno)| errno)?;
        let mut all = match self.says("reservations").as_str() {
            "" => Reservations::new(),
            text => serde_json::from_str(text)?,
        };
        let done = act(&mut all)?;
        let mut file = File::create(self.directory.join("reservations"))?;
        file.write_all(serde_json::to_string(&all)?.as_bytes())?;
        ensure!(self.says("down") != "after", "{REFUSED}");
        Ok(done)
    }

    fn says(&self, file: &str) -> String {
        fs::read_to_string(self.directory.join(file)).unwrap_or_default()
    }
}

const REFUSED: &str =
    "Get \"https://10.96.0.1:443/apis\": dial tcp 10.96.0.1:443: connect: connection refused";
