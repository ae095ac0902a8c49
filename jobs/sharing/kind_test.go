//go:build !fuzz

package sharing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/reportferry/reportferry/internal/adjust"
	"github.com/reportferry/reportferry/internal/adjust/transport"
	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/jobs"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/outbox"
	"github.com/reportferry/reportferry/jobs/outbox/files"
	"github.com/reportferry/reportferry/jobs/outbox/outboxtest"
)

// A rig is a sharing job with all that it needs, in memory.
type rig struct {
	server          *emulator.Server
	app             string
	store           *bucket.Bucket // of the ledger
	source, rejects *blob.Bucket
	log             bytes.Buffer
	runs            int
	o               Options
}

func newRig(t *testing.T, e emulator.Options, key string) *rig {
	t.Helper()
	r := &rig{store: bucket.NewMemory(), source: memblob.OpenBucket(nil), rejects: memblob.OpenBucket(nil)}
	e.Apps, e.Days, e.Rate = 2, 10, -1
	var err error
	if r.server, err = emulator.New(emutest.With(e)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.server.Close() })
	r.app = r.server.Apps()[0].Token
	log := slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o := adjust.Options{S2SURL: "http://embedded", Options: transport.Options{Rate: 100_000, InFlight: 8,
		HTTP: r.server.Client(), Logger: log}}
	if key != "" {
		if o.SharingAuth.Key, err = transport.ParseToken("${KEY}", func(string) string { return key }); err != nil {
			t.Fatal(err)
		}
	}
	client, err := adjust.New(o)
	if err != nil {
		t.Fatal(err)
	}
	source, err := files.ParseSource("gs://bucket/choices/{date}/*")
	if err != nil {
		t.Fatal(err)
	}
	r.o = Options{
		Options: files.Options{
			Job: "choices", Table: "choices", Ledger: ledger.Open(ledger.Options{Store: r.store, URL: "mem://",
				Lease: time.Minute}),
			Inbox:   files.Inbox{Source: source, Bucket: r.source, Window: 7, Zone: time.UTC},
			Rejects: r.rejects, MaxRejects: &outbox.Most{Share: 0.9}, InFlight: 8, SpoolDir: t.TempDir(), Log: log,
		},
		Client: client, Partners: NewPartners([]string{"ghostnet"}),
	}
	return r
}

// run is one night.
func (r *rig) run() ledger.Result {
	r.runs++
	o := r.o
	o.Run = fmt.Sprintf("run-%d", r.runs)
	k := New(o)
	list := []jobs.Job{{Name: o.Job, Table: o.Table, Kind: k}}
	runner := &jobs.Runner{Run: o.Run, Lease: time.Minute, Parallel: 4, Log: o.Log}
	return runner.RunJobs(context.Background(), list, jobs.PlanJobs(context.Background(), list, time.Now()))[0]
}

// put writes the file of a day, so many days ago; APP stands for the app's token.
func (r *rig) put(t *testing.T, ago int, name string, rows ...string) {
	t.Helper()
	key := time.Now().UTC().AddDate(0, 0, -ago).Format(time.DateOnly) + "/" + name
	text := "app_token,idfa,sharing,partner_sharing_settings\n" + strings.Join(rows, "\n") + "\n"
	if err := r.source.WriteAll(context.Background(), key, []byte(strings.ReplaceAll(text, "APP", r.app)),
		nil); err != nil {
		t.Fatal(err)
	}
}

// rejected are the rows of a rejects file, as outboxtest.Text gives them.
func (r *rig) rejected(t *testing.T, ago int, name string) string {
	t.Helper()
	key := time.Now().UTC().AddDate(0, 0, -ago).Format(time.DateOnly) + "/" + name + files.RejectsSuffix
	data, err := r.rejects.ReadAll(context.Background(), key)
	if err != nil {
		return ""
	}
	_, rows := outboxtest.Rejects(t, strings.ReplaceAll(string(data), r.app, "APP"), ',')
	return outboxtest.Text(rows)
}

