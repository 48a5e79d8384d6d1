//go:build !windows

package clients

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
)

// The clients hand the pipe's path to grpc-go as target, and that makes it the authority of every
// request. Neither form is a legal one; a server that refuses them serves no driver. The form is
// grpc-go's own doing and the same on every system.
func TestTheAuthorityIsThePipePath(t *testing.T) {
	path := pipePath(fmt.Sprintf("wincsi-authority-%d", os.Getpid()))
	listener := listen(t, path)
	defer listener.Close()
	seen := make(chan string, 8)
	go readAuthorities(listener, seen)

	ctx := deadline(t)
	client := dialPath(t, path)
	go client.PathExists(ctx, &filesystemv1.PathExistsRequest{Path: `C:\`})

	select {
	case got := <-seen:
		if want := expectedAuthority(path); got != want {
			t.Errorf("grpc %s sends :authority %q, want %q", grpc.Version, got, want)
		}
	case <-ctx.Done():
		t.Error("no request came")
	}
}

// expectedAuthority is what this release of grpc-go makes of a target: since 1.57 it escapes what an
// authority may not hold, before that it sent the target as it is.
func expectedAuthority(target string) string {
	var minor int
	fmt.Sscanf(grpc.Version, "1.%d.", &minor)
	if minor < 57 {
		return target
	}
	return strings.ReplaceAll(target, `\`, "%5C")
}

// readAuthorities sends the authority of each connection's first request; connections that end
// without one, such as the constructors' probe, are passed over.
func readAuthorities(listener net.Listener, seen chan<- string) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			if value, err := authorityOn(connection); err == nil {
				seen <- value
			}
			io.Copy(io.Discard, connection)
		}()
	}
}

func authorityOn(connection net.Conn) (string, error) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(connection, preface); err != nil {
		return "", err
	}
	if !bytes.Equal(preface, []byte(http2.ClientPreface)) {
		return "", fmt.Errorf("preface %q", preface)
	}
	framer := http2.NewFramer(connection, connection)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := framer.WriteSettings(); err != nil {
		return "", err
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return "", err
		}
		if headers, ok := frame.(*http2.MetaHeadersFrame); ok {
			return headers.PseudoValue("authority"), nil
		}
	}
}
