package apps

import (
	"strconv"

	"github.com/invopop/jsonschema"

	"github.com/reportferry/reportferry/config/strict"
	"github.com/reportferry/reportferry/internal/catalog"
)

// wantReference says in error messages what must stand in place of a secret.
const wantReference = "a reference, never the secret itself: ${NAME} of an environment variable, or ${file:/path}"

// referenceForm matches a Reference. Unlike the service's token, a secret of an app can't be a
// runtimevar URL, because an app has dozens of secrets.
var (
	referenceForm = strict.Expr(`^\$\{([A-Za-z_][A-Za-z0-9_]*|file:[^}\x00-\x1f\x7f-\x9f]+)\}$`)

	secret = strict.As(strict.Reference(referenceForm, wantReference),
		func(_ *strict.Decoder, _ strict.Node, _, s string) (Reference, bool) { return Reference(s), true })
)

// channelSetup is the shape of channel_setup: the partners that the interface document lists, each
// with its parameters.
var channelSetup = strict.Shape[map[string]map[string]any]{
	Read: func(d *strict.Decoder, n strict.Node, key string) (map[string]map[string]any, bool) {
		all := map[string]map[string]any{}
		_, ok := strict.ObjectOf(func(*struct{}) strict.Object { return setupObject(all) }).Read(d, n, key)
		return all, ok
	},
	Schema: func() *jsonschema.Schema { return setupObject(map[string]map[string]any{}).Schema() },
}

// setupObject describes channel_setup, with a key for each partner. It reads the values into all,
// and keeps also a partner without parameters.
func setupObject(all map[string]map[string]any) strict.Object {
	o := strict.Object{What: "channel_setup", Refused: map[string]string{}}
	for i, p := range catalog.Partners() {
		// The service's own answers name the partners partner_1, partner_2 and so on.
		o.Refused["partner_"+strconv.Itoa(i+1)] = "write the partner's slug, " + p.Slug
		partner := strict.ObjectOf(func(into *map[string]any) strict.Object {
			*into = map[string]any{}
			return partnerObject(p, *into)
		})
		o.Fields = append(o.Fields, strict.Field{
			Key: p.Slug, Doc: "Parameters of this partner.", Schema: partner.Schema,
			Read: func(d *strict.Decoder, n strict.Node) { all[p.Slug], _ = partner.Read(d, n, p.Slug) },
		})
	}
	return o
}

// partnerObject describes the parameters of one partner, of the types that the interface document
// gives them. It reads their values into the map.
func partnerObject(p catalog.Partner, into map[string]any) strict.Object {
	o := strict.Object{What: p.Slug}
	for _, s := range p.Setup {
		read := setting(s)
		doc := "Parameter of the partner, as text."
		switch {
		case s.Secret:
			doc = "Secret of the partner, by reference."
		case s.Type == catalog.SetupFlag && !s.Required:
			doc = "Switch of the partner; " + strconv.FormatBool(s.Default) + " by default."
		case s.Type == catalog.SetupFlag:
			doc = "Switch of the partner."
		}
		o.Fields = append(o.Fields, strict.Field{
			Key: s.Name, Required: s.Required, Doc: doc, Schema: read.Schema,
			Read: func(d *strict.Decoder, n strict.Node) {
				if v, ok := read.Read(d, n, s.Name); ok {
					into[s.Name] = v
				}
			},
		})
	}
	return o
}

// setting returns the shape of a partner's parameter.
func setting(s catalog.Setup) strict.Shape[any] {
	var one strict.Shape[any]
	switch {
	case s.Type == catalog.SetupFlag:
		one = anyOf(strict.Bool)
	case s.Secret:
		one = anyOf(secret)
	default:
		one = strict.Shape[any]{Read: textOrReference, Schema: strict.Word.Schema}
	}
	if s.Type != catalog.SetupTexts {
		return one
	}
	return strict.Shape[any]{
		Read: func(d *strict.Decoder, n strict.Node, key string) (any, bool) {
			var list []any
			for _, element := range d.Elements(n, key) {
				if v, ok := one.Read(d, element, key); ok {
					list = append(list, v)
				}
			}
			return list, len(list) > 0
		},
		Schema: func() *jsonschema.Schema {
			return &jsonschema.Schema{Type: "array", Items: one.Schema(), MinItems: strict.AtLeastOne}
		},
	}
}

// anyOf returns s with a value of type any, so that it can be kept among values of other types.
func anyOf[T any](s strict.Shape[T]) strict.Shape[any] {
	return strict.As(s, func(_ *strict.Decoder, _ strict.Node, _ string, v T) (any, bool) { return v, true })
}

// longWord reads the text of a parameter that isn't a secret.
var longWord = plain(strict.Word, 4096)

// textOrReference reads a text, a number as it is spelled, or a reference.
func textOrReference(d *strict.Decoder, n strict.Node, key string) (any, bool) {
	v, _ := d.Scalar(n)
	if s, _ := v.(string); referenceForm.MatchString(s) {
		return Reference(s), true
	}
	if _, isFlag := v.(bool); isFlag {
		d.Fail(n, "%s: want text, got %s", key, d.Describe(n))
		return nil, false
	}
	s, ok := longWord.Read(d, n, key)
	return s, ok
}
