package console

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"sync"
	"time"

	"cloud.google.com/go/civil"

	"github.com/reportferry/reportferry/jobs/refresh"
)

//go:embed page
var files embed.FS

// assets are what pages refer to, by name: the style, and scripts without which they work too.
var assets, _ = fs.Sub(files, "page/asset")

// templates returns the templates of pages by name, such as overview.html, each with the layout
// around it. They are read when the first page is made, because most commands make none.
var templates = sync.OnceValue(func() map[string]*template.Template {
	shared := template.Must(template.New("layout.html").Funcs(functions).ParseFS(files, "page/layout.html",
		"page/part/*.html"))
	all := map[string]*template.Template{}
	names, _ := fs.Glob(files, "page/view/*.html")
	for _, name := range names {
		all[path.Base(name)] = template.Must(template.Must(shared.Clone()).ParseFS(files, name))
	}
	return all
})

// functions are what templates may call.
var functions = template.FuncMap{
	"moment": moment, "ago": ago, "span": span, "day": day, "count": count, "plural": plural, "args": args,
	"amount": amount, "list": func(all ...any) []any { return all },
	"took": took, "after": func(began, at time.Time) time.Duration { return at.Sub(began) },
	"more": func(all []string, shown int) int { return len(all) - shown },
}

// moment writes a time in a zone, with the time in UTC as a tooltip.
func moment(t time.Time, zone *time.Location) template.HTML {
	if t.IsZero() {
		return ""
	}
	utc := t.UTC().Format("2006-01-02 15:04:05 UTC")
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, //nolint:gosec // times have no markup
		t.UTC().Format(time.RFC3339), utc, t.In(zone).Format("2006-01-02 15:04")))
}

// ago returns how long ago a time was, or how far ahead it is, in its largest unit.
func ago(now, t time.Time) string {
	if d := t.Sub(now); d > 0 {
		return "in " + span(d)
	}
	return span(now.Sub(t)) + " ago"
}

// span writes a length of time in days, hours, minutes or seconds: in the largest unit that it has
// at least two of.
func span(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d >= 10*time.Second:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%.1f s", max(0, d.Seconds()))
}

// took writes how long something took, as exactly as people compare it.
func took(d time.Duration) string {
	switch {
	case d <= 0:
		return "0"
	case d < time.Millisecond:
		return "< 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// day names a partition.
func day(d civil.Date) string {
	if d == refresh.WholeTable {
		return "whole"
	}
	return d.String()
}

// count writes a whole number with a space before every three digits, which no language takes for a
// decimal separator.
func count(n int64) string { return grouped(fmt.Sprint(n)) }

// grouped puts a space before every three digits of a whole number.
func grouped(digits string) string {
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + " " + digits[i:]
	}
	return digits
}

// plural returns a number and a noun, in the plural unless the number is 1.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// args makes one map of names and values for a part of a template, because a template takes one
// value.
func args(pairs ...any) (map[string]any, error) {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("args: %v is no name", pairs[i])
		}
		m[name] = pairs[i+1]
	}
	return m, nil
}
