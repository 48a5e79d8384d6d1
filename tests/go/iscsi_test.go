package clients

import (
	"context"
	"slices"
	"testing"
)

// The targets near every simulated node that is made with the demo's hardware.
const (
	openTarget    = "iqn.2026-01.com.example:open"
	guardedTarget = "iqn.2026-01.com.example:guarded"
	chapUser      = "node"
	chapSecret    = "0123456789ab"
	chapProof     = "ba9876543210"
)

// targets is what both versions of the group offer.
type targets interface {
	addPortal(ctx context.Context, at *portal) error
	discover(ctx context.Context, at *portal) ([]string, error)
	removePortal(ctx context.Context, at *portal) error
	portals(ctx context.Context) ([]portal, error)
	logIn(ctx context.Context, at *portal, iqn string, by login) error
	logOut(ctx context.Context, at *portal, iqn string) error
	disks(ctx context.Context, at *portal, iqn string) ([]string, error)
}

// mutualTargets is what came with v1alpha2.
type mutualTargets interface {
	setMutualSecret(ctx context.Context, secret string) error
}

type portal struct {
	address string
	port    uint32
}

// login is how to log in; the kinds have the same numbers in both versions.
type login struct {
	kind         int32
	user, secret string
}

const (
	oneWayChap = 1
	mutualChap = 2
)

var iscsiVersions = map[string]func(*testing.T) targets{
	"v1alpha1": func(t *testing.T) targets { return iscsiV1alpha1{dialIscsiV1alpha1(t)} },
	"v1alpha2": func(t *testing.T) targets { return iscsiV1alpha2{dialIscsiV1alpha2(t)} },
}

func lifeOfATarget(t *testing.T, targets targets) {
	startInitiator(t)
	ctx := deadline(t)
	// Port 0 stands for 3260.
	at := &portal{address: "10.0.0.9"}
	for range 2 {
		must(t, "AddTargetPortal", targets.addPortal(ctx, at))
	}
	wantPortals(t, targets, portal{"10.0.0.9", 3260})
	told, err := targets.discover(ctx, at)
	must(t, "DiscoverTargetPortal", err)
	slices.Sort(told)
	if !slices.Equal(told, []string{guardedTarget, openTarget}) {
		t.Errorf("targets %v, want %s and %s", told, guardedTarget, openTarget)
	}

	wantLogin(t, targets, at, openTarget, login{}, "WINCSIDEMO0002")
	wrong := login{oneWayChap, chapUser, chapSecret + "!"}
	if targets.logIn(ctx, at, guardedTarget, wrong) == nil {
		t.Error("ConnectTarget with a wrong secret succeeded")
	}
	wantLogin(t, targets, at, guardedTarget, login{oneWayChap, chapUser, chapSecret}, "WINCSIDEMO0003")
	if mutual, ok := targets.(mutualTargets); ok {
		wantMutualLogin(t, targets, mutual, at)
	}

	must(t, "RemoveTargetPortal", targets.removePortal(ctx, at))
	wantRefusal(t, "RemoveTargetPortal again", targets.removePortal(ctx, at), ": not found")
	wantPortals(t, targets)
	// democratic-csi reads this text as "not connected".
	_, err = targets.disks(ctx, at, guardedTarget)
	wantRefusal(t, "GetTargetDisks", err, "ObjectNotFound")
}

// wantMutualLogin has the target prove itself, which it cannot to a node that does not know by what.
func wantMutualLogin(t *testing.T, targets targets, mutual mutualTargets, at *portal) {
	t.Helper()
	ctx := deadline(t)
	by := login{mutualChap, chapUser, chapSecret}
	if targets.logIn(ctx, at, guardedTarget, by) == nil {
		t.Fatal("ConnectTarget without the secret of the target succeeded")
	}
	wantRefusal(t, "SetMutualChapSecret", mutual.setMutualSecret(ctx, "short"), "12 to 16 bytes")
	must(t, "SetMutualChapSecret", mutual.setMutualSecret(ctx, chapProof))
	wantLogin(t, targets, at, guardedTarget, by, "WINCSIDEMO0003")
}

// wantLogin logs in to a target, finds the disk behind it, and logs out.
func wantLogin(t *testing.T, targets targets, at *portal, iqn string, by login, serial string) {
	t.Helper()
	ctx := deadline(t)
	for range 2 {
		must(t, "ConnectTarget", targets.logIn(ctx, at, iqn, by))
	}
	rescan(t)
	found, err := targets.disks(ctx, at, iqn)
	must(t, "GetTargetDisks", err)
	if len(found) != 1 {
		t.Fatalf("disks %v, want one", found)
	}
	disk, err := number(found[0])
	must(t, "read the disk's number", err)
	if known := knownDisks(t)[disk]; known.serial != serial {
		t.Errorf("disk %d behind %s is %v, want the serial %s", disk, iqn, known, serial)
	}
	for range 2 {
		must(t, "DisconnectTarget", targets.logOut(ctx, at, iqn))
	}
	rescan(t)
	if known, ok := knownDisks(t)[disk]; ok {
		t.Errorf("disk %v is there after DisconnectTarget", known)
	}
}

func knownDisks(t *testing.T) map[uint32]identity {
	t.Helper()
	known, err := diskV1{dialDiskV1(t)}.identities(deadline(t))
	must(t, "ListDiskIDs", err)
	return known
}

func wantPortals(t *testing.T, targets targets, want ...portal) {
	t.Helper()
	found, err := targets.portals(deadline(t))
	must(t, "ListTargetPortals", err)
	if !slices.Equal(found, want) {
		t.Errorf("portals %v, want %v", found, want)
	}
}
