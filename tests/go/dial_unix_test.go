//go:build !windows

package clients

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	filesystemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1alpha1"
	filesystemv1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta1"
	filesystemv1beta2 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta2"
	smbv1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"google.golang.org/grpc"
)

// The clients' stubs over the Unix socket of the group and version. Drivers build these clients for
// Windows alone; the target handed to grpc-go is the one that the constructors hand to it there.

func dialFilesystemV1(t *testing.T) filesystemv1.FilesystemClient {
	return filesystemv1.NewFilesystemClient(dial(t, "filesystem", "v1"))
}

func dialFilesystemV1alpha1(t *testing.T) filesystemv1alpha1.FilesystemClient {
	return filesystemv1alpha1.NewFilesystemClient(dial(t, "filesystem", "v1alpha1"))
}

func dialFilesystemV1beta1(t *testing.T) filesystemv1beta1.FilesystemClient {
	return filesystemv1beta1.NewFilesystemClient(dial(t, "filesystem", "v1beta1"))
}

func dialFilesystemV1beta2(t *testing.T) filesystemv1beta2.FilesystemClient {
	return filesystemv1beta2.NewFilesystemClient(dial(t, "filesystem", "v1beta2"))
}

func dialDiskV1(t *testing.T) diskv1.DiskClient {
	return diskv1.NewDiskClient(dial(t, "disk", "v1"))
}

func dialVolumeV1(t *testing.T) volumev1.VolumeClient {
	return volumev1.NewVolumeClient(dial(t, "volume", "v1"))
}

func dialSmbV1(t *testing.T) smbv1.SmbClient {
	return smbv1.NewSmbClient(dial(t, "smb", "v1"))
}

// dialPath opens a client for a pipe of any name; its socket has the pipe's last name.
func dialPath(t *testing.T, path string) filesystemv1.FilesystemClient {
	return filesystemv1.NewFilesystemClient(dialSocket(t, path, socketOf(t, path)))
}

// listen waits for clients of dialPath.
func listen(t *testing.T, path string) net.Listener {
	t.Helper()
	listener, err := net.Listen("unix", socketOf(t, path))
	must(t, "listen for "+path, err)
	return listener
}

func dial(t *testing.T, group, version string) *grpc.ClientConn {
	t.Helper()
	name := "csi-proxy-" + group + "-" + version
	return dialSocket(t, pipePath(name), filepath.Join(os.Getenv("WINCSI_SOCKETS"), name+".sock"))
}

func dialSocket(t *testing.T, target, socket string) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.Dial(target,
		grpc.WithInsecure(),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}))
	must(t, "open "+target, err)
	t.Cleanup(func() { connection.Close() })
	return connection
}

func socketOf(t *testing.T, path string) string {
	return filepath.Join(os.TempDir(), filepath.Base(filepath.ToSlash(path))+".sock")
}
