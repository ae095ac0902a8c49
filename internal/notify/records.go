package notify

import (
	"slices"
	"strings"
)

// fresh is a trouble with those of its records that no incident is about. Incidents about the others go on, unless they are of the past,
// and a run that began after them finds that all have heard of them.
func (e *edit) fresh(t Trouble) Trouble {
	about := map[string]int{}
	for at, i := range e.page.Incidents {
		for _, r := range i.Records {
			about[r] = at
		}
	}
	var fresh []string
	for _, r := range t.Records {
		at, known := about[r]
		if !known {
			fresh = append(fresh, r)
			continue
		}
		i := e.page.Incidents[at]
		heard := !slices.ContainsFunc(e.Receivers, func(to Receiver) bool { return to.awaits(e.page.subject, i) })
		if ended := t.Past && heard && e.Began.After(i.At); i.Kind != resolved && !ended {
			on := t
			on.From, on.Through, on.Count, on.Records = i.From, i.Through, len(i.Records), i.Records
			e.goOn(at, on)
		}
	}
	if t.Records = fresh; fresh != nil {
		t.Count = len(fresh)
		t.From, _, _ = strings.Cut(fresh[0], "@")
		t.Through, _, _ = strings.Cut(fresh[len(fresh)-1], "@")
	}
	return t
}
