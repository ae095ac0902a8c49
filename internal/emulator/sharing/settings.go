package sharing

import (
	"encoding/json"
	"slices"
)

// readSettings reads partner_sharing_settings in each of its forms; what is invalid goes to bad,
// the rest is returned.
func (p *partnerNames) readSettings(o objectParam, bad *issues) []setting {
	r := settingsReader{partners: p, bad: bad}
	for _, raw := range o.texts {
		r.text(raw)
	}
	r.pieces(o.pieces)
	return inOrder(r.out)
}

// settingsReader gathers settings from the forms that they may come in.
type settingsReader struct {
	partners *partnerNames
	bad      *issues
	out      []setting
}

// text reads {partner: {metric: bool}}, a form object, or an array of form objects.
func (r *settingsReader) text(raw json.RawMessage) {
	if list, ok := jsonParts(raw, '['); ok {
		for _, one := range list {
			if members, ok := jsonParts(one.value, '{'); ok {
				r.formObject(members)
			} else {
				r.bad.add("Invalid " + settingsName)
			}
		}
		return
	}
	members, ok := jsonParts(raw, '{')
	switch {
	case !ok:
		r.bad.add("Invalid " + settingsName)
	case slices.ContainsFunc(members, func(m member) bool { return m.name == "partnerName" }):
		r.formObject(members)
	default:
		for _, m := range members {
			r.partner(m.name, m.value)
		}
	}
}

// partner reads one partner's {metric: bool}.
func (r *settingsReader) partner(name string, raw json.RawMessage) {
	partner, known := r.partners.find(name)
	if !known {
		r.bad.add("Unknown partner", name)
		return
	}
	members, ok := jsonParts(raw, '{')
	if !ok {
		r.bad.add("Invalid settings of partner", name)
		return
	}
	for _, m := range members {
		r.metric(partner, name, m.name, string(m.value))
	}
}

// metric takes one setting, if its metric and its value are valid.
func (r *settingsReader) metric(partner int, name, metric, value string) {
	switch {
	case covered[metric] == 0:
		r.bad.add("Unknown metric", name, metric)
	case value != "true" && value != "false":
		r.bad.add("Invalid value", name, metric)
	default:
		r.out = append(r.out, setting{partner, metric, value == "true"})
	}
}

// formObject reads {partnerName, key, value}. A value is a boolean, or its name as a text.
func (r *settingsReader) formObject(members []member) {
	var f formObject
	for _, m := range members {
		text, isText := textOf(m.value)
		if !isText {
			text = string(m.value)
		}
		f.put(m.name, text)
	}
	r.form(f)
}

// formObject is one setting as an object of a form.
type formObject struct{ partnerName, key, value string }

// put takes one of the three fields; known is false for another name.
func (f *formObject) put(name, value string) (known bool) {
	switch name {
	case "partnerName":
		f.partnerName = value
	case "key":
		f.key = value
	case "value":
		f.value = value
	default:
		return false
	}
	return true
}

// form takes the setting of a form object.
func (r *settingsReader) form(f formObject) {
	if f.partnerName == "" || f.key == "" {
		r.bad.add("Invalid " + settingsName)
		return
	}
	partner, known := r.partners.find(f.partnerName)
	if !known {
		r.bad.add("Unknown partner", f.partnerName)
		return
	}
	r.metric(partner, f.partnerName, f.key, f.value)
}

// pieces reads form objects that came as [0][partnerName]=..., [0][key]=..., [0][value]=...
func (r *settingsReader) pieces(list []piece) {
	place := map[string]int{}
	var forms []formObject
	for _, p := range list {
		if len(p.path) != 2 {
			r.bad.add("Invalid " + settingsName)
			continue
		}
		i, known := place[p.path[0]]
		if !known {
			i = len(forms)
			place[p.path[0]] = i
			forms = append(forms, formObject{})
		}
		if !forms[i].put(p.path[1], p.value) {
			r.bad.add("Invalid " + settingsName)
		}
	}
	for _, f := range forms {
		r.form(f)
	}
}
