//! `memcpy`, `memmove` and `memcmp` for x86-64.
//!
//! musl's functions begin every copy with a string instruction, which takes about thirty cycles to start, and copy byte by byte
//! where the destination begins within the source. Values of up to a few hundred bytes are moved thousands of times in an ADD,
//! and this took a twentieth of its time. Here up to 128 bytes are copied by loads of the first and the last ones, all before
//! the first store, so that source and destination may overlap. More are copied 64 at a time. Other processors have no such
//! instruction.
//!
//! In assembly, because a compiler may turn a loop that copies into a call of `memcpy`.

use std::arch::global_asm;

global_asm!(
    // A section that the linker can put beside what calls it.
    ".pushsection .text.memcpy, \"ax\", @progbits",
    // to: rdi, from: rsi, length: rdx; returns to.
    ".globl memmove",
    ".globl memcpy",
    ".type memmove, @function",
    ".type memcpy, @function",
    "memmove:",
    "    mov rcx, rdi",
    "    sub rcx, rsi",
    "    cmp rcx, rdx",
    "    jae memcpy",
    // The destination begins within the source.
    "    cmp rdx, 128",
    "    jbe memcpy",
    // From the end. The first 64 are loaded before any are stored, and stored last.
    "    mov rax, rdi",
    "    movups xmm4, [rsi]",
    "    movups xmm5, [rsi + 16]",
    "    movups xmm6, [rsi + 32]",
    "    movups xmm7, [rsi + 48]",
    "    sub rsi, rdi",
    "    add rdx, rdi",
    "    lea rcx, [rdi + 64]",
    "2:  movups xmm0, [rdx + rsi - 16]",
    "    movups xmm1, [rdx + rsi - 32]",
    "    movups xmm2, [rdx + rsi - 48]",
    "    movups xmm3, [rdx + rsi - 64]",
    "    movups [rdx - 16], xmm0",
    "    movups [rdx - 32], xmm1",
    "    movups [rdx - 48], xmm2",
    "    movups [rdx - 64], xmm3",
    "    sub rdx, 64",
    "    cmp rdx, rcx",
    "    ja 2b",
    "    movups [rdi], xmm4",
    "    movups [rdi + 16], xmm5",
    "    movups [rdi + 32], xmm6",
    "    movups [rdi + 48], xmm7",
    "    ret",
    "memcpy:",
    "    mov rax, rdi",
    "    cmp rdx, 16",
    "    jb 2f",
    "    cmp rdx, 32",
    "    ja 5f",
    // 16 to 32 bytes.
    "    movups xmm0, [rsi]",
    "    movups xmm1, [rsi + rdx - 16]",
    "    movups [rdi], xmm0",
    "    movups [rdi + rdx - 16], xmm1",
    "    ret",
    "2:  cmp rdx, 8",
    "    jb 3f",
    // 8 to 15.
    "    mov rcx, [rsi]",
    "    mov r8, [rsi + rdx - 8]",
    "    mov [rdi], rcx",
    "    mov [rdi + rdx - 8], r8",
    "    ret",
    "3:  cmp rdx, 4",
    "    jb 4f",
    // 4 to 7.
    "    mov ecx, [rsi]",
    "    mov r8d, [rsi + rdx - 4]",
    "    mov [rdi], ecx",
    "    mov [rdi + rdx - 4], r8d",
    "    ret",
    "4:  test rdx, rdx",
    "    jz 9f",
    // 1 to 3: the first, the middle and the last.
    "    movzx ecx, byte ptr [rsi]",
    "    movzx r8d, byte ptr [rsi + rdx - 1]",
    "    mov r9, rdx",
    "    shr r9, 1",
    "    movzx r10d, byte ptr [rsi + r9]",
    "    mov [rdi], cl",
    "    mov [rdi + r9], r10b",
    "    mov [rdi + rdx - 1], r8b",
    "9:  ret",
    "5:  cmp rdx, 64",
    "    ja 6f",
    // 33 to 64.
    "    movups xmm0, [rsi]",
    "    movups xmm1, [rsi + 16]",
    "    movups xmm2, [rsi + rdx - 32]",
    "    movups xmm3, [rsi + rdx - 16]",
    "    movups [rdi], xmm0",
    "    movups [rdi + 16], xmm1",
    "    movups [rdi + rdx - 32], xmm2",
    "    movups [rdi + rdx - 16], xmm3",
    "    ret",
    "6:  cmp rdx, 128",
    "    ja 7f",
    // 65 to 128.
    "    movups xmm0, [rsi]",
    "    movups xmm1, [rsi + 16]",
    "    movups xmm2, [rsi + 32]",
    "    movups xmm3, [rsi + 48]",
    "    movups xmm4, [rsi + rdx - 64]",
    "    movups xmm5, [rsi + rdx - 48]",
    "    movups xmm6, [rsi + rdx - 32]",
    "    movups xmm7, [rsi + rdx - 16]",
    "    movups [rdi], xmm0",
    "    movups [rdi + 16], xmm1",
    "    movups [rdi + 32], xmm2",
    "    movups [rdi + 48], xmm3",
    "    movups [rdi + rdx - 64], xmm4",
    "    movups [rdi + rdx - 48], xmm5",
    "    movups [rdi + rdx - 32], xmm6",
    "    movups [rdi + rdx - 16], xmm7",
    "    ret",
    // More, from the start. The last 64 are loaded before any are stored, and stored last.
    "7:  movups xmm4, [rsi + rdx - 64]",
    "    movups xmm5, [rsi + rdx - 48]",
    "    movups xmm6, [rsi + rdx - 32]",
    "    movups xmm7, [rsi + rdx - 16]",
    "    sub rsi, rdi",
    "    lea rdx, [rdi + rdx - 64]",
    "8:  movups xmm0, [rdi + rsi]",
    "    movups xmm1, [rdi + rsi + 16]",
    "    movups xmm2, [rdi + rsi + 32]",
    "    movups xmm3, [rdi + rsi + 48]",
    "    movups [rdi], xmm0",
    "    movups [rdi + 16], xmm1",
    "    movups [rdi + 32], xmm2",
    "    movups [rdi + 48], xmm3",
    "    add rdi, 64",
    "    cmp rdi, rdx",
    "    jb 8b",
    "    movups [rdx], xmm4",
    "    movups [rdx + 16], xmm5",
    "    movups [rdx + 32], xmm6",
    "    movups [rdx + 48], xmm7",
    "    ret",
    ".size memmove, memcpy - memmove",
    ".size memcpy, . - memcpy",
    ".popsection",
);

