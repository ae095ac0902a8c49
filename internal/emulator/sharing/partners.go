package sharing

import (
	"fmt"
	"strings"

	"github.com/reportferry/reportferry/internal/emulator/reading"
)

// A Partner is a partner that reports have, too.
type Partner struct{ Slug, ID, Name string }

// partnerNames are the partners that settings may name, and how.
type partnerNames struct {
	names    []string       // the name under which each partner is kept
	place    map[string]int // indexes in names, by these names in lower case
	byName   map[string]int // indexes by all words for a partner that are no IDs, in lower case
	ids      map[string]int // indexes by ID
	readings reading.Set
}

// makePartners returns the names of these partners:
//   - all and dynamic_callbacks
//   - those of the channel setup, by slug and by number; those that no report has get IDs that are
//     made up
//   - those of reports
//   - further ones, which have one word for a name and an ID
func makePartners(o Options) *partnerNames {
	p := &partnerNames{place: map[string]int{}, byName: map[string]int{}, ids: map[string]int{}, readings: o.Readings}
	p.learn("all") // everyPartner
	p.learn("dynamic_callbacks")
	for i, slug := range o.Channels {
		at := p.learn(slug)
		p.byName[strings.ToLower(slug)], p.byName[fmt.Sprint("partner_", i+1)] = at, at
	}
	for _, one := range o.Reported {
		at := p.learn(one.Slug)
		p.byName[strings.ToLower(one.Slug)], p.byName[strings.ToLower(one.Name)], p.ids[one.ID] = at, at, at
	}
	for i, slug := range o.Channels {
		if at := p.place[strings.ToLower(slug)]; !p.hasID(at) {
			p.ids[fmt.Sprint(9000+i)] = at
		}
	}
	for _, name := range o.Partners {
		if _, known := p.byNameOrID(name); known {
			continue
		}
		at, word := p.learn(name), strings.ToLower(name)
		p.byName[word], p.ids[word] = at, at
	}
	return p
}

// hasID tells whether a partner has an ID.
func (p *partnerNames) hasID(at int) bool {
	for _, has := range p.ids {
		if has == at {
			return true
		}
	}
	return false
}

// learn returns the index of a partner by the name under which it is kept, and adds the name if it
// is new.
func (p *partnerNames) learn(name string) int {
	word := strings.ToLower(name)
	if i, known := p.place[word]; known {
		return i
	}
	p.place[word] = len(p.names)
	p.names = append(p.names, name)
	return len(p.names) - 1
}

// find returns the index of the partner that a setting names.
func (p *partnerNames) find(text string) (at int, known bool) {
	switch word := strings.ToLower(strings.TrimSpace(text)); {
	case word == "all" || word == "dynamic_callbacks":
		return p.place[word], true
	case p.readings.Is(reading.SharingPartner, "id"):
		at, known = p.ids[word]
		return at, known
	case p.readings.Is(reading.SharingPartner, "name"):
		at, known = p.byName[word]
		return at, known
	}
	return p.byNameOrID(text)
}

// byNameOrID returns the index of a partner by name, by ID, or by both as "name (ID)".
func (p *partnerNames) byNameOrID(text string) (at int, known bool) {
	word := strings.ToLower(strings.TrimSpace(text))
	for _, words := range []map[string]int{p.place, p.byName, p.ids} {
		if at, known = words[word]; known {
			return at, true
		}
	}
	open := strings.LastIndexByte(word, '(')
	if open < 0 || !strings.HasSuffix(word, ")") {
		return 0, false
	}
	name, named := p.byName[strings.TrimSpace(word[:open])]
	id, numbered := p.ids[strings.TrimSpace(word[open+1:len(word)-1])]
	return id, named && numbered && name == id
}
