//! Reading the files line by line: which lines the chain covers, and whether they are as they were written.

use std::fs::File;
use std::io::{self, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use weir_gate::Head;
use weir_gate::chain::{ChainLine, Step, Uncovered, Walk};

use super::compare::Wanted;
use super::line::read_line;
use super::numbers::{Numbers, Position};
use super::report::{FileReport, Finding, Lines, Report, What};
use crate::cli::number::counted;

/// Consecutive chain lines of a file, and what they cover.
pub struct Segment {
    /// The file's position among the files.
    pub file: usize,
    /// Where its first chain line is.
    pub lines: Lines,
    /// The chain line that it continues after.
    pub after: ChainLine,
    pub last: ChainLine,
    /// Whether an invocation that was under way before it continues in it.
    pub is_spanned: bool,
}

/// The files so far.
pub struct Scan<'a> {
    wanted: &'a mut Wanted,
    /// The head file, if the last of the files is the one that it is about.
    head: Option<PathBuf>,
    report: Report,
    segments: Vec<Segment>,
    numbers: Numbers,
}

/// Lines since the last chain line.
#[derive(Default)]
struct Region {
    /// The first, and the last that is not blank.
    first: u64,
    last: u64,
    /// How many are not blank.
    count: u64,
    /// The time of the first record.
    time: Option<String>,
    uncovered: Uncovered,
}

impl Region {
    fn add(&mut self, number: u64, bytes: &[u8]) {
        self.uncovered.line(bytes);
        if bytes.trim_ascii().is_empty() {
            return;
        }
        if self.count == 0 {
            self.first = number;
        }
        self.last = number;
        self.count += 1;
        if self.time.is_none() {
            self.time = time(bytes);
        }
    }

    fn lines(self, file: &Path) -> Lines {
        Lines {
            file: file.to_owned(),
            first_line: self.first,
            last_line: self.last,
            time: self.time,
        }
    }
}

impl<'a> Scan<'a> {
    pub fn new(wanted: &'a mut Wanted, head: Option<PathBuf>) -> Self {
        Self {
            wanted,
            head,
            report: Report::default(),
            segments: Vec::new(),
            numbers: Numbers::default(),
        }
    }

    /// Reads a file. In the last one, a write may be going on.
    pub fn file(&mut self, path: &Path, is_last: bool) -> io::Result<()> {
        let mut reader = BufReader::with_capacity(1 << 16, File::open(path)?);
        let (mut walk, mut region) = (Walk::default(), Region::default());
        let mut file = FileReport::new(path);
        let first_segment = self.segments.len();
        let mut bytes = Vec::new();
        let (mut offset, mut last_chain_line) = (0, 0);
        self.numbers.file();
        while read_line(&mut reader, &mut bytes)? {
            file.lines += 1;
            let start = offset;
            offset += bytes.len() as u64;
            let step = walk.line(&bytes);
            if let Step::Next { line, .. } | Step::Carried(line) = &step {
                last_chain_line = start;
                let is_repeat = matches!(step, Step::Carried(_));
                self.wanted.see(line, offset, is_repeat);
            }
            match step {
                Step::Other => {
                    region.add(file.lines, &bytes);
                    self.numbers.line(&bytes, self.position(path, file.lines));
                }
                Step::Next { line, intact } => {
                    let covered = std::mem::take(&mut region);
                    self.next(path, file.lines, line, intact, covered);
                }
                Step::Carried(line) => {
                    let before = std::mem::take(&mut region);
                    self.carried(path, line, before, &mut file);
                }
            }
        }
        let is_open = is_last && region.uncovered.is_added();
        if is_open && self.is_covered_now(&mut reader, last_chain_line)? {
            region = Region::default();
        }
        self.end(path, region, is_last, &mut file, first_segment);
        self.report.files.push(file);
        Ok(())
    }

