//! How values of the contract are read from memory, written to memory, and made arguments of a call: the canonical ABI of the
//! component model, as functions in Go that are composed of those of `internal/abi`.

use wit_parser::{Handle, Int, Resolve, Type, TypeDefKind, TypeId, TypeOwner};

use super::Contract;
use super::names;

/// What a function does with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transfer {
    /// Reads it from memory.
    Load,
    /// Writes it to memory.
    Store,
    /// Makes arguments of it.
    Pass,
}

impl Transfer {
    pub fn word(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Pass => "pass",
        }
    }

    fn capital(self) -> &'static str {
        match self {
            Self::Load => "Load",
            Self::Store => "Store",
            Self::Pass => "Pass",
        }
    }

    /// The parameters and the result of its functions, for a type.
    pub fn signature(self, of: &str) -> String {
        match self {
            Self::Load => format!("(at unsafe.Pointer) {of}"),
            Self::Store => format!("(at unsafe.Pointer, value {of})"),
            Self::Pass => format!("(call *abi.Call, value {of})"),
        }
    }
}

/// Types with a type of Go's own, or a function by hand, in `internal/contract`.
const BY_HAND: [(&str, &str); 4] = [
    ("ip-address", "netip.Addr"),
    ("ip-network", "netip.Prefix"),
    ("mac-address", "MAC"),
    ("link-reference", "LinkReference"),
];

/// Names of types that are declared by hand, and not by [`super::declare`].
pub fn is_by_hand(name: &str) -> bool {
    BY_HAND.iter().any(|(known, _)| *known == name)
        || matches!(name, "ipv4-address" | "ipv6-address")
}

impl Contract {
    /// The type that an alias stands for.
    pub fn dealias(&self, mut id: TypeId) -> TypeId {
        while let TypeDefKind::Type(Type::Id(next)) = self.resolve.types[id].kind {
            id = next;
        }
        id
    }

    fn kind(&self, ty: &Type) -> Option<(TypeId, &TypeDefKind)> {
        let Type::Id(id) = ty else { return None };
        let id = self.dealias(*id);
        Some((id, &self.resolve.types[id].kind))
    }

    fn type_name(&self, id: TypeId) -> Option<&str> {
        self.resolve.types[id].name.as_deref()
    }

    pub fn size(&self, ty: &Type) -> usize {
        self.sizes.size(ty).size_wasm32()
    }

    pub fn align(&self, ty: &Type) -> usize {
        self.sizes.align(ty).align_wasm32()
    }

    /// How many arguments a value is.
    pub fn count(&self, ty: &Type) -> usize {
        let mut storage = [wit_parser::abi::WasmType::I32; 64];
        let mut flat = wit_parser::abi::FlatTypes::new(&mut storage);
        assert!(self.resolve.push_flat(ty, &mut flat), "few arguments");
        flat.to_vec().len()
    }

    /// Where a name of another package needs that package's name before it.
    pub fn qualified(&self, id: TypeId, package: &str, name: &str) -> String {
        let owner = match self.resolve.types[id].owner {
            TypeOwner::Interface(interface) => self.name(interface),
            _ => "",
        };
        let is_shared = super::SHARED.contains(&owner);
        if is_shared && package != "contract" {
            format!("contract.{name}")
        } else {
            name.to_owned()
        }
    }

    /// A type in Go, in a package.
    pub fn go(&self, ty: &Type, package: &str) -> String {
        let scalar = match ty {
            Type::Bool => "bool",
            Type::U8 => "uint8",
            Type::U16 => "uint16",
            Type::U32 => "uint32",
            Type::U64 => "uint64",
            Type::S32 => "int32",
            Type::String => "string",
            Type::Id(id) => return self.go_of(self.dealias(*id), package),
            other => panic!("the contract has no {other:?}"),
        };
        scalar.to_owned()
    }

    fn go_of(&self, id: TypeId, package: &str) -> String {
        if let Some(name) = self.type_name(id) {
            if let Some((_, go)) = BY_HAND.iter().find(|(known, _)| *known == name) {
                let is_of_go = go.contains('.');
                return if is_of_go {
                    (*go).to_owned()
                } else {
                    self.qualified(id, package, go)
                };
            }
            if let TypeDefKind::Type(ty) = &self.resolve.types[id].kind {
                return self.go(ty, package);
            }
            return self.qualified(id, package, &names::of_type(name));
        }
        match &self.resolve.types[id].kind {
            TypeDefKind::List(Type::U8) => "[]byte".to_owned(),
            TypeDefKind::List(ty) => format!("[]{}", self.go(ty, package)),
            TypeDefKind::Option(ty) if self.zero_is_none(ty).is_some() => self.go(ty, package),
            TypeDefKind::Option(ty) => format!("*{}", self.go(ty, package)),
            TypeDefKind::Tuple(tuple) if tuple.types[..] == [Type::String; 2] => {
                "[2]string".to_owned()
            }
            TypeDefKind::Handle(Handle::Own(id)) => {
                let name = self.type_name(*id).expect("resources have names");
                format!("*{}", names::of_type(name))
            }
            other => panic!("the contract has no {}", other.as_str()),
        }
    }

