package weir

import "testing"

func TestAnEmptyListIsADNSSettingAndAnEmptyObjectIsNone(t *testing.T) {
	type config struct {
		DNS DNSKeys `json:"dns"`
	}
	for keys, domain := range map[string]string{
		`{}`:                        "ipam.example",
		`{"domain": ""}`:            "ipam.example",
		`{"nameservers": null}`:     "ipam.example",
		`{"nameservers": []}`:       "",
		`{"search": []}`:            "",
		`{"options": []}`:           "",
		`{"domain": "example.com"}`: "example.com",
		`{"search": ["a.example"]}`: "",
	} {
		read, unknown, err := parse(`{"dns": `+keys+`}`, config{}, rules{})
		if err != nil || len(unknown) > 0 {
			t.Fatal(err, unknown)
		}
		dns := DNS{Domain: "ipam.example"}
		read.DNS.Apply(&dns)
		if dns.Domain != domain {
			t.Errorf("%s: %+v", keys, dns)
		}
	}
}
