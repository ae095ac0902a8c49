package apps_test

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/apps"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
)

const (
	s3Data  = `{"type":"S3","bucket":"exports-bucket","key":"AKIA-PLAIN-KEY","secret":"plain s3 secret","region":"eu-west-1"}`
	gcsData = `{"type":"GCS","bucket":"exports-2","secret":{"type":"service_account","private_key":"plain gcs secret"}}`
)

type vaultAnswer struct {
	ID      int     `json:"id"`
	Section string  `json:"section"`
	Store   *string `json:"store"`
	Data    string  `json:"data"`
	Created string  `json:"created_at"`
	Updated string  `json:"updated_at"`
}

func TestVaultFields(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	const text, empty, control, list = "Input should be a valid string", "String should have at least 1 character",
		"String should not contain control characters", "body.data."
	csvUpload := func(data any) object { return object{"section": "csv_upload_settings", "data": data} }
	for _, c := range []struct {
		body object
		want string
	}{
		{object{}, "body.data: Field required; body.section: Field required"},
		{object{"section": "trackers"}, "body.data: Field required"},
		{object{"section": 1, "data": "x"}, "body.section: " + text},
		{object{"section": "", "data": "x"}, "body.section: " + empty},
		{object{"section": "trackers", "data": object{"plain": "secret"}},
			"body.data: Input should be a valid string that isn't empty"},
		{object{"section": "trackers", "data": ""}, "body.data: Input should be a valid string that isn't empty"},
		{object{"section": "app_info", "data": "x"}, "body.section: The vault takes nothing for this section"},
		{object{"section": "signature", "data": "x"}, "body.section: The vault takes nothing for this section"},
		{object{"section": "plain secret", "data": "x"}, "body.section: Unknown section"},
		{object{"section": "purchase_verification", "store": 1, "data": "x"}, "body.store: " + text},
		{object{"section": "purchase_verification", "store": "a\r\nb", "data": "x"}, "body.store: " + control},
		{object{"section": "csv_upload_settings", "store": "google", "data": s3Data},
			"body.store: The account has one record for this section: leave the store out"},
		{csvUpload("plain secret"), "body.data: Input should be JSON"},
		{csvUpload("[]"), "body.data: Input should be a valid dictionary"},
		{csvUpload("null"), "body.data: Input should be a valid dictionary"},
		{csvUpload("{}"), list + "bucket: Field required; " + list + "type: Field required"},
		{csvUpload(`{"type":"FTP","bucket":"b"}`), list + "type: Input should be 'S3' or 'GCS'"},
		{csvUpload(`{"type":"S3"}`), list + "bucket: Field required; " + list + "key: Field required; " + list +
			"secret: Field required"},
		{csvUpload(`{"type":"S3","bucket":"b","key":"k","secret":{"plain":"secret"},"region":1}`),
			list + "region: " + text + "; " + list + "secret: " + text},
		{csvUpload(`{"type":"GCS"}`), list + "bucket: Field required; " + list + "secret: Field required"},
		{csvUpload(`{"type":"GCS","bucket":"b","secret":"plain secret"}`),
			list + "secret: Input should be a valid dictionary"},
	} {
		w := send(t, s, "POST", "vault", c.body)
		if got := refusal(t, w); got != "422 validation_error "+c.want {
			t.Errorf("%v: %s\nwant %s", c.body, got, c.want)
		}
		if strings.Contains(w.Body.String(), "plain") {
			t.Errorf("%v: echoed in %s", c.body, w.Body)
		}
	}
	if got := send(t, s, "GET", "vault", nil).Body.String(); got != "[]" {
		t.Errorf("kept %s", got)
	}
}

