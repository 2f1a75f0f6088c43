//! Sets and maps: their description, and their elements there and back.

use netlink_bindings::nftables::{
    DataAttrs, IterableSetAttrs, IterableSetelemAttrs, PushDataAttrs, PushSetAttrs,
    PushSetelemListElemAttrs, SetElemFlags, SetFlags, VerdictCode,
};
use netlink_bindings::traits::Pusher;
use netlink_bindings::utils::{
    ErrorContext, finalize_nested_header, find_attr, push_nested_header,
};
use weir_grant::firewall::{DataType, Element, ElementData, Set, Value, Verdict};

use super::comment;
use super::expression::push_verdict;
use super::value::{Format, Parts, TYPES};
use crate::error::{Error, Result};

/// `NFT_DATA_VERDICT`: the data type of a map of verdicts.
const VERDICTS: u32 = 0xffff_ff00;

/// The bits of each type in nft(8)'s number for a concatenation.
const TYPE_BITS: u32 = 6;

/// The most types in that number.
const MOST_PARTS: usize = 5;

/// `NFT_DATA_VALUE_MAXLEN`.
const LONGEST_KEY: usize = 64;

/// `NFTA_SET_ELEM_KEY_END`. The bindings have another number for it.
const ELEMENT_KEY_END: u16 = 10;

/// nft(8)'s notes on a set: the byte orders of its key and its data.
const NOTE_KEY_ORDER: u8 = 0;
const NOTE_DATA_ORDER: u8 = 1;

/// What the elements of a set look like.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schema {
    key: Parts,
    data: Data,
    interval: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Data {
    None,
    Verdict,
    Values(Parts),
}

/// Where an element is in what the kernel stores: a range of a set with one part has two
/// entries, its first key and the one behind its last.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    key: Vec<u8>,
    key_end: Option<Vec<u8>>,
    is_end: bool,
}

impl Entry {
    fn new(key: Vec<u8>, is_end: bool) -> Self {
        Self {
            key,
            key_end: None,
            is_end,
        }
    }
}

impl Schema {
    /// Describes a set to be made. Errors: `Invalid` for types that do not go together; `Unsupported` for
    /// ranges of values that have no order in a packet.
    pub(super) fn new(set: &Set) -> Result<Self> {
        let key = Parts::new(&set.key)?;
        check_size("key", &set.key, &key)?;
        let data = match set.data[..] {
            [] => Data::None,
            [DataType::Verdict] => Data::Verdict,
            _ => {
                let parts = Parts::new(&set.data)?;
                check_size("data", &set.data, &parts)?;
                Data::Values(parts)
            }
        };
        if set.interval && !key.is_concatenation() && !key.formats()[0].has_order() {
            return Err(Error::unsupported(format!(
                "a set of `{}` cannot have ranges: only addresses, ports and protocols have an order",
                set.key[0]
            )));
        }
        let interval = set.interval;
        Ok(Self {
            key,
            data,
            interval,
        })
    }

    /// Reads the kernel's description of a set. Errors: `Unsupported` for one that is not of this
    /// interface's making.
    pub(super) fn read(set: &IterableSetAttrs<'_>) -> Result<Self> {
        let flags = set.get_flags().unwrap_or_default();
        let key = unpack(set.get_key_type().map_err(malformed)?)?;
        let data = match set.get_data_type() {
            _ if flags & SetFlags::Map as u32 == 0 => Data::None,
            Ok(VERDICTS) => Data::Verdict,
            Ok(types) => Data::Values(Parts::new(&unpack(types)?)?),
            Err(error) => return Err(malformed(error)),
        };
        Ok(Self {
            key: Parts::new(&key)?,
            data,
            interval: flags & SetFlags::Interval as u32 != 0,
        })
    }

    /// Whether a range has two entries.
    pub(super) fn has_end_entries(&self) -> bool {
        self.interval && !self.key.is_concatenation()
    }

    /// The entries to add or to delete for an element. Errors: `Invalid`.
    pub(super) fn entries(&self, element: &Element) -> Result<Vec<Entry>> {
        let key = self.encode_key(&element.key)?;
        let last = element.key_end.as_deref();
        let last = last.map(|end| self.encode_key(end)).transpose()?;
        if let Some(last) = &last {
            self.check_range(&key, last)?;
        }
        let end = if self.has_end_entries() {
            following(last.as_ref().unwrap_or(&key)).map(|key| Entry::new(key, true))
        } else {
            None
        };
        let first = Entry {
            key_end: last.filter(|_| !self.has_end_entries()),
            ..Entry::new(key, false)
        };
        Ok([first].into_iter().chain(end).collect())
    }

    /// The entry that a look for a key asks for. Errors: `Invalid`.
    pub(super) fn entry_of(&self, key: &[Value], is_end: bool) -> Result<Entry> {
        Ok(Entry::new(self.encode_key(key)?, is_end))
    }

