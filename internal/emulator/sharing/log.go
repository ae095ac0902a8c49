package sharing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Schema is the log of all that /third_party_sharing took, in order of arrival. See store.Log. A
// line is received,status,app_token,idfa,gps_adid,sharing,settings,options with seconds since 1970;
// a setting is facebook.install=0, an option tiktok.key=value, escaped as in a query.
const Schema = `
CREATE TABLE sharing (id INTEGER PRIMARY KEY, lines TEXT);`

const (
	lineFields    = 8
	contentFields = 3 // the last fields, which say what is asked for
)

// escape escapes a name that stands beside a dot, and the dots in it.
func escape(name string) string { return strings.ReplaceAll(url.QueryEscape(name), ".", "%2E") }

// line writes a request as a line of the log: see Schema.
func (b *deviceStore) line(req request, now time.Time) []byte {
	out := make([]byte, 0, 128)
	out = strconv.AppendInt(out, now.Unix(), 10)
	out = strconv.AppendInt(append(out, ','), int64(req.status), 10)
	for _, text := range [...]string{req.app, req.idfa, req.gpsADID, req.master} {
		out = append(append(out, ','), url.QueryEscape(text)...)
	}
	for i, s := range req.settings {
		out = append(out, " ,"[btoi(i == 0)])
		out = append(append(append(out, escape(b.partners.names[s.partner])...), '.'), s.metric...)
		out = append(out, '=', "01"[btoi(s.share)])
	}
	if len(req.settings) == 0 {
		out = append(out, ',')
	}
	return append(append(out, ','), optionsText(req.options)...)
}

// optionsText writes options as words, escaped as in a query.
func optionsText(options []option) string {
	words := make([]string, len(options))
	for i, o := range options {
		words[i] = escape(o.group) + "." + escape(o.key) + "=" + url.QueryEscape(o.value)
	}
	return strings.Join(words, " ")
}

// btoi returns 1 for true.
func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// contentOf returns the index at which a line begins to say what is asked for.
func contentOf(line []byte) int {
	at := len(line)
	for range contentFields {
		at = bytes.LastIndexByte(line[:at], ',')
	}
	return at
}

// errNoLine says that the log has a line in another form than line writes.
var errNoLine = errors.New("a line that isn't one")

// parseLine reads what line writes. It makes partners known that only the lines name.
func (b *deviceStore) parseLine(line string) (req request, received time.Time, err error) {
	fields := strings.Split(line, ",")
	if len(fields) != lineFields {
		return req, received, errNoLine
	}
	seconds, err1 := strconv.ParseInt(fields[0], 10, 64)
	status, err2 := strconv.Atoi(fields[1])
	err = errors.Join(err1, err2)
	for i, into := range []*string{&req.app, &req.idfa, &req.gpsADID, &req.master} {
		var e error
		*into, e = url.QueryUnescape(fields[2+i])
		err = errors.Join(err, e)
	}
	for word := range strings.FieldsSeq(fields[6]) {
		partner, metric, value, e := splitWord(word)
		if covered[metric] == 0 {
			e = errNoLine
		}
		err = errors.Join(err, e)
		req.settings = append(req.settings, setting{b.partners.learn(partner), metric, value == "1"})
	}
	for word := range strings.FieldsSeq(fields[7]) {
		group, key, value, e := splitWord(word)
		err = errors.Join(err, e)
		req.options = append(req.options, option{group, key, value})
	}
	req.status = status
	return req, time.Unix(seconds, 0).UTC(), err
}

// splitWord reads a.b=value.
func splitWord(word string) (a, b, value string, err error) {
	name, value, _ := strings.Cut(word, "=")
	a, b, _ = strings.Cut(name, ".")
	for _, part := range []*string{&a, &b, &value} {
		var e error
		*part, e = url.QueryUnescape(*part)
		err = errors.Join(err, e)
	}
	return a, b, value, err
}

// Arrival is a request that /third_party_sharing took.
type Arrival struct {
	N                       int // from 1, in the order of taking
	Received                time.Time
	Status                  int // 200 or 202
	AppToken, IDFA, GPSADID string
	Sharing                 string // enable, disable or nothing
	Settings                string // the valid ones, such as "facebook.install=0 all.all=1"
	Options                 string // the valid ones, such as "google_dma.eea=1", escaped as in a query
}

// errEnough ends the reading of the log, because yield wants no more.
var errEnough = errors.New("enough")

// arrivals calls yield for each request that /third_party_sharing took until now, in the order of
// taking, until yield returns false.
func (b *deviceStore) arrivals(yield func(Arrival) bool) error {
	if err := b.log.Settle(); err != nil {
		return fmt.Errorf("read the log of sharing: %w", err)
	}
	n := 0
	err := b.log.Lines(context.Background(), func(line string) error {
		fields := strings.Split(line, ",")
		req, received, err := b.parseLine(line) // its partners are known by now
		if err != nil {
			return err
		}
		n++
		if !yield(Arrival{N: n, Received: received, Status: req.status, AppToken: req.app, IDFA: req.idfa,
			GPSADID: req.gpsADID,
			Sharing: req.master, Settings: fields[6], Options: fields[7]}) {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("read the log of sharing: %w", err)
	}
	return nil
}
