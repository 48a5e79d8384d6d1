//go:build !windows

package clients

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	diskv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1alpha1"
	diskv1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta1"
	diskv1beta2 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta2"
	diskv1beta3 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta3"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	filesystemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1alpha1"
	filesystemv1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta1"
	filesystemv1beta2 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta2"
	iscsiv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha1"
	iscsiv1alpha2 "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	smbv1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	smbv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1alpha1"
	smbv1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1beta1"
	smbv1beta2 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1beta2"
	systemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	volumev1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1alpha1"
	volumev1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta1"
	volumev1beta2 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta2"
	volumev1beta3 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta3"
	"google.golang.org/grpc"
)

// The clients' stubs over the Unix socket of the group and version. Drivers build these clients for
// Windows alone; the target handed to grpc-go is the one that the constructors hand to it there.
var (
	dialDiskV1             = stub("disk", "v1", diskv1.NewDiskClient)
	dialDiskV1alpha1       = stub("disk", "v1alpha1", diskv1alpha1.NewDiskClient)
	dialDiskV1beta1        = stub("disk", "v1beta1", diskv1beta1.NewDiskClient)
	dialDiskV1beta2        = stub("disk", "v1beta2", diskv1beta2.NewDiskClient)
	dialDiskV1beta3        = stub("disk", "v1beta3", diskv1beta3.NewDiskClient)
	dialFilesystemV1       = stub("filesystem", "v1", filesystemv1.NewFilesystemClient)
	dialFilesystemV1alpha1 = stub("filesystem", "v1alpha1", filesystemv1alpha1.NewFilesystemClient)
	dialFilesystemV1beta1  = stub("filesystem", "v1beta1", filesystemv1beta1.NewFilesystemClient)
	dialFilesystemV1beta2  = stub("filesystem", "v1beta2", filesystemv1beta2.NewFilesystemClient)
	dialIscsiV1alpha1      = stub("iscsi", "v1alpha1", iscsiv1alpha1.NewIscsiClient)
	dialIscsiV1alpha2      = stub("iscsi", "v1alpha2", iscsiv1alpha2.NewIscsiClient)
	dialSmbV1              = stub("smb", "v1", smbv1.NewSmbClient)
	dialSmbV1alpha1        = stub("smb", "v1alpha1", smbv1alpha1.NewSmbClient)
	dialSmbV1beta1         = stub("smb", "v1beta1", smbv1beta1.NewSmbClient)
	dialSmbV1beta2         = stub("smb", "v1beta2", smbv1beta2.NewSmbClient)
	dialSystemV1alpha1     = stub("system", "v1alpha1", systemv1alpha1.NewSystemClient)
	dialVolumeV1           = stub("volume", "v1", volumev1.NewVolumeClient)
	dialVolumeV1alpha1     = stub("volume", "v1alpha1", volumev1alpha1.NewVolumeClient)
	dialVolumeV1beta1      = stub("volume", "v1beta1", volumev1beta1.NewVolumeClient)
	dialVolumeV1beta2      = stub("volume", "v1beta2", volumev1beta2.NewVolumeClient)
	dialVolumeV1beta3      = stub("volume", "v1beta3", volumev1beta3.NewVolumeClient)
)

// stub opens a client of a group and version for a test. Which kind of connection it is made from
// depends on the age of the generated code.
func stub[N, C any](group, version string, client func(N) C) func(*testing.T) C {
	return func(t *testing.T) C {
		t.Helper()
		return client(any(connect(t, group, version)).(N))
	}
}

// connect opens the bare connection of a group and version.
func connect(t *testing.T, group, version string) *grpc.ClientConn {
	t.Helper()
	name := "csi-proxy-" + group + "-" + version
	return dialSocket(t, pipePath(name), filepath.Join(os.Getenv("WINCSI_SOCKETS"), name+".sock"))
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

func dialSocket(t *testing.T, target, socket string, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.Dial(target, append(options,
		grpc.WithInsecure(),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}))...)
	must(t, "open "+target, err)
	t.Cleanup(func() { connection.Close() })
	return connection
}

func socketOf(t *testing.T, path string) string {
	return filepath.Join(os.TempDir(), filepath.Base(filepath.ToSlash(path))+".sock")
}
