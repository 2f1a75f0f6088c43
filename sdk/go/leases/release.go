package leases

import (
	"slices"
	"strings"

	"weir.dev/weir"
)

// Release releases all addresses of an attachment, for DEL; where there is none, those in the old format. It succeeds when the attachment
// has none.
//
// Leases are found without reading each of them, which may miss one that another program has overwritten in place: those of the
// addresses in the previous result are read.
func Release[C any](pool Pool, request *weir.Request[C]) error {
	given := keysOf(request.Previous)
	owner := ownerOf(request.ContainerID, request.Ifname)
	keys, err := pool.heldAs(owner.value(), given)
	if err == nil && len(keys) == 0 {
		keys, err = pool.heldAs(owner.oldValue(), given)
	}
	if err != nil {
		return err
	}
	return pool.release(keys)
}

// keysOf returns the keys of the leases of a result's addresses. There may be no result.
func keysOf(result *weir.Result) (keys []string) {
	if result == nil {
		return nil
	}
	for _, ip := range result.IPs {
		keys = append(keys, ip.Address.Addr().String())
	}
	return keys
}

// heldAs returns the keys of the leases that have a value, including those among given that are not found.
func (pool Pool) heldAs(value string, given []string) ([]string, error) {
	keys, err := pool.Store.Find([]byte(value))
	if err != nil {
		return nil, err
	}
	for _, key := range given {
		if slices.Contains(keys, key) {
			continue
		}
		held, err := pool.valueOf(key)
		if err != nil {
			return nil, err
		}
		if held == value {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// valueOf returns the value of a key without white space around it; an empty one without the key.
func (pool Pool) valueOf(key string) (string, error) {
	value, err := pool.Store.Get(key)
	if weir.IsGone(err) {
		return "", nil
	}
	return strings.TrimSpace(string(value)), err
}

func (pool Pool) release(keys []string) error {
	for _, key := range keys {
		if err := pool.Store.Delete(key); err != nil && !weir.IsGone(err) {
			return err
		}
	}
	return pool.Commit()
}

// Retain releases all addresses that no valid attachment has, for GC.
func Retain[C any](pool Pool, request *weir.GCRequest[C]) error {
	keys, err := pool.Store.Keys()
	if err != nil {
		return err
	}
	isValid, err := pool.heldBy(request.ValidAttachments)
	if err != nil {
		return err
	}
	var garbage []string
	for _, key := range keys {
		if _, isLease := addressOf(key); !isLease || isValid[key] {
			continue
		}
		isOld, err := pool.isOldLease(key, request.ValidAttachments)
		if err != nil {
			return err
		}
		if !isOld {
			garbage = append(garbage, key)
		}
	}
	return pool.release(garbage)
}

// heldBy returns the keys of these attachments' leases.
func (pool Pool) heldBy(attachments []weir.Attachment) (map[string]bool, error) {
	keys := make(map[string]bool)
	for _, attachment := range attachments {
		owner := ownerOf(attachment.ContainerID, attachment.Ifname)
		found, err := pool.Store.Find([]byte(owner.value()))
		if err != nil {
			return nil, err
		}
		for _, key := range found {
			keys[key] = true
		}
	}
	return keys, nil
}

// isOldLease tells whether a lease is in the old format, and one of these attachments may have it.
func (pool Pool) isOldLease(key string, attachments []weir.Attachment) (bool, error) {
	value, err := pool.valueOf(key)
	mayHave := func(attachment weir.Attachment) bool {
		return ownerOf(attachment.ContainerID, attachment.Ifname).oldValue() == value
	}
	return slices.ContainsFunc(attachments, mayHave), err
}
