package clients

import (
	"context"
	"net"
	"testing"

	"github.com/Microsoft/go-winio"
	diskv1 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	diskv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1alpha1"
	diskv1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta1"
	diskv1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta2"
	diskv1beta3 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta3"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	filesystemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1alpha1"
	filesystemv1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1beta1"
	filesystemv1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1beta2"
	iscsiv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha1"
	iscsiv1alpha2 "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha2"
	smbv1 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	smbv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1alpha1"
	smbv1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1beta1"
	smbv1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1beta2"
	systemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/system/v1alpha1"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
	volumev1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1alpha1"
	volumev1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta1"
	volumev1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta2"
	volumev1beta3 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1beta3"
	"google.golang.org/grpc"
)

// The clients' own constructors, as drivers use them.
var (
	dialDiskV1             = constructor("disk v1", diskv1.NewClient)
	dialDiskV1alpha1       = constructor("disk v1alpha1", diskv1alpha1.NewClient)
	dialDiskV1beta1        = constructor("disk v1beta1", diskv1beta1.NewClient)
	dialDiskV1beta2        = constructor("disk v1beta2", diskv1beta2.NewClient)
	dialDiskV1beta3        = constructor("disk v1beta3", diskv1beta3.NewClient)
	dialFilesystemV1       = constructor("filesystem v1", filesystemv1.NewClient)
	dialFilesystemV1alpha1 = constructor("filesystem v1alpha1", filesystemv1alpha1.NewClient)
	dialFilesystemV1beta1  = constructor("filesystem v1beta1", filesystemv1beta1.NewClient)
	dialFilesystemV1beta2  = constructor("filesystem v1beta2", filesystemv1beta2.NewClient)
	dialIscsiV1alpha1      = constructor("iscsi v1alpha1", iscsiv1alpha1.NewClient)
	dialIscsiV1alpha2      = constructor("iscsi v1alpha2", iscsiv1alpha2.NewClient)
	dialSmbV1              = constructor("smb v1", smbv1.NewClient)
	dialSmbV1alpha1        = constructor("smb v1alpha1", smbv1alpha1.NewClient)
	dialSmbV1beta1         = constructor("smb v1beta1", smbv1beta1.NewClient)
	dialSmbV1beta2         = constructor("smb v1beta2", smbv1beta2.NewClient)
	dialSystemV1alpha1     = constructor("system v1alpha1", systemv1alpha1.NewClient)
	dialVolumeV1           = constructor("volume v1", volumev1.NewClient)
	dialVolumeV1alpha1     = constructor("volume v1alpha1", volumev1alpha1.NewClient)
	dialVolumeV1beta1      = constructor("volume v1beta1", volumev1beta1.NewClient)
	dialVolumeV1beta2      = constructor("volume v1beta2", volumev1beta2.NewClient)
	dialVolumeV1beta3      = constructor("volume v1beta3", volumev1beta3.NewClient)
)

// constructor opens a client of a group and version for a test.
func constructor[C interface{ Close() error }](what string, open func() (C, error)) func(*testing.T) C {
	return func(t *testing.T) C {
		t.Helper()
		client, err := open()
		must(t, "open "+what, err)
		t.Cleanup(func() { client.Close() })
		return client
	}
}

// connect opens the bare connection of a group and version, which the constructors keep to themselves.
func connect(t *testing.T, group, version string) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.Dial(pipePath("csi-proxy-"+group+"-"+version),
		grpc.WithInsecure(),
		grpc.WithContextDialer(func(ctx context.Context, path string) (net.Conn, error) {
			return winio.DialPipeContext(ctx, path)
		}))
	must(t, "open "+group+" "+version, err)
	t.Cleanup(func() { connection.Close() })
	return connection
}
