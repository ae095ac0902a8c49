package sharing

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// mostText is how many bytes one cell of JSON may have. All metrics of all partners take a sixth of
// that.
const mostText = 64 << 10

// A pair is one value of an object of objects.
type pair struct {
	outer, inner int    // the numbers of its keys in the outer and the inner object, from 1
	group, key   string // its keys in the outer and the inner object
	value        any    // bool, string, json.Number; of a form object null too
}

var (
	errNoJSON = errors.New("isn't a JSON object of objects")
	errTwice  = errors.New("has a key twice")
	errEmpty  = errors.New("is an empty object, or holds one")
	errLong   = errors.New("is longer than 65536 bytes")
	errValue  = errors.New("has a value that is an object, a list or null")
	errForm   = errors.New("has a form object without its three fields: partnerName, key and value")
)

// settingPairs reads {"partner": {"metric": true}}, or the same in form objects: {"partnerName":
// "partner", "key": "metric", "value": true}, alone or in a list. forms says that it read form
// objects.
func settingPairs(text string) (list []pair, forms bool, err error) {
	if len(text) > mostText {
		return nil, false, errLong
	}
	// An object of objects.
	inList := strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "[")
	if !inList {
		list, err = readPairs(text)
		if err == nil || !strings.Contains(text, "partnerName") {
			return list, false, err
		}
	}
	// Form objects, alone or in a list.
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if inList {
		_, _ = d.Token() // the bracket
	}
	for d.More() {
		x, err := readFormObject(d)
		if err != nil {
			return nil, true, err
		}
		x.outer, x.inner = len(list)+1, 1
		if list = append(list, x); !inList {
			break
		}
	}
	if inList {
		if _, err := d.Token(); err != nil {
			return nil, true, errNoJSON
		}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, true, errNoJSON
	}
	if len(list) == 0 {
		return nil, true, errEmpty
	}
	return list, true, nil
}

// readFormObject reads one setting as an object with three fields.
func readFormObject(d *json.Decoder) (x pair, err error) {
	fields := 0
	err = readObject(d, func(name string) error {
		v, err := d.Token()
		if err != nil {
			return errNoJSON
		}
		fields++
		number, isNumber := v.(json.Number)
		word, isText := v.(string)
		switch {
		case name == "partnerName" && isText:
			x.group = word
		case name == "partnerName" && isNumber:
			x.group = number.String()
		case name == "key" && isText:
			x.key = word
		case name == "value" && !isDelim(v):
			x.value = v
		default:
			return errForm
		}
		return nil
	})
	if err == nil && fields != 3 {
		err = errForm
	}
	return x, err
}

// isDelim tells whether a token is a bracket.
func isDelim(t json.Token) bool {
	_, is := t.(json.Delim)
	return is
}

// readPairs reads {"group": {"key": value}}, in the order of the text. No error quotes the text.
func readPairs(text string) ([]pair, error) {
	if len(text) > mostText {
		return nil, errLong
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var list []pair
	groups := 0
	err := readObject(d, func(group string) error {
		groups++
		before := len(list)
		err := readObject(d, func(key string) error {
			v, err := d.Token()
			if err != nil {
				return errNoJSON
			}
			switch v.(type) {
			case bool, string, json.Number:
			default:
				return errValue
			}
			list = append(list, pair{groups, len(list) - before + 1, group, key, v})
			return nil
		})
		if err == nil && len(list) == before {
			return errEmpty
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errNoJSON
	}
	if len(list) == 0 {
		return nil, errEmpty
	}
	return list, nil
}

// readObject reads one object. It calls each after every key, to read the key's value.
func readObject(d *json.Decoder, each func(key string) error) error {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errNoJSON
	}
	keys := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return errNoJSON
		}
		if keys[key] {
			return errTwice
		}
		keys[key] = true
		if err := each(key); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return errNoJSON
	}
	return nil
}

// jsonText returns the one spelling of an object of objects: sorted, without blanks.
func jsonText[V any](objects map[string]map[string]V) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(objects) // maps of texts and booleans
	return strings.TrimSuffix(b.String(), "\n")
}
