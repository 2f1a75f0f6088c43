package weir

// DNSKeys is the key `dns` of a configuration: DNS settings in place of the IPAM plugin's. An empty list is a setting too, as with the
// reference plugins: it removes what the IPAM plugin names.
type DNSKeys struct {
	Nameservers []string `json:"nameservers"`
	Domain      string   `json:"domain"`
	Search      []string `json:"search"`
	Options     []string `json:"options"`
}

// Apply puts the settings in place of the IPAM plugin's, unless the configuration has none.
func (keys DNSKeys) Apply(dns *DNS) {
	if keys.Nameservers != nil || keys.Domain != "" || keys.Search != nil || keys.Options != nil {
		*dns = DNS(keys)
	}
}
