package dateform

import (
	"testing"
	"time"
)

// A form reads what it describes, and what isn't a form is refused.
func TestLayout(t *testing.T) {
	want := time.Date(2026, 1, 31, 20, 5, 0, 0, time.UTC)
	for form, text := range map[string]string{
		"DD.MM.YYYY HH:mm": "31.01.2026 20:05", "MM/DD/YYYY hh:mm A": "01/31/2026 08:05 PM",
		"YYYY-MM-DDTHH:mm:ssZ": "2026-01-31T22:05:00+02:00",
		"D.M.YY H:mm":          "31.1.26 20:05", "YYYYMMDD HHmmss": "20260131 200500",
		"DD/MM/YYYY, HH:mm:ss ZZ": "31/01/2026, 15:05:00 -0500", "M/D/YYYY h:mm a": "1/31/2026 8:05 pm",
	} {
		layout, err := Layout(form)
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		if got, err := time.Parse(layout, text); err != nil || !got.Equal(want) {
			t.Errorf("%s by %s: %v, %v", text, layout, got, err)
		}
	}
	for _, form := range []string{"", "DD.MM", "DD.mm.YYYY", "02.01.2006", "YYYY-MM-DD hh:mm", "YYYY-MM-DD HH:MM",
		"YYYY-MM-DD mm", "DD.MM.YYYY ss", "DDD.MM.YYYY",
		"YYYY-MM-DD HH:mm X", "YYYY-MM-DD HH hh A", "YYYY-MM-DD A", "Jan 2, 2006", "%Y-%m-%d"} {
		if layout, err := Layout(form); err == nil {
			t.Errorf("%s is %s", form, layout)
		}
	}
}
