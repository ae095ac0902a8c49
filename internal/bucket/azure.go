package bucket

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
)

// openAzure opens an azblob URL as gocloud does, but with a client of azureClient.
func openAzure(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	o := azureblob.URLOpener{MakeClient: azureClient, ServiceURLOptions: *azureblob.NewDefaultServiceURLOptions()}
	bucket, err := o.OpenBucketURL(ctx, u)
	if err != nil && o.ServiceURLOptions.AccountName == "" && strings.Contains(err.Error(), "AccountName") {
		return nil, deny(errors.New("no storage account is named"), azureCredentials)
	}
	return bucket, err
}

// azureClient returns a client with the credentials from the environment variables that gocloud
// names in https://pkg.go.dev/gocloud.dev/blob/azureblob, tried in the same order.
func azureClient(service azureblob.ServiceURL, name azureblob.ContainerName) (*container.Client, error) {
	options := &container.ClientOptions{}
	options.Transport = azureHTTP()
	options.PerCallPolicies = []policy.Policy{azureAnswers{}}
	at, err := url.JoinPath(string(service), string(name))
	if err != nil {
		return nil, err
	}
	account, key := os.Getenv("AZURE_STORAGE_ACCOUNT"), os.Getenv("AZURE_STORAGE_KEY")
	connection := cmp.Or(os.Getenv("AZURE_STORAGE_CONNECTION_STRING"), os.Getenv("AZURE_STORAGEBLOB_CONNECTIONSTRING"))
	switch {
	case account != "" && key != "":
		shared, err := container.NewSharedKeyCredential(account, key)
		if err != nil {
			return nil, fmt.Errorf("AZURE_STORAGE_KEY: %w", err)
		}
		return container.NewClientWithSharedKeyCredential(at, shared, options)
	case os.Getenv("AZURE_STORAGE_SAS_TOKEN") != "": // the token is in the service's URL already
		return container.NewClientWithNoCredential(at, options)
	case connection != "":
		return container.NewClientFromConnectionString(connection, string(name), options)
	}
	identity, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, err
	}
	return container.NewClient(at, identity, options)
}

// These are the advice for refused credentials, and for missing rights.
const (
	azureCredentials = "set AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or log in by " +
		"az login, or run under a " +
		"managed identity"
	azureRights = "; an identity needs the role Storage Blob Data Contributor on the container"
)

// azureAnswers is a policy (a step of each request) of Azure's client. It
//   - puts every error, which the client spreads over paragraphs, into one line
//   - turns an error about credentials into a refusal
//   - stores the date and version of an answer in the context's answer.
//
// As a per-call policy it runs outside of the client's retries.
type azureAnswers struct{}

// Do sends the request by the policies that follow, and treats its answer.
func (azureAnswers) Do(req *policy.Request) (*http.Response, error) {
	resp, err := req.Next()
	if err != nil {
		if text := err.Error(); strings.HasPrefix(text, "DefaultAzureCredential") ||
			strings.Contains(text, "authentication failed") {
			err = deny(fmt.Errorf("find credentials for Azure: %w", err), azureCredentials)
		}
		return resp, err
	}
	noteDate(req.Raw().Context(), resp.Header)
	if resp.StatusCode < http.StatusBadRequest {
		noteAzureVersion(req.Raw(), resp)
		return resp, nil
	}
	var answer *azcore.ResponseError
	if err = runtime.NewResponseError(resp); !errors.As(err, &answer) {
		return nil, err
	}
	text := fmt.Sprintf("Azure answered %d %s", answer.StatusCode,
		cmp.Or(answer.ErrorCode, http.StatusText(answer.StatusCode)))
	if message := azureWords(resp); message != "" {
		text += ": " + message
	}
	if answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden {
		return nil, &refusal{text: text, cause: err, advice: azureCredentials + azureRights}
	}
	return nil, &rewordedError{text, err}
}

// azureWords returns the message in an answer's body, without the request's ID and time that follow
// it.
func azureWords(resp *http.Response) string {
	body, err := runtime.Payload(resp)
	var message struct{ Message string }
	if err != nil || xml.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), &message) != nil {
		return ""
	}
	text, _, _ := strings.Cut(message.Message, "RequestId:")
	return strings.TrimRight(oneLine(text), ".")
}

// azureHTTP returns the HTTP client that all containers share.
var azureHTTP = sync.OnceValue(func() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	t.MaxIdleConnsPerHost = 10
	return &http.Client{Transport: bodyStopper{t}}
})

// A bodyStopper is a transport that stops the reading of a request's body as soon as the answer has
// come. The next transport may go on reading after an early answer, for example a 503 to an upload.
// By then Azure's client has unmapped the memory of the body (azblob v1.6.4 to v1.8.0,
// internal/shared/mmf_unix.go), and the read would end the process with SIGSEGV.
type bodyStopper struct{ next http.RoundTripper }

// RoundTrip sends a request whose bodies can be read only until it returns.
func (o bodyStopper) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return o.next.RoundTrip(req)
	}
	end := &stopSignal{}
	defer end.stop()
	sent := *req // a transport must not change its caller's request
	sent.Body = stoppableBody{req.Body, end}
	if again := req.GetBody; again != nil {
		sent.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			return stoppableBody{body, end}, err
		}
	}
	return o.next.RoundTrip(&sent)
}

// A stopSignal stops the reading of all bodies of a request: the first, and those of its
// repetitions.
type stopSignal struct {
	mu   sync.Mutex
	over bool
}

// stop ends the reading. It waits for a read that is in progress.
func (e *stopSignal) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
}

// A stoppableBody can be read until its signal stops it.
type stoppableBody struct {
	io.ReadCloser
	end *stopSignal
}

func (b stoppableBody) Read(p []byte) (int, error) {
	b.end.mu.Lock()
	defer b.end.mu.Unlock()
	if b.end.over {
		return 0, io.ErrClosedPipe
	}
	return b.ReadCloser.Read(p)
}