// A section and store has one record; what it holds is never shown.
func TestVaultRecords(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	put := func(body object) vaultAnswer {
		t.Helper()
		return callOK[vaultAnswer](t, s, "POST", "vault", body)
	}
	cloud := put(object{"section": "csv_upload_settings", "data": s3Data})
	google := put(object{"section": "purchase_verification", "store": "google", "data": "plain play key\nof two lines"})
	amazon := put(object{"section": "purchase_verification", "store": "amazon", "data": "plain amazon key"})
	s.Shift(time.Hour)
	again := put(object{"section": "csv_upload_settings", "data": gcsData})
	if again.ID != cloud.ID || again.Created != cloud.Created ||
		again.Updated != apps.Stamp(emutest.Noon.Add(time.Hour)) || cloud.Updated != apps.Stamp(emutest.Noon) ||
		again.Data == cloud.Data {
		t.Errorf("%+v after %+v", again, cloud)
	}
	if cloud.Store != nil || *google.Store != "google" || *amazon.Store != "amazon" || google.ID == amazon.ID {
		t.Errorf("%+v %+v %+v", cloud, google, amazon)
	}
	list := callOK[[]vaultAnswer](t, s, "GET", "vault", nil)
	if asJSON(t, list) != asJSON(t, []vaultAnswer{again, google, amazon}) {
		t.Errorf("%+v", list)
	}
	for _, r := range append(list, cloud) {
		sealed, err := base64.StdEncoding.DecodeString(r.Data)
		if err != nil || len(sealed) < 12+16 || bytes.Contains(sealed, []byte("plain")) ||
			bytes.Contains(sealed, []byte("bucket")) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if got := put(object{"section": "purchase_verification", "store": "amazon",
		"data": "plain amazon key"}); got.Data == amazon.Data {
		t.Error("the same data looks the same when sealed")
	}
}

// Jobs use what the vault holds, and settings show no more of it than where files go.
func TestJobsUseTheVault(t *testing.T) {
	t.Parallel()
	s := atOnce(t)
	upload := func(app string) string { return asJSON(t, settingsOf(t, s, app)["csv_upload_settings"]) }
	app := create(t, s, garden()).Token
	if got := upload(app); got != `{"credentials":false,"enabled":true,"interval":"hourly"}` {
		t.Error(got)
	}
	callOK[object](t, s, "POST", "vault", object{"section": "csv_upload_settings", "data": s3Data})
	callOK[object](t, s, "POST", "vault", object{"section": "purchase_verification", "store": "google",
		"data": "plain key"})
	create(t, s, garden("force_update", true))
	if got := upload(app); got !=
		`{"bucket":"exports-bucket","credentials":true,"enabled":true,"interval":"hourly","region":"eu-west-1","type":"S3"}` {
		t.Error(got)
	}
	callOK[object](t, s, "POST", "vault", object{"section": "csv_upload_settings", "data": gcsData})
	create(t, s, garden("force_update", true))
	if got := upload(app); !strings.Contains(got, `"exports-bucket"`) {
		t.Errorf("an app's own access was replaced: %s", got)
	}
	ios := create(t, s, iosGarden("ios_pv_shared_secret", "plain shared secret")).Token
	if got := upload(ios); !strings.Contains(got, `"exports-2"`) || strings.Contains(got, "region") {
		t.Error(got)
	}
	purchase := func(app string) string {
		o := settingsOf(t, s, app)["purchase_verification"].(object)
		return asJSON(t, []any{o["google_key"], o["ios_shared_secret"]})
	}
	if purchase(app) != "[true,false]" || purchase(ios) != "[false,true]" {
		t.Errorf("%s %s", purchase(app), purchase(ios))
	}
	for _, path := range []string{"settings/csv", "app/" + ios, "apps/list", "app/" + ios + "/settings", "vault"} {
		if got := send(t, s, "GET", path, nil); got.Code != 200 || strings.Contains(got.Body.String(), "plain") ||
			strings.Contains(got.Body.String(), "AKIA") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}

// At rest: nothing of the vault can be read in the files, and without its key the file isn't
// opened.
func TestVaultAtRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := emutest.With(emulator.Options{Now: emutest.AtNoon, Apps: 2, Days: 2, Rate: -1,
		DB: filepath.Join(dir, "kept.db")})
	var log bytes.Buffer
	s, stop := emutest.Start(t, o)
	if _, err := os.Stat(o.DB + ".key"); !os.IsNotExist(err) {
		t.Errorf("a key that nobody needs: %v", err)
	}
	first := callOK[vaultAnswer](t, s, "POST", "vault", object{"section": "csv_upload_settings", "data": s3Data})
	callOK[vaultAnswer](t, s, "POST", "vault", object{"section": "purchase_verification", "store": "google",
		"data": "plain play key"})
	create(t, s, iosGarden("ios_pv_shared_secret", "plain shared secret"))
	create(t, s, garden("store_id", "marker.in.the.file"))
	scan := func(when string) {
		t.Helper()
		found := false
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			content, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			found = found || bytes.Contains(content, []byte("marker.in.the.file"))
			for _, secret := range []string{"AKIA-PLAIN-KEY", "plain",
				base64.StdEncoding.EncodeToString([]byte(s3Data))[:20]} {
				if bytes.Contains(content, []byte(secret)) {
					t.Errorf("%s: %s holds %q", when, e.Name(), secret)
				}
			}
		}
		if !found {
			t.Errorf("%s: the scan doesn't even find what is in the files", when)
		}
	}
	scan("running")
	stop()
	scan("closed")
	info, err := os.Stat(o.DB + ".key")
	if err != nil || info.Mode().Perm() != fs.FileMode(0o600) {
		t.Errorf("key file %v, %v", info.Mode(), err)
	}
	s, stop = emutest.Start(t, o) // opened again, it can use what it holds
	if got := callOK[[]vaultAnswer](t, s, "GET", "vault", nil); len(got) != 2 || asJSON(t, got[0]) != asJSON(t, first) {
		t.Errorf("%+v", got)
	}
	app := create(t, s, garden("store_id", "marker.in.the.file", "force_update", true)).Token
	if got := asJSON(t, settingsOf(t, s, app)["csv_upload_settings"]); !strings.Contains(got, "exports-bucket") {
		t.Error(got)
	}
	stop()
	key, err := os.ReadFile(o.DB + ".key")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ content, want string }{
		{"", "no such file"}, {"short", "holds none"}, {strings.Repeat("A", 43) + "=", "doesn't fit its key"},
	} {
		if c.content == "" {
			err = os.Remove(o.DB + ".key")
		} else {
			err = os.WriteFile(o.DB+".key", []byte(c.content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := emulator.New(o)
		if err == nil {
			_ = s.Close()
			t.Errorf("opened with key %q", c.content)
		} else if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(),
			"open emulator database "+o.DB+": its vault was sealed with the key in "+o.DB+".key") {
			t.Errorf("key %q: %v", c.content, err)
		}
	}
	if log.Len() > 0 || os.WriteFile(o.DB+".key", key, 0o600) != nil {
		t.Error(log.String())
	}
	_, stop = emutest.Start(t, o)
	stop()
}
