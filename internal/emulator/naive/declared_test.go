package naive

import (
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

// naiveEvent is an event of the account: its name and its number in app_events.
type naiveEvent struct {
	name   string
	number int64
}

// naiveDeclare adds apps and events to an account, and gives apps other names, all by app
// automation's own calls, whose jobs copy the template's events besides. What reports are to make
// of it is worked out here, from the names that were sent and the tokens that came back.
func naiveDeclare(t *testing.T, w *naiveWorld) {
	t.Helper()
	tokens := map[string]string{} // by the event's name
	app := func(name, store string, events ...string) {
		token := emutest.MakeApp(t, w.s, name, store)
		w.apps, w.names[token] = append(w.apps, token), name
		for i, event := range emutest.MakeEvents(t, w.s, token, events...) {
			if tokens[events[i]] == "" {
				tokens[events[i]] = event
			}
		}
	}
	app("Working Title", "com.example.first", "Purchase", "Boss beaten", "勝利")
	app("Second, \"new\"", "com.example.second", "勝利", "BOSS BEATEN", "Level up d3", "購入完了")
	emutest.MakeEvents(t, w.s, w.apps[0], "Boss beaten", "Registration", "Farewell Gift")
	renamed := w.apps[len(w.apps)-2]
	if again := emutest.MakeApp(t, w.s, "Ünder a new name", "com.example.first"); again != renamed {
		t.Fatalf("%s has become %s", renamed, again)
	}
	emutest.Automate(t, w.s, "POST", "app/"+w.apps[1], `{"name": "second of the seed"}`, nil)
	w.names[renamed], w.names[w.apps[1]] = "Ünder a new name", "second of the seed"
	numbers := map[string]int64{}
	w.read(t, "SELECT name, event FROM declared_events", func(row []naiveVal) { numbers[row[0].s] = row[1].i })
	for name, number := range numbers {
		slug := naiveSlug(name)
		if strings.Trim(slug, "_") == "" {
			slug = "event_" + tokens[name]
		}
		if e, known := w.events[slug]; known && e.number != number {
			t.Fatalf("the event %s has the numbers %d and %d", slug, e.number, number)
		} else if !known && name != "BOSS BEATEN" { // of one slug the first name counts
			w.events[slug] = naiveEvent{name, number}
		}
	}
	for _, slug := range []string{"boss_beaten", "level_up_d3", "event_" + tokens["勝利"], "event_" + tokens["購入完了"],
		"purchase", "farewell_gift"} {
		if w.events[slug].name == "" {
			t.Fatalf("no event %s was declared: %v", slug, numbers)
		}
	}
}

// naiveRestate changes what the account holds of days that are past, and the names in their rows.
func naiveRestate(t *testing.T, w *naiveWorld) {
	t.Helper()
	err := w.s.Restate(t.Context(),
		emulator.Restatement{Day: "2026-05-17", Until: "2026-05-19", Metric: "installs", Factor: 1.7},
		emulator.Restatement{Day: "2026-05-18", Where: map[string]string{"app_token": w.apps[1]}, Metric: "cost",
			Factor: 0.3},
		emulator.Restatement{Day: "2026-05-18", Until: "2026-05-20", Where: map[string]string{"network": "Organic"},
			Rename: map[string]string{"campaign": "Late, \"but\" right"}},
		emulator.Restatement{Day: "2026-05-19", Where: map[string]string{"app_token": w.apps[1]},
			Rename: map[string]string{"network": "Merged", "campaign": "unknown"}})
	if err != nil {
		t.Fatal(err)
	}
}

// naiveSlug is a name as slugs have it.
func naiveSlug(name string) string {
	out := []byte{}
	for _, c := range strings.ToLower(name) {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789", c) {
			out = append(out, byte(c))
		} else {
			out = append(out, '_')
		}
	}
	return string(out)
}
