package main

import (
	"bytes"
	"strings"
	"testing"
)

// A token of nobody's app, or a partner without a name, is a mistake in the call.
func TestEmulatorSharingFlags(t *testing.T) {
	for want, args := range map[string][]string{
		`sharing token "t" of app "nobodys"`: {"--sharing-token", "t=nobodys"},
		`sharing token "" of app ""`:         {"--sharing-token", "="},
		"a sharing partner without a name":   {"--sharing-partner", "one,,two"},
	} {
		var out, errs bytes.Buffer
		code := execute(t.Context(), append([]string{"emulator", "--addr", "127.0.0.1:0", "--days", "1", "--apps", "1"},
			args...), &out, &errs)
		if code != 2 || !strings.Contains(errs.String(), want) {
			t.Errorf("%v: exit code %d, %s", args, code, &errs)
		}
	}
}
