// Package slugs records how event slugs change over time. Without it, a slug that was renamed in
// the service's dashboard would show up as a nightly run that fails, and nobody could say since
// when, or what the event is called now.
//
//	snapshot ─ Compare with the last one ─▶ changes ─ Note ─▶ tables/{table}/notes.json
//
// An event is known by its token in an app, which stays the same when its name and its slug change.
// So a token under another slug than before is a renamed event, and not one that vanished beside
// one that appeared.
package slugs

import (
	"cmp"
	"fmt"
	"slices"
)

// An Event is an event slug as one snapshot has it.
type Event struct {
	Label
	Owners []Owner `json:"in"`
}

// A Label is what reports and people call an event: its slug and its name.
type Label struct {
	Slug string `json:"slug"`
	Name string `json:"name"`
}

// An Owner is an app that has the event, and the event's token there. Either may be empty, when the
// service didn't say which token is whose.
type Owner struct {
	App   string `json:"app,omitempty"`
	Token string `json:"token,omitempty"`
}

// A Change says how one slug changed between two snapshots.
type Change struct {
	Was    Label   `json:"was,omitzero"` // zero when the slug appeared
	Now    Label   `json:"now,omitzero"` // zero when the slug vanished
	Owners []Owner `json:"in"`           // where it changed
	Moment
}

// Kind returns the word for the change.
func (c Change) Kind() string {
	switch {
	case c.Was.Slug == "":
		return "appeared"
	case c.Now.Slug == "":
		return "vanished"
	case c.Was.Slug != c.Now.Slug:
		return "renamed"
	}
	return "named" // the name changed, and the slug didn't
}

// Lost reports whether the old slug doesn't exist any more where the change happened.
func (c Change) Lost() bool { return c.Was.Slug != "" && c.Was.Slug != c.Now.Slug }

// String returns what happened and when, for messages.
func (c Change) String() (text string) {
	switch c.Kind() {
	case "appeared":
		text = c.Now.Slug + " appeared"
	case "vanished":
		text = c.Was.Slug + " vanished"
	case "renamed":
		text = fmt.Sprintf("%s became %s", c.Was.Slug, c.Now.Slug)
	default:
		text = fmt.Sprintf("%s is named %q instead of %q", c.Now.Slug, c.Now.Name, c.Was.Name)
	}
	return text + " " + c.When()
}

// Compare returns how the slugs changed from one list to the next. An app that gets an event which
// other apps have already isn't a change, because a new app would mean many changes. An app that
// loses an event is a change.
func Compare(was, is []Event) (changes []Change) {
	before, after := labels(was), labels(is)
	type place struct {
		slug string
		Owner
	}
	there, slugOf := map[place]bool{}, map[Owner]string{}
	for _, e := range is {
		for _, o := range e.Owners {
			for _, known := range []Owner{o, {App: o.App}, {}} {
				there[place{e.Slug, known}] = true
			}
			slugOf[o] = e.Slug
		}
	}
	taken := map[string]bool{} // new slugs of renamed events
	for _, e := range was {
		became := map[string][]Owner{} // owners by the new slug; "" is for those that lost the event
		for _, o := range e.Owners {
			next, known := slugOf[o]
			switch {
			case there[place{e.Slug, o}]:
			case known && o.Token != "":
				became[next], taken[next] = append(became[next], o), true
			case !there[place{e.Slug, Owner{App: o.App}}]: // not another token of it in the same app
				became[""] = append(became[""], o)
			}
		}
		if now, known := after[e.Slug]; known && now.Name != e.Name {
			became[e.Slug] = e.Owners
		}
		for slug, owners := range became {
			changes = append(changes, Change{Was: e.Label, Now: after[slug], Owners: owners})
		}
	}
	for _, e := range is {
		if _, known := before[e.Slug]; !known && !taken[e.Slug] {
			changes = append(changes, Change{Now: e.Label, Owners: e.Owners})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(cmp.Or(a.Was.Slug, a.Now.Slug), cmp.Or(b.Was.Slug, b.Now.Slug)),
			cmp.Compare(a.Now.Slug, b.Now.Slug))
	})
	return changes
}

// labels returns the labels of events by their slugs, and the zero label for the slug "".
func labels(list []Event) map[string]Label {
	all := map[string]Label{"": {}}
	for _, e := range list {
		all[e.Slug] = e.Label
	}
	return all
}

// sorted returns events ordered by slug and their owners by app and token, so that lists can be
// compared. It leaves out events without a slug.
func sorted(list []Event) []Event {
	list = slices.DeleteFunc(slices.Clone(list), func(e Event) bool { return e.Slug == "" })
	slices.SortStableFunc(list, func(a, b Event) int { return cmp.Compare(a.Slug, b.Slug) })
	for i := range list {
		list[i].Owners = slices.SortedFunc(slices.Values(list[i].Owners), func(a, b Owner) int {
			return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.Token, b.Token))
		})
	}
	return list
}
