package bucket

import (
	"net/url"
	"os"
	"path"
	"strings"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"

	"github.com/reportferry/reportferry/internal/address"
	"github.com/reportferry/reportferry/internal/rooted"
)

// identityOf returns what Bucket.Identity returns: where a URL leads, as the opened client knows
// it, and what environment variables add to the URL, without secrets. The path of a folder is kept
// as written, so that a relative folder keeps its identity when it is moved together with its
// ledger.
func identityOf(bucket *blob.Bucket, rawURL string) (string, url.Values) {
	q := url.Values{}
	u, err := url.Parse(rooted.Written(rawURL))
	if err != nil {
		return address.Redact(rawURL), q
	}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	var google *storage.Client
	var amazon *s3.Client
	var azure *container.Client
	switch {
	case bucket.As(&google): // the client doesn't reveal its endpoint
		set("endpoint", os.Getenv("STORAGE_EMULATOR_HOST"))
	case bucket.As(&amazon):
		o := amazon.Options()
		switch endpoint := u.Query().Get("endpoint"); {
		case endpoint != "": // the client doesn't reveal this one
			set("endpoint", withoutSecrets(endpoint))
		case o.BaseEndpoint != nil: // from an environment variable
			set("endpoint", withoutSecrets(*o.BaseEndpoint))
		}
		set("region", o.Region)
	case bucket.As(&azure): // the account is part of the address
		set("endpoint", withoutSecrets(azure.URL()))
	}
	at := path.Clean("/" + strings.Trim(u.Path, "/"))
	if u.Host == "localhost" && u.Scheme == "file" {
		u.Host = ""
	}
	return strings.TrimSuffix(u.Scheme+"://"+u.Host+at, "/"), q
}

// withoutSecrets returns an address without its query, which may hold a SAS token.
func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/")
}
