// Package abi has what the contract needs of the component model's canonical ABI: values in memory and as arguments of a call.
//
// Functions that read (Load), write (Store) and pass (Pass) values are composed of each other, as the types are. An address in
// memory has 32 bits.
package abi

import (
	"fmt"
	"unsafe"
)

// Integer is a number, and an enumeration or flags of at most eight bits.
type Integer interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int32
}

// held keeps what the memory of a call refers to from being collected: the collector knows nothing of addresses in it.
var held []unsafe.Pointer

// Hold keeps memory until the call ends, and returns its address.
func hold(at unsafe.Pointer) uint32 {
	held = append(held, at)
	return uint32(uintptr(at))
}

func release() {
	clear(held)
	held = held[:0]
}

// Allocate returns zeroed memory that is kept until the call ends.
func Allocate(size uintptr) unsafe.Pointer {
	words := make([]uint64, (size+7)/8+1)
	at := unsafe.Pointer(unsafe.SliceData(words))
	hold(at)
	return at
}

// Address returns the address of memory that is kept, as an argument.
func Address(at unsafe.Pointer) int32 {
	return int32(uint32(uintptr(at)))
}

// pointer returns the memory at an address that weir was given by realloc.
func pointer(address uint32) unsafe.Pointer {
	wide := uintptr(address)
	return *(*unsafe.Pointer)(unsafe.Pointer(&wide))
}

// Load reads a number.
func Load[T Integer](at unsafe.Pointer) T {
	return *(*T)(at)
}

// Store writes a number.
func Store[T Integer](at unsafe.Pointer, value T) {
	*(*T)(at) = value
}

// LoadBool reads a boolean.
func LoadBool(at unsafe.Pointer) bool {
	return Load[uint8](at) != 0
}

// StoreBool writes a boolean.
func StoreBool(at unsafe.Pointer, value bool) {
	*(*bool)(at) = value
}

// LoadString reads a string.
func LoadString(at unsafe.Pointer) string {
	return String(Load[uint32](at), Load[uint32](unsafe.Add(at, 4)))
}

// String returns the string at an address.
func String(address, length uint32) string {
	if length == 0 {
		return ""
	}
	return unsafe.String((*byte)(pointer(address)), length)
}

// StoreString writes a string.
func StoreString(at unsafe.Pointer, value string) {
	storeSpan(at, unsafe.Pointer(unsafe.StringData(value)), len(value))
}

// LoadBytes reads a list of bytes.
func LoadBytes(at unsafe.Pointer) []byte {
	return []byte(LoadString(at))
}

// StoreBytes writes a list of bytes.
func StoreBytes(at unsafe.Pointer, value []byte) {
	storeSpan(at, unsafe.Pointer(unsafe.SliceData(value)), len(value))
}

// LoadPair reads two strings.
func LoadPair(at unsafe.Pointer) [2]string {
	return [2]string{LoadString(at), LoadString(unsafe.Add(at, 8))}
}

// StorePair writes two strings.
func StorePair(at unsafe.Pointer, value [2]string) {
	StoreString(at, value[0])
	StoreString(unsafe.Add(at, 8), value[1])
}

// storeSpan writes the address and the length of a string or a list.
func storeSpan(at, content unsafe.Pointer, length int) {
	if length == 0 {
		// Any address that is aligned.
		Store[uint32](at, 8)
	} else {
		Store(at, hold(content))
	}
	Store(unsafe.Add(at, 4), uint32(length))
}

// LoadList reads a list of items of a size.
func LoadList[T any](size uintptr, item func(unsafe.Pointer) T) func(unsafe.Pointer) []T {
	return func(at unsafe.Pointer) []T {
		first, length := Load[uint32](at), Load[uint32](unsafe.Add(at, 4))
		items := make([]T, length)
		for i := range items {
			items[i] = item(unsafe.Add(pointer(first), uintptr(i)*size))
		}
		return items
	}
}

// StoreList writes a list of items of a size.
func StoreList[T any](size uintptr, item func(unsafe.Pointer, T)) func(unsafe.Pointer, []T) {
	return func(at unsafe.Pointer, items []T) {
		storeSpan(at, storeItems(size, item, items), len(items))
	}
}

func storeItems[T any](size uintptr, item func(unsafe.Pointer, T), items []T) unsafe.Pointer {
	first := Allocate(uintptr(len(items)) * size)
	for i, value := range items {
		item(unsafe.Add(first, uintptr(i)*size), value)
	}
	return first
}

// LoadOption reads what may be absent, with what is there at an offset.
func LoadOption[T any](offset uintptr, load func(unsafe.Pointer) T) func(unsafe.Pointer) *T {
	return func(at unsafe.Pointer) *T {
		if !LoadBool(at) {
			return nil
		}
		return new(load(unsafe.Add(at, offset)))
	}
}

// StoreOption writes what may be absent.
func StoreOption[T any](offset uintptr, store func(unsafe.Pointer, T)) func(unsafe.Pointer, *T) {
	return func(at unsafe.Pointer, value *T) {
		StoreBool(at, value != nil)
		if value != nil {
			store(unsafe.Add(at, offset), *value)
		}
	}
}

// LoadOptional reads what may be absent, and is the zero value then.
func LoadOptional[T any](offset uintptr, load func(unsafe.Pointer) T) func(unsafe.Pointer) T {
	return func(at unsafe.Pointer) (value T) {
		if LoadBool(at) {
			value = load(unsafe.Add(at, offset))
		}
		return value
	}
}

// StoreOptional writes what may be absent.
func StoreOptional[T any](offset uintptr, isGiven func(T) bool, store func(unsafe.Pointer, T)) func(unsafe.Pointer, T) {
	return func(at unsafe.Pointer, value T) {
		StoreBool(at, isGiven(value))
		if isGiven(value) {
			store(unsafe.Add(at, offset), value)
		}
	}
}

// IsGiven tells whether a list is there. An empty one is, nil is not.
func IsGiven[S ~[]E, E any](items S) bool {
	return items != nil
}

// Word returns the word of an enumeration's value.
func Word[T ~uint8](value T, words ...string) string {
	if int(value) >= len(words) {
		return fmt.Sprintf("%d, which the contract does not have", uint8(value))
	}
	return words[value]
}

// NoCase returns the message of a panic about a value that is none of the cases of its type.
func NoCase(of string, value any) string {
	if value == nil {
		return of + " is missing"
	}
	return fmt.Sprintf("%T is no case of %s in the contract", value, of)
}
