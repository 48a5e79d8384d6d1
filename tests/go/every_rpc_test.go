package clients

import (
	"maps"
	"slices"
	"testing"
)

// rpcsOfTheClient is the number of RPCs in all groups and versions of the client; what a newer one
// has beside these adds itself.
var rpcsOfTheClient = 122

// TestEveryRPCOfEveryVersion goes through one life for each group, under each version's names, and
// then looks that no RPC of this client's went without an answer.
func TestEveryRPCOfEveryVersion(t *testing.T) {
	kubelet(t)
	forgetAnswers()
	eachVersion(t, "filesystem", filesystems, lifeOfAFolder)
	eachVersion(t, "disk", diskVersions, lifeOfADisk)
	eachVersion(t, "volume", volumeVersions, lifeOfAVolume)
	eachVersion(t, "smb", smbVersions, lifeOfAShare)
	eachVersion(t, "iscsi", iscsiVersions, lifeOfATarget)
	t.Run("system", lifeOfAService)
	t.Run("none is left out", wantEveryRPCAnswered)
}

// eachVersion opens every version of a group and runs a test on it.
func eachVersion[G any](t *testing.T, group string, versions map[string]func(*testing.T) G, test func(*testing.T, G)) {
	t.Helper()
	t.Run(group, func(t *testing.T) {
		for _, version := range slices.Sorted(maps.Keys(versions)) {
			t.Run(version, func(t *testing.T) { test(t, versions[version](t)) })
		}
	})
}

// done drops an answer that says nothing.
func done[A any](_ A, err error) error {
	return err
}
