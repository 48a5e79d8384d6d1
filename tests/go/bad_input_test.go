package clients

import (
	"context"
	"fmt"
	"strings"
	"testing"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	diskv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1alpha1"
	diskv1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta1"
	diskv1beta2 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta2"
	systemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumev1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1alpha1"
	volumev1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta1"
	volumev1beta2 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Each bad call is followed by a good one, on the connection that the bad one came by and on one that
// was there before: a bad request is an error for its caller, and nothing to anybody else.

// csi-proxy dies of this, and with it every driver's calls.
func TestARequestWithoutAPortalIsAnErrorForItsCallerAlone(t *testing.T) {
	kubelet(t)
	startInitiator(t)
	alive := bystander(t)
	eachVersion(t, "iscsi", iscsiVersions, func(t *testing.T, targets targets) {
		ctx := deadline(t)
		_, discovered := targets.discover(ctx, nil)
		_, disks := targets.disks(ctx, nil, openTarget)
		refusals := map[string]error{
			"AddTargetPortal":      targets.addPortal(ctx, nil),
			"DiscoverTargetPortal": discovered,
			"RemoveTargetPortal":   targets.removePortal(ctx, nil),
			"ConnectTarget":        targets.logIn(ctx, nil, openTarget, login{}),
			"DisconnectTarget":     targets.logOut(ctx, nil, openTarget),
			"GetTargetDisks":       disks,
		}
		for rpc, err := range refusals {
			wantRefusal(t, rpc, err, "target portal is missing")
		}
		wantPortals(t, targets)
		alive(t)
	})
}

// csi-proxy cuts the port to 16 bits, which makes another one of it.
func TestAPortThatDoesNotFitIsRefused(t *testing.T) {
	kubelet(t)
	startInitiator(t)
	eachVersion(t, "iscsi", iscsiVersions, func(t *testing.T, targets targets) {
		err := targets.addPortal(deadline(t), &portal{"10.0.0.9", 65536 + 3260})
		wantRefusal(t, "AddTargetPortal", err, "16 bits")
		wantPortals(t, targets)
	})
}

// csi-proxy reads 64 bits and cuts them to 32: there this is the number of the disk that it must not
// touch.
func TestADiskNumberThatDoesNotFitIsNoOtherDisk(t *testing.T) {
	kubelet(t)
	alive := bystander(t)
	own := plug(t, gib)
	number := own.number(t)
	for text, reason := range map[string]string{
		fmt.Sprint(1<<32 + uint64(number)): "value out of range",
		"18446744073709551616":             "value out of range",
		"-1":                               "invalid syntax",
		"":                                 "invalid syntax",
		fmt.Sprint(number) + "\x00":        "invalid syntax",
	} {
		for rpc, call := range callsByDiskText(t) {
			t.Run(rpc, func(t *testing.T) {
				wantRefusal(t, fmt.Sprintf("%s of %q", rpc, text), call(deadline(t), text), reason)
				alive(t)
			})
		}
	}
	disks := diskV1{dialDiskV1(t)}
	wantOnline(t, disks, number, true)
	// It would be no raw disk any more.
	wantPartitioned(t, disks, number)
}

// callsByDiskText is every RPC that takes a disk's number as text.
func callsByDiskText(t *testing.T) map[string]func(ctx context.Context, disk string) error {
	first, second, third := dialDiskV1alpha1(t), dialDiskV1beta1(t), dialDiskV1beta2(t)
	old, middle, late := dialVolumeV1alpha1(t), dialVolumeV1beta1(t), dialVolumeV1beta2(t)
	return map[string]func(context.Context, string) error{
		"v1alpha1.PartitionDisk": func(ctx context.Context, disk string) error {
			return done(first.PartitionDisk(ctx, &diskv1alpha1.PartitionDiskRequest{DiskID: disk}))
		},
		"v1beta1.PartitionDisk": func(ctx context.Context, disk string) error {
			return done(second.PartitionDisk(ctx, &diskv1beta1.PartitionDiskRequest{DiskID: disk}))
		},
		"v1beta1.DiskStats": func(ctx context.Context, disk string) error {
			return done(second.DiskStats(ctx, &diskv1beta1.DiskStatsRequest{DiskID: disk}))
		},
		"v1beta2.PartitionDisk": func(ctx context.Context, disk string) error {
			return done(third.PartitionDisk(ctx, &diskv1beta2.PartitionDiskRequest{DiskID: disk}))
		},
		"v1beta2.DiskStats": func(ctx context.Context, disk string) error {
			return done(third.DiskStats(ctx, &diskv1beta2.DiskStatsRequest{DiskID: disk}))
		},
		"v1beta2.SetAttachState": func(ctx context.Context, disk string) error {
			return done(third.SetAttachState(ctx, &diskv1beta2.SetAttachStateRequest{DiskID: disk}))
		},
		"v1beta2.GetAttachState": func(ctx context.Context, disk string) error {
			return done(third.GetAttachState(ctx, &diskv1beta2.GetAttachStateRequest{DiskID: disk}))
		},
		"v1alpha1.ListVolumesOnDisk": func(ctx context.Context, disk string) error {
			return done(old.ListVolumesOnDisk(ctx, &volumev1alpha1.ListVolumesOnDiskRequest{DiskId: disk}))
		},
		"v1beta1.ListVolumesOnDisk": func(ctx context.Context, disk string) error {
			return done(middle.ListVolumesOnDisk(ctx, &volumev1beta1.ListVolumesOnDiskRequest{DiskId: disk}))
		},
		"v1beta2.ListVolumesOnDisk": func(ctx context.Context, disk string) error {
			return done(late.ListVolumesOnDisk(ctx, &volumev1beta2.ListVolumesOnDiskRequest{DiskId: disk}))
		},
	}
}

// A NUL ends a text for Windows: what is behind it would name something else to the check than to
// the act.
func TestANulIsRefusedWhereverATextGoes(t *testing.T) {
	kubelet(t)
	alive := bystander(t)
	for what, call := range callsWithANul(t) {
		t.Run(what, func(t *testing.T) {
			err := call(deadline(t))
			if code := status.Code(err); code != codes.Unknown {
				t.Errorf("code %v, want Unknown: %v", code, err)
			}
			alive(t)
		})
	}
}

func callsWithANul(t *testing.T) map[string]func(ctx context.Context) error {
	path := freshPath(t) + "\x00" + `\behind`
	files := filesystemV1{dialFilesystemV1(t)}
	volumes := volumeV1{dialVolumeV1(t)}
	shares := smbV1{dialSmbV1(t)}
	targets := iscsiV1alpha2{dialIscsiV1alpha2(t)}
	system := dialSystemV1alpha1(t)
	id := `\\?\Volume{00000000-0000-0000-0000-000000000000}\` + "\x00"
	return map[string]func(context.Context) error{
		"PathExists": func(ctx context.Context) error { return done(files.exists(ctx, path)) },
		"IsSymlink":  func(ctx context.Context) error { return done(files.isLink(ctx, path)) },
		"Mkdir":      func(ctx context.Context) error { return files.mkdir(ctx, path) },
		"Rmdir":      func(ctx context.Context) error { return files.rmdir(ctx, path, true) },
		"CreateSymlink": func(ctx context.Context) error {
			return files.link(ctx, kubelet(t), path)
		},
		"GetVolumeIDFromTargetPath": func(ctx context.Context) error { return done(volumes.ofTarget(ctx, path)) },
		"FormatVolume":              func(ctx context.Context) error { return volumes.format(ctx, id) },
		"ResizeVolume":              func(ctx context.Context) error { return volumes.resize(ctx, "0\x00", 0) },
		"NewSmbGlobalMapping": func(ctx context.Context) error {
			return shares.add(ctx, share+"\x00", "", user, password)
		},
		"NewSmbGlobalMapping at a path": func(ctx context.Context) error {
			return shares.add(ctx, share, path, user, password)
		},
		"NewSmbGlobalMapping of a user": func(ctx context.Context) error {
			return shares.add(ctx, share, "", user+"\x00", password)
		},
		"RemoveSmbGlobalMapping": func(ctx context.Context) error { return shares.remove(ctx, share+"\x00") },
		"AddTargetPortal": func(ctx context.Context) error {
			return targets.addPortal(ctx, &portal{"10.0.0.9\x00", 3260})
		},
		"ConnectTarget": func(ctx context.Context) error {
			return targets.logIn(ctx, &portal{"10.0.0.9", 3260}, openTarget+"\x00", login{})
		},
		"StartService": func(ctx context.Context) error {
			return done(system.StartService(ctx, &systemv1alpha1.StartServiceRequest{Name: initiatorService + "\x00"}))
		},
	}
}

// A version's pipe serves the methods of that version of that group, and no others.
func TestAMethodThatIsNotThereIsUnimplemented(t *testing.T) {
	kubelet(t)
	alive := bystander(t)
	connection := connect(t, "disk", "v1")
	for _, method := range []string{
		"/v1.Disk/NoSuch",
		"/v1.Disk/rescan",
		"/v1alpha1.Disk/Rescan",
		"/v1alpha1.Disk/GetDiskNumberByName",
		"/v1.Volume/FormatVolume",
		"/v1.Disk/Rescan/",
		"/v1.Disk/" + strings.Repeat("x", 4000),
	} {
		err := connection.Invoke(deadline(t), method, &diskv1.RescanRequest{}, &diskv1.RescanResponse{})
		if code := status.Code(err); code != codes.Unimplemented {
			t.Errorf("%.40s: code %v, want Unimplemented: %v", method, code, err)
		}
		err = connection.Invoke(deadline(t), "/v1.Disk/Rescan", &diskv1.RescanRequest{}, &diskv1.RescanResponse{})
		must(t, "Rescan on the same connection", err)
		alive(t)
	}
}

// bystander is a client from before the bad input, which wants its answers after it.
func bystander(t *testing.T) func(*testing.T) {
	t.Helper()
	disks := diskV1{dialDiskV1(t)}
	alive := func(t *testing.T) {
		t.Helper()
		places, err := disks.locations(deadline(t))
		must(t, "ListDiskLocations of another client", err)
		if len(places) == 0 {
			t.Error("another client is told of no disk")
		}
	}
	alive(t)
	return alive
}
