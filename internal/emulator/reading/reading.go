// Package reading lists what the service's interface document leaves open, and the ways in which a
// reasonable service could do each of these things. Without it, emulator and client would share one
// guess of ours, and no test would notice that the real service does something else.
//
// A Topic is one thing that is left open, and its Readings are the ways to do it; the first is what
// the emulator does by default. A Set is a choice of one reading for each topic, which the
// emulator's endpoints look up:
//
//	--reading app-absent=404 ─ New ─ Set ─ Set.Is(AppAbsent, "404") in the endpoint that answers
//
// readings.md beside the emulator's documentation says what the client does with each reading, and
// which test checks that.
package reading

import (
	"fmt"
	"slices"
	"strings"
)

// A Topic is one thing that the interface document leaves open.
type Topic struct {
	Name     string    // such as app-absent
	Sentence string    // the words of the document that leave it open, or the nearest ones to what isn't mentioned
	Readings []Reading // the first is the default
}

// A Reading is one way in which a service could do what its Topic is about.
type Reading struct {
	Name  string // such as 404
	Means string // what the emulator does then, as a clause without a subject: "answers 404"
}

// Topics lists all topics in the order of the interface document's areas.
func Topics() []Topic {
	return slices.Concat(answers, automation, reporting, sharing, spend)
}

// A Set is a choice of one reading for each topic. The zero Set has the default of each.
type Set struct {
	chosen map[string]string // by topic; the rest have their defaults
}

// New returns the Set of choices such as "app-absent=404". Of two for one topic, the later counts.
func New(choices ...string) (Set, error) {
	s := Set{chosen: map[string]string{}}
	for _, choice := range choices {
		name, value, ok := strings.Cut(choice, "=")
		t, known := find(name)
		switch {
		case !known:
			return Set{}, fmt.Errorf("reading %q: no topic is named %q: emulator readings lists them", choice, name)
		case !ok || t.index(value) < 0:
			return Set{}, fmt.Errorf("reading %q: %s is one of %s", choice, name, strings.Join(t.names(), ", "))
		}
		s.chosen[name] = value
	}
	return s, nil
}

// Of returns the name of the reading chosen for a topic. It panics if there is no such topic.
func (s Set) Of(topic string) string {
	if value, ok := s.chosen[topic]; ok {
		return value
	}
	t, ok := find(topic)
	if !ok {
		panic("reading: no topic is named " + topic)
	}
	return t.Readings[0].Name
}

// Is reports whether the reading of this name is chosen for the topic. It panics if there is no
// such topic or reading.
func (s Set) Is(topic, name string) bool {
	if t, ok := find(topic); !ok || t.index(name) < 0 {
		panic("reading: there is no " + topic + "=" + name)
	}
	return s.Of(topic) == name
}

// find returns the topic of this name.
func find(name string) (Topic, bool) {
	for _, list := range [][]Topic{answers, automation, reporting, sharing, spend} {
		if i := slices.IndexFunc(list, func(t Topic) bool { return t.Name == name }); i >= 0 {
			return list[i], true
		}
	}
	return Topic{}, false
}

// index returns the index of the topic's reading of this name, or -1.
func (t Topic) index(name string) int {
	return slices.IndexFunc(t.Readings, func(r Reading) bool { return r.Name == name })
}

// names returns the names of the topic's readings.
func (t Topic) names() []string {
	var names []string
	for _, r := range t.Readings {
		names = append(names, r.Name)
	}
	return names
}