    /// What says of a value in Go that it is there, for a type whose zero value is not a value of the contract.
    fn zero_is_none(&self, ty: &Type) -> Option<&'static str> {
        let (id, kind) = self.kind(ty)?;
        match self.type_name(id) {
            Some("ip-address") => Some("netip.Addr.IsValid"),
            Some("ip-network") => Some("netip.Prefix.IsValid"),
            Some("link-reference") => Some("contract.LinkReference.IsGiven"),
            _ if matches!(kind, TypeDefKind::List(_)) => Some("abi.IsGiven"),
            _ => None,
        }
    }

    /// The function that reads, writes or passes values of a type, in a package. `need` gets each that is not in the SDK.
    pub fn function(
        &self,
        transfer: Transfer,
        ty: &Type,
        package: &str,
        need: &mut dyn FnMut(Transfer, TypeId),
    ) -> String {
        let capital = transfer.capital();
        match ty {
            Type::Bool => format!("abi.{capital}Bool"),
            Type::String => format!("abi.{capital}String"),
            Type::Id(id) => self.function_of(transfer, self.dealias(*id), package, need),
            scalar => format!("abi.{capital}[{}]", self.go(scalar, package)),
        }
    }

    fn function_of(
        &self,
        transfer: Transfer,
        id: TypeId,
        package: &str,
        need: &mut dyn FnMut(Transfer, TypeId),
    ) -> String {
        let capital = transfer.capital();
        let kind = &self.resolve.types[id].kind;
        if let Some(name) = self.type_name(id) {
            let by_hand = match name {
                "ip-address" => Some("Addr"),
                "ip-network" => Some("Prefix"),
                "mac-address" => Some("MAC"),
                "link-reference" => Some("LinkReference"),
                _ => None,
            };
            if let Some(name) = by_hand {
                return self.qualified(id, package, &format!("{capital}{name}"));
            }
            return match kind {
                TypeDefKind::Enum(_) | TypeDefKind::Flags(_) => {
                    format!("abi.{capital}[{}]", self.go_of(id, package))
                }
                TypeDefKind::Type(ty) => self.function(transfer, ty, package, need),
                _ => {
                    need(transfer, id);
                    self.own_function(transfer, id, package)
                }
            };
        }
        let (size_of, align_of) = (|ty| self.size(ty), |ty| self.align(ty));
        match kind {
            TypeDefKind::List(Type::U8) => format!("abi.{capital}Bytes"),
            TypeDefKind::List(ty) => {
                let size = size_of(ty);
                let inner = if transfer == Transfer::Pass {
                    Transfer::Store
                } else {
                    transfer
                };
                let item = self.function(inner, ty, package, need);
                match transfer {
                    Transfer::Load => format!("abi.LoadList({size}, {item})"),
                    Transfer::Store | Transfer::Pass => {
                        format!("abi.{capital}List({size}, {item})")
                    }
                }
            }
            TypeDefKind::Option(ty) => {
                let value = self.function(transfer, ty, package, need);
                let at = match transfer {
                    Transfer::Load | Transfer::Store => align_of(ty),
                    Transfer::Pass => self.count(ty),
                };
                match self.zero_is_none(ty) {
                    None => format!("abi.{capital}Option({at}, {value})"),
                    Some(_) if transfer == Transfer::Load => {
                        format!("abi.LoadOptional({at}, {value})")
                    }
                    Some(is_given) => {
                        let is_given = self.is_given(is_given, ty, package);
                        format!("abi.{capital}Optional({at}, {is_given}, {value})")
                    }
                }
            }
            TypeDefKind::Tuple(_) => format!("abi.{capital}Pair"),
            TypeDefKind::Handle(Handle::Own(resource)) => {
                need(transfer, *resource);
                self.own_function(transfer, *resource, package)
            }
            other => panic!("the contract has no {}", other.as_str()),
        }
    }

    fn is_given(&self, function: &str, ty: &Type, package: &str) -> String {
        if function == "abi.IsGiven" {
            return format!("abi.IsGiven[{}]", self.go(ty, package));
        }
        if package == "contract" {
            function.replace("contract.", "")
        } else {
            function.to_owned()
        }
    }

    /// The name of a function of the SDK's own, in a package.
    fn own_function(&self, transfer: Transfer, id: TypeId, package: &str) -> String {
        self.qualified(id, package, &self.own_name(transfer, id))
    }

    /// Those in `internal/contract` are exported.
    pub fn own_name(&self, transfer: Transfer, id: TypeId) -> String {
        let name = names::of_type(self.type_name(id).expect("a type with a name"));
        let is_shared = self.qualified(id, "", "").starts_with("contract");
        format!(
            "{}{name}",
            if is_shared {
                transfer.capital()
            } else {
                transfer.word()
            }
        )
    }

    pub fn resolve(&self) -> &Resolve {
        &self.resolve
    }

    /// Where each of several values is that follow each other.
    pub fn offsets(&self, types: &[&Type]) -> Vec<usize> {
        let offsets = self.sizes.field_offsets(types.iter().copied());
        offsets
            .iter()
            .map(|(offset, _)| offset.size_wasm32())
            .collect()
    }

    /// The size of several values that follow each other.
    pub fn size_of_all(&self, types: &[&Type]) -> usize {
        self.sizes.record(types.iter().copied()).size.size_wasm32()
    }

    pub fn payload_offset<'t>(
        &self,
        tag: Int,
        payloads: impl Iterator<Item = Option<&'t Type>>,
    ) -> usize {
        self.sizes.payload_offset(tag, payloads).size_wasm32()
    }

    /// What a function returns: of a result, that of success and that of failure.
    pub fn parts_of_result(&self, ty: &Type) -> Vec<Type> {
        match self.kind(ty) {
            Some((_, TypeDefKind::Result(result))) => {
                result.ok.into_iter().chain(result.err).collect()
            }
            _ => vec![*ty],
        }
    }
}
