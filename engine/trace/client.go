package trace

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	variables       = "OTEL_EXPORTER_OTLP_"
	defaultEndpoint = "http://localhost:4318"
	defaultTimeout  = 10 * time.Second
	firstPause      = 250 * time.Millisecond
	mostAnswer      = 64 << 10 // bytes that are read of an answer
	protobuf        = "application/x-protobuf"
)

// client posts spans as OTLP over HTTP says, to where and as the environment says. It is an otlptrace.Client.
//
// The SDK's own client would link gRPC, which it does not use: 2 MB of the binary and 2 ms of every start.
type client struct {
	url      string
	header   http.Header
	http     *http.Client
	patience time.Duration

	stopped context.Context
	stop    context.CancelFunc
}

// newClient reads OTEL_EXPORTER_OTLP_*. What it cannot read or use is an error: spans would go to the wrong place.
func newClient(version string, patience time.Duration) (*client, error) {
	address, addressErr := endpoint()
	timeout, timeoutErr := timeout()
	header, headerErr := headers()
	secured, tlsErr := certificates()
	if err := cmp.Or(addressErr, timeoutErr, headerErr, tlsErr); err != nil {
		return nil, err
	}
	switch compression := setting("COMPRESSION"); compression {
	case "gzip":
		header.Set("Content-Encoding", compression)
	case "", "none":
	default:
		return nil, fmt.Errorf("%sCOMPRESSION=%s: want gzip or none", variables, compression)
	}
	header.Set("Content-Type", protobuf)
	header.Set("User-Agent", service+"/"+version)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = secured
	c := &client{url: address, header: header, http: &http.Client{Transport: transport, Timeout: timeout}, patience: patience}
	c.stopped, c.stop = context.WithCancel(context.Background())
	return c, nil
}

// setting is the value of OTEL_EXPORTER_OTLP_TRACES_name, or, without one, of OTEL_EXPORTER_OTLP_name.
func setting(name string) string {
	return cmp.Or(strings.TrimSpace(os.Getenv(variables+"TRACES_"+name)), strings.TrimSpace(os.Getenv(variables+name)))
}

// endpoint takes the address for traces as it is; of the one for all signals it is a part.
func endpoint() (string, error) {
	variable := tracesEndpointVariable
	text := strings.TrimSpace(os.Getenv(variable))
	if text == "" {
		variable = endpointVariable
		text = cmp.Or(strings.TrimSpace(os.Getenv(variable)), defaultEndpoint)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%s: want an address such as %s", variable, defaultEndpoint) // it may hold a password
	}
	if variable == endpointVariable {
		u.Path = path.Join("/", u.Path, "v1/traces")
	} else {
		u.Path = cmp.Or(u.Path, "/")
	}
	return u.String(), nil
}

func timeout() (time.Duration, error) {
	text := setting("TIMEOUT")
	if text == "" {
		return defaultTimeout, nil
	}
	ms, err := strconv.Atoi(text)
	if err != nil || ms <= 0 {
		return 0, fmt.Errorf("%sTIMEOUT=%s: want milliseconds", variables, text)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// headers are pairs such as name=value,other=value, whose values are percent-encoded.
func headers() (http.Header, error) {
	all := http.Header{}
	text := setting("HEADERS")
	if text == "" {
		return all, nil
	}
	for i, pair := range strings.Split(text, ",") {
		name, encoded, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(encoded))
		if !ok || err != nil || strings.TrimSpace(name) == "" {
			return all, fmt.Errorf("%sHEADERS: part %d is no pair name=value", variables, i+1) // which may be a secret
		}
		all.Set(strings.TrimSpace(name), value)
	}
	return all, nil
}

// certificates are those that the collector is known by, and those that it knows us by.
func certificates() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := setting("CERTIFICATE"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%sCERTIFICATE: %w", variables, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%sCERTIFICATE: there is no certificate in %s", variables, file)
		}
	}
	if file, key := setting("CLIENT_CERTIFICATE"), setting("CLIENT_KEY"); file != "" && key != "" {
		pair, err := tls.LoadX509KeyPair(file, key)
		if err != nil {
			return nil, fmt.Errorf("%sCLIENT_CERTIFICATE: %w", variables, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Start implements otlptrace.Client.
func (c *client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client. It ends what is being sent.
func (c *client) Stop(context.Context) error {
	c.stop()
	return nil
}

// UploadTraces implements otlptrace.Client. It tries again what may pass, as long as its patience lasts.
func (c *client) UploadTraces(ctx context.Context, spans []*traces.ResourceSpans) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.stopped, cancel)()
	// TracesData has the form of the service's request, whose package links gRPC.
	body, err := proto.Marshal(&traces.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if c.header.Get("Content-Encoding") == "gzip" {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(body) // into memory
		_ = w.Close()
		body = packed.Bytes()
	}
	began := time.Now()
	for pause := firstPause; ; pause += pause / 2 {
		again, after, err := c.post(ctx, body)
		wait := max(after, pause/2+rand.N(pause))
		if !again || time.Since(began)+wait > c.patience {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(wait):
		}
	}
}

// post sends a batch once. It reports whether to try again, and after how long at least.
func (c *client) post(ctx context.Context, body []byte) (again bool, after time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	request.Header = c.header.Clone()
	response, err := c.http.Do(request)
	if err != nil {
		failed, ok := errors.AsType[*url.Error](err)
		return ok && failed.Temporary(), 0, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true, retryAfter(response.Header), refusal(response, answer)
	}
	if response.StatusCode/100 != 2 {
		return false, 0, refusal(response, answer)
	}
	if err == nil && response.Header.Get("Content-Type") == protobuf {
		err = rejected(answer)
	}
	return false, 0, err
}

func refusal(response *http.Response, answer []byte) error {
	return fmt.Errorf("the collector answered %s: %s", response.Status, cmp.Or(strings.TrimSpace(string(answer)), "(empty)"))
}

// retryAfter is how long a collector asks to wait, in seconds or until a date.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return time.Until(date)
	}
	return 0
}

// rejected is what a collector that took the batch says of spans that it did not take: an ExportTraceServiceResponse,
// whose field 1 holds the number of spans (1) and a message (2).
func rejected(answer []byte) error {
	partial, err := fields(answer)
	if err != nil || len(partial[1].text) == 0 {
		return err
	}
	said, err := fields(partial[1].text)
	if err != nil || said[1].number == 0 && len(said[2].text) == 0 {
		return err
	}
	return fmt.Errorf("the collector rejected %d spans: %s", said[1].number, said[2].text)
}

// value is a field of a message: a number, or a text or message.
type value struct {
	number uint64
	text   []byte
}

func fields(message []byte) (map[protowire.Number]value, error) {
	all := map[protowire.Number]value{}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		message = message[n:]
		var v value
		switch kind {
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			v.text, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		all[number], message = v, message[n:]
	}
	return all, nil
}