    fn position<'b>(&self, file: &'b Path, line: u64) -> Position<'b> {
        Position {
            file,
            number: self.report.files.len(),
            line,
            chained: self.last(),
        }
    }

    /// The number of the last chain line, or 0.
    fn last(&self) -> u64 {
        let last = self.segments.last();
        last.map_or(0, |segment| segment.last.chained)
    }

    /// A chain line after the one before it, and what it covers, `intact` or not.
    fn next(
        &mut self,
        path: &Path,
        number: u64,
        line: ChainLine,
        intact: bool,
        mut covered: Region,
    ) {
        self.numbers.chain_line();
        self.report.checked += 1;
        let chained = line.chained;
        if let Some(segment) = self.segments.last_mut() {
            segment.last = line;
            let time = &mut segment.lines.time;
            *time = time.take().or_else(|| covered.time.clone());
        }
        if intact {
            return;
        }
        if covered.count == 0 {
            covered.first = number;
        }
        covered.last = number;
        self.report.findings.push(Finding::at(
            What::Changed,
            chained,
            covered.lines(path),
            "changed, taken out or added since they were written: the chain line after them does not match".into(),
        ));
    }

    /// A chain line that does not follow the one before it in the file.
    fn carried(&mut self, path: &Path, line: ChainLine, before: Region, file: &mut FileReport) {
        let begins = line.chained == 0;
        self.repeated(path, &line, file.lines);
        self.before(path, before, begins, file);
        self.numbers.carried(begins && file.lines == 1);
        self.segments.push(Segment {
            file: self.report.files.len(),
            lines: Lines {
                file: path.to_owned(),
                first_line: file.lines,
                last_line: file.lines,
                time: None,
            },
            after: line.clone(),
            last: line,
            is_spanned: false,
        });
    }

    /// weir repeats the last chain line where a log does not end with it any more.
    fn repeated(&mut self, path: &Path, line: &ChainLine, number: u64) {
        let current = self.report.files.len();
        let before = self.segments.last();
        if before.is_some_and(|before| before.file == current && before.last == *line) {
            self.report.remarks.push(format!(
                "`{}`, line {number}, repeats chain line {}: the file was changed before it, or is a copy that was put back",
                path.display(),
                line.chained
            ));
        }
    }

    /// Lines that no chain line covers, before one that carries the chain on, or `begins` it.
    fn before(&mut self, path: &Path, region: Region, begins: bool, file: &mut FileReport) {
        if region.count == 0 {
            return;
        }
        if self.segments.is_empty() && begins {
            file.before_chain = region.count;
            return;
        }
        let after = self.last();
        self.report.findings.push(Finding::at(
            What::Uncovered,
            after,
            region.lines(path),
            "not covered by the chain: added by something other than weir, or left by a write that was interrupted \
             just between two lines"
                .into(),
        ));
    }

    fn end(
        &mut self,
        path: &Path,
        region: Region,
        is_last: bool,
        file: &mut FileReport,
        first: usize,
    ) {
        if let Some(segment) = self.segments[first..].first() {
            file.chained.first = Some(segment.after.chained);
        }
        file.chained.last = self.segments[first..]
            .last()
            .map(|segment| segment.last.chained);
        if self.segments.is_empty() || !region.uncovered.is_of_interrupted_write() {
            return self.before(path, region, true, file);
        }
        let covered = if is_last {
            "; the next record's chain line covers them"
        } else {
            ""
        };
        self.report.remarks.push(format!(
            "`{}`: {} after the last chain line, of a write that was interrupted or is going on{covered}",
            path.display(),
            counted(region.count, "line"),
        ));
    }

    /// Whether a chain line covers what follows the one at an offset, once a write that is going on has ended.
    fn is_covered_now(&self, file: &mut BufReader<File>, offset: u64) -> io::Result<bool> {
        let Some(head) = &self.head else {
            return Ok(false);
        };
        let next = Head::while_nothing_is_written(head, || next_chain_line(file, offset));
        // A head file that cannot be locked is another finding.
        let next = next.unwrap_or(Ok(None))?;
        Ok(matches!(next, Some(Step::Next { intact: true, .. })))
    }

    /// Returns the report on each file, and the parts of the chain that they have, in their order.
    pub fn finish(mut self) -> (Report, Vec<Segment>) {
        let spanned = self.numbers.finish(&mut self.report);
        for (at, segment) in self.segments.iter_mut().enumerate() {
            // Before the first one, there is none.
            segment.is_spanned = spanned.contains(&(at + 1));
        }
        (self.report, self.segments)
    }
}

/// The chain line after the one at an offset.
fn next_chain_line(file: &mut BufReader<File>, offset: u64) -> io::Result<Option<Step>> {
    file.seek(SeekFrom::Start(offset))?;
    let (mut walk, mut bytes, mut steps) = (Walk::default(), Vec::new(), Vec::new());
    while steps.len() < 2 && read_line(file, &mut bytes)? {
        steps.extend(Some(walk.line(&bytes)).filter(|step| *step != Step::Other));
    }
    Ok(steps.into_iter().nth(1))
}

/// The time with which a record begins.
fn time(bytes: &[u8]) -> Option<String> {
    let rest = bytes.strip_prefix(b"{\"time\":\"")?;
    let end = rest.iter().take(40).position(|byte| *byte == b'"')?;
    let time = str::from_utf8(&rest[..end]).ok()?;
    let time = time.parse::<jiff::Timestamp>().ok()?;
    Some(crate::cli::audit::time::precise(time))
}
