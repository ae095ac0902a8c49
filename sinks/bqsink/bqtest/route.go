package bqtest

import (
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/reportferry/reportferry/internal/faults"
)

// A call is one request that was recognised.
type call struct {
	name    string // such as "jobs.insert"
	request *http.Request
	query   url.Values
	project string
	dataset string
	table   string
	job     string
	body    []byte // the JSON metadata
	media   []byte // the file of an upload
	fault   *Fault
}

// A handler answers a call. It is called under the server's lock.
type handler func(*call) (any, *refusal)

// The paths of calls.
const (
	pathProject  = "/projects/{project}"
	pathDatasets = pathProject + "/datasets"
	pathDataset  = pathDatasets + "/{dataset}"
	pathTables   = pathDataset + "/tables"
	pathTable    = pathTables + "/{table}"
	pathJobs     = pathProject + "/jobs"
)

// routes sets the handler of each call, with the permission that the call needs.
func (s *Server) routes() {
	s.mux = http.NewServeMux()
	for _, e := range []struct {
		name, pattern, permission string
		do                        handler
	}{
		{"datasets.get", "GET " + pathDataset, "bigquery.datasets.get", s.getDataset},
		{"tables.list", "GET " + pathTables, "bigquery.tables.list", s.listTables},
		{"tables.insert", "POST " + pathTables, "bigquery.tables.create", s.insertTable},
		{"tables.get", "GET " + pathTable, "bigquery.tables.get", s.getTable},
		{"tables.patch", "PATCH " + pathTable, "bigquery.tables.update", s.patchTable},
		{"tables.delete", "DELETE " + pathTable, "bigquery.tables.delete", s.deleteTable},
		{"tabledata.list", "GET " + pathTable + "/data", "bigquery.tables.getData", s.listRows},
		{"jobs.insert", "POST " + pathJobs, "bigquery.jobs.create", s.insertJob},
		{"jobs.get", "GET " + pathJobs + "/{job}", "bigquery.jobs.get", s.getJob},
		{"jobs.getQueryResults", "GET " + pathProject + "/queries/{job}", "", s.getQueryResults},
		{"jobs.cancel", "POST " + pathJobs + "/{job}/cancel", "bigquery.jobs.update", s.cancelJob},
	} {
		s.mux.HandleFunc(e.pattern, func(w http.ResponseWriter, r *http.Request) {
			c := newCall(e.name, r)
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler) // the client is gone
			}
			c.body = body
			if e.name == "jobs.insert" {
				c.job = namedJob(body)
			}
			s.serve(w, c, e.permission, e.do)
		})
	}
	s.mux.HandleFunc("/upload"+pathJobs, s.serveUpload)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, newCall("unknown", r), "", func(c *call) (any, *refusal) {
			return nil, refuse("notFound", "%s %s: this server doesn't know the call", c.request.Method,
				c.request.URL.Path)
		})
	})
}

// newCall returns a call without its body. request is the request as it arrived.
func newCall(name string, r *http.Request) *call {
	original, _ := r.Context().Value(originalKey{}).(*http.Request)
	if original == nil {
		original = r
	}
	return &call{
		name: name, request: original, query: r.URL.Query(), project: r.PathValue("project"),
		dataset: r.PathValue("dataset"), table: r.PathValue("table"), job: r.PathValue("job"),
	}
}

// serve handles a call from its faults to its answer and its entry in the log of requests.
func (s *Server) serve(w http.ResponseWriter, c *call, permission string, do handler) {
	c.fault, _ = s.script.Next(func(f Fault) bool { return f.mayStrike(c) })
	entry := Request{
		Call: c.name, Method: c.request.Method, Path: c.request.URL.Path, Query: c.query, Job: c.job,
		Match: c.request.Header.Get("If-Match"),
	}
	if mediaType, _, _ := mime.ParseMediaType(c.request.Header.Get("Content-Type")); len(c.body) > 0 &&
		c.name != "uploads.chunk" && mediaType != "" {
		entry.Body = slices.Clone(c.body)
	}
	if c.fault != nil {
		entry.Fault = c.fault.Kind
	}
	// Do the call, and note what comes of it.
	answer, refused := s.answer(c, permission, do)
	if _, raw := answer.(func(http.ResponseWriter)); refused == nil && !raw {
		answer, refused = c.selectFields(answer)
	}
	entry.Status = http.StatusOK
	if refused != nil {
		entry.Status, entry.Reason = refused.status, refused.reason
	}
	dropped := c.fault != nil && (c.fault.Kind == FaultReset || c.fault.Kind == FaultLost)
	if dropped {
		entry.Status = 0
	}
	s.mu.Lock()
	entry.Time = s.now()
	s.mu.Unlock()
	s.log.add(entry)
	// Answer it, or drop the connection.
	switch {
	case dropped:
		faults.Drop(w)
	case refused != nil:
		writeRefusal(w, refused)
	default:
		if raw, ok := answer.(func(http.ResponseWriter)); ok {
			raw(w)
			return
		}
		if answer == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		writeJSON(w, http.StatusOK, answer)
	}
}

// answer does the call, unless a fault strikes it, or credentials or a permission are missing.
func (s *Server) answer(c *call, permission string, do handler) (any, *refusal) {
	if f := c.fault; f != nil {
		switch f.Kind {
		case FaultReset:
			return nil, nil
		case FaultStatus:
			return nil, f.refusal()
		case FaultDelay:
			if faults.Sleep(c.request.Context(), f.Delay) != nil {
				panic(http.ErrAbortHandler) // the caller is gone
			}
		}
	}
	if s.opts.Token != "" && c.request.Header.Get("Authorization") != "Bearer "+s.opts.Token {
		return nil, refuse("authError",
			"Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other "+
				"valid authentication credential.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.denied, permission) {
		return nil, c.denied(permission)
	}
	s.finishJobs(c.request.Context())
	return do(c)
}

// denied describes a missing permission as BigQuery does: on a table, a dataset or the project.
func (c *call) denied(permission string) *refusal {
	what := "Project " + c.project
	switch {
	case c.table != "":
		what = "Table " + c.project + ":" + c.dataset + "." + c.table
	case c.dataset != "":
		what = "Dataset " + c.project + ":" + c.dataset
	}
	lower := strings.ToLower(what[:1]) + what[1:]
	return refuse("accessDenied", "Access Denied: %s: Permission %s denied on %s (or it may not exist).", what,
		permission, lower)
}
