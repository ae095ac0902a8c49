package main

import (
	"bufio"
	"context"
	varint "encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reportferry/reportferry/internal/bucket"
	"github.com/reportferry/reportferry/internal/emulator"
	"github.com/reportferry/reportferry/internal/emulator/emutest"
	"github.com/reportferry/reportferry/jobs/ledger"
	"github.com/reportferry/reportferry/jobs/sharing"
)

// A consent is one record of a made-up file of choices. Its number among those of its device is in
// a free option, so that the service's log shows the order.
type consent struct {
	device, number             int
	app, idType, id            string
	also                       string // its gps_adid, beside an idfa; empty: it has one ID
	sharing, settings, options string
	bad                        bool // of an app that isn't there
}

// A consents is what a few files hold, made anew from its seed each time that it is walked over.
type consents struct {
	seed     uint64
	apps     []string
	files    []int // records of each
	devices  int
	rejected int // of the first walk: taken in part, or not at all
}

// each walks over the records, by file and row.
func (c *consents) each(do func(file, row int, r consent)) {
	dice := rand.New(rand.NewPCG(c.seed, 0))
	numbers := make([]int32, c.devices+1)
	partners := []string{"applovin", "google", "tiktok", "partner_7", "all", "dynamic_callbacks", ""}
	spellings := []string{"facebook", "34", "Facebook (34)", "Partner_3"} // of the last one
	metrics := append(slices.Clone(sharing.Metrics), "all", "session", "install")
	c.rejected = 0
	for file, rows := range c.files {
		for row := 1; row <= rows; row++ {
			r := consent{device: dice.IntN(c.devices)}
			if dice.IntN(200) == 0 {
				r.device = 0 // a busy one
			}
			if r.bad = dice.IntN(5000) == 0; r.bad {
				r.device = c.devices
			}
			numbers[r.device]++
			r.number = int(numbers[r.device])
			r.app, r.id = c.apps[r.device%len(c.apps)], fmt.Sprintf("c0ffee00-0000-4000-8000-%012x", r.device)
			if r.idType = "gps_adid"; r.device%2 == 0 {
				r.idType, r.id = "idfa", strings.ToUpper(r.id)
				if r.device%14 == 0 && dice.IntN(3) > 0 {
					r.also = strings.ToLower(r.id)
				}
			}
			if r.bad {
				r.app = "nosuchapp"
			}
			r.sharing = []string{"", "", "enable", "disable"}[dice.IntN(4)]
			set := map[string]map[string]bool{}
			partners[len(partners)-1] = spellings[dice.IntN(len(spellings))]
			for range dice.IntN(3) {
				p := partners[dice.IntN(len(partners))]
				if set[p] == nil {
					set[p] = map[string]bool{}
				}
				set[p][metrics[dice.IntN(len(metrics))]] = dice.IntN(2) == 0
			}
			partly := dice.IntN(1000) == 0
			if partly {
				set["ghostnet"] = map[string]bool{"install": true} // the config knows it, and the service doesn't
			}
			if partly || r.bad {
				c.rejected++
			}
			if len(set) > 0 {
				text, _ := json.Marshal(set) // maps of texts and booleans
				if r.settings = string(text); dice.IntN(3) == 0 {
					r.settings = asForms(set)
				}
			}
			r.options = fmt.Sprintf(`{"apple_ads":{"n":"%d"},"google_dma":{"eea":"%d"}}`, r.number, dice.IntN(2))
			do(file, row, r)
		}
	}
}

// asForms are settings as form objects.
func asForms(set map[string]map[string]bool) string {
	var forms []string
	for partner, metrics := range set {
		for metric, on := range metrics {
			forms = append(forms, fmt.Sprintf(`{"partnerName":%q,"key":%q,"value":"%t"}`, partner, metric, on))
		}
	}
	slices.Sort(forms) // the same in every walk
	return "[" + strings.Join(forms, ",") + "]"
}

// write makes the files: CSV and JSON Lines in turn.
func (c *consents) write(t *testing.T, paths []string) {
	t.Helper()
	var w *csv.Writer
	var b *bufio.Writer
	var f *os.File
	end := func() {
		if f == nil {
			return
		}
		if w != nil {
			w.Flush()
			check(t, w.Error())
		}
		check(t, b.Flush())
		check(t, f.Close())
	}
	last := -1
	c.each(func(file, _ int, r consent) {
		if file != last {
			end()
			last = file
			check(t, os.MkdirAll(filepath.Dir(paths[file]), 0o755))
			var err error
			f, err = os.Create(paths[file])
			check(t, err)
			b = bufio.NewWriter(f)
			if w = nil; strings.HasSuffix(paths[file], ".csv") {
				w = csv.NewWriter(b)
				check(t, w.Write([]string{"app_token", "idfa", "gps_adid", "sharing", "partner_sharing_settings",
					"granular_third_party_sharing_options"}))
			}
		}
		if w != nil {
			ids := []string{r.id, r.also}
			if r.idType == "gps_adid" {
				ids = []string{"", r.id}
			}
			check(t, w.Write([]string{r.app, ids[0], ids[1], r.sharing, r.settings, r.options}))
			return
		}
		line := fmt.Sprintf(`{"app_token":%q,"id_type":%q,"device_id":%q`, r.app, r.idType, r.id)
		if r.also != "" {
			line += fmt.Sprintf(`,"gps_adid":%q`, r.also)
		}
		if r.sharing != "" {
			line += fmt.Sprintf(`,"sharing":%q`, r.sharing)
		}
		if r.settings != "" {
			line += `,"partner_sharing_settings":` + r.settings
		}
		_, err := b.WriteString(line + `,"granular_third_party_sharing_options":` + r.options + "}\n")
		check(t, err)
	})
	end()
}

