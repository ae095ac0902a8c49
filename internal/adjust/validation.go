package adjust

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotFound means that the service knows no such app, ticket or secret, or that the app wasn't made or updated through
// app automation. Its documents name no status for that: it is a 404, or a 400 that says "not found".
var ErrNotFound = errors.New("it isn't there, or wasn't made through app automation")

// A ValidationError is what the service has against the data that it was sent: the error_desc_details of a 422.
type ValidationError struct {
	Fields []Field // none when the service doesn't tell
}

// A Field is one thing that is wrong.
type Field struct {
	Loc []string // the way to the field, without the service's leading "body": channel_setup, facebook, app_id
	Msg string   // such as "Field required"
}

const fieldsShown = 50

// Error names every field: "channel_setup.facebook.app_id: Field required; platform: Field required".
func (e *ValidationError) Error() string {
	var parts []string
	for i, f := range e.Fields {
		if i == fieldsShown {
			parts = append(parts, fmt.Sprintf("and %d more", len(e.Fields)-i))
			break
		}
		parts = append(parts, f.String())
	}
	if parts == nil {
		return "the service refuses the data, and doesn't say which field"
	}
	return strings.Join(parts, "; ")
}

func (f Field) String() string {
	switch at := strings.Join(f.Loc, "."); {
	case at == "":
		return f.Msg
	case f.Msg == "":
		return at
	default:
		return at + ": " + f.Msg
	}
}
