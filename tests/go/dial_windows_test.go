package clients

import (
	"testing"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
	filesystemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1alpha1"
	filesystemv1beta1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1beta1"
	filesystemv1beta2 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1beta2"
	smbv1 "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v1"
)

// The clients' own constructors, as drivers use them.

func dialFilesystemV1(t *testing.T) *filesystemv1.Client {
	return opened(t, "filesystem v1", filesystemv1.NewClient)
}

func dialFilesystemV1alpha1(t *testing.T) *filesystemv1alpha1.Client {
	return opened(t, "filesystem v1alpha1", filesystemv1alpha1.NewClient)
}

func dialFilesystemV1beta1(t *testing.T) *filesystemv1beta1.Client {
	return opened(t, "filesystem v1beta1", filesystemv1beta1.NewClient)
}

func dialFilesystemV1beta2(t *testing.T) *filesystemv1beta2.Client {
	return opened(t, "filesystem v1beta2", filesystemv1beta2.NewClient)
}

func dialDiskV1(t *testing.T) *diskv1.Client {
	return opened(t, "disk v1", diskv1.NewClient)
}

func dialVolumeV1(t *testing.T) *volumev1.Client {
	return opened(t, "volume v1", volumev1.NewClient)
}

func dialSmbV1(t *testing.T) *smbv1.Client {
	return opened(t, "smb v1", smbv1.NewClient)
}

func opened[C interface{ Close() error }](t *testing.T, what string, open func() (C, error)) C {
	t.Helper()
	client, err := open()
	must(t, "open "+what, err)
	t.Cleanup(func() { client.Close() })
	return client
}
