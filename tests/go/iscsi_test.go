package clients

import (
	"slices"
	"testing"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	iscsiv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha1"
	iscsiv1alpha2 "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
)

// The targets near every simulated node that is made with the demo's hardware.
const (
	portalAddress = "10.0.0.9"
	openTarget    = "iqn.2026-01.com.example:open"
	guardedTarget = "iqn.2026-01.com.example:guarded"
	chapUser      = "node"
	chapSecret    = "0123456789ab"
	chapProof     = "ba9876543210"
)

func TestALifeOfATarget(t *testing.T) {
	kubelet(t)
	targets := dialIscsiV1alpha2(t)
	disks := dialDiskV1(t)
	ctx := deadline(t)
	startInitiator(ctx, t)
	portal := &iscsiv1alpha2.TargetPortal{TargetAddress: portalAddress}
	for range 2 {
		_, err := targets.AddTargetPortal(ctx, &iscsiv1alpha2.AddTargetPortalRequest{TargetPortal: portal})
		must(t, "AddTargetPortal", err)
	}
	listed, err := targets.ListTargetPortals(ctx, &iscsiv1alpha2.ListTargetPortalsRequest{})
	must(t, "ListTargetPortals", err)
	if len(listed.TargetPortals) != 1 || listed.TargetPortals[0].TargetPort != 3260 {
		t.Errorf("portals %v, want one at port 3260", listed.TargetPortals)
	}
	told, err := targets.DiscoverTargetPortal(ctx, &iscsiv1alpha2.DiscoverTargetPortalRequest{TargetPortal: portal})
	must(t, "DiscoverTargetPortal", err)
	if !slices.Contains(told.Iqns, guardedTarget) {
		t.Errorf("targets %v, want %s among them", told.Iqns, guardedTarget)
	}

	login := &iscsiv1alpha2.ConnectTargetRequest{
		TargetPortal: portal,
		Iqn:          guardedTarget,
		AuthType:     iscsiv1alpha2.AuthenticationType_MUTUAL_CHAP,
		ChapUsername: chapUser,
		ChapSecret:   chapSecret,
	}
	_, err = targets.ConnectTarget(ctx, login)
	if err == nil {
		t.Fatal("ConnectTarget without the secret of the target succeeded")
	}
	_, err = targets.SetMutualChapSecret(ctx, &iscsiv1alpha2.SetMutualChapSecretRequest{MutualChapSecret: "short"})
	wantRefusal(t, "SetMutualChapSecret", err, "12 to 16 bytes")
	_, err = targets.SetMutualChapSecret(ctx, &iscsiv1alpha2.SetMutualChapSecretRequest{MutualChapSecret: chapProof})
	must(t, "SetMutualChapSecret", err)
	for range 2 {
		_, err = targets.ConnectTarget(ctx, login)
		must(t, "ConnectTarget", err)
	}
	_, err = disks.Rescan(ctx, &diskv1.RescanRequest{})
	must(t, "Rescan", err)
	of := &iscsiv1alpha2.GetTargetDisksRequest{TargetPortal: portal, Iqn: guardedTarget}
	found, err := targets.GetTargetDisks(ctx, of)
	must(t, "GetTargetDisks", err)
	if len(found.DiskIDs) != 1 {
		t.Errorf("disks %v, want one", found.DiskIDs)
	}
	for range 2 {
		_, err = targets.DisconnectTarget(ctx, &iscsiv1alpha2.DisconnectTargetRequest{TargetPortal: portal, Iqn: guardedTarget})
		must(t, "DisconnectTarget", err)
	}
	remove := &iscsiv1alpha2.RemoveTargetPortalRequest{TargetPortal: portal}
	_, err = targets.RemoveTargetPortal(ctx, remove)
	must(t, "RemoveTargetPortal", err)
	_, err = targets.RemoveTargetPortal(ctx, remove)
	wantRefusal(t, "RemoveTargetPortal again", err, ": not found")
	// democratic-csi reads this text as "not connected".
	_, err = targets.GetTargetDisks(ctx, of)
	wantRefusal(t, "GetTargetDisks", err, "ObjectNotFound")
}

func TestALifeOfATargetInTheFirstVersion(t *testing.T) {
	kubelet(t)
	targets := dialIscsiV1alpha1(t)
	ctx := deadline(t)
	startInitiator(ctx, t)
	portal := &iscsiv1alpha1.TargetPortal{TargetAddress: portalAddress, TargetPort: 3260}
	_, err := targets.AddTargetPortal(ctx, &iscsiv1alpha1.AddTargetPortalRequest{TargetPortal: portal})
	must(t, "AddTargetPortal", err)
	told, err := targets.DiscoverTargetPortal(ctx, &iscsiv1alpha1.DiscoverTargetPortalRequest{TargetPortal: portal})
	must(t, "DiscoverTargetPortal", err)
	if !slices.Contains(told.Iqns, openTarget) {
		t.Errorf("targets %v, want %s among them", told.Iqns, openTarget)
	}
	_, err = targets.ConnectTarget(ctx, &iscsiv1alpha1.ConnectTargetRequest{TargetPortal: portal, Iqn: openTarget})
	must(t, "ConnectTarget", err)
	_, err = dialDiskV1(t).Rescan(ctx, &diskv1.RescanRequest{})
	must(t, "Rescan", err)
	found, err := targets.GetTargetDisks(ctx, &iscsiv1alpha1.GetTargetDisksRequest{TargetPortal: portal, Iqn: openTarget})
	must(t, "GetTargetDisks", err)
	if len(found.DiskIDs) != 1 {
		t.Errorf("disks %v, want one", found.DiskIDs)
	}
	_, err = targets.DisconnectTarget(ctx, &iscsiv1alpha1.DisconnectTargetRequest{TargetPortal: portal, Iqn: openTarget})
	must(t, "DisconnectTarget", err)
	listed, err := targets.ListTargetPortals(ctx, &iscsiv1alpha1.ListTargetPortalsRequest{})
	must(t, "ListTargetPortals", err)
	if len(listed.TargetPortals) != 1 {
		t.Errorf("portals %v, want one", listed.TargetPortals)
	}
	_, err = targets.RemoveTargetPortal(ctx, &iscsiv1alpha1.RemoveTargetPortalRequest{TargetPortal: portal})
	must(t, "RemoveTargetPortal", err)
}

// csi-proxy dies of this, and with it every driver's calls.
func TestARequestWithoutAPortalIsAnErrorForItsCallerAlone(t *testing.T) {
	kubelet(t)
	targets := dialIscsiV1alpha2(t)
	ctx := deadline(t)
	_, err := targets.ConnectTarget(ctx, &iscsiv1alpha2.ConnectTargetRequest{Iqn: openTarget})
	wantRefusal(t, "ConnectTarget", err, "target portal is missing")
	wide := &iscsiv1alpha2.TargetPortal{TargetAddress: portalAddress, TargetPort: 65536 + 3260}
	_, err = targets.AddTargetPortal(ctx, &iscsiv1alpha2.AddTargetPortalRequest{TargetPortal: wide})
	wantRefusal(t, "AddTargetPortal", err, "16 bits")
	wantStatusOK(t)
}

// wantStatusOK asserts that the server is there still.
func wantStatusOK(t *testing.T) {
	t.Helper()
	_, err := dialDiskV1(t).ListDiskLocations(deadline(t), &diskv1.ListDiskLocationsRequest{})
	must(t, "ListDiskLocations", err)
}
