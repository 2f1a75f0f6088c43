package contract

// Interface returns the container's interface of that name in the result; nil where the result has none.
func (result *Result) Interface(ifname, sandbox string) *Interface {
	for i := range result.Interfaces {
		found := &result.Interfaces[i]
		if found.Name == ifname && found.Sandbox != "" && found.Sandbox == sandbox {
			return found
		}
	}
	return nil
}