    fn encode_key(&self, key: &[Value]) -> Result<Vec<u8>> {
        self.key.encode(key).map_err(|e| e.at("the element's key"))
    }

    fn check_range(&self, first: &[u8], last: &[u8]) -> Result<()> {
        if !self.interval {
            return Err(Error::invalid(
                "only the elements of an interval set have a last key",
            ));
        }
        let mut start = 0;
        for format in self.key.formats() {
            let end = start + format.length();
            let (first, last) = (&first[start..end], &last[start..end]);
            if first > last && format.has_order() {
                return Err(Error::invalid("the last key of a range is below its first"));
            }
            if first != last && !format.has_order() {
                return Err(Error::invalid(
                    "marks and names have no ranges: first and last must agree",
                ));
            }
            start += format.length().next_multiple_of(4);
        }
        Ok(())
    }

    /// Checks that an element has the data that the set asks for, and encodes it into `attributes`
    /// together with its entry. Errors: `Invalid`.
    pub(super) fn push<P: Pusher>(
        &self,
        list: PushSetelemListElemAttrs<P>,
        entry: &Entry,
        content: Option<&Element>,
    ) -> Result<PushSetelemListElemAttrs<P>> {
        let mut attributes = list.nested_elem();
        attributes = attributes.nested_key().push_value(&entry.key).end_nested();
        if let Some(last) = &entry.key_end {
            let start = push_nested_header(attributes.as_vec_mut(), ELEMENT_KEY_END);
            PushDataAttrs::new(attributes.as_vec_mut()).push_value(last);
            finalize_nested_header(attributes.as_vec_mut(), start);
        }
        if entry.is_end {
            let flags = SetElemFlags::IntervalEnd as u32;
            return Ok(attributes.push_flags(&flags.to_be_bytes()).end_nested());
        }
        let Some(element) = content else {
            return Ok(attributes.end_nested());
        };
        match (&self.data, &element.data) {
            (Data::None, ElementData::None) => {}
            (Data::Verdict, ElementData::Verdict(verdict)) => {
                attributes = push_verdict(attributes.nested_data(), verdict).end_nested();
            }
            (Data::Values(parts), ElementData::Values(values)) => {
                let bytes = parts
                    .encode(values)
                    .map_err(|e| e.at("the element's data"))?;
                attributes = attributes.nested_data().push_value(&bytes).end_nested();
            }
            _ => {
                return Err(Error::invalid(
                    "an element's data is not what its set holds",
                ));
            }
        }
        if let Some(text) = &element.comment {
            attributes = attributes.push_userdata(&comment::encode(text));
        }
        Ok(attributes.end_nested())
    }

    /// An element as the kernel describes it, and whether it is the entry behind a range.
    pub(super) fn read_element(
        &self,
        attributes: &IterableSetelemAttrs<'_>,
    ) -> Result<(Vec<u8>, bool, Element)> {
        let flags = attributes
            .get_flags()
            .ok()
            .and_then(|f| f.first_chunk().copied());
        let is_end = flags.map_or(0, u32::from_be_bytes) & SetElemFlags::IntervalEnd as u32 != 0;
        let bytes = attributes
            .get_key()
            .and_then(|key| key.get_value())
            .map_err(malformed)?;
        let last = find_attr(attributes.get_buf(), ELEMENT_KEY_END);
        let last = last.map(|data| DataAttrs::new(data).get_value().map_err(malformed));
        let element = Element {
            key: self.key.decode(bytes)?,
            key_end: last.map(|bytes| self.key.decode(bytes?)).transpose()?,
            data: if is_end {
                ElementData::None
            } else {
                self.read_data(attributes)?
            },
            comment: attributes.get_userdata().ok().and_then(comment::decode),
        };
        Ok((bytes.to_vec(), is_end, element))
    }

    fn read_data(&self, attributes: &IterableSetelemAttrs<'_>) -> Result<ElementData> {
        match &self.data {
            Data::None => Ok(ElementData::None),
            Data::Verdict => {
                let data = attributes.get_data().map_err(malformed)?;
                read_verdict(data.get_verdict().map_err(malformed)?).map(ElementData::Verdict)
            }
            Data::Values(parts) => {
                let data = attributes.get_data().and_then(|data| data.get_value());
                parts
                    .decode(data.map_err(malformed)?)
                    .map(ElementData::Values)
            }
        }
    }

    /// Puts the last key of a range in place, from the entry behind it: none means that the range
    /// reaches to the highest key. A range of one key has no last one.
    pub(super) fn close_range(
        &self,
        first: &[u8],
        mut element: Element,
        behind: Option<&[u8]>,
    ) -> Result<Element> {
        let last = match behind {
            Some(behind) => preceding(behind),
            None => vec![0xff; first.len()],
        };
        if last != first {
            element.key_end = Some(self.key.decode(&last)?);
        }
        Ok(element)
    }
}

