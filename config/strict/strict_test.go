package strict_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/config/strict"
)

// A boat stands for whatever a caller reads.
type boat struct {
	name  string
	crew  []string
	speed float64
	sails bool
	rest  time.Duration
	port  map[string]string
}

var small = strict.Matching(strict.Expr(`^[a-z]+$`), "small letters")

func boatObject(b *boat) strict.Object {
	*b = boat{name: "kestrel", rest: 2 * time.Minute}
	return strict.Object{
		What: "a boat",
		Fields: []strict.Field{
			strict.Optional("name", small, &b.name, "heron", "Name of the boat."),
			strict.Required("crew", strict.TextsOf(strict.Word), &b.crew, "[ana, 7]", "Who sails."),
			strict.Optional("speed", strict.Number, &b.speed, "4.5", "Speed in knots."),
			strict.Optional("sails", strict.Bool, &b.sails, "", "Whether it has sails."),
			strict.Optional("rest", strict.Duration(time.Second), &b.rest, "", "Rest a day."),
			strict.Optional("port", strict.MapOf(func(d *strict.Decoder, e strict.Entry, key string) (string, bool) {
				return strict.Text.Read(d, e.Value, key)
			}, strict.Text.Schema), &b.port, "", "Ports by country."),
		},
		Refused: map[string]string{"motor": "boats have sails"},
		Check: func(d *strict.Decoder, _ strict.Node, at map[string]strict.Node) {
			if b.speed > 5 && !b.sails {
				d.Warn(at["speed"], "speed: fast for a boat without sails")
			}
		},
	}
}

func read(text string, o strict.Options) (b boat, warnings []*strict.Error, err error) {
	o.File, o.Example = "boat.yml", "example.yml"
	warnings, err = strict.Read([]byte(text), boatObject(&b), o)
	return b, warnings, err
}

// All mistakes of a file are found together, each with its place, in the order of the file.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "boat.yml:1:1: the file is empty; example.yml shows what belongs here",
		"crew: [a\n":               "boat.yml:1:7: not YAML: sequence end token ']' not found",
		"crew: [a]\n---\ncrew: []": "boat.yml:3:1: a second YAML document begins here; the file must be one document",
		"nam: x\nrest: 1ms\nmotor: 1\ncolour: red": `boat.yml:1:1: a boat: required key "crew" is missing, as in crew: [ana, 7]
boat.yml:1:1: unknown key "nam" in a boat; did you mean name?
boat.yml:2:7: rest: want at least 1s, got 1ms
boat.yml:3:1: motor: boats have sails
boat.yml:4:1: unknown key "colour" in a boat; known: name, crew, speed, sails, rest, port`,
		"crew: [a, b, a]\ncrew: x\nname: A": `boat.yml:1:14: crew: a stands twice, first on line 1; leave one of them out
boat.yml:2:1: key "crew" is already set on line 1
boat.yml:3:7: name: want small letters, got "A"`,
		"crew: &c [a]\nport: {a: *c, b: *d}": `boat.yml:2:11: port: want text, got a list
boat.yml:2:18: port: want text, got an alias of an anchor that the file doesn't have`,
		"crew: [a]\nspeed: .inf\nsails: 1\nname:": `boat.yml:2:8: speed: want a number, got a number that isn't finite
boat.yml:3:8: sails: want true or false, got a number
boat.yml:4:1: name has no value`,
		"größe: [ü, *x]\n\xff": "boat.yml:2:1: the file is not UTF-8 from here on",
	} {
		_, _, err := read(text, strict.Options{})
		if err == nil || err.Error() != want {
			t.Errorf("%q: got\n%v\nwant\n%s", text, err, want)
		}
		var first *strict.Error
		if !errors.As(err, &first) || first.File != "boat.yml" {
			t.Errorf("%q: %T", text, err)
		}
	}
}