// arrivals are what the service took, in order.
func (r *rig) arrivals(t *testing.T) string {
	t.Helper()
	var list []string
	if err := r.server.SharingLog(func(a emulator.SharingArrival) bool {
		list = append(list, strings.TrimSpace(a.IDFA+" "+a.Sharing+" "+a.Settings))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, ", ")
}

// Files go by their days; of each device all records arrive in order; what the service didn't take,
// or not all of it, is in the rejects with its words, and no log and no object of the ledger has a
// device's ID.
func TestRun(t *testing.T) {
	// The rejects hold the service's own words.
	r := newRig(t, emulator.Options{Readings: []string{"sharing-partner=any", "sharing-partly=error",
		"sharing-refusal=400"}}, "")
	r.o.InFlight = 1
	r.put(t, 0, "a.csv", "APP,device-1,enable,",
		"APP,device-3,,\"{\"\"ghostnet\"\":{\"\"all\"\":false},\"\"google\"\":{\"\"all\"\":false}}\"")
	r.put(t, 1, "b.csv", "APP,device-1,disable,", "nosuchapp,device-2,disable,", "APP,device-2,enable,")
	r.put(t, 1, "a.csv", "APP,device-1,enable,", "APP,device-1,disable,", "APP,device-1,enable,",
		"APP,device 9,enable,")
	res := r.run()
	if len(res.Errs) > 0 || res.Outcome.Written != 3 || res.Outcome.Failed != 0 || res.Outcome.Rows != 6 {
		t.Fatalf("%+v\n%s", res, &r.log)
	}
	if o := res.Outcome; o.Refused != 1 || o.Rejected != 2 || o.Partly != 1 || o.Conflicts != 0 ||
		jobs.ExitCode([]ledger.Result{res}, false, false) != jobs.ExitSome {
		t.Errorf("what wasn't taken isn't counted: %+v", o)
	}
	if got, want := r.arrivals(t),
		"device-1 enable, device-1 disable, device-1 enable, device-1 disable, device-2 enable, device-1 enable, "+
			"device-3  google.all=0"; got != want {
		t.Errorf("arrived\n%s\nwant\n%s", got, want)
	}
	if got, want := r.rejected(t, 1, "b.csv"),
		"2,,the service answered 400: Third party sharing failed (App not found),nosuchapp,device-2,disable,"; got !=
		want {
		t.Errorf("rejects %q\nwant %q", got, want)
	}
	if got, want := r.rejected(t, 0, "a.csv"),
		"2,,the service took a part of it: Third party sharing partially failed (Unknown partner: "+
			"ghostnet),APP,device-3,,{\"ghostnet\":{\"all\":false},\"google\":{\"all\":false}}"; got != want {
		t.Errorf("rejects %q\nwant %q", got, want)
	}
	if got := r.rejected(t, 1, "a.csv"); !strings.Contains(got, `4,idfa,holds something else than`) {
		t.Errorf("rejects %q", got)
	}
	r.private(t)
	if res := r.run(); len(res.Errs) > 0 || res.Outcome.Windows != 0 {
		t.Errorf("again: %+v", res)
	}
	r.put(t, 2, "late.csv", "APP,device-1,disable,", "APP,device-4,disable,")
	if res := r.run(); len(res.Errs) > 0 || res.Outcome.Rows != 1 || res.Outcome.Conflicts != 1 {
		t.Errorf("late: %+v", res)
	}
	if got, want := r.rejected(t, 2, "late.csv"),
		"1,,comes after a file of a later day that has choices of the same device,APP,device-1,disable,"; got != want {
		t.Errorf("rejects %q\nwant %q", got, want)
	}
	r.private(t)
}

// The service reads settings as one object and as form objects. What arrives is the same.
func TestFormObjects(t *testing.T) {
	for _, objects := range []bool{false, true} {
		r := newRig(t, emulator.Options{Readings: []string{"sharing-partner=any"}}, "")
		r.o.FormObjects = objects
		sent := ""
		client, err := adjust.New(adjust.Options{S2SURL: "http://embedded",
			Options: transport.Options{Rate: 1000, HTTP: &http.Client{
				Transport: spy{r.server.Client().Transport, &sent},
			}}})
		if err != nil {
			t.Fatal(err)
		}
		r.o.Client = client
		r.put(t, 0, "a.csv",
			`APP,device-1,,"{""google"":{""all"":false,""install"":true},""facebook"":{""event"":false}}"`)
		if res := r.run(); len(res.Errs) > 0 || res.Outcome.Rows != 1 {
			t.Fatalf("%+v\n%s", res, &r.log)
		}
		if got, want := r.arrivals(t), "device-1  facebook.event=0 google.all=0 google.install=1"; got != want {
			t.Errorf("form objects %v: arrived %s, want %s", objects, got, want)
		}
		form, err := url.ParseQuery(sent)
		want := map[bool]string{
			false: `{"facebook":{"event":false},"google":{"all":false,"install":true}}`,
			true:  `[{"partnerName":"facebook","key":"event","value":false},{"partnerName":"google","key":"all","value":false},{"partnerName":"google","key":"install","value":true}]`,
		}[objects]
		if got := form.Get("partner_sharing_settings"); err != nil || got != want {
			t.Errorf("form objects %v: sent %s, want %s", objects, got, want)
		}
	}
}

// A spy keeps the body of the last request.
type spy struct {
	http.RoundTripper
	sent *string
}

func (s spy) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	*s.sent, r.Body = string(body), io.NopCloser(bytes.NewReader(body))
	return s.RoundTripper.RoundTrip(r)
}

