package catalog

import "testing"

// The tables are as long as the interface document's, and name each thing once.
func TestAutomation(t *testing.T) {
	seen := map[string]bool{}
	once := func(name string) {
		if seen[name] {
			t.Errorf("%s twice", name)
		}
		seen[name] = true
	}
	ios := 0
	for _, s := range Sections() {
		once("section " + s.Name)
		if s.IOS {
			ios++
		}
	}
	required, secret, optional := 0, 0, 0
	for _, p := range Partners() {
		once("partner " + p.Slug)
		for _, s := range p.Setup {
			once(p.Slug + " " + s.Name)
			if s.Required {
				required++
			} else {
				optional++
			}
			if s.Secret {
				secret++
			}
		}
	}
	if len(Sections()) != 15 || ios != 2 || len(Partners()) != 13 || required != 16 || optional != 2 || secret != 4 {
		t.Errorf("%d sections, %d of ios; %d partners, %d required parameters, %d optional, %d secret", len(Sections()),
			ios, len(Partners()), required, optional, secret)
	}
}