/// Describes a new set to the kernel, and to nft(8), which lists it by what is noted here.
pub(super) fn push_set<P: Pusher>(mut attributes: PushSetAttrs<P>, set: &Set, schema: &Schema) {
    let map = match schema.data {
        Data::None => 0,
        _ => SetFlags::Map as u32,
    };
    let ranges = match (schema.interval, schema.key.is_concatenation()) {
        (false, _) => 0,
        (true, false) => SetFlags::Interval as u32,
        (true, true) => SetFlags::Interval as u32 | SetFlags::Concat as u32,
    };
    attributes = attributes
        .push_flags(map | ranges)
        .push_key_type(pack(&set.key))
        .push_key_len(schema.key.length() as u32);
    let mut notes = Vec::new();
    note(&mut notes, NOTE_KEY_ORDER, byte_order(&schema.key));
    match &schema.data {
        Data::None => {}
        // The kernel knows the length of a verdict.
        Data::Verdict => attributes = attributes.push_data_type(VERDICTS),
        Data::Values(parts) => {
            let length = parts.length() as u32;
            attributes = attributes
                .push_data_type(pack(&set.data))
                .push_data_len(length);
            note(&mut notes, NOTE_DATA_ORDER, byte_order(parts));
        }
    }
    if schema.interval && schema.key.is_concatenation() {
        let mut fields = attributes.nested_desc().nested_concat();
        for format in schema.key.formats() {
            fields = fields
                .nested_elem()
                .push_len(format.length() as u32)
                .end_nested();
        }
        attributes = fields.end_nested().end_nested();
    }
    attributes.push_userdata(&notes);
}

fn note(notes: &mut Vec<u8>, kind: u8, value: u32) {
    notes.extend([kind, 4]);
    notes.extend(value.to_ne_bytes());
}

/// nft(8)'s word for a byte order: 0 none, 1 the host's, 2 the network's.
fn byte_order(parts: &Parts) -> u32 {
    match parts.formats() {
        [Format::Word | Format::LinkName] => 1,
        [_] => 2,
        _ => 0,
    }
}

fn check_size(what: &str, types: &[DataType], parts: &Parts) -> Result<()> {
    if (1..=MOST_PARTS).contains(&types.len()) && parts.length() <= LONGEST_KEY {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the {what} of a set has 1 to {MOST_PARTS} parts and at most {LONGEST_KEY} bytes"
    )))
}

fn pack(types: &[DataType]) -> u32 {
    let number = |part: &DataType| {
        let known = TYPES.iter().find(|(known, ..)| known == part);
        known.map_or(0, |(_, number, _)| *number)
    };
    types
        .iter()
        .fold(0, |packed, part| packed << TYPE_BITS | number(part))
}

fn unpack(mut packed: u32) -> Result<Vec<DataType>> {
    let mut types = Vec::new();
    while packed != 0 {
        let number = packed & ((1 << TYPE_BITS) - 1);
        let known = TYPES.iter().find(|(_, known, _)| *known == number);
        let (part, ..) = known.ok_or_else(|| {
            Error::unsupported(format!("the set has values of nft's type {number}"))
        })?;
        types.insert(0, *part);
        packed >>= TYPE_BITS;
    }
    Ok(types)
}

fn read_verdict(verdict: netlink_bindings::nftables::IterableVerdictAttrs<'_>) -> Result<Verdict> {
    let code = verdict.get_code().map_err(malformed)?;
    let chain = || {
        let name = verdict.get_chain().map_err(malformed)?;
        Ok::<_, Error>(name.to_string_lossy().into_owned())
    };
    match VerdictCode::from_value(code.into()) {
        Some(VerdictCode::Accept) => Ok(Verdict::Accept),
        Some(VerdictCode::Drop) => Ok(Verdict::Drop),
        Some(VerdictCode::Return) => Ok(Verdict::Return),
        Some(VerdictCode::Jump) => Ok(Verdict::Jump(chain()?)),
        Some(VerdictCode::Goto) => Ok(Verdict::Goto(chain()?)),
        _ => Err(Error::unsupported(format!(
            "the map has a verdict {code:#x}"
        ))),
    }
}

pub(super) fn malformed(error: ErrorContext) -> Error {
    Error::failed(format!("the kernel's answer cannot be read: {error}"))
}

/// The next key in order; none behind the highest.
fn following(key: &[u8]) -> Option<Vec<u8>> {
    let mut next = key.to_vec();
    for byte in next.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            return Some(next);
        }
    }
    None
}

/// The key before in order.
fn preceding(key: &[u8]) -> Vec<u8> {
    let mut previous = key.to_vec();
    for byte in previous.iter_mut().rev() {
        *byte = byte.wrapping_sub(1);
        if *byte != 0xff {
            break;
        }
    }
    previous
}
