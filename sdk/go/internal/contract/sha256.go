package contract

import (
	"encoding/binary"
	"math/bits"
)

// The standard library's SHA-256 adds 300 KB to a component, most of it self-tests and a generator of random numbers.

// initial are the first 32 bits of the fractional parts of the square roots of the first 8 primes.
var initial = [8]uint32{
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
}

// rounds are the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
var rounds = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

const blockSize = 64

// sha256 returns the SHA-256 of a text (FIPS 180-4).
func sha256(text string) (sum [32]byte) {
	padded := append([]byte(text), 0x80)
	for len(padded)%blockSize != blockSize-8 {
		padded = append(padded, 0)
	}
	padded = binary.BigEndian.AppendUint64(padded, uint64(len(text))*8)
	state := initial
	for at := 0; at < len(padded); at += blockSize {
		state = compress(state, padded[at:at+blockSize])
	}
	for i, word := range state {
		binary.BigEndian.PutUint32(sum[4*i:], word)
	}
	return sum
}

// compress adds a block of 64 bytes to the state.
func compress(state [8]uint32, block []byte) [8]uint32 {
	words := schedule(block)
	a, b, c, d, e, f, g, h := state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]
	for i := range words {
		sum1 := rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
		one := h + sum1 + (e&f ^ ^e&g) + rounds[i] + words[i]
		sum0 := rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
		two := sum0 + (a&b ^ a&c ^ b&c)
		a, b, c, d, e, f, g, h = one+two, a, b, c, d+one, e, f, g
	}
	for i, word := range [8]uint32{a, b, c, d, e, f, g, h} {
		state[i] += word
	}
	return state
}

// schedule returns what a block adds in each round.
func schedule(block []byte) (words [64]uint32) {
	for i := range words {
		if i < 16 {
			words[i] = binary.BigEndian.Uint32(block[4*i:])
			continue
		}
		early, late := words[i-15], words[i-2]
		sigma0 := rotate(early, 7) ^ rotate(early, 18) ^ early>>3
		sigma1 := rotate(late, 17) ^ rotate(late, 19) ^ late>>10
		words[i] = words[i-16] + sigma0 + words[i-7] + sigma1
	}
	return words
}

// rotate rotates a word to the right.
func rotate(word uint32, by int) uint32 {
	return bits.RotateLeft32(word, -by)
}
