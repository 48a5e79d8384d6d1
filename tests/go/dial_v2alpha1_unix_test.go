//go:build v2alpha1 && !windows

package clients

import (
	"testing"

	filesystemv2alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
)

func dialFilesystemV2alpha1(t *testing.T) filesystemv2alpha1.FilesystemClient {
	return filesystemv2alpha1.NewFilesystemClient(dial(t, "filesystem", "v2alpha1"))
}
