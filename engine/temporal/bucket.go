package temporal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/agentbench/agentbench/engine/exit"
)

// bucket is a part of a bucket of an S3-compatible server.
type bucket struct {
	client       *minio.Client
	name, prefix string
}

// openBucket opens s3://BUCKET/PREFIX. The server and the keys are those of the usual
// variables: AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or
// what the machine's role gives.
func openBucket(address string, getenv func(string) string) (Store, error) {
	name, prefix, _ := strings.Cut(strings.TrimPrefix(address, "s3://"), "/")
	if name == "" {
		return nil, exit.Usage("for example s3://my-bucket/agentbench", "the address names no bucket")
	}
	host, secure := "s3.amazonaws.com", true
	if endpoint := getenv("AWS_ENDPOINT_URL"); endpoint != "" {
		scheme, rest, ok := strings.Cut(endpoint, "://")
		if !ok || scheme != "http" && scheme != "https" {
			return nil, exit.Usage("for example AWS_ENDPOINT_URL=http://127.0.0.1:9000", "AWS_ENDPOINT_URL %s is no address", endpoint)
		}
		host, secure = strings.TrimSuffix(rest, "/"), scheme == "https"
	}
	keys := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{}})
	if id := getenv("AWS_ACCESS_KEY_ID"); id != "" {
		keys = credentials.NewStaticV4(id, getenv("AWS_SECRET_ACCESS_KEY"), getenv("AWS_SESSION_TOKEN"))
	}
	plain, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	plain.ResponseHeaderTimeout = 0 // who asks waits as long as bytes move, and no call is sent again meanwhile
	client, err := minio.New(host, &minio.Options{Creds: keys, Secure: secure, Region: getenv("AWS_REGION"), Transport: movingTransport{plain}})
	return &bucket{client: client, name: name, prefix: prefix}, err
}

// movingTransport notes that bytes of the requests and answers of calls move.
type movingTransport struct{ http.RoundTripper }

type movingBody struct {
	moving
	io.Closer
}

func body(ctx context.Context, of io.ReadCloser) io.ReadCloser {
	if of == nil || of == http.NoBody {
		return of
	}
	return movingBody{moving{ctx, of}, of}
}

func (t movingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := r.Clone(r.Context())
	sent.Body = body(r.Context(), r.Body)
	answer, err := t.RoundTripper.RoundTrip(sent)
	if err == nil {
		moved(r.Context())
		answer.Body = body(r.Context(), answer.Body)
	}
	return answer, err
}

func (b *bucket) Folder() string { return "" }

func (b *bucket) String() string {
	return "s3://" + path.Join(b.name, b.prefix) + " at " + b.client.EndpointURL().Host
}

func (b *bucket) key(name string) string { return path.Join(b.prefix, name) }

// Create writes an object on the condition that there is none.
func (b *bucket) Create(ctx context.Context, name string, content []byte) (bool, error) {
	o := minio.PutObjectOptions{}
	o.SetMatchETagExcept("*")
	_, err := b.client.PutObject(ctx, b.name, b.key(name), bytes.NewReader(content), int64(len(content)), o)
	if code := minio.ToErrorResponse(err); code.StatusCode == http.StatusPreconditionFailed || code.StatusCode == http.StatusConflict {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("writing %s: %w", name, err)
	}
	return true, nil
}

func (b *bucket) Read(ctx context.Context, name string) ([]byte, error) {
	object, err := b.client.GetObject(ctx, b.name, b.key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, err
	}
	defer object.Close()
	content, err := io.ReadAll(object)
	return content, readError(name, err)
}

// Send asks first, so that nothing large is sent for nothing.
func (b *bucket) Send(ctx context.Context, name, file string) error {
	_, err := b.client.StatObject(ctx, b.name, b.key(name), minio.StatObjectOptions{})
	if err == nil {
		return nil
	}
	if _, err := b.client.FPutObject(ctx, b.name, b.key(name), file, minio.PutObjectOptions{}); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

func (b *bucket) Fetch(ctx context.Context, name, file string) error {
	return readError(name, b.client.FGetObject(ctx, b.name, b.key(name), file, minio.GetObjectOptions{}))
}

// readError is an error of reading.
func readError(name string, err error) error {
	if minio.ToErrorResponse(err).StatusCode == http.StatusNotFound {
		err = fs.ErrNotExist
	}
	if err != nil {
		err = fmt.Errorf("reading %s: %w", name, err)
	}
	return err
}

func (b *bucket) Remove(ctx context.Context, name string) error {
	return b.client.RemoveObject(ctx, b.name, b.key(name), minio.RemoveObjectOptions{})
}
