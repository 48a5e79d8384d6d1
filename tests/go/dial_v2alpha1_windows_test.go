//go:build v2alpha1

package clients

import (
	"testing"

	filesystemv2alpha1 "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v2alpha1"
)

func dialFilesystemV2alpha1(t *testing.T) *filesystemv2alpha1.Client {
	return opened(t, "filesystem v2alpha1", filesystemv2alpha1.NewClient)
}
