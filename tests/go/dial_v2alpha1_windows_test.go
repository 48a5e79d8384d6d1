//go:build v2alpha1

package clients

import (
	filesystemv2alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v2alpha1"
	volumev2alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v2alpha1"
)

var (
	dialFilesystemV2alpha1 = constructor("filesystem v2alpha1", filesystemv2alpha1.NewClient)
	dialVolumeV2alpha1     = constructor("volume v2alpha1", volumev2alpha1.NewClient)
)