// A slip on every line of a long list is told a few times and counted, whatever else is wrong.
func TestManyMistakes(t *testing.T) {
	ports := func(n int) string {
		return "crew: x\nport:\n" + strings.Repeat("  a: [1]\n", n) // the same key again, and a list in place of text
	}
	_, _, err := read(ports(9), strict.Options{})
	if got := strings.Count(err.Error(), "\n"); got != 9 {
		t.Errorf("%d lines more:\n%v", got, err)
	}
	_, _, err = read(ports(166), strict.Options{})
	want := `boat.yml:1:7: crew: want a list, in brackets as in [one, two], or with a - in front of each element; got text
boat.yml:3:6: port: want text, got a list
boat.yml:4:3: key "a" is already set on line 3
boat.yml:5:3: key "a" is already set on line 3
boat.yml:6:3: key "a" is already set on line 3
boat.yml:168:3: and 162 more like it`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestValues(t *testing.T) {
	b, warnings, err := read("base: &b\n", strict.Options{})
	if err == nil {
		t.Errorf("%+v, %v", b, warnings)
	}
	b, warnings, err = read("crew: [ana, 7, true]\nspeed: 6\nport: {<<: {no: Oslo, dk: x}, dk: Ribe}\n",
		strict.Options{})
	if err != nil || b.name != "kestrel" || strings.Join(b.crew, " ") != "ana 7 true" || b.port["no"] != "Oslo" ||
		b.port["dk"] != "Ribe" || b.rest != 2*time.Minute {
		t.Errorf("%+v, %v", b, err)
	}
	if len(warnings) != 1 || warnings[0].Error() != "boat.yml:2:8: speed: fast for a boat without sails" {
		t.Errorf("warnings %v", warnings)
	}
}

// What stands for a variable is used, and never shown.
func TestVariables(t *testing.T) {
	env := func(name string) (string, bool) {
		return map[string]string{"NAME": "heron", "BAD": "S3CRET"}[name], name != "NONE"
	}
	b, _, err := read("crew: ['${NAME}', '$${NAME}']\nname: ${NAME}", strict.Options{Env: env})
	if err != nil || b.name != "heron" || strings.Join(b.crew, " ") != "heron ${NAME}" {
		t.Errorf("%+v, %v", b, err)
	}
	_, _, err = read("crew: ['${NONE}', '${1}']\nname: ${BAD}", strict.Options{Env: env})
	want := `boat.yml:1:8: the environment variable NONE isn't set; set it by export NONE=...; the text ${ itself is written $${
boat.yml:1:19: want ${NAME} of an environment variable; the text ${ itself is written $${
boat.yml:2:7: name: want small letters, got "${BAD}"`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if b, _, err := read("crew: ['${NONE}']", strict.Options{}); err != nil || b.crew[0] != "${NONE}" {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestLimits(t *testing.T) {
	long := strings.Repeat("x", 100)
	for text, want := range map[string]string{
		"crew: [" + long + "]":    "boat.yml:1:8: a value has 100 bytes; it may have at most 50",
		"crew: |\n  " + long:      "boat.yml:1:7: a value has 100 bytes; it may have at most 50",
		strings.Repeat("#\n", 99): "boat.yml:1:1: the file has more than 150 bytes, which is the most that it may have",
	} {
		if _, _, err := read(text, strict.Options{MaxFile: 150, MaxValue: 50}); err == nil ||
			strings.TrimSpace(err.Error()) != want {
			t.Errorf("%.20q: got %v, want %s", text, err, want)
		}
	}
}

func TestSchema(t *testing.T) {
	s := boatObject(new(boat)).Schema()
	strict.AllowVariables(s)
	text, err := s.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"name":{"type":"string","pattern":"(^[a-z]+$)|\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}","title":"small letters","description":"Name of the boat.","default":"kestrel","examples":["heron"]}`,
		`"rest":`, `"default":"2m"`, `"required":["crew"]`, `"additionalProperties":false`, `"examples":[["ana",7]]`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s\nlacks %s", text, want)
		}
	}
}