global_asm!(
    ".pushsection .text.memcmp, \"ax\", @progbits",
    // one: rdi, other: rsi, length: rdx; returns less than 0, 0 or more than 0.
    ".globl memcmp",
    ".globl bcmp",
    ".type memcmp, @function",
    ".type bcmp, @function",
    "memcmp:",
    "bcmp:",
    "    cmp rdx, 8",
    "    jb 4f",
    "2:  mov rax, [rdi]",
    "    mov rcx, [rsi]",
    "    cmp rax, rcx",
    "    jne 3f",
    "    add rdi, 8",
    "    add rsi, 8",
    "    sub rdx, 8",
    "    cmp rdx, 8",
    "    jae 2b",
    "    test rdx, rdx",
    "    jz 6f",
    // The last eight; the first ones among them are known to be equal.
    "    mov rax, [rdi + rdx - 8]",
    "    mov rcx, [rsi + rdx - 8]",
    "    cmp rax, rcx",
    "    je 6f",
    // The first byte in memory decides.
    "3:  bswap rax",
    "    bswap rcx",
    "    cmp rax, rcx",
    "    sbb eax, eax",
    "    or eax, 1",
    "    ret",
    "4:  test rdx, rdx",
    "    jz 6f",
    "5:  movzx eax, byte ptr [rdi]",
    "    movzx ecx, byte ptr [rsi]",
    "    sub eax, ecx",
    "    jne 7f",
    "    inc rdi",
    "    inc rsi",
    "    dec rdx",
    "    jnz 5b",
    "6:  xor eax, eax",
    "7:  ret",
    ".size memcmp, . - memcmp",
    ".size bcmp, . - bcmp",
    ".popsection",
);

#[cfg(test)]
mod tests {
    unsafe extern "C" {
        fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8;
        fn memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8;
        fn memcmp(one: *const u8, other: *const u8, len: usize) -> i32;
    }

    fn compare(one: &[u8], other: &[u8]) -> i32 {
        assert_eq!(one.len(), other.len());
        // SAFETY: two slices of the same length.
        unsafe { memcmp(one.as_ptr(), other.as_ptr(), one.len()) }.signum()
    }

    /// Long enough for several rounds of 64 bytes.
    const MOST: usize = 300;

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|n| (n % 251) as u8).collect()
    }

    #[test]
    fn every_length_is_copied_and_nothing_around_it() {
        let from = bytes(MOST);
        for len in 0..=MOST {
            let mut to = vec![0xff; len + 2];
            // SAFETY: two vectors, the second longer than `len` by one at each end.
            let returned = unsafe { memcpy(to.as_mut_ptr().add(1), from.as_ptr(), len) };
            assert_eq!(returned, to.as_mut_ptr().wrapping_add(1));
            assert_eq!(to[1..=len], from[..len]);
            assert_eq!((to[0], to[len + 1]), (0xff, 0xff), "{len} bytes");
        }
    }

    #[test]
    fn what_overlaps_is_moved_both_ways() {
        for len in 0..=MOST {
            let distances = [1, 17, 63, 64, 65, 200];
            let both_ways = distances.into_iter().flat_map(|by| [(0, by), (by, 0)]);
            for (from, to) in both_ways.chain([(0, 0)]) {
                let before = bytes(MOST + 200);
                let mut memory = before.clone();
                // SAFETY: both places are within the vector.
                unsafe { memmove(memory.as_mut_ptr().add(to), memory.as_ptr().add(from), len) };
                assert_eq!(memory[to..to + len], before[from..from + len]);
                assert_eq!(memory[..to], before[..to]);
                assert_eq!(memory[to + len..], before[to + len..]);
            }
        }
    }

    #[test]
    fn the_first_byte_that_differs_decides() {
        const LONGEST: usize = 40;
        for len in 0..=LONGEST {
            let one = bytes(len + 1);
            assert_eq!(compare(&one[1..], &one.clone()[1..]), 0);
            for place in 0..len {
                // What stands after it would decide otherwise.
                let mut other = vec![0xff; len];
                let mut same = vec![0; len];
                other[..place].fill(7);
                same[..place].fill(7);
                (other[place], same[place]) = (0x7f, 0x80);
                assert_eq!(compare(&other, &same), -1, "{place} of {len}");
                assert_eq!(compare(&same, &other), 1, "{place} of {len}");
            }
        }
    }

    #[test]
    fn nothing_beyond_the_length_is_compared() {
        for len in 0..=40 {
            let (mut one, mut other) = (bytes(len), bytes(len));
            one.push(1);
            other.push(2);
            assert_eq!(compare(&one[..len], &other[..len]), 0);
        }
    }
}
