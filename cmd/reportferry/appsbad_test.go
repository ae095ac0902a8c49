package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/slow"
)

// Whatever is wrong with what a person gives is said in a line or a few, before anything is sent,
// and no secret is repeated.
func TestAppsBadInput(t *testing.T) {
	slow.Test(t)
	p, server := newAppsPlace(t, emulator.Options{}, 2, twoApps)
	t.Chdir(p.dir)
	t.Setenv("PW", "zz-pass-word")
	t.Setenv("KEY", "zz-sdk-key")
	big := strings.Repeat("zz-", 10_000_000/3)
	files := map[string]string{
		"big": big, "crlf": "zz-secret\r\nX-Evil: 1", "empty": "\n", "binary": "zz-\xff\xfe",
		"bad.json":  `{"type": "S3", "secret": "zz-secret"`,
		"list.json": `["zz-secret"]`, "other.json": `{"type": "FTP", "secret": "zz-secret"}`,
		"lacking.json": `{"type": "S3", "bucket": "b", "secret": "zz-secret"}`,
		"gcs.json":     `{"type": "GCS", "bucket": "b", "secret": "zz-secret"}`,
	}
	for name, data := range files {
		check(t, os.WriteFile(name, []byte(data), 0o600))
	}
	in := func(old, new string) string {
		t.Helper()
		if !strings.Contains(twoApps, old) {
			t.Fatalf("the file has no %q", old)
		}
		return strings.Replace(twoApps, old, new, 1)
	}
	apply, get := "apps apply", "apps get"
	for _, c := range []struct {
		name string
		file string // of apps; empty: the good one
		args []string
		says string
	}{
		{"an unknown section", in("[events,", "[evnts,"), nil, `apps.yaml:6:16: sections: unknown value "evnts"`},
		{"a section that is read-only", in("[events,", "[app_info,"), nil, `unknown value "app_info"`},
		{"an unknown partner", in("facebook:", "facebookk:"), nil,
			`apps.yaml:8:7: unknown key "facebookk" in channel_setup; did you mean facebook?`},
		{"a missing parameter", in(`advertiser_id: 77, `, ""), nil,
			`apps.yaml:9:19: ironsource: required key "advertiser_id" is missing`},
		{"a wrong platform", in("platform: android", "platform: symbian"), nil,
			`unknown value "symbian"; allowed: android, ios`},
		{"an app twice", in("store_id: 1234567890\n    platform: ios\n    sections: [partners, skad_network_v4]",
			"store_id: com.example.puzzle\n    platform: android"), nil, "already stands on line 2"},
		{"no YAML", in("events: [{", "events: [}{"), nil, "apps.yaml:12:"},
		{"no UTF-8", twoApps + "\xff", nil, "not UTF-8"},
		{"a value of 10 MB", in("Puzzle Quest", big), nil, "more than 4194304 bytes"},
		{"a value of 1 MB", in("Puzzle Quest", big[:1_000_000]), nil, "a value has 1000000 bytes"},
		{"a header in a value", in("Puzzle Quest", `"Puzzle\r\nX-Evil: 1"`), nil, "name holds a control character"},
		{"a secret in the file", in(`"${PW}"`, "zz-secret"), nil, "want a reference, never the secret itself"},
		{"a secret that isn't set", in("${PW}", "${NO_SUCH_NAME}"), nil,
			"environment variable NO_SUCH_NAME is not set"},
		{"a secret's file that isn't there", in("${PW}", "${file:nothing}"), nil, "nothing: no such file"},
		{"a secret's file of 10 MB", in("${PW}", "${file:big}"), nil, "big has more than 65536 bytes"},
		{"a header in a secret", in("${PW}", "${file:crlf}"), nil, "file crlf holds a control character"},
		{"an empty secret", in("${PW}", "${file:empty}"), nil, "file empty is not set, or empty"},
		{"a secret of other bytes", in("${PW}", "${file:binary}"), nil, "isn't UTF-8"},
		{"an app that isn't declared", "", []string{"apps", "plan", "ios/77"}, `declares no app "ios/77"`},
		{"a job that isn't there", "", []string{"apps", "plan", "--job", "other"}, `no job "other" of kind apps`},
		{"a header in a token", "", append(strings.Fields(get), "abc\r\nX-Evil: zz-1"),
			"the argument is not an app's token"},
		{"a path in a token", "", append(strings.Fields(get), "../vault"), "the argument is not an app's token"},
		{"a query in a store ID", "", append(strings.Fields(get), "android/a?b=zz-"),
			"the argument is not an app's token"},
		{"a long token", "", append(strings.Fields(get), strings.Repeat("a", 65)),
			"the argument is not an app's token"},
		{"a long store ID", "", append(strings.Fields(get), "android/"+strings.Repeat("a", 256)),
			"the argument is not an app's token"},
		{"a path in a ticket", "", []string{"apps", "status", "a/../b"}, "the argument is not a ticket"},
		{"a path in a secret's ID", "", []string{"apps", "secrets", "revoke", "abc", "../../vault"},
			"the argument is not the ID of a secret"},
		{"a header in a scope", "", []string{"apps", "secrets", "reactivate", "abc", "1", "--scope", "a\r\nb"},
			"the argument is not a scope"},
		{"a section to show", "", []string{"apps", "settings", "abc", "--section", "evnts"}, "did you mean events?"},
		{"a section to export", "", []string{"apps", "export", "--section", big[:1000]}, "no such section"},
		{"a header in an event", "", []string{"apps", "events", "abc", "--add", "a\nb"}, "holds a control character"},
		{"an event twice", "", []string{"apps", "events", "abc", "--add", "a", "--add-unique", "a"}, "given twice"},
		{"a fingerprint", "", []string{"apps", "signature", "abc", "--fingerprint", "AA:BB"}, "want 20 bytes"},
		{"vault: an unknown section", "", []string{"apps", "vault", "put", "csv_upload_setings", "list.json"},
			"did you mean csv_upload_settings?"},
		{"vault: a section that it doesn't take", "", []string{"apps", "vault", "put", "signature", "list.json"},
			"the vault takes nothing for signature"},
		{"vault: no JSON", "", []string{"apps", "vault", "put", "csv_upload_settings", "bad.json"},
			"not a JSON object"},
		{"vault: another JSON", "", []string{"apps", "vault", "put", "csv_upload_settings", "list.json"},
			"not a JSON object"},
		{"vault: another type", "", []string{"apps", "vault", "put", "csv_upload_settings", "other.json"},
			"neither S3 nor GCS"},
		{"vault: a missing field", "", []string{"apps", "vault", "put", "csv_upload_settings", "lacking.json"},
			"lacks a field that S3 needs"},
		{"vault: no service account", "", []string{"apps", "vault", "put", "csv_upload_settings", "gcs.json"},
			"a JSON object"},
		{"vault: 10 MB", "", []string{"apps", "vault", "put", "purchase_verification", "big"},
			"the file has more than 262144 bytes"},
		{"vault: 10 MB typed", "", []string{"apps", "vault", "put", "purchase_verification", "-"},
			"standard input has more than 262144 bytes"},
		{"vault: other bytes", "", []string{"apps", "vault", "put", "purchase_verification", "binary"}, "isn't text"},
		{"vault: nothing", "", []string{"apps", "vault", "put", "purchase_verification", "empty"}, "is empty"},
		{"vault: the data as an argument", "", []string{"apps", "vault", "put", "csv_upload_settings",
			`{"type":"S3","secret":"zz-secret"}`}, "doesn't belong on the command line"},
		{"vault: a header in a store", "", []string{"apps", "vault", "put", "purchase_verification", "--store",
			"a\r\nb", "list.json"}, "the argument is not a store"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.t = t
			file, args := c.file, c.args
			if file == "" {
				file = twoApps
			}
			if args == nil {
				args = strings.Fields(apply)
			}
			check(t, os.WriteFile("apps.yaml", []byte(file), 0o600))
			typed(t, big)
			out, code := p.here(args...)
			if code != 2 || !strings.Contains(out, c.says) || len(out) > 1500 {
				t.Errorf("exit code %d: %.2000s", code, out)
			}
			p.noSecrets("the message", out)
			if sent := server.Requests(); len(sent) > 0 {
				t.Fatalf("sent: %+v", sent)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(p.dir, "ledger", "tables")); err == nil {
		t.Error("something was recorded")
	}
}

// A refusal of the credentials is exit code 5, whatever the command is.
func TestAppsDenied(t *testing.T) {
	p, server := newAppsPlace(t,
		emulator.Options{Tokens: map[string]emulator.Role{"secret-token-of-the-test": emulator.RoleReader}}, 2, twoApps)
	t.Setenv("PW", "zz-pass-word")
	t.Setenv("KEY", "zz-sdk-key")
	for _, args := range []string{"apps plan", "apps apply", "apps apply --log-format json", "run", "apps list",
		"apps get abc", "apps settings abc", "apps export", "apps events abc",
		"apps status abc", "apps signature abc", "apps signature abc --enforce", "apps secrets revoke abc 1",
		"apps vault list", "apps vault put purchase_verification reportferry.yml"} {
		out, code := p.here(strings.Fields(args)...)
		if code != 5 || !strings.Contains(out, "403") {
			t.Errorf("%s: exit code %d: %s", args, code, out)
		}
		p.noSecrets(args, out)
	}
	if managed, err := server.ManagedApps(); err != nil || len(managed) > 0 {
		t.Errorf("made: %v, %v", managed, err)
	}
}