// private looks for IDs of devices.
func (r *rig) private(t *testing.T) {
	t.Helper()
	if strings.Contains(r.log.String(), "device-") || strings.Contains(r.log.String(), "device 9") {
		t.Errorf("a device's ID is logged:\n%s", &r.log)
	}
	for it := r.store.Blob().List(nil); ; {
		o, err := it.Next(context.Background())
		if err != nil {
			break
		}
		data, err := r.store.Blob().ReadAll(context.Background(), o.Key)
		if err != nil || bytes.Contains(data, []byte("device-")) {
			t.Errorf("%s holds a device's ID: %s %v", o.Key, data, err)
		}
	}
}

// With ShowIDs the log says whose record wasn't taken.
func TestShowIDs(t *testing.T) {
	r := newRig(t, emulator.Options{}, "")
	r.o.ShowIDs = true
	r.put(t, 0, "a.csv", "nosuchapp,device-1,disable,", "APP,device-2,disable,")
	r.run()
	if log := r.log.String(); !strings.Contains(log, `device="idfa device-1"`) || strings.Contains(log, "device-2") {
		t.Error(log)
	}
}

// A refused credential stops the job, and the records stay pending; so does a service that is down,
// for this file alone.
func TestRefusedAndDown(t *testing.T) {
	r := newRig(t, emulator.Options{SharingTokens: map[string]string{"right": ""}}, "wrong")
	r.put(t, 1, "a.csv", "APP,device-1,disable,", "APP,device-2,disable,")
	r.put(t, 0, "a.csv", "APP,device-1,enable,")
	res := r.run()
	if len(res.Errs) != 1 || !jobs.Denied(res.Errs[0]) || r.arrivals(t) != "" {
		t.Errorf("%+v", res)
	}
	r = newRig(t, emulator.Options{Faults: []emulator.Fault{{Path: "third_party_sharing", Kind: emulator.FaultStatus,
		Status: 404, Times: 1}}}, "")
	r.o.InFlight = 1
	r.put(t, 1, "a.csv", "APP,device-1,disable,", "APP,device-2,disable,")
	r.put(t, 0, "a.csv", "APP,device-1,enable,", "APP,device-3,enable,")
	res = r.run()
	if len(res.Errs) != 2 || res.Outcome.Failed != 1 || r.arrivals(t) != "device-3 enable" {
		t.Errorf("%+v: %s", res, r.arrivals(t))
	}
	if res = r.run(); len(res.Errs) != 0 ||
		r.arrivals(t) != "device-3 enable, device-1 disable, device-2 disable, device-1 enable" {
		t.Errorf("%+v: %s", res, r.arrivals(t))
	}
	r.private(t)
}

// Check counts the reasons and sends nothing.
func TestCheck(t *testing.T) {
	r := newRig(t, emulator.Options{}, "")
	r.put(t, 0, "a.csv", "APP,38400000-8cf0-11bd-b23e-10b96e40000d,disable,", "APP,,disable,", "APP,,disable,")
	k := New(r.o)
	due, err := k.Due(t.Context(), time.Now())
	if err != nil || len(due) != 1 {
		t.Fatal(due, err)
	}
	report, err := k.Check(t.Context(), due[0])
	want := []files.Problem{{Refusal: files.Refusal{Reason: "has no device: idfa, gps_adid and device_id are all " +
		"empty"}, Rows: 2, First: 2}}
	if err != nil || report.Rows != 3 || report.Pending != 1 || fmt.Sprint(report.Problems) != fmt.Sprint(want) ||
		r.arrivals(t) != "" {
		t.Errorf("%+v %+v %v", report, report.Problems, err)
	}
}

// A record that the service never takes is sent as often as the client's attempts allow, and no
// layer above repeats it.
func TestRetriesAreInOneLayer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, emulator.Options{Faults: []emulator.Fault{{Path: "third_party_sharing",
			Kind: emulator.FaultStatus, Status: 500, Times: 1000}}}, "")
		r.put(t, 0, "a.csv", "APP,device-1,disable,")
		if res := r.run(); res.Outcome.Requests != 8 || len(res.Errs) != 1 {
			t.Errorf("%d requests, want the client's 8 attempts; %v", res.Outcome.Requests, res.Errs)
		}
		if res := r.run(); res.Outcome.Requests != 8 {
			t.Errorf("the next run: %d requests", res.Outcome.Requests)
		}
	})
}
