package apps

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
)

// listing answers the list of apps by page, which is told offset and limit; -1 stands for a
// parameter that isn't sent.
func listing(page func(offset, limit int) answer) func(*http.Request, answer) answer {
	number := func(text string) int {
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
		return -1
	}
	return func(q *http.Request, as answer) answer {
		if q.URL.Path != "/app-automation/apps/list" {
			return as
		}
		return page(number(q.URL.Query().Get("offset")), number(q.URL.Query().Get("limit")))
	}
}

// slice is a page of a list of apps, the first of which is number from.
func slice(from, to int) answer {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf(
			`{"adjust_app_token":"tok%09d","store_id":"com.example.g%d","platform":"android","name":"Game %d"}`, i, i,
			i))
	}
	return ok("[" + strings.Join(all, ",") + "]")
}

// The list of apps is read to its end, whatever a service makes of pages, and asking for it ends.
func TestList(t *testing.T) {
	for name, c := range map[string]struct {
		page func(offset, limit int) answer
		want int // -1: an error
		most int // requests
	}{
		"no pages, parameters ignored": {func(int, int) answer { return slice(0, 7) }, 7, 2},
		"no pages, parameters refused": {func(o, _ int) answer {
			return map[bool]answer{true: slice(0, 7), false: {400, "unknown parameter"}}[o < 0]
		}, 7, 2},
		"the first page ever again": {func(int, int) answer { return slice(0, 3) }, 3, 2},
		"pages of three":            {func(o, _ int) answer { return slice(max(o, 0), min(7, max(o, 0)+3)) }, 7, 4},
		"pages of three, and no longer": {func(o, l int) answer {
			return map[bool]answer{true: slice(max(o, 0), min(7, max(o, 0)+3)),
				false: {400, "limit: 3 at most"}}[l <= 3]
		}, 7, 4},
		"pages of limit": {func(o, l int) answer {
			return slice(max(o, 0),
				min(7, max(o, 0)+max(l, 2)))
		}, 7, 5},
		"pages that overlap": {func(o, _ int) answer { return slice(max(o-1, 0), min(7, max(o-1, 0)+3)) }, 7,
			6},
		"a null behind the last": {func(o, _ int) answer {
			return map[bool]answer{true: slice(0, 3),
				false: ok("null")}[o < 3]
		}, 3, 2},
		"a second page that fails": {func(o, _ int) answer {
			return map[bool]answer{true: slice(0, 3),
				false: {500, "oops"}}[o < 3]
		}, -1, 2},
		"a token refused on the second": {func(o, _ int) answer {
			return map[bool]answer{true: slice(0, 3),
				false: {401, "who"}}[o < 3]
		}, -1, 3},
		"none": {func(int, int) answer { return ok("[]") }, 0, 1},
		"no tokens": {func(int, int) answer {
			return ok(strings.ReplaceAll(slice(0, 3).body,
				"adjust_app_token", "internal"))
		}, 3, 2},
	} {
		asked := 0
		r := newRig(t, emulator.Options{})
		r.o.Client = r.clientOver(rigToken, &http.Client{Transport: &talking{listing(func(offset, limit int) answer {
			asked++
			if asked > 20 {
				t.Fatalf("%s: it doesn't end", name)
			}
			return c.page(offset, limit)
		}), r.server.Client().Transport}})
		all, err := List(t.Context(), r.o.Client)
		if (err != nil) != (c.want < 0) || err == nil && len(all) != c.want || asked > c.most {
			t.Errorf("%s: %d apps by %d requests, %v; want %d by %d at most", name, len(all), asked, err, c.want,
				c.most)
		}
	}
}

// A list that goes on for ever is an error and not a run without an end.
func TestEndlessList(t *testing.T) {
	before := mostApps
	mostApps = 100
	defer func() { mostApps = before }()
	r := newRig(t, emulator.Options{})
	r.o.Client = r.clientOver(rigToken,
		&http.Client{Transport: &talking{listing(func(o, _ int) answer { return slice(max(o, 0), max(o, 0)+10) }),
			r.server.Client().Transport}})
	if all, err := List(t.Context(), r.o.Client); err == nil || !strings.Contains(err.Error(), "no end") {
		t.Errorf("%d apps, %v", len(all), err)
	}
}

// An app whose own page shows no token has the one that the list shows; the commands don't ask for
// the app without one.
func TestTokenOfTheList(t *testing.T) {
	tokenless := func(q *http.Request, as answer) answer {
		if q.Method == http.MethodGet && q.URL.Path == "/app-automation/app" {
			as.body = strings.ReplaceAll(as.body, "adjust_app_token", "internal")
		}
		return as
	}
	r := newRig(t, emulator.Options{Readings: plainly}, game(1))
	r.wants(r.run(), 1, 0, 0)
	want := r.told[0].Token
	r.o.Client = r.clientOver(rigToken, &http.Client{Transport: &talking{tokenless, r.server.Client().Transport}})
	if got, err := Find(t.Context(), r.o.Client, "android", "com.example.g1"); got != want || err != nil {
		t.Errorf("token %q, %v; want %q", got, err, want)
	}
	r.o.Client = r.clientOver(rigToken, &http.Client{Transport: &talking{func(q *http.Request, as answer) answer {
		if strings.HasSuffix(q.URL.Path, "/apps/list") {
			return answer{403, "no"}
		}
		return tokenless(q, as)
	}, r.server.Client().Transport}})
	if got, err := Find(t.Context(), r.o.Client, "android", "com.example.g1"); err == nil ||
		!strings.Contains(err.Error(), "without its token") {
		t.Errorf("token %q, %v", got, err)
	}
}
