package clients

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// pipePath is the name of a pipe as the clients spell it: their prefix is a raw Go string, so its
// separators are doubled. Windows reads them as single ones.
func pipePath(name string) string {
	return `\\.\\pipe\\` + name
}

// kubelet is the kubelet folder as the server under test names it.
func kubelet(t *testing.T) string {
	t.Helper()
	path := os.Getenv("WINCSI_KUBELET")
	if path == "" {
		t.Skip("WINCSI_KUBELET names no server")
	}
	return path
}

// freshPaths counts them: the clock of Windows stands still for longer than two parallel tests need to ask it.
var freshPaths atomic.Int64

// freshPath is a path below the kubelet folder that no other test uses.
func freshPath(t *testing.T) string {
	t.Helper()
	name := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
	unique := freshPaths.Add(1)
	return fmt.Sprintf(`%s\plugins\%.40s-%d-%d`, kubelet(t), name, time.Now().UnixNano(), unique)
}

// deadline bounds every call: a server that never answers fails a test, it does not stop the run.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// must fails the test on an error that the test did not provoke.
func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// wantRefusal asserts what drivers build on: code Unknown, and a text that they search.
func wantRefusal(t *testing.T, what string, err error, text string) {
	t.Helper()
	if err == nil {
		t.Fatalf("%s succeeded, want a refusal with %q", what, text)
	}
	if code := status.Code(err); code != codes.Unknown {
		t.Errorf("%s: code %v, want Unknown: %v", what, code, err)
	}
	if message := status.Convert(err).Message(); !strings.Contains(message, text) {
		t.Errorf("%s: message %q, want %q in it", what, message, text)
	}
}
