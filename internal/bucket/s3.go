package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	gcaws "gocloud.dev/aws"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
)

// These are the advice for refused credentials, for missing rights, and for a missing region.
const (
	s3Credentials = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, with AWS_SESSION_TOKEN when they are " +
		"temporary, or AWS_PROFILE, " +
		"or run under a role"
	s3Rights = "; the key or role may write, read, list and delete objects of the bucket"
	s3Region = "S3 signs requests for a region, and none is given: add region=eu-central-1, or whichever the bucket " +
		"is in, to the " +
		"URL's parameters, or set AWS_REGION"
)

// openS3 opens an s3 URL as gocloud does, but explains refusals. The parameters for the client are
// parsed here, and those for the bucket by gocloud.
func openS3(ctx context.Context, u *url.URL) (*blob.Bucket, error) {
	q := u.Query()
	client, bucket, err := splitS3(q)
	if err != nil {
		return nil, err
	}
	// S3 keeps no checksum of an object that was uploaded in pieces, and its client would write a
	// warning to standard error for each download of one. The check command compares what it
	// downloads with the ledger's content hash.
	if !q.Has("response_checksum_validation") {
		q.Set("response_checksum_validation", "when_required")
	}
	cfg, err := gcaws.V2ConfigFromURLParams(ctx, q)
	if err != nil {
		return nil, err
	}
	if cfg.Region == "" {
		return nil, errors.New(s3Region)
	}
	if cfg.Credentials != nil && !q.Has("anonymous") {
		cfg.Credentials = explainedCredentials{cfg.Credentials}
	}

	// Add two steps to each request: one notes the store's date, the other the version of what was
	// written, and turns errors about credentials into refusals.
	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
		err := stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("ReportferryDates", func(
			ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
		) (middleware.DeserializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleDeserialize(ctx, in)
			if resp, is := out.RawResponse.(*smithyhttp.Response); is && resp.Response != nil {
				noteDate(ctx, resp.Header)
			}
			return out, metadata, err
		}), middleware.After)
		if err != nil {
			return err
		}
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("ReportferryAnswers", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleInitialize(ctx, in)
			if err == nil {
				noteS3Version(ctx, out.Result)
			}
			return out, metadata, refusedByS3(err)
		}), middleware.Before)
	})
	bucket.RequestChecksumCalculation = cfg.RequestChecksumCalculation // the upload manager doesn't read it from cfg
	return s3blob.OpenBucket(ctx, s3.NewFromConfig(cfg, client), u.Host, bucket)
}

// splitS3 removes from q the parameters that gcaws doesn't know, and parses them: into a function
// that sets those of the client, and into the options of the bucket.
func splitS3(q url.Values) (func(*s3.Options), *s3blob.Options, error) {
	flag := func(names ...string) (on bool, err error) {
		for _, name := range names {
			if value := q.Get(name); value != "" {
				if on, err = strconv.ParseBool(value); err != nil {
					return false, fmt.Errorf("parameter %s: want true or false", name)
				}
			}
			q.Del(name)
		}
		return on, nil
	}
	pathStyle, err := flag("use_path_style", "s3ForcePathStyle")
	if err != nil {
		return nil, nil, err
	}
	accelerate, err := flag("accelerate")
	if err != nil {
		return nil, nil, err
	}
	plain, err := flag("disable_https")
	if err != nil {
		return nil, nil, err
	}
	options := &s3blob.Options{KMSEncryptionID: q.Get("kmskeyid")}
	if name := q.Get("ssetype"); name != "" {
		for _, known := range options.EncryptionType.Values() {
			if strings.EqualFold(string(known), name) {
				options.EncryptionType = known
			}
		}
		if options.EncryptionType == "" {
			return nil, nil, fmt.Errorf("parameter ssetype: %q isn't one of %v", name, options.EncryptionType.Values())
		}
	}
	q.Del("kmskeyid")
	q.Del("ssetype")
	return func(o *s3.Options) {
		o.UsePathStyle, o.UseAccelerate, o.EndpointOptions.DisableHTTPS = pathStyle, accelerate, plain
	}, options, nil
}

// explainedCredentials adds advice to the error when no credentials are found.
type explainedCredentials struct{ aws.CredentialsProvider }

// Retrieve returns the credentials.
func (e explainedCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := e.CredentialsProvider.Retrieve(ctx)
	if err != nil && ctx.Err() == nil {
		err = deny(fmt.Errorf("find credentials for S3: %w", err), s3Credentials)
	}
	return c, err
}

// s3Codes lists the error codes that mean refused credentials, whatever the status
// (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html). The last one is
// versitygw's, for an unknown key. A wrong clock (s3Skew) is answered with 403 too, but isn't a
// matter of credentials.
var s3Codes = []string{"ExpiredToken", "InvalidToken", "TokenRefreshRequired", "AuthorizationHeaderMalformed",
	"XAdminUserNotFound"}

// s3Skew is the error code for a wrong clock.
const s3Skew = "RequestTimeTooSkewed"

// refusedByS3 turns an error about credentials into a refusal, and puts every other error of S3
// into one line.
func refusedByS3(err error) error {
	if err == nil {
		return nil
	}
	var answer interface{ HTTPStatusCode() int }
	status := 0
	if errors.As(err, &answer) {
		status = answer.HTTPStatusCode()
	}
	if status != http.StatusMovedPermanently {
		err = without301(err)
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		return err
	}
	denied := (status == http.StatusForbidden || status == http.StatusUnauthorized) && api.ErrorCode() != s3Skew
	if denied || slices.Contains(s3Codes, api.ErrorCode()) {
		return deny(err, s3Credentials+s3Rights)
	}
	return &rewordedError{oneLine(err.Error()), err}
}

// without301 returns an error whose text doesn't contain "301". gocloud (s3blob, ErrorCode) takes
// every error with these digits for a missing bucket. A failure would then look like a missing
// object when a random ID in the answer, or a port, contains them. They are written as 3-01.
func without301(err error) error {
	if text := err.Error(); strings.Contains(text, "301") {
		return &rewordedError{strings.ReplaceAll(text, "301", "3-01"), err}
	}
	return err
}
