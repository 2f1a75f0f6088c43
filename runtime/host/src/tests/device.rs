//! Capability `device`.

use weir_grant::device::Device;
use weir_kernel::Code;

use super::super::bindings::weir::cni::device::Host as _;
use super::{Lab, code};

#[test]
fn a_device_is_read_by_the_name_that_a_rule_has() {
    let mut lab = Lab::granting(
        r#"{"device": [{"links": ["ens*"]}, {"pci": ["0000:03:00.?"]},
        {"auxiliary": ["mlx5_core.sf.?"]}]}"#,
    );
    let card = Device {
        link: "ens3".to_owned(),
        pci_address: "0000:03:00.0".to_owned(),
        driver: "igb".to_owned(),
        ..Device::default()
    };
    let path = "/sys/devices/pci0000:00/0000:03:00.0";
    lab.node.put_device(path, card);
    let found = lab.view().by_link("ens3".to_owned()).expect("a card");
    assert_eq!(
        (&*found.driver, &*found.pci_address),
        ("igb", "0000:03:00.0")
    );
    let found = lab.view().by_pci_address("0000:03:00.0".to_owned());
    assert_eq!(found.expect("a card").link, "ens3");
    let scalable = Device {
        link: "ens3s4".to_owned(),
        auxiliary_name: "mlx5_core.sf.4".to_owned(),
        ..Device::default()
    };
    lab.node
        .put_device(format!("{path}/mlx5_core.sf.4"), scalable);
    let found = lab.view().by_auxiliary_name("mlx5_core.sf.4".to_owned());
    assert_eq!(found.expect("a function").link, "ens3s4");
    let mut view = lab.view();
    for (outcome, expected) in [
        (view.by_link("eth0".to_owned()), Code::Denied),
        (view.by_link("ens4".to_owned()), Code::NotFound),
        (view.by_pci_address("0000:04:00.0".to_owned()), Code::Denied),
        (
            view.by_pci_address("0000:03:00.1".to_owned()),
            Code::NotFound,
        ),
        (
            view.by_auxiliary_name("mlx5_core.eth.0".to_owned()),
            Code::Denied,
        ),
        (
            view.by_auxiliary_name("mlx5_core.sf.5".to_owned()),
            Code::NotFound,
        ),
        (view.by_kernel_path(path.to_owned()), Code::Denied),
    ] {
        assert_eq!(code(outcome), Some(expected));
    }
}