// replay sends the records to another emulator, those of a device one after the other, and gives
// its final state.
func (c *consents) replay(t *testing.T) []string {
	t.Helper()
	other, err := emulator.New(emutest.With(emulator.Options{Seed: 7, Apps: 3, Days: 40, Rate: -1}))
	check(t, err)
	defer other.Close() //nolint:errcheck // a test's
	client := other.Client()
	const workers = 4
	var lanes [workers]chan url.Values
	var wait sync.WaitGroup
	for i := range lanes {
		lanes[i] = make(chan url.Values, 256)
		wait.Go(func() {
			for v := range lanes[i] {
				res, err := client.PostForm("http://embedded/third_party_sharing", v)
				if err != nil {
					t.Error(err)
					continue
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
		})
	}
	c.each(func(_, _ int, r consent) {
		v := url.Values{"s2s": {"1"}, "app_token": {r.app}, r.idType: {r.id},
			"granular_third_party_sharing_options": {r.options}}
		if r.also != "" {
			v.Set("gps_adid", r.also)
		}
		if r.sharing != "" {
			v.Set("sharing", r.sharing)
		}
		if r.settings != "" {
			v.Set("partner_sharing_settings", r.settings)
		}
		lanes[r.device%workers] <- v
	})
	for _, lane := range lanes {
		close(lane)
	}
	wait.Wait()
	var state []string
	res, err := client.Get("http://embedded/_emulator/sharing-devices")
	check(t, err)
	eachLine(t, res, func(line string) { state = append(state, withoutArrivals(line)) })
	return state
}

// withoutArrivals drops how often something arrived of a device.
func withoutArrivals(line string) string {
	cells := strings.SplitN(line, ",", 5)
	return strings.Join(slices.Delete(cells, 3, 4), ",")
}

func eachLine(t *testing.T, res *http.Response, do func(line string)) {
	t.Helper()
	defer res.Body.Close() //nolint:errcheck // read
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for first := true; lines.Scan(); first = false {
		if !first {
			do(lines.Text())
		}
	}
	check(t, lines.Err())
}

// get asks the emulator's admin for lines.
func (s *service) get(t *testing.T, path string) *http.Response {
	t.Helper()
	res, err := http.Get(s.url + "/_emulator/" + path)
	check(t, err)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, res.Status)
	}
	return res
}

// numberOf finds a record's number in the service's log.
func numberOf(t *testing.T, options string) int {
	t.Helper()
	_, rest, _ := strings.Cut(options, "apple_ads.n=")
	rest, _, _ = strings.Cut(rest, " ")
	n, err := strconv.Atoi(rest)
	check(t, err)
	return n
}

// endLease has the lease of a process that is dead be over, so that the next run needn't wait for
// it.
func endLease(t *testing.T, ledgerURL, table string) {
	t.Helper()
	b, err := bucket.Open(t.Context(), ledgerURL)
	check(t, err)
	defer b.Close() //nolint:errcheck // all is written
	l := ledger.Open(ledger.Options{Store: b, URL: ledgerURL})
	check(t, ledger.NewDocument[map[string]any](l, "pushes/"+table+".json", "").Change(t.Context(),
		ledger.Change[map[string]any]{
			Apply: func(c *map[string]any) error {
				lease, held := (*c)["lease"].(map[string]any)
				if !held {
					return ledger.ErrNothing
				}
				lease["until"] = time.Time{}
				return nil
			},
		}))
}

// settledRows reads from the ledger itself which rows of which files are on record as settled.
func settledRows(t *testing.T, ledgerURL, table string, settled func(file string, row int64)) {
	t.Helper()
	ctx := context.Background()
	b, err := bucket.Open(ctx, ledgerURL)
	check(t, err)
	defer b.Close() //nolint:errcheck // only read
	l := ledger.Open(ledger.Options{Store: b, URL: ledgerURL})
	type head struct {
		File        string
		Whole, Last int
	}
	pushes := map[string]head{}
	var document struct {
		Segments int
		Files    []json.RawMessage
	}
	note := func(raw json.RawMessage) {
		var h struct {
			ID string
			head
		}
		check(t, json.Unmarshal(raw, &h))
		pushes[h.ID] = h.head
	}
	read := func(key string, to any) bool {
		raw, err := ledger.ReadOnce[json.RawMessage](ctx, l, key, "")
		if errors.Is(err, fs.ErrNotExist) {
			return false
		}
		check(t, err)
		check(t, json.Unmarshal(raw, to))
		return true
	}
	if !read("pushes/"+table+".json", &document) {
		t.Fatal("there is no document")
	}
	for _, raw := range document.Files {
		note(raw)
	}
	type segment struct {
		Push  string
		Spans []byte
		Head  json.RawMessage
	}
	var log []segment
	for s := (segment{}); read(fmt.Sprintf("pushes/%s/%06d.json", table, len(log)+1), &s); s = (segment{}) {
		if log = append(log, s); len(log) > document.Segments {
			if s.Head != nil {
				note(s.Head)
			} else if h := pushes[s.Push]; s.Push != "" {
				h.Last = len(log)
				pushes[s.Push] = h
			}
		}
	}
	for _, h := range pushes {
		states := map[int64]byte{}
		for n := max(1, h.Whole); n <= h.Last; n++ {
			row := int64(1)
			for b := log[n-1].Spans; len(b) > 0; {
				gap, i := varint.Uvarint(b)
				length, j := varint.Uvarint(b[i:])
				b = b[i+j:]
				row += int64(gap)
				for end := row + int64(length>>4); row < end; row++ {
					states[row] = byte(length & 7)
				}
			}
		}
		for row, state := range states {
			if state == 2 || state == 3 { // accepted, rejected
				settled(h.File, row)
			}
		}
	}
}
