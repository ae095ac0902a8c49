package slugs

import (
	"strings"
	"testing"

	"cloud.google.com/go/civil"
	"pgregory.net/rapid"
)

// event makes an event of "slug name app:token app:token"; a slug's name is the slug in capitals
// unless one is given.
func event(text string) Event {
	fields := strings.Fields(text)
	e := Event{Label: Label{Slug: fields[0], Name: strings.ToUpper(fields[0])}}
	for _, f := range fields[1:] {
		app, token, owner := strings.Cut(f, ":")
		if !owner {
			e.Name = f
			continue
		}
		e.Owners = append(e.Owners, Owner{app, token})
	}
	return e
}

func list(text string) (out []Event) {
	for line := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(line) != "" {
			out = append(out, event(line))
		}
	}
	return out
}

func TestCompare(t *testing.T) {
	for _, c := range []struct{ name, was, is, want string }{
		{"the same", "buy a:1 b:2, level a:3", "buy a:1 b:2, level a:3", ""},
		{"in another order", "buy a:1 b:2, level a:3", "level a:3, buy b:2 a:1", ""},
		{"appeared", "buy a:1", "buy a:1, level a:3", "appeared >level a:3"},
		{"vanished", "buy a:1, level a:3 b:4", "buy a:1", "vanished level> a:3 b:4"},
		{"all vanished", "buy a:1", "", "vanished buy> a:1"},
		{"renamed in all apps", "buy a:1 b:2", "purchase a:1 b:2", "renamed buy>purchase a:1 b:2"},
		{"renamed in one of two apps", "buy a:1 b:2", "buy a:1, purchase b:2", "renamed buy>purchase b:2"},
		{"renamed to another that was there", "buy a:1, purchase b:2", "purchase a:1 b:2", "renamed buy>purchase a:1"},
		{"two slugs change places", "buy a:1, level a:2", "buy a:2, level a:1",
			"renamed buy>level a:1; renamed level>buy a:2"},
		{"split", "buy a:1 b:2", "order a:1, purchase b:2", "renamed buy>order a:1; renamed buy>purchase b:2"},
		{"renamed in one app, gone in the other", "buy a:1 b:2", "purchase a:1",
			"vanished buy> b:2; renamed buy>purchase a:1"},
		{"gone in one of two apps", "buy a:1 b:2", "buy a:1", "vanished buy> b:2"},
		{"in a further app", "buy a:1", "buy a:1 b:2", ""},
		{"another token in the same app", "buy a:1", "buy a:9", ""},
		{"one of two tokens of an app less", "buy a:1 a:2", "buy a:2", ""},
		{"the same token in another app is another event", "buy a:1", "purchase b:1",
			"vanished buy> a:1; appeared >purchase b:1"},
		{"another name", "buy Buy a:1", "buy Bought a:1", "named buy>buy a:1"},
		{"another name, and gone in an app", "buy Buy a:1 b:2", "buy Bought a:1",
			"vanished buy> b:2; named buy>buy a:1 b:2"},
		{"no tokens", "buy a: b:", "buy a:", "vanished buy> b:"},
		{"no tokens, another slug", "buy a:", "purchase a:", "vanished buy> a:; appeared >purchase a:"},
		{"tokens without apps", "buy :1", "purchase :1", "renamed buy>purchase :1"},
		{"the service says no more which token is whose", "buy a:1 b:2", "buy a: b: :1 :2", ""},
		{"the service says now which token is whose", "buy a: b: :1 :2", "buy a:1 b:2", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, change := range Compare(sorted(list(c.was)), sorted(list(c.is))) {
				text := change.Kind() + " " + change.Was.Slug + ">" + change.Now.Slug
				for _, o := range change.Owners {
					text += " " + o.App + ":" + o.Token
				}
				got = append(got, text)
			}
			if strings.Join(got, "; ") != c.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), c.want)
			}
		})
	}
}

// Every slug that comes or goes is in a change, and equal lists have none, whatever the lists are.
func TestCompareMissesNoSlug(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (out []Event) {
			for _, slug := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4,
				rapid.ID).Draw(t, name) {
				e := Event{Label: Label{slug, slug}}
				for _, token := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"", "1", "2", "3", "4"}), 1, 3,
					rapid.ID).Draw(t, "tokens") {
					e.Owners = append(e.Owners, Owner{rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "app"), token})
				}
				out = append(out, e)
			}
			return sorted(out)
		}
		was, is := draw("was"), draw("is")
		if again := Compare(was, was); len(again) > 0 {
			t.Fatalf("a list differs from itself: %v", again)
		}
		gone, come := map[string]bool{}, map[string]bool{}
		for _, c := range Compare(was, is) {
			gone[c.Was.Slug], come[c.Now.Slug] = true, true
			if len(c.Owners) == 0 {
				t.Errorf("nowhere: %+v", c)
			}
		}
		before, after := labels(was), labels(is)
		for slug := range before {
			if _, stays := after[slug]; !stays && !gone[slug] {
				t.Errorf("%s is gone, and no change says so", slug)
			}
		}
		for slug := range after {
			if _, known := before[slug]; !known && !come[slug] {
				t.Errorf("%s is new, and no change says so", slug)
			}
		}
	})
}

func TestChangeText(t *testing.T) {
	m := Moment{After: civil.Date{Year: 2026, Month: 3, Day: 3}, Day: civil.Date{Year: 2026, Month: 3, Day: 4}}
	buy, order := Label{"buy", "Buy"}, Label{"order", "Order"}
	for _, c := range []struct {
		change Change
		want   string
		lost   bool
	}{
		{Change{Now: buy, Moment: m}, "buy appeared between 2026-03-03 and 2026-03-04", false},
		{Change{Was: buy, Moment: m}, "buy vanished between 2026-03-03 and 2026-03-04", true},
		{Change{Was: buy, Now: order, Moment: m}, "buy became order between 2026-03-03 and 2026-03-04", true},
		{Change{Was: buy, Now: Label{"buy", "Bought"}, Moment: Moment{After: m.Day, Day: m.Day}},
			`buy is named "Bought" instead of "Buy" on 2026-03-04, before 00:00 UTC`, false},
	} {
		if got := c.change.String(); got != c.want || c.change.Lost() != c.lost {
			t.Errorf("%s, lost %v; want %s", got, c.change.Lost(), c.want)
		}
	}
}
