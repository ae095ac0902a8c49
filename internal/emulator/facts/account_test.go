package facts

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"
)

// An account that somebody holds stays as it was, whatever is declared later, and nothing is left
// of an edit that failed.
func TestAnAccountStays(t *testing.T) {
	t.Parallel()
	w := New(7, 3, 20_000, Hostile)
	if err := w.Open("", ""); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	print := func(a *Account) string { return fmt.Sprintf("%+v %+v", a.Apps, a.Catalog) }
	declare := func(failure error, list ...Declared) error {
		return w.Change(t.Context(), func(e *Edit) error {
			for _, d := range list {
				if err := e.Declare(t.Context(), d, 20_010); err != nil {
					return err
				}
			}
			return failure
		})
	}
	old := w.Account().Apps[0]
	steps := [][]Declared{
		{{Token: "abc", Name: "First", Platform: "android", StoreID: "com.example.first",
			Events: []AppEvent{{Name: "Purchase", Token: "t1"}, {Name: "Won", Token: "t2"}}}},
		{{Token: "abc", Name: "First again", Events: []AppEvent{{Name: "WON", Token: "t3"}}},
			{Token: old.Token, Name: "Other", Events: []AppEvent{{Name: "Won", Token: "t4"}}}},
		{{Token: "abc", Name: "First again", Events: []AppEvent{{Name: "Purchase", Token: "t5"}}},
			{Token: "def", Name: "Second", Platform: "ios", StoreID: "1"}},
	}
	sorry := errors.New("sorry")
	for i, step := range steps {
		held := w.Account()
		before := print(held)
		rows := tableSizes(t, w)
		if err := declare(sorry, step...); !errors.Is(err, sorry) || w.Account() != held || print(held) != before ||
			tableSizes(t, w) != rows {
			t.Errorf("step %d: an edit that failed, with %v, has left something", i, err)
		}
		if err := declare(nil, step...); err != nil {
			t.Fatal(err)
		}
		if print(held) != before {
			t.Errorf("step %d has changed the account that was held", i)
		}
		changed := w.Account()
		if after := print(changed); after == before || tableSizes(t, w) == rows {
			t.Errorf("step %d has changed nothing", i)
		}
		if err := declare(nil, step...); err != nil || w.Account() != changed {
			t.Errorf("step %d, done twice, is another account, %v", i, err)
		}
	}
	won := w.Account().Catalog.BySlug("won")
	if got := fmt.Sprint(won.Name, won.AppToken, won.Tokens); got != fmt.Sprintf("Won[abc %s] [t2 t3 t4]", old.Token) {
		t.Errorf("the event is %s", got)
	}
	if a := w.Account(); len(a.Apps) != 5 || a.MadeUp != 3 || a.Find("def") != 4 || a.Find("ghi") != -1 ||
		a.Apps[4].Slices[0].TextOf("store_type") != "app_store" {
		t.Errorf("apps %+v", a.Apps)
	}
}

// tableSizes are the rows of the tables that an edit writes to, and the names in them.
func tableSizes(t *testing.T, w *World) string {
	t.Helper()
	var out string
	err := w.Store.Query(t.Context(),
		`SELECT (SELECT group_concat(app_name) FROM slices)||(SELECT count(*) FROM app_events)||
		(SELECT coalesce(group_concat(name),'') FROM declared_apps)||(SELECT count(*) FROM declared_events)`, nil, func(rows *sql.Rows) error {
			rows.Next()
			return rows.Scan(&out)
		})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
