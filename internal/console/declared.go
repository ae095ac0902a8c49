package console

import "time"

// An App is a declared app, or one that the ledger knows. The ledger has what became of the
// declaration, and no value that the service shows.
type App struct {
	ID, Name  string
	Condition AppCondition
	Token     string
	Ticket    string // of the last migration
	Run       string
	At        time.Time
	Fields    []AppField // as declared; none: the file doesn't declare it any more
}

// An AppField is one declared value. Of a secret it says only that there is one.
type AppField struct {
	Path, Declared string
	Otherwise      bool // the service took it, and shows something else or nothing
}

// An AppCondition is how far an app is.
type AppCondition string

// The conditions. An app without one was never applied.
const (
	AppSending AppCondition = "sending"
	AppWaiting AppCondition = "waiting"
	AppDone    AppCondition = "done"
	AppFailed  AppCondition = "failed"
)

// appState returns how far an app is, as it is shown.
func appState(a App) state {
	switch a.Condition {
	case AppSending:
		return state{"soft", "◔", "being sent"}
	case AppWaiting:
		return state{"soft", "…", "migration under way"}
	case AppFailed:
		return failed
	case AppDone:
		return state{"good", "✔", "as declared"}
	}
	return state{"none", "·", "never applied"}
}

// An appLine is an app with what is known of each of its fields.
type appLine struct {
	App
	State  state
	Linked string // the run, if it has a page
	Fields []fieldLine
}

// A fieldLine is a declared value, and how far it is at the service.
type fieldLine struct {
	AppField
	State state
	Real  string // what the service has instead, in words; empty: State says all
}

// declaredOf returns the page of a job of kind apps.
func declaredOf(s snapshot, j JobStatus) view {
	var body struct {
		Job  string
		Apps []appLine
	}
	body.Job = j.Name
	for _, a := range j.Declared {
		l := appLine{App: a, State: appState(a), Linked: s.linked(a.Run)}
		for _, f := range a.Fields {
			l.Fields = append(l.Fields, lineOfField(a, f))
		}
		body.Apps = append(body.Apps, l)
	}
	return view{j.Name, "declared.html", body}
}

// lineOfField returns a field with what the ledger knows of its value at the service.
func lineOfField(a App, f AppField) fieldLine {
	switch {
	case f.Otherwise:
		return fieldLine{f, state{"warn", "≠", "otherwise"}, "the service took it, and shows something else or nothing"}
	case a.Condition == AppDone:
		return fieldLine{f, state{"good", "✔", "as declared"}, ""}
	case a.Condition == AppWaiting || a.Condition == AppSending:
		return fieldLine{f, state{"soft", "…", "on its way"}, ""}
	}
	return fieldLine{f, state{"none", "?", "the ledger can't tell"}, ""}
}
