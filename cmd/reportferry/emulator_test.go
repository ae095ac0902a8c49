package main

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/emulator"
)

// What the command lists is known to a server of the same seed, and to no other.
func TestEngagementsCommand(t *testing.T) {
	var out, errs bytes.Buffer
	if code := execute(t.Context(), []string{"emulator", "engagements", "--csv", "--seed", "5", "--apps", "3", "--days", "3", "--per-day", "4"}, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	check(t, err)
	if strings.Join(rows[0], ",") != "cost_id,app,campaign,time" || len(rows) < 1+2*3*4 || len(rows) > 1+3*3*4 {
		t.Fatalf("%d rows under %q", len(rows), rows[0])
	}
	for _, seed := range []int64{5, 6} {
		s, err := emulator.New(emulator.Options{Seed: seed, Apps: 3})
		check(t, err)
		for _, row := range rows[1:] {
			at, err := time.Parse(time.RFC3339, row[3])
			if err != nil || at.After(time.Now()) || time.Since(at) > 3*24*time.Hour {
				t.Errorf("time %q, %v", row[3], err)
			}
			form := url.Values{"cost_type": {"cpc"}, "cost_currency": {"usd"}, "cost_amount": {"1"}, "cost_id": {row[0]}, "tag": {"t"}}
			r := httptest.NewRequest(http.MethodPost, "/cost?"+form.Encode(), nil)
			r.Header.Set("Authorization", "Bearer x")
			w := httptest.NewRecorder()
			if s.ServeHTTP(w, r); w.Code != http.StatusOK {
				t.Errorf("%v: %d", row, w.Code)
			}
		}
		state := map[int64]string{5: "matched", 6: "pending"}[seed]
		if got := s.Spend(); got.States[state] != len(rows)-1 || got.Records != len(rows)-1 {
			t.Errorf("seed %d: %+v", seed, got)
		}
		check(t, s.Close())
	}
	for _, args := range [][]string{{"--per-day", "0"}, {"--days", "-1"}, {"--apps", "9999"}, {"more"}} {
		if code := execute(t.Context(), append([]string{"emulator", "engagements"}, args...), &out, &errs); code != 2 {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}
