package config

import (
	"reflect"
	"testing"
	"time"

	"github.com/reportferry/reportferry/config/kinds"
)

func TestSharing(t *testing.T) {
	c, err := Load("testdata/good/sharing.yml", testEnv)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Login{Token: "${file:/run/secrets/s2s}", Header: "Authorization"}); c.Service.Sharing != want ||
		c.Service.S2SURL != "https://s2s.adjust.com" {
		t.Errorf("service %+v", c.Service)
	}
	want := &kinds.Sharing{
		Push: kinds.Push{Source: "gs://bucket/choices/{date}/*.jsonl.gz", Rejects: "gs://bucket/choices-rejects",
			MaxRejects: kinds.MaxRejects{Count: 10},
			OnUnknown:  "park", WindowDays: 7, Quiet: 5 * time.Minute, Rate: 500, InFlight: 64,
			Columns:   map[string]string{"device_id": "id", "id_type": "kind", "sharing": "choice"},
			Constants: map[string]string{"app_token": "abc123def456"}},
		Ignore:   []string{"exported_at", "user id"},
		Partners: []string{"applemusic", "42", "Some Network"}, Settings: "form_objects", OnMalformedID: "reject",
		OnLate: "send",
	}
	if got := c.Jobs[0]; got.Sinks != nil || !reflect.DeepEqual(got.Sharing, want) {
		t.Errorf("first: %+v\nwant %+v", got.Sharing, want)
	}
	second := &kinds.Sharing{Push: kinds.Push{Source: below("testdata/good", "file://./in/choices.csv"),
		Rejects: below("testdata/good", "file://./in"), MaxRejects: kinds.MaxRejects{Share: 1},
		OnUnknown: "resend", WindowDays: 7, Quiet: 5 * time.Minute, Rate: 10, InFlight: 8}, Settings: "object",
		OnMalformedID: "send", OnLate: "reject"}
	if got := c.Jobs[1].Sharing; !reflect.DeepEqual(got, second) {
		t.Errorf("second: %+v\nwant %+v", got, second)
	}
}
