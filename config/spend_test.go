package config

import (
	"reflect"
	"testing"
	"time"

	"github.com/reportferry/reportferry/config/kinds"
)

func TestSpend(t *testing.T) {
	c, err := Load("testdata/good/spend.yml", testEnv)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Login{Token: "${file:/run/secrets/partner}", Header: "X-Partner-Key"}); c.Service.Spend != want {
		t.Errorf("login %+v", c.Service.Spend)
	}
	want := &kinds.Spend{
		Push: kinds.Push{Source: "gs://bucket/spend/{date}/*.csv", Rejects: "gs://bucket/spend-rejects/",
			MaxRejects: kinds.MaxRejects{Share: 0.025},
			OnUnknown:  "park", WindowDays: 3, Rate: 500, InFlight: 64,
			Columns:   map[string]string{"cost_id": "click_id", "cost_amount": "spend", "engaged_at": "click_time"},
			Constants: map[string]string{"cost_type": "CPC", "cost_currency": "qqq", "tag": "partner"}},
		Format: kinds.Format{Encoding: "windows-1252", Separator: "semicolon", Decimal: "comma",
			Thousands: "point", Dates: "DD.MM.YYYY HH:mm", Sheet: "Spend"},
		Currencies: []string{"QQQ"}, OnConflict: "send",
	}
	if got := c.Jobs[0]; got.Table != "spend_log" || got.Sinks != nil || !reflect.DeepEqual(got.Spend, want) {
		t.Errorf("first: %+v\nwant %+v", got.Spend, want)
	}
	second := &kinds.Spend{
		Push: kinds.Push{Source: below("testdata/good", "file://./in/spend.parquet"),
			Rejects: below("testdata/good", "file://./in"), OnUnknown: "resend", WindowDays: 7, Quiet: 5 * time.Minute,
			Rate:     10,
			InFlight: 8, Constants: map[string]string{"cost_amount": "0.10000"}},
		OnConflict: "reject",
	}
	if got := c.Jobs[1].Spend; !reflect.DeepEqual(got, second) {
		t.Errorf("second: %+v\nwant %+v", got, second)
	}
}

// How long a file must rest can be said in four ways.
func TestQuiet(t *testing.T) {
	for text, want := range map[string]time.Duration{"true": 5 * time.Minute, "false": 0, "0": 0, "0s": 0,
		"90s": 90 * time.Second} {
		c, err := Parse("f.yml", []byte("service: embedded\njobs:\n- {name: a, kind: spend, source: "+
			"'file://./in/a.csv', rejects: 'file://./r', wait_until_quiet: "+text+"}\n"), testEnv)
		if err != nil || c.Jobs[0].Spend.Quiet != want {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}
