//go:build v2alpha1 && !windows

package clients

import (
	filesystemv2alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volumev2alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
)

var (
	dialFilesystemV2alpha1 = stub("filesystem", "v2alpha1", filesystemv2alpha1.NewFilesystemClient)
	dialVolumeV2alpha1     = stub("volume", "v2alpha1", volumev2alpha1.NewVolumeClient)
)
