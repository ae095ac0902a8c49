package apps

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
)

// migrate copies one section from the job's template into the app, with the app's overrides in
// place, and notes the result in the ticket.
func (r *jobRun) migrate(t *ticket, name string) error {
	if name == "partners" && slices.Contains(t.Failed, "events") { // partners' links name events
		t.Failed = append(t.Failed, name)
		t.Result[name] = blockedResult{name, "Could not be started because events section has failed"}
		return nil
	}
	template, err := r.app(t.Template)
	if err != nil {
		return fmt.Errorf("template: %w", err)
	}
	a, err := r.app(t.App)
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	def, _ := findSection(name)
	m := &migration{service: r.call.service, tx: r.call.tx, app: a, section: def,
		fault: r.call.service.jobs.next(a, name), result: sectionResult{[]string{}, []itemFailure{}}}
	// Copy the section, whose settings are items or an object.
	wanted := def.overridden(template.Settings[name], a.Overrides[name])
	if list, ok := wanted.([]map[string]any); ok {
		m.items(list)
	} else if err := m.object(wanted.(map[string]any)); err != nil {
		return err
	}
	if len(m.result.Failures) > 0 {
		t.Failed = append(t.Failed, name)
	}
	t.Result[name] = m.result
	r.changed[a.Token] = true
	return nil
}

// migration is the copying of one section into an app.
type migration struct {
	service *Service
	tx      *sql.Tx
	app     *accountApp
	section section
	fault   *Fault // nil: none
	result  sectionResult
}

// fails reports whether an item fails, and notes it as a failure or as a success.
func (m *migration) fails(item string) bool {
	if m.fault != nil && (m.fault.Item == "" || m.fault.Item == item) {
		m.result.Failures = append(m.result.Failures, itemFailure{item, m.fault.Detail})
		return true
	}
	m.result.Successes = append(m.result.Successes, item)
	return false
}

// items copies a section that is a list into the app. An item replaces the app's item of the same
// name; the app's other items stay.
func (m *migration) items(wanted []map[string]any) {
	for _, item := range wanted {
		name := fmt.Sprint(item[m.section.key])
		if m.fails(name) {
			continue
		}
		switch m.section.name {
		case "events":
			delete(item, "id") // the template's
			delete(item, "token")
			delete(item, "app_token")
			m.app.putEvent(m.service, item)
			continue
		case "partners":
			m.finishPartner(name, item)
		}
		own := objectsOf(m.app.Settings[m.section.name])
		i := indexOf(own, m.section.key, item[m.section.key])
		if m.section.name == "trackers" {
			item["token"] = m.service.streamOf("tracker", m.app.Token, name).Token(6)
			if i >= 0 {
				item["token"] = own[i]["token"]
			}
		}
		if i >= 0 {
			own[i] = item
		} else {
			own = append(own, item)
		}
		m.app.Settings[m.section.name] = own
	}
	if m.fault != nil && len(m.result.Failures) == 0 {
		// The section has no item of the fault's name, and is to fail all the same.
		m.result.Failures = append(m.result.Failures, itemFailure{m.fault.failureName(), m.fault.Detail})
	}
}

// finishPartner puts the app's own setup into a partner, and keeps only links of events that the
// app has.
func (m *migration) finishPartner(slug string, partner map[string]any) {
	setup := m.app.channelOf(slug)
	if setup == nil {
		setup = map[string]any{}
	}
	partner["channel_setup"] = setup
	links, _ := partner["events_linking"].(map[string]any)
	events := objectsOf(m.app.Settings["events"])
	maps.DeleteFunc(links, func(event string, _ any) bool { return indexOf(events, "name", event) < 0 })
}

// object copies a section that is an object into the app. A key that fails keeps the app's value.
func (m *migration) object(wanted map[string]any) error {
	own, _ := m.app.Settings[m.section.name].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if m.fails(key) {
			if old, ok := own[key]; ok {
				wanted[key] = old
			} else {
				delete(wanted, key)
			}
		}
	}
	if m.fault != nil && len(m.result.Failures) == 0 {
		m.result.Failures = append(m.result.Failures, itemFailure{m.fault.failureName(), m.fault.Detail})
	}
	if err := m.finishObject(wanted, own); err != nil {
		return err
	}
	m.app.Settings[m.section.name] = merged(own, wanted)
	return nil
}

// failureName returns the name that a failure has when the section has no item of the fault's name.
func (f *Fault) failureName() string {
	if f.Item == "" {
		return f.Section
	}
	return f.Item
}

// finishObject puts into a section the values that come from the app or the account and not from
// the template.
func (m *migration) finishObject(wanted, own map[string]any) error {
	overrides, _ := m.app.Overrides[m.section.name].(map[string]any)
	switch m.section.name {
	case "signature":
		if own["android_fingerprints"] != nil && overrides["android_fingerprints"] == nil {
			wanted["android_fingerprints"] = own["android_fingerprints"] // of the app's own certificates
		}
	case "purchase_verification":
		wanted["ios_shared_secret"] = m.app.Platform == ios && m.app.SecretHash != ""
		if m.app.Platform == android {
			r, err := findRecord(m.tx, "WHERE section='purchase_verification' AND store='google'")
			if err != nil {
				return err
			}
			wanted["google_key"] = r != nil
		}
	case "csv_upload_settings":
		if own["credentials"] == true {
			wanted["credentials"] = true // an app's own access stays
			return nil
		}
		wanted["credentials"] = false
		r, err := findRecord(m.tx, "WHERE section='csv_upload_settings'")
		if err != nil || r == nil {
			return err
		}
		data, err := m.service.vault.open(r)
		if err != nil {
			return err
		}
		maps.Copy(wanted, readCloud(data, fields{errs: &fieldErrors{}})) // it was checked before it was sealed
		wanted["credentials"] = true
	}
	return nil
}
