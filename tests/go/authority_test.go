//go:build !windows

package clients

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
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

// How those who call a CSI driver dial its sockets. An authority is what grpc-go makes of the target, unless one
// is set: kubelet sets one where it calls the driver, and none where it asks for its registration.
var dials = []struct {
	who, target, authority string
	options                []grpc.DialOption
}{
	{who: "kubelet, for the registration", target: "/var/lib/kubelet/plugins_registry/a-reg.sock",
		authority: "%2Fvar%2Flib%2Fkubelet%2Fplugins_registry%2Fa-reg.sock"},
	{who: "kubelet on Windows, for the registration", target: `C:\var\lib\kubelet\plugins_registry\a-reg.sock`,
		authority: `C:%5Cvar%5Clib%5Ckubelet%5Cplugins_registry%5Ca-reg.sock`},
	{who: "kubelet, for a volume", target: "/var/lib/kubelet/plugins/a/csi.sock", authority: "localhost",
		options: []grpc.DialOption{grpc.WithAuthority("localhost")}},
	{who: "a sidecar", target: "unix:///csi/csi.sock", authority: "localhost"},
	{who: "a sidecar on Windows", target: `unix://C:\csi\csi.sock`, authority: "unix:%2F%2FC:%5Ccsi%5Ccsi.sock"},
	{who: "one without a target", target: "passthrough:///", authority: ""},
}

func TestTheAuthoritiesOfKubeletAndTheSidecars(t *testing.T) {
	for at, dial := range dials {
		path := pipePath(fmt.Sprintf("wincsi-dial-%d-%d", os.Getpid(), at))
		listener := listen(t, path)
		defer listener.Close()
		seen := make(chan string, 8)
		go readAuthorities(listener, seen)
		client := filesystemv1.NewFilesystemClient(dialSocket(t, dial.target, socketOf(t, path), dial.options...))
		ctx := deadline(t)
		go client.PathExists(ctx, &filesystemv1.PathExistsRequest{Path: `C:\`})
		want := dial.authority
		if grpcMinor() < 57 && len(dial.options) == 0 {
			want = oldAuthority(dial.target)
		}
		select {
		case got := <-seen:
			if got != want {
				t.Errorf("%s: grpc %s sends :authority %q, want %q", dial.who, grpc.Version, got, want)
			}
		case <-ctx.Done():
			t.Errorf("%s: no request came", dial.who)
		}
	}
}

func TestEveryDialOfKubeletAndTheSidecarsIsServed(t *testing.T) {
	folder := kubelet(t)
	socket := filepath.Join(os.Getenv("WINCSI_SOCKETS"), "csi-proxy-filesystem-v1.sock")
	for _, dial := range dials {
		client := filesystemv1.NewFilesystemClient(dialSocket(t, dial.target, socket, dial.options...))
		_, err := client.PathExists(deadline(t), &filesystemv1.PathExistsRequest{Path: folder + `\plugins`})
		must(t, dial.who, err)
	}
}

// oldAuthority is what a grpc-go before 1.57 makes of a target: itself, but for the sockets that 1.34 learnt to
// dial by itself.
func oldAuthority(target string) string {
	if grpcMinor() >= 34 && strings.HasPrefix(target, "unix:") {
		return "localhost"
	}
	return strings.TrimPrefix(target, "passthrough:///")
}

func grpcMinor() (minor int) {
	fmt.Sscanf(grpc.Version, "1.%d.", &minor)
	return minor
}

// expectedAuthority is what this release of grpc-go makes of a target: since 1.57 it escapes what an
// authority may not hold, before that it sent the target as it is.
func expectedAuthority(target string) string {
	if grpcMinor() < 57 {
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
